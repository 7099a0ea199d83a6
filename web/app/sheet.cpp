#include "app/sheet.hpp"

#include <algorithm>

namespace attn::app {

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
