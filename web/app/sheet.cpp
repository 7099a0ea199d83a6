#include "app/sheet.hpp"

#include <algorithm>
#include <utility>

#include "app/format.hpp"

namespace attn::app {

std::vector<std::string> numbered_labels(Index count, const std::string& before) {
    std::vector<std::string> labels;
    for (Index i = 0; i < count; ++i) labels.push_back(before + std::to_string(i));
    return labels;
}

std::vector<std::string> labels_in(std::span<const std::string> names, Range shown) {
    std::vector<std::string> labels;
    for (Index i = shown.begin; i < shown.end; ++i) labels.push_back(label_at(names, i));
    return labels;
}

SheetAxis counted(std::string name, Index size) { return {std::move(name), numbered_labels(size)}; }

std::function<double(Index, Index)> numbers_of(Matrix matrix) {
    return [matrix = std::move(matrix)](Index row, Index column) { return matrix.at(row, column); };
}

Table table_of(const Sheet& sheet) {
    const SheetAxis &rows = sheet.is_tall ? sheet.columns : sheet.rows,
                    &columns = sheet.is_tall ? sheet.rows : sheet.columns;
    const Index count = std::min(rows.size(), table_row_limit);
    Table table{sheet.title + (sheet.about.empty() ? "" : ", " + sheet.about),
                columns.labels,
                {rows.labels.begin(), rows.labels.begin() + count},
                Matrix(count, columns.size())};
    for (Index r = 0; r < count; ++r)
        for (Index c = 0; c < columns.size(); ++c)
            table.values.at(r, c) = sheet.is_tall ? sheet.value(c, r) : sheet.value(r, c);
    return table;
}

}  // namespace attn::app
