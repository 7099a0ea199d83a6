// Holds a matrix as a lens shows it. The picture, the table for readers, the copy and the saved file are made of the same
// object (web/present).
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
    std::vector<std::string> labels = {};  // of all its rows or columns
    // Which to show where a picture has no room for all, the most important first; none: the first ones.
    std::vector<Index> wanted = {};
    Index first = 0;  // what landmarks call the first one

    Index size() const { return std::ssize(labels); }
};
SheetAxis counted(std::string name, Index size);  // labelled from 0 on

struct Sheet {
    std::string key;    // a landmark, and a part of a file's name: "softmax/weight"
    std::string title;  // "Weights"
    std::string notation = {};
    std::string about = {};  // what a table's title adds: "“It”, T = 1"
    SheetAxis rows, columns;
    std::function<double(Index row, Index column)> value = {};  // NaN, without a text: there is none
    // Which number stands there; none: one without an explanation.
    std::function<std::optional<CellRef>(Index row, Index column)> cell = {};
    std::function<std::string(Index row, Index column)> text = {};  // written in its place where units differ
    std::function<std::string(Index row, Index column)> tip = {};   // shown under the cursor
    bool is_coloured = false;  // its texts stand over the colours of the values, cut where they are long
    std::function<bool(Index row, Index column)> allowed = {};  // false: masked
    int decimals = 2;
    bool is_signed = false;
    float most = 0;                 // what colours reach to; 0: the largest value
    bool is_scaled_by_row = false;  // instead, the colours of each row reach to its own largest value
    bool is_whole = false;          // shows all its columns, without numbers where these have no room
    bool is_tall = false;           // its columns are many: a table has them as rows
    std::function<double(Index row, Index column)> before = {};  // cells that differ from it are marked
    std::optional<Index> lit_row = {}, lit_column = {};
};

// The labels of an axis: "h0", "h1" …, or some of a text's names.
std::vector<std::string> numbered_labels(Index count, const std::string& before = "");
std::vector<std::string> labels_in(std::span<const std::string> names, Range shown);

// Returns the numbers of a matrix as those of a sheet.
std::function<double(Index row, Index column)> numbers_of(Matrix matrix);

// Returns its numbers, up to table_row_limit rows.
Table table_of(const Sheet& sheet);

}  // namespace attn::app
