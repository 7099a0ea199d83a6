// Draws the edges of a flow, finds the one under the mouse, and tells the strongest to screen readers.
#include <algorithm>
#include <array>
#include <cmath>

#include "render/flow.hpp"
#include "widgets/flow_frame.hpp"
#include "widgets/flow_told.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"
#include "widgets/vector_picture.hpp"

namespace attn::ui {

namespace {

constexpr std::size_t few_edges = 4096;   // few enough to tell apart and hover over
constexpr std::size_t named_edges = 256;  // edges that get landmarks

}  // namespace

// Counts the edges in view, and the queries whose edges are not all known.
std::size_t FlowView::count_edges(const FlowPicture& picture, const Frame& frame, FlowTouch& touch) {
    std::size_t crowd = 0;
    for (const FlowSeries& series : picture.series) {
        const Flow& flow = series.flow->flow();
        for (Index q = frame.queries.begin; q < std::min(frame.queries.end, flow.queries()); ++q) {
            crowd += making_up(flow.edges({q, q + 1}), picture.mass).size();
            touch.cut += flow.limits().mass < 1 && flow.kept(q) < before_limit(picture.mass);
        }
    }
    return crowd;
}

void FlowView::draw_edges(const FlowPicture& picture, const Frame& frame, std::size_t crowd) const {
    const bool alone = picture.query || picture.key;
    std::vector<render::FlowCurves> curves;
    // Draws a part of all edges, which are contiguous in memory.
    const auto add = [&](std::uint64_t serial, std::span<const FlowEdge> all, std::span<const FlowEdge> part,
                         float most, float opacity, float faintest, ImU32 colour) {
        render::FlowCurves c;
        c.queries = {{&queries_, queries_.serial}, queries_.places.data(), std::ssize(queries_.places)};
        c.keys = {{&keys_, keys_.serial}, keys_.places.data(), std::ssize(keys_.places)};
        c.key = {this, serial};
        c.edges = std::as_bytes(all).data();
        c.known = std::ssize(all);
        c.first = part.data() - all.data();
        c.count = std::ssize(part);
        c.query_origin = frame.query_origin;
        c.key_origin = frame.key_origin;
        c.unit = frame.zoom;
        c.columns = frame.columns();
        c.rise = frame.shape.rise;
        c.loop = frame.shape.loop;
        c.limit = before_limit(picture.mass);
        c.most = most;
        c.opacity = opacity;
        c.faintest = edge_strength(0, 1) * faintest;
        c.colour = colour;
        if (c.count > 0) curves.push_back(c);
    };

    // The more edges there are, the fainter each is, weak ones most of all, so that a dense flow stays
    // readable.
    const float air = std::min(1.0f, std::sqrt(100 / static_cast<float>(std::max(crowd, std::size_t{1}))));
    for (std::size_t i = picture.series.size(); i-- > 0;) {
        if (alone && crowd > few_edges) break;
        const FlowSeries& series = picture.series[i];
        const Flow& flow = series.flow->flow();
        const auto part = [&](Index begin, Index end) {
            add(series.flow->serial(), flow.edges(), flow.edges({begin, std::max(begin, end)}), 1,
                std::sqrt(air) * (alone ? 0.3f : 0.75f), air,
                picture.series.size() == 1 ? theme().dim : series.colour);
        };
        // The row that is drawn separately is left out.
        const Index own =
            std::clamp(picture.query.value_or(frame.queries.end), frame.queries.begin, frame.queries.end);
        part(frame.queries.begin, own);
        part(std::min(own + 1, frame.queries.end), frame.queries.end);
    }
    float most = 0;
    for (const FlowSeries& series : picture.series)
        if (const EdgeList* own = own_edges(picture, series); own && !own->edges.empty())
            most = std::max(most, own->edges.back().weight);
    for (std::size_t i = picture.series.size(); i-- > 0;)
        if (const EdgeList* own = own_edges(picture, picture.series[i]))
            add(own->serial, own->edges, own->edges, most, 1, 1, picture.series[i].colour);
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (!VectorPicture::of(list)) return render::draw(list, curves);
    for (const render::FlowCurves& each : curves) draw_lines(list, frame, each);
}

// Draws the edges as the render pass does: shaders/flow.vert.
void FlowView::draw_lines(ImDrawList* list, const Frame& frame, const render::FlowCurves& curves) const {
    const std::span edges(reinterpret_cast<const FlowEdge*>(curves.edges),
                          static_cast<std::size_t>(curves.known));
    for (const FlowEdge& edge :
         edges.subspan(static_cast<std::size_t>(curves.first), static_cast<std::size_t>(curves.count))) {
        if (edge.before >= curves.limit) continue;
        const float query = queries_.places[edge.query], key = keys_.places[edge.key];
        std::array<ImVec2, edge_segments + 1> line;
        for (std::size_t i = 0; i < line.size(); ++i)
            line[i] = frame.point(query, key, static_cast<float>(i) / edge_segments);
        const float strength = curves.faintest + (1 - curves.faintest) * edge.weight / curves.most;
        list->AddPolyline(line.data(), static_cast<int>(line.size()),
                          with_alpha(curves.colour, std::min(curves.opacity * strength, 1.0f)), 0,
                          edge_width(edge.weight, frame.shape.is_loop(query, key)));
    }
}

// Finds the edge under the mouse and emphasises it.
void FlowView::find_edge(const FlowPicture& picture, const Frame& frame, std::size_t crowd,
                         FlowTouch& touch) const {
    const ImVec2 mouse = ImGui::GetMousePos();
    const bool looks = ImGui::IsItemHovered() && !touch.query && !touch.key && !touch.heard;
    std::size_t named = 0;
    float nearest = edge_reach;
    const auto look = [&](std::size_t series, const FlowEdge& edge) {
        if (edge.before >= before_limit(picture.mass)) return;
        const float query = queries_.places[edge.query], key = keys_.places[edge.key];
        if (named++ < named_edges) {
            const ImVec2 at = frame.point(query, key, 0.5f);
            if (at.x > frame.min.x && at.x < frame.max.x && at.y > frame.min.y && at.y < frame.max.y)
                landmark("flow/edge/" + std::to_string(edge.query) + "/" + std::to_string(edge.key),
                         {at.x - 2, at.y - 2}, {at.x + 2, at.y + 2});
        }
        if (!looks) return;
        const float distance =
            frame.shape.distance(query * frame.zoom, key * frame.zoom,
                                 {mouse.x - frame.query_origin.x, mouse.y - frame.query_origin.y});
        if (distance >= nearest) return;
        nearest = distance;
        touch.edge = {series, edge};
    };
    for (std::size_t i = 0; i < picture.series.size(); ++i)
        if (const EdgeList* own = own_edges(picture, picture.series[i]))
            for (const FlowEdge& edge : own->edges) look(i, edge);
    if (crowd <= few_edges && !touch.edge)
        for (std::size_t i = 0; i < picture.series.size(); ++i)
            for (const FlowEdge& edge : picture.series[i].flow->flow().edges(frame.queries)) look(i, edge);
    if (!touch.edge) return;
    const FlowEdge& edge = touch.edge->edge;
    std::vector<ImVec2> line;
    for (int i = 0; i <= edge_segments; ++i)
        line.push_back(frame.point(queries_.places[edge.query], keys_.places[edge.key],
                                   static_cast<float>(i) / edge_segments));
    ImGui::GetWindowDrawList()->AddPolyline(
        line.data(), static_cast<int>(line.size()), theme().text, 0,
        edge_width(edge.weight, frame.shape.is_loop(line.front().x, line.back().x)));
}

void FlowView::hear_edges(std::span<const FlowTouch::Edge> told, FlowTouch& touch) {
    const auto asked = asked_place("flow/strongest/");
    if (!asked || asked->col >= std::ssize(told)) return;
    touch.query = touch.key = std::nullopt;
    touch.edge = told[static_cast<std::size_t>(asked->col)];
    touch.clicked = asked->pressed;
    touch.heard = true;
}

void FlowView::tell_edges(const FlowPicture& picture, const Frame& frame,
                          std::span<const FlowTouch::Edge> told) const {
    constexpr float reach = 8;
    const SemanticGroup group(Role::listbox, "flow/strongest", "Strongest edges");
    for (std::size_t i = 0; i < told.size(); ++i) {
        const FlowEdge& edge = told[i].edge;
        const ImVec2 at = frame.point(queries_.places[edge.query], keys_.places[edge.key], 0.5f);
        const ImVec2 inside{std::clamp(at.x, frame.min.x, std::max(frame.min.x, frame.max.x)),
                            std::clamp(at.y, frame.min.y, std::max(frame.min.y, frame.max.y))};
        semantic_place(Role::option, "flow/strongest/" + std::to_string(i), ui::told(picture, told[i]),
                       {inside.x - reach, inside.y - reach}, {inside.x + reach, inside.y + reach})
            .on = false;
    }
}

}  // namespace attn::ui
