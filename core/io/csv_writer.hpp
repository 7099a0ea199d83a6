// A matrix as comma-separated values (RFC 4180), labels in its first row and column, in the form that CsvReading reads.
#pragma once

#include <span>
#include <string>

namespace attn {

// Row by row, so that the numbers need not be there at once.
class CsvWriter {
  public:
    explicit CsvWriter(std::span<const std::string> column_labels);

    void row(const std::string& label, std::span<const float> values);  // as many as columns
    // Numbers read back to the same bits; "nan", "inf", "-inf".
    const std::string& text() const { return text_; }

  private:
    void label(const std::string& text);

    std::string text_;
};

}  // namespace attn
