// Draws the residual stream decoded after each attention and MLP, and the curves of the followed token.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/layers/layers.hpp"
#include "parts/part.hpp"
#include "parts/token_field.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr float places_share = 0.64f, curve_height = 150, curve_beside = 260, least_curve = 300,
                said_name_width = 124;

}  // namespace

// ---- Choosing token and place -----------------------------------------------------------------------------

void LayersLens::draw_controls(const Drawing& drawing) {
    const LayersState now = state().of<LayersState>();
    LayersState next = now;
    const LogitLens* read = reading();
    const std::vector<Candidate> likeliest =
        read ? read->states().back().likeliest : std::vector<Candidate>{};
    const auto offer = [&](const char* name, const char* label, std::optional<std::int32_t> token,
                           const char* otherwise) {
        if (!ui::button(name, label, token ? ok() : Status(Error{otherwise}))) return;
        next.token = token;
        search_ = {};
    };
    const auto likely = [&](std::size_t i) {
        return i < likeliest.size() ? std::optional(likeliest[i].id) : std::nullopt;
    };
    const char* unknown = read ? "The logits here are not finite." : "Reading the residual stream.";
    offer("layers/preset/likeliest", "The likeliest token", likely(0), unknown);
    // This token is followed by default.
    if (next.token != now.token) next.token.reset();
    ui::next_control(ui::need::choices);
    offer("layers/preset/second", "The runner-up", likely(1), unknown);
    ui::next_control(ui::need::choices);
    offer("layers/preset/text", "What the text says", token_in_text(),
          trace_->network().causal ? "The text ends here." : "The text has a mask there.");
    ui::next_control(ui::need::many_choices);
    parts::token_field("layers/token", "follow", "The token whose logit is followed", search_);
    if (read)
        if (const auto typed = vocabulary_.find(search_, read->logits(std::ssize(read->places()) - 1)))
            next.token = typed;
    if (const Index last_row = trace_->tokens() - 1; last_row > 0) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto to = ui::stepper("layers/position", "position",
                                        next_.stream ? next_.stream->row() : row(), 0, last_row))
            choose(drawing, *to);
        ImGui::EndGroup();
    }
    const std::vector<StreamPlace>& places = read_.stream->places();
    const Index last = std::ssize(places) - 1, at = place();
    ui::next_control(ui::need::named_choices);
    ImGui::BeginGroup();
    if (const auto to =
            ui::stepper("layers/at", "read after", place_name(places[static_cast<std::size_t>(at)]),
                        {at - 1, at > 0 ? "" : "There is nothing before the embedding."},
                        {at + 1, at < last ? "" : "This is the end."}))
        next.place = *to == last ? std::nullopt : std::optional(*to);
    ImGui::EndGroup();
    ui::fault("layers/fault", search_.fault);
    ui::fault("layers/refused", refused_);
    set(next);
}

// The stream's rows are the queries of a decoder, not those of an encoder.
void LayersLens::choose(const Drawing& drawing, Index position) const {
    Selection selection = selection_of(drawing);
    if (trace_->attention(selection.layer).place.kind == AttentionKind::encoder) {
        selection.layer = trace_->encoder()->attentions();
        selection.key.reset();
    }
    selection.query = position;
    visit().perform(Select{selection}, ui::gesture());
}

// ---- Predictions ------------------------------------------------------------------------------------------

void LayersLens::read_at(std::optional<Index> place) const {
    LayersState next = state().of<LayersState>();
    next.place = place == std::ssize(reading()->places()) - 1 ? std::nullopt : place;
    if (next != state().of<LayersState>()) visit().perform(SetLayers{next}, ui::gesture());
}

void LayersLens::draw_places(const Drawing& drawing, Subject& subject, float width) {
    const auto clicked = present::sheet(drawing, places_sheet(subject), width);
    if (!clicked) return;
    read_at(clicked->first);
    choose(drawing, positions().begin + clicked->second);
}

void LayersLens::draw_said(const Drawing& drawing, Subject& subject, float width) {
    const Index at = place();
    const std::vector<Candidate>& likeliest = reading()->states()[static_cast<std::size_t>(at)].likeliest;
    if (likeliest.empty())
        return ui::caption("The logits here are not finite, so no token has a probability.");
    std::vector<ui::Bar> bars;
    std::vector<std::int32_t> ids;
    const auto add = [&](std::int32_t id, double probability, Index rank) {
        ids.push_back(id);
        bars.push_back({vocabulary_.name(subject, id), static_cast<float>(probability),
                        fixed(probability, 4) + "   rank " + with_commas(rank), id == token(), false});
    };
    for (const Candidate& each : likeliest) add(each.id, each.probability, std::ssize(ids) + 1);
    if (std::ranges::find(ids, token()) == ids.end())
        add(token(), reading()->probability(at, token()), ranks()[static_cast<std::size_t>(at)]);
    const auto reply = present::bars(
        drawing,
        {.key = "layers/said",
         .title = capitalised(place_in_words(reading()->places()[static_cast<std::size_t>(at)])) +
                  ", it would say, " + at_temperature,
         .notation = "Click a token to follow its logit.",
         .value = "probability",
         .bars = bars,
         .most = static_cast<float>(likeliest.front().probability),
         .most_name = said_name_width,
         .cell = [&](Index i) { return layers_cells::probability(at, ids[static_cast<std::size_t>(i)]); }},
        width);
    if (!reply.clicked) return;
    LayersState next = state().of<LayersState>();
    next.token = ids[static_cast<std::size_t>(*reply.clicked)];
    search_ = {};
    if (next != state().of<LayersState>()) visit().perform(SetLayers{next}, ui::gesture());
}

// Draws two curves of the followed token, or two of the stream itself.
void LayersLens::draw_curves(const Drawing& drawing, Subject& subject, bool of_token, float width,
                             float height) {
    const Index last = std::ssize(reading()->places()) - 1;
    ui::ChartCurve first, second;
    first.name = second.name = of_token ? vocabulary_.name(subject, token()) : "‖stream‖";
    if (!of_token) second.name = "cosine";
    for (Index i = 0; i <= last; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const Cosine& of = reading()->states()[at].cosine;
        first.y.push_back(of_token ? reading()->probability(i, token()) : of.first_norm);
        second.y.push_back(of_token ? static_cast<double>(ranks()[at]) : of.value());
    }
    for (ui::ChartCurve* curve : {&first, &second}) {
        curve->colour = ui::series_colour((of_token ? 0u : 2u) + (curve == &second ? 1u : 0u));
        curve->points = last < 64;
        for (const StreamPlace& each : reading()->places()) {
            curve->x.push_back(static_cast<double>(curve->x.size()));
            curve->notes.push_back(place_in_words(each));
        }
    }
    const auto drawn = [&](const char* name, const char* title, ui::ChartAxis y, const ui::ChartCurve& curve,
                           const CellKind& kind) {
        return [&, name, title, y = std::move(y)](float w) {
            const ui::Chart chart{
                .name = name,
                .title = title,
                .x = {"half of a block, 0 is the embedding", 0, static_cast<double>(last), false, true},
                .y = y,
                .marked = static_cast<double>(place())};
            const auto reply =
                present::chart(drawing, chart, w, height, {&curve, 1},
                               [&](std::size_t, std::size_t at) { return kind(at, of_token ? token() : 0); });
            if (reply.held)
                read_at(
                    static_cast<Index>(std::lround(std::clamp(*reply.held, 0.0, static_cast<double>(last)))));
        };
    };
    if (of_token) {
        drawn("layers-probability", "Its probability at temperature 1",
              {std::string("probability ") + at_temperature, 0, 1}, first, layers_cells::probability)(width);
        drawn("layers-rank", "Its rank",
              {"rank, 1 is the likeliest", 0.8, static_cast<double>(std::ssize(reading()->logits(0))) * 1.2,
               true},
              second, layers_cells::rank)(width);
        return;
    }
    ui::columns("stream", least_curve, present::card_gap,
                drawn("layers-norm", "Length of the stream", ui::fitted("‖x‖", {&first, 1}, true), first,
                      layers_cells::norm),
                drawn("layers-cosine", "Cosine between the stream and its end",
                      ui::fitted("cosine", {&second, 1}, true), second, layers_cells::cosine));
}

void LayersLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    update(subject);
    while (!drawing.deadline.passed() && step(subject)) continue;
    update(subject);
    ui::hint(
        "Click a cell to read the stream there, and a token below to follow it; point at a part of its logit "
        "to see why it is as large as that.");
    if (ui::settings()) draw_controls(drawing);
    update(subject);
    ImGui::Dummy({0, 6});
    const float width = ImGui::GetContentRegionAvail().x;
    if (!reading()) {
        ui::caption(("Reading the residual stream, " + percent(read_.stream->progress()) + ".").c_str());
    } else {
        const auto draw_left = [&](float w) {
            draw_places(drawing, subject, w);
            draw_said(drawing, subject, w);
        };
        const float height = width >= ui::two_unequal_columns ? curve_beside : curve_height;
        ui::unequal_columns(places_share, present::card_gap, "places", draw_left, "curves",
                            [&](float w) { draw_curves(drawing, subject, true, w, height); });
        draw_curves(drawing, subject, false, width, curve_height);
        draw_sum(drawing, subject);
        draw_tokens(drawing, subject, width);
    }
    if (step(subject))
        drawing.visit.continue_with([this, &subject, trace = trace_] {
            return subject.attention() && subject.attention()->trace() == trace && trace == trace_ &&
                   step(subject);
        });
}

}  // namespace attn::app
