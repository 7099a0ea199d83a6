#include "frame/chart_tables.hpp"

#include <algorithm>
#include <utility>

#include "app/format.hpp"

namespace attn::app {

namespace {

Table table_of(const ui::ShownChart& chart, const std::vector<const ui::ChartCurve*>& curves) {
    const ui::ChartCurve& first = *curves.front();
    const Index rows = std::min(std::ssize(first.x), table_row_limit);
    Table table{chart.title + " (" + chart.y.title + ")", {}, {}, Matrix(rows, std::ssize(curves))};
    for (const ui::ChartCurve* curve : curves) table.columns.push_back(curve->name);
    for (Index r = 0; r < rows; ++r) {
        const auto i = static_cast<std::size_t>(r);
        const std::string at = shortest(static_cast<float>(first.x[i]));
        table.row_labels.push_back(first.bars && !first.notes.empty() ? at + " " + first.notes[i]
                                   : r == 0                           ? chart.x.title + " " + at
                                                                      : at);
        for (Index c = 0; c < table.values.cols; ++c)
            table.values.at(r, c) = curves[static_cast<std::size_t>(c)]->y[i];
    }
    return table;
}

}  // namespace

std::vector<Table> tables_of(const std::vector<ui::ShownChart>& charts) {
    std::vector<Table> all;
    for (const ui::ShownChart& chart : charts) {
        std::vector<std::vector<const ui::ChartCurve*>> groups;
        for (const ui::ChartCurve& curve : chart.curves) {
            if (curve.name.empty() || curve.x.empty() || curve.x.size() != curve.y.size()) continue;
            const auto same = std::ranges::find_if(groups, [&](const auto& group) {
                return group.front()->x == curve.x && !group.front()->apart && !curve.apart;
            });
            same == groups.end() ? groups.push_back({&curve}) : same->push_back(&curve);
        }
        for (const auto& group : groups) {
            all.push_back(table_of(chart, group));
            if (groups.size() > 1) all.back().title += ", " + group.front()->name;
        }
    }
    return all;
}

}  // namespace attn::app
