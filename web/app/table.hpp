// Writes a matrix as text, for the page's HTML table and for the clipboard.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/matrix.hpp"
#include "tensor/result.hpp"

namespace attn::app {

// An HTML table with more rows than this is of no use.
inline constexpr Index table_row_limit = 256;
inline constexpr int table_decimals = 6;  // enough for a reader

struct Table {
    std::string title;
    std::vector<std::string> columns, row_labels;
    Matrix values;
};

// Returns an array of {"title", "columns": […], "rows": [[heading, cell, …], …]}.
std::string tables_json(std::span<const Table> tables);
// Returns only the numbers, separated by tabs, as spreadsheets accept them.
std::string table_text(const Table& table);
// These forms include the names of rows and columns. Cells of a spreadsheet:
std::string table_cells(const Table& table);
std::string table_markdown(const Table& table);
// Returns a map in shades, as tutorials print it, with its legend. Each shade of " ░▒▓█" covers a fifth of
// the range from 0 to the table's largest magnitude; "·" is masked, −∞, and "?" is not a finite number.
std::string table_shades(const Table& table);
// Returns comma-separated values that read back to the same f32 (io/csv_writer.hpp).
std::string table_csv(const Table& table);
// Returns the form with this name: "cells", "markdown", "shades" or "csv".
std::string written_table(const Table& table, std::string_view form);

// Reads rows of numbers separated by tabs, commas, semicolons or spaces, as spreadsheets and NumPy print
// them.
Result<Matrix> parse_numbers(const std::string& text);

}  // namespace attn::app
