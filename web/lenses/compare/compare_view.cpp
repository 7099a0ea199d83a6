#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/compare/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/bars.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

constexpr float tag_width = 54, left_share = 0.33f, map_share = 0.7f, least_window = 480;

std::string written(double value) { return std::isnan(value) ? "–" : fixed(value, 3); }

std::string arithmetic(const Cosine& c) {
    return "a · b / (‖a‖ ‖b‖) = " + fixed(c.dot, 3) + " / (" + fixed(c.first_norm, 3) + " × " +
           fixed(c.second_norm, 3) + ") = " + fixed(c.value(), 6);
}

}  // namespace

void CompareLens::draw_controls(const Frame& frame) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({10, 4}));
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
    const auto [layer, head] = beside({selection.layer, selection.head}, run);
    const Index wanted = query.value_or(-1);
    if (line.version == run.version() && line.layer == layer && line.head == head && line.query == wanted)
        return;
    const auto shown = line.version == run.version() ? line.shown : std::nullopt;
    line = {run.version(), layer, head, wanted, {}, {}, {}, shown};
    const Index n = run.keys();
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
        ui::token_line(run.key_names(), std::vector<std::string>(static_cast<std::size_t>(n), "0.00"));
}

void CompareLens::update_asking(Line& line, const Attention& run) {
    if (line.version == run.version()) return;
    const auto n = static_cast<std::size_t>(run.queries());
    line = {.version = run.version(),
            .weights = std::vector<float>(n),
            .numbers = std::vector<std::string>(n),
            .line = ui::token_line(run.query_names(), std::vector<std::string>(n)),
            .shown = std::nullopt};
}

CompareLens::Touched CompareLens::draw_line(const LineNames& names, Line& line,
                                            std::span<const std::string> pieces, std::optional<Index> query,
                                            std::optional<Index> key, bool chosen, float width) {
    const ui::Theme& t = ui::theme();
    const ImVec2 start = ImGui::GetCursorScreenPos();
    {
        ui::Type small(ui::Face::regular, ui::size_small);
        ui::draw_text(ImGui::GetWindowDrawList(), {start.x, start.y + 13}, t.dim, names.label);
    }
    ImGui::SetCursorScreenPos({start.x + tag_width, start.y});
    const float room = width - tag_width;
    const float bar = line.line.total > room ? ImGui::GetStyle().ScrollbarSize + 2 : 0;
    ImGui::BeginChild(names.key, {room, ui::chip_height + bar}, 0, ImGuiWindowFlags_HorizontalScrollbar);
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
    const std::string words = "compare/" + std::string(names.key);
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
    const ui::SemanticGroup group(ui::Role::listbox, words, names.told);
    for (Index i = shown.begin; i < shown.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const ui::Chip chip = ui::chip_at(line.line, i, corner);
        list->AddRectFilled(chip.min, chip.max, t.raised, 5);
        if (const float w = line.weights[at]; w > 0.005f)
            list->AddRectFilled(chip.min, chip.max, ui::with_alpha(t.accent, 0.08f + 0.5f * w), 5);
        if (i == query) list->AddRect(chip.min, chip.max, t.accent, 5, 0, chosen ? 2.0f : 1.5f);
        if (i == key) list->AddRect(chip.min, chip.max, t.dim, 5, 0, 1.5f);
        ui::draw_chip_text(chip, pieces[at], line.numbers[at], line.weights[at] > 0.005f);
        const std::string item = words + "/" + std::to_string(i);
        ui::landmark(item, chip.min, chip.max);
        ui::semantic_place(ui::Role::option, item, pieces[at] + " " + line.numbers[at], chip.min, chip.max)
            .on = i == query;
    }
    ImGui::EndChild();
    return touched;
}

void CompareLens::draw_words(const Frame& frame, float width) {
    const Selection s = frame.selection();
    const Hover& pointed = frame.drawing.pointed;
    const bool one_line = frame.first.one_line();
    if (one_line) {
        update(first_line_, frame.first, s, frame.query());
        update(second_line_, frame.second, s, frame.second_query());
    } else {
        update_asking(first_line_, frame.first);
        update_asking(second_line_, frame.second);
    }
    const bool pointing = pointed.query || pointed.second_query;
    const Touched first =
        draw_line({"first", "first", "Words of the first sentence"}, first_line_, frame.first.query_names(),
                  frame.query(), one_line ? pointed.key : std::nullopt, !pointing, width);
    // A word that is pointed at is the one that asks; its number says how much it looks at itself.
    if (first.over) {
        frame.point(first.over, std::nullopt);
        if (one_line) frame.drawing.now.cell = CellRef{Stage::weight, *first.over, *first.over};
    }
    if (!one_line) draw_read(frame, false, width);
    if (first.clicked)
        parts::choose_tokens(frame.drawing, s.query == first.over ? std::nullopt : first.over, std::nullopt);
    const Touched second =
        draw_line({"second", "second", "Words of the second sentence"}, second_line_,
                  frame.second.query_names(), frame.second_query(),
                  one_line ? pointed.second_key : std::nullopt, !pointing && frame.second_query(), width);
    if (second.over) {
        frame.point_second(second.over, std::nullopt);
        if (one_line) frame.drawing.now.cell = CellRef{Stage::weight, *second.over, *second.over, true};
    }
    if (!one_line) draw_read(frame, true, width);
    if (!second.clicked) return;
    Selection selection = s;
    selection.counterpart = second.over;
    if (!selection.query) selection.query = frame.pairing.first_of(*second.over);
    frame.drawing.visit.perform(Select{selection}, ui::gesture());
}

void CompareLens::draw_read(const Frame& frame, bool of_second, float width) {
    const Attention& run = of_second ? frame.second : frame.first;
    const auto query = of_second ? frame.second_query() : std::optional(frame.query());
    Line& line = of_second ? second_read_ : first_read_;
    update(line, run, frame.selection(), query);
    const Hover& pointed = frame.drawing.pointed;
    const Touched touched = draw_line(
        of_second ? LineNames{"second-reads", "reads", "Words that the second reads"}
                  : LineNames{"first-reads", "reads", "Words that the first reads"},
        line, run.key_names(), std::nullopt, of_second ? pointed.second_key : pointed.key, false, width);
    if (!touched.over || !query) return;
    of_second ? frame.point_second(query, touched.over) : frame.point(query, touched.over);
    frame.drawing.now.cell = CellRef{Stage::weight, *query, *touched.over, of_second};
    if (touched.clicked) present::pin(frame.drawing, *frame.drawing.now.cell);
}

// ---- How alike --------------------------------------------------------------------------------------------

void CompareLens::update_alike(const Frame& frame, Index query, Index second_query) {
    const Attention &a = frame.first, &b = frame.second;
    if (alike_.first_version == a.version() && alike_.second_version == b.version() &&
        alike_.query == query && alike_.second_query == second_query)
        return;
    const Range layers{a.alike().begin, std::min(a.alike().end, b.alike().end)};
    alike_ = {a.version(), b.version(), query, second_query, layers, std::min(a.heads(), b.heads()), {}, {}};
    const auto same_shape = [](const Trace& x, const Trace& y) {
        return x.layers().size() == y.layers().size() &&
               x.final_residual().dim(1) == y.final_residual().dim(1);
    };
    if (const Trace *of_a = query_stack(a).trace, *of_b = query_stack(b).trace;
        of_a && of_b && same_shape(*of_a, *of_b))
        alike_.residual = residual_cosines(*of_a, query, *of_b, second_query);
    for (Index layer = alike_.layers.begin; layer < alike_.layers.end; ++layer) {
        const auto of_a = a.record(layer), of_b = b.record(layer);
        for (Index head = 0; head < alike_.heads; ++head)
            alike_.rows.push_back(row_cosine(of_a->weights(head, query), of_b->weights(head, second_query),
                                             frame.keys.alignment()));
    }
}

void CompareLens::draw_vectors(const Frame& frame, float width) {
    if (alike_.residual.empty()) return;
    ui::section("Same word, different vector?");
    const bool two_models =
        query_stack(frame.first).trace->model() != query_stack(frame.second).trace->model();
    ui::caption(("Cosine of " + curly_quoted(frame.first_name(alike_.query)) + " and " +
                 curly_quoted(frame.second_name(alike_.second_query)) +
                 " in the residual stream, layer by layer." +
                 (two_models ? " Models trained apart use directions of their own: only where one was made "
                               "from the other do vectors stay alike."
                             : ""))
                    .c_str());
    std::vector<ui::Bar> bars;
    for (std::size_t i = 0; i < alike_.residual.size(); ++i) {
        const double value = alike_.residual[i].value();
        bars.push_back({i == 0 ? "embedding" : "layer " + std::to_string(i - 1), static_cast<float>(value),
                        written(value),
                        static_cast<Index>(i) == frame.selection().layer - alike_.layers.begin + 1, false});
    }
    if (const auto over = ui::bar_list("compare/vector", "Same word, different vector?", width, bars, 1,
                                       ui::diverging_scale(1))) {
        frame.drawing.now.cell = CellRef{.stage = Stage::cosine, .row = *over};
        if (ui::clicked()) present::pin(frame.drawing, *frame.drawing.now.cell);
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
    const Index first_layer = alike_.layers.begin, layers = alike_.layers.size(), count = alike_.heads;
    const Layers& numbering = frame.first.numbering();
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
    cells->chosen = std::pair(frame.selection().layer - first_layer, frame.selection().head);
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
    for (Index row = 0; row < layers; ++row) {
        const float y = at.y + static_cast<float>(row) * height;
        const Index layer = first_layer + row;
        centred(corner.x + label / 2 - 3, y + height / 2,
                layer == frame.selection().layer ? ui::theme().accent : ui::theme().dim, std::to_string(row));
        cells->row_names.push_back(numbering.name(layer));
        for (Index head = 0; head < count; ++head) {
            const Cosine& c = alike_.rows[static_cast<std::size_t>(row * count + head)];
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
            const bool heard = asked && asked->row == row && asked->col == head;
            if (!heard && (!hovered || !ImGui::IsMouseHoveringRect(min, max))) continue;
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
            ui::tooltip_at(min, max, (head_text({layer, head}, numbering) + ": " + arithmetic(c)).c_str());
            frame.drawing.now.cell = CellRef{.stage = Stage::row_cosine, .row = layer, .col = head};
            if (!ui::clicked()) continue;
            parts::choose_head(frame.drawing, {layer, head});
            present::pin(frame.drawing, *frame.drawing.now.cell);
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
        return ui::caption("This word has no counterpart: click a word of the second line.");
    }
    update_alike(frame, frame.query(), *second_query);
    draw_vectors(frame, width);
    ImGui::Dummy({0, 8});
    draw_heads(frame, width);
}

void CompareLens::draw(const Drawing& drawing, Subject& subject) {
    const Attention &first = *subject.attention(), &second = *subject.second();
    const Pairings& pairings = pairings_of(first, second);
    const Frame frame{drawing, first, second, pairings.queries, pairings.keys, subject};
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
