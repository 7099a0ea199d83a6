// Makes tables of the charts on screen.
#pragma once

#include <vector>

#include "app/table.hpp"
#include "widgets/chart.hpp"

namespace attn::app {

// Curves over the same points are columns of one table; a point is a row. Lines without a name, such as a limit that is drawn
// across, are left out, and so are rows beyond table_row_limit.
std::vector<Table> tables_of(const std::vector<ui::ShownChart>& charts);

}  // namespace attn::app
