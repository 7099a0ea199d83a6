// Draws what adds up to a logit: its parts as bars, heads and MLPs layer by layer, and the tokens that they came from.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/layers/layers.hpp"
#include "lenses/layers/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/bars.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float parts_share = 0.42f, number_width = 46, part_name_width = 150;
constexpr Index most_tokens = 24, parts_shown = 14;

}  // namespace

void LayersLens::draw_sum(const Drawing& drawing, Subject& subject, float width) {
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
    const bool beside = width >= ui::two_unequal_columns;
    const float left = beside ? std::floor((width - ui::column_gap) * parts_share) : width;
    ui::column("parts", left, [&](float w) { draw_parts(drawing, subject, w); });
    if (beside) ImGui::SameLine(0, ui::column_gap);
    ui::column("heads", beside ? width - left - ui::column_gap : width,
               [&](float w) { draw_heads(drawing, subject, w); });
    ImGui::Dummy({0, layers_view::gap_below});
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
                        fixed(share.value, 4), state().pin == layers_cells::attribution(order[i]), false});
        others -= share.value;
    }
    if (kept < order.size())
        bars.push_back({many(std::ssize(order) - static_cast<Index>(kept), "other part"),
                        static_cast<float>(others), fixed(others, 4), false, true});
    const auto most = static_cast<float>(std::abs(shares[order.front()].value));
    const auto over = ui::bar_list("layers/part", "The largest parts of the logit", width, bars, most,
                                   ui::diverging_scale(most), part_name_width);
    if (!over || static_cast<std::size_t>(*over) >= kept) return;
    const CellRef cell = layers_cells::attribution(order[static_cast<std::size_t>(*over)]);
    drawing.now.cell = cell;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ui::clicked()) present::pin(drawing, cell);
}

// A row for each block: its heads, what its norms and W_O add besides, its MLP.
void LayersLens::draw_heads(const Drawing& drawing, Subject&, float width) {
    const std::vector<LogitShare>& shares = parts()->shares();
    const Network& network = trace_->network();
    const Index layers = std::ssize(network.blocks), heads = trace_->model()->config().heads;
    const bool crosses = network.encoder != nullptr;
    std::vector<std::string> columns;
    for (Index head = 0; head < heads; ++head) columns.push_back("h" + std::to_string(head));
    for (Index head = 0; crosses && head < heads; ++head) columns.push_back("c" + std::to_string(head));
    const Index mlp = std::ssize(columns);
    columns.emplace_back("MLP");
    Matrix values(layers, std::ssize(columns));
    std::vector<std::optional<Index>> place_of(values.values.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const LogitShare& share = shares[i];
        if (share.part != LogitPart::head && share.part != LogitPart::mlp) continue;
        const AttentionPlace at = trace_->attention(share.number).place;
        const Index first = at.kind == AttentionKind::cross ? heads : 0,
                    column = share.part == LogitPart::mlp ? mlp : first + share.head;
        values.at(at.layer, column) = share.value;
        place_of[static_cast<std::size_t>(at.layer * values.cols + column)] = static_cast<Index>(i);
    }
    ui::MatrixGrid grid;
    grid.name = "layers/heads";
    grid.title = "Heads and MLPs, layer by layer";
    grid.notation =
        crosses ? "what each adds to the logit; c: cross-attention" : "what each adds to the logit";
    grid.values = &values;
    grid.column_labels = columns;
    grid.row_axis = "layer";
    grid.column_axis = "part";
    grid.is_signed = true;
    const auto cell_of = [&](ui::CellAt at) -> std::optional<CellRef> {
        const auto share = place_of[static_cast<std::size_t>(at.first * values.cols + at.second)];
        return share ? std::optional(layers_cells::attribution(*share)) : std::nullopt;
    };
    const auto clicked = layers_view::draw_grid(grid, width, cell_of, drawing);
    if (!clicked || clicked->second == mlp) return;
    const StreamPlace::After after =
        clicked->second >= heads ? StreamPlace::After::cross : StreamPlace::After::attention;
    Selection selection = selection_of(drawing);
    if (trace_->attention(selection.layer).place.kind == AttentionKind::encoder) selection.forget_tokens();
    selection.layer = attention_of(network, {after, clicked->first});
    selection.head = clicked->second % heads;
    visit().perform(Select{selection}, ui::gesture());
}

// ---- Which tokens it came from ----------------------------------------------------------------------------

// The chosen one and those that matter most to any of the measures, where not all fit.
ShownTokens LayersLens::tokens_shown(Index tokens, bool encoded, Index fit,
                                     std::optional<Index> chosen) const {
    std::vector<Index> wanted = by_importance(tokens, encoded);
    if (chosen) wanted.insert(wanted.begin(), *chosen);
    return {tokens, fit, tokens - 1, wanted};
}

void LayersLens::draw_token_row(const Drawing& drawing, const TokenRow& row, TokenMeasure measure,
                                float width) {
    static constexpr std::array<const char*, token_measure_count> names{"direct", "rollout", "gradient",
                                                                        "exact"},
        titles{"Directly, through the heads here", "Attention rollout", "Attention × gradient",
               "Taken out of the run"},
        notations{"adds to the logit, exactly", "share of what arrives", "share of what helps",
                  "falls if no query sees its key"};
    const auto which = static_cast<std::size_t>(measure);
    const bool exact = measure == TokenMeasure::exact;
    const TokenShares* shares = exact ? falls_so_far() : measured(measure);
    Matrix values(1, row.tokens.size());
    for (Index c = 0; c < values.cols; ++c) {
        const auto token = static_cast<std::size_t>(row.tokens[c]);
        values.at(0, c) = shares ? (row.encoded ? shares->encoded : shares->own)[token] : NAN;
    }
    const double progress = exact ? (taken_out_ ? static_cast<double>(taken_out_->progress()) : 0)
                            : measure == TokenMeasure::gradient ? (gradient_ ? gradient_->progress() : 0)
                            : rollout_                          ? rollout_->progress()
                                                                : 0;
    ui::MatrixGrid grid;
    grid.name = "layers/" + std::string(names[which]) + (row.encoded ? "/encoded" : "");
    grid.title = titles[which];
    grid.notation = shares ? notations[which] : "is being computed, " + percent(progress);
    grid.values = &values;
    grid.row_labels = {&row.position, 1};
    grid.column_labels = row.words;
    grid.row_axis = "position";
    grid.column_axis = "token";
    grid.is_signed = measure == TokenMeasure::direct || exact;
    grid.allowed = [&](Index, Index c) { return !std::isnan(values.at(0, c)); };
    const CellKind& kind = row.encoded ? layers_cells::encoder_token : layers_cells::token;
    layers_view::draw_grid(
        grid, width, [&](ui::CellAt at) { return std::optional(kind(measure, row.tokens[at.second])); },
        drawing);
}

void LayersLens::draw_tokens(const Drawing& drawing, Subject& subject, float width) {
    const auto rows = [&](const Attention& text, bool encoded) {
        const auto fit = static_cast<Index>((width - layers_view::names_width) / number_width);
        TokenRow row{tokens_shown(text.queries(), encoded, std::min(fit, most_tokens), subject.chosen().key),
                     {},
                     layers_view::shortened(label_at(stream_text(subject).query_names(), this->row())),
                     encoded};
        for (const Index token : row.tokens)
            row.words.push_back(layers_view::shortened(label_at(text.query_names(), token)));
        if (!row.tokens.are_all())
            ui::caption((std::to_string(row.tokens.size()) + " of " + many(text.queries(), "token") +
                         ": the chosen one and those that matter most. The table has all.")
                            .c_str());
        for (Index i = 0; i < token_measure_count; ++i) {
            const auto measure = static_cast<TokenMeasure>(i);
            if (measure == TokenMeasure::gradient && !no_gradient_.empty())
                ui::caption(no_gradient_.c_str());
            else
                draw_token_row(drawing, row, measure, width);
        }
    };
    const float top = ImGui::GetCursorScreenPos().y;
    ui::section("Which tokens it came from");
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
        ui::caption(("The last row is being computed, the most important tokens first" +
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
    rows(stream_text(subject), false);
    if (const Attention* encoder = encoder_text(subject)) {
        ui::section("And of what the encoder read");
        rows(*encoder, true);
    }
    const ImVec2 end = ImGui::GetCursorScreenPos();
    tokens_in_view_ = ImGui::IsRectVisible({end.x, top}, {end.x + width, end.y});
}

}  // namespace attn::app
