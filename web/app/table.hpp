// Writes a matrix as text, for the page's HTML table and for the clipboard.
#pragma once

#include <string>
#include <vector>

#include "app/matrix.hpp"
#include "tensor/result.hpp"

namespace attn::app {

// An HTML table with more rows than this is of no use.
inline constexpr Index table_row_limit = 256;

struct Table {
    std::string title;
    std::vector<std::string> columns, row_labels;
    Matrix values;
};

// Returns {"title", "columns": […], "rows": [[heading, cell, …], …]}.
std::string table_json(const Table& table);
// Returns only the numbers, separated by tabs, as spreadsheets accept them.
std::string table_text(const Table& table);

// Reads rows of numbers separated by tabs, commas, semicolons or spaces, as spreadsheets and NumPy print
// them.
Result<Matrix> parse_numbers(const std::string& text);

}  // namespace attn::app
