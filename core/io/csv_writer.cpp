#include "io/csv_writer.hpp"

#include <cmath>

#include "tensor/decimal.hpp"

namespace attn {

CsvWriter::CsvWriter(std::span<const std::string> column_labels) {
    for (const std::string& column : column_labels) {
        text_ += ',';
        label(column);
    }
    text_ += "\r\n";
}

// Labels are always quoted: a token may be a comma, a number or blank.
void CsvWriter::label(const std::string& text) {
    text_ += '"';
    for (const char c : text) {
        if (c == '"') text_ += '"';
        text_ += c;
    }
    text_ += '"';
}

void CsvWriter::row(const std::string& name, std::span<const float> values) {
    label(name);
    for (const float value : values) {
        text_ += ',';
        text_ += std::isnan(value) ? "nan" : shortest(value);
    }
    text_ += "\r\n";
}

}  // namespace attn
