// A matrix as text: numbers separated by comma, semicolon, tab or blanks, with labels in the first row, the first column,
// or both (quotes as RFC 4180 has them).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

struct CsvMatrix {
    Tensor values;                           // [rows, columns]; "nan" and "inf" are numbers
    std::vector<std::string> row_labels;     // as many as rows, or none
    std::vector<std::string> column_labels;  // as many as columns, or none
};

// Read in slices. The separator is the one that stands, outside quotes, in the most rows: tab, semicolon, comma or blanks.
// The first row is labels where its first field is empty or most of the others are no numbers; the first column is where
// that corner is empty, where a row has one field more than the labels, or where most of it is no numbers. Where commas do
// not separate, a comma is a decimal point.
class CsvReading {
  public:
    explicit CsvReading(std::span<const std::byte> file);  // which outlives this object

    bool step();                 // about 2^14 characters, a row at least; true while there is more to do
    float progress() const;      // 0 … 1
    Result<CsvMatrix> finish();  // does what is left; once

  private:
    enum class Pass { separators, numbers, done };
    std::size_t advance();  // by one row; how many characters it has
    void count_separators(std::string_view row);
    Status add(std::vector<std::string> fields);
    Result<float> number(std::string_view field, std::size_t row, std::size_t column) const;
    Result<CsvMatrix> matrix();

    std::string_view text_;
    std::size_t at_ = 0, row_ = 0;  // of the pass; rows count from 1, as a spreadsheet has them
    Pass pass_ = Pass::separators;
    Status status_ = ok();

    std::array<std::size_t, 4> rows_with_{};  // of each separator
    char separator_ = '\0';                   // '\0': there is one column
    bool begun_ = false, corner_is_empty_ = false;
    std::vector<std::string> labels_;
    std::size_t fields_ = 0;  // in a row of numbers, its label among them; 0: none was read
    struct First {
        std::size_t row;
        std::string field;
    };
    std::vector<First> first_;   // of each row of numbers the first field, which may be a label
    std::vector<float> others_;  // [rows, fields − 1]
};

}  // namespace attn
