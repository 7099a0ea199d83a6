// Makes the matrices that lens Knock-out shows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "subjects/reading.hpp"

namespace attn::app::knockout {

namespace {

// If there is no room for all keys, these come first, and then the newest.
SheetAxis key_axis(const Model& model, Subject& subject, std::vector<Index> first) {
    const Attention& attention = *subject.attention();
    for (Index key = attention.one_line() ? model.query : attention.keys() - 1; key >= 0; --key)
        first.push_back(key);
    return {"key", labels_in(attention.key_names(), {0, attention.keys()}), std::move(first)};
}

std::vector<float> weights_of(const Model& model, Subject& subject, Index query) {
    return subject.attention()->record(model.head.layer)->weights(model.head.head, query);
}

// The chosen key, the one that the chosen query attends to most, and the one with the largest effect; −1:
// there is none.
std::vector<Index> keys_named(const Model& model, Subject& subject) {
    const std::vector<float> weights = weights_of(model, subject, model.query);
    Index strongest = -1, dearest = -1;
    const auto weight = [&](Index key) { return weights[static_cast<std::size_t>(key)]; };
    for (const Index key : model.cuts()->keys()) {
        if (strongest < 0 || weight(key) > weight(strongest)) strongest = key;
        const auto fall = model.cuts()->logit_drop(key);
        if (fall && std::isfinite(*fall) && (dearest < 0 || *fall > *model.cuts()->logit_drop(dearest)))
            dearest = key;
    }
    return {model.chosen_key.value_or(-1), strongest, dearest};
}

}  // namespace

MapTokens map_tokens(const Model& model, Subject& subject, Index room) {
    const Attention& attention = *subject.attention();
    // The strongest edges of all take at most half of the room; the key that the queries attend to most is
    // shown, too.
    std::vector<Index> queries{model.query}, keys;
    const auto add = [&](std::vector<Index>& to, Index token, Index most) {
        if (token >= 0 && std::ranges::find(to, token) == to.end() && std::ssize(to) < most)
            to.push_back(token);
    };
    const auto& strongest = model.head_cuts()->estimates().strongest();
    for (const EdgeEstimates::Edge& edge : strongest) add(queries, edge.query, room / 2);
    const ShownTokens shown{attention.queries(), room, model.query, queries};
    std::vector<double> looked(static_cast<std::size_t>(attention.keys()));
    for (const Index row : shown) {
        const std::vector<float> weights = weights_of(model, subject, row);
        for (std::size_t key = 0; key < looked.size(); ++key)
            looked[key] += static_cast<double>(weights[key]);
    }
    for (const Index key : keys_named(model, subject)) add(keys, key, room);
    if (attention.one_line()) add(keys, model.query, room);
    add(keys, std::ranges::max_element(looked) - looked.begin(), room);
    for (const EdgeEstimates::Edge& edge : strongest) add(keys, edge.key, std::max(room / 2, Index{5}));
    return {shown, keys};
}

Sheet head_sheet(const Model& model, Subject& subject, const CellKind& kind) {
    const bool looks = &kind == &cells::max_weight, falls = &kind == &cells::head_ablation;
    Sheet sheet{
        .key = falls   ? "knockout/fall"
               : looks ? "knockout/look"
                       : "knockout/direct",
        .title = falls   ? "Falls without it"
                 : looks ? "Strongest weight"
                         : "Adds directly",
        .notation = falls   ? "run as it is − run without the head"
                    : looks ? "of the chosen query’s row"
                            : "what heads and MLPs write, read by the logit",
        .about = looks ? "" : model.target_name(subject),
        .rows = {.name = "layer"},
        .columns = {falls || looks ? "head" : "part", numbered_labels(model.heads(), "h")},
        .value =
            [&model, looks, falls](Index layer, Index part) {
                if (looks) {
                    const auto look = model.look({layer, part});
                    return look ? look->weight : NAN;
                }
                const HeadRemovals& all = *model.removals();
                return (falls ? all.logit_drop({layer, part}) : all.direct({layer, part})).value_or(NAN);
            },
        .cell = [&kind](Index layer, Index part) { return kind(layer, part); },
        .is_signed = !looks,
        .most = looks ? 1.0f : 0.0f,
        .is_whole = true,
        .lit_row = model.head.layer,
        .lit_column = model.head.head};
    for (Index layer = 0; layer < model.removals()->attentions(); ++layer)
        sheet.rows.labels.push_back(subject.attention()->numbering().name(layer));
    if (!falls && !looks) sheet.columns.labels.emplace_back("MLP");
    return sheet;
}

// The chosen query's weights, above the cost of cutting each.
Sheet row_sheet(const Model& model, Subject& subject) {
    return {.key = "knockout/row",
            .title = "The edges of " + query_in_words(*subject.attention(), model.query),
            .notation = "fall: run as it is − run in which the query does not see the key",
            .about = model.target_name(subject),
            .rows = {"query", {"weight", "fall without"}},
            .columns = key_axis(model, subject, keys_named(model, subject)),
            .value =
                [&model, weights = weights_of(model, subject, model.query)](Index r, Index key) {
                    if (!std::ranges::binary_search(model.cuts()->keys(), key))
                        return static_cast<double>(NAN);
                    return r == 0 ? static_cast<double>(weights[static_cast<std::size_t>(key)])
                                  : model.cuts()->logit_drop(key).value_or(NAN);
                },
            .cell = [query = model.query](Index r, Index key) -> CellRef {
                return r == 0 ? RunCell{.stage = Stage::weight, .row = query, .col = key}
                              : cells::edge_ablation(key);
            },
            .is_signed = true,
            .is_scaled_by_row = true,
            .is_tall = true};
}

// The weights of the head for these queries, or the estimated cost of cutting each edge.
Sheet map_sheet(const Model& model, Subject& subject, const MapTokens& shown, bool estimates) {
    const Attention& attention = *subject.attention();
    const ShownTokens& queries = shown.queries;
    std::vector<std::vector<float>> weights;
    for (const Index query : queries) weights.push_back(weights_of(model, subject, query));
    return {.key = estimates ? "knockout/estimate" : "knockout/weights",
            .title = estimates ? "Falls without the edge, estimated" : "Weights of the head",
            .notation = estimates ? "to first order, all edges by one backward pass" : "where it looks",
            .about = estimates ? model.target_name(subject) : head_text(model.head, attention.numbering()),
            .rows = {"query", queries.labels(attention.query_names())},
            .columns = key_axis(model, subject, shown.keys),
            .value =
                [&model, queries, estimates, record = attention.record(model.head.layer),
                 weights = std::move(weights)](Index r, Index key) {
                    const auto at = static_cast<std::size_t>(key);
                    if (!record->spec().mask.allows(model.head.head, queries[r], key))
                        return static_cast<double>(NAN);
                    if (!estimates) return static_cast<double>(weights[static_cast<std::size_t>(r)][at]);
                    const std::vector<EdgeTerms>* estimated = model.head_cuts()->row(queries[r]);
                    return estimated ? -(*estimated)[at].effect() : static_cast<double>(NAN);
                },
            .cell = [queries, estimates](Index r, Index key) -> CellRef {
                return estimates ? cells::edge_estimate(queries[r], key)
                                 : RunCell{.stage = Stage::weight, .row = queries[r], .col = key};
            },
            .is_signed = estimates};
}

Sheet patch_sheet(const Model& model, Subject& subject) {
    const Range layers = model.patches()->attentions(), tokens = model.patches()->tokens();
    Sheet sheet{.key = "knockout/patch",
                .title = "Moves if this is the other text’s",
                .notation = "run with the other’s vector − run as it is",
                .about = model.target_name(subject),
                .rows = {.name = "layer"},
                .columns = {"token", labels_in(model.patched(subject).query_names(), tokens)},
                .value =
                    [&model, layers, tokens](Index r, Index c) {
                        return model.patches()->moved(layers.begin + r, tokens.begin + c).value_or(NAN);
                    },
                .cell = [layers, tokens](
                            Index r, Index c) { return cells::patching(layers.begin + r, tokens.begin + c); },
                .is_signed = true};
    for (Index layer = layers.begin; layer < layers.end; ++layer)
        sheet.rows.labels.push_back(subject.attention()->numbering().name(layer));
    for (Index c = tokens.size() - 1; c >= 0; --c) sheet.columns.wanted.push_back(c);
    return sheet;
}

// The edges with the largest estimates, and the cost of cutting each of them.
Table strongest_table(const Model& model, Subject& subject) {
    const Attention& attention = *subject.attention();
    const auto& strongest = model.head_cuts()->estimates().strongest();
    const std::span<const double> exact = model.head_cuts()->exact();
    Table edges{
        "The strongest edges of the head", {"estimate", "exact"}, {}, Matrix(std::ssize(strongest), 2)};
    for (std::size_t i = 0; i < strongest.size(); ++i) {
        edges.row_labels.push_back(label_at(attention.query_names(), strongest[i].query) + " → " +
                                   label_at(attention.key_names(), strongest[i].key));
        edges.values.at(static_cast<Index>(i), 0) = -strongest[i].effect;
        edges.values.at(static_cast<Index>(i), 1) = i < exact.size() ? -exact[i] : NAN;
    }
    return edges;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!refused.empty()) return {};
    if (state.part == Part::patching) return {table_of(patch_sheet(*this, subject))};
    std::vector<Table> all;
    if (state.part == Part::heads) {
        for (const CellKind* kind : {&cells::head_ablation, &cells::direct_effect, &cells::max_weight})
            all.push_back(table_of(head_sheet(*this, subject, *kind)));
        return all;
    }
    all.push_back(table_of(row_sheet(*this, subject)));
    if (!head_cuts()) return all;
    const MapTokens shown = map_tokens(*this, subject, most_in_map);
    for (const bool estimates : {false, true})
        all.push_back(table_of(map_sheet(*this, subject, shown, estimates)));
    if (head_cuts()->estimates().done()) all.push_back(strongest_table(*this, subject));
    return all;
}

}  // namespace attn::app::knockout
