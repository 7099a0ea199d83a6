#include "runs/compared_runs.hpp"

#include <algorithm>
#include <numeric>

#include "maps/picked.hpp"

namespace attn::app {

namespace {

// Identifies tokens by their ids or, if there are none, by their positions.
std::vector<std::int32_t> ids_or_places(std::span<const std::int32_t> given, Index count) {
    std::vector<std::int32_t> ids(given.begin(), given.end());
    if (ids.empty()) {
        ids.resize(static_cast<std::size_t>(count));
        std::iota(ids.begin(), ids.end(), 0);
    }
    return ids;
}

// Returns the index of the token if it occurs exactly once.
std::optional<Index> only(std::span<const std::int32_t> ids, std::int32_t id) {
    return std::ranges::count(ids, id) == 1 ? std::optional<Index>(std::ranges::find(ids, id) - ids.begin())
                                            : std::nullopt;
}

// The tokens that correspond, in both texts, and their names.
struct Corresponding {
    std::vector<Index> first, second;
    std::vector<std::string> names;

    Corresponding(const Pairing& pairing, const std::vector<std::string>& of_first,
                  const std::vector<std::string>& of_second) {
        for (const TokenPair& pair : pairing.alignment().pairs()) {
            first.push_back(pair.first);
            second.push_back(pair.second);
            names.push_back(of_first[static_cast<std::size_t>(pair.first)] +
                            (pair.same ? "" : "/" + of_second[static_cast<std::size_t>(pair.second)]));
        }
    }
};

}  // namespace

Pairing::Pairing(std::vector<std::int32_t> first, std::vector<std::int32_t> second)
    : first_ids_(std::move(first)), second_ids_(std::move(second)), alignment_(first_ids_, second_ids_) {}

std::optional<Index> Pairing::second_of(Index token) const {
    if (const auto aligned = alignment_.second_of(token)) return aligned;
    return only(second_ids_, first_ids_[static_cast<std::size_t>(token)]);
}

std::optional<Index> Pairing::first_of(Index token) const {
    if (const auto aligned = alignment_.first_of(token)) return aligned;
    return only(first_ids_, second_ids_[static_cast<std::size_t>(token)]);
}

Pairings pairings_of(const Attention& first, const Attention& second) {
    const auto queries = [](const Attention& run) { return ids_or_places(run.ids(), run.queries()); };
    const auto keys = [](const Attention& run) { return ids_or_places(run.key_ids(), run.keys()); };
    return {Pairing(queries(first), queries(second)), Pairing(keys(first), keys(second))};
}

QueryStack query_stack(const Attention& attention) {
    const auto whole = attention.trace();
    if (!whole) return {};
    const Trace& queries = whole->attention(attention.alike().begin).queries;
    const Trace* encoder = whole->encoder().get();
    return {&queries, encoder && &queries != encoder ? encoder->attentions() : 0};
}

HeadIndex beside(const HeadIndex& head, const Attention& other) {
    return {std::min(head.layer, other.layers() - 1), std::min(head.head, other.heads() - 1)};
}

Alike alike_of(const Attention& first, const Attention& second, const Alignment& keys, Index query,
               Index second_query) {
    Alike alike{.versions = versions_of(first, second),
                .query = query,
                .second_query = second_query,
                .layers = {first.alike().begin, std::min(first.alike().end, second.alike().end)},
                .heads = std::min(first.heads(), second.heads()),
                .residual = {},
                .rows = {}};
    const Trace *a = query_stack(first).trace, *b = query_stack(second).trace;
    if (a && b && a->layers().size() == b->layers().size() &&
        a->final_residual().dim(1) == b->final_residual().dim(1))
        alike.residual = residual_cosines(*a, query, *b, second_query);
    for (Index layer = alike.layers.begin; layer < alike.layers.end; ++layer) {
        const auto of_first = first.record(layer), of_second = second.record(layer);
        for (Index head = 0; head < alike.heads; ++head)
            alike.rows.push_back(
                row_cosine(of_first->weights(head, query), of_second->weights(head, second_query), keys));
    }
    return alike;
}

PairMaps pair_maps(const Attention& first, const Attention& second, const Pairings& pairings,
                   const HeadIndex& head) {
    const HeadIndex there = beside(head, second);
    PairMaps maps{.first = stage_map(first.record(head.layer), head.head, Stage::weight),
                  .second = stage_map(second.record(there.layer), there.head, Stage::weight),
                  .difference = nullptr,
                  .query_names = {},
                  .key_names = {}};
    Corresponding queries(pairings.queries, first.query_names(), second.query_names()),
        keys(pairings.keys, first.key_names(), second.key_names());
    maps.query_names = std::move(queries.names);
    maps.key_names = std::move(keys.names);
    if (auto difference = difference_map(picked_map(maps.first, queries.first, keys.first),
                                         picked_map(maps.second, queries.second, keys.second)))
        maps.difference = *std::move(difference);
    return maps;
}

}  // namespace attn::app
