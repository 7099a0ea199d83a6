// Draws the parts that add up to a logit: as bars, as heads and MLPs layer by layer, and by the tokens that
// they came from.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/layers/layers.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float parts_share = 0.42f, part_name_width = 150, below_text = 4;
constexpr Index parts_shown = 14;

}  // namespace

void LayersLens::draw_sum(const Drawing& drawing, Subject& subject) {
    ui::section(("What adds up to the logit of " + vocabulary_.name(subject, token())).c_str());
    double embeddings = 0, heads = 0, mlps = 0, changes = 0, rest = 0;
    bool changed = false;
    for (const LogitShare& share : parts()->shares()) {
        changed |= is_change(share.part);
        (share.part == LogitPart::head            ? heads
         : share.part == LogitPart::mlp           ? mlps
         : is_change(share.part)                  ? changes
         : share.part < LogitPart::embedding_norm ? embeddings
                                                  : rest) += share.value;
    }
    const Network& network = trace_->network();
    std::string text = "Embeddings " + fixed(embeddings, 4) + ", heads " + fixed(heads, 4) + ", MLPs " +
                       fixed(mlps, 4) + (changed ? ", what was changed " + fixed(changes, 4) : "") +
                       ", biases and head " + fixed(rest, 4) + ": together " + fixed(parts()->sum(), 6);
    if (network.logit_cap > 0) text += ", which the cap makes " + fixed(parts()->capped(), 6);
    text += ". The run’s logit is " + fixed(parts()->logit(), 6) + ", off by " +
            fixed(std::abs(parts()->capped() - parts()->logit()), 1) + ".";
    ui::caption(text.c_str());
    ui::landmark_item("layers/sum");
    ui::caption(
        network.head_transform
            ? "Every norm is held at the mean and deviation that it had here, so it is a linear map. This "
              "model’s head is not linear: its activation is taken by its slope, and “bend of the head” is "
              "what that leaves."
            : "Every norm is held at the mean and deviation that it had here, so it is a linear map and the "
              "parts add up.");
    if (changed)
        ui::caption(
            "What was changed is the difference between what the stream was made and what the parts before "
            "it had "
            "written; those count as if it were still there.");
    ImGui::Dummy({0, below_text});
    ui::unequal_columns(
        parts_share, present::card_gap, "parts", [&](float w) { draw_parts(drawing, subject, w); }, "heads",
        [&](float w) { draw_heads(drawing, w); });
}

void LayersLens::draw_parts(const Drawing& drawing, Subject& subject, float width) {
    const std::vector<LogitShare>& shares = parts()->shares();
    std::vector<std::size_t> order(shares.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-std::abs(shares[i].value), i); });
    const auto kept = std::min(order.size(), static_cast<std::size_t>(parts_shown));
    double others = parts()->sum();
    std::vector<ui::Bar> bars;
    for (std::size_t i = 0; i < kept; ++i) {
        const LogitShare& share = shares[order[i]];
        bars.push_back({part_name(stream_text(subject), share), static_cast<float>(share.value),
                        fixed(share.value, 4), false, false});
        others -= share.value;
    }
    if (kept < order.size())
        bars.push_back({many(std::ssize(order) - static_cast<Index>(kept), "other part"),
                        static_cast<float>(others), fixed(others, 4), false, true});
    const auto most = static_cast<float>(std::abs(shares[order.front()].value));
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
                       return at < kept ? std::optional(layers_cells::attribution(order[at])) : std::nullopt;
                   },
                   .table = [&] { return sum_table(subject); }},
                  width);
}

void LayersLens::draw_heads(const Drawing& drawing, float width) {
    const Sheet sheet = heads_sheet();
    const auto clicked = present::sheet(drawing, sheet, width);
    if (!clicked || clicked->second + 1 == sheet.columns.size()) return;
    const Index heads = trace_->model()->config().heads;
    const StreamPlace::After after =
        clicked->second >= heads ? StreamPlace::After::cross : StreamPlace::After::attention;
    Selection selection = selection_of(drawing);
    if (trace_->attention(selection.layer).place.kind == AttentionKind::encoder) selection.forget_tokens();
    selection.layer = attention_of(trace_->network(), {after, clicked->first});
    selection.head = clicked->second % heads;
    visit().perform(Select{selection}, ui::gesture());
}

// ---- Source tokens ----------------------------------------------------------------------------------------

void LayersLens::draw_tokens(const Drawing& drawing, Subject& subject, float width) {
    const float top = ImGui::GetCursorScreenPos().y;
    present::sheet(drawing, tokens_sheet(subject, false), width);
    if (encoder_text(subject)) present::sheet(drawing, tokens_sheet(subject, true), width);
    if (!no_gradient_.empty()) ui::caption(no_gradient_.c_str());
    ui::caption(
        "The first row is exact, but direct alone: what the heads read of each token at this position. The "
        "last "
        "is exact for all ways: the model runs again without each token’s key. The two between guess at it: "
        "rollout "
        "by the weights of all layers, attention × gradient by the weights that help.");
    if (measured(TokenMeasure::exact)) {
        std::string text;
        for (const auto& [measure, name] :
             {std::pair{TokenMeasure::direct, "direct"}, std::pair{TokenMeasure::rollout, "rollout"},
              std::pair{TokenMeasure::gradient, "attention × gradient"}})
            if (const auto same = agreement(measure))
                text += (text.empty() ? "" : ", ") + std::string(name) + " " + fixed(*same, 2) +
                        (measure == TokenMeasure::rollout ? " (which has no sign, with the size of the fall)"
                                                          : "");
        if (!text.empty()) {
            ui::caption(("Rank correlation with the last row: " + text + ".").c_str());
            ui::landmark_item("layers/agreement");
        }
    } else {
        ui::caption(("Computing the last row, the most important tokens first" +
                     (falls_so_far() ? ": " + with_commas(std::ssize(taken_out_->effects())) + " of " +
                                           many(std::ssize(taken_order_), "token") + " so far."
                                     : std::string(".")))
                        .c_str());
    }
    double of_heads = 0;
    for (const LogitShare& share : parts()->shares())
        if (share.part == LogitPart::head) of_heads += share.value;
    if (std::ranges::any_of(trace_->interventions(),
                            [](const Intervention& each) { return each.site == Site::head_output; }))
        ui::caption(("What was changed in the output of a head comes from no token: of the heads’ " +
                     fixed(of_heads, 4) + ", the tokens make " + fixed(parts()->tokens().total(), 4) + ".")
                        .c_str());
    const ImVec2 end = ImGui::GetCursorScreenPos();
    tokens_in_view_ = ImGui::IsRectVisible({end.x, top}, {end.x + width, end.y});
}

}  // namespace attn::app
