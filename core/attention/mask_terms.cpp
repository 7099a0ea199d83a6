#include "attention/mask_terms.hpp"

#include "attention/mask_node.hpp"

namespace attn {

namespace {

template <class... F>
struct Cases : F... {
    using F::operator()...;
};

// Calls what suits the kind of the mask; nothing for one that allows everything.
template <class Result, class... F>
Result by_kind(const Mask& mask, Result otherwise, F... cases) {
    const Mask::Node* node = Mask::Node::of(mask);
    return node ? std::visit(Cases{cases..., [&](const auto&) { return otherwise; }}, node->value)
                : otherwise;
}

// What is below the term's "not", and whether there is one.
std::pair<Mask, bool> plain(const Mask& term) {
    return by_kind(term, std::pair(term, false),
                   [](const Negation& m) { return std::pair(m.operand, true); });
}

}  // namespace

MaskTerms terms_of(const Mask& mask) {
    if (mask.is_everything()) return {};
    return by_kind(
        mask, MaskTerms{Join::all, {mask}},
        [](const Conjunction& m) { return MaskTerms{Join::all, m.operands}; },
        [](const Disjunction& m) { return MaskTerms{Join::any, m.operands}; });
}

Mask joined(const MaskTerms& terms) {
    if (terms.terms.empty()) return {};
    Mask mask = terms.terms.front();
    for (const Mask& term : std::span(terms.terms).subspan(1))
        mask = terms.join == Join::all ? mask & term : mask | term;
    return mask;
}

std::string name_of(const Mask& term) {
    const auto [mask, negated] = plain(term);
    const std::string text = mask.text();
    const bool compound = by_kind(
        mask, false, [](const Conjunction&) { return true; }, [](const Disjunction&) { return true; },
        [](const Negation&) { return true; });
    std::string name = compound ? "(" + text + ")" : text.substr(0, text.find('('));
    for (char& c : name)
        if (c == '_') c = ' ';
    return negated ? "not " + name : name;
}

Mask negated(const Mask& term) {
    const auto [mask, was_negated] = plain(term);
    return was_negated ? mask : !mask;
}

std::vector<TermNumber> numbers_of(const Mask& term) {
    using Numbers = std::vector<TermNumber>;
    return by_kind(
        plain(term).first, Numbers{},
        [](const Causal& m) { return Numbers{{"offset", m.offset, -position_limit}}; },
        [](const Window& m) {
            return Numbers{{"back", m.before, -position_limit}, {"ahead", m.after, -position_limit}};
        },
        [](const Padding& m) { return Numbers{{"keys", m.visible_keys, 0}}; },
        [](const Prefix& m) { return Numbers{{"length", m.length, 0}}; },
        [](const Strided& m) { return Numbers{{"stride", m.stride, 1}}; },
        [](const BlockSparse& m) { return Numbers{{"block", m.block, 1}}; },
        [](const GlobalLocal& m) { return Numbers{{"radius", m.radius, 0}}; });
}

Mask with_number(const Mask& term, std::size_t number, Index value) {
    const auto [mask, negated] = plain(term);
    const Mask set = by_kind(
        mask, mask, [&](const Causal&) { return Mask::causal(value); },
        [&](const Window& m) {
            return number == 0 ? Mask::window(value, m.after) : Mask::window(m.before, value);
        },
        [&](const Padding&) { return Mask::padding(value); },
        [&](const Prefix&) { return Mask::prefix(value); },
        [&](const Strided&) { return Mask::strided(value); },
        [&](const BlockSparse& m) {
            return Mask::block_sparse(value, m.query_blocks, m.key_blocks, m.allowed);
        },
        [&](const GlobalLocal& m) { return Mask::global_local(m.tokens, value); });
    return negated ? !set : set;
}

std::optional<Mask> with_cell_changed(const Mask& term, Index query, Index key) {
    const auto [mask, negated] = plain(term);
    const auto changed =
        by_kind(mask, std::optional<Mask>(), [&](const PaintedBits& m) -> std::optional<Mask> {
            if (m.heads != 1 || query < 0 || query >= m.rows || key < 0 || key >= m.cols) return std::nullopt;
            PaintedBits bits = m;
            std::uint8_t& cell = bits.allowed[static_cast<std::size_t>(query * m.cols + key)];
            cell = !cell;
            return Mask::painted(std::move(bits));
        });
    return changed && negated ? std::optional(!*changed) : changed;
}

Mask shifted(const Mask& mask, Index keys) {
    if (keys == 0) return mask;
    const auto all_of = [&](const std::vector<Mask>& operands, Join join) {
        MaskTerms terms{join, {}};
        for (const Mask& operand : operands) terms.terms.push_back(shifted(operand, keys));
        return joined(terms);
    };
    return by_kind(
        mask, mask, [&](const Causal& m) { return Mask::causal(m.offset + keys); },
        [&](const Window& m) { return Mask::window(m.before - keys, m.after + keys); },
        [&](const Prefix& m) { return Mask::padding(m.length) | Mask::causal(keys); },
        [&](const Conjunction& m) { return all_of(m.operands, Join::all); },
        [&](const Disjunction& m) { return all_of(m.operands, Join::any); },
        [&](const Negation& m) { return !shifted(m.operand, keys); });
}

}  // namespace attn
