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

namespace attn::app::layers {

namespace {

constexpr float places_share = 0.64f, curve_height = 150, curve_beside = 260, least_curve = 300,
                said_name_width = 124;

// The stream's rows are the queries of a decoder, not those of an encoder.
void choose(const Model& model, const Drawing& drawing, Index position) {
    Selection selection = selection_of(drawing);
    if (model.trace->attention(selection.layer).place.kind == AttentionKind::encoder) {
        selection.layer = model.trace->encoder()->attentions();
        selection.key.reset();
    }
    selection.query = position;
    drawing.visit.perform(Select{selection}, ui::gesture());
}

void set(const Model& model, const Drawing& drawing, const State& wanted) {
    if (wanted != model.state) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

void read_at(const Model& model, const Drawing& drawing, Index place) {
    const bool is_last = place + 1 == std::ssize(model.reading()->places());
    set(model, drawing, {model.state.token, is_last ? std::nullopt : std::optional(place)});
}

// The token that the text has where the logits predict one, if it continues.
std::optional<std::int32_t> token_in_text(const Model& model, Visit& visit) {
    const Index at = model.row() + (model.trace->network().causal ? 1 : 0);
    const auto ids = model.trace->ids();
    if (at == std::ssize(ids)) return std::nullopt;
    const std::int32_t token = ids[static_cast<std::size_t>(at)];
    return token == visit.page().special_tokens().mask ? std::nullopt : std::optional(token);
}

// ---- Choosing token and place -----------------------------------------------------------------------------

void draw_controls(Model& model, const Drawing& drawing) {
    const State now = model.state;
    State next = now;
    const LogitLens* read = model.reading();
    const std::vector<Candidate> likeliest =
        read ? read->states().back().likeliest : std::vector<Candidate>{};
    const auto offer = [&](const char* name, const char* label, std::optional<std::int32_t> token,
                           const char* otherwise) {
        if (!ui::next_button(label) || !ui::button(name, label, token ? ok() : Status(Error{otherwise})))
            return;
        next.token = token;
        model.search = {};
    };
    const auto likely = [&](std::size_t i) {
        return i < likeliest.size() ? std::optional(likeliest[i].id) : std::nullopt;
    };
    const char* unknown = read ? "The logits here are not finite." : "Reading the residual stream.";
    {
        const ui::Row tries("layers/try", ui::to_try);
        offer("layers/preset/likeliest", "The likeliest token", likely(0), unknown);
        // This token is followed by default.
        if (next.token != now.token) next.token.reset();
        offer("layers/preset/second", "The runner-up", likely(1), unknown);
        offer("layers/preset/text", "What the text says", token_in_text(model, drawing.visit),
              model.trace->network().causal ? "The text ends here." : "The text has a mask there.");
    }
    const ui::Row row("layers/settings");
    parts::token_field("layers/token", "follow", "The token whose logit is followed", model.search);
    if (read)
        if (const auto typed =
                model.vocabulary.find(model.search, read->logits(std::ssize(read->places()) - 1)))
            next.token = typed;
    if (const Index last_row = model.trace->tokens() - 1; last_row > 0) {
        ui::control(ui::need::stepper, [&] {
            if (const auto to =
                    ui::stepper("layers/position", "position",
                                model.next ? model.next->stream()->row() : model.row(), 0, last_row))
                choose(model, drawing, *to);
        });
    }
    const Index last = std::ssize(model.read->stream()->places()) - 1, at = model.place();
    ui::control(ui::need::named_choices, [&] {
        if (const auto to = ui::stepper("layers/at", "read after", place_name(model.place_at(at)),
                                        {at - 1, at > 0 ? "" : "There is nothing before the embedding."},
                                        {at + 1, at < last ? "" : "This is the end."}))
            next.place = *to == last ? std::nullopt : std::optional(*to);
    });
    ui::fault("layers/fault", model.search.fault);
    ui::fault("layers/refused", model.refused);
    if (next != now) drawing.visit.perform(Set<State>{next});
}

// ---- Predictions ------------------------------------------------------------------------------------------

void draw_places(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const auto clicked = present::sheet(drawing, places_sheet(model, subject), width);
    if (!clicked) return;
    read_at(model, drawing, clicked->first);
    choose(model, drawing, model.nearby->around(model.row()).begin + clicked->second);
}

void draw_said(Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Index at = model.place();
    const std::vector<Candidate>& likeliest =
        model.reading()->states()[static_cast<std::size_t>(at)].likeliest;
    if (likeliest.empty())
        return ui::caption("The logits here are not finite, so no token has a probability.");
    std::vector<ui::Bar> bars;
    std::vector<std::int32_t> ids;
    const auto add = [&](std::int32_t id, double probability, Index rank) {
        ids.push_back(id);
        bars.push_back({model.vocabulary.name(subject, id), static_cast<float>(probability),
                        fixed(probability, 4) + "   rank " + with_commas(rank), id == model.token(), false});
    };
    for (const Candidate& each : likeliest) add(each.id, each.probability, std::ssize(ids) + 1);
    if (std::ranges::find(ids, model.token()) == ids.end())
        add(model.token(), model.reading()->probability(at, model.token()),
            model.ranks()[static_cast<std::size_t>(at)]);
    const auto reply = present::bars(
        drawing,
        {.key = "layers/said",
         .title = capitalised(place_in_words(model.place_at(at))) + ", it would say, " + at_temperature,
         .notation = "Click a token to follow its logit.",
         .value = "probability",
         .bars = bars,
         .most = static_cast<float>(likeliest.front().probability),
         .most_name = said_name_width,
         .cell = [&](Index i) { return cells::probability(at, ids[static_cast<std::size_t>(i)]); }},
        width);
    if (!reply.clicked) return;
    State next = model.state;
    next.token = ids[static_cast<std::size_t>(*reply.clicked)];
    model.search = {};
    set(model, drawing, next);
}

// Draws a curve over the places, with its number at each of them in y.
void draw_curve(const Model& model, const Drawing& drawing, const CellKind& kind, const char* title,
                ui::ChartCurve curve, const ui::ChartAxis& axis, float width, float height) {
    for (const StreamPlace& place : model.reading()->places()) {
        curve.x.push_back(static_cast<double>(curve.x.size()));
        curve.notes.push_back(place_in_words(place));
    }
    curve.points = curve.x.size() <= 64;
    const double last = curve.x.back();
    const ui::Chart chart{.name = "layers-" + std::string(kind.name),
                          .title = title,
                          .x = {"half of a block, 0 is the embedding", 0, last, false, true},
                          .y = axis,
                          .marked = static_cast<double>(model.place())};
    const auto reply = present::chart(
        drawing, chart, width, height, {&curve, 1},
        [&](std::size_t, std::size_t place) { return kind(place, kind.rank() > 1 ? model.token() : 0); });
    if (reply.held)
        read_at(model, drawing, static_cast<Index>(std::lround(std::clamp(*reply.held, 0.0, last))));
}

void draw_curves(const Model& model, const Drawing& drawing, Subject& subject, float width, float height) {
    const LogitLens& read = *model.reading();
    const std::string name = model.vocabulary.name(subject, model.token());
    ui::ChartCurve probability{.name = name, .colour = ui::series_colour(0)},
        rank{.name = name, .colour = ui::series_colour(1)};
    for (Index i = 0; i < std::ssize(read.places()); ++i) {
        probability.y.push_back(read.probability(i, model.token()));
        rank.y.push_back(static_cast<double>(model.ranks()[static_cast<std::size_t>(i)]));
    }
    draw_curve(model, drawing, cells::probability, "Its probability at temperature 1", probability,
               {std::string("probability ") + at_temperature, 0, 1}, width, height);
    const double most = static_cast<double>(std::ssize(read.logits(0))) * 1.2;
    draw_curve(model, drawing, cells::rank, "Its rank", rank, {"rank, 1 is the likeliest", 0.8, most, true},
               width, height);
}

void draw_stream_curves(const Model& model, const Drawing& drawing) {
    ui::ChartCurve norm{.name = "‖stream‖", .colour = ui::series_colour(2)},
        cosine{.name = "cosine", .colour = ui::series_colour(3)};
    for (const LogitLens::State& each : model.reading()->states()) {
        norm.y.push_back(each.cosine.first_norm);
        cosine.y.push_back(each.cosine.value());
    }
    const auto drawn = [&](const CellKind& kind, const char* title, const char* axis,
                           const ui::ChartCurve& curve) {
        return [&, title, axis](float width) {
            draw_curve(model, drawing, kind, title, curve, ui::fitted(axis, {&curve, 1}, true), width,
                       curve_height);
        };
    };
    ui::columns("stream", least_curve, present::card_gap,
                drawn(cells::norm, "Length of the stream", "‖x‖", norm),
                drawn(cells::cosine, "Cosine between the stream and its end", "cosine", cosine));
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    while (!drawing.deadline.passed() && model.step(subject)) continue;
    model.update(drawing.visit, subject);
    ui::hint(
        "Click a cell to read the stream there, and a token below to follow it. Point at a part of its logit "
        "to see why it is as large as that.");
    if (ui::settings()) draw_controls(model, drawing);
    model.update(drawing.visit, subject);
    const float width = ImGui::GetContentRegionAvail().x;
    if (!model.reading()) {
        ui::caption(
            ("Reading the residual stream, " + percent(model.read->stream()->progress()) + ".").c_str());
    } else {
        const auto draw_left = [&](float w) {
            draw_places(model, drawing, subject, w);
            draw_said(model, drawing, subject, w);
        };
        const float height = width >= ui::two_unequal_columns ? curve_beside : curve_height;
        ui::unequal_columns(places_share, present::card_gap, "places", draw_left, "curves",
                            [&](float w) { draw_curves(model, drawing, subject, w, height); });
        draw_stream_curves(model, drawing);
        draw_sum(model, drawing, subject);
        draw_tokens(model, drawing, subject, width);
    }
    if (model.step(subject))
        drawing.visit.continue_with([&model, &subject, trace = model.trace] {
            return subject.attention() && subject.attention()->trace() == trace && trace == model.trace &&
                   model.step(subject);
        });
}

}  // namespace attn::app::layers
