#include "lesson/validate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "lesson/prose.hpp"
#include "lesson/tokens.hpp"

namespace attn::lesson {

namespace {

// Tells whether a sign of per cent comes next, also as LaTeX writes it.
bool is_per_cent(std::string_view text) {
    constexpr std::array<std::string_view, 6> blanks{" ", "~", "\\,", "\\ ", "\u00a0", "\u202f"};
    for (const std::string_view blank : blanks)
        if (text.starts_with(blank)) {
            text.remove_prefix(blank.size());
            break;
        }
    return text.starts_with("%") || text.starts_with("\\%") || text.starts_with("per cent") ||
           text.starts_with("percent");
}

// Returns the numbers that a text says, sorted. Each is read twice, since a comma separates thousands or
// decimals: 2,048 and 0,8.
std::vector<double> numbers_said(std::string_view text) {
    std::vector<double> found;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_digit(text[i])) continue;
        const std::size_t begin = i > 0 && text[i - 1] == '.' ? i - 1 : i;
        const auto is_part = [&](std::size_t at) {
            const bool before_digit = at + 1 < text.size() && is_digit(text[at + 1]);
            if (text[at] == '.' || text[at] == ',') return before_digit;
            if (text[at] != 'e' || at + 1 >= text.size()) return is_digit(text[at]);
            const bool is_signed = text[at + 1] == '-' || text[at + 1] == '+';
            return before_digit || (is_signed && at + 2 < text.size() && is_digit(text[at + 2]));
        };
        while (i < text.size() && (is_part(i) || (text[i - 1] == 'e' && (text[i] == '-' || text[i] == '+'))))
            ++i;
        std::string thousands(text.substr(begin, i - begin)), decimals = thousands;
        std::erase(thousands, ',');
        std::ranges::replace(decimals, ',', '.');
        const double unit = is_per_cent(text.substr(i)) ? 100 : 1;
        for (const std::string& digits : {thousands, decimals})
            found.push_back(std::strtod(digits.c_str(), nullptr) / unit);
    }
    std::ranges::sort(found);
    return found;
}

bool is_among(const std::vector<double>& sorted, double number) {
    const double wanted = std::abs(number), margin = 1e-9 * std::max(1e-3, wanted);
    const auto next = std::ranges::lower_bound(sorted, wanted - margin);
    return next != sorted.end() && *next <= wanted + margin;
}

std::string count(std::size_t number, std::string_view what) {
    return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

// Says whether a sentence of the text is a question; a link also may hold a question mark.
bool has_question(std::string_view text) {
    constexpr std::array<std::string_view, 3> question_marks{"?", "？", "؟"};
    return std::ranges::any_of(question_marks, [&](std::string_view mark) {
        for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
            const std::size_t end = at + mark.size();
            const bool ends_word =
                at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n' && text[at - 1] != '/';
            const bool goes_on =
                end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0;
            if (ends_word && !goes_on) return true;
        }
        return false;
    });
}

class Validation {
  public:
    explicit Validation(std::span<const KnownName> known) : known_(known) {}

    void look_at(const Step& step) {
        if (std::ranges::find(titles_, step.title) != titles_.end())
            add(step.line, "two steps are called " + shown(step.title) + "; give one another title");
        titles_.push_back(step.title);
        std::string said = step.title;
        for (const Block& block : step.prose) said.append("\n").append(block.text);
        if (step.checks.empty() && step.asks.empty() && !has_question(said))
            add(step.line, "the step " + shown(step.title) +
                               " asks nothing; add a check or an ask, or put a question into its text");
        const std::vector<double> numbers = numbers_said(said);
        look_at_prose(step.prose);
        for (const Check& check : step.checks) {
            look_at_thresholds(check, numbers);
            look_at_names(check.expression, check.line);
            for (const Sentence* sentence : {&check.sentence, &check.seen})
                look_at_numbers(*sentence, check.line);
        }
        for (const Ask& ask : step.asks) {
            look_at_text(ask.question, ask.line);
            look_at_names(ask.answer.expression, ask.line);
        }
        for (const Hint& hint : step.hints) look_at_text(hint.text, hint.line);
    }
    void look_at_prose(const std::vector<Block>& blocks) {
        for (const Block& block : blocks)
            if (block.kind == Block::Kind::paragraph) look_at_text(block.text, block.line);
    }

    std::vector<Finding> findings() && {
        std::ranges::sort(found_);
        const auto same = std::ranges::unique(found_);
        found_.erase(same.begin(), same.end());
        return std::move(found_);
    }

  private:
    void add(Place line, std::string sentence) { found_.push_back({line.number, std::move(sentence)}); }

    void look_at_text(const std::string& text, Place line) {
        const auto prose = parse_prose(text);
        if (!prose) return add(line, "in this paragraph, " + prose.error().message);
        for (const Inline& each : *prose) look_at_numbers(each.sentence, line);
    }
    void look_at_numbers(const Sentence& sentence, Place line) {
        for (const Part& part : sentence.parts) look_at_names(part.expression, line);
    }

    void look_at_thresholds(const Check& check, const std::vector<double>& said) {
        for (const double threshold : thresholds(check.expression))
            if (!is_among(said, threshold))
                add(check.line, "the check asks for " + to_text(Number{threshold, false}) +
                                    ", which the prose of its step does not say; say it there");
    }

    void look_at_names(const Expression& expression, Place line) {
        for (const auto& [name, arguments] : used_names(expression)) {
            const auto is_called = [&](const KnownName& other) { return other.name == name; };
            const auto fits = [&](const KnownName& other) {
                return is_called(other) && other.least <= arguments && arguments <= other.most;
            };
            const auto found = std::ranges::find_if(known_, is_called);
            if (found == known_.end())
                add(line, "nothing is called " + shown(name) + "; use a name that the page knows");
            else if (std::ranges::none_of(known_, fits))
                add(line, shown(name) + " has " + count(arguments, "argument") + " here; give it " +
                              wanted(*found));
        }
    }
    static std::string wanted(const KnownName& name) {
        if (name.most == any_number) return count(name.least, "argument") + " or more";
        if (name.least == name.most) return name.most == 0 ? "none" : std::to_string(name.most);
        return std::to_string(name.least) + " to " + std::to_string(name.most);
    }

    std::span<const KnownName> known_;
    std::vector<std::string_view> titles_;
    std::vector<Finding> found_;
};

}  // namespace

bool says_number(std::string_view text, double number) { return is_among(numbers_said(text), number); }

std::vector<Finding> validate(const Lesson& lesson, std::span<const KnownName> known) {
    Validation validation(known);
    validation.look_at_prose(lesson.introduction);
    for (const Step& step : lesson.steps) validation.look_at(step);
    return std::move(validation).findings();
}

Finding finding_of(const Error& error) {
    std::string_view text = error.message;
    Finding finding{1, error.message};
    constexpr std::string_view line = "line ";
    if (!text.starts_with(line)) return finding;
    text.remove_prefix(line.size());
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), finding.line);
    if (failure != std::errc()) return finding;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    finding.sentence = text.substr(std::min(text.find_first_not_of(":, "), text.size()));
    return finding;
}

}  // namespace attn::lesson
