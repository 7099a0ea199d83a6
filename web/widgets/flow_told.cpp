#include "widgets/flow_told.hpp"

#include <algorithm>
#include <string_view>

#include "app/format.hpp"

namespace attn::ui {

namespace {

constexpr std::size_t most_told = 24;
constexpr std::size_t most_compared = 4096;  // compared in every frame

std::string word(std::span<const std::string> names, std::uint32_t i) {
    constexpr std::string_view blank = "·";  // how tokens show a leading blank
    const std::string name = app::on_one_line(names[i]);
    std::string_view rest = name;
    if (rest.starts_with(blank)) rest.remove_prefix(blank.size());
    const auto begin = rest.find_first_not_of(' ');
    return begin == std::string_view::npos ? app::curly_quoted(name) : std::string(rest.substr(begin));
}

}  // namespace

const EdgeList* own_edges(const FlowPicture& picture, const FlowSeries& series) {
    if (picture.query) return &series.flow->from(*picture.query);
    return picture.key ? &series.flow->into(*picture.key) : nullptr;
}

std::vector<FlowTouch::Edge> told_edges(const FlowPicture& picture, Range queries) {
    std::vector<FlowTouch::Edge> edges;
    for (std::size_t i = 0; i < picture.series.size(); ++i) {
        const FlowSeries& series = picture.series[i];
        const EdgeList* own = own_edges(picture, series);
        const auto all = own ? std::span<const FlowEdge>(own->edges) : series.flow->flow().edges(queries);
        if (!own && all.size() > most_compared) continue;
        for (const FlowEdge& edge : all)
            if (edge.before < before_limit(picture.mass)) edges.push_back({i, edge});
    }
    const auto some = edges.begin() + static_cast<std::ptrdiff_t>(std::min(edges.size(), most_told));
    std::ranges::partial_sort(edges, some, [](const FlowTouch::Edge& a, const FlowTouch::Edge& b) {
        if (a.edge.weight != b.edge.weight) return a.edge.weight > b.edge.weight;
        if (a.series != b.series) return a.series < b.series;
        return a.edge.query != b.edge.query ? a.edge.query < b.edge.query : a.edge.key < b.edge.key;
    });
    edges.erase(some, edges.end());
    return edges;
}

std::string told(const FlowPicture& picture, const FlowTouch::Edge& edge) {
    const std::string& head = picture.series[edge.series].name;
    return word(picture.queries, edge.edge.query) + " → " + word(picture.keys, edge.edge.key) + ", " +
           app::fixed(static_cast<double>(edge.edge.weight), 2) + (head.empty() ? "" : ", " + head);
}

}  // namespace attn::ui
