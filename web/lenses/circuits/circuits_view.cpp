// Draws the lens: its controls, the circuits as maps over the vocabulary, and the results for the chosen
// tokens.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/part.hpp"
#include "parts/token_field.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

using namespace circuits_view;

constexpr Index cells_around = 7;
constexpr std::size_t lowest_shown = 4;
constexpr float eigenvalue_height = 250;

Range around(Index one, Index all) {
    return {std::max<Index>(one - cells_around, 0), std::min(one + cells_around + 1, all)};
}

}  // namespace

// ---- Controls ---------------------------------------------------------------------------------------------

void CircuitsLens::draw_presets(Subject& subject) {
    CircuitsState next;
    const auto offer = [&](const char* name, const char* label, const char* tip, const Status& possible) {
        ui::next_button(label);
        const bool pressed = ui::button(name, label, possible);
        ui::tooltip(tip);
        return pressed;
    };
    if (offer("circuits/preset/copying", "The head that copies most",
              "Goes to the head with the highest copying score",
              copying() ? ok() : Status(Error{"The copying scores are being computed."}))) {
        const auto& heads = copying()->heads();
        const auto score = [](const Copying& each) { return std::isnan(each.score) ? -2 : each.score; };
        const Index most = std::ranges::max_element(heads, {}, score) - heads.begin(),
                    each = subject.attention()->heads();
        Selection selection = subject.chosen();
        selection.layer = most / each;
        selection.head = most % each;
        next.part = CircuitsPart::ov;
        return visit().perform(Together{{Select{selection}, SetCircuits{next}}});
    }
    if (offer("circuits/preset/positions", "By position alone",
              "What the head’s scores have of positions, whatever stands there", ok())) {
        next.part = CircuitsPart::positions;
        return set(next);
    }
    if (offer("circuits/preset/wire", "The strongest wire",
              "Which head reads most of what an earlier one writes", ok())) {
        next.part = CircuitsPart::wiring;
        set(next);
    }
}

void CircuitsLens::draw_token_controls(CircuitsState& next) {
    const bool of_ov = now().part == CircuitsPart::ov;
    const auto field = [&](const char* landmark, const char* label, const char* meaning, TokenSearch& search,
                           std::optional<std::int32_t>& token) {
        ui::next_control(ui::need::many_choices);
        parts::token_field(landmark, label, meaning, search);
        if (!search.on) return;
        const std::vector<float> alike(static_cast<std::size_t>(network().head.weight.out));
        if (const auto typed = vocabulary_.find(search, alike)) token = typed;
    };
    if (of_ov) {
        field("circuits/attended", "attend to", "The token that is attended to", search_[0], next.key);
        field("circuits/output", "output", "The token whose logit is looked at", search_[1], next.output);
    } else {
        field("circuits/query", "query", "The query token", search_[0], next.query);
        field("circuits/key", "key", "The key token", search_[1], next.key);
    }
    if (!of_ov && uses_rope()) {
        ui::next_control(ui::need::slider);
        ImGui::BeginGroup();
        const Index context = std::max<Index>(trace_->model()->config().context, 2);
        const auto most = static_cast<double>(std::min(context, circuits_distance_limit) - 1);
        if (const auto to = ui::slider("circuits/distance", "tokens back",
                                       static_cast<double>(now().distance), 0, std::min(most, 64.0), "%.0f"))
            next.distance = static_cast<Index>(std::clamp(std::round(*to), 0.0, most));
        ImGui::EndGroup();
    }
    const bool chosen = now().query || now().key || now().output;
    ui::next_button("From the text");
    if (ui::button("circuits/text", "From the text",
                   chosen ? ok() : Status(Error{"These are the text’s tokens already."}))) {
        next.query = next.key = next.output = std::nullopt;
        search_ = {};
    }
    for (const TokenSearch& search : search_) ui::fault("circuits/fault", search.fault);
}

void CircuitsLens::draw_controls(const Drawing&, Subject& subject) {
    CircuitsState next = now();
    static constexpr std::array<const char*, circuits_part_count> names{"QK", "OV", "positions", "wiring",
                                                                        "plane"};
    if (const auto chosen =
            ui::labelled_choice("look at", "circuits/part", names, static_cast<int>(now().part))) {
        next.part = static_cast<CircuitsPart>(*chosen);
        search_ = {};
    }
    if (now().part <= CircuitsPart::ov) draw_token_controls(next);
    const bool plane = now().part == CircuitsPart::plane;
    set(next, ui::gesture());
    if (plane && now().part == CircuitsPart::plane) draw_plane_controls(subject);
    draw_presets(subject);
}

// ---- QK and OV --------------------------------------------------------------------------------------------

void CircuitsLens::draw_map(const Drawing& drawing, Subject& subject, float width) {
    HeadCircuit& shown = *circuit();
    const Circuit circuit = shown.job().circuit();
    const bool of_positions = circuit == Circuit::positions, of_ov = circuit == Circuit::ov;
    const Index named = of_positions ? 0 : vocabulary_size() - std::ssize(names_);
    if (!shown.done() || named > 0) {
        const double share = shown.done()
                                 ? 1 - static_cast<double>(named) / static_cast<double>(vocabulary_size())
                                 : shown.job().progress();
        ui::caption(("Reading the vocabulary, " + percent(share) + ".").c_str());
        return ui::landmark_item("circuits/progress");
    }
    const auto which = static_cast<std::size_t>(circuit);
    ui::MapView& view = views_[which];
    const MapPointer& map = shown.map(distance());
    if (of_positions)
        for (Index i = std::ssize(position_names_); i < map->queries(); ++i)
            position_names_.push_back(std::to_string(i));
    const std::span<const std::string> names =
        std::span<const std::string>(of_positions ? position_names_ : names_)
            .first(static_cast<std::size_t>(map->queries()));
    ui::MapPicture picture{.name = "circuits/map", .map = map, .query_names = names, .key_names = names};
    picture.choice.stage = Stage::raw;
    picture.title = of_ov ? "adds to the logit" : "score";
    if (of_ov) picture.rows = "attended", picture.columns = "output";
    if (!of_positions) {
        picture.query = of_ov ? key() : query();
        picture.key = of_ov ? output() : key();
        Shown& before = shown_[which];
        const bool moved = before.row != *picture.query || before.col != *picture.key;
        const bool first_time = before.row < 0;
        before = {map.get(), *picture.query, *picture.key};
        const bool in_view =
            view.in_view().queries.holds(*picture.query) && view.in_view().keys.holds(*picture.key);
        if (first_time || (moved && !in_view))
            view.show(around(*picture.query, map->queries()), around(*picture.key, map->keys()));
    }
    if (const auto& pin = drawing.state().pin; pin && pin->is(circuits_cells::map)) {
        const auto [of, row, col] = pin->own.at;
        if (static_cast<Circuit>(of) == circuit && row < map->queries() && col < map->keys())
            picture.pinned = ui::MapCell{row, col};
    }
    {
        const present::Card card(drawing,
                                 {.key = "circuits/map",
                                  .title = map_title(),
                                  .table = [&] { return map_table(subject); },
                                  .is_vector = false,
                                  .is_listed = false},
                                 width);
        const ui::MapTouch touch = view.draw(picture, card.width(), map_height, drawing.deadline);
        if (touch.more) drawing.visit.continue_with([&view] { return view.step(); });
        if (touch.over) {
            const CellRef cell = circuits_cells::map(circuit, touch.over->query, touch.over->key);
            drawing.now.cell = cell;
            clicks_.answer(drawing, touch, [&] {
                present::pin(drawing, cell);
                if (of_positions) return;
                CircuitsState next = now();
                (of_ov ? next.key : next.query) = static_cast<std::int32_t>(touch.over->query);
                (of_ov ? next.output : next.key) = static_cast<std::int32_t>(touch.over->key);
                set(next, ui::gesture());
            });
        }
    }
    if (ui::button("circuits/whole", of_positions ? "All positions" : "The whole vocabulary",
                   {"All positions", "The whole vocabulary"}))
        view.show_all();
    if (of_positions) return;
    ui::next_button("The chosen pair");
    if (ui::button("circuits/pair", "The chosen pair"))
        view.show(around(*picture.query, map->queries()), around(*picture.key, map->keys()));
}

// Draws the highest cells of a chosen row or column and, below them, the lowest.
void CircuitsLens::draw_list(const Drawing& drawing, Subject& subject, bool of_row, float width) {
    HeadCircuit& shown = *circuit();
    const bool of_ov = now().part == CircuitsPart::ov;
    const std::int32_t token = list_token(of_row);
    const TokenDirections* found = shown.list(of_row, token, distance());
    if (!found || !found->done()) return ui::caption("Searching the vocabulary.");
    std::vector<std::int32_t> ids;
    for (const TokenAlong& each : found->highest()) ids.push_back(each.id);
    const auto lowest = found->lowest().first(std::min(found->lowest().size(), lowest_shown));
    for (auto each = lowest.rbegin(); each != lowest.rend(); ++each) ids.push_back(each->id);
    const Circuit circuit = of_ov ? Circuit::ov : Circuit::qk;
    const auto cell_of = [&](std::int32_t id) {
        return circuits_cells::map(circuit, of_row ? token : id, of_row ? id : token);
    };
    std::vector<ui::Bar> bars;
    float most = 0;
    for (const std::int32_t id : ids) {
        const float value = shown.map(distance())->cell(of_row ? token : id, of_row ? id : token);
        most = std::max(most, std::abs(value));
        bars.push_back({token_name(subject, id), value, fixed(static_cast<double>(value), 3), false, false});
    }
    const auto reply =
        present::bars(drawing,
                      {.key = of_row ? "circuits/row" : "circuits/column",
                       .title = list_title(subject, of_row),
                       .bars = bars,
                       .most = most,
                       .scale = ui::diverging_scale(most),
                       .most_name = list_name_width,
                       .cell = [&](Index i) { return cell_of(ids[static_cast<std::size_t>(i)]); },
                       .table = [&] { return list_table(subject, of_row); }},
                      width);
    if (!reply.clicked) return;
    const std::int32_t id = ids[static_cast<std::size_t>(*reply.clicked)];
    CircuitsState next = now();
    (of_ov ? (of_row ? next.output : next.key) : (of_row ? next.key : next.query)) = id;
    set(next, ui::gesture());
}

void CircuitsLens::draw_tokens(const Drawing& drawing, Subject& subject) {
    ui::columns(
        "circuits/tokens", least_column, present::card_gap,
        [&](float width) { draw_map(drawing, subject, width); },
        [&](float width) {
            draw_list(drawing, subject, true, width);
            draw_list(drawing, subject, false, width);
        });
    if (now().part == CircuitsPart::ov) draw_copying(drawing, subject);
}

// ---- Copying ----------------------------------------------------------------------------------------------

void CircuitsLens::draw_eigenvalues(const Drawing& drawing, const Copying& copying, bool of_virtual,
                                    float width) {
    ui::ChartCurve points{.name = "eigenvalue", .colour = ui::series_colour(0), .apart = true, .radius = 4};
    double most = 0;
    for (const auto& each : copying.eigenvalues) {
        points.x.push_back(each.real());
        points.y.push_back(each.imag());
        most = std::max(most, std::abs(each));
    }
    const double reach = most > 0 ? 1.1 * most : 1;
    const ui::Chart chart{.name = of_virtual ? "circuits-virtual" : "circuits-eigenvalues",
                          .title = "Eigenvalues: to the right copies",
                          .x = {"real part", -reach, reach},
                          .y = {"imaginary part", -reach, reach}};
    present::chart(drawing, chart, width, eigenvalue_height, {&points, 1},
                   [&](std::size_t, std::size_t i) { return circuits_cells::eigenvalue(of_virtual, 0, i); });
}

void CircuitsLens::draw_copying(const Drawing& drawing, Subject& subject) {
    ui::section("Does it copy?");
    if (!copying()) {
        ui::caption(("Decomposing the map of the whole vocabulary, " +
                     percent(copying_ ? copying_->progress() : 0) + ".")
                        .c_str());
        return;
    }
    const Copying& own = copying()->of(head_);
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
            if (const auto clicked = present::sheet(drawing, copying_sheet(subject), width))
                parts::choose_head(drawing, {clicked->first, clicked->second});
        });
}

// ---- Positions --------------------------------------------------------------------------------------------

void CircuitsLens::draw_positions(const Drawing& drawing, Subject& subject) {
    if (!uses_rope()) {
        ui::columns(
            "circuits/positions", least_column, present::card_gap,
            [&](float width) { draw_map(drawing, subject, width); },
            [&](float) {
                ui::caption(
                    "Query and key are rows of the position embedding here, through the head’s norm and its "
                    "W_Q and W_K, with no token at all. A stripe beside the diagonal is a head that looks a "
                    "fixed number of tokens back; a bright column looks at one place of the text.");
                if (network().causal)
                    ui::caption(
                        "A query sees only keys up to its own position: the cells above the diagonal are "
                        "never used.");
            });
        return;
    }
    const auto* curve = by_distance();
    if (!curve) return ui::caption("The mean query and key of the vocabulary are being computed.");
    ui::ChartCurve scores{.name = "score", .colour = ui::series_colour(0), .points = true};
    for (Index i = 0; i < std::ssize(*curve); ++i) {
        scores.x.push_back(static_cast<double>(i));
        scores.y.push_back((*curve)[static_cast<std::size_t>(i)]);
    }
    const ui::Chart chart{
        .name = "circuits-distance",
        .title = "Score of the mean query and the mean key, by distance",
        .x = {"tokens back", 0, static_cast<double>(std::ssize(*curve) - 1), false, true},
        .y = ui::fitted("score", {&scores, 1}, true),
        .marked = static_cast<double>(std::min<Index>(now().distance, std::ssize(*curve) - 1))};
    const auto reply =
        present::chart(drawing, chart, std::min(ImGui::GetContentRegionAvail().x, 760.0f), 300, {&scores, 1},
                       [](std::size_t, std::size_t i) { return circuits_cells::distance(i); });
    if (reply.held) {
        CircuitsState next = now();
        next.distance = static_cast<Index>(
            std::lround(std::clamp(*reply.held, 0.0, static_cast<double>(std::ssize(*curve) - 1))));
        set(next, ui::gesture());
    }
    ui::caption(
        "No row of positions is added here: rotary positions turn each query against each key, and a score "
        "depends on how far apart they are. Drag the line to the distance of the QK map.");
}

// ---- The whole lens ---------------------------------------------------------------------------------------

void CircuitsLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    update(subject);
    while (!drawing.deadline.passed() && step(subject)) continue;
    static constexpr std::array<const char*, circuits_part_count> captions{
        "Click a token in the lists to follow it, or type one; then see under OV what the head does with "
        "it.",
        "Click an output to see which other tokens raise it; below, whether the head copies what it sees.",
        "Point at a cell to see why it is as large as that.",
        "Click a wire to see how strong it is and what the two heads do as one; click a head to choose it.",
        "Point at a query to see the keys that it scores highest; click it to choose it."};
    ui::hint(now().part == CircuitsPart::plane && now().corpus
                 ? "Point at a query or a key to see its token and text; click it to see what it scores "
                   "highest."
                 : captions[static_cast<std::size_t>(now().part)]);
    if (ui::settings()) draw_controls(drawing, subject);
    update(subject);
    ImGui::Dummy({0, 6});
    if (refused_.empty()) {
        switch (now().part) {
            case CircuitsPart::qk:
            case CircuitsPart::ov: draw_tokens(drawing, subject); break;
            case CircuitsPart::positions: draw_positions(drawing, subject); break;
            case CircuitsPart::wiring: draw_wiring(drawing, subject); break;
            case CircuitsPart::plane: draw_plane(drawing, subject); break;
        }
    }
    if (step(subject))
        drawing.visit.continue_with([this, &subject, trace = trace_] {
            return subject.attention() && subject.attention()->trace() == trace && trace == trace_ &&
                   step(subject);
        });
}

}  // namespace attn::app
