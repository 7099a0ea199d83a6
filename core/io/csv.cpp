#include "io/csv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "io/ascii.hpp"
#include "io/quote.hpp"

namespace attn {

namespace {

constexpr std::size_t characters_a_step = std::size_t{1} << 14;
constexpr std::string_view all_separators = "\t;, ";  // in order of preference
constexpr std::string_view blanks = " \t";

Error bad_table(std::string what) { return Error{"this table " + std::move(what)}; }

// Tells which characters of a text stand between quotes. A quote opens at the start of a field, whatever
// separates the fields, and closes at the next quote that is not doubled.
class Quotes {
  public:
    // Takes the characters one by one, in order.
    bool inside(char c) {
        if (c == '"') {
            if (open_)
                open_ = false;
            else if (last_ == '"' || last_ == '\n' || all_separators.find(last_) != all_separators.npos)
                open_ = true;  // the second of two quotes that stand for one
        }
        last_ = c;
        return open_;
    }
    bool open() const { return open_; }

  private:
    bool open_ = false;
    char last_ = '\n';
};

// Returns the size of the text's first row with its line break, or nothing if a quote is never closed.
std::optional<std::size_t> row_size(std::string_view text) {
    Quotes quotes;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (!quotes.inside(text[i]) && text[i] == '\n') return i + 1;
    if (quotes.open()) return std::nullopt;
    return text.size();
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == text.npos ? std::string_view()
                              : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// Strips the quotes from a field and turns doubled quotes into single ones.
std::string unquoted(std::string_view field) {
    const std::string_view core = trimmed(field);
    if (core.size() < 2 || core.front() != '"' || core.back() != '"') return std::string(field);
    std::string text;
    for (std::size_t i = 1; i + 1 < core.size(); ++i) {
        text += core[i];
        if (core[i] == '"' && core[i + 1] == '"' && i + 2 < core.size()) ++i;
    }
    return text;
}

std::vector<std::string> split(std::string_view row, char separator) {
    if (separator == '\0') return {unquoted(row)};
    if (separator == ' ') row = trimmed(row);
    std::vector<std::string> fields;
    Quotes quotes;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const bool separates =
            !quotes.inside(row[i]) && (row[i] == separator || (separator == ' ' && row[i] == '\t'));
        if (!separates) continue;
        if (separator != ' ' || i > begin) fields.push_back(unquoted(row.substr(begin, i - begin)));
        begin = i + 1;
    }
    fields.push_back(unquoted(row.substr(begin)));
    return fields;
}

std::optional<float> parse_number(std::string_view field, bool comma_is_point) {
    field = trimmed(field);
    std::array<char, 64> text{};
    if (field.empty() || field.size() >= text.size()) return std::nullopt;
    std::ranges::transform(field, text.begin(),
                           [&](char c) { return c == ',' && comma_is_point ? '.' : ascii_lower(c); });
    const std::string_view lower(text.data(), field.size());
    const std::string_view word = lower.substr(lower.front() == '-' || lower.front() == '+' ? 1 : 0);
    const bool named = word == "nan" || word == "inf" || word == "infinity";
    if (!named && lower.find_first_not_of("0123456789+-.e") != lower.npos)
        return std::nullopt;  // strtof would accept 0x1p3
    char* end = nullptr;
    const float value = std::strtof(text.data(), &end);
    if (end != text.data() + field.size() || (std::isinf(value) && !named)) return std::nullopt;
    return value;
}

constexpr std::string_view comment_mark = "# ";

// Tells whether most of these fields are not numbers.
template <class Fields, class Text>
bool are_labels(const Fields& fields, bool comma_is_point, Text text) {
    const auto words = std::ranges::count_if(
        fields, [&](const auto& field) { return !parse_number(std::invoke(text, field), comma_is_point); });
    return 2 * words > std::ranges::ssize(fields);
}

}  // namespace

CsvReading::CsvReading(std::span<const std::byte> file)
    : text_(reinterpret_cast<const char*>(file.data()), file.size()) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
}

bool CsvReading::step() {
    for (std::size_t read = 0; pass_ != Pass::done && read < characters_a_step;) read += advance();
    return pass_ != Pass::done;
}

float CsvReading::progress() const {
    const float part = text_.empty() ? 1 : static_cast<float>(at_) / static_cast<float>(text_.size());
    return pass_ == Pass::separators ? part / 4 : pass_ == Pass::numbers ? 0.25f + part * 3 / 4 : 1;
}

std::size_t CsvReading::advance() {
    if (at_ == text_.size()) {
        if (const auto most = std::ranges::max_element(rows_with_); pass_ == Pass::separators && *most > 0)
            separator_ = all_separators[static_cast<std::size_t>(most - rows_with_.begin())];
        pass_ = pass_ == Pass::separators ? Pass::numbers : Pass::done;
        at_ = row_ = 0;
        return 0;
    }
    ++row_;
    const auto size = row_size(text_.substr(at_));
    if (!size) {
        status_ = bad_table("has a quote in row " + std::to_string(row_) + " that is not closed");
        pass_ = Pass::done;
        return 0;
    }
    std::string_view row = text_.substr(at_, *size);
    at_ += *size;
    while (row.ends_with('\n') || row.ends_with('\r')) row.remove_suffix(1);
    if (trimmed(row).empty()) return *size;
    if (pass_ == Pass::separators)
        count_separators(row);
    else if (status_ = add(row); !status_)
        pass_ = Pass::done;
    return *size;
}

void CsvReading::count_separators(std::string_view row) {
    if (row.starts_with(comment_mark)) return;
    std::array<bool, 4> seen{};
    Quotes quotes;
    for (char c : trimmed(row))
        if (const auto i = all_separators.find(c); !quotes.inside(c) && i != all_separators.npos)
            seen[i] = true;
    // Blanks around a row separate nothing; tabs do.
    seen[0] = seen[0] || row.front() == '\t' || row.back() == '\t';
    for (std::size_t i = 0; i < seen.size(); ++i) rows_with_[i] += seen[i];
}

bool CsvReading::has_label(const std::vector<std::string>& fields) const {
    return fields.size() > 1 && !parse_number(fields.front(), separator_ != ',');
}

bool CsvReading::has_numbers(const std::vector<std::string>& fields) const {
    return fields.size() > 1 && std::ranges::all_of(std::span(fields).subspan(1), [&](const auto& field) {
               return parse_number(field, separator_ != ',').has_value();
           });
}

// The labels that the comment holds, if it has as many fields as rows of numbers have beside their own label.
void CsvReading::take_comment(const std::vector<std::string>& first_numbers) {
    const bool labelled = has_label(first_numbers);
    const std::size_t columns = first_numbers.size() - (labelled ? 1 : 0);
    for (const std::string_view row : {comment_.substr(comment_mark.size()), comment_}) {
        std::vector<std::string> fields = split(row, separator_);
        if (fields.size() != columns && fields.size() != first_numbers.size()) continue;
        corner_is_empty_ = labelled && fields.size() > columns && trimmed(fields.front()).empty();
        labels_ = std::move(fields);
        return;
    }
}

Status CsvReading::add(std::string_view row) {
    std::vector<std::string> fields = split(row, separator_);
    if (row.starts_with(comment_mark)) {
        if (!begun_) {
            numbers_ = has_numbers(fields) ? row : std::string_view();
            if (numbers_.empty()) comment_ = row;
        }
        const bool fits =
            fields_ > 0 ? fields.size() == fields_ : begun_ && fields.size() == labels_.size() + 1;
        if (!fits || !has_numbers(fields)) return ok();
    }
    const bool first_row = !std::exchange(begun_, true);
    if (first_row) {
        corner_is_empty_ = fields.size() > 1 && trimmed(fields.front()).empty();
        const auto others = std::span(fields).subspan(fields.size() > 1 ? 1 : 0);
        if (corner_is_empty_ || are_labels(others, separator_ != ',', std::identity())) {
            labels_ = std::move(fields);
            return ok();
        }
        std::vector<std::string> before = split(numbers_, separator_);
        const bool of_a_token = has_label(fields) && has_numbers(before) && before.size() == fields.size();
        if (!of_a_token && !numbers_.empty()) comment_ = numbers_;
        if (!comment_.empty()) take_comment(fields);
        if (of_a_token)
            if (const Status added = add_numbers(std::move(before)); !added) return added;
    }
    return add_numbers(std::move(fields));
}

Status CsvReading::add_numbers(std::vector<std::string> fields) {
    if (fields_ == 0) fields_ = fields.size();
    const bool fits =
        labels_.empty() || fields_ == labels_.size() || (fields_ == labels_.size() + 1 && !corner_is_empty_);
    if (fields.size() != fields_ || !fits)
        return bad_table("has " + std::to_string(fields.size()) + " fields in row " + std::to_string(row_) +
                         " where " + std::to_string(fits ? fields_ : labels_.size()) + " stand above");
    for (std::size_t column = 1; column < fields.size(); ++column) {
        const auto value = number(fields[column], row_, column + 1);
        if (!value) return value.error();
        others_.push_back(*value);
    }
    first_.push_back({row_, std::move(fields.front())});
    return ok();
}

Result<float> CsvReading::number(std::string_view field, std::size_t row, std::size_t column) const {
    if (const auto value = parse_number(field, separator_ != ',')) return *value;
    const std::string what = trimmed(field).empty() ? "nothing" : quote(field);
    return bad_table("has " + what + " in row " + std::to_string(row) + ", column " + std::to_string(column) +
                     ", where a number should be");
}

Result<CsvMatrix> CsvReading::matrix() {
    if (first_.empty()) return bad_table(begun_ ? "has labels but no row of numbers" : "is empty");
    const bool labelled = fields_ > 1 && (corner_is_empty_ || fields_ == labels_.size() + 1 ||
                                          are_labels(first_, separator_ != ',', &First::field));
    CsvMatrix out;
    if (labelled && labels_.size() == fields_) labels_.erase(labels_.begin());
    out.column_labels = std::move(labels_);
    const std::size_t columns = fields_ - (labelled ? 1 : 0);
    out.values = Tensor({std::ssize(first_), static_cast<Index>(columns)});
    auto target = out.values.values().begin();
    auto others = others_.begin();
    for (First& first : first_) {
        if (labelled) {
            out.row_labels.push_back(std::move(first.field));
        } else {
            const auto value = number(first.field, first.row, 1);
            if (!value) return value.error();
            *target++ = *value;
        }
        target = std::copy_n(others, fields_ - 1, target);
        others += static_cast<Index>(fields_ - 1);
    }
    return out;
}

Result<CsvMatrix> CsvReading::finish() {
    while (step()) {
    }
    if (!status_) return status_.error();
    return matrix();
}

}  // namespace attn
