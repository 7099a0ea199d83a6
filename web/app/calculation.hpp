// Represents a calculation: lines of expressions over numbers and columns, evaluated in double. The
// arithmetic of steps, LaTeX, NumPy and C++ (app/copied.hpp) are generated from its trees.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn::app {

class Expression;

// A named vector: the left or right operands of a sum.
struct Column {
    std::string name;
    std::vector<double> values;

    friend Expression dot(Column a, Column b);                // Σ a b
    friend Expression sum(Column a);                          // Σ a
    friend Expression norm(Column a);                         // √Σ a²
    friend Expression spread(Column a, const Expression& m);  // Σ (a − m)²
};

// A tree, cheap to copy, that keeps the value of its operands.
class Expression {
  public:
    enum class Kind {
        number,
        line,
        add,
        subtract,
        multiply,
        divide,
        exp,
        log,
        tanh,
        sqrt,
        erfc,
        max,
        dot,
        sum,
        spread
    };

  private:
    struct Node {
        Kind kind;
        std::string name;
        std::vector<Expression> operands;
        std::vector<Column> columns;
    };

  public:
    Expression(double number);  // NOLINT(google-explicit-constructor): 0.5 * score
    // An earlier line, referred to by name.
    Expression(std::string name, double value);

    double value() const { return value_; }
    Kind kind() const { return node_->kind; }
    const std::string& name() const { return node_->name; }
    std::span<const Expression> operands() const { return node_->operands; }
    std::span<const Column> columns() const { return node_->columns; }

    friend Expression operator+(const Expression& a, const Expression& b);
    friend Expression operator-(const Expression& a, const Expression& b);
    friend Expression operator*(const Expression& a, const Expression& b);
    friend Expression operator/(const Expression& a, const Expression& b);
    friend Expression exp(const Expression& x);
    friend Expression log(const Expression& x);
    friend Expression tanh(const Expression& x);
    friend Expression sqrt(const Expression& x);
    friend Expression erfc(const Expression& x);
    friend Expression max(const Expression& a, const Expression& b);
    friend Expression dot(Column a, Column b);
    friend Expression sum(Column a);
    friend Expression spread(Column a, const Expression& m);

  private:
    Expression(Kind kind, double value, std::vector<Expression> operands, std::vector<Column> columns = {});

    double value_;
    std::shared_ptr<const Node> node_;
};

class Calculation {
  public:
    struct Line {
        std::string name;
        Expression expression;
        double value() const { return expression.value(); }
    };

    // Adds a line; later ones refer to it by the returned expression.
    Expression line(std::string name, const Expression& expression);
    void clear() { lines_.clear(); }
    bool empty() const { return lines_.empty(); }
    std::span<const Line> lines() const { return lines_; }
    // The last line, referred to by name.
    Expression result() const { return {lines_.back().name, lines_.back().value()}; }
    // Lists every column that a line uses, once.
    std::vector<const Column*> columns() const;

  private:
    std::vector<Line> lines_;
};

// Returns how tightly the operator of a kind binds: 1 for sums, 2 for products, 3 for everything that needs
// no brackets.
int precedence(Expression::Kind kind);
// Writes an expression with a Notation's numbers, names, signs and calls, and no more brackets than needed.
//
// number(value, alone), line(expression), sign(kind) like " + ", call(expression, arguments),
// over_columns(expression, alone); alone: no operator is beside it.
std::string in_notation(const Expression& e, const auto& notation, int least = 0, bool first = true) {
    using Kind = Expression::Kind;
    const int own = precedence(e.kind());
    const auto enclosed = [&](std::string text) { return own < least ? "(" + text + ")" : text; };
    switch (e.kind()) {
        case Kind::number: return notation.number(e.value(), first && least == 0);
        case Kind::line: return notation.line(e);
        case Kind::add:
        case Kind::subtract:
        case Kind::multiply:
        case Kind::divide: {
            const bool is_left_bound = e.kind() == Kind::subtract || e.kind() == Kind::divide;
            return enclosed(in_notation(e.operands()[0], notation, own, first) + notation.sign(e.kind()) +
                            in_notation(e.operands()[1], notation, own + is_left_bound, false));
        }
        case Kind::dot:
        case Kind::sum:
        case Kind::spread: return enclosed(notation.over_columns(e, first && least == 0));
        default: break;
    }
    std::string arguments;
    for (const Expression& each : e.operands())
        arguments += (arguments.empty() ? "" : ", ") + in_notation(each, notation, 0, true);
    return notation.call(e, arguments);
}

// Writes the arithmetic of a step, "1.2700 × 0.5000", if the expression is more than a number.
std::string in_numbers(const Expression& expression);

}  // namespace attn::app
