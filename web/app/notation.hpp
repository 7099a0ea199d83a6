// Walks over an expression's tree: a notation says how numbers, names, signs and calls are written.
#pragma once

#include <string>

#include "app/calculation.hpp"

namespace attn::app {

// Returns how tightly the operator of a kind binds: 1 for sums, 2 for products, 3 for everything that needs
// no brackets.
inline int precedence(Expression::Kind kind) {
    switch (kind) {
        case Expression::Kind::add:
        case Expression::Kind::subtract:
        case Expression::Kind::dot:
        case Expression::Kind::sum:
        case Expression::Kind::spread: return 1;
        case Expression::Kind::multiply:
        case Expression::Kind::divide: return 2;
        default: return 3;
    }
}

// Writes an expression with a Notation's numbers, names, signs and calls, and no more brackets than needed.
//
// number(value, alone), line(expression), sign(kind) like " + ", call(expression, arguments),
// over_columns(expression); alone: no operator is beside it.
std::string in_notation(const Expression& e, const auto& notation, int least = 0, bool first = true) {
    using Kind = Expression::Kind;
    const int own = precedence(e.kind());
    const auto enclosed = [&](const std::string& text) { return own < least ? "(" + text + ")" : text; };
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
        case Kind::spread: return enclosed(notation.over_columns(e));
        default: break;
    }
    std::string arguments;
    for (const Expression& each : e.operands())
        arguments += (arguments.empty() ? "" : ", ") + in_notation(each, notation, 0, true);
    return notation.call(e, arguments);
}

}  // namespace attn::app
