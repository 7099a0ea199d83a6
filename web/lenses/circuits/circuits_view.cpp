// Draws the lens: its controls, the circuits as maps over the vocabulary, and the results for the chosen
// tokens.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "app/format.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/token_field.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"
#include "widgets/map_view.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::circuits {

struct ViewMemory {
    std::array<ui::MapView, 3> views;                             // indexed by Circuit
    std::array<std::optional<std::pair<Index, Index>>, 3> shown;  // what each view last moved to
    parts::MapClicks clicks;
};

void forget_maps(ViewMemory& seen) {
    for (ui::MapView& view : seen.views) view.forget_map();
    seen.shown = {};
}

namespace {

constexpr Index cells_around = 7;
constexpr std::size_t lowest_shown = 4;
constexpr float map_height = 560, eigenvalue_height = 250;

Range around(Index one, Index all) {
    return {std::max<Index>(one - cells_around, 0), std::min(one + cells_around + 1, all)};
}

// ---- Controls ---------------------------------------------------------------------------------------------

// Returns whether one was pressed.
bool draw_presets(const Model& model, const Drawing& drawing, Subject& subject) {
    const ui::Row tries("circuits/try", ui::to_try);
    State next;
    const auto offer = [&](const char* name, const char* label, const char* tip, const Status& possible) {
        if (!ui::next_button(label)) return false;
        const bool pressed = ui::button(name, label, possible);
        ui::tooltip(tip);
        return pressed;
    };
    if (offer("circuits/preset/copying", "The head that copies most",
              "Goes to the head with the highest copying score",
              model.copying() ? ok() : Status(Error{"The copying scores are being computed."}))) {
        Selection selection = subject.chosen();
        selection.layer = model.copying()->best().layer;
        selection.head = model.copying()->best().head;
        next.part = Part::ov;
        drawing.visit.perform(Together{{Select{selection}, Set<State>{next}}});
        return true;
    }
    if (offer("circuits/preset/positions", "By position alone",
              "What the head’s scores have of positions, whatever stands there", ok())) {
        next.part = Part::positions;
        set(drawing, next, 0);
        return true;
    }
    if (offer("circuits/preset/wire", "The strongest wire",
              "Which head reads most of what an earlier one writes", ok())) {
        next.part = Part::wiring;
        set(drawing, next, 0);
        return true;
    }
    return false;
}

void draw_token_controls(Model& model, State& next) {
    const bool of_ov = model.state.part == Part::ov;
    auto& searches = model.searches;
    const auto field = [&](const char* landmark, const char* label, const char* meaning, TokenSearch& search,
                           std::optional<std::int32_t>& token) {
        if (ui::next_control(ui::need::many_choices)) parts::token_field(landmark, label, meaning, search);
        if (!search.on) return;
        const std::vector<float> alike(static_cast<std::size_t>(model.network().head.weight.out));
        if (const auto typed = model.vocabulary.find(search, alike)) token = typed;
    };
    if (of_ov) {
        field("circuits/attended", "attend to", "The token that is attended to", searches[0], next.key);
        field("circuits/output", "output", "The token whose logit is looked at", searches[1], next.output);
    } else {
        field("circuits/query", "query", "The query token", searches[0], next.query);
        field("circuits/key", "key", "The key token", searches[1], next.key);
    }
    if (!of_ov && model.uses_rope()) {
        ui::control(ui::need::slider, [&] {
            const Index context = std::max<Index>(model.trace->model()->config().context, 2);
            const auto most = static_cast<double>(std::min(context, distance_limit) - 1);
            if (const auto to =
                    ui::slider("circuits/distance", "tokens back", static_cast<double>(model.state.distance),
                               0, std::min(most, 64.0), "%.0f"))
                next.distance = static_cast<Index>(std::clamp(std::round(*to), 0.0, most));
        });
    }
    const bool chosen = model.state.query || model.state.key || model.state.output;
    if (ui::next_button("From the text") &&
        ui::button("circuits/text", "From the text",
                   chosen ? ok() : Status(Error{"These are the text’s tokens already."}))) {
        next.query = next.key = next.output = std::nullopt;
        searches = {};
    }
    for (const TokenSearch& search : searches) ui::fault("circuits/fault", search.fault);
}

void draw_controls(Model& model, const Drawing& drawing, Subject& subject) {
    if (draw_presets(model, drawing, subject)) return;
    State next = model.state;
    {
        const ui::Row row("circuits/settings");
        static constexpr std::array<const char*, part_count> names{"QK", "OV", "positions", "wiring",
                                                                   "plane"};
        if (const auto chosen =
                ui::labelled_choice("look at", "circuits/part", names, static_cast<int>(next.part))) {
            next.part = static_cast<Part>(*chosen);
            model.searches = {};
        }
        if (model.state.part <= Part::ov) draw_token_controls(model, next);
    }
    set(drawing, next);
    if (model.state.part == Part::plane && next.part == Part::plane) draw_plane_controls(drawing, subject);
}

// ---- QK and OV --------------------------------------------------------------------------------------------

void show_pair(ui::MapView& view, const ui::MapPicture& picture) {
    view.show(around(*picture.query, picture.map->queries()), around(*picture.key, picture.map->keys()));
}
// Shows the chosen pair if it has changed and is out of view.
void follow_pair(ui::MapView& view, std::optional<std::pair<Index, Index>>& before,
                 const ui::MapPicture& picture) {
    const auto [query, key] = std::pair(*picture.query, *picture.key);
    const bool in_view = view.in_view().queries.holds(query) && view.in_view().keys.holds(key);
    if (!before || (before != std::pair(query, key) && !in_view)) show_pair(view, picture);
    before = {query, key};
}

// The token of the map's row, or of its column.
std::optional<std::int32_t>& token_of(State& state, bool of_row) {
    if (state.part == Part::ov) return of_row ? state.key : state.output;
    return of_row ? state.query : state.key;
}

void draw_map(Model& model, const Drawing& drawing, Subject& subject, float width) {
    HeadCircuit& shown = *model.circuit();
    const Circuit circuit = shown.job().circuit();
    const bool of_positions = circuit == Circuit::positions, of_ov = circuit == Circuit::ov;
    const Index unnamed = of_positions ? 0 : model.vocabulary_size() - std::ssize(model.names);
    if (!shown.done() || unnamed > 0) {
        const double share =
            shown.done() ? 1 - static_cast<double>(unnamed) / static_cast<double>(model.vocabulary_size())
                         : shown.job().progress();
        ui::caption(("Reading the vocabulary, " + percent(share) + ".").c_str());
        return ui::landmark_item("circuits/progress");
    }
    const auto which = static_cast<std::size_t>(circuit);
    ViewMemory& seen = remembered(model.seen);
    ui::MapView& view = seen.views[which];
    const MapPointer& map = shown.map(model.distance());
    if (of_positions && model.position_names.empty()) model.position_names = numbered_labels(map->queries());
    const std::span<const std::string> names =
        std::span<const std::string>(of_positions ? model.position_names : model.names)
            .first(static_cast<std::size_t>(map->queries()));
    ui::MapPicture picture{.name = "circuits/map",
                           .map = map,
                           .query_names = names,
                           .key_names = names,
                           .choice = {.stage = Stage::raw},
                           .title = of_ov ? "adds to the logit" : "score",
                           .rows = of_ov ? "attended" : "query",
                           .columns = of_ov ? "output" : "key"};
    if (!of_positions) {
        picture.query = model.list_token(true);
        picture.key = model.list_token(false);
        follow_pair(view, seen.shown[which], picture);
    }
    if (const auto& pin = drawing.state().pin; pin && pin->is(cells::map)) {
        const auto [of, row, col] = pin->own()->at;
        if (static_cast<Circuit>(of) == circuit && row < map->queries() && col < map->keys())
            picture.pinned = ui::MapCell{row, col};
    }
    {
        const present::Card card(drawing,
                                 {.key = "circuits/map",
                                  .title = map_title(model.state.part),
                                  .table = [&] { return map_table(model, subject); },
                                  .is_listed = false},
                                 width);
        const ui::MapTouch touch = view.draw(picture, card.width(), map_height, drawing.deadline);
        model.in_view[which] = view.in_view();
        if (touch.more)
            drawing.visit.continue_with([seen = model.seen, which] { return seen->views[which].step(); });
        if (touch.over) {
            const CellRef cell = cells::map(circuit, touch.over->query, touch.over->key);
            drawing.now.cell = cell;
            seen.clicks.answer(drawing, touch, [&] {
                present::pin(drawing, cell);
                if (of_positions) return;
                State next = model.state;
                token_of(next, true) = static_cast<std::int32_t>(touch.over->query);
                token_of(next, false) = static_cast<std::int32_t>(touch.over->key);
                set(drawing, next);
            });
        }
    }
    if (ui::button("circuits/whole", of_positions ? "All positions" : "The whole vocabulary",
                   {"All positions", "The whole vocabulary"}))
        view.show_all();
    if (of_positions) return;
    ui::next_button("The chosen pair");
    if (ui::button("circuits/pair", "The chosen pair")) show_pair(view, picture);
}

// Draws the highest cells of a chosen row or column and, below them, the lowest.
void draw_list(Model& model, const Drawing& drawing, Subject& subject, bool of_row, float width) {
    HeadCircuit& shown = *model.circuit();
    const std::int32_t token = model.list_token(of_row);
    const TokenDirections* found = shown.list(of_row, token, model.distance());
    if (!found || !found->done()) return ui::caption("Searching the vocabulary.");
    std::vector<std::int32_t> ids;
    for (const TokenAlong& each : found->highest()) ids.push_back(each.id);
    const auto lowest = found->lowest().first(std::min(found->lowest().size(), lowest_shown));
    for (auto each = lowest.rbegin(); each != lowest.rend(); ++each) ids.push_back(each->id);
    // The row and the column of a listed token's cell.
    const auto place = [&](Index i) {
        const std::int32_t id = ids[static_cast<std::size_t>(i)];
        return of_row ? std::pair(token, id) : std::pair(id, token);
    };
    present::Bars bars{.key = of_row ? "circuits/row" : "circuits/column",
                       .title = list_title(model, subject, of_row),
                       .cell =
                           [&](Index i) {
                               const auto [row, column] = place(i);
                               return cells::map(shown.job().circuit(), row, column);
                           },
                       .table = [&] { return list_table(model, subject, of_row); }};
    for (Index i = 0; i < std::ssize(ids); ++i) {
        const auto [row, column] = place(i);
        const float value = shown.map(model.distance())->cell(row, column);
        bars.bars.push_back({token_name(model, subject, ids[static_cast<std::size_t>(i)]), value,
                             fixed(static_cast<double>(value), 3)});
    }
    const auto reply = draw_bars(drawing, std::move(bars), true, width);
    if (!reply.clicked) return;
    State next = model.state;
    token_of(next, !of_row) = ids[static_cast<std::size_t>(*reply.clicked)];
    set(drawing, next);
}

void draw_copying(const Model& model, const Drawing& drawing, Subject& subject) {
    ui::section("Does it copy?");
    if (!model.copying()) {
        const std::string share = percent(model.copying_job->progress());
        return ui::caption(("Decomposing the map of the whole vocabulary, " + share + ".").c_str());
    }
    const Copying& own = model.copying()->of(model.head);
    const auto positive =
        std::ranges::count_if(own.eigenvalues, [](const auto& each) { return each.real() > 0; });
    ui::caption(("Where an eigenvalue is positive, a set of tokens raises its own logits. Of this head’s " +
                 many(std::ssize(own.eigenvalues), "eigenvalue") + ", " + std::to_string(positive) +
                 (positive == 1 ? " has" : " have") +
                 " a positive real part; Σ λ / Σ |λ| is its copying score, " + rounded(own.score, 3) + ".")
                    .c_str());
    ui::landmark_item("circuits/copying_score");
    ImGui::Dummy({0, below_text});
    ui::columns(
        "circuits/copying", least_column, present::card_gap,
        [&](float width) { draw_eigenvalues(drawing, own, false, width); },
        [&](float width) {
            if (const auto clicked = present::sheet(drawing, copying_sheet(model, subject), width))
                parts::choose_head(drawing, {clicked->first, clicked->second});
        });
}

void draw_tokens(Model& model, const Drawing& drawing, Subject& subject) {
    ui::columns(
        "circuits/tokens", least_column, present::card_gap,
        [&](float width) { draw_map(model, drawing, subject, width); },
        [&](float width) {
            draw_list(model, drawing, subject, true, width);
            draw_list(model, drawing, subject, false, width);
        });
    if (model.state.part == Part::ov) draw_copying(model, drawing, subject);
}

// ---- Positions --------------------------------------------------------------------------------------------

void draw_distances(const Drawing& drawing, const State& state, const std::vector<double>& curve) {
    ui::ChartCurve scores{.name = "score", .colour = ui::series_colour(0), .y = curve, .points = true};
    for (std::size_t i = 0; i < curve.size(); ++i) scores.x.push_back(static_cast<double>(i));
    const double last = static_cast<double>(curve.size() - 1);
    const ui::Chart chart{.name = "circuits-distance",
                          .title = "Score of the mean query and the mean key, by distance",
                          .x = {"tokens back", 0, last, false, true},
                          .y = ui::fitted("score", {&scores, 1}, true),
                          .marked = std::min(static_cast<double>(state.distance), last)};
    const auto reply =
        present::chart(drawing, chart, std::min(ImGui::GetContentRegionAvail().x, 760.0f), 300, {&scores, 1},
                       [](std::size_t, std::size_t i) { return cells::distance(i); });
    if (reply.held) {
        State next = state;
        next.distance = static_cast<Index>(std::lround(std::clamp(*reply.held, 0.0, last)));
        set(drawing, next);
    }
    ui::caption(
        "No row of positions is added here: rotary positions turn each query against each key, and a score "
        "depends on how far apart they are. Drag the line to the distance of the QK map.");
}

void draw_positions(Model& model, const Drawing& drawing, Subject& subject) {
    if (model.uses_rope()) {
        if (const auto* curve = model.circuit()->by_distance())
            return draw_distances(drawing, model.state, *curve);
        return ui::caption("The mean query and key of the vocabulary are being computed.");
    }
    ui::columns(
        "circuits/positions", least_column, present::card_gap,
        [&](float width) { draw_map(model, drawing, subject, width); },
        [&](float) {
            ui::caption(
                "Query and key are rows of the position embedding here, through the head’s norm and its "
                "W_Q and W_K, with no token at all. A stripe beside the diagonal is a head that looks a "
                "fixed number of tokens back; a bright column looks at one place of the text.");
            if (model.network().causal)
                ui::caption(
                    "A query sees only keys up to its own position: the cells above the diagonal are "
                    "never used.");
        });
}

}  // namespace

void draw_eigenvalues(const Drawing& drawing, const Copying& copying, bool of_virtual, float width) {
    ui::ChartCurve points{.name = "eigenvalue", .colour = ui::series_colour(0), .apart = true, .radius = 4};
    double most = 0;
    for (const auto& each : copying.eigenvalues) {
        points.add(each.real(), each.imag());
        most = std::max(most, std::abs(each));
    }
    const double reach = most > 0 ? 1.1 * most : 1;
    const ui::Chart chart{.name = of_virtual ? "circuits-virtual" : "circuits-eigenvalues",
                          .title = "Eigenvalues: to the right copies",
                          .x = {"real part", -reach, reach},
                          .y = {"imaginary part", -reach, reach}};
    present::chart(drawing, chart, width, eigenvalue_height, {&points, 1},
                   [&](std::size_t, std::size_t i) { return cells::eigenvalue(of_virtual, 0, i); });
}

// ---- The whole lens ---------------------------------------------------------------------------------------

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    while (!drawing.deadline.passed() && model.step(drawing.visit, subject)) continue;
    static constexpr std::array<const char*, part_count> captions{
        "Click a token in the lists to follow it, or type one; then see under OV what the head does with "
        "it.",
        "Click an output to see which other tokens raise it; below, whether the head copies what it sees.",
        "Point at a cell to see why it is as large as that.",
        "Click a wire to see how strong it is and what the two heads do as one; click a head to choose it.",
        "Point at a query to see the keys that it scores highest; click it to choose it."};
    ui::hint(model.state.part == Part::plane && model.state.corpus
                 ? "Point at a query or a key to see its token and text; click it to see what it scores "
                   "highest."
                 : captions[static_cast<std::size_t>(model.state.part)]);
    if (ui::settings()) draw_controls(model, drawing, subject);
    model.update(drawing.visit, subject);
    if (model.refused.empty()) {
        switch (model.state.part) {
            case Part::qk:
            case Part::ov: draw_tokens(model, drawing, subject); break;
            case Part::positions: draw_positions(model, drawing, subject); break;
            case Part::wiring: draw_wiring(model, drawing, subject); break;
            case Part::plane:
                model.state.corpus ? draw_corpus_plane(model, drawing, subject)
                                   : draw_plane(model, drawing, subject);
                break;
        }
    }
    if (model.step(drawing.visit, subject))
        drawing.visit.continue_with([&model, &visit = drawing.visit, &subject, trace = model.trace] {
            return subject.attention() && subject.attention()->trace() == trace && trace == model.trace &&
                   model.step(visit, subject);
        });
}

}  // namespace attn::app::circuits
