#include "lesson/sentence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "lesson/tokens.hpp"
#include "text/utf8.hpp"

namespace attn::lesson {

namespace {

std::optional<Format> parse_format(std::string_view text) {
    text = trimmed(text);
    if (text == "%") return Format{true, -1};
    if (text.size() == 1 && text[0] >= '0' && text[0] <= '9') return Format{false, text[0] - '0'};
    return std::nullopt;
}

// Reads what stands between the braces.
Status parse_number(std::string_view text, std::size_t column, Part& part) {
    const std::size_t colon = find_outside_texts(text, ":");
    auto expression = parse_expression(text.substr(0, colon), column);
    if (!expression) return expression.error();
    part.expression = *std::move(expression);
    if (colon == text.npos) return ok();
    const auto format = parse_format(text.substr(colon + 1));
    if (!format)
        return at_column(column + static_cast<std::size_t>(count_code_points(text.substr(0, colon))) + 1,
                         "a number has no such format; write :% for per cent or :2 for two decimals");
    part.format = *format;
    return ok();
}

}  // namespace

Result<Sentence> parse_sentence(std::string_view text, std::size_t first_column) {
    if (!is_utf8(text))
        return at_column(first_column, "this sentence is not valid UTF-8; save the file as UTF-8");
    std::size_t column = first_column;
    const auto take = [&](std::size_t bytes) {
        const std::string_view taken = text.substr(0, bytes);
        text.remove_prefix(bytes);
        column += static_cast<std::size_t>(count_code_points(taken));
        return taken;
    };
    Sentence sentence;
    Part part;
    while (!text.empty()) {
        const std::size_t brace = std::min(text.find_first_of("{}"), text.size());
        part.text += take(brace);
        if (text.empty()) break;
        if (text.size() > 1 && text[1] == text[0]) {
            part.text += take(2)[0];
            continue;
        }
        if (text[0] == '}') return at_column(column, "this } closes nothing; write }} for a brace");
        const std::size_t size = find_outside_texts(text.substr(1), "}");
        if (size == text.npos)
            return at_column(column, "this { is not closed; end it with }, or write {{ for a brace");
        if (const Status read = parse_number(text.substr(1, size), column + 1, part); !read)
            return read.error();
        sentence.parts.push_back(std::exchange(part, {}));
        take(size + 2);
    }
    if (!part.text.empty()) sentence.parts.push_back(std::move(part));
    return sentence;
}

std::string to_text(const Sentence& sentence) {
    std::string text;
    for (const Part& part : sentence.parts) {
        for (const char c : part.text) text.append(c == '{' || c == '}' ? 2 : 1, c);
        if (part.expression.nodes.empty()) continue;
        text += "{" + to_text(part.expression);
        if (part.format.is_percent) text += ":%";
        if (part.format.decimals >= 0) text += ":" + std::to_string(part.format.decimals);
        text += "}";
    }
    return text;
}

std::string formatted(const Value& value, Format format) {
    if (const std::string* text = std::get_if<std::string>(&value)) return *text;
    if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
    const double number = *std::get_if<double>(&value) * (format.is_percent ? 100 : 1);
    const std::string unit = format.is_percent ? " %" : "";
    if (std::isnan(number)) return "NaN" + unit;
    if (std::isinf(number)) return (number < 0 ? "-∞" : "∞") + unit;
    std::array<char, 400> digits{};
    const int decimals = format.is_percent ? 0 : format.decimals;
    const int size = decimals < 0 ? std::snprintf(digits.data(), digits.size(), "%.4g", number)
                                  : std::snprintf(digits.data(), digits.size(), "%.*f", decimals, number);
    std::string text(digits.data(), static_cast<std::size_t>(size));
    if (text.starts_with('-') && text.find_first_of("123456789") == text.npos) text.erase(0, 1);
    return text + unit;
}

Result<std::string> filled(const Sentence& sentence, const Lookup& lookup) {
    std::string text;
    for (const Part& part : sentence.parts) {
        text += part.text;
        if (part.expression.nodes.empty()) continue;
        const auto outcome = evaluate(part.expression, lookup);
        if (!outcome) return outcome.error();
        text += formatted(outcome->value, part.format);
    }
    return text;
}

}  // namespace attn::lesson
