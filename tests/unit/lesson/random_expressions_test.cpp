// Compares the evaluation of random expressions with a second one that builds no tree: a shunting yard over
// the text (Dijkstra 1961), which computes as it reads and skips nothing.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "lesson/expression.hpp"

using namespace attn;
using namespace attn::lesson;

namespace {

double double_of(const Value& value) { return std::get<double>(value); }

Result<Value> look_up_or_fail(std::string_view name, std::span<const Value> arguments) {
    if (name == "a") return Value(0.25);
    if (name == "b_2") return Value(-3.5);
    if (name == "t") return Value(true);
    if (name == "word") return Value(std::string("sät"));
    if (name == "half") return Value(double_of(arguments[0]) / 2);
    if (name == "mean") return Value((double_of(arguments[0]) + double_of(arguments[1])) / 2);
    return Error{"unknown"};
}

class Generator {
  public:
    explicit Generator(unsigned seed) : random_(seed) {}
    std::string truth(int depth) {
        switch (depth <= 0 ? 6 : pick(8)) {
            case 0: return truth(depth - 1) + " and " + truth(depth - 1);
            case 1: return "(" + truth(depth - 1) + blank() + " or " + truth(depth - 1) + ")";
            case 2: return "not (" + truth(depth - 1) + ")";
            case 3: return "not " + truth(depth - 1);
            case 4:
                return number(depth - 1) + one_of({"<", " >= ", ">"}) + number(depth - 1) +
                       one_of({" <= ", " < "}) + number(depth - 1);
            case 5:
                return number(depth - 1) + one_of({" = ", "!="}) + number(depth - 1) +
                       one_of({"", " ± 0.5", "±200%"});
            case 6: return one_of({"t", "word = \"sät\"", "word != \"a \\\" b\""});
            default: return number(depth - 1) + one_of({" < ", "<=", " > ", ">= "}) + number(depth - 1);
        }
    }

  private:
    std::string number(int depth) {
        switch (depth <= 0 ? 5 : pick(7)) {
            case 0: return number(depth - 1) + one_of({"+", " - "}) + number(depth - 1);
            case 1: return number(depth - 1) + one_of({"*", " / "}) + number(depth - 1);
            case 2: return "(" + blank() + number(depth - 1) + one_of({" + ", "-"}) + number(depth - 1) + ")";
            case 3: return "-" + number(depth - 1);
            case 4: return "mean(" + number(depth - 1) + "," + blank() + "half(" + number(depth - 1) + "))";
            default: return one_of({"1", "0.5", "80%", "3e-2", "a", "b_2", "12.75", ".25"});
        }
    }
    int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
    std::string blank() { return std::string(static_cast<std::size_t>(pick(3)), ' ') + (pick(2) ? "" : " "); }
    std::string one_of(const std::vector<std::string>& choices) {
        return choices[random_() % choices.size()];
    }
    std::mt19937 random_;
};

class ShuntingYard {
  public:
    Value run(std::string_view text) {
        text_ = text;
        bool operand_expected = true;
        for (skip(); !text_.empty(); skip()) operand_expected = operand_expected ? operand() : operation();
        while (!operators_.empty()) apply();
        REQUIRE(items_.size() == 1);
        return items_[0].value;
    }

  private:
    // A comparison also keeps its right side, for one that is chained to it.
    struct Item {
        Value value;
        bool is_comparison = false;
        Value right = 0.0;
    };
    struct Operator {
        std::string sign;
        int strength;
        std::size_t items = 0;  // below, when a parenthesis opened
    };

    void skip() {
        while (!text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
    }
    bool take(std::string_view start) {
        if (!text_.starts_with(start)) return false;
        text_.remove_prefix(start.size());
        return true;
    }
    std::string take_while(std::string_view allowed) {
        const std::string taken(text_.substr(0, text_.find_first_not_of(allowed)));
        text_.remove_prefix(taken.size());
        return taken;
    }

    bool operand() {  // returns whether another operand is expected
        if (take("(")) return operators_.push_back({"(", -1, items_.size()}), true;
        if (take("-")) return operators_.push_back({"minus", 6}), true;
        if (take("not ")) return operators_.push_back({"not", 2}), true;
        if (take("\"")) {
            std::string text;
            for (; text_[0] != '"'; text_.remove_prefix(1)) {
                if (text_[0] == '\\') text_.remove_prefix(1);
                text += text_[0];
            }
            text_.remove_prefix(1);
            items_.push_back({text});
            return false;
        }
        if (std::isdigit(static_cast<unsigned char>(text_[0])) != 0 || text_[0] == '.') {
            items_.push_back({literal()});
            return false;
        }
        const std::string name = take_while("abcdefghijklmnopqrstuvwxyz_2");
        if (take("(")) return operators_.push_back({name, -1, items_.size()}), true;
        items_.push_back({*look_up_or_fail(name, {})});
        return false;
    }
    double literal() {
        std::string digits = take_while("0123456789.");
        if (take("e")) digits += "e" + take_while("+-") + take_while("0123456789");
        return std::stod(digits) / (take("%") ? 100 : 1);
    }

    bool operation() {
        if (take(",")) {
            while (operators_.back().strength >= 0) apply();
            return true;
        }
        if (take(")")) {
            while (operators_.back().strength >= 0) apply();
            const Operator opened = operators_.back();
            operators_.pop_back();
            items_.back().is_comparison = false;
            if (opened.sign == "(") return false;
            std::vector<Value> arguments;
            for (std::size_t i = opened.items; i < items_.size(); ++i) arguments.push_back(items_[i].value);
            items_.resize(opened.items);
            items_.push_back({*look_up_or_fail(opened.sign, arguments)});
            return false;
        }
        if (take("±")) {  // the comparison has both sides on the stack, unless they are unfinished sums
            skip();
            while (operators_.back().strength > 3) apply();
            tolerance_ = literal();
            apply();
            return false;
        }
        static const std::vector<std::pair<std::string, int>> signs{
            {"or", 0}, {"and", 1}, {"<=", 3}, {">=", 3}, {"!=", 3}, {"<", 3},
            {">", 3},  {"=", 3},   {"+", 4},  {"-", 4},  {"*", 5},  {"/", 5}};
        for (const auto& [sign, strength] : signs)
            if (take(sign)) {
                while (!operators_.empty() && operators_.back().strength >= strength) apply();
                operators_.push_back({sign, strength});
                return true;
            }
        FAIL("unexpected " << text_);
        return false;
    }

    void apply() {
        const std::string sign = operators_.back().sign;
        const int strength = operators_.back().strength;
        operators_.pop_back();
        Item right = items_.back();
        if (sign == "minus" || sign == "not") {
            const Value value =
                sign == "not" ? Value(!std::get<bool>(right.value)) : Value(-double_of(right.value));
            items_.back() = {value};
            return;
        }
        items_.pop_back();
        const Item left = items_.back();
        if (strength != 3) {
            items_.back() = {combined(sign, left.value, right.value)};
            return;
        }
        const bool before = !left.is_comparison || std::get<bool>(left.value);
        const bool now = compared(sign, left.is_comparison ? left.right : left.value, right.value);
        items_.back() = {Value(before && now), true, right.value};
    }
    static Value combined(const std::string& sign, const Value& a, const Value& b) {
        if (sign == "or") return std::get<bool>(a) || std::get<bool>(b);
        if (sign == "and") return std::get<bool>(a) && std::get<bool>(b);
        const double x = double_of(a), y = double_of(b);
        return sign == "+" ? x + y : sign == "-" ? x - y : sign == "*" ? x * y : x / y;
    }
    bool compared(const std::string& sign, const Value& a, const Value& b) {
        bool equal = a == b;
        if (a.index() == 0) {
            const double x = double_of(a), y = double_of(b);
            const double tolerance = tolerance_ < 0 ? 1e-6 * std::fmax(1, std::fabs(y)) : tolerance_;
            if (std::fabs(x - y) <= tolerance) equal = true;
            tolerance_ = -1;
            if (sign == "<") return x < y;
            if (sign == ">") return x > y;
            if (sign == "<=") return x <= y;
            if (sign == ">=") return x >= y;
        }
        return equal == (sign == "=");
    }

    std::string_view text_;
    std::vector<Item> items_;
    std::vector<Operator> operators_;
    double tolerance_ = -1;
};

}  // namespace

TEST_CASE("300 random expressions keep their value in canonical form", "[lesson]") {
    int tried = 0, true_ones = 0, measured = 0;
    for (unsigned seed = 1; tried < 300; ++seed) {
        const std::string text = Generator(seed).truth(1 + static_cast<int>(seed % 5));
        const auto expression = parse_expression(text);
        if (!expression) {  // the only reason is its size
            INFO(text << ": " << expression.error().message);
            REQUIRE(expression.error().message.find("more than") != std::string::npos);
            continue;
        }
        ++tried;
        const std::string canonical = to_text(*expression);
        INFO(seed << ": " << text << " is " << canonical);
        const auto again = parse_expression(canonical);
        REQUIRE(again);
        CHECK(*again == *expression);
        CHECK(to_text(*again) == canonical);
        const auto outcome = evaluate(*expression, look_up_or_fail);
        REQUIRE(outcome);
        const bool truth = std::get<bool>(outcome->value);
        CHECK(outcome->value == ShuntingYard().run(canonical));
        CHECK(outcome->value == ShuntingYard().run(text));
        true_ones += truth;
        measured += outcome->measured.has_value();
    }
    CHECK(true_ones > 60);
    CHECK(true_ones < 240);
    CHECK(measured > 100);
}
