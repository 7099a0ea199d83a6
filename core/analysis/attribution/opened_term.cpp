#include "analysis/attribution/opened_term.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

Index token_of(const ScorePlace& place, ScoreSide side) {
    return side == ScoreSide::query ? place.query : place.key;
}

// The parts of the path's last head in q or k of a place.
std::vector<Source> parts_at(const ScorePlace& place, ScoreSide side, const std::vector<OpenedHead>& path) {
    return with_biases_joined(vector_sources(*place.trace, stage_of(side), place.attention, place.head,
                                             token_of(place, side), path));
}

using Path = std::vector<OpenedHead>;

// The beginning of a path that exists at a place, whose tokens are those of the place's run.
Path existing_at(const ScoreTerms& terms, ScoreSide side, const Path& path, bool at_other) {
    const ScorePlace& place = at_other ? *terms.against() : terms.place();
    const Trace& trace = *place.trace;
    Path existing;
    Index token = token_of(place, side);
    for (const OpenedHead& each : path) {
        const bool exists =
            existing.empty() ? terms.find(side, each.source()).has_value()
                             : Range{0, trace.attentions()}.holds(each.number) &&
                                   Range{0, trace.attention(each.number).record().heads()}.holds(each.head) &&
                                   is_read_by_keys_of(trace, existing.back().number, each.number);
        if (!exists) break;
        existing.push_back({each.number, each.head, {}});
        const Record& record = trace.attention(each.number).record();
        if (!each.token || !Range{0, record.keys()}.holds(*each.token) ||
            !(record.cell(Stage::weight, each.head, token, *each.token) > 0))
            break;
        existing.back().token = token = *each.token;
    }
    return existing;
}

// The path by the tokens of the other run, as far as it has them.
Path by_other_tokens(const Trace& trace, const Path& path, const OtherToken& other) {
    Path there;
    for (OpenedHead each : path) {
        const bool may = each.token && Range{0, trace.attentions()}.holds(each.number) &&
                         Range{0, trace.attention(each.number).record().keys()}.holds(*each.token);
        each.token = may ? other(each.number, *each.token) : std::nullopt;
        there.push_back(each);
        if (!each.token) break;
    }
    return there;
}

std::size_t steps_of(const Path& path) {
    return 2 * path.size() - (!path.empty() && !path.back().token ? 1 : 0);
}

}  // namespace

Path existing_path(const ScoreTerms& terms, ScoreSide side, const Path& path, const OtherToken& other) {
    Path here = existing_at(terms, side, path, false);
    if (!terms.against()) return here;
    const Path there = existing_at(terms, side, by_other_tokens(*terms.place().trace, path, other), true);
    if (steps_of(there) <= steps_of(here)) return here;
    here.assign(path.begin(), path.begin() + std::ssize(there));
    if (!there.back().token) here.back().token.reset();
    return here;
}

OpenedTerm::OpenedTerm(const ScoreTerms& terms, ScoreSide side, const Path& path, std::optional<Index> with,
                       const OtherToken& other)
    : side_(side), scale_(terms.scale()) {
    const Index first = same_source(terms.sources(side), path.front().source());
    const ScoreSide partner_side = other_side(side);
    const Index partner = std::min(with.value_or(terms.all(partner_side)), terms.all(partner_side));
    whole_ = side == ScoreSide::query ? terms.term(first, partner) : terms.term(partner, first);
    partners_[0] = terms.written(partner_side, partner);
    if (existing_at(terms, side, path, false) == path)
        for (Source& each : parts_at(terms.place(), side, path)) parts_.push_back({std::move(each)});
    if (!terms.against()) return;
    partners_[1] = terms.written(partner_side, partner, true);
    const Path there = by_other_tokens(*terms.place().trace, path, other);
    if (steps_of(existing_at(terms, side, there, true)) == steps_of(path))
        add_other(terms.place(), path.back(), parts_at(*terms.against(), side, there), other);
}

// Adds each part to that of the same source here or, if it names a token, of the token that it stands for.
void OpenedTerm::add_other(const ScorePlace& here, const OpenedHead& head, std::vector<Source> parts,
                           const OtherToken& other) {
    std::map<Index, Index> tokens;
    if (!head.token)
        for (Index token = 0; token < here.trace->attention(head.number).record().keys(); ++token)
            if (const auto there = other(head.number, token)) tokens.emplace(*there, token);
    for (Source& each : parts) {
        Part part{{each.part, each.number, each.head}, each.token, std::move(each.written)};
        if (const auto token = tokens.find(each.token); token != tokens.end())
            part.source.token = token->second;
        const auto same = std::ranges::find_if(
            parts_, [&](const Part& mine) { return !part.is_of_other_run() && mine.source.is(part.source); });
        if (same == parts_.end()) {
            parts_.push_back(std::move(part));
        } else {
            same->other_token = part.other_token;
            same->other = std::move(part.other);
        }
    }
}

std::array<std::vector<double>, 2> OpenedTerm::factors(const Part& part, bool at_other) const {
    std::array<std::vector<double>, 2> both{at_other ? part.other : part.source.written,
                                            partners_[static_cast<std::size_t>(at_other)]};
    both[0].resize(both[1].size());
    if (side_ == ScoreSide::key) std::swap(both[0], both[1]);
    return both;
}

double OpenedTerm::value(const Part& part) const {
    const auto product = [&](bool at_other) {
        const auto [q, k] = factors(part, at_other);
        return dot(q, k);
    };
    return scale_ * (product(false) - product(true));
}

}  // namespace attn
