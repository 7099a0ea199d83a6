// Two sentences through one model: a word in either, how alike its vectors and its attention are, layer by layer and
// head by head, and the chosen head's maps.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "app/twins.hpp"
#include "lenses/columns.hpp"
#include "lenses/compare_view.hpp"
#include "widgets/bars.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/token_line.hpp"

namespace attn::lenses {

namespace {

constexpr float compare_columns_from = 760, tag_width = 54;
constexpr Index most_tokens = 1024;  // whose maps are there as a whole

struct Paired {
    std::uint64_t first_version = 0, second_version = 0;
    Alignment alignment;
};
Paired paired;
PairPointed pair_pointed_before;  // in the last frame

const Alignment& alignment_of(const SentenceView& view, const app::SentenceRun& second) {
    if (paired.first_version != view.run.version || paired.second_version != second.version)
        paired = {view.run.version, second.version, Alignment(view.run.trace->ids(), second.trace->ids())};
    return paired.alignment;
}

std::string written(double value) { return std::isnan(value) ? "–" : app::fixed(value, 3); }

std::string arithmetic(const Cosine& c) {
    return "a · b / (‖a‖ ‖b‖) = " + app::fixed(c.dot, 3) + " / (" + app::fixed(c.first_norm, 3) + " × " +
           app::fixed(c.second_norm, 3) + ") = " + app::fixed(c.value(), 6);
}

// ---- Controls ----------------------------------------------------------------------------------------------------

void controls(SentenceView& view) {
    const app::Comparison& comparison = *view.session.state().sentence.compared;
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {10, 4});
    static constexpr std::array<const char*, 3> names{"side by side", "blink", "difference"};
    if (const auto chosen = ui::choice("compare/view", names, static_cast<int>(comparison.view)))
        view.session.perform(
            app::Compare{app::Comparison{comparison.text, static_cast<app::ComparisonView>(*chosen)}});
    for (const app::Pair& pair : app::pairs()) {
        ui::next_control(ui::text_size(pair.name).x + 20);
        if (ui::button(("compare/pair/" + std::string(pair.key)).c_str(), std::string(pair.name).c_str()))
            view.session.compare(pair);
    }
    ui::next_control(120);
    if (ui::button("compare/off", "One sentence")) view.session.perform(app::Compare{std::nullopt});
    ImGui::PopStyleVar();
}

// ---- The two lines of words --------------------------------------------------------------------------------------

struct Line {
    std::uint64_t version = 0;
    Index layer = -1, head = -1, query = -1;
    std::vector<float> weights;
    std::vector<std::string> numbers;
    ui::TokenLine line;
    std::optional<Index> shown;  // the chosen one that was last scrolled to
};
Line first_line, second_line;

void update(Line& line, const app::SentenceRun& run, const Record& record, Index head, Index layer,
            std::optional<Index> query) {
    const Index wanted = query.value_or(-1);
    if (line.version == run.version && line.layer == layer && line.head == head && line.query == wanted)
        return;
    const auto shown = line.version == run.version ? line.shown : std::nullopt;
    line = {run.version, layer, head, wanted, {}, {}, {}, shown};
    const Index n = run.trace->tokens();
    line.weights.assign(static_cast<std::size_t>(n), 0);
    line.numbers.assign(static_cast<std::size_t>(n), "");
    if (query) {
        line.weights = record.weights(head, *query);
        for (Index k = 0; k < n; ++k)
            if (record.spec().mask.allows(head, *query, k))
                line.numbers[static_cast<std::size_t>(k)] =
                    app::rounded(static_cast<double>(line.weights[static_cast<std::size_t>(k)]), 2);
    }
    // As wide as with any number, so that nothing moves under the cursor.
    line.line = ui::token_line(run.pieces, std::vector<std::string>(static_cast<std::size_t>(n), "0.00"));
}

struct Touched {
    std::optional<Index> over;
    bool clicked = false;
};

Touched draw_line(const char* name, Line& line, const app::SentenceRun& run, std::optional<Index> query,
                  std::optional<Index> key, bool chosen, float width) {
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
    if (ImGui::IsItemActive() && dragged()) ImGui::SetScrollX(ImGui::GetScrollX() - io.MouseDelta.x);
    if (ImGui::IsItemHovered()) {
        touched.over = line.line.under(io.MousePos.x - corner.x);
        touched.clicked = touched.over && ImGui::IsItemDeactivated() && !dragged();
        if (touched.over) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    }
    if (chosen && query != line.shown) {
        line.shown = query;
        ui::bring_into_view(line.line, *query, room);
    }
    ImDrawList* list = ImGui::GetWindowDrawList();
    const Range shown =
        line.line.within(list->GetClipRectMin().x - corner.x, list->GetClipRectMax().x - corner.x);
    for (Index i = shown.begin; i < shown.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const ui::Chip chip = ui::chip_at(line.line, i, corner);
        list->AddRectFilled(chip.min, chip.max, t.raised, 5);
        if (const float w = line.weights[at]; w > 0.005f)
            list->AddRectFilled(chip.min, chip.max, ui::with_alpha(t.accent, 0.08f + 0.5f * w), 5);
        if (i == query) list->AddRect(chip.min, chip.max, t.accent, 5, 0, chosen ? 2.0f : 1.5f);
        if (i == key) list->AddRect(chip.min, chip.max, t.dim, 5, 0, 1.5f);
        ui::draw_chip_text(chip, run.pieces[at], line.numbers[at], line.weights[at] > 0.25f);
        ui::landmark("compare/" + std::string(name) + "/" + std::to_string(i), chip.min, chip.max);
    }
    ImGui::EndChild();
    return touched;
}

void words(CompareView& view, float width) {
    const app::Selection& s = view.selection();
    update(first_line, view.first.run, view.first.record(), s.head, s.layer, view.query());
    update(second_line, view.second, view.second_record(), s.head, s.layer, view.second_query());
    const bool pointing = view.pointed.query || view.pointed.second_query;
    const Touched first =
        draw_line("first", first_line, view.first.run, view.query(), view.pointed.key, !pointing, width);
    if (first.over) view.point(first.over, std::nullopt);
    if (first.clicked) view.first.select(s.query == first.over ? std::nullopt : first.over, std::nullopt);
    const Touched second = draw_line("second", second_line, view.second, view.second_query(),
                                     view.pointed.second_key, !pointing && view.second_query(), width);
    if (second.over) view.point_second(second.over, std::nullopt);
    if (second.clicked) {
        app::Selection selection = s;
        selection.counterpart = second.over;
        if (!selection.query) selection.query = view.first_of(*second.over);
        view.session().perform(app::Select{selection}, ui::gesture());
    }
}

// ---- How alike ---------------------------------------------------------------------------------------------------

struct Alike {
    std::uint64_t first_version = 0, second_version = 0;
    Index query = -1, second_query = -1;
    std::vector<Cosine> residual;  // [layers + 1]
    std::vector<Cosine> rows;      // [layers, heads]
};
Alike alike;

void update(const CompareView& view, Index query, Index second_query) {
    if (alike.first_version == view.first.run.version && alike.second_version == view.second.version &&
        alike.query == query && alike.second_query == second_query)
        return;
    const Trace &a = *view.first.run.trace, &b = *view.second.trace;
    alike = {view.first.run.version, view.second.version, query, second_query, {}, {}};
    alike.residual = residual_cosines(a, query, b, second_query);
    for (std::size_t layer = 0; layer < a.layers().size(); ++layer) {
        const Record &of_a = a.layers()[layer].attention, &of_b = b.layers()[layer].attention;
        for (Index head = 0; head < of_a.heads(); ++head)
            alike.rows.push_back(
                row_cosine(of_a.weights(head, query), of_b.weights(head, second_query), view.alignment));
    }
}

void vectors(const CompareView& view, float width) {
    ui::section("Same word, other vector?");
    ui::caption(("Cosine of " + quoted(view.first.piece(alike.query)) + " and " +
                 quoted(view.second_piece(alike.second_query)) + " in the residual stream, layer by layer.")
                    .c_str());
    std::vector<ui::Bar> bars;
    for (std::size_t i = 0; i < alike.residual.size(); ++i) {
        const double value = alike.residual[i].value();
        bars.push_back({i == 0 ? "embedding" : "layer " + std::to_string(i - 1), static_cast<float>(value),
                        written(value), static_cast<Index>(i) == view.selection().layer + 1, false});
    }
    if (const auto over = ui::bar_list("compare/vector", width, bars, 1, ui::sequential_scale(1)))
        ui::tooltip(
            ((*over == 0 ? "token and position: " : "after layer " + std::to_string(*over - 1) + ": ") +
             arithmetic(alike.residual[static_cast<std::size_t>(*over)]))
                .c_str());
}

// A cell for every head of every layer.
void heads(CompareView& view, float width) {
    ui::section("Same gaze?");
    ui::caption("Cosine of the word’s two rows of attention, head by head. Click one to see its maps.");
    const Index layers = std::ssize(view.first.run.trace->layers()), count = view.first.record().heads();
    constexpr float label = 22, height = 24, top = 18;
    const float cell = std::min((width - label) / static_cast<float>(count), 60.0f);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 at{corner.x + label, corner.y + top};
    ImGui::InvisibleButton(
        "heads", {label + cell * static_cast<float>(count), top + height * static_cast<float>(layers)});
    const bool hovered = ImGui::IsItemHovered();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::ColourScale scale = ui::sequential_scale(1);
    ui::Type mono(ui::Face::mono, 12);
    const auto centred = [&](float x, float y, ImU32 ink, const std::string& text) {
        const ImVec2 size = ui::text_size(text);
        ui::draw_text(list, {x - size.x / 2, y - size.y / 2}, ink, text);
    };
    for (Index head = 0; head < count; ++head)
        centred(at.x + (static_cast<float>(head) + 0.5f) * cell, corner.y + top / 2 - 2,
                head == view.selection().head ? ui::theme().accent : ui::theme().dim, std::to_string(head));
    for (Index layer = 0; layer < layers; ++layer) {
        const float y = at.y + static_cast<float>(layer) * height;
        centred(corner.x + label / 2 - 3, y + height / 2,
                layer == view.selection().layer ? ui::theme().accent : ui::theme().dim,
                std::to_string(layer));
        for (Index head = 0; head < count; ++head) {
            const Cosine& c = alike.rows[static_cast<std::size_t>(layer * count + head)];
            const float value = static_cast<float>(c.value());
            const ImVec2 min{at.x + static_cast<float>(head) * cell, y},
                max{min.x + cell - 1, min.y + height - 1};
            list->AddRectFilled(min, max, scale.colour(value), 3);
            const std::string text = app::rounded(c.value(), 2);
            if (ui::text_size(text).x <= cell - 3)
                centred((min.x + max.x) / 2, (min.y + max.y) / 2, ui::ink_on(scale.colour(value)), text);
            if (layer == view.selection().layer && head == view.selection().head)
                list->AddRect({min.x - 1, min.y - 1}, {max.x + 1, max.y + 1}, ui::theme().accent, 4, 0, 2);
            ui::landmark("compare/head/" + std::to_string(layer) + "/" + std::to_string(head), min, max);
            if (!hovered || !ImGui::IsMouseHoveringRect(min, max)) continue;
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
            ui::tooltip(
                ("layer " + std::to_string(layer) + " · head " + std::to_string(head) + ": " + arithmetic(c))
                    .c_str());
            if (clicked()) view.first.select_head(layer, head);
        }
    }
}

void similarities(CompareView& view, float width) {
    const auto second_query = view.second_query();
    if (!second_query) {
        ui::section("Same word, other vector?");
        return ui::caption("This word has no counterpart: click a word of the second sentence.");
    }
    update(view, view.query(), *second_query);
    vectors(view, width);
    ImGui::Dummy({0, 8});
    heads(view, width);
}

void layout(CompareView& view) {
    const float width = ImGui::GetContentRegionAvail().x;
    const float window = std::max(ImGui::GetWindowHeight(), 480.0f);
    words(view, width);
    ImGui::Dummy({0, 8});
    if (width < compare_columns_from) {
        compare_maps(view, width, 1e6f);
        ImGui::Dummy({0, 8});
        return similarities(view, width);
    }
    const float left = std::floor((width - column_gap) * 0.33f);
    ImGui::BeginGroup();
    ImGui::BeginChild("alike", {left, 0}, ImGuiChildFlags_AutoResizeY, ImGuiWindowFlags_NoScrollbar);
    similarities(view, left);
    ImGui::EndChild();
    ImGui::EndGroup();
    ImGui::SameLine(0, column_gap);
    ImGui::BeginChild("maps", {width - left - column_gap, 0}, ImGuiChildFlags_AutoResizeY,
                      ImGuiWindowFlags_NoScrollbar);
    ui::section("Weights");
    compare_maps(view, width - left - column_gap, window * 0.7f);
    ImGui::EndChild();
}

}  // namespace

Index CompareView::query() const {
    if (pair_pointed_before.query) return *pair_pointed_before.query;
    return selection().query.value_or(first.tokens() - 1);
}

std::optional<Index> CompareView::second_query() const {
    if (pair_pointed_before.second_query) return pair_pointed_before.second_query;
    if (pair_pointed_before.query)
        if (const auto counterpart = second_of(*pair_pointed_before.query)) return counterpart;
    const auto& chosen = selection().counterpart;
    if (chosen && *chosen < std::ssize(second.pieces)) return chosen;
    return pair_pointed_before.query ? std::nullopt : second_of(query());
}

void CompareView::point(std::optional<Index> query, std::optional<Index> key) {
    now = {query, key, query ? second_of(*query) : std::nullopt, key ? second_of(*key) : std::nullopt};
}

void CompareView::point_second(std::optional<Index> query, std::optional<Index> key) {
    now = {query ? first_of(*query) : std::nullopt, key ? first_of(*key) : std::nullopt, query, key};
}

namespace {

// The only place of that token.
std::optional<Index> only(std::span<const std::int32_t> ids, std::int32_t id) {
    return std::ranges::count(ids, id) == 1 ? std::optional<Index>(std::ranges::find(ids, id) - ids.begin())
                                            : std::nullopt;
}

}  // namespace

std::optional<Index> CompareView::second_of(Index token) const {
    if (const auto aligned = alignment.second_of(token)) return aligned;
    return only(second.trace->ids(), first.run.trace->ids()[static_cast<std::size_t>(token)]);
}

std::optional<Index> CompareView::first_of(Index token) const {
    if (const auto aligned = alignment.first_of(token)) return aligned;
    return only(first.run.trace->ids(), second.trace->ids()[static_cast<std::size_t>(token)]);
}

void sentence_compare(SentenceView& view) {
    controls(view);
    const app::SentenceRun* second = view.session.compared();
    if (!second) {
        ui::caption("Type a second sentence in the box above.");
        return ui::landmark_item("compare/type");
    }
    if (std::max(view.tokens(), second->trace->tokens()) > most_tokens)
        return ui::caption(("Texts of up to " + std::to_string(most_tokens) +
                            " tokens can be compared: shorten the longer one.")
                               .c_str());
    const Index n = view.tokens(), n_second = second->trace->tokens();
    CompareView both{view,
                     *second,
                     alignment_of(view, *second),
                     *view.session.state().sentence.compared,
                     {within(pair_pointed_before.query, n), within(pair_pointed_before.key, n),
                      within(pair_pointed_before.second_query, n_second),
                      within(pair_pointed_before.second_key, n_second)},
                     {}};
    layout(both);
    pair_pointed_before = both.now;
}

}  // namespace attn::lenses
