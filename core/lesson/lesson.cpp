#include "lesson/lesson.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "lesson/fences.hpp"
#include "lesson/tokens.hpp"
#include "text/utf8.hpp"

namespace attn::lesson {

namespace {

constexpr std::string_view fence = "```", dollars = "$$", rule = "---";

std::string_view without_blanks_at_end(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Cuts a text into lines, and refuses what no text editor writes.
Result<std::vector<Row>> read_rows(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    std::vector<Row> rows;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = text.find('\n');
        std::string_view row = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        if (row.ends_with('\r')) row.remove_suffix(1);
        if (!is_utf8(row)) return at_line(line, "this line is not valid UTF-8; save the file as UTF-8");
        if (std::ranges::any_of(row, [](char c) {
                return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f';
            }))
            return at_line(line, "this line holds a control character; remove it");
        rows.push_back({without_blanks_at_end(row), line});
    }
    return rows;
}

class Reader {
  public:
    explicit Reader(std::vector<Row> rows) : rows_(std::move(rows)) {}

    Result<Lesson> run() {
        if (const Status read = read_front_matter(); !read) return read.error();
        while (at_ < rows_.size())
            if (const Status read = read_next(); !read) return read.error();
        if (lesson_.steps.empty())
            return at_line(std::max<std::size_t>(rows_.size(), 1),
                           "this lesson has no step; add a line “## ” and a title");
        if (const Status ended = end_step(); !ended) return ended.error();
        return std::move(lesson_);
    }

  private:
    Status read_front_matter() {
        if (rows_.empty() || rows_[0].text != rule)
            return at_line(1,
                           "a lesson begins with a line “---”, “title: …” and another line “---”; add them");
        std::vector<std::string_view> seen;
        for (at_ = 1; at_ < rows_.size() && rows_[at_].text != rule; ++at_) {
            const auto& [text, line] = rows_[at_];
            if (text.empty()) continue;
            const std::size_t colon = text.find(':');
            if (colon == text.npos)
                return at_line(line, "a key and a colon should stand here; write “title: …”");
            const std::string_view key = trimmed(text.substr(0, colon)),
                                   value = trimmed(text.substr(colon + 1));
            if (std::ranges::find(seen, key) != seen.end())
                return at_line(line, shown(key) + " stands here twice; keep one");
            seen.push_back(key);
            if (const Status taken = take_key(key, value, line); !taken) return taken;
        }
        if (at_ == rows_.size())
            return at_line(1, "the lines after this “---” do not end; close them with “---”");
        if (lesson_.title.empty()) return at_line(1, "this lesson has no title; add a line “title: …”");
        ++at_;
        return ok();
    }

    Status take_key(std::string_view key, std::string_view value, std::size_t line) {
        if (key != "title" && key != "needs" && key != "minutes" && key != "language")
            return at_line(line, "no lesson has a " + shown(key) + "; use title, needs, minutes or language");
        if (value.empty()) return at_line(line, shown(key) + " is empty; write a value or remove the line");
        if (key == "title") lesson_.title = value;
        if (key == "needs") lesson_.needs = value;
        if (key == "minutes") {
            const auto [end, failure] =
                std::from_chars(value.data(), value.data() + value.size(), lesson_.minutes);
            if (failure != std::errc() || end != value.data() + value.size() || lesson_.minutes < 1 ||
                lesson_.minutes > 600)
                return at_line(line,
                               shown(value) + " is no number of minutes; write a whole one from 1 to 600");
        }
        if (key == "language") {
            constexpr std::string_view allowed =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
            if (value.size() < 2 || value.size() > 35 || value.find_first_not_of(allowed) != value.npos)
                return at_line(line, shown(value) + " is no language; write a tag such as en or pt-BR");
            lesson_.language = value;
        }
        return ok();
    }

    std::vector<Block>& prose() {
        return lesson_.steps.empty() ? lesson_.introduction : lesson_.steps.back().prose;
    }

    Status read_next() {
        const Row& row = rows_[at_];
        const std::string_view text = trimmed(row.text);
        if (text.empty()) {
            ++at_;
            return ok();
        }
        if (text.starts_with(fence)) return read_fenced();
        if (text.starts_with(dollars)) return read_formula();
        if (is_heading(text)) return read_heading();
        Block block{Block::Kind::paragraph, std::string(row.text), {row.line}};
        for (++at_; at_ < rows_.size(); ++at_) {
            const std::string_view next = trimmed(rows_[at_].text);
            if (next.empty() || next.starts_with(fence) || next.starts_with(dollars) || is_heading(next))
                break;
            block.text.append("\n").append(rows_[at_].text);
        }
        prose().push_back(std::move(block));
        return ok();
    }

    static bool is_heading(std::string_view text) {
        const std::size_t marks = std::min(text.find_first_not_of('#'), text.size());
        return marks > 1 || (marks == 1 && (text.size() == 1 || text[1] == ' ' || text[1] == '\t'));
    }

    Status read_heading() {
        const Row& row = rows_[at_++];
        const std::string_view text = trimmed(row.text);
        const std::string_view title = text.starts_with("##") ? trimmed(text.substr(2)) : "";
        if (title.empty() || text[2] == '#' || title.data() == text.data() + 2)
            return at_line(row.line, "a step begins with “## ” and a title; write this heading so");
        if (!lesson_.steps.empty())
            if (const Status ended = end_step(); !ended) return ended;
        if (lesson_.steps.size() == most_steps)
            return at_line(row.line, "a lesson has at most 60 steps; move the rest into another lesson");
        lesson_.steps.push_back({});
        lesson_.steps.back().title = title;
        lesson_.steps.back().line = {row.line};
        return ok();
    }

    Status end_step() const {
        const Step& step = lesson_.steps.back();
        for (const Wrong& wrong : step.wrongs)
            if (wrong.fails > step.checks.size())
                return at_line(wrong.line.number, "this must fail on check " + std::to_string(wrong.fails) +
                                                      ", but its step has " +
                                                      std::to_string(step.checks.size()) +
                                                      "; correct the number");
        return ok();
    }

    Status read_formula() {
        const std::size_t line = rows_[at_].line;
        const Error not_alone =
            at_line(line, "a formula stands alone between “$$” and “$$”; move other text into its own line");
        std::string_view row = trimmed(rows_[at_].text).substr(dollars.size());
        std::string text;
        while (!row.ends_with(dollars)) {
            if (row.find(dollars) != row.npos) return not_alone;
            text.append(row).append("\n");
            if (++at_ == rows_.size()) return at_line(line, "this formula is not closed; end it with “$$”");
            row = rows_[at_].text;
        }
        row.remove_suffix(dollars.size());
        text += row;
        const std::size_t begin = text.find_first_not_of(" \t\n");
        if (begin == text.npos || row.find(dollars) != row.npos) return not_alone;
        text = text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
        prose().push_back({Block::Kind::formula, std::move(text), {line}});
        ++at_;
        return ok();
    }

    Status read_fenced() {
        const Row& opening = rows_[at_];
        const std::string_view kind = trimmed(trimmed(opening.text).substr(fence.size()));
        std::size_t end = at_ + 1;
        while (end < rows_.size() && !trimmed(rows_[end].text).starts_with(fence)) ++end;
        if (end == rows_.size())
            return at_line(opening.line, "this fence is not closed; end it with a line “```”");
        if (trimmed(rows_[end].text) != fence)
            return at_line(rows_[end].line, "a fence opens within the one of line " +
                                                std::to_string(opening.line) + "; close that one before");
        if (lesson_.steps.empty())
            return at_line(opening.line, "a fence belongs to a step; write a line “## ” and a title before");
        const auto inner = std::span<const Row>(rows_).subspan(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return read_fence(kind, opening.line, inner, lesson_.steps.back());
    }

    std::vector<Row> rows_;
    std::size_t at_ = 0;
    Lesson lesson_;
};

}  // namespace

Result<Lesson> parse_lesson(std::span<const std::byte> file) {
    const Error too_large = at_line(1, "this lesson has more than 200 kB; split it into several");
    if (file.size() > most_lesson_bytes) return too_large;
    auto rows = read_rows(std::string_view(reinterpret_cast<const char*>(file.data()), file.size()));
    if (!rows) return rows.error();
    auto lesson = Reader(*std::move(rows)).run();
    // What is written has some more blanks and line breaks; it must be readable too.
    if (lesson && write_lesson(*lesson).size() > most_lesson_bytes) return too_large;
    return lesson;
}

Result<std::size_t> right_choice(const Ask& ask, const Lookup& lookup) {
    const auto outcome = evaluate(ask.answer.expression, lookup);
    if (!outcome) return outcome.error();
    if (const std::string* text = std::get_if<std::string>(&outcome->value)) {
        const auto found = std::ranges::find(ask.choices, trimmed(*text));
        if (found != ask.choices.end()) return static_cast<std::size_t>(found - ask.choices.begin());
        return Error{"the answer is " + shown(*text) + ", which is no choice; add it to the choices"};
    }
    const double* number = std::get_if<double>(&outcome->value);
    if (number != nullptr)
        for (std::size_t i = 0; i < ask.choices.size(); ++i)
            if (*number == static_cast<double>(i)) return i;
    return Error{"the answer is no choice; let it be the text of one, or its index from 0"};
}

Result<bool> is_right(const Ask& ask, double answered, const Lookup& lookup) {
    const auto outcome = evaluate(ask.answer.expression, lookup);
    if (!outcome) return outcome.error();
    const double* number = std::get_if<double>(&outcome->value);
    if (number == nullptr) return Error{"the answer is no number; change its expression"};
    const auto& tolerance = ask.answer.tolerance;
    return std::abs(answered - *number) <= (tolerance ? tolerance->value() : default_tolerance(*number));
}

}  // namespace attn::lesson
