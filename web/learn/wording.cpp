#include "learn/wording.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "app/format.hpp"
#include "learn/arguments.hpp"

namespace attn::app::learn {

namespace {

using lesson::Node;

struct Phrase {
    std::string_view name;
    std::size_t arguments;
    std::string_view words;   // {1} and {2} are the arguments
    std::string_view tokens;  // which of these are tokens: q for a query, k for a key
};
constexpr Phrase phrases[] = {
    {"weight", 2, "{1} gives {2}", "qk"},
    {"score", 2, "score of {1} for {2}", "qk"},
    {"raw", 2, "score of {1} for {2}", "qk"},
    {"scaled", 2, "scaled score of {1} for {2}", "qk"},
    {"masked", 2, "masked score of {1} for {2}", "qk"},
    {"largest", 1, "largest weight of {1}", "q"},
    {"argmax", 1, "{1} attends most to", "q"},
    {"entropy", 1, "entropy of {1}, in nats", "q"},
    {"rank", 2, "rank of {2} among the keys of {1}", "qk"},
    {"rank", 1, "rank of {1} among the next tokens", ""},
    {"p", 1, "probability of {1} next", ""},
    {"logit", 1, "logit of {1}", ""},
    {"p_before", 1, "probability of {1} before the change", ""},
    {"logit_before", 1, "logit of {1} before the change", ""},
    {"norm", 2, "length of {1} of {2}", ""},
    {"loss", 0, "loss", ""},
    {"training_step", 0, "steps trained", ""},
    {"top", 0, "likeliest next token", ""},
    {"q", 2, "q of {1}, component {2}", "q"},
    {"k", 2, "k of {1}, component {2}", "k"},
    {"v", 2, "v of {1}, component {2}", "k"},
    {"x", 2, "x of {1}, component {2}", "q"},
    {"out", 2, "output of {1}, component {2}", "q"},
    {"contribution", 2, "contribution of {2} to {1}", "qk"},
    {"role", 1, "{1} score of the head", ""},
};

// A share of a whole.
constexpr std::array<std::string_view, 5> shares{"weight", "largest", "p", "p_before", "role"};

std::string told(const lesson::Expression& expression, std::size_t at) {
    const Node& node = expression.nodes[at];
    if (node.kind == Node::Kind::text) return "“" + node.text + "”";
    return lesson::to_text(lesson::Expression{
        {expression.nodes.begin(), expression.nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1}});
}

// The same of a token, which may be given by its position.
std::string told_token(const lesson::Expression& expression, std::size_t at, char side,
                       const Attention& attention) {
    const Node& node = expression.nodes[at];
    if (node.kind != Node::Kind::number) return told(expression, at);
    const auto names = side == 'q' ? attention.query_names() : attention.key_names();
    const double place = node.number.value();
    if (!(place >= 0 && place < static_cast<double>(names.size()))) return told(expression, at);
    return "“" + label_at(names, static_cast<Index>(place)) + "”";
}

// The side of a comparison that the page computes.
const Node* computed(const lesson::Expression& expression) {
    const auto is_name = [](const Node& node) { return node.kind == Node::Kind::name; };
    const Node* found = nullptr;
    for (const Node& node : expression.nodes) {
        if (!is_name(node)) continue;
        // An outer name stands after the names among its arguments.
        const bool holds =
            found != nullptr &&
            std::ranges::find(node.operands, static_cast<std::size_t>(found - expression.nodes.data())) !=
                node.operands.end();
        if (found == nullptr || holds) found = &node;
    }
    return found;
}

// Returns the arguments that are written as texts and numbers; nothing if some are computed.
std::optional<std::vector<lesson::Value>> constants(const lesson::Expression& expression, const Node& name) {
    std::vector<lesson::Value> values;
    for (const std::size_t operand : name.operands) {
        const Node& node = expression.nodes[operand];
        if (node.kind == Node::Kind::text)
            values.emplace_back(node.text);
        else if (node.kind == Node::Kind::number)
            values.emplace_back(node.number.value());
        else
            return std::nullopt;
    }
    return values;
}

// Says whether only this name is compared, so that its words stand for the whole expression.
bool is_alone(const lesson::Expression& expression, const Node& name) {
    const auto index = static_cast<std::size_t>(&name - expression.nodes.data());
    const Node& root = expression.nodes.back();
    return &root == &name || (root.kind == Node::Kind::comparison && root.operands.size() == 2 &&
                              std::ranges::find(root.operands, index) != root.operands.end());
}

// Writes a number of a lens without the signs of the expression: softmax weight: sparsemax, 3.
std::string lens_number(const lesson::Expression& expression, const Node& name) {
    std::string words = name.text;
    std::ranges::replace(words, '.', ' ');
    for (std::size_t i = 0; i < name.operands.size(); ++i) {
        const Node& place = expression.nodes[name.operands[i]];
        words += (i == 0 ? ": " : ", ") +
                 (place.kind == Node::Kind::text ? place.text : told(expression, name.operands[i]));
    }
    std::ranges::replace(words, '_', ' ');
    return words;
}

}  // namespace

std::string in_words(const lesson::Expression& expression, const Attention* attention) {
    const Node* name = computed(expression);
    if (name == nullptr || !is_alone(expression, *name)) return lesson::to_text(expression);
    for (const Phrase& phrase : phrases) {
        if (phrase.name != name->text || name->operands.size() < phrase.arguments ||
            name->operands.size() > phrase.arguments + 1)
            continue;
        std::string words(phrase.words);
        for (std::size_t i = 0; i < phrase.arguments; ++i) {
            const std::string mark = "{" + std::to_string(i + 1) + "}";
            if (const auto at = words.find(mark); at != std::string::npos)
                words.replace(at, mark.size(),
                              attention && i < phrase.tokens.size()
                                  ? told_token(expression, name->operands[i], phrase.tokens[i], *attention)
                                  : told(expression, name->operands[i]));
        }
        if (name->operands.size() > phrase.arguments)
            words += ", head " + expression.nodes[name->operands.back()].text;
        return words;
    }
    return name->text.find('.') == std::string::npos ? lesson::to_text(expression)
                                                     : lens_number(expression, *name);
}

std::optional<CellRef> lens_number_in(const Attention& attention, const lesson::Expression& expression) {
    const Node* name = computed(expression);
    if (name == nullptr || name->text.find('.') == std::string::npos || !is_alone(expression, *name))
        return std::nullopt;
    const auto given = constants(expression, *name);
    if (!given) return std::nullopt;
    const auto cell = lens_cell(attention, name->text, *given);
    return cell ? std::optional(*cell) : std::nullopt;
}

std::optional<Pointed> pointed_by(const Attention& attention, const lesson::Expression& expression) {
    constexpr std::array<std::string_view, 4> of_a_query{"entropy", "largest", "argmax", "argmax_position"};
    for (const Node& node : expression.nodes) {
        if (node.kind != Node::Kind::name || node.operands.empty()) continue;
        const auto given = constants(expression, node);
        if (!given) continue;
        Pointed pointed;
        if (std::ranges::find(of_a_query, node.text) != of_a_query.end()) {
            if (const auto query = token_at(attention, given->front(), Side::query)) pointed.query = *query;
            return pointed;
        }
        const auto stage = node.text == "rank" ? Stage::weight : stage_called(node.text);
        if (!stage || given->size() < 2) continue;
        const auto cell = stage_cell(attention, *stage, std::span(*given).first(2));
        if (!cell) continue;
        pointed.cell = *cell;
        if (rows_are_tokens(*stage)) pointed.query = cell->row;
        if (is_of_pairs(*stage)) pointed.key = cell->col;
        return pointed;
    }
    return std::nullopt;
}

bool is_share(const lesson::Expression& expression) {
    const Node* name = computed(expression);
    if (std::ranges::any_of(expression.nodes, [](const Node& node) {
            return node.kind == Node::Kind::number && node.number.is_percent;
        }))
        return true;
    return name != nullptr && is_alone(expression, *name) &&
           std::ranges::find(shares, name->text) != shares.end();
}

}  // namespace attn::app::learn
