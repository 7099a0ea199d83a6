// Reads any bytes as a table. The numbers, written again with their labels in quotes, must read the same.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "fuzz/target.hpp"
#include "io/csv.hpp"

using namespace attn;

namespace {

std::string quoted(const std::string& label) {
    std::string text = "\"";
    for (char c : label) text.append(c == '"' ? 2 : 1, c);
    return text + '"';
}

std::string written(const CsvMatrix& table) {
    std::string text;
    if (!table.column_labels.empty() || !table.row_labels.empty()) {
        text = "\"\"";  // an empty corner: row and column are both labels
        for (Index j = 0; j < table.values.dim(1); ++j)
            text += ',' + (table.column_labels.empty()
                               ? "x"
                               : quoted(table.column_labels[static_cast<std::size_t>(j)]));
        text += '\n';
    }
    const bool labelled = !text.empty();
    for (Index i = 0; i < table.values.dim(0); ++i) {
        if (labelled)
            text += table.row_labels.empty() ? "y" : quoted(table.row_labels[static_cast<std::size_t>(i)]);
        for (Index j = 0; j < table.values.dim(1); ++j) {
            char number[32];
            std::snprintf(number, sizeof number, "%.9g", static_cast<double>(table.values.matrix()(i, j)));
            text += (labelled || j > 0 ? "," : "") + std::string(number);
        }
        text += '\n';
    }
    return text;
}

}  // namespace

FUZZ_TARGET(csv) {
    const auto table = CsvReading(std::as_bytes(std::span(data, size))).finish();
    if (!table) {
        require(table.error().message.starts_with("this table "));
        return 0;
    }
    const Tensor& values = table->values;
    require(values.rank() == 2 && values.dim(0) > 0 && values.dim(1) > 0);
    require(table->row_labels.empty() || std::ssize(table->row_labels) == values.dim(0));
    require(table->column_labels.empty() || std::ssize(table->column_labels) == values.dim(1));
    const std::string text = written(*table);
    const auto again = CsvReading(std::as_bytes(std::span(text))).finish();
    require(again && again->values.shape() == values.shape());
    for (std::size_t i = 0; i < values.values().size(); ++i) {
        const float a = values.values()[i], b = again->values.values()[i];
        require(a == b || (std::isnan(a) && std::isnan(b)));
    }
    require(table->row_labels.empty() || again->row_labels == table->row_labels);
    require(table->column_labels.empty() || again->column_labels == table->column_labels);
    return 0;
}
