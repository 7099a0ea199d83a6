#include "app/calculation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn::app {

Expression::Expression(double number)
    : value_(number), node_(std::make_shared<Node>(Node{Kind::number, {}, {}, {}})) {}
Expression::Expression(std::string name, double value)
    : value_(value), node_(std::make_shared<Node>(Node{Kind::line, std::move(name), {}, {}})) {}
Expression::Expression(Kind kind, double value, std::vector<Expression> operands, std::vector<Column> columns)
    : value_(value), node_(std::make_shared<Node>(Node{kind, {}, std::move(operands), std::move(columns)})) {}

Expression operator+(const Expression& a, const Expression& b) {
    return {Expression::Kind::add, a.value() + b.value(), {a, b}};
}
Expression operator-(const Expression& a, const Expression& b) {
    return {Expression::Kind::subtract, a.value() - b.value(), {a, b}};
}
Expression operator*(const Expression& a, const Expression& b) {
    return {Expression::Kind::multiply, a.value() * b.value(), {a, b}};
}
Expression operator/(const Expression& a, const Expression& b) {
    return {Expression::Kind::divide, a.value() / b.value(), {a, b}};
}
Expression exp(const Expression& x) { return {Expression::Kind::exp, std::exp(x.value()), {x}}; }
Expression log(const Expression& x) { return {Expression::Kind::log, std::log(x.value()), {x}}; }
Expression tanh(const Expression& x) { return {Expression::Kind::tanh, std::tanh(x.value()), {x}}; }
Expression sqrt(const Expression& x) { return {Expression::Kind::sqrt, std::sqrt(x.value()), {x}}; }
Expression erfc(const Expression& x) { return {Expression::Kind::erfc, std::erfc(x.value()), {x}}; }
Expression max(const Expression& a, const Expression& b) {
    return {Expression::Kind::max, std::max(a.value(), b.value()), {a, b}};
}
Expression dot(Column a, Column b) {
    const double value = std::inner_product(a.values.begin(), a.values.end(), b.values.begin(), 0.0);
    return {Expression::Kind::dot, value, {}, {std::move(a), std::move(b)}};
}
Expression sum(Column a) {
    const double value = std::accumulate(a.values.begin(), a.values.end(), 0.0);
    return {Expression::Kind::sum, value, {}, {std::move(a)}};
}
Expression norm(Column a) {
    Column same = a;
    return sqrt(dot(std::move(a), std::move(same)));
}
Expression spread(Column a, const Expression& m) {
    double value = 0;
    for (const double each : a.values) value += (each - m.value()) * (each - m.value());
    return {Expression::Kind::spread, value, {m}, {std::move(a)}};
}

Expression Calculation::line(std::string name, const Expression& expression) {
    lines_.push_back({name, expression});
    return {std::move(name), expression.value()};
}

std::vector<const Column*> Calculation::columns() const {
    std::vector<const Column*> found;
    const auto visit = [&](auto& self, const Expression& e) -> void {
        for (const Column& column : e.columns())
            if (std::ranges::none_of(found, [&](const Column* each) { return each->name == column.name; }))
                found.push_back(&column);
        for (const Expression& each : e.operands()) self(self, each);
    };
    for (const Line& line : lines_) visit(visit, line.expression);
    return found;
}

}  // namespace attn::app
