// Holds a matrix as a lens shows it. The picture, the table for readers, the copy and the saved file are made of the same
// object (web/present).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/cell.hpp"
#include "app/table.hpp"

namespace attn::app {

struct SheetAxis {
    std::string name;                      // "query"
    std::vector<std::string> labels = {};  // of all its rows or columns
    // Which to show where a picture has no room for all, the most important first; none: the first ones.
    std::vector<Index> wanted = {};

    Index size() const { return std::ssize(labels); }
};

struct Sheet {
    std::string key;    // a landmark, and a part of a file's name: "softmax/weight"
    std::string title;  // "Weights"
    std::string notation = {};
    std::string about = {};  // what a table's title adds: "“It”, T = 1"
    SheetAxis rows, columns;
    std::function<double(Index row, Index column)> value = {};
    std::function<CellRef(Index row, Index column)> cell = {};      // which number stands there
    std::function<std::string(Index row, Index column)> text = {};  // written in its place where units differ
    std::function<bool(Index row, Index column)> allowed = {};      // false: masked
    bool is_signed = false;
    bool is_tall = false;  // its columns are many: a table has them as rows
    std::optional<Index> lit_row = {}, lit_column = {};
};

// Returns its numbers, up to table_row_limit rows.
Table table_of(const Sheet& sheet);

}  // namespace attn::app
