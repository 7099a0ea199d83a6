// Holds a matrix as a lens shows it. The picture, the table for screen readers, the copy and the saved file
// are made from the same object (web/present).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cell.hpp"
#include "app/table.hpp"

namespace attn::app {

struct SheetAxis {
    std::string name;                      // "query"
    std::vector<std::string> labels = {};  // names of all its rows or columns
    // Rows or columns to show if a picture lacks room for all, the most important first; none: the first
    // ones.
    std::vector<Index> wanted = {};
    Index first = 0;  // number of the first one in landmarks

    Index size() const { return std::ssize(labels); }
};
SheetAxis counted(std::string name, Index size);  // labelled from 0 on

struct Sheet {
    std::string key;    // a landmark, and a part of a file's name: "softmax/weight"
    std::string title;  // "Weights"
    std::string notation = {};
    std::string about = {};  // what a table's title adds: "“It”, T = 1"
    SheetAxis rows, columns;
    std::function<double(Index row, Index column)> value = {};  // NaN without a text: no number
    // The cell that explains the number; none: it has no explanation.
    std::function<std::optional<CellRef>(Index row, Index column)> cell = {};
    // Written instead of the number, where units differ.
    std::function<std::string(Index row, Index column)> text = {};
    std::function<std::string(double value)> in_words =
        {};  // writes all of them: "287 KB"; `text` has precedence
    std::function<std::string(Index row, Index column)> tip = {};  // shown under the cursor
    bool is_coloured = false;  // draws its texts over the colours of the values, cut off where they are long
    std::function<bool(Index row, Index column)> allowed = {};  // false: masked
    int decimals = 2;  // usual decimals; numbers too small for these get more
    bool is_signed = false;
    float most = 0;                 // the end of the colour scale; 0: the largest value
    bool is_scaled_by_row = false;  // scales the colours of each row to its own largest value instead
    bool is_whole = false;          // shows all columns, without numbers where they have no room
    bool is_tall = false;           // has many columns: a table shows them as rows
    // Marks cells whose value differs from this one.
    std::function<double(Index row, Index column)> before = {};
    std::optional<Index> lit_row = {}, lit_column = {};
};

// Labels an axis "h0", "h1" …, or with some of a text's names.
std::vector<std::string> numbered_labels(Index count, const std::string& before = "");
std::vector<std::string> labels_in(std::span<const std::string> names, Range shown);

// Returns the cells of a matrix as a sheet's `value`.
std::function<double(Index row, Index column)> numbers_of(Matrix matrix);

// Returns the sheet's numbers, up to table_row_limit rows.
Table table_of(const Sheet& sheet);

}  // namespace attn::app
