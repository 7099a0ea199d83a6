// Draws the words of queries and keys, coloured by the weights of the chosen row.
#include <algorithm>
#include <utility>

#include "app/format.hpp"
#include "lenses/compare/view.hpp"
#include "present/present.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/scroll.hpp"
#include "widgets/semantics.hpp"

namespace attn::app::compare {

namespace {

constexpr float tag_width = 54;

void update(Line& line, const Attention& run, const HeadIndex& chosen, std::optional<Index> query) {
    const HeadIndex head = beside(chosen, run);
    if (line.version == run.version() && line.head == head && line.query == query) return;
    line.version = run.version();
    line.head = head;
    line.query = query;
    line.look = {};
    const auto keys = static_cast<std::size_t>(run.keys());
    const auto record = run.record(head.layer);
    line.weights.assign(keys, 0);
    line.numbers.assign(keys, "");
    if (query) {
        line.weights = record->weights(head.head, *query);
        for (std::size_t k = 0; k < keys; ++k)
            if (record->spec().mask.allows(head.head, *query, static_cast<Index>(k)))
                line.numbers[k] = rounded(static_cast<double>(line.weights[k]), 2);
    }
    if (const auto reading = query ? read_row(run, head.layer, head.head, query) : std::nullopt)
        if (const auto* strongest = reading->strongest())
            line.look = {strongest->keys, strongest->at, percent(strongest->share)};
    // The line is as wide as the widest numbers need, so that nothing moves under the cursor.
    line.whole = ui::token_line(run.key_names(), std::vector<std::string>(keys, "0.00"));
    line.line = line.whole.scaled(line.line.scale);
}

// Updates words of queries that attend to other words.
void update_asking(Line& line, const Attention& run) {
    if (line.version == run.version()) return;
    const auto n = static_cast<std::size_t>(run.queries());
    line = {};
    line.version = run.version();
    line.weights.resize(n);
    line.numbers.resize(n);
    line.line = line.whole = ui::token_line(run.query_names(), std::vector<std::string>(n));
}

// Returns where to scroll the line if the chosen query or what it attends to most has changed.
std::optional<float> follow(Line& line, std::optional<Index> query, float room) {
    const Range look = line.look.keys;
    const Line::Followed now{query, look, line.whole.total, room};
    if (std::exchange(line.followed, now) == now || (!query && look.size() == 0)) return std::nullopt;
    const auto looked = look.size() > 0 ? std::optional(line.whole.stretch(look)) : std::nullopt;
    const ui::Stretch first = query ? line.whole.stretch({*query, *query + 1}) : *looked,
                      both = first.and_also(looked.value_or(first));
    const float before = line.line.scale, scale = ui::fitting_scale(both.length(), room);
    line.line = line.whole.scaled(scale);
    return ui::scroll_to_both(first * scale, looked ? std::optional(*looked * scale) : std::nullopt,
                              line.scrolled * scale / before, room, line.line.total);
}

struct LineShown {
    const char *key, *label, *told;  // for landmarks, before the line, and for screen readers
    std::span<const std::string> words;
    std::optional<Index> query, key_pointed;
    bool chosen;  // the query is chosen, not pointed at: it and its strongest key are brought into view
};

// Draws the words in view, and returns them.
std::vector<Index> draw_chips(const LineShown& shown, const Line& line, const std::string& landmark,
                              ImVec2 corner) {
    const ui::Theme& t = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const Range in_view =
        line.line.within(list->GetClipRectMin().x - corner.x, list->GetClipRectMax().x - corner.x);
    std::vector<Index> drawn;
    for (Index i = in_view.begin; i < in_view.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const ui::Chip chip = ui::chip_at(line.line, i, corner);
        list->AddRectFilled(chip.min, chip.max, t.raised, 5);
        if (const float w = line.weights[at]; w > 0.005f)
            list->AddRectFilled(chip.min, chip.max, ui::with_alpha(t.accent, 0.08f + 0.5f * w), 5);
        if (shown.chosen && line.look.keys.holds(i)) list->AddRect(chip.min, chip.max, t.accent, 5, 0, 1.0f);
        if (i == shown.query) list->AddRect(chip.min, chip.max, t.accent, 5, 0, shown.chosen ? 2.0f : 1.5f);
        if (i == shown.key_pointed) list->AddRect(chip.min, chip.max, t.dim, 5, 0, 1.5f);
        ui::draw_chip_text(chip, shown.words[at], line.numbers[at], line.weights[at] > 0.005f,
                           line.line.scale);
        ui::landmark(landmark + "/" + std::to_string(i), chip.min, chip.max);
        drawn.push_back(i);
    }
    return drawn;
}

struct Touched {
    std::optional<Index> over;
    bool clicked = false;
};

// Draws the button behind the words, which scrolls by dragging.
Touched touched_word(const Line& line, const std::string& landmark, ImVec2 corner) {
    ImGui::InvisibleButton("words", {std::max(line.line.total, 1.0f), ui::chip_height});
    Touched touched;
    if (ImGui::IsItemActive() && ui::dragged())
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseDelta.x);
    if (ImGui::IsItemHovered()) {
        touched.over = line.line.under(ImGui::GetIO().MousePos.x - corner.x);
        touched.clicked = touched.over && ImGui::IsItemDeactivated() && !ui::dragged();
        if (touched.over) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    }
    if (const auto asked = ui::asked_place(landmark + "/");
        asked && asked->col < std::ssize(line.line.left)) {
        touched.over = asked->col;
        touched.clicked = asked->pressed;
        if (asked->arrived) ui::scroll_to_chip(ui::chip_at(line.line, asked->col, corner));
    }
    return touched;
}

Touched draw_line(const LineShown& shown, Line& line, float width) {
    const ui::Theme& t = ui::theme();
    const ImVec2 start = ImGui::GetCursorScreenPos();
    {
        ui::Type small(ui::Face::regular, ui::size_small);
        ui::draw_text(ImGui::GetWindowDrawList(), {start.x, start.y + 13}, t.dim, shown.label);
    }
    ImGui::SetCursorScreenPos({start.x + tag_width, start.y});
    const float room = width - tag_width;
    if (shown.chosen)
        if (const auto to = follow(line, shown.query, room)) ImGui::SetNextWindowScroll({*to, -1});
    ImGui::SetNextWindowContentSize({std::max(line.line.total, 1.0f), 0});
    const float bar = line.line.total > room ? ImGui::GetStyle().ScrollbarSize + 2 : 0;
    ImGui::BeginChild(shown.key, {room, ui::chip_height + bar}, 0, ImGuiWindowFlags_HorizontalScrollbar);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const std::string landmark = "compare/" + std::string(shown.key);
    Touched touched = touched_word(line, landmark, corner);
    const ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 view_min = list->GetClipRectMin(), view_max = list->GetClipRectMax();
    line.scrolled = ImGui::GetScrollX();
    ui::landmark(landmark, view_min, view_max);
    const auto looked = line.line.stretch(line.look.keys) + corner.x;
    const auto beyond = shown.chosen && line.look.keys.size() > 0
                            ? ui::beyond_view(line.look, looked, {view_min.x, view_max.x}, corner.y)
                            : std::nullopt;
    if (beyond && ImGui::IsItemHovered() && ImGui::IsMouseHoveringRect(beyond->chip.min, beyond->chip.max)) {
        touched.over.reset();
        if (std::exchange(touched.clicked, false))
            ui::scroll_to({looked.from, corner.y}, {looked.to, corner.y + 1});
    }
    std::vector<Index> drawn = draw_chips(shown, line, landmark, corner);
    if (beyond) {
        ui::draw_beyond(*beyond, t.accent);
        ui::landmark(landmark + "/beyond", beyond->chip.min, beyond->chip.max);
    }
    const ui::SemanticGroup group(ui::Role::listbox, landmark, shown.told);
    for (const Index i : ui::told_words(std::ssize(line.line.left), std::move(drawn), shown.query)) {
        const auto at = static_cast<std::size_t>(i);
        ui::tell_word(landmark + "/" + std::to_string(i), shown.words[at] + " " + line.numbers[at],
                      ui::chip_at(line.line, i, corner), view_min, view_max)
            .on = i == shown.query;
    }
    ImGui::EndChild();
    return touched;
}

// Draws the words of the queries, and of the keys where these are the same words.
void draw_queries(const Frame& frame, bool of_second, float width) {
    const bool one_line = frame.first.one_line();
    const auto query = frame.query_of(of_second);
    const Touched touched =
        draw_line({.key = of_second ? "second" : "first",
                   .label = of_second ? "second" : "first",
                   .told = of_second ? "Words of the second sentence" : "Words of the first sentence",
                   .words = frame.run(of_second).query_names(),
                   .query = query,
                   .key_pointed = one_line ? frame.pointed_key(of_second) : std::nullopt,
                   .chosen = !frame.is_pointed() && query},
                  seen_in(frame).lines[of_second], width);
    if (!touched.over) return;
    // The hovered word is the query; its number is its weight on itself.
    frame.point_in(of_second, touched.over, std::nullopt);
    if (one_line) frame.drawing.now.cell = RunCell{Stage::weight, *touched.over, *touched.over, of_second};
    if (!touched.clicked) return;
    Selection chosen = frame.selection();
    if (!of_second)
        return parts::choose_tokens(frame.drawing, chosen.query == touched.over ? std::nullopt : touched.over,
                                    std::nullopt);
    chosen.counterpart = touched.over;
    if (!chosen.query) chosen.query = frame.pairings.queries.first_of(*touched.over);
    frame.drawing.visit.perform(Select{chosen}, ui::gesture());
}

// Draws the words that the query words attend to, if those are different words.
void draw_read(const Frame& frame, bool of_second, float width) {
    const auto query = frame.query_of(of_second);
    const Touched touched =
        draw_line({.key = of_second ? "second-reads" : "first-reads",
                   .label = "reads",
                   .told = of_second ? "Words that the second reads" : "Words that the first reads",
                   .words = frame.run(of_second).key_names(),
                   .query = {},
                   .key_pointed = frame.pointed_key(of_second),
                   .chosen = query && !frame.is_pointed()},
                  seen_in(frame).read[of_second], width);
    if (!touched.over || !query) return;
    frame.point_in(of_second, query, touched.over);
    frame.drawing.now.cell = RunCell{Stage::weight, *query, *touched.over, of_second};
    if (touched.clicked) present::pin(frame.drawing, *frame.drawing.now.cell);
}

std::string words_title(const Frame& frame) {
    return "What " + curly_quoted(label_at(frame.first.query_names(), frame.query())) +
           " looks at, word by word";
}

// The words of both runs, one after the other.
Table words_table(const Frame& frame) {
    const std::array<Line, 2>& lines = frame.first.one_line() ? seen_in(frame).lines : seen_in(frame).read;
    Table table{words_title(frame), {"weight"}, {}, {}};
    for (const bool of_second : {false, true}) {
        const Line& line = lines[of_second];
        for (std::size_t i = 0; frame.query_of(of_second) && i < line.weights.size(); ++i) {
            table.row_labels.push_back((of_second ? "second, " : "first, ") +
                                       frame.run(of_second).key_names()[i]);
            table.values.values.push_back(static_cast<double>(line.weights[i]));
        }
    }
    table.values.rows = std::ssize(table.row_labels);
    table.values.cols = 1;
    return table;
}

}  // namespace

void draw_words(const Frame& frame, float width) {
    const bool one_line = frame.first.one_line();
    for (const bool of_second : {false, true}) {
        const Attention& run = frame.run(of_second);
        if (!one_line) update_asking(seen_in(frame).lines[of_second], run);
        update((one_line ? seen_in(frame).lines : seen_in(frame).read)[of_second], run,
               frame.subject.chosen_head(), frame.query_of(of_second));
    }
    const present::Card card(frame.drawing,
                             {.key = "compare/words",
                              .title = words_title(frame),
                              .table = [table = words_table(frame)] { return table; }},
                             width);
    for (const bool of_second : {false, true}) {
        draw_queries(frame, of_second, card.width());
        if (!one_line) draw_read(frame, of_second, card.width());
    }
}

}  // namespace attn::app::compare
