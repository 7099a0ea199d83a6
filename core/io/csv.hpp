// Reads a matrix from text: the numbers are separated by comma, semicolon, tab or blanks, and the first row,
// the first column or both may hold labels, quoted as in RFC 4180.
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
    std::vector<std::string> row_labels;     // one for each row, or none
    std::vector<std::string> column_labels;  // one for each column, or none
};

// Reads a table in slices. The separator is the one that occurs, outside quotes, in the most rows: tab,
// semicolon, comma or blanks. The first row holds labels if its first field is empty or most of the others
// are not numbers. The first column holds labels if that corner is empty, if a row has one field more than
// there are labels, or if most of the column is not numbers. Unless commas separate the fields, a comma is a
// decimal point.
//
// A row that begins with "# " is a comment, as numpy.savetxt writes its header. The last one before the
// numbers holds the labels of the columns if it has as many fields, without the mark or, where a token is
// "#", with it. Behind that, such a row is a comment unless it has numbers for all columns.
class CsvReading {
  public:
    explicit CsvReading(std::span<const std::byte> file);  // must outlive this object

    bool step();                 // reads about 2^14 characters or a row; true while there is more to do
    float progress() const;      // 0 … 1
    Result<CsvMatrix> finish();  // does what is left; call once

  private:
    enum class Pass { separators, numbers, done };
    std::size_t advance();  // goes on by one row and returns its size in characters
    void count_separators(std::string_view row);
    Status add(std::string_view row);
    Status add_numbers(std::vector<std::string> fields);
    bool has_label(const std::vector<std::string>& fields) const;    // in the first one
    bool has_numbers(const std::vector<std::string>& fields) const;  // in all others
    void take_comment(const std::vector<std::string>& first_numbers);
    Result<float> number(std::string_view field, std::size_t row, std::size_t column) const;
    Result<CsvMatrix> matrix();

    std::string_view text_;
    std::size_t at_ = 0, row_ = 0;  // position in this pass; rows count from 1, as in a spreadsheet
    Pass pass_ = Pass::separators;
    Status status_ = ok();

    std::array<std::size_t, 4> rows_with_{};  // how many rows contain each separator
    char separator_ = '\0';                   // '\0': there is one column
    bool begun_ = false, corner_is_empty_ = false;
    std::string_view comment_,
        numbers_;  // before the first row that is none: the last one, and one of a token "#"
    std::vector<std::string> labels_;
    std::size_t fields_ = 0;  // in a row of numbers, including its label; 0: none read yet
    struct First {
        std::size_t row;
        std::string field;
    };
    std::vector<First> first_;   // the first field of each row of numbers, which may be a label
    std::vector<float> others_;  // [rows, fields − 1]
};

}  // namespace attn
