#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/compare/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/scroll.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

constexpr float tag_width = 54, left_share = 0.33f, map_share = 0.7f, least_window = 480;

std::string written(double value) { return std::isnan(value) ? "–" : fixed(value, 3); }

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
    line.version = run.version();
    line.layer = layer;
    line.head = head;
    line.query = wanted;
    line.look = {};
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
    if (const auto reading = query ? read_row(run, layer, head, query) : std::nullopt)
        if (const auto* strongest = reading->strongest())
            line.look = {strongest->keys, strongest->at, percent(strongest->share)};
    // The line is as wide as the widest numbers need, so that nothing moves under the cursor.
    line.whole =
        ui::token_line(run.key_names(), std::vector<std::string>(static_cast<std::size_t>(n), "0.00"));
    line.line = line.whole.scaled(line.line.scale);
}

void CompareLens::update_asking(Line& line, const Attention& run) {
    if (line.version == run.version()) return;
    const auto n = static_cast<std::size_t>(run.queries());
    line = {};
    line.version = run.version();
    line.weights.resize(n);
    line.numbers.resize(n);
    line.line = line.whole = ui::token_line(run.query_names(), std::vector<std::string>(n));
}

std::optional<float> CompareLens::follow(Line& line, std::optional<Index> query, float room) {
    const Range look = line.look.keys;
    const Followed now{query, look, line.whole.total, room};
    if (std::exchange(line.followed, now) == now || (!query && look.size() == 0)) return std::nullopt;
    const auto looked = look.size() > 0 ? std::optional(line.whole.stretch(look)) : std::nullopt;
    const ui::Stretch first = query ? line.whole.stretch({*query, *query + 1}) : *looked,
                      both = first.and_also(looked.value_or(first));
    const float before = line.line.scale, scale = ui::fitting_scale(both.length(), room);
    line.line = line.whole.scaled(scale);
    return ui::scroll_to_both(first * scale, looked ? std::optional(*looked * scale) : std::nullopt,
                              line.scrolled * scale / before, room, line.line.total);
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
    if (chosen)
        if (const auto to = follow(line, query, room)) ImGui::SetNextWindowScroll({*to, -1});
    ImGui::SetNextWindowContentSize({std::max(line.line.total, 1.0f), 0});
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
        if (asked->arrived) ui::scroll_to_chip(ui::chip_at(line.line, asked->col, corner));
    }
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 view_min = list->GetClipRectMin(), view_max = list->GetClipRectMax();
    line.scrolled = ImGui::GetScrollX();
    ui::landmark(words, view_min, view_max);
    const bool marks = chosen && line.look.keys.size() > 0;
    const auto looked = line.line.stretch(line.look.keys) + corner.x;
    const auto beyond =
        marks ? ui::beyond_view(line.look, looked, {view_min.x, view_max.x}, corner.y) : std::nullopt;
    if (beyond && ImGui::IsItemHovered() && ImGui::IsMouseHoveringRect(beyond->chip.min, beyond->chip.max)) {
        touched.over.reset();
        if (std::exchange(touched.clicked, false))
            ui::scroll_to({looked.from, corner.y}, {looked.to, corner.y + 1});
    }
    const Range shown = line.line.within(view_min.x - corner.x, view_max.x - corner.x);
    std::vector<Index> drawn;
    for (Index i = shown.begin; i < shown.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const ui::Chip chip = ui::chip_at(line.line, i, corner);
        list->AddRectFilled(chip.min, chip.max, t.raised, 5);
        if (const float w = line.weights[at]; w > 0.005f)
            list->AddRectFilled(chip.min, chip.max, ui::with_alpha(t.accent, 0.08f + 0.5f * w), 5);
        if (marks && line.look.keys.holds(i)) list->AddRect(chip.min, chip.max, t.accent, 5, 0, 1.0f);
        if (i == query) list->AddRect(chip.min, chip.max, t.accent, 5, 0, chosen ? 2.0f : 1.5f);
        if (i == key) list->AddRect(chip.min, chip.max, t.dim, 5, 0, 1.5f);
        ui::draw_chip_text(chip, pieces[at], line.numbers[at], line.weights[at] > 0.005f, line.line.scale);
        ui::landmark(words + "/" + std::to_string(i), chip.min, chip.max);
        drawn.push_back(i);
    }
    if (beyond) {
        ui::draw_beyond(*beyond, t.accent);
        ui::landmark(words + "/beyond", beyond->chip.min, beyond->chip.max);
    }
    const ui::SemanticGroup group(ui::Role::listbox, words, names.told);
    for (const Index i : ui::told_words(std::ssize(line.line.left), std::move(drawn), query)) {
        const auto at = static_cast<std::size_t>(i);
        ui::tell_word(words + "/" + std::to_string(i), pieces[at] + " " + line.numbers[at],
                      ui::chip_at(line.line, i, corner), view_min, view_max)
            .on = i == query;
    }
    ImGui::EndChild();
    return touched;
}

void CompareLens::draw_words(const Frame& frame, float outer) {
    const Selection s = frame.selection();
    const Hover& pointed = frame.drawing.pointed;
    const bool one_line = frame.first.one_line();
    if (one_line) {
        update(first_line_, frame.first, s, frame.query());
        update(second_line_, frame.second, s, frame.second_query());
    } else {
        update_asking(first_line_, frame.first);
        update_asking(second_line_, frame.second);
        update(first_read_, frame.first, s, frame.query());
        update(second_read_, frame.second, s, frame.second_query());
    }
    const Table table = words_table(frame);
    const present::Card card(frame.drawing,
                             {.key = "compare/words",
                              .title = table.title,
                              .table = [table] { return table; },
                              .is_vector = false},
                             outer);
    const float width = card.width();
    const bool pointing = pointed.query || pointed.second_query;
    for (const bool of_second : {false, true}) {
        const auto query = frame.query_of(of_second), key = !one_line   ? std::nullopt
                                                            : of_second ? pointed.second_key
                                                                        : pointed.key;
        const Touched touched =
            draw_line(of_second ? LineNames{"second", "second", "Words of the second sentence"}
                                : LineNames{"first", "first", "Words of the first sentence"},
                      of_second ? second_line_ : first_line_, frame.run(of_second).query_names(), query, key,
                      !pointing && query, width);
        // The hovered word is the query; its number is its weight on itself.
        if (touched.over) {
            frame.point_in(of_second, touched.over, std::nullopt);
            if (one_line)
                frame.drawing.now.cell = CellRef{Stage::weight, *touched.over, *touched.over, of_second};
        }
        if (!one_line) draw_read(frame, of_second, width);
        if (!touched.clicked) continue;
        if (of_second) {
            Selection chosen = s;
            chosen.counterpart = touched.over;
            if (!s.query) chosen.query = frame.pairing.first_of(*touched.over);
            frame.drawing.visit.perform(Select{chosen}, ui::gesture());
        } else {
            parts::choose_tokens(frame.drawing, s.query == touched.over ? std::nullopt : touched.over,
                                 std::nullopt);
        }
    }
}

// Draws the words that the query words attend to, if those are different words.
void CompareLens::draw_read(const Frame& frame, bool of_second, float width) {
    const auto query = frame.query_of(of_second);
    const Hover& pointed = frame.drawing.pointed;
    const Touched touched =
        draw_line(of_second ? LineNames{"second-reads", "reads", "Words that the second reads"}
                            : LineNames{"first-reads", "reads", "Words that the first reads"},
                  of_second ? second_read_ : first_read_, frame.run(of_second).key_names(), std::nullopt,
                  of_second ? pointed.second_key : pointed.key,
                  query && !(pointed.query || pointed.second_query), width);
    if (!touched.over || !query) return;
    frame.point_in(of_second, query, touched.over);
    frame.drawing.now.cell = CellRef{Stage::weight, *query, *touched.over, of_second};
    if (touched.clicked) present::pin(frame.drawing, *frame.drawing.now.cell);
}

// ---- Similarity -------------------------------------------------------------------------------------------

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
    const bool two_models =
        query_stack(frame.first).trace->model() != query_stack(frame.second).trace->model();
    present::Bars bars{
        .key = "compare/vector",
        .title = "Same word, different vector?",
        .notation =
            "Cosine of " + curly_quoted(frame.first_name(alike_.query)) + " and " +
            curly_quoted(frame.second_name(alike_.second_query)) +
            " in the residual stream, layer by layer." +
            (two_models ? " Models trained apart use directions of their own: only where one was made "
                          "from the other do vectors stay alike."
                        : ""),
        .value = "cosine",
        .bars = {},
        .scale = ui::diverging_scale(1),
        .cell = [](Index bar) { return CellRef{.stage = Stage::cosine, .row = bar}; },
        .tip =
            [this](Index bar) {
                return (bar == 0 ? "token and position: " : "after layer " + std::to_string(bar - 1) + ": ") +
                       arithmetic(alike_.residual[static_cast<std::size_t>(bar)]);
            }};
    for (std::size_t i = 0; i < alike_.residual.size(); ++i) {
        const double value = alike_.residual[i].value();
        bars.bars.push_back({i == 0 ? "embedding" : "layer " + std::to_string(i - 1),
                             static_cast<float>(value), written(value),
                             static_cast<Index>(i) == frame.selection().layer - alike_.layers.begin + 1});
    }
    present::bars(frame.drawing, bars, width);
}

void CompareLens::draw_heads(const Frame& frame, float width) {
    if (const auto clicked = present::sheet(frame.drawing, heads_sheet(frame.subject), width))
        parts::choose_head(frame.drawing, {alike_.layers.begin + clicked->first, clicked->second});
}

void CompareLens::draw_similarities(const Frame& frame, float width) {
    const auto second_query = frame.second_query();
    if (!second_query) {
        ui::section("Same word, different vector?");
        return ui::caption("This word has no counterpart: click a word of the second line.");
    }
    update_alike(frame, frame.query(), *second_query);
    draw_vectors(frame, width);
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
    if (width < ui::two_unequal_columns) {
        draw_maps(frame, width, 1e6f);
        return draw_similarities(frame, width);
    }
    const float left = std::floor((width - present::card_gap) * left_share);
    ui::column("alike", left, [&](float) { draw_similarities(frame, left); });
    ImGui::SameLine(0, present::card_gap);
    ui::column("maps", width - left - present::card_gap,
               [&](float w) { draw_maps(frame, w, window * map_share); });
}

}  // namespace attn::app
