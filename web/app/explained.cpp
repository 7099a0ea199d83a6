#include "app/explained.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/format.hpp"
#include "app/notation.hpp"

namespace attn::app {

namespace {

// Inside a member function, its own name hides the friend function of Column.
Expression product(Column a, Column b) { return dot(std::move(a), std::move(b)); }
Expression total(Column a) { return sum(std::move(a)); }

// A given number, like 2 or 0.35, keeps its own digits.
std::string brief(double value) {
    constexpr std::size_t given = 6;
    std::string text = shortest(value);
    return text.size() <= given ? text : four(value);
}

// Writes an expression with its numbers, as a step shows it.
struct InNumbers {
    static std::string enclosed(const std::string& text, bool is_alone) {
        return text.starts_with("-") && !is_alone ? "(" + text + ")" : text;
    }
    static std::string number(double value, bool is_alone) { return enclosed(brief(value), is_alone); }
    static std::string line(const Expression& e) { return enclosed(four(e.value()), false); }
    static std::string over_columns(const Expression& e) { return line(e); }
    static const char* sign(Expression::Kind kind) {
        switch (kind) {
            case Expression::Kind::add: return " + ";
            case Expression::Kind::subtract: return " − ";
            case Expression::Kind::multiply: return " × ";
            default: return " / ";
        }
    }
    static std::string call(const Expression& e, const std::string& arguments) {
        switch (e.kind()) {
            case Expression::Kind::sqrt:
                return arguments.find(' ') == std::string::npos ? "√" + arguments : "√(" + arguments + ")";
            case Expression::Kind::log: return "ln(" + arguments + ")";
            case Expression::Kind::exp: return "exp(" + arguments + ")";
            case Expression::Kind::tanh: return "tanh(" + arguments + ")";
            case Expression::Kind::erfc: return "erfc(" + arguments + ")";
            default: return "max(" + arguments + ")";
        }
    }
};

// A number and a sum over the operands have no arithmetic that a step could show.
std::string arithmetic_of(const Expression& e) {
    switch (e.kind()) {
        case Expression::Kind::number:
        case Expression::Kind::line:
        case Expression::Kind::dot:
        case Expression::Kind::sum: return "";
        default: return in_notation(e, InNumbers{});
    }
}

// Writes the name of a step as programs can: "exp(s − max)" becomes "exp_s_max".
std::string identifier(std::string_view shown) {
    struct Spelled {
        std::string_view sign, word;
    };
    static constexpr std::array spelled{
        Spelled{"Σ", "sum"},   Spelled{"τ", "tau"},   Spelled{"φ", "phi"},    Spelled{"√", "root"},
        Spelled{"∂", "d"},     Spelled{"Δ", "delta"}, Spelled{"λ", "lambda"}, Spelled{"σ", "sigma"},
        Spelled{"β", "beta"},  Spelled{"γ", "gamma"}, Spelled{"η", "eta"},    Spelled{"ε", "epsilon"},
        Spelled{"θ", "theta"}, Spelled{"μ", "mu"},    Spelled{"ξ", "xi"},     Spelled{"‖", "norm"}};
    std::string name;
    const auto add = [&](std::string_view word) {
        if (!name.empty() && name.back() != '_') name += '_';
        name += word;
    };
    bool in_word = false;
    while (!shown.empty()) {
        const char c = shown.front();
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter) {
            if (in_word)
                name += c;
            else
                add({&c, 1});
        } else if (const auto* found = std::ranges::find_if(
                       spelled, [&](const Spelled& each) { return shown.starts_with(each.sign); });
                   found != spelled.end()) {
            add(found->word);
        }
        in_word = letter;
        shown.remove_prefix(1);
    }
    // Names that NumPy's or C++'s text already has.
    static constexpr std::array<std::string_view, 12> reserved{
        "", "sum", "dot", "spread", "max", "exp", "and", "for", "in", "is", "lambda", "not"};
    if (std::ranges::find(reserved, name) != reserved.end()) return name + "value";
    return name.front() >= '0' && name.front() <= '9' ? "x_" + name : name;
}

}  // namespace

Column Explained::left() const {
    Column column{left_name, {}};
    for (const Operand& each : operands) column.values.push_back(each.left);
    return column;
}
Column Explained::right() const {
    Column column{right_name, {}};
    for (const Operand& each : operands) column.values.push_back(each.right);
    return column;
}

Expression Explained::dot() const { return product(left(), right()); }
Expression Explained::sum() const { return total(left()); }
Expression Explained::dot(std::string left, std::string right) {
    left_name = std::move(left);
    right_name = std::move(right);
    return dot();
}
Expression Explained::sum(std::string left) { return left_name = std::move(left), sum(); }

void Explained::term(std::string name, double left, double right, std::optional<CellPlace> left_at,
                     std::optional<CellPlace> right_at, std::optional<CellPlace> product_at) {
    operands.push_back({std::move(name), left, right, left * right, left_at, right_at, product_at});
}

Expression Explained::line(std::string name, const Expression& expression) {
    f64 = expression.value();
    return calculation.line(std::move(name), expression);
}

Expression Explained::step(std::string name, const Expression& expression, std::optional<CellPlace> at) {
    return step(std::move(name), expression, arithmetic_of(expression), at);
}
Expression Explained::step(std::string name, const Expression& expression, std::string words,
                           std::optional<CellPlace> at) {
    std::string own = identifier(name);
    const auto taken = [&](const std::string& wanted) {
        return wanted == left_name || wanted == right_name ||
               std::ranges::any_of(calculation.lines(),
                                   [&](const auto& each) { return each.name == wanted; });
    };
    for (std::string wanted = own; taken(own);) own = wanted += "_again";
    for (Step& each : steps) each.current = false;
    steps.push_back({std::move(name), std::move(words), four(expression.value()), true, at});
    return line(std::move(own), expression);
}

void Explained::beside(std::string name, double value, std::string words, std::optional<CellPlace> at) {
    steps.push_back({std::move(name), std::move(words), four(value), false, at});
}

}  // namespace attn::app
