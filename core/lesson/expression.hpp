// The language of a lesson's checks: and, or, not, comparisons (also chained), arithmetic, texts, and names
// that the caller looks up. An expression ends: it has no loops and no assignment.
//
//     either     = both {"or" both}               comparison = sum {("<" "<=" ">" ">=" "=" "!=") sum}
//     both       = negation {"and" negation}                   ["±" number, after "=" or "!="]
//     negation   = "not" negation | comparison    sum, product, sign: as usual
//     primary    = number ["%"] | "text" | name ["(" either {"," either} ")"] | "(" either ")"
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/result.hpp"

namespace attn::lesson {

inline constexpr std::size_t most_expression_bytes = 2000, most_nesting = 40, most_nodes = 200;

// A place in a source. Two things that differ in their places alone are equal.
struct Place {
    std::size_t number = 0;  // a line or a column, counted from 1
    friend bool operator==(Place, Place) { return true; }
};

struct Number {
    double written = 0;  // 80 for 80 %
    bool is_percent = false;
    double value() const { return is_percent ? written / 100 : written; }
    bool operator==(const Number&) const = default;
};

enum class Comparison : std::uint8_t { less, at_most, more, at_least, equal, unequal };
std::string_view sign(Comparison comparison);  // "<="

struct Node {
    enum class Kind : std::uint8_t {
        either,  // or
        both,    // and
        negation,
        comparison,
        sum,
        difference,
        product,
        quotient,
        opposite,  // unary minus
        number,
        text,
        name
    };
    struct Link {
        Comparison comparison;
        std::optional<Number> tolerance;
        bool operator==(const Link&) const = default;
    };
    Kind kind = Kind::number;
    Number number;
    std::string text;                   // a text or a name
    std::vector<std::size_t> operands;  // indices of earlier nodes
    std::vector<Link> links;            // between a comparison's operands
    Place column;
    bool operator==(const Node&) const = default;
};

struct Expression {
    std::vector<Node> nodes;  // operands come first, so that the root is the last one
    bool operator==(const Expression&) const = default;
};

// An error says "column 7: …", where the first character stands in `first_column`.
Result<Expression> parse_expression(std::string_view text, std::size_t first_column = 1);

// An answer within a tolerance, as in "score(0, 1) ± 0.01".
struct Answer {
    Expression expression;
    std::optional<Number> tolerance;
    bool operator==(const Answer&) const = default;
};
Result<Answer> parse_answer(std::string_view text, std::size_t first_column = 1);

// Returns the expression in canonical form, which parses to the same one.
std::string to_text(const Expression& expression);
std::string to_text(const Answer& answer);
std::string to_text(const Number& number);

struct UsedName {
    std::string name;
    std::size_t arguments = 0;
    bool operator==(const UsedName&) const = default;
};
std::vector<UsedName> used_names(const Expression& expression);  // in order, each once

// Returns the numbers written in what is compared, but not those in the arguments of a name.
std::vector<double> thresholds(const Expression& expression);

using Value = std::variant<double, bool, std::string>;
// Gives the value of a name; one without parentheses has no arguments.
using Lookup = std::function<Result<Value>(std::string_view name, std::span<const Value> arguments)>;

// How far a number is from its bound. The bound is the side that looks up nothing, or else the right one.
// Under `not`, the comparison is the opposite of the one written.
struct Measured {
    double value = 0, bound = 0;
    Comparison comparison = Comparison::less;
    double tolerance = 0;  // within which = and != compare: 1e-6 · max(1, |bound|) unless the expression says
};

struct Outcome {
    Value value;
    std::optional<Measured>
        measured;  // the first comparison of numbers that fails; if true, the last that holds
};
Result<Outcome> evaluate(const Expression& expression, const Lookup& lookup);

double default_tolerance(double bound);

}  // namespace attn::lesson
