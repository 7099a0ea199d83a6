// Draws which experts of the chosen layer process the chosen token.
#include <algorithm>
#include <numeric>

#include "app/format.hpp"
#include "model/block.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/sentence/sentence.hpp"

namespace attn::app {

namespace {

constexpr std::size_t experts_shown = 8;  // experts with the highest scores

}  // namespace

void SentenceSubject::draw_experts(const Drawing& drawing, float width) {
    const TextRun& shown = *chosen_run();
    const Index number = std::min(state().selection.layer, shown.layers() - 1);
    const LayerAttention attention = shown.run->attention(number);
    const Trace& trace = attention.queries;
    const auto layer = static_cast<std::size_t>(attention.place.layer);
    const auto& experts = trace.network().blocks[layer].experts;
    if (!experts) return;
    const LayerTrace& at = trace.layers()[layer];
    const Index token = chosen_query(*this);
    Tensor scores({1, std::ssize(experts->all)});
    apply(trace.kernels(), experts->router, rows(at.mlp_input.matrix(), {token, token + 1}), scores.matrix());
    std::vector<Index> order(experts->all.size());
    std::iota(order.begin(), order.end(), Index{0});
    const auto score = [&](Index expert) { return scores.values()[static_cast<std::size_t>(expert)]; };
    std::ranges::sort(order,
                      [&](Index a, Index b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    order.resize(std::min(order.size(), experts_shown));
    // Returns the place of an expert among the token's chosen ones; none if it is not chosen.
    const auto slot_of = [&](Index expert) -> std::optional<Index> {
        for (Index slot = 0; slot < experts->per_token; ++slot)
            if (static_cast<Index>(at.chosen_experts.matrix()(token, slot)) == expert) return slot;
        return std::nullopt;
    };
    const auto cell_of = [&](Index expert) {
        const auto slot = slot_of(expert);
        return slot ? RunCell{Stage::expert_weight, token, *slot}
                    : RunCell{Stage::router_score, token, expert};
    };
    present::Bars listed{
        .key = "experts",
        .title = "Experts of " + curly_quoted(label_at(shown.pieces, token)),
        .notation = "In " + shown.numbering().name(number) + ", the router sends this token to " +
                    many(experts->per_token, "expert") + " of " + std::to_string(experts->all.size()) +
                    ": the bars are what each one’s output is multiplied by.",
        .value = "weight",
        .bars = {},
        .cell = [&](Index bar) { return cell_of(order[static_cast<std::size_t>(bar)]); },
        .tip =
            [&](Index bar) {
                const Index expert = order[static_cast<std::size_t>(bar)];
                return "router score " + fixed(static_cast<double>(score(expert)), 4);
            }};
    for (const Index expert : order) {
        const auto slot = slot_of(expert);
        const float weight = slot ? at.expert_weights.matrix()(token, *slot) : 0;
        listed.bars.push_back({"expert " + std::to_string(expert), weight,
                               slot ? fixed(static_cast<double>(weight), 4) : "–", false, !slot});
    }
    present::bars(drawing, listed, width);
}

}  // namespace attn::app
