// Represents a calculation: lines of expressions over numbers and columns, evaluated in double. LaTeX, NumPy
// and C++ are generated from its trees (app/copied.hpp).
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

}  // namespace attn::app
