// Draws the parts that add up to a logit: as bars, as heads and MLPs layer by layer, and by the tokens that
// they came from.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "analysis/ordered.hpp"
#include "app/format.hpp"
#include "lenses/layers/layers.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::layers {

namespace {

constexpr float parts_share = 0.42f, part_name_width = 150, below_text = 4;
constexpr Index parts_shown = 14;

void draw_parts(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const std::vector<LogitShare>& shares = model.parts()->shares();
    const std::vector<Index> order = ordered_by(
        std::ssize(shares), [&](Index i) { return -std::abs(shares[static_cast<std::size_t>(i)].value); });
    const auto kept = std::min(order.size(), static_cast<std::size_t>(parts_shown));
    double others = model.parts()->sum();
    std::vector<ui::Bar> bars;
    for (std::size_t i = 0; i < kept; ++i) {
        const LogitShare& share = shares[static_cast<std::size_t>(order[i])];
        bars.push_back({part_name(model, subject, share), static_cast<float>(share.value),
                        fixed(share.value, 4), false, false});
        others -= share.value;
    }
    if (kept < order.size())
        bars.push_back({many(std::ssize(order) - static_cast<Index>(kept), "other part"),
                        static_cast<float>(others), fixed(others, 4), false, true});
    const auto most = static_cast<float>(std::abs(shares[static_cast<std::size_t>(order.front())].value));
    present::bars(drawing,
                  {.key = "layers/part",
                   .title = "The largest parts",
                   .value = "adds",
                   .bars = bars,
                   .most = most,
                   .scale = ui::diverging_scale(most),
                   .most_name = part_name_width,
                   .cell = [&](Index i) -> std::optional<CellRef> {
                       const auto at = static_cast<std::size_t>(i);
                       return at < kept ? std::optional(cells::attribution(order[at])) : std::nullopt;
                   },
                   .table = [&] { return sum_table(model, subject); }},
                  width);
}

void draw_heads(const Model& model, const Drawing& drawing, float width) {
    const Sheet sheet = heads_sheet(model);
    const auto clicked = present::sheet(drawing, sheet, width);
    if (!clicked || clicked->second + 1 == sheet.columns.size()) return;
    const Index heads = model.trace->model()->config().heads;
    const StreamPlace::After after =
        clicked->second >= heads ? StreamPlace::After::cross : StreamPlace::After::attention;
    Selection selection = selection_of(drawing);
    if (model.trace->attention(selection.layer).place.kind == AttentionKind::encoder)
        selection.forget_tokens();
    selection.layer = attention_of(model.trace->network(), {after, clicked->first});
    selection.head = clicked->second % heads;
    drawing.visit.perform(Select{selection}, ui::gesture());
}

}  // namespace

void draw_sum(const Model& model, const Drawing& drawing, Subject& subject) {
    ui::section(("What adds up to the logit of " + model.vocabulary.name(subject, model.token())).c_str());
    const LogitSums sums = model.parts()->sums();
    const Network& network = model.trace->network();
    std::string text =
        "Embeddings " + fixed(sums.embeddings, 4) + ", heads " + fixed(sums.heads, 4) + ", MLPs " +
        fixed(sums.mlps, 4) + (sums.changed ? ", what was changed " + fixed(sums.changes, 4) : "") +
        ", biases and head " + fixed(sums.rest, 4) + ": together " + fixed(model.parts()->sum(), 6);
    if (network.logit_cap > 0) text += ", which the cap makes " + fixed(model.parts()->capped(), 6);
    text += ". The run’s logit is " + fixed(model.parts()->logit(), 6) + ", off by " +
            fixed(std::abs(model.parts()->capped() - model.parts()->logit()), 1) + ".";
    ui::caption(text.c_str());
    ui::landmark_item("layers/sum");
    ui::caption(network.head_transform
                    ? "Every norm is held at the mean and deviation that it had here, so it is a linear map. "
                      "This model’s head is not linear: its activation is taken by its slope, and “bend of "
                      "the head” is what that leaves."
                    : "Every norm is held at the mean and deviation that it had here, so it is a linear map "
                      "and the parts add up.");
    if (sums.changed)
        ui::caption(
            "What was changed is the difference between what the stream was made and what the parts before "
            "it had written; those count as if it were still there.");
    ImGui::Dummy({0, below_text});
    ui::unequal_columns(
        parts_share, present::card_gap, "parts", [&](float w) { draw_parts(model, drawing, subject, w); },
        "heads", [&](float w) { draw_heads(model, drawing, w); });
}

void draw_tokens(Model& model, const Drawing& drawing, Subject& subject, float width) {
    const float top = ImGui::GetCursorScreenPos().y;
    present::sheet(drawing, tokens_sheet(model, subject, false), width);
    if (encoder_text(subject)) present::sheet(drawing, tokens_sheet(model, subject, true), width);
    if (!model.tokens.no_gradient().empty()) ui::caption(model.tokens.no_gradient().c_str());
    if (units_of(model, stream_text(subject)))
        ui::caption(
            "Of several tokens the rows show the sum. What taking out several at once does is another run "
            "than "
            "those of its tokens, and stays by tokens.");
    ui::caption(
        "The first row is exact, but direct alone: what the heads read of each token at this position. The "
        "last is exact for all ways: the model runs again without each token’s key. The two between guess at "
        "it: rollout by the weights of all layers, attention × gradient by the weights that help.");
    if (model.tokens.measured(TokenMeasure::exact)) {
        std::string text;
        for (const auto& [measure, name] :
             {std::pair{TokenMeasure::direct, "direct"}, std::pair{TokenMeasure::rollout, "rollout"},
              std::pair{TokenMeasure::gradient, "attention × gradient"}})
            if (const auto same = model.tokens.agreement(measure))
                text += (text.empty() ? "" : ", ") + std::string(name) + " " + fixed(*same, 2) +
                        (measure == TokenMeasure::rollout ? " (which has no sign, with the size of the fall)"
                                                          : "");
        if (!text.empty()) {
            ui::caption(("Rank correlation with the last row: " + text + ".").c_str());
            ui::landmark_item("layers/agreement");
        }
    } else {
        ui::caption(
            ("Computing the last row, the most important tokens first" +
             (model.tokens.ablation() ? ": " + with_commas(model.tokens.ablation()->known()) + " of " +
                                            many(model.tokens.ablation()->runs(), "token") + " so far."
                                      : std::string(".")))
                .c_str());
    }
    if (std::ranges::any_of(model.trace->interventions(),
                            [](const Intervention& each) { return each.site == Site::head_output; }))
        ui::caption(("What was changed in the output of a head comes from no token: of the heads’ " +
                     fixed(model.parts()->sums().heads, 4) + ", the tokens make " +
                     fixed(model.parts()->tokens().total(), 4) + ".")
                        .c_str());
    const ImVec2 end = ImGui::GetCursorScreenPos();
    model.tokens_in_view = ImGui::IsRectVisible({end.x, top}, {end.x + width, end.y});
}

}  // namespace attn::app::layers
