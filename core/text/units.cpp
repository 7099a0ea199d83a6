#include "text/units.hpp"

#include <algorithm>
#include <map>

#include "text/unicode_class.hpp"
#include "text/utf8.hpp"
#include "text/words.hpp"

namespace attn {

namespace {

constexpr std::ptrdiff_t longest_name = 24;  // characters

// Marks that end a sentence whatever follows, that do so unless the next word begins in lower case, and that
// may stand behind either.
constexpr std::u32string_view end_marks = U"!?‽؟।", ends_without_space = U"。！？", full_stops = U".…",
                              closing_marks = U"\"'”’»)]}›」』）";

bool is_one_of(char32_t point, std::u32string_view marks) {
    return marks.find(point) != std::u32string_view::npos;
}

// Without marks for spaces.
std::u32string points_of(std::string_view text) {
    std::u32string points;
    while (!text.empty()) {
        const CodePoint point = first_code_point(text);
        if (!is_one_of(point.value, U" Ġ▁·")) points += point.value;
        text.remove_prefix(point.bytes);
    }
    return points;
}

bool is_line_break(const std::u32string& word) {
    return word.find(U'\n') != std::u32string::npos || word.find(U'Ċ') != std::u32string::npos ||
           word.find(U'↵') != std::u32string::npos;
}

bool only_closes(const std::u32string& word) {
    return !word.empty() &&
           std::ranges::all_of(word, [](char32_t at) { return is_one_of(at, closing_marks); });
}

// Whether a sentence ends between two words, the first of which may be followed by what closes a quotation.
bool ends_between(const std::u32string& word, const std::u32string& next, bool is_apart) {
    if (is_line_break(word)) return true;
    std::size_t last = word.size();
    while (last > 0 && is_one_of(word[last - 1], closing_marks)) --last;
    if (last == 0) return false;
    const char32_t mark = word[last - 1];
    if (is_one_of(mark, ends_without_space)) return true;
    if (!is_apart) return false;
    if (is_one_of(mark, end_marks)) return true;
    const auto letter =
        std::ranges::find_if(next, [](char32_t at) { return class_of(at) == UnicodeClass::letter; });
    return is_one_of(mark, full_stops) && !(letter != next.end() && case_of(*letter) == LetterCase::lower);
}

std::string shortened(const std::string& name) {
    std::string storage;
    const std::string_view whole = well_formed(name, storage), some = first_code_points(whole, longest_name);
    return std::string(some) + (some.size() < whole.size() ? "…" : "");
}

}  // namespace

UnitAxis word_axis(std::span<const std::string> pieces, std::string_view text) {
    UnitAxis axis;
    for (Word& word : words_of(pieces, text)) {
        axis.tokens.push_back(word.tokens);
        axis.names.push_back(std::move(word.name));
    }
    return axis;
}

UnitAxis sentence_axis(std::span<const std::string> pieces, std::string_view text) {
    const std::vector<Word> words = words_of(pieces, text);
    UnitAxis axis;
    std::u32string ending;  // the last word that did not only close something
    bool ended = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const Word& word = words[i];
        const std::u32string points = points_of(word.name);
        std::u32string next = points;  // words up to the first letter
        for (std::size_t j = i + 1; j < std::min(i + 3, words.size()); ++j) next += points_of(words[j].name);
        if (i > 0)
            ended = ends_between(ending, next, word.is_apart) && !(only_closes(points) && !word.is_apart);
        if (ended) {
            axis.tokens.push_back(word.tokens);
            axis.names.push_back(word.name);
        } else {
            axis.tokens.back().end = word.tokens.end;
            axis.names.back() += (word.is_apart ? " " : "") + word.name;
        }
        if (!only_closes(points) || word.is_apart) ending = points;
    }
    for (std::string& name : axis.names) name = shortened(name);
    return axis;
}

UnitAxis span_axis(std::span<const std::string> names, std::span<const TokenSpan> spans, Index text) {
    UnitAxis axis;
    Index next = 0;
    const Index all = std::ssize(names);
    const auto on_its_own = [&](Index until) {
        for (; next < until; ++next) {
            axis.tokens.push_back({next, next + 1});
            axis.names.push_back(names[static_cast<std::size_t>(next)]);
        }
    };
    for (const TokenSpan& span : spans) {
        if (span.text != text || span.tokens.begin < next || span.tokens.end > all) continue;
        on_its_own(span.tokens.begin);
        axis.tokens.push_back(span.tokens);
        axis.names.push_back(span.name);
        next = span.tokens.end;
    }
    on_its_own(all);
    return axis;
}

std::vector<std::int32_t> unit_ids(const UnitAxis& units, std::span<const std::string> pieces) {
    std::map<std::u32string, std::int32_t> known;
    std::vector<std::int32_t> ids;
    for (const Range& tokens : units.tokens) {
        std::u32string text;
        for (Index token = tokens.begin; token < tokens.end; ++token)
            text += points_of(pieces[static_cast<std::size_t>(token)]);
        ids.push_back(
            known.try_emplace(std::move(text), static_cast<std::int32_t>(known.size())).first->second);
    }
    return ids;
}

Index UnitAxis::unit_of(Index token) const {
    return std::ranges::upper_bound(tokens, token, {}, &Range::begin) - tokens.begin() - 1;
}

Range UnitAxis::units_of(Range some) const { return {unit_of(some.begin), unit_of(some.end - 1) + 1}; }

Range UnitAxis::tokens_of(Range units) const { return {of(units.begin).begin, of(units.end - 1).end}; }

const UnitAxis& TextUnits::words() const {
    if (!words_) words_ = word_axis(pieces_, text_);
    return *words_;
}

const UnitAxis& TextUnits::axis(Unit unit, std::span<const TokenSpan> spans) const {
    if (unit == Unit::sentences) {
        if (!sentences_) sentences_ = sentence_axis(pieces_, text_);
        return *sentences_;
    }
    if (unit != Unit::spans) return words();
    if (!spans_ || !std::ranges::equal(spans, spans_of_)) {
        spans_of_.assign(spans.begin(), spans.end());
        spans_ = span_axis(pieces_, spans, number_);
    }
    return *spans_;
}

std::vector<std::string> below_units(const UnitAxis& units, std::span<const std::string> token_texts) {
    std::vector<std::string> texts;
    for (const Range& tokens : units.tokens)
        texts.push_back(tokens.size() == 1 ? token_texts[static_cast<std::size_t>(tokens.begin)]
                                           : std::to_string(tokens.size()) + " tokens");
    return texts;
}

std::optional<Index> ShownAxis::shown(std::optional<Index> token) const {
    const Index tokens = units ? units->tokens.back().end : std::ssize(names);
    if (!token || *token >= tokens) return std::nullopt;
    return units ? units->unit_of(*token) : *token;
}

std::optional<Index> ShownAxis::token(std::optional<Index> shown) const {
    return units && shown ? units->of(*shown).end - 1 : shown;
}

}  // namespace attn
