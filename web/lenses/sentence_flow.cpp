// The tokens on one line, and arcs from each to those that it looks at.
#include <algorithm>
#include <cmath>
#include <map>

#include "lenses/sentence_view.hpp"
#include "widgets/arcs.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/token_line.hpp"

namespace attn::lenses {

namespace {

constexpr float arcs_height = ui::arc_most_height + 6;
constexpr std::size_t most_edges = 64;  // of a row that is not pointed at
constexpr std::size_t most_rows = 512;  // kept

struct Edge {
    Index key;
    float weight;
};

// The rows of one head, strongest edges first.
struct Rows {
    std::uint64_t version = 0;
    Index layer = 0, head = 0;
    std::map<Index, std::vector<Edge>> rows;
};
Rows known;

struct Chips {
    std::uint64_t version = 0;
    float font_size = 0;
    std::vector<std::string> ids;
    ui::TokenLine line;
};
Chips chips;
std::optional<Index> shown_query;  // the chosen one that was last scrolled to

void measure_chips(const SentenceView& view) {
    ui::Type face(ui::Face::regular, ui::size_body);
    if (chips.version == view.run.version && chips.font_size == ImGui::GetFontSize()) return;
    chips = {view.run.version, ImGui::GetFontSize(), {}, {}};
    for (const std::int32_t id : view.run.trace->ids()) chips.ids.push_back(std::to_string(id));
    chips.line = ui::token_line(view.run.pieces, chips.ids);
}

const std::vector<Edge>* row_of(SentenceView& view, Index query, bool compute) {
    if (const auto found = known.rows.find(query); found != known.rows.end()) return &found->second;
    if (!compute) return nullptr;
    const std::vector<float> weights = view.record().weights(view.selection().head, query);
    std::vector<Edge>& edges = known.rows[query];
    for (Index k = 0; k < view.tokens(); ++k)
        if (const float w = weights[static_cast<std::size_t>(k)]; w > 0) edges.push_back({k, w});
    std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
        return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
    });
    return &edges;
}

// How many of the row's edges make up that share of it.
std::size_t count_for(const std::vector<Edge>& edges, float mass) {
    double sum = 0;
    std::size_t count = 0;
    // Weights sum to 1 but for rounding.
    while (count < edges.size() && sum < static_cast<double>(mass) - 1e-6)
        sum += static_cast<double>(edges[count++].weight);
    return count;
}

void title(SentenceView& view, float width) {
    ui::section("Flow", true);
    ImGui::SameLine(0, 14);
    float percent = view.session.state().sentence.flow_mass * 100;
    ImGui::SetNextItemWidth(110);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    if (ImGui::SliderFloat("##mass", &percent, 0, 100, "", ImGuiSliderFlags_AlwaysClamp))
        view.session.perform(app::SetFlowMass{percent / 100}, ui::gesture());
    ImGui::PopStyleVar();
    ui::landmark_item("flow/mass");
    ImGui::SameLine(0, 8);
    {
        ui::Type mono(ui::Face::mono, ui::size_small);
        ImGui::AlignTextToFramePadding();
        ImGui::Text("%3.0f %%", static_cast<double>(percent));
    }
    ImGui::SameLine(0, 10);
    ui::Type small(ui::Face::regular, ui::size_small);
    ImGui::AlignTextToFramePadding();
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    ImGui::TextUnformatted(width > 520 ? "of what each word looks at, from the word to those before it"
                                       : "of each word");
    ImGui::PopStyleColor();
}

struct Line {
    ImVec2 corner;
    float chips_top;
    float clip_left, clip_right;
    Range visible;  // chips

    float x(Index token) const { return corner.x + chips.line.centre(token); }
};

Line line_at(ImVec2 corner) {
    const ImDrawList* list = ImGui::GetWindowDrawList();
    const float left = list->GetClipRectMin().x, right = list->GetClipRectMax().x;
    return {corner, corner.y + arcs_height, left, right,
            chips.line.within(left - corner.x, right - corner.x)};
}

// `most` is the weight drawn strongest.
void draw_edges(const Line& line, Index query, const std::vector<Edge>& edges, std::size_t count, float most,
                ImU32 colour, float strength) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    // The weakest first, so that the strong ones lie on top.
    for (std::size_t i = count; i-- > 0;) {
        const auto [key, weight] = edges[i];
        const float from = line.x(query), to = line.x(key);
        if (std::max(from, to) < line.clip_left || std::min(from, to) > line.clip_right) continue;
        const float alpha = strength * (0.12f + 0.88f * weight / most);
        ui::draw_arc(list, from, to, line.chips_top - 2, 1 + 4 * weight, ui::with_alpha(colour, alpha));
    }
}

void draw_arcs(SentenceView& view, const Line& line) {
    const app::Selection& s = view.selection();
    if (known.version != view.run.version || known.layer != s.layer || known.head != s.head)
        known = {view.run.version, s.layer, s.head, {}};
    if (known.rows.size() > most_rows) known.rows.clear();
    const float mass = view.session.state().sentence.flow_mass;
    const bool focused = view.pointed.query || s.query;
    struct Drawn {
        Index query;
        const std::vector<Edge>* edges;
        std::size_t count;
    };
    std::vector<Drawn> drawn;
    std::size_t total = 0;
    for (Index q = line.visible.begin; q < line.visible.end; ++q) {
        if (focused && q == view.query()) continue;
        const auto* edges = row_of(view, q, drawn.empty() || !view.deadline.passed());
        if (!edges) {
            view.more = true;
            continue;
        }
        drawn.push_back({q, edges, std::min(count_for(*edges, mass), most_edges)});
        total += drawn.back().count;
    }
    // The more arcs, the fainter each, so that a crowd of them stays air.
    const float crowd = std::min(1.0f, std::sqrt(100 / static_cast<float>(std::max<std::size_t>(total, 1))));
    for (const Drawn& row : drawn)
        draw_edges(line, row.query, *row.edges, row.count, 1, ui::theme().dim,
                   crowd * (focused ? 0.3f : 0.75f));
    if (!focused) return;
    const auto* edges = row_of(view, view.query(), true);
    if (edges->empty()) return;
    draw_edges(line, view.query(), *edges, count_for(*edges, mass), edges->front().weight, ui::theme().accent,
               1);
}

void draw_chips(SentenceView& view, const Line& line) {
    const ui::Theme& t = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool focused = view.pointed.query || view.selection().query;
    const auto* edges = focused ? row_of(view, view.query(), false) : nullptr;
    std::map<Index, float> looked_at;
    if (edges)
        for (std::size_t i = 0; i < count_for(*edges, view.session.state().sentence.flow_mass); ++i)
            looked_at[(*edges)[i].key] = (*edges)[i].weight;
    for (Index i = line.visible.begin; i < line.visible.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const ui::Chip chip = ui::chip_at(chips.line, i, {line.corner.x, line.chips_top});
        const auto [min, max] = chip;
        const bool chosen = focused && i == view.query();
        list->AddRectFilled(min, max, chosen ? t.accent_soft : t.raised, 5);
        if (const auto found = looked_at.find(i); found != looked_at.end())
            list->AddRectFilled(min, max, ui::with_alpha(t.accent, 0.08f + 0.4f * found->second), 5);
        if (i == view.selection().query) list->AddRect(min, max, t.accent, 5, 0, 1.5f);
        ui::draw_chip_text(chip, view.piece(i), chips.ids[at]);
        ui::landmark("token/" + std::to_string(i), min, max);
    }
}

}  // namespace

void sentence_flow(SentenceView& view, float width) {
    title(view, width);
    measure_chips(view);
    const float bar = chips.line.total > width ? ImGui::GetStyle().ScrollbarSize + 2 : 0;
    ImGui::BeginChild("flow", {width, arcs_height + ui::chip_height + bar}, 0,
                      ImGuiWindowFlags_HorizontalScrollbar);
    const Line line = line_at(ImGui::GetCursorScreenPos());
    ImGui::InvisibleButton("tokens", {std::max(chips.line.total, 1.0f), arcs_height + ui::chip_height});
    const ImGuiIO& io = ImGui::GetIO();
    if (ImGui::IsItemActive() && dragged()) ImGui::SetScrollX(ImGui::GetScrollX() - io.MouseDelta.x);
    if (ImGui::IsItemHovered()) {
        if (const auto token = chips.line.under(io.MousePos.x - line.corner.x)) {
            view.point(token, std::nullopt);
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
            if (ImGui::IsItemDeactivated() && !dragged()) {
                const bool chosen = view.selection().query == token;
                shown_query = token;
                view.select(chosen ? std::nullopt : token, std::nullopt);
            }
        }
    }
    if (view.selection().query != shown_query) {
        shown_query = view.selection().query;
        if (shown_query && *shown_query < view.tokens()) ui::bring_into_view(chips.line, *shown_query, width);
    }
    draw_arcs(view, line);
    draw_chips(view, line);
    ImGui::EndChild();
}

}  // namespace attn::lenses
