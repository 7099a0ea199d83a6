#include "app/explained.hpp"

namespace attn::app {

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

// Inside a member function, its own name hides the friend function of Column.
namespace {
Expression product(Column a, Column b) { return dot(std::move(a), std::move(b)); }
Expression total(Column a) { return sum(std::move(a)); }
}  // namespace

Expression Explained::dot() const { return product(left(), right()); }
Expression Explained::sum() const { return total(left()); }

}  // namespace attn::app
