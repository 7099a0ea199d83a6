// Writes a matrix as comma-separated values (RFC 4180), with labels in the first row and
// column, as CsvReading reads it.
#pragma once

#include <span>
#include <string>

namespace attn {

// Takes the matrix row by row, so that it need not be in memory as a whole.
class CsvWriter {
  public:
    explicit CsvWriter(std::span<const std::string> column_labels);

    void row(const std::string& label, std::span<const float> values);  // one value for each column
    // Numbers read back to the same bits. The others are written as "nan", "inf" and "-inf".
    const std::string& text() const { return text_; }

  private:
    void label(const std::string& text);

    std::string text_;
};

}  // namespace attn
