#include "parts/example_lines.hpp"

#include <imgui.h>

#include <array>
#include <cmath>

#include "app/format.hpp"
#include "present/card.hpp"
#include "present/present.hpp"
#include "subjects/vocabulary.hpp"
#include "text/visible.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::parts {

namespace {

constexpr std::array<const char*, example_measures> measures{"weight", "length written",
                                                             "effect on the next token’s logit"};
constexpr float line_height = 26, number_room = 66, rank_room = 42;

// Returns a token as a part of its text: a page shows a token's first space as a dot.
std::string as_read(const std::string& piece) {
    const std::string dot = visible(" ");
    return piece.starts_with(dot) ? " " + piece.substr(dot.size()) : piece;
}

// The pieces of a line that fit: those from the earlier to the later of the two words or, where these are too
// far apart, the surroundings of each.
struct Words {
    std::vector<std::int32_t> shown;  // −1: some are left out
    float width = 0;
};

std::vector<float> widths_of(const app::SplitText& text) {
    std::vector<float> widths;
    for (const std::string& piece : text.pieces) widths.push_back(ui::text_size(as_read(piece)).x);
    return widths;
}

Words words_within(const std::vector<float>& widths, const HeadExample& pair, float room) {
    const float gap = ui::text_size("…").x;
    const auto count = static_cast<std::int32_t>(widths.size());
    std::vector<bool> in(widths.size(), false);
    float used = 2 * gap;
    const auto add = [&](std::int32_t at) {
        if (at < 0 || at >= count || in[static_cast<std::size_t>(at)]) return true;
        const float width = widths[static_cast<std::size_t>(at)];
        if (used + width > room) return false;
        in[static_cast<std::size_t>(at)] = true;
        used += width;
        return true;
    };
    add(pair.query);
    add(pair.key);
    if (std::abs(pair.query - pair.key) > 1) used += gap;
    // Both grow evenly, the context before a word first.
    for (std::int32_t by = 1; by < count; ++by) {
        bool fits = true;
        for (const std::int32_t from : {pair.query, pair.key})
            fits = add(from - by) && add(from + by) && fits;
        if (!fits) break;
    }
    Words words;
    for (std::int32_t at = 0; at < count; ++at) {
        if (in[static_cast<std::size_t>(at)])
            words.shown.push_back(at);
        else if (words.shown.empty() || words.shown.back() >= 0)
            words.shown.push_back(-1);
    }
    return words;
}

void draw_words(const app::SplitText& text, const HeadExample& pair, ImVec2 at, float room) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& theme = ui::theme();
    const std::vector<float> widths = widths_of(text);
    for (const std::int32_t token : words_within(widths, pair, room).shown) {
        if (token < 0) {
            ui::draw_text(list, at, theme.dim, "…");
            at.x += ui::text_size("…").x;
            continue;
        }
        const auto i = static_cast<std::size_t>(token);
        const bool is_query = token == pair.query, is_key = token == pair.key;
        const ImVec2 end{at.x + widths[i], at.y + ImGui::GetTextLineHeight()};
        if (is_key) list->AddRectFilled({at.x, at.y - 2}, {end.x, end.y + 2}, theme.accent_soft, 4);
        if (is_query) list->AddRect({at.x - 2, at.y - 2}, {end.x + 2, end.y + 2}, theme.accent, 4);
        ui::draw_text(list, at, is_query || is_key ? theme.text : theme.dim, as_read(text.pieces[i]));
        at.x = end.x;
    }
}

// Draws a part of a line that can be pressed, an option of a list, and a background under the cursor. Returns
// whether it was pressed.
bool press(const std::string& name, std::string told, std::string value, ImVec2 min, ImVec2 max) {
    ImGui::SetCursorScreenPos(min);
    const bool pressed =
        ImGui::InvisibleButton(name.c_str(), {max.x - min.x, max.y - min.y}, ImGuiButtonFlags_EnableNav);
    ui::landmark_item(name);
    ui::semantic_item(ui::Role::option, name, std::move(told)).value = std::move(value);
    if (ImGui::IsItemHovered() || ImGui::IsItemFocused()) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        ImGui::GetWindowDrawList()->AddRectFilled(min, max, ui::theme().raised, 5);
    }
    return pressed;
}

// The places of the lines: ranks, numbers and words.
struct LinePlaces {
    ImVec2 at;
    float width, height = ui::by_touch() ? ui::finger_size : line_height;
    float left = at.x + rank_room + number_room;  // where the words begin

    float y(std::size_t rank) const { return at.y + static_cast<float>(rank) * height; }
    float text_y(std::size_t rank) const { return y(rank) + (height - ImGui::GetTextLineHeight()) / 2; }
};

// Returns the rank of the line whose text is to be opened.
std::optional<std::size_t> draw_texts(const ExampleLines& lines, const LinePlaces& places) {
    const ui::SemanticGroup group(ui::Role::listbox, lines.key + "/texts", lines.title);
    std::optional<std::size_t> opened;
    for (std::size_t rank = 0; rank < lines.pairs.size(); ++rank) {
        const HeadExample& pair = lines.pairs[rank];
        const app::SplitText& text = lines.text_of(pair);
        const float left = places.left, right = places.at.x + places.width;
        if (press(lines.key + "/" + std::to_string(rank), "Open " + lines.words_of(pair), text.text,
                  {left - 4, places.y(rank)}, {right, places.y(rank) + places.height}))
            opened = rank;
        ui::draw_text(ImGui::GetWindowDrawList(), {places.at.x + 4, places.text_y(rank)}, ui::theme().dim,
                      lines.ranks[rank]);
        draw_words(text, pair, {left, places.text_y(rank)}, right - left - 4);
    }
    return opened;
}

// A click on a number pins it, if it is the lens's own.
void draw_numbers(const app::Drawing& drawing, const ExampleLines& lines, const LinePlaces& places) {
    std::optional<ui::SemanticGroup> group;
    if (lines.cell)
        group.emplace(ui::Role::listbox, lines.key + "/numbers", "Numbers of “" + lines.title + "”");
    for (std::size_t rank = 0; rank < lines.pairs.size(); ++rank) {
        const HeadExample& pair = lines.pairs[rank];
        const std::string number = example_number(lines.by, static_cast<double>(pair.value(lines.by)));
        const auto cell = lines.cell ? std::optional(lines.cell(pair)) : std::nullopt;
        if (cell) {
            if (press(lines.key + "/" + std::to_string(rank) + "/number",
                      number + ", " + lines.words_of(pair), number, {places.at.x, places.y(rank)},
                      {places.left - 4, places.y(rank) + places.height}))
                present::pin(drawing, *cell);
            if (ImGui::IsItemHovered() || ImGui::IsItemFocused()) drawing.now.cell = *cell;
        }
        const ui::Type mono(ui::Face::mono, ui::size_small);
        const bool pinned = cell && drawing.state().pin == *cell;
        ui::draw_text(ImGui::GetWindowDrawList(), {places.at.x + rank_room, places.text_y(rank) + 1},
                      pinned ? ui::theme().accent : ui::theme().text, number);
    }
}

}  // namespace

std::string word_of(const app::SplitText& text, Index token) {
    return app::curly_quoted(app::Vocabulary::bare(text.pieces[static_cast<std::size_t>(token)]));
}

const app::SplitText& ExampleLines::text_of(const HeadExample& pair) const {
    return search->texts()[static_cast<std::size_t>(pair.text)];
}
std::string ExampleLines::words_of(const HeadExample& pair) const {
    return word_of(text_of(pair), pair.query) + " at " + word_of(text_of(pair), pair.key);
}

std::string example_number(ExampleMeasure measure, double value) {
    return measure == ExampleMeasure::weight ? app::fixed(value, 3) : app::four(value);
}

app::Table example_table(const ExampleLines& lines) {
    app::Table table{lines.title, {"weight", "length written", "effect on the logit"}, {}, {}};
    for (std::size_t rank = 0; rank < lines.pairs.size(); ++rank) {
        const HeadExample& pair = lines.pairs[rank];
        table.row_labels.push_back(lines.ranks[rank] + ": " + lines.words_of(pair) + " in " +
                                   lines.text_of(pair).text);
        for (const float value : pair.values) table.values.values.push_back(static_cast<double>(value));
    }
    table.values.rows = std::ssize(lines.pairs);
    table.values.cols = example_measures;
    return table;
}

std::optional<HeadExample> draw_example_lines(const app::Drawing& drawing, const ExampleLines& lines,
                                              float width) {
    std::optional<HeadExample> opened;
    if (lines.pairs.empty()) return opened;
    const present::Card card(drawing,
                             {.key = lines.key,
                              .title = lines.title,
                              .notation = std::string("by ") + measures[static_cast<std::size_t>(lines.by)] +
                                          " · outlined: the query · filled: the key it looks at",
                              .table = [table = example_table(lines)] { return table; },
                              .is_listed = false},
                             width);
    const ui::Type small(ui::Face::regular, ui::size_small);
    const LinePlaces places{ImGui::GetCursorScreenPos(), card.width()};
    draw_numbers(drawing, lines, places);
    if (const auto rank = draw_texts(lines, places)) opened = lines.pairs[*rank];
    ImGui::SetCursorScreenPos(places.at);
    ImGui::Dummy({places.width, places.height * static_cast<float>(lines.pairs.size())});
    return opened;
}

void open_example(app::Subject& subject, const app::ExampleSearch& search, const HeadIndex& head,
                  const HeadExample& pair) {
    subject.text_model()->open_text(
        search.texts()[static_cast<std::size_t>(pair.text)].text,
        {.layer = head.layer, .head = head.head, .query = pair.query, .key = pair.key});
}

}  // namespace attn::parts
