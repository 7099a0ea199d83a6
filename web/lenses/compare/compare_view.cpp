#include <algorithm>
#include <array>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "lenses/compare/compare.hpp"
#include "parts/part.hpp"
#include "widgets/bars.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

constexpr float tag_width = 54, maps_gap = 24, left_share = 0.33f, map_share = 0.7f, least_window = 480;
constexpr double blink_ms = 800;
constexpr float most_difference = 1;

std::string written(double value) { return std::isnan(value) ? "–" : fixed(value, 3); }

std::string arithmetic(const Cosine& c) {
    return "a · b / (‖a‖ ‖b‖) = " + fixed(c.dot, 3) + " / (" + fixed(c.first_norm, 3) + " × " +
           fixed(c.second_norm, 3) + ") = " + fixed(c.value(), 6);
}

}  // namespace

// Holds what is compared while a frame is drawn.
struct CompareLens::Frame {
    const Drawing& drawing;
    const Attention& first;
    const Attention& second;
    const Pairing& pairing;
    Subject& subject;

    Selection selection() const { return drawing.selection(); }
    const std::string& first_name(Index token) const {
        return first.query_names()[static_cast<std::size_t>(token)];
    }
    const std::string& second_name(Index token) const {
        return second.query_names()[static_cast<std::size_t>(token)];
    }

    // The compared words are those under the cursor, otherwise the chosen ones, otherwise the predicted
    // word and its partner.
    Index query() const {
        if (const auto& pointed = drawing.pointed.query; pointed && *pointed < first.queries())
            return *pointed;
        const auto chosen = selection().query;
        return chosen && *chosen < first.queries() ? *chosen : first.predicted();
    }
    std::optional<Index> second_query() const {
        const auto there = [&](std::optional<Index> token) { return token && *token < second.queries(); };
        if (there(drawing.pointed.second_query)) return drawing.pointed.second_query;
        if (drawing.pointed.query)
            if (const auto counterpart = pairing.second_of(query())) return counterpart;
        if (there(selection().counterpart)) return selection().counterpart;
        return drawing.pointed.query ? std::nullopt : pairing.second_of(query());
    }

    // Highlights a row and a column of either run in both.
    void point(std::optional<Index> query, std::optional<Index> key) const {
        Hover& now = drawing.now;
        drawing.point(query, key);
        now.second_query = query ? pairing.second_of(*query) : std::nullopt;
        now.second_key = key ? pairing.second_of(*key) : std::nullopt;
    }
    void point_second(std::optional<Index> query, std::optional<Index> key) const {
        Hover& now = drawing.now;
        now.second_query = query;
        now.second_key = key;
        drawing.point(query ? pairing.first_of(*query) : std::nullopt,
                      key ? pairing.first_of(*key) : std::nullopt);
    }
};

void CompareLens::draw_controls(const Frame& frame) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {10, 4});
    static constexpr std::array<const char*, 3> names{"side by side", "blink", "difference"};
    const ComparisonView view = state().of<CompareState>().view;
    if (const auto chosen = ui::choice("compare/view", names, static_cast<int>(view)))
        frame.drawing.visit.perform(SetComparisonView{static_cast<ComparisonView>(*chosen)});
    frame.subject.draw_comparison(frame.drawing);
    ImGui::PopStyleVar();
}

// ---- The two lines of words -------------------------------------------------------------------------------

void CompareLens::update(Line& line, const Attention& run, const Selection& selection,
                         std::optional<Index> query) {
    const auto [layer, head] = std::pair(selection.layer, selection.head);
    const Index wanted = query.value_or(-1);
    if (line.version == run.version() && line.layer == layer && line.head == head && line.query == wanted)
        return;
    const auto shown = line.version == run.version() ? line.shown : std::nullopt;
    line = {run.version(), layer, head, wanted, {}, {}, {}, shown};
    const Index n = run.queries();
    const auto record = run.record(layer);
    line.weights.assign(static_cast<std::size_t>(n), 0);
    line.numbers.assign(static_cast<std::size_t>(n), "");
    if (query) {
        line.weights = record->weights(head, *query);
        for (Index k = 0; k < n; ++k)
            if (record->spec().mask.allows(head, *query, k))
                line.numbers[static_cast<std::size_t>(k)] =
                    rounded(static_cast<double>(line.weights[static_cast<std::size_t>(k)]), 2);
    }
    // The line is as wide as with the widest numbers, so that nothing moves under the cursor.
    line.line =
        ui::token_line(run.query_names(), std::vector<std::string>(static_cast<std::size_t>(n), "0.00"));
}

CompareLens::Touched CompareLens::draw_line(const char* name, Line& line, const Attention& run,
                                            std::optional<Index> query, std::optional<Index> key, bool chosen,
                                            float width) {
    const ui::Theme& t = ui::theme();
    const ImVec2 start = ImGui::GetCursorScreenPos();
    {
        ui::Type small(ui::Face::regular, ui::size_small);
        ui::draw_text(ImGui::GetWindowDrawList(), {start.x, start.y + 13}, t.dim, name);
    }
    ImGui::SetCursorScreenPos({start.x + tag_width, start.y});
    const float room = width - tag_width;
    const float bar = line.line.total > room ? ImGui::GetStyle().ScrollbarSize + 2 : 0;
    ImGui::BeginChild(name, {room, ui::chip_height + bar}, 0, ImGuiWindowFlags_HorizontalScrollbar);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("words", {std::max(line.line.total, 1.0f), ui::chip_height});
    Touched touched;
    const ImGuiIO& io = ImGui::GetIO();
    if (ImGui::IsItemActive() && ui::dragged()) ImGui::SetScrollX(ImGui::GetScrollX() - io.MouseDelta.x);
    if (ImGui::IsItemHovered()) {
        touched.over = line.line.under(io.MousePos.x - corner.x);
        touched.clicked = touched.over && ImGui::IsItemDeactivated() && !ui::dragged();
        if (touched.over) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    }
    const std::string words = "compare/" + std::string(name);
    if (const auto asked = ui::asked_place(words + "/"); asked && asked->col < std::ssize(line.line.left)) {
        touched.over = asked->col;
        touched.clicked = asked->pressed;
        if (asked->arrived) ui::bring_into_view(line.line, asked->col, room);
    }
    if (chosen && query != line.shown) {
        line.shown = query;
        ui::bring_into_view(line.line, *query, room);
    }
    ImDrawList* list = ImGui::GetWindowDrawList();
    const Range shown =
        line.line.within(list->GetClipRectMin().x - corner.x, list->GetClipRectMax().x - corner.x);
    const ui::SemanticGroup group(ui::Role::listbox, words,
                                  std::string("Words of the ") + name + " sentence");
    for (Index i = shown.begin; i < shown.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const ui::Chip chip = ui::chip_at(line.line, i, corner);
        list->AddRectFilled(chip.min, chip.max, t.raised, 5);
        if (const float w = line.weights[at]; w > 0.005f)
            list->AddRectFilled(chip.min, chip.max, ui::with_alpha(t.accent, 0.08f + 0.5f * w), 5);
        if (i == query) list->AddRect(chip.min, chip.max, t.accent, 5, 0, chosen ? 2.0f : 1.5f);
        if (i == key) list->AddRect(chip.min, chip.max, t.dim, 5, 0, 1.5f);
        ui::draw_chip_text(chip, run.query_names()[at], line.numbers[at], line.weights[at] > 0.005f);
        const std::string item = words + "/" + std::to_string(i);
        ui::landmark(item, chip.min, chip.max);
        ui::semantic_place(ui::Role::option, item, run.query_names()[at] + " " + line.numbers[at], chip.min,
                           chip.max)
            .on = i == query;
    }
    ImGui::EndChild();
    return touched;
}

void CompareLens::draw_words(const Frame& frame, float width) {
    const Selection s = frame.selection();
    const Hover& pointed = frame.drawing.pointed;
    update(first_line_, frame.first, s, frame.query());
    update(second_line_, frame.second, s, frame.second_query());
    const bool pointing = pointed.query || pointed.second_query;
    const Touched first =
        draw_line("first", first_line_, frame.first, frame.query(), pointed.key, !pointing, width);
    // A word that is pointed at is the one that asks; its number says how much it looks at itself.
    if (first.over) {
        frame.point(first.over, std::nullopt);
        frame.drawing.now.cell = CellRef{Stage::weight, *first.over, *first.over};
    }
    if (first.clicked)
        parts::choose_tokens(frame.drawing, s.query == first.over ? std::nullopt : first.over, std::nullopt);
    const Touched second = draw_line("second", second_line_, frame.second, frame.second_query(),
                                     pointed.second_key, !pointing && frame.second_query(), width);
    if (second.over) {
        frame.point_second(second.over, std::nullopt);
        frame.drawing.now.cell = CellRef{Stage::weight, *second.over, *second.over, true};
    }
    if (!second.clicked) return;
    Selection selection = s;
    selection.counterpart = second.over;
    if (!selection.query) selection.query = frame.pairing.first_of(*second.over);
    frame.drawing.visit.perform(Select{selection}, ui::gesture());
}

// ---- How alike --------------------------------------------------------------------------------------------

void CompareLens::update_alike(const Frame& frame, Index query, Index second_query) {
    const Attention &a = frame.first, &b = frame.second;
    if (alike_.first_version == a.version() && alike_.second_version == b.version() &&
        alike_.query == query && alike_.second_query == second_query)
        return;
    alike_ = {a.version(), b.version(), query, second_query, {}, {}};
    if (a.trace() && b.trace())
        alike_.residual = residual_cosines(*a.trace(), query, *b.trace(), second_query);
    for (Index layer = 0; layer < a.layers(); ++layer) {
        const auto of_a = a.record(layer), of_b = b.record(layer);
        for (Index head = 0; head < of_a->heads(); ++head)
            alike_.rows.push_back(row_cosine(of_a->weights(head, query), of_b->weights(head, second_query),
                                             frame.pairing.alignment()));
    }
}

void CompareLens::draw_vectors(const Frame& frame, float width) {
    if (alike_.residual.empty()) return;
    ui::section("Same word, different vector?");
    ui::caption(("Cosine of " + curly_quoted(frame.first_name(alike_.query)) + " and " +
                 curly_quoted(frame.second_name(alike_.second_query)) +
                 " in the residual stream, layer by layer.")
                    .c_str());
    std::vector<ui::Bar> bars;
    for (std::size_t i = 0; i < alike_.residual.size(); ++i) {
        const double value = alike_.residual[i].value();
        bars.push_back({i == 0 ? "embedding" : "layer " + std::to_string(i - 1), static_cast<float>(value),
                        written(value), static_cast<Index>(i) == frame.selection().layer + 1, false});
    }
    if (const auto over = ui::bar_list("compare/vector", "Same word, different vector?", width, bars, 1,
                                       ui::diverging_scale(1))) {
        frame.drawing.now.cell = CellRef{.stage = Stage::cosine, .row = *over};
        if (ui::clicked()) parts::pin(frame.drawing, *frame.drawing.now.cell);
        ui::bar_tooltip(*over, ((*over == 0 ? "token and position: "
                                            : "after layer " + std::to_string(*over - 1) + ": ") +
                                arithmetic(alike_.residual[static_cast<std::size_t>(*over)]))
                                   .c_str());
    }
}

// Draws a cell for each head of each layer.
void CompareLens::draw_heads(const Frame& frame, float width) {
    ui::section("Same attention pattern?");
    ui::caption("Cosine of the word’s two rows of attention, head by head. Click one to see its maps.");
    const Index layers = frame.first.layers(), count = frame.first.heads();
    constexpr float label = 22, height = 24, top = 18;
    const float cell = std::min((width - label) / static_cast<float>(count), 60.0f);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 at{corner.x + label, corner.y + top};
    ImGui::InvisibleButton(
        "heads", {label + cell * static_cast<float>(count), top + height * static_cast<float>(layers)});
    const bool hovered = ImGui::IsItemHovered();
    const auto asked = ui::asked_cell("compare/head");
    auto cells = std::make_shared<ui::CellGrid>();
    cells->rows = layers;
    cells->cols = count;
    cells->at = at;
    cells->cell = {cell, height};
    cells->chosen = std::pair(frame.selection().layer, frame.selection().head);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::ColourScale scale = ui::sequential_scale(1);
    ui::Type mono(ui::Face::mono, 12);
    const auto centred = [&](float x, float y, ImU32 ink, const std::string& text) {
        const ImVec2 size = ui::text_size(text);
        ui::draw_text(list, {x - size.x / 2, y - size.y / 2}, ink, text);
    };
    for (Index head = 0; head < count; ++head)
        centred(at.x + (static_cast<float>(head) + 0.5f) * cell, corner.y + top / 2 - 2,
                head == frame.selection().head ? ui::theme().accent : ui::theme().dim, std::to_string(head));
    for (Index head = 0; head < count; ++head) cells->column_names.push_back("head " + std::to_string(head));
    for (Index layer = 0; layer < layers; ++layer) {
        const float y = at.y + static_cast<float>(layer) * height;
        centred(corner.x + label / 2 - 3, y + height / 2,
                layer == frame.selection().layer ? ui::theme().accent : ui::theme().dim,
                std::to_string(layer));
        cells->row_names.push_back("layer " + std::to_string(layer));
        for (Index head = 0; head < count; ++head) {
            const Cosine& c = alike_.rows[static_cast<std::size_t>(layer * count + head)];
            const float value = static_cast<float>(c.value());
            const ImVec2 min{at.x + static_cast<float>(head) * cell, y},
                max{min.x + cell - 1, min.y + height - 1};
            list->AddRectFilled(min, max, scale.colour(value), 3);
            const std::string text = rounded(c.value(), 2);
            if (ui::text_size(text).x <= cell - 3)
                centred((min.x + max.x) / 2, (min.y + max.y) / 2, ui::ink_on(scale.colour(value)), text);
            if (layer == frame.selection().layer && head == frame.selection().head)
                list->AddRect({min.x - 1, min.y - 1}, {max.x + 1, max.y + 1}, ui::theme().accent, 4, 0, 2);
            ui::landmark("compare/head/" + std::to_string(layer) + "/" + std::to_string(head), min, max);
            cells->words.push_back(text);
            const bool heard = asked && asked->row == layer && asked->col == head;
            if (!heard && (!hovered || !ImGui::IsMouseHoveringRect(min, max))) continue;
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
            ui::tooltip_at(
                min, max,
                ("layer " + std::to_string(layer) + " · head " + std::to_string(head) + ": " + arithmetic(c))
                    .c_str());
            frame.drawing.now.cell = CellRef{.stage = Stage::row_cosine, .row = layer, .col = head};
            if (!ui::clicked()) continue;
            parts::choose_head(frame.drawing, {layer, head});
            parts::pin(frame.drawing, *frame.drawing.now.cell);
        }
    }
    ui::semantic_place(ui::Role::grid, "compare/head", "Same attention pattern?", at,
                       {at.x + cell * static_cast<float>(count), at.y + height * static_cast<float>(layers)})
        .grid = std::move(cells);
}

void CompareLens::draw_similarities(const Frame& frame, float width) {
    const auto second_query = frame.second_query();
    if (!second_query) {
        ui::section("Same word, different vector?");
        return ui::caption("This word has no counterpart: click a word of the second sentence.");
    }
    update_alike(frame, frame.query(), *second_query);
    draw_vectors(frame, width);
    ImGui::Dummy({0, 8});
    draw_heads(frame, width);
}

// ---- The maps ---------------------------------------------------------------------------------------------

namespace {

ui::MapPicture weights_of(const char* name, const MapPointer& map, std::span<const std::string> names) {
    return {.name = name,
            .map = map,
            .query_names = names,
            .key_names = names,
            .choice = {},
            .title = "weight",
            .high = 1};
}

std::optional<ui::MapCell> cell_at(std::optional<Index> query, std::optional<Index> key) {
    return query && key ? std::optional(ui::MapCell{*query, *key}) : std::nullopt;
}

// Returns the index of the pair that contains a token of the first text.
std::optional<Index> place_of(const Alignment& alignment, std::optional<Index> token) {
    if (!token) return std::nullopt;
    const auto found = std::ranges::find(alignment.pairs(), *token, &TokenPair::first);
    return found == alignment.pairs().end() ? std::nullopt : std::optional(found - alignment.pairs().begin());
}

// Cuts the text before the words that differ if there is no room for all of it.
void caption_of(const char* which, const std::string& text, const std::string& other, float width) {
    ui::Type small(ui::Face::regular, ui::size_small);
    const std::string name = std::string(which) + ": ";
    const bool fits = ui::text_size(name + text).x <= width;
    ui::draw_text_within(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), width, ui::theme().dim,
                         name + (fits ? text : from_difference(text, other)));
    ImGui::Dummy({1, 20});
}

}  // namespace

void CompareLens::first_map(const Frame& frame, float width, float height) {
    ui::MapPicture picture = weights_of("compare/map/first", maps_.first, frame.first.query_names());
    picture.query = frame.query();
    picture.key = frame.drawing.pointed.key;
    picture.pointed = cell_at(frame.drawing.pointed.query, frame.drawing.pointed.key);
    const ui::MapTouch touch = first_view_.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([this] { return first_view_.step(); });
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    frame.point(query, key);
    frame.drawing.now.cell = CellRef{Stage::weight, query, key};
    clicks_.answer(frame.drawing, touch, [&] {
        parts::pin(frame.drawing, *frame.drawing.now.cell);
        parts::choose_tokens(frame.drawing, query, key);
    });
}

void CompareLens::second_map(const Frame& frame, float width, float height) {
    ui::MapPicture picture = weights_of("compare/map/second", maps_.second, frame.second.query_names());
    picture.query = frame.second_query();
    picture.key = frame.drawing.pointed.second_key;
    picture.pointed = cell_at(frame.drawing.pointed.second_query, frame.drawing.pointed.second_key);
    const ui::MapTouch touch = second_view_.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([this] { return second_view_.step(); });
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    frame.point_second(query, key);
    frame.drawing.now.cell = CellRef{Stage::weight, query, key, true};
    clicks_.answer(frame.drawing, touch, [&] {
        Selection selection = frame.selection();
        selection.counterpart = query;
        parts::pin(frame.drawing, *frame.drawing.now.cell);
        frame.drawing.visit.perform(Select{selection}, ui::gesture());
    });
}

// Explains a cell of the difference as a subtraction.
void CompareLens::tell_difference(const TokenPair& query, const TokenPair& key) const {
    const auto a = static_cast<double>(maps_.first->cell(query.first, key.first)),
               b = static_cast<double>(maps_.second->cell(query.second, key.second));
    if (std::isfinite(a) && std::isfinite(b))
        ui::tooltip((fixed(a, 4) + " − " + fixed(b, 4) + " = " + fixed(a - b, 4)).c_str());
}

void CompareLens::difference_map(const Frame& frame, float width, float height) {
    const auto& pairs = frame.pairing.alignment().pairs();
    if (pairs.empty()) return ui::caption("The two sentences have no tokens that correspond.");
    ui::MapPicture picture{.name = "compare/map/difference",
                           .map = maps_.difference,
                           .query_names = maps_.pair_names,
                           .key_names = maps_.pair_names,
                           .choice = {},
                           .title = "first − second",
                           .high = most_difference};
    picture.query = place_of(frame.pairing.alignment(), frame.query());
    picture.key = place_of(frame.pairing.alignment(), frame.drawing.pointed.key);
    picture.pointed = cell_at(place_of(frame.pairing.alignment(), frame.drawing.pointed.query), picture.key);
    const ui::MapTouch touch = difference_view_.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([this] { return difference_view_.step(); });
    const auto left_out = frame.first.queries() + frame.second.queries() - 2 * std::ssize(pairs);
    if (left_out)
        ui::caption((std::to_string(left_out) + (left_out == 1 ? " token has" : " tokens have") +
                     " no counterpart and are left out.")
                        .c_str());
    if (!touch.over) return;
    const TokenPair query = pairs[static_cast<std::size_t>(touch.over->query)],
                    key = pairs[static_cast<std::size_t>(touch.over->key)];
    tell_difference(query, key);
    frame.point(query.first, key.first);
    frame.drawing.now.cell = CellRef{Stage::difference, query.first, key.first};
    clicks_.answer(frame.drawing, touch, [&] {
        parts::pin(frame.drawing, *frame.drawing.now.cell);
        parts::choose_tokens(frame.drawing, query.first, key.first);
    });
}

// Blinking pauses while the cursor is over the map, and when the user prefers reduced motion.
void CompareLens::blinking(const Frame& frame, float width, float height) {
    const double now = now_ms();
    const bool held = frame.drawing.pointed.query || frame.drawing.visit.still();
    if (!held && now >= blink_.turns_at) {
        blink_.second = !blink_.second;
        blink_.turns_at = now + blink_ms;
    }
    if (!held) frame.drawing.visit.continue_at(blink_.turns_at);
    static constexpr std::array<const char*, 2> names{"first", "second"};
    if (const auto chosen = ui::choice("compare/blink", names, blink_.second)) {
        blink_.second = *chosen == 1;
        blink_.turns_at = now + 3 * blink_ms;
    }
    blink_.second ? second_map(frame, width, height) : first_map(frame, width, height);
}

void CompareLens::draw_maps(const Frame& frame, float width, float most_height) {
    update_maps(frame.first, frame.second, frame.subject.chosen_head());
    switch (state().of<CompareState>().view) {
        case ComparisonView::blink: return blinking(frame, width, most_height);
        case ComparisonView::difference: return difference_map(frame, width, most_height);
        case ComparisonView::sides: break;
    }
    const bool beside = width >= ui::two_maps;
    const float each = beside ? (width - maps_gap) / 2 : width;
    const auto [first_name, second_name] = frame.subject.comparison_names();
    ImGui::BeginGroup();
    caption_of("first", first_name, second_name, each);
    first_map(frame, each, most_height);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(each + maps_gap, 0);
    ImGui::BeginGroup();
    caption_of("second", second_name, first_name, each);
    second_map(frame, each, most_height);
    ImGui::EndGroup();
}

void CompareLens::draw(const Drawing& drawing, Subject& subject) {
    const Attention &first = *subject.attention(), &second = *subject.second();
    const Frame frame{drawing, first, second, pairing_of(first, second), subject};
    draw_controls(frame);
    // A button may have ended the comparison.
    if (subject.attention() != &first || subject.second() != &second) return;
    const float width = ImGui::GetContentRegionAvail().x;
    const float window = std::max(ImGui::GetWindowHeight(), least_window);
    draw_words(frame, width);
    ImGui::Dummy({0, 8});
    if (width < ui::two_unequal_columns) {
        draw_maps(frame, width, 1e6f);
        ImGui::Dummy({0, 8});
        return draw_similarities(frame, width);
    }
    const float left = std::floor((width - ui::column_gap) * left_share);
    ImGui::BeginGroup();
    ui::column("alike", left, [&](float) { draw_similarities(frame, left); });
    ImGui::EndGroup();
    ImGui::SameLine(0, ui::column_gap);
    ui::column("maps", width - left - ui::column_gap, [&](float w) {
        ui::section("Weights");
        draw_maps(frame, w, window * map_share);
    });
}

}  // namespace attn::app
