#include "lesson/expression.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lesson/tokens.hpp"
#include "tensor/decimal.hpp"

namespace attn::lesson {

namespace {

using Kind = Node::Kind;

constexpr std::array<std::string_view, 6> signs{"<", "<=", ">", ">=", "=", "!="};

class Parser {
  public:
    explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    Result<Answer> run(bool with_tolerance) {
        either();
        Answer answer;
        if (with_tolerance && is_mark("±")) answer.tolerance = tolerance();
        if (now().kind != Token::Kind::end)
            fail(now().column,
                 "an operator should stand before " + written(now()) + "; add one, or remove it");
        if (error_) return *error_;
        answer.expression.nodes = std::move(nodes_);
        return answer;
    }

  private:
    const Token& now() const { return tokens_[at_]; }
    bool is_mark(std::string_view mark) const {
        return now().kind == Token::Kind::mark && now().text == mark;
    }
    bool is_word(std::string_view word) const {
        return now().kind == Token::Kind::name && now().text == word;
    }
    static std::string written(const Token& token) {
        if (token.kind == Token::Kind::number) return "this number";
        return token.kind == Token::Kind::text ? "this text" : shown(token.text);
    }

    // Keeps the first error and goes to the end, where every loop stops.
    void fail(std::size_t column, std::string_view sentence) {
        if (!error_) error_ = at_column(column, sentence);
        at_ = tokens_.size() - 1;
    }
    bool enter() {
        if (++depth_ <= most_nesting) return true;
        fail(now().column, "parentheses, names and signs are nested more than 40 deep; use fewer");
        return false;
    }

    std::size_t add(Node node) {
        if (nodes_.size() == most_nodes)
            fail(node.column.number, "this expression has more than 200 parts; split it into several");
        else
            nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }
    std::size_t add(Kind kind, std::size_t column, std::vector<std::size_t> operands) {
        Node node;
        node.kind = kind;
        node.column = {column};
        node.operands = std::move(operands);
        return add(std::move(node));
    }

    std::size_t either() {
        std::size_t left = both();
        while (is_word("or")) {
            const std::size_t column = tokens_[at_++].column;
            const std::size_t right = both();
            left = add(Kind::either, column, {left, right});
        }
        return left;
    }
    std::size_t both() {
        std::size_t left = negation();
        while (is_word("and")) {
            const std::size_t column = tokens_[at_++].column;
            const std::size_t right = negation();
            left = add(Kind::both, column, {left, right});
        }
        return left;
    }
    std::size_t negation() {
        if (!is_word("not")) return comparison();
        if (!enter()) return 0;
        const std::size_t column = tokens_[at_++].column;
        const std::size_t operand = negation();
        --depth_;
        return add(Kind::negation, column, {operand});
    }

    std::optional<Comparison> comparing() const {
        const auto found = std::ranges::find(signs, now().text);
        if (now().kind != Token::Kind::mark || found == signs.end()) return std::nullopt;
        return static_cast<Comparison>(found - signs.begin());
    }
    std::size_t comparison() {
        const std::size_t first = sum();
        if (!comparing()) return first;
        Node node;
        node.kind = Kind::comparison;
        node.column = {now().column};
        node.operands.push_back(first);
        while (const auto how = comparing()) {
            ++at_;
            node.operands.push_back(sum());
            node.links.push_back({*how, std::nullopt});
            if (!is_mark("±")) continue;
            if (*how != Comparison::equal && *how != Comparison::unequal)
                fail(now().column, "a tolerance belongs to = or !=; compare with one of them, or remove it");
            else
                node.links.back().tolerance = tolerance();
        }
        return add(std::move(node));
    }
    Number tolerance() {
        ++at_;
        if (now().kind == Token::Kind::number) return number();
        fail(now().column, "a number should stand after ±; write the tolerance, such as 0.01");
        return {};
    }
    Number number() {
        Number number{tokens_[at_++].number, is_mark("%")};
        if (number.is_percent) ++at_;
        return number;
    }

    std::size_t sum() {
        std::size_t left = product();
        while (is_mark("+") || is_mark("-")) {
            const Token& mark = tokens_[at_++];
            const std::size_t right = product();
            left = add(mark.text == "+" ? Kind::sum : Kind::difference, mark.column, {left, right});
        }
        return left;
    }
    std::size_t product() {
        std::size_t left = opposite();
        while (is_mark("*") || is_mark("/")) {
            const Token& mark = tokens_[at_++];
            const std::size_t right = opposite();
            left = add(mark.text == "*" ? Kind::product : Kind::quotient, mark.column, {left, right});
        }
        return left;
    }
    std::size_t opposite() {
        if (!is_mark("-")) return primary();
        if (!enter()) return 0;
        const std::size_t column = tokens_[at_++].column;
        const std::size_t operand = opposite();
        --depth_;
        return add(Kind::opposite, column, {operand});
    }

    std::size_t primary() {
        Node node;
        node.column = {now().column};
        const bool is_operator = is_word("and") || is_word("or") || is_word("not");
        if (now().kind == Token::Kind::number) {
            node.number = number();
            return add(std::move(node));
        }
        if (now().kind == Token::Kind::text) {
            node.kind = Kind::text;
            node.text = tokens_[at_++].text;
            return add(std::move(node));
        }
        if (now().kind == Token::Kind::name && !is_operator) {
            node.kind = Kind::name;
            node.text = tokens_[at_++].text;
            if (is_mark("(")) node.operands = arguments();
            return add(std::move(node));
        }
        if (is_mark("(")) {
            if (!enter()) return 0;
            const std::size_t column = tokens_[at_++].column;
            const std::size_t inner = either();
            close(column);
            return inner;
        }
        const std::string where =
            now().kind == Token::Kind::end ? "the expression ends" : written(now()) + " stands";
        fail(now().column, where + " where a number, a text or a name should be; add one" +
                               (is_word("not") ? ", or put the not and what follows in parentheses" : ""));
        return 0;
    }
    std::vector<std::size_t> arguments() {
        std::vector<std::size_t> found;
        if (!enter()) return found;
        const std::size_t column = tokens_[at_++].column;
        if (!is_mark(")")) {
            found.push_back(either());
            while (is_mark(",")) {
                ++at_;
                found.push_back(either());
            }
        }
        close(column);
        return found;
    }
    void close(std::size_t opened) {
        --depth_;
        if (is_mark(")"))
            ++at_;
        else
            fail(now().column, "a “)” should stand here; close the “(” of column " + std::to_string(opened));
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0, depth_ = 0;
    std::vector<Node> nodes_;
    std::optional<Error> error_;
};

// How strongly a node holds its operands together; a primary is strongest.
int strength(Kind kind) {
    constexpr std::array<int, 12> strengths{0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 7, 7};
    return strengths[static_cast<std::size_t>(kind)];
}
std::string_view between(Kind kind) {
    constexpr std::array<std::string_view, 8> words{" or ", " and ", "", "", " + ", " - ", " * ", " / "};
    return words[static_cast<std::size_t>(kind)];
}

std::string text_of(const Expression& expression, std::size_t at, int least) {
    const Node& node = expression.nodes[at];
    const int own = strength(node.kind);
    const auto operand = [&](std::size_t i, int needed) {
        return text_of(expression, node.operands[i], needed);
    };
    std::string text;
    switch (node.kind) {
        case Kind::number: return to_text(node.number);
        case Kind::text: return literal(node.text);
        case Kind::name:
            text = node.text;
            for (std::size_t i = 0; i < node.operands.size(); ++i)
                text += (i == 0 ? "(" : ", ") + operand(i, 0);
            return node.operands.empty() ? text : text + ")";
        case Kind::negation: text = "not " + operand(0, own); break;
        case Kind::opposite: text = "-" + operand(0, own); break;
        case Kind::comparison:
            text = operand(0, own + 1);
            for (std::size_t i = 0; i < node.links.size(); ++i) {
                const Node::Link& link = node.links[i];
                text += " " + std::string(sign(link.comparison)) + " " + operand(i + 1, own + 1);
                if (link.tolerance) text += " ± " + to_text(*link.tolerance);
            }
            break;
        default: text = operand(0, own) + std::string(between(node.kind)) + operand(1, own + 1);
    }
    return own < least ? "(" + text + ")" : text;
}

void add_thresholds(const Expression& expression, std::size_t at, bool compared, std::vector<double>& found) {
    const Node& node = expression.nodes[at];
    if (node.kind == Kind::number && compared) found.push_back(node.number.value());
    if (node.kind == Kind::name) return;
    for (const std::size_t operand : node.operands)
        add_thresholds(expression, operand, compared || node.kind == Kind::comparison, found);
}

}  // namespace

std::string_view sign(Comparison comparison) { return signs[static_cast<std::size_t>(comparison)]; }

Result<Answer> parse_answer(std::string_view text, std::size_t first_column) {
    const std::string too_long = "this expression has more than 2,000 bytes; split it into several";
    if (text.size() > most_expression_bytes) return at_column(first_column, too_long);
    auto cut = tokens(text, first_column);
    if (!cut) return cut.error();
    auto answer = Parser(*std::move(cut)).run(true);
    // The canonical form has blanks around each operator; it must be readable too.
    if (answer && to_text(*answer).size() > most_expression_bytes) return at_column(first_column, too_long);
    return answer;
}

Result<Expression> parse_expression(std::string_view text, std::size_t first_column) {
    auto answer = parse_answer(text, first_column);
    if (!answer) return answer.error();
    if (answer->tolerance)
        return at_column(first_column, "this tolerance belongs to no = or !=; compare with one of them");
    return std::move(answer->expression);
}

std::string to_text(const Number& number) {
    return shortest(number.written) + (number.is_percent ? "%" : "");
}

std::string to_text(const Answer& answer) {
    return to_text(answer.expression) + (answer.tolerance ? " ± " + to_text(*answer.tolerance) : "");
}

std::string to_text(const Expression& expression) {
    return expression.nodes.empty() ? "" : text_of(expression, expression.nodes.size() - 1, 0);
}

std::vector<UsedName> used_names(const Expression& expression) {
    std::vector<UsedName> found;
    for (const Node& node : expression.nodes)
        if (node.kind == Kind::name)
            if (UsedName used{node.text, node.operands.size()}; std::ranges::find(found, used) == found.end())
                found.push_back(std::move(used));
    return found;
}

std::vector<double> thresholds(const Expression& expression) {
    std::vector<double> found;
    if (!expression.nodes.empty()) add_thresholds(expression, expression.nodes.size() - 1, false, found);
    return found;
}

}  // namespace attn::lesson
