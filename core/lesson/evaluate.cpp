#include <algorithm>
#include <cmath>
#include <utility>

#include "lesson/expression.hpp"
#include "lesson/tokens.hpp"

namespace attn::lesson {

namespace {

using Kind = Node::Kind;

std::string kind_of(const Value& value) {
    constexpr std::string_view kinds[] = {"a number", "true or false", "a text"};
    return std::string(kinds[value.index()]);
}

Comparison opposite(Comparison comparison) {
    using enum Comparison;
    constexpr Comparison opposites[] = {at_least, more, at_most, less, unequal, equal};
    return opposites[static_cast<std::size_t>(comparison)];
}
Comparison swapped(Comparison comparison) {
    using enum Comparison;
    constexpr Comparison swaps[] = {more, at_least, less, at_most, equal, unequal};
    return swaps[static_cast<std::size_t>(comparison)];
}

bool holds(double a, double b, Comparison comparison, double tolerance) {
    const bool equal = a == b || std::abs(a - b) <= tolerance;
    switch (comparison) {
        case Comparison::less: return a < b;
        case Comparison::at_most: return a <= b;
        case Comparison::more: return a > b;
        case Comparison::at_least: return a >= b;
        case Comparison::equal: return equal;
        case Comparison::unequal: break;
    }
    return !equal;
}

// What the whole expression needs from a part: that it holds, that it does not, or another value.
enum class Wish { holds, fails, other };

class Evaluation {
  public:
    Evaluation(const Expression& expression, const Lookup& lookup)
        : nodes_(expression.nodes), lookup_(lookup) {}

    Result<Outcome> run() {
        auto whole = value(nodes_.size() - 1, Wish::holds);
        if (!whole) return whole.error();
        const bool* truth = std::get_if<bool>(&*whole);
        return Outcome{*std::move(whole), truth != nullptr && *truth ? last_holding_ : first_failing_};
    }

  private:
    template <class T>
    Result<T> get(std::size_t at, Wish wish) {
        auto found = value(at, wish);
        if (!found) return found.error();
        if (T* wanted = std::get_if<T>(&*found)) return std::move(*wanted);
        return at_column(nodes_[at].column.number,
                         kind_of(*found) + " stands where " + kind_of(Value(T{})) + " is needed; change one");
    }

    Result<Value> value(std::size_t at, Wish wish) {
        const Node& node = nodes_[at];
        switch (node.kind) {
            case Kind::number: return Value(node.number.value());
            case Kind::text: return Value(node.text);
            case Kind::name: return looked_up(node);
            case Kind::comparison: return compared(node, wish);
            case Kind::either:
            case Kind::both: {
                auto left = get<bool>(node.operands[0], wish);
                if (!left) return left.error();
                if (*left == (node.kind == Kind::either)) return Value(*left);
                auto right = get<bool>(node.operands[1], wish);
                return right ? Result<Value>(Value(*right)) : right.error();
            }
            case Kind::negation: {
                const Wish inner = wish == Wish::holds   ? Wish::fails
                                   : wish == Wish::fails ? Wish::holds
                                                         : Wish::other;
                auto operand = get<bool>(node.operands[0], inner);
                return operand ? Result<Value>(Value(!*operand)) : operand.error();
            }
            default: return calculated(node);
        }
    }

    Result<Value> calculated(const Node& node) {
        const auto a = get<double>(node.operands[0], Wish::other);
        if (!a) return a.error();
        if (node.kind == Kind::opposite) return Value(-*a);
        const auto b = get<double>(node.operands[1], Wish::other);
        if (!b) return b.error();
        switch (node.kind) {
            case Kind::sum: return Value(*a + *b);
            case Kind::difference: return Value(*a - *b);
            case Kind::product: return Value(*a * *b);
            default: return Value(*a / *b);
        }
    }

    Result<Value> looked_up(const Node& node) {
        std::vector<Value> arguments;
        for (const std::size_t operand : node.operands) {
            auto argument = value(operand, Wish::other);
            if (!argument) return argument.error();
            arguments.push_back(*std::move(argument));
        }
        if (lookup_) return lookup_(node.text, arguments);
        return at_column(node.column.number, "nothing here has a name; write a number instead");
    }

    Result<Value> compared(const Node& node, Wish wish) {
        auto left = value(node.operands[0], Wish::other);
        if (!left) return left.error();
        for (std::size_t i = 0; i < node.links.size(); ++i) {
            auto right = value(node.operands[i + 1], Wish::other);
            if (!right) return right.error();
            const Comparison how = node.links[i].comparison;
            const bool for_order = how != Comparison::equal && how != Comparison::unequal;
            if (left->index() != right->index())
                return at_column(node.column.number, kind_of(*left) + " is compared with " + kind_of(*right) +
                                                         "; compare two of one kind");
            bool held = false;
            if (const double* a = std::get_if<double>(&*left)) {
                held = numbers_hold(node, i, *a, *std::get_if<double>(&*right), wish);
            } else {
                if (for_order || node.links[i].tolerance)
                    return at_column(node.column.number,
                                     "only numbers have an order or a tolerance; compare these with = or !=");
                held = (*left == *right) == (how == Comparison::equal);
            }
            if (!held) return Value(false);
            left = std::move(right);
        }
        return Value(true);
    }

    bool numbers_hold(const Node& node, std::size_t link, double a, double b, Wish wish) {
        Comparison how = node.links[link].comparison;
        const bool left_is_bound = !looks_up(node.operands[link]) && looks_up(node.operands[link + 1]);
        const double bound = left_is_bound ? a : b;
        const auto& said = node.links[link].tolerance;
        const double tolerance = said ? said->value() : default_tolerance(bound);
        const bool held = holds(a, b, how, tolerance);
        if (wish == Wish::other) return held;
        if (left_is_bound) how = swapped(how);
        if (wish == Wish::fails) how = opposite(how);
        const Measured measured{left_is_bound ? b : a, bound, how, tolerance};
        if (held == (wish == Wish::holds))
            last_holding_ = measured;
        else if (!first_failing_)
            first_failing_ = measured;
        return held;
    }

    bool looks_up(std::size_t at) const {
        const Node& node = nodes_[at];
        return node.kind == Kind::name ||
               std::ranges::any_of(node.operands, [&](std::size_t operand) { return looks_up(operand); });
    }

    const std::vector<Node>& nodes_;
    const Lookup& lookup_;
    std::optional<Measured> first_failing_, last_holding_;
};

}  // namespace

double default_tolerance(double bound) { return 1e-6 * std::max(1.0, std::abs(bound)); }

Result<Outcome> evaluate(const Expression& expression, const Lookup& lookup) {
    if (expression.nodes.empty()) return Error{"this expression is empty; write one"};
    return Evaluation(expression, lookup).run();
}

}  // namespace attn::lesson
