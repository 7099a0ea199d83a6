// Makes the matrices that lens Knock-out shows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

Sheet KnockoutLens::head_sheet(Subject& subject, const CellKind& kind) const {
    const bool looks = &kind == &knockout_cells::max_weight, falls = &kind == &knockout_cells::head_ablation;
    const HeadIndex chosen = subject.chosen_head();
    Sheet sheet{.key = falls   ? "knockout/fall"
                       : looks ? "knockout/look"
                               : "knockout/direct",
                .title = falls   ? "Falls without it"
                         : looks ? "Strongest weight"
                                 : "Adds directly",
                .notation = falls   ? "run as it is − run without the head"
                            : looks ? "of the chosen query’s row"
                                    : "what heads and MLPs write, read by the logit",
                .about = looks ? "" : target_name(subject),
                .rows = {.name = "layer"},
                .columns = {falls || looks ? "head" : "part", numbered_labels(removals()->heads(), "h")},
                .value = [this, &kind](Index layer, Index part) { return value_at(kind(layer, part)); },
                .cell = [&kind](Index layer, Index part) { return kind(layer, part); },
                .is_signed = !looks,
                .most = looks ? 1.0f : 0.0f,
                .is_whole = true,
                .lit_row = chosen.layer,
                .lit_column = chosen.head};
    for (Index layer = 0; layer < removals()->attentions(); ++layer)
        sheet.rows.labels.push_back(subject.attention()->numbering().name(layer));
    if (!falls && !looks) sheet.columns.labels.emplace_back("MLP");
    return sheet;
}

// If there is no room for all keys, these come first, and then the newest.
SheetAxis KnockoutLens::key_axis(Subject& subject, std::vector<Index> first) const {
    const Attention& attention = *subject.attention();
    for (Index key = attention.one_line() ? chosen_query(subject) : attention.keys() - 1; key >= 0; --key)
        first.push_back(key);
    return {"key", labels_in(attention.key_names(), {0, attention.keys()}), std::move(first)};
}

// The chosen query's weights, above the cost of cutting each.
Sheet KnockoutLens::row_sheet(Subject& subject) const {
    const HeadIndex head = subject.chosen_head();
    const Index query = chosen_query(subject);
    return {.key = "knockout/row",
            .title = "The edges of " + query_in_words(*subject.attention(), query),
            .notation = "fall: run as it is − run in which the query does not see the key",
            .about = target_name(subject),
            .rows = {"query", {"weight", "fall without"}},
            .columns = key_axis(subject, keys_named(subject)),
            .value =
                [this, weights = subject.attention()->record(head.layer)->weights(head.head, query)](
                    Index r, Index key) {
                    if (!std::ranges::binary_search(cuts()->keys(), key)) return static_cast<double>(NAN);
                    return r == 0 ? static_cast<double>(weights[static_cast<std::size_t>(key)])
                                  : value_at(knockout_cells::edge_ablation(key));
                },
            .cell =
                [query](Index r, Index key) {
                    return r == 0 ? CellRef{.stage = Stage::weight, .row = query, .col = key}
                                  : knockout_cells::edge_ablation(key);
                },
            .is_signed = true,
            .is_scaled_by_row = true,
            .is_tall = true};
}

// The weights of the head for these queries, or the estimated cost of cutting each edge.
Sheet KnockoutLens::map_sheet(Subject& subject, const ShownTokens& queries, std::vector<Index> first_keys,
                              bool estimates) const {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    Sheet sheet{.key = estimates ? "knockout/estimate" : "knockout/weights",
                .title = estimates ? "Falls without the edge, estimated" : "Weights of the head",
                .notation = estimates ? "to first order, all edges by one backward pass" : "where it looks",
                .about = estimates ? target_name(subject) : head_text(head, attention.numbering()),
                .rows = {"query", queries.labels(attention.query_names())},
                .columns = key_axis(subject, std::move(first_keys)),
                .is_signed = estimates};
    std::vector<std::vector<float>> weights;
    for (const Index query : queries)
        weights.push_back(attention.record(head.layer)->weights(head.head, query));
    sheet.value = [this, queries, estimates, head, record = attention.record(head.layer),
                   weights = std::move(weights)](Index r, Index key) {
        const std::vector<EdgeTerms>* estimated = head_cuts()->row(queries[r]);
        if (!record->spec().mask.allows(head.head, queries[r], key) || (estimates && !estimated))
            return static_cast<double>(NAN);
        const auto at = static_cast<std::size_t>(key);
        return estimates ? -(*estimated)[at].effect()
                         : static_cast<double>(weights[static_cast<std::size_t>(r)][at]);
    };
    sheet.cell = [queries, estimates](Index r, Index key) {
        return estimates ? knockout_cells::edge_estimate(queries[r], key)
                         : CellRef{.stage = Stage::weight, .row = queries[r], .col = key};
    };
    return sheet;
}

Sheet KnockoutLens::patch_sheet(Subject& subject) const {
    const Attention &attention = *subject.attention(), &patched = now().back ? *subject.second() : attention;
    const Range layers = patches()->attentions(), tokens = patches()->tokens();
    Sheet sheet{.key = "knockout/patch",
                .title = "Moves if this is the other text’s",
                .notation = "run with the other’s vector − run as it is",
                .about = target_name(subject),
                .rows = {.name = "layer"},
                .columns = {"token", labels_in(patched.query_names(), tokens)},
                .value =
                    [this, layers, tokens](Index r, Index c) {
                        return value_at(knockout_cells::patching(layers.begin + r, tokens.begin + c));
                    },
                .cell = [layers, tokens](
                            Index r,
                            Index c) { return knockout_cells::patching(layers.begin + r, tokens.begin + c); },
                .is_signed = true};
    for (Index layer = layers.begin; layer < layers.end; ++layer)
        sheet.rows.labels.push_back(attention.numbering().name(layer));
    for (Index c = tokens.size() - 1; c >= 0; --c) sheet.columns.wanted.push_back(c);
    return sheet;
}

// The edges with the largest estimates, and the cost of cutting each of them.
Table KnockoutLens::strongest_table(Subject& subject) const {
    const Attention& attention = *subject.attention();
    const auto& strongest = head_cuts()->estimates().strongest();
    Table edges{
        "The strongest edges of the head", {"estimate", "exact"}, {}, Matrix(std::ssize(strongest), 2)};
    for (std::size_t i = 0; i < strongest.size(); ++i) {
        edges.row_labels.push_back(label_at(attention.query_names(), strongest[i].query) + " → " +
                                   label_at(attention.key_names(), strongest[i].key));
        edges.values.at(static_cast<Index>(i), 0) = -strongest[i].effect;
        edges.values.at(static_cast<Index>(i), 1) =
            i < head_cuts()->exact().size() ? -head_cuts()->exact()[i] : NAN;
    }
    return edges;
}

std::vector<Table> KnockoutLens::tables(Subject& subject) {
    update(subject);
    std::vector<Table> all;
    if (!refused().empty()) return all;
    switch (now().part) {
        case KnockoutPart::heads:
            for (const CellKind* kind : {&knockout_cells::head_ablation, &knockout_cells::direct_effect,
                                         &knockout_cells::max_weight})
                all.push_back(table_of(head_sheet(subject, *kind)));
            break;
        case KnockoutPart::edges: {
            all.push_back(table_of(row_sheet(subject)));
            if (!head_cuts()) break;
            const MapTokens shown = map_tokens(subject, most_in_map);
            for (const bool estimates : {false, true})
                all.push_back(table_of(map_sheet(subject, shown.queries, shown.keys, estimates)));
            if (head_cuts()->estimates().done()) all.push_back(strongest_table(subject));
            break;
        }
        case KnockoutPart::patching: all.push_back(table_of(patch_sheet(subject))); break;
    }
    return all;
}

}  // namespace attn::app
