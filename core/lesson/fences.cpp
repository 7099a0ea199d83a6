#include "lesson/fences.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "lesson/tokens.hpp"
#include "text/utf8.hpp"

namespace attn::lesson {

namespace {

using Rows = std::span<const Row>;

// Adds the line to an error that names a column.
Error in_line(std::size_t line, const Error& error) {
    return Error{"line " + std::to_string(line) + ", " + error.message};
}

std::size_t column_of(std::string_view text, std::size_t byte) {
    return static_cast<std::size_t>(count_code_points(text.substr(0, byte))) + 1;
}

std::vector<Row> filled_rows(Rows rows) {
    std::vector<Row> found;
    for (const Row& row : rows)
        if (const std::string_view text = trimmed(row.text); !text.empty()) found.push_back({text, row.line});
    return found;
}

Result<std::string> read_link(const std::vector<Row>& rows, std::size_t line, std::string_view kind) {
    if (rows.empty())
        return at_line(line, "this " + std::string(kind) + " is empty; write a link of the page, v=1&…");
    std::string_view link = rows[0].text;
    if (link.starts_with('#')) link.remove_prefix(1);
    const std::size_t digits = link.starts_with("v=") ? link.find_first_not_of("0123456789", 2) : 2;
    if (digits == 2 || link.size() == 2 || (digits != link.npos && link[digits] != '&'))
        return at_line(rows[0].line,
                       shown(link) + " is no link of the page; write what follows # in its address, v=1&…");
    if (!std::ranges::all_of(link, [](char c) { return c > ' ' && c < '\x7f'; }))
        return at_line(rows[0].line,
                       "this link holds a blank or a letter outside ASCII; copy it from the page");
    return std::string(link);
}

Status read_view(const std::vector<Row>& rows, std::size_t line, Step& step) {
    if (step.view)
        return at_line(line,
                       "this step has a view already; a link that passes its checks is a solution, one that "
                       "does not is a wrong");
    auto link = read_link(rows, line, "view");
    if (!link) return link.error();
    View view{*std::move(link), {}, {line}};
    for (const Row& row : Rows(rows).subspan(1)) {
        if (!row.text.starts_with("lock:"))
            return at_line(row.line,
                           "after its link, a view has only lines such as “lock: W_Q, X”; remove this one");
        std::string_view rest = row.text.substr(5);
        while (true) {
            const std::size_t comma = rest.find(',');
            const std::string_view name = trimmed(rest.substr(0, comma));
            if (name.empty() || name.find_first_of(" \t") != name.npos)
                return at_line(
                    row.line,
                    "names that are locked stand between commas and hold no blanks; correct " + shown(name));
            if (std::ranges::find(view.locks, name) != view.locks.end())
                return at_line(row.line, shown(name) + " is locked twice; remove one");
            if (view.locks.size() == most_locks)
                return at_line(row.line, "a view locks at most 100 names; remove some");
            view.locks.emplace_back(name);
            if (comma == rest.npos) break;
            rest.remove_prefix(comma + 1);
        }
    }
    step.view = std::move(view);
    return ok();
}

// Reads a sentence that stands within `text`.
Result<Sentence> read_sentence(std::string_view text, std::string_view said) {
    return parse_sentence(said, column_of(text, static_cast<std::size_t>(said.data() - text.data())));
}

Status read_checks(Rows rows, std::size_t line, Step& step) {
    const std::size_t before = step.checks.size();
    for (const auto& [text, number] : rows) {
        if (trimmed(text).empty()) continue;
        if (step.checks.size() == most_checks)
            return at_line(number, "a step has at most 20 checks; move this one into another step");
        const std::size_t bar = find_outside_texts(text, "|");
        auto expression = parse_expression(text.substr(0, bar));
        if (!expression) return in_line(number, expression.error());
        if (bar == text.npos || trimmed(text.substr(bar + 1)).empty())
            return at_line(number,
                           "a check needs “|” and a sentence that is said while it is false; add them");
        const std::string_view said = text.substr(bar + 1);
        const std::size_t second = find_outside_texts(said, "|");
        auto sentence = read_sentence(text, trimmed(said.substr(0, second)));
        if (!sentence) return in_line(number, sentence.error());
        if (sentence->parts.empty())
            return at_line(number, "a sentence that is said while the check is false is missing; add it");
        Sentence seen;
        if (second != said.npos) {
            auto read = read_sentence(text, trimmed(said.substr(second + 1)));
            if (!read) return in_line(number, read.error());
            if (read->parts.empty())
                return at_line(number, "no sentence follows the second “|”; add one, or remove the “|”");
            seen = *std::move(read);
        }
        step.checks.push_back({*std::move(expression), *std::move(sentence), std::move(seen), {number}});
    }
    if (step.checks.size() == before)
        return at_line(
            line, "this check is empty; write a line such as “p(\"cat\") > 0.5 | It is {p(\"cat\"):%}.”");
    return ok();
}

bool gives_truth(const Expression& expression) {
    return expression.nodes.back().kind <= Node::Kind::comparison;
}

// Reads the line "answer: …".
Status read_answer(const Row& row, Ask& ask) {
    constexpr std::string_view key = "answer:";
    if (!row.text.starts_with(key))
        return at_line(row.line,
                       "the answer of this question should stand here; write “answer:” and an expression");
    auto answer = parse_answer(row.text.substr(key.size()), key.size() + 1);
    if (!answer) return in_line(row.line, answer.error());
    if (used_names(answer->expression).empty())
        return at_line(row.line, "an answer is computed; use a name such as argmax(…), not a constant alone");
    if (gives_truth(answer->expression))
        return at_line(row.line, "an answer is a number or a text; remove the comparison");
    if (answer->tolerance && !ask.choices.empty())
        return at_line(row.line, "an answer among choices has no tolerance; remove the ±");
    ask.answer = *std::move(answer);
    return ok();
}

Status read_ask(const std::vector<Row>& rows, std::size_t line, Step& step) {
    constexpr std::string_view mark = "( )";
    const auto is_question = [&](std::string_view text) {
        return !text.starts_with(mark) && text != "number" && !text.starts_with("answer:");
    };
    if (rows.empty() || !is_question(rows[0].text))
        return at_line(line, "an ask begins with its question; write it in one line");
    Ask ask{std::string(rows[0].text), {}, {}, {line}};
    std::size_t at = 1;
    for (; at < rows.size() && rows[at].text.starts_with(mark); ++at) {
        const std::string_view choice = trimmed(rows[at].text.substr(mark.size()));
        if (choice.empty() || std::ranges::find(ask.choices, choice) != ask.choices.end())
            return at_line(rows[at].line, "a choice is empty or stands here twice; change it");
        if (ask.choices.size() == most_choices)
            return at_line(rows[at].line, "a question has at most 10 choices; remove some");
        ask.choices.emplace_back(choice);
    }
    if (ask.choices.size() == 1) return at_line(rows[1].line, "a question needs two choices; add one");
    if (ask.choices.empty()) {
        if (at == rows.size() || rows[at].text != "number")
            return at_line(
                at < rows.size() ? rows[at].line : line,
                "after its question, an ask has lines such as “( ) cat”, or the line “number”; add them");
        ++at;
    }
    if (at == rows.size())
        return at_line(line, "this question has no answer; add a line “answer:” and an expression");
    if (const Status read = read_answer(rows[at], ask); !read) return read;
    if (at + 1 < rows.size())
        return at_line(rows[at + 1].line, "an ask ends with its answer; remove this line");
    step.asks.push_back(std::move(ask));
    return ok();
}

Status read_hint(Rows rows, std::size_t line, Step& step) {
    const auto is_filled = [](const Row& row) { return !row.text.empty(); };
    const auto first = std::ranges::find_if(rows, is_filled);
    std::string text;
    std::size_t blank = 0;
    for (auto row = first; row != rows.end(); ++row) {
        ++blank;
        if (!is_filled(*row)) continue;
        if (!text.empty()) text.append(blank, '\n');
        text += row->text;
        blank = 0;
    }
    if (text.empty()) return at_line(line, "this hint is empty; write what helps");
    step.hints.push_back({std::move(text), {line}});
    return ok();
}

Status read_solution(const std::vector<Row>& rows, std::size_t line, Step& step) {
    if (step.solution) return at_line(line, "this step has a solution already; keep one of them");
    auto link = read_link(rows, line, "solution");
    if (!link) return link.error();
    if (rows.size() > 1) return at_line(rows[1].line, "a solution is one link; remove this line");
    step.solution = Solution{*std::move(link), {line}};
    return ok();
}

Status read_wrong(const std::vector<Row>& rows, std::size_t line, Step& step) {
    constexpr std::string_view key = "fails:";
    auto link = read_link(rows, line, "wrong");
    if (!link) return link.error();
    if (rows.size() != 2 || !rows[1].text.starts_with(key))
        return at_line(line, "a wrong has two lines, a link and “fails: 1”; say there which check fails");
    const std::string_view text = trimmed(rows[1].text.substr(key.size()));
    std::size_t fails = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), fails);
    if (failure != std::errc() || end != text.data() + text.size() || fails == 0 || fails > most_checks)
        return at_line(rows[1].line,
                       "the number of a check should stand here; count the lines of checks from 1");
    step.wrongs.push_back({*std::move(link), fails, {line}});
    return ok();
}

}  // namespace

Error at_line(std::size_t line, std::string_view sentence) {
    return Error{"line " + std::to_string(line) + ": " + std::string(sentence)};
}

Status read_fence(std::string_view kind, std::size_t line, std::span<const Row> rows, Step& step) {
    const std::vector<Row> filled = filled_rows(rows);
    if (step.asks.size() + step.hints.size() + step.wrongs.size() == most_fences)
        return at_line(line, "a step has at most 40 questions, hints and wrong attempts; start a new step");
    if (kind == "view") return read_view(filled, line, step);
    if (kind == "check") return read_checks(rows, line, step);
    if (kind == "ask") return read_ask(filled, line, step);
    if (kind == "hint") return read_hint(rows, line, step);
    if (kind == "solution") return read_solution(filled, line, step);
    if (kind == "wrong") return read_wrong(filled, line, step);
    return at_line(line,
                   "no fence is called " + shown(kind) + "; use view, check, ask, hint, solution or wrong");
}

}  // namespace attn::lesson
