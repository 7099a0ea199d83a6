#include "lesson/tokens.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "text/utf8.hpp"

namespace attn::lesson {

namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

struct Spelling {
    std::string_view written, means;
};
// The longer of two that begin alike comes first.
constexpr std::array<Spelling, 20> marks{{{"<=", "<="}, {">=", ">="}, {"!=", "!="}, {"≤", "<="}, {"≥", ">="},
                                          {"≠", "!="},  {"−", "-"},   {"×", "*"},   {"±", "±"},  {"+/-", "±"},
                                          {"<", "<"},   {">", ">"},   {"=", "="},   {"+", "+"},  {"-", "-"},
                                          {"*", "*"},   {"/", "/"},   {"%", "%"},   {"(", "("},  {")", ")"}}};
// What other languages write, and what to write here.
constexpr std::array<Spelling, 7> foreign{{{"==", "write one = to compare"},
                                           {"&&", "write and"},
                                           {"||", "write or"},
                                           {"!", "write not, or != to compare"},
                                           {"'", "put a text between two \" instead"},
                                           {"“", "put a text between two \" instead"},
                                           {"^", "write a product instead"}}};

class Cutter {
  public:
    Cutter(std::string_view text, std::size_t first_column) : text_(text), column_(first_column) {}

    Result<std::vector<Token>> run() {
        while (true) {
            const std::size_t blanks = std::min(text_.find_first_not_of(" \t"), text_.size());
            take(blanks);
            Token token;
            token.column = column_;
            if (text_.empty()) {
                found_.push_back(std::move(token));
                return std::move(found_);
            }
            if (const Status cut = next(token); !cut) return cut.error();
            found_.push_back(std::move(token));
        }
    }

  private:
    std::string_view take(std::size_t bytes) {
        const std::string_view taken = text_.substr(0, bytes);
        text_.remove_prefix(bytes);
        column_ += static_cast<std::size_t>(count_code_points(taken));
        return taken;
    }

    Status next(Token& token) {
        const char c = text_.front();
        if (c == '"') return take_text(token);
        if (is_digit(c) || (c == '.' && text_.size() > 1 && is_digit(text_[1]))) return take_number(token);
        if (begins_name(c)) {
            std::size_t size = 1;
            while (size < text_.size() &&
                   (begins_name(text_[size]) || is_digit(text_[size]) || text_[size] == '.'))
                ++size;
            token.kind = Token::Kind::name;
            token.text = take(size);
            return ok();
        }
        for (const auto& [written, instead] : foreign)
            if (text_.starts_with(written) && !text_.starts_with("!="))
                return at_column(column_, shown(written) + " means nothing here; " + std::string(instead));
        token.kind = Token::Kind::mark;
        if (c == ',') {
            token.text = take(1);
            return ok();
        }
        for (const auto& [written, means] : marks)
            if (text_.starts_with(written)) {
                token.text = means;
                take(written.size());
                return ok();
            }
        const std::string_view point = first_code_points(text_, 1);
        const std::string what = is_control(c) ? "a control character" : shown(point);
        return at_column(column_, what + " is no part of an expression; remove it");
    }

    Status take_number(Token& token) {
        std::size_t size = 0;
        const auto digits = [&] {
            while (size < text_.size() && is_digit(text_[size])) ++size;
        };
        const auto digit_at = [&](std::size_t at) { return at < text_.size() && is_digit(text_[at]); };
        digits();
        if (size < text_.size() && text_[size] == '.' && digit_at(size + 1)) {
            ++size;
            digits();
        }
        if (size < text_.size() && (text_[size] == 'e' || text_[size] == 'E')) {
            const bool is_signed =
                size + 1 < text_.size() && (text_[size + 1] == '+' || text_[size + 1] == '-');
            const std::size_t first = size + (is_signed ? 2 : 1);
            if (digit_at(first)) {
                size = first;
                digits();
            }
        }
        if (size < text_.size() && begins_name(text_[size])) {
            take(size);
            return at_column(column_, "a letter follows a number; write an operator between them");
        }
        const std::string spelled(text_.substr(0, size));
        token.kind = Token::Kind::number;
        token.number = std::strtod(spelled.c_str(), nullptr);
        if (std::isinf(token.number))
            return at_column(column_, "this number is larger than a double can be; write one below 1e308");
        take(size);
        return ok();
    }

    Status take_text(Token& token) {
        token.kind = Token::Kind::text;
        take(1);
        while (!text_.empty() && text_.front() != '"') {
            const std::string_view point = take(first_code_point(text_).bytes);
            if (is_control(point.front()) && point != "\t")
                return at_column(column_ - 1,
                                 "this text holds a control character; write \\n for a line break");
            if (point != "\\") {
                token.text += point;
                continue;
            }
            const char escaped = text_.empty() ? '\0' : text_.front();
            constexpr std::string_view written = "\"\\nt", meant = "\"\\\n\t";
            const std::size_t which = written.find(escaped);
            if (which == written.npos)
                return at_column(column_ - 1,
                                 "a \\ in a text stands before \", \\, n or t; write \\\\ for one \\");
            token.text += meant[which];
            take(1);
        }
        if (text_.empty()) return at_column(token.column, "this text is not closed; end it with \"");
        take(1);
        return ok();
    }

    std::string_view text_;
    std::size_t column_;
    std::vector<Token> found_;
};

}  // namespace

Error at_column(std::size_t column, std::string_view sentence) {
    return Error{"column " + std::to_string(column) + ": " + std::string(sentence)};
}

std::string shown(std::string_view text) {
    const std::string_view cut = first_code_points(text, 40);
    return "“" + std::string(cut) + (cut.size() < text.size() ? "…”" : "”");
}

std::string literal(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else
            out += c;
    }
    return out + '"';
}

std::size_t find_outside_texts(std::string_view text, std::string_view bytes) {
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"')
            inside = !inside;
        else if (inside && text[i] == '\\')
            ++i;
        else if (!inside && bytes.find(text[i]) != bytes.npos)
            return i;
    }
    return text.npos;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == text.npos ? std::string_view()
                              : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

Result<std::vector<Token>> tokens(std::string_view text, std::size_t first_column) {
    if (!is_utf8(text))
        return at_column(first_column, "this expression is not valid UTF-8; save the file as UTF-8");
    return Cutter(text, first_column).run();
}

}  // namespace attn::lesson
