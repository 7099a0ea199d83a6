// Merges the tokens of a text into larger units: words, sentences, or spans that a person has named. Maps and
// flows show a unit as one row and one column (maps/merged.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

enum class Unit : std::uint8_t { tokens, words, sentences, spans };
inline constexpr std::size_t unit_count = 4;

// A named part of a text.
struct TokenSpan {
    Range tokens;
    std::string name;
    Index text = 0;  // counts texts, where queries and keys are of different ones: the keys' is 0
    bool operator==(const TokenSpan&) const = default;
};

struct UnitAxis {
    std::vector<Range> tokens;  // the tokens of each unit; together, all tokens in order
    std::vector<std::string> names;

    Index count() const { return std::ssize(tokens); }
    Range of(Index unit) const { return tokens[static_cast<std::size_t>(unit)]; }
    const std::string& name(Index unit) const { return names[static_cast<std::size_t>(unit)]; }
    Index unit_of(Index token) const;    // the unit that the token belongs to
    Range units_of(Range tokens) const;  // the units that have some of these tokens; not for an empty range
    Range tokens_of(Range units) const;  // all tokens of these units; not for an empty range
    bool merges() const { return !tokens.empty() && tokens.back().end > count(); }  // some have several
    bool operator==(const UnitAxis&) const = default;
};

// text/words.hpp says which tokens are a word.
UnitAxis word_axis(std::span<const std::string> pieces, std::string_view text = {});
// A sentence ends behind a full stop, a question or exclamation mark or an ellipsis, with what closes a
// quotation or a bracket behind it, unless the next word follows without a space or begins in lower case; and
// at a line break (after UAX #29, sentence boundaries, rules SB4, SB6 to SB11). Pieces spell spaces as
// text/words.hpp says; Chinese and Japanese marks need no space.
UnitAxis sentence_axis(std::span<const std::string> pieces, std::string_view text = {});
// Spans are in order and do not overlap; those beyond the text are left out. Any other token stays on its
// own, under its own name.
UnitAxis span_axis(std::span<const std::string> names, std::span<const TokenSpan> spans, Index text = 0);

// A number for each unit, equal for units of equal text, whatever spaces come before it.
std::vector<std::int32_t> unit_ids(const UnitAxis& units, std::span<const std::string> pieces);

// A text's units, each found when it is first asked for.
class TextUnits {
  public:
    TextUnits() = default;
    // `number` counts texts, as in TokenSpan.
    explicit TextUnits(std::vector<std::string> pieces, std::string text = {}, Index number = 0)
        : pieces_(std::move(pieces)), text_(std::move(text)), number_(number) {}

    const std::vector<std::string>& pieces() const { return pieces_; }
    Index number() const { return number_; }
    const UnitAxis& words() const;
    // Not for tokens. An axis of spans stays until others are asked for.
    const UnitAxis& axis(Unit unit, std::span<const TokenSpan> spans) const;

  private:
    std::vector<std::string> pieces_;
    std::string text_;
    Index number_ = 0;
    mutable std::optional<UnitAxis> words_, sentences_;
    mutable std::vector<TokenSpan> spans_of_;
    mutable std::optional<UnitAxis> spans_;
};

// For each unit, the text of its only token, or how many tokens it has.
std::vector<std::string> below_units(const UnitAxis& units, std::span<const std::string> token_texts);

// A side of a map or of a flow as a person sees it: its tokens, or larger units.
struct ShownAxis {
    std::span<const std::string> names;
    const UnitAxis* units = nullptr;  // null: tokens

    // What shows a token; none where there is no such token.
    std::optional<Index> shown(std::optional<Index> token) const;
    // The token that is shown; of a unit the last one, in which all of it has been read.
    std::optional<Index> token(std::optional<Index> shown) const;
    // Units that overlap a non-empty range of tokens.
    Range shown(Range tokens) const { return units ? units->units_of(tokens) : tokens; }
    Range tokens(Range shown) const { return units ? units->tokens_of(shown) : shown; }
};

}  // namespace attn
