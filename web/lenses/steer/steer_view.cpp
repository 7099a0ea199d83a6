// Draws the direction's controls, the next token before and after, the logits along the dial, and how the
// text goes on.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/steer/steer.hpp"
#include "parts/part.hpp"
#include "parts/token_field.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::steer {

namespace {

constexpr float kind_width = 190;

constexpr float dial_chart_height = 240, least_bars = 280, lengths_share = 0.4f;
constexpr double first_dial = 0.5;      // at 1 and more, many models only repeat a token
constexpr double dial_steps = 100;      // positions of the dial in 1
constexpr Index most_text_tokens = 64;  // tokens of the text offered for choosing

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.visit.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}
double on_the_dial(double value) { return std::round(value * dial_steps) / dial_steps; }

// Steers the run so, with the dial turned up if nothing was added yet.
void steer(const Model& model, const Drawing& drawing, Subject& subject, Steering wanted) {
    if (wanted == model.steering) return;
    if (!model.steers && wanted.dial == 0) wanted.dial = first_dial;
    drawing.visit.perform(subject.text_model()->steer(wanted), ui::gesture());
}

// ---- Controls ---------------------------------------------------------------------------------------------

bool may_be_written(Subject& subject, const HeadIndex& head) {
    return subject.attention()->trace()->attention(head.layer).place.kind != AttentionKind::cross;
}

// Returns whether one was pressed, which may have changed everything.
bool draw_tries(const Model& model, const Drawing& drawing, Subject& subject) {
    const ui::Row tries("steer/try", ui::to_try);
    Steering next = model.steering;
    next.dial = first_dial;
    next.direction = {.token = model.steering.direction.is_of_token() ? model.steering.direction.token
                               : subject.attention()->ids().empty()   ? 0
                                                                      : subject.attention()->ids().back()};
    const TextModel& text_model = *subject.text_model();
    std::optional<Command> asked;
    const std::string token = "Add " + model.vocabulary.name(subject, next.direction.token);
    if (ui::next_button(token) && ui::button("steer/try/token", token.c_str()))
        asked = text_model.steer(next);
    const HeadIndex head = subject.chosen_head();
    const std::string writes = "Add what this head writes";
    if (may_be_written(subject, head) && ui::next_button(writes) &&
        ui::button("steer/try/written", writes.c_str())) {
        Steering written = next;
        written.direction.kind = Kind::written;
        written.direction.head = head;
        written.attention = head.layer;
        written.site = Site::resid_mid;
        asked = text_model.steer(written);
    }
    const std::string difference = "This text minus the second";
    Comparing* comparing = subject.comparing();
    const bool has_second = second_of(subject) != nullptr;
    const auto offer = comparing && !has_second ? comparing->offer_second() : std::nullopt;
    if ((has_second || offer) && ui::next_button(difference) &&
        ui::button("steer/try/second", difference.c_str())) {
        next.direction = {.kind = Kind::second_text};
        asked = text_model.steer(next);
        if (offer) asked = Together{{*asked, offer->command, OpenLens{drawing.state().lens}}};
    }
    if (asked) drawing.visit.perform(*asked);
    return asked.has_value();
}

// The direction's token, typed ones, the likeliest ones before and after, and those of the text.
std::vector<std::int32_t> tokens_offered(const Model& model, Subject& subject) {
    std::vector<std::int32_t> ids{model.steering.direction.token};
    const auto offer = [&](std::int32_t id) {
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    };
    for (const std::int32_t id : model.typed) offer(id);
    for (const std::int32_t id : model.listed) offer(id);
    const auto own = subject.attention()->ids();
    for (const std::int32_t id : own.last(std::min(own.size(), static_cast<std::size_t>(most_text_tokens))))
        offer(id);
    return ids;
}

void draw_token(Model& model, Subject& subject, Steering& next) {
    const std::vector<std::int32_t> ids = tokens_offered(model, subject);
    const std::vector<std::string> names = model.vocabulary.names(subject, ids);
    ui::labelled_list("token", "steer/token", names.front(), ui::menu_width,
                      [&](const ui::ListOptions& list) {
                          for (std::size_t i = 0; i < ids.size(); ++i)
                              if (list.option(std::to_string(ids[i]), names[i], i == 0))
                                  next.direction.token = ids[i];
                      });
    if (ui::next_control(ui::need::many_choices))
        parts::token_field("steer/typed", "or type it", "The token whose direction is added", model.search);
    if (!model.is_ready()) return;
    if (const auto typed = model.vocabulary.find(model.search, model.next(Side::before).logits)) {
        std::erase(model.typed, *typed);
        model.typed.insert(model.typed.begin(), *typed);
        next.direction.token = *typed;
    }
}

// Changes the kind, and keeps what both kinds take.
void take_kind(Subject& subject, Steering& next, Kind kind) {
    const SteeringDirection before = next.direction;
    next.direction = {.kind = kind};
    if (next.direction.is_of_token() && before.is_of_token()) next.direction.token = before.token;
    if (next.direction.is_of_token() && !before.is_of_token() && !subject.attention()->ids().empty())
        next.direction.token = subject.attention()->ids().back();
    if (kind == Kind::written) next.direction.head = subject.chosen_head();
}

void draw_kind(Subject& subject, Steering& next) {
    static constexpr std::array<std::pair<const char*, const char*>, 6> kinds{
        {{"embedding", "token embedding"},
         {"unembedding", "token unembedding"},
         {"written", "what a head writes"},
         {"second", "this text − the second"},
         {"texts", "this text − many texts"},
         {"contrast", "positive − negative texts"}}};
    const Kind shown = next.direction.kind;
    ui::labelled_list("direction", "steer/kind", kinds[static_cast<std::size_t>(shown)].second, kind_width,
                      [&](const ui::ListOptions& list) {
                          for (std::size_t i = 0; i < kinds.size(); ++i)
                              if (list.option(kinds[i].first, kinds[i].second, static_cast<Kind>(i) == shown))
                                  take_kind(subject, next, static_cast<Kind>(i));
                      });
}

void draw_direction(Model& model, Subject& subject, Steering& next) {
    if (next.direction.is_of_token()) draw_token(model, subject, next);
    if (const HeadIndex head = subject.chosen_head();
        next.direction.kind == Kind::written && next.direction.head != head) {
        const std::string take = "Take head " + subject.attention()->numbering().short_head(head);
        if (ui::next_button(take) && ui::button("steer/head", take.c_str())) next.direction.head = head;
    }
    const Index query = chosen_query(subject);
    if (next.direction.kind == Kind::second_text) {
        static constexpr std::array<const char*, 2> of{"means of all tokens", "the chosen token"};
        if (ui::next_control(ui::need::named_choices))
            if (const auto chosen =
                    ui::labelled_choice("of", "steer/place", of, next.direction.place ? 1 : 0))
                next.direction.place = *chosen == 1 ? std::optional(query) : std::nullopt;
    }
}

void draw_place(const Model& model, Subject& subject, Steering& next) {
    const Attention& attention = *subject.attention();
    const Index layers = attention.layers();
    ui::control(ui::need::stepper, [&] {
        if (const auto to = ui::stepper(
                "steer/layer", "at", attention.numbering().name(next.attention),
                {next.attention - 1, next.attention > 0 ? "" : "This is the first layer."},
                {next.attention + 1, next.attention + 1 < layers ? "" : "This is the last layer."}))
            next.attention = std::clamp<Index>(*to, 0, layers - 1);
    });
    static constexpr std::array<const char*, 3> sites{"before", "within", "after"};
    if (ui::next_control(ui::need::choices))
        if (const auto chosen = ui::choice(
                "steer/site", sites,
                static_cast<int>(std::ranges::find(steering_sites, next.site) - steering_sites.begin())))
            next.site = steering_sites[static_cast<std::size_t>(*chosen)];
    static constexpr std::array<const char*, 2> where{"all tokens", "the chosen token"};
    if (ui::next_control(ui::need::named_choices))
        if (const auto chosen = ui::labelled_choice("for", "steer/where", where, next.row ? 1 : 0))
            next.row = *chosen == 1 ? std::optional(chosen_query(subject)) : std::nullopt;
    if (model.steering.row && *model.steering.row != chosen_query(subject) && next.row) {
        const std::string take = "Move it to " + std::to_string(chosen_query(subject));
        if (ui::next_button(take) && ui::button("steer/row", take.c_str())) next.row = chosen_query(subject);
    }
}

void draw_settings(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::Row row("steer/settings");
    Steering next = model.steering;
    ui::control(ui::need::slider, [&] {
        if (const auto dial = ui::slider("steer/dial", "dial", std::clamp(next.dial, -most_dial, most_dial),
                                         -most_dial, most_dial, "%.2f"))
            next.dial = on_the_dial(*dial);
    });
    const bool turned = next.dial != model.steering.dial;
    draw_kind(subject, next);
    draw_direction(model, subject, next);
    draw_place(model, subject, next);
    if (turned && !model.steers && next.dial == 0) return;
    steer(model, drawing, subject, next);
}

// ---- Pictures ---------------------------------------------------------------------------------------------

void draw_next(const Model& model, const Drawing& drawing, Subject& subject, Side which, float width) {
    const NextToken& next = model.next(which);
    if (!next.is_finite()) return;
    const bool before = which == Side::before;
    present::Bars bars{
        .key = before ? "steer/before" : "steer/after",
        .title = before ? "Next token, before" : "Next token, dial at " + shortest(model.dial_shown),
        .notation = at_temperature,
        .value = "probability",
        .most = 0,
        .cell = [&](Index bar) { return cells::next(which, model.listed[static_cast<std::size_t>(bar)]); }};
    const std::vector<std::string> names = model.vocabulary.names(subject, model.listed);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const double chance = next.probability(model.listed[i]);
        for (const Side each : {Side::before, Side::after})
            if (model.next(each).is_finite())
                bars.most =
                    std::max(bars.most, static_cast<float>(model.next(each).probability(model.listed[i])));
        bars.bars.push_back(
            {names[i], static_cast<float>(chance), percent(chance),
             model.steering.direction.is_of_token() && model.listed[i] == model.steering.direction.token});
    }
    bars.scale = ui::sequential_scale(bars.most);
    const auto reply = present::bars(drawing, bars, width);
    if (!reply.clicked) return;
    State followed = model.state;
    followed.follow = model.listed[static_cast<std::size_t>(*reply.clicked)];
    set(drawing, followed);
}

// Each followed token along the dial, as far as the runs are done.
std::vector<ui::ChartCurve> dial_curves(const Model& model, Subject& subject) {
    std::vector<ui::ChartCurve> curves;
    const std::vector<std::string> names = model.vocabulary.names(subject, model.followed);
    const auto done = model.sweep->logits();
    for (std::size_t i = 0; i < names.size(); ++i) {
        ui::ChartCurve curve;
        curve.name = names[i];
        curve.colour = ui::series_colour(i);
        curve.points = true;
        for (std::size_t point = 0; point < done.size(); ++point) {
            const double logit =
                static_cast<double>(done[point][static_cast<std::size_t>(model.followed[i])]);
            curve.add(dial_at(static_cast<Index>(point)), model.state.measure == Measure::logit
                                                              ? logit
                                                              : std::exp(logit - model.sweep_sums[point]));
        }
        curves.push_back(std::move(curve));
    }
    return curves;
}

void draw_dial(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    static constexpr std::array<const char*, 2> measures{"probability", "logit"};
    ui::next_control(ui::need::choices);
    State next = drawing.state().of<State>();
    if (const auto chosen =
            ui::labelled_choice("along the dial", "steer/measure", measures, static_cast<int>(next.measure)))
        next.measure = static_cast<Measure>(*chosen);
    set(drawing, next);
    if (model.sweep_sums.empty()) {
        ui::caption("Running the text with the dial at one position after another.");
        return;
    }
    const std::vector<ui::ChartCurve> curves = dial_curves(model, subject);
    const bool of_logits = model.state.measure == Measure::logit;
    ui::Chart chart{.name = "steer-dial",
                    .title = of_logits ? "Logits along the dial"
                                       : "Probabilities along the dial, " + std::string(at_temperature),
                    .x = {"dial, in mean lengths of the stream", -most_dial, most_dial},
                    .y = ui::fitted(of_logits ? "logit" : "probability " + std::string(at_temperature),
                                    curves, !of_logits),
                    .marked = std::clamp(model.steering.dial, -most_dial, most_dial)};
    const auto reply =
        present::chart(drawing, chart, width, dial_chart_height, curves,
                       [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                           return cells::dial(model.state.measure, point, model.followed[curve]);
                       });
    if (!reply.held) return;
    Steering wanted = model.steering;
    wanted.dial = std::clamp(on_the_dial(*reply.held), -most_dial, most_dial);
    if (model.steers || wanted.dial != 0) steer(model, drawing, subject, wanted);
}

void draw_pictures(const Model& model, const Drawing& drawing, Subject& subject) {
    present::in_columns({[&](float w) { draw_next(model, drawing, subject, Side::before, w); },
                         [&](float w) { draw_next(model, drawing, subject, Side::after, w); }},
                        least_bars);
    const float width = ImGui::GetContentRegionAvail().x;
    if (!model.side(Side::before)->written().empty())
        present::sheet(drawing, written_sheet(model, subject), width);
    ui::unequal_columns(
        1 - lengths_share, present::card_gap, "steer/left",
        [&](float w) { draw_dial(model, drawing, subject, w); }, "steer/right",
        [&](float w) { present::sheet(drawing, lengths_sheet(model, subject), w); });
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(
        "Drag the dial, or the line in the chart: the whole page shows the run with the direction added. "
        "Click a "
        "bar to follow its token along the dial.");
    if (ui::settings()) {
        if (draw_tries(model, drawing, subject)) return;
        draw_settings(model, drawing, subject);
    }
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    while (!drawing.deadline.passed() && model.step(subject)) continue;
    if (model.steering.direction.kind == Kind::contrast) subject.text_model()->draw_contrast();
    if (model.is_ready()) draw_pictures(model, drawing, subject);
    if (model.step(subject))
        drawing.visit.continue_with(
            [&model, &subject, of = model.of] { return model.of == of && model.step(subject); });
}

}  // namespace attn::app::steer
