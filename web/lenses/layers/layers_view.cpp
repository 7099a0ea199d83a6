// Draws what the head reads in the residual stream after every half of every block, and the curves of the token that is
// followed.
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
#include "widgets/plot.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr float places_share = 0.64f, curve_height = 150, said_name_width = 124;

}  // namespace

// ---- Which token, and where -------------------------------------------------------------------------------

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
    const char* unknown = read ? "The logits here are not finite." : "The stream is being read.";
    offer("layers/preset/likeliest", "The likeliest token", likely(0), unknown);
    // It is what is followed unless somebody chooses another.
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

// ---- What it would say ------------------------------------------------------------------------------------

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

void LayersLens::draw_curves(const Drawing& drawing, Subject& subject, float width) {
    const Index last = std::ssize(reading()->places()) - 1;
    ui::ChartCurve probability, rank, norm, cosine;
    for (Index i = 0; i <= last; ++i) {
        const Cosine& of = reading()->states()[static_cast<std::size_t>(i)].cosine;
        const std::array values{reading()->probability(i, token()),
                                static_cast<double>(ranks()[static_cast<std::size_t>(i)]), of.first_norm,
                                of.value()};
        const std::array curves{&probability, &rank, &norm, &cosine};
        for (std::size_t c = 0; c < curves.size(); ++c) {
            curves[c]->x.push_back(static_cast<double>(i));
            curves[c]->y.push_back(values[c]);
            curves[c]->notes.push_back(place_in_words(reading()->places()[static_cast<std::size_t>(i)]));
            curves[c]->points = last < 64;
            curves[c]->colour = ui::series_colour(c);
        }
    }
    probability.name = rank.name = vocabulary_.name(subject, token());
    norm.name = "‖stream‖";
    cosine.name = "cosine";
    const auto drawn = [&](const char* name, const char* title, ui::ChartAxis y, const ui::ChartCurve& curve,
                           const CellKind& kind, Index of_token = 0) {
        const ui::Chart chart{
            .name = name,
            .title = title,
            .x = {"half of a block, 0 is the embedding", 0, static_cast<double>(last), false, true},
            .y = std::move(y),
            .marked = static_cast<double>(place())};
        const auto reply =
            present::chart(drawing, chart, width, curve_height, {&curve, 1},
                           [&](std::size_t, std::size_t point) { return kind(point, of_token); });
        if (reply.held)
            read_at(static_cast<Index>(std::lround(std::clamp(*reply.held, 0.0, static_cast<double>(last)))));
    };
    const Index vocabulary = std::ssize(reading()->logits(0));
    drawn("layers-probability", "Its probability at temperature 1",
          {std::string("probability ") + at_temperature, 0, 1}, probability, layers_cells::probability,
          token());
    drawn("layers-rank", "Its rank",
          {"rank, 1 is the likeliest", 0.8, static_cast<double>(vocabulary) * 1.2, true}, rank,
          layers_cells::rank, token());
    drawn("layers-norm", "Length of the stream", ui::fitted("‖x‖", {&norm, 1}, true), norm,
          layers_cells::norm);
    drawn("layers-cosine", "Cosine between the stream and its end", ui::fitted("cosine", {&cosine, 1}, true),
          cosine, layers_cells::cosine);
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
    const bool beside = width >= ui::two_unequal_columns;
    if (!reading()) {
        ui::caption(("The stream is being read, " + percent(read_.stream->progress()) + ".").c_str());
    } else {
        const float left = beside ? std::floor((width - present::card_gap) * places_share) : width;
        ui::column("places", left, [&](float w) {
            draw_places(drawing, subject, w);
            draw_said(drawing, subject, w);
        });
        if (beside) ImGui::SameLine(0, present::card_gap);
        ui::column("curves", beside ? width - left - present::card_gap : width,
                   [&](float w) { draw_curves(drawing, subject, w); });
        draw_sum(drawing, subject, width);
        draw_tokens(drawing, subject, width);
    }
    if (step(subject))
        drawing.visit.continue_with([this, &subject, trace = trace_] {
            return subject.attention() && subject.attention()->trace() == trace && trace == trace_ &&
                   step(subject);
        });
}

}  // namespace attn::app
