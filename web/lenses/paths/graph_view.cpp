// Draws the kept edges as a graph: columns are tokens, rows are embeddings, heads and MLPs, from below up to
// the logit.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "analysis/attribution/path_grid.hpp"
#include "app/format.hpp"
#include "lenses/paths/paths.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/page_field.hpp"

namespace attn::app::paths {

namespace {

constexpr Index most_drawn = 96, most_merged = 768;  // edges
constexpr float names_width = 74, least_column = 44, most_box = 112, box_gap = 4, row_gap = 26,
                widest_line = 6, most_bow = 40,
                bow_room = 28;  // edges within a column bow to its right

float box_height() { return ui::by_touch() ? 38.0f : 22.0f; }

struct Box {
    PathGrid::Place at;
    ImVec2 min = {}, max = {};
    ImVec2 top() const { return {(min.x + max.x) / 2, min.y}; }
    ImVec2 bottom() const { return {(min.x + max.x) / 2, max.y}; }
    ImVec2 side() const { return {max.x, (min.y + max.y) / 2}; }
};

struct Drawn {
    PathSubgraph graph;
    std::vector<Box> boxes = {};   // in the order of their nodes
    std::vector<float> rows = {};  // the upper edge of each row's lowest boxes
    ImVec2 corner = {};            // the upper left one
    float bottom = 0;

    const Box& box(Index node) const {
        return *std::ranges::lower_bound(boxes, node, {}, [](const Box& each) { return each.at.node; });
    }
};

// Places the graph, or as much of it as has room, at the cursor.
Drawn place(Model& model, float width) {
    const PathMerge merge = model.of.state.merge;
    const float room = std::max(width - names_width - bow_room, least_column);
    const auto columns = static_cast<Index>(room / least_column),
               edges = std::min(model.taken, merge == PathMerge::none ? most_drawn : most_merged);
    Drawn drawn{.graph = model.drawn.of(
                    {static_cast<Index>(merge), edges, columns},
                    [&] { return fitting_subgraph(*model.graph, edges, merge, columns, most_drawn); }),
                .corner = ImGui::GetCursorScreenPos()};
    const PathGrid grid = grid_of(model.layout(), drawn.graph, merge);
    const float pitch = room / static_cast<float>(grid.columns), wide = std::min(pitch - box_gap, most_box),
                high = box_height();
    float height = 0;
    for (const Index levels : grid.heights) {
        drawn.rows.push_back(-height - high);
        height += static_cast<float>(levels) * (high + box_gap) - box_gap + row_gap;
    }
    drawn.bottom = drawn.corner.y + height - row_gap;
    for (float& row : drawn.rows) row += drawn.bottom;
    for (const PathGrid::Place& at : grid.places) {
        const float x = drawn.corner.x + names_width + pitch * static_cast<float>(at.column) +
                        (pitch - wide) / 2,
                    y = drawn.rows[static_cast<std::size_t>(at.row)] -
                        static_cast<float>(at.level) * (high + box_gap);
        drawn.boxes.push_back({at, {x, y}, {x + wide, y + high}});
    }
    return drawn;
}

void draw_edges(const Drawn& drawn, const std::vector<bool>& lit) {
    double most = 0;
    for (const PathEdge& edge : drawn.graph.edges) most = std::max(most, std::abs(edge.effect));
    for (const PathEdge& edge : drawn.graph.edges) {
        const auto share = static_cast<float>(std::abs(edge.effect) / most);
        const bool strong = lit.empty() || lit[static_cast<std::size_t>(edge.to)];
        const ImU32 colour = ui::with_alpha(ui::diverging(edge.effect > 0 ? 0.8f : -0.8f),
                                            strong ? 0.35f + 0.65f * share : 0.08f);
        const float thick = 1 + (widest_line - 1) * share;
        const Box &source = drawn.box(edge.from), &reader = drawn.box(edge.to);
        ImVec2 from = source.top(), to = reader.bottom(), turn{0, (from.y - to.y) / 2}, back = turn;
        if (std::abs(from.x - to.x) < 1 && from.y - to.y > row_gap + 1) {
            from = source.side();
            to = reader.side();
            turn = {std::min(most_bow, (from.y - to.y) / 5), 0};
            back = {-turn.x, 0};
        }
        ImGui::GetWindowDrawList()->AddBezierCubic(from, {from.x + turn.x, from.y - turn.y},
                                                   {to.x - back.x, to.y + back.y}, to, colour, thick);
    }
}

void draw_box(const Model& model, const Drawing& drawing, Subject& subject, const Box& box, bool lit) {
    const PathMerge merge = model.of.state.merge;
    const PathNode node = model.layout().node(box.at.node);
    const CellRef cell = model.cell_of(box.at.node);
    const NamedHeads* named = merge == PathMerge::heads ? nullptr : subject.named_heads();
    const auto measured =
        named && node.kind == PathNode::Kind::head ? named->role({node.number, node.head}) : std::nullopt;
    const std::string key = "paths/graph/" + std::to_string(box.at.node),
                      role = measured ? info(*measured).name : "",
                      name = node_name(model, subject, box.at.node, merge),
                      effect = signed_number(model.effect(box.at.node));
    ImGui::SetCursorScreenPos(box.min);
    const bool pressed = ImGui::InvisibleButton(key.c_str(), {box.max.x - box.min.x, box.max.y - box.min.y},
                                                ImGuiButtonFlags_EnableNav);
    ui::landmark_item(key);
    ui::semantic_item(ui::Role::option, key, name).value = effect;
    if (ImGui::IsItemHovered() || ImGui::IsItemFocused()) {
        drawing.now.cell = cell;
        ui::tooltip_at(
            box.min, box.max,
            (name + (role.empty() ? "" : " (" + role + ")") + ": " + effect + " in all ways").c_str());
    }
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& theme = ui::theme();
    const bool chosen = drawing.state().pin == cell;
    list->AddRectFilled(box.min, box.max, theme.raised, 4);
    list->AddRect(box.min, box.max, chosen ? theme.accent : theme.border, 4, 0, chosen ? 2.0f : 1.0f);
    const ui::Type small(ui::Face::regular, ui::size_small);
    ui::draw_text_within(list, {box.min.x + 5, (box.min.y + box.max.y - ui::size_small) / 2 - 2},
                         box.max.x - box.min.x - 8, lit ? theme.text : theme.dim,
                         node.kind == PathNode::Kind::target
                             ? model.target_name(subject)
                             : brief_name(subject, node, merge) + (role.empty() ? "" : " " + role));
    if (!pressed) return;
    present::pin(drawing, cell);
    if (const auto head = model.head_at(box.at.node)) drawing.visit.perform(Select{*head}, ui::gesture());
}

// Offers to go on from the pinned head: to why it attends to its strongest key, and to its weights. Returns
// the lens to open; empty: none.
std::string_view draw_ways_on(const Model& model, const Drawing& drawing) {
    const auto& pin = drawing.state().pin;
    const bool is_head = pin && pin->is(cells::node) && pin->own()->at[0] < model.layout().nodes() &&
                         model.head_at(pin->own()->at[0]);
    const Status possible = is_head ? ok() : Status(Error{"Click a head in the graph first."});
    const bool asks_why = ui::button("paths/why", "Why the head looks there", possible);
    const char* const weights = "The head’s weights";
    if (ui::next_button(weights) && ui::button("paths/weights", weights, possible))
        return usual_lens(drawing.state());
    return asks_why ? lens_of_scores() : "";
}

// Names rows at the left, and below each column without a word at its foot its token.
void draw_names(const Model& model, Subject& subject, const Drawn& drawn) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Type small(ui::Face::regular, ui::size_small);
    const ImU32 ink = ui::theme().dim;
    std::set<double> columns;
    Index row = -1;
    for (const Box& box : drawn.boxes) {
        const PathNode node = model.layout().node(box.at.node);
        const bool is_word = node.kind == PathNode::Kind::embedding;
        if (std::exchange(row, box.at.row) != box.at.row)
            ui::draw_text_within(list, {drawn.corner.x, drawn.rows[static_cast<std::size_t>(row)] + 3},
                                 names_width - 6, ink,
                                 is_word ? "embedding" : brief_name(subject, node, PathMerge::heads));
        if (columns.insert(box.at.column).second && !is_word && model.of.state.merge != PathMerge::tokens)
            ui::draw_text_within(list, {box.min.x + 5, drawn.bottom + box_gap}, box.max.x - box.min.x - 5,
                                 ink, word_of(subject, node));
    }
}

}  // namespace

std::string_view draw_graph(Model& model, const Drawing& drawing, Subject& subject, float width) {
    const present::Card card(drawing,
                             {.key = "paths/graph",
                              .title = "The paths to " + model.target_name(subject),
                              .notation = "blue raises it, orange lowers it",
                              .table = [&] { return edges_table(model, subject); },
                              .is_listed = false},
                             width);
    const Drawn drawn = place(model, card.width());
    std::vector<bool> lit;
    const auto& looked = drawing.pointed.cell ? drawing.pointed.cell : drawing.state().pin;
    for (const Box& box : drawn.boxes)
        if (looked == model.cell_of(box.at.node)) lit = feeding(model.layout(), drawn.graph, box.at.node);
    draw_edges(drawn, lit);
    draw_names(model, subject, drawn);
    {
        const ui::SemanticGroup group(ui::Role::listbox, "paths/nodes", "Nodes of the graph");
        for (const Box& box : drawn.boxes)
            draw_box(model, drawing, subject, box, lit.empty() || lit[static_cast<std::size_t>(box.at.node)]);
    }
    ImGui::SetCursorScreenPos(drawn.corner);
    ImGui::Dummy({card.width(), drawn.bottom - drawn.corner.y + box_gap + ui::size_small + box_gap});
    const Index kept = std::ssize(model.kept.edges), shown = std::ssize(model.shown.edges),
                here = std::ssize(drawn.graph.edges);
    const double constant = model.graph->constant(model.layout().target());
    std::string text = many(kept, "edge") + " on paths, of the " + std::to_string(model.taken) +
                       " strongest: the fewest found through which " + percent(model.of.state.share) +
                       " of the logit flows with all else held, its constant part of " +
                       signed_number(constant) + " aside.";
    if (shown < kept) text += " Merged, they are " + std::to_string(shown) + ".";
    if (here < shown) text += " Drawn are " + std::to_string(here) + ", which have room.";
    ui::caption(text.c_str());
    ui::landmark_item("paths/drawn");
    return draw_ways_on(model, drawing);
}

}  // namespace attn::app::paths
