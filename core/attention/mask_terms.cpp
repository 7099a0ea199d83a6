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

// What is below the term's "not"s, and how many there are.
std::pair<Mask, int> plain(Mask term) {
    for (int nots = 0;; ++nots) {
        const std::optional<Mask> below =
            by_kind(term, std::optional<Mask>(), [](const Negation& m) { return std::optional(m.operand); });
        if (!below) return {term, nots};
        term = *below;
    }
}

Mask with_nots(Mask mask, int nots) {
    for (; nots > 0; --nots) mask = !mask;
    return mask;
}

bool is_group(const Mask& mask) {
    return by_kind(
        mask, false, [](const Conjunction&) { return true; }, [](const Disjunction&) { return true; });
}

Join other_way(Join join) { return join == Join::all ? Join::any : Join::all; }

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
    const auto [mask, nots] = plain(term);
    const std::string text = mask.text();
    std::string name = is_group(mask) ? "(" + text + ")" : text.substr(0, text.find('('));
    for (char& c : name)
        if (c == '_') c = ' ';
    for (int i = 0; i < nots; ++i) name = "not " + name;
    return name;
}

Mask negated(const Mask& term) {
    return by_kind(term, !term, [](const Negation& m) { return m.operand; });
}

bool is_negated(const Mask& term) {
    return by_kind(term, false, [](const Negation&) { return true; });
}

MaskTerms inside(const Mask& term) {
    const Mask mask = plain(term).first;
    return is_group(mask) ? terms_of(mask) : MaskTerms{};
}

Mask with_inside(const Mask& term, const MaskTerms& terms) {
    return with_nots(joined(terms), plain(term).second);
}

MaskTerms dissolved(const MaskTerms& terms, std::size_t term) {
    MaskTerms out{terms.join, {}};
    for (std::size_t i = 0; i < terms.terms.size(); ++i) {
        const MaskTerms inner = i == term ? inside(terms.terms[i]) : MaskTerms{};
        if (inner.terms.empty()) {
            out.terms.push_back(terms.terms[i]);
            continue;
        }
        const bool not_before = plain(terms.terms[i]).second % 2 != 0;
        // De Morgan: not (a and b) is not a, or not b.
        if (terms.terms.size() == 1) out.join = not_before ? other_way(inner.join) : inner.join;
        for (const Mask& each : inner.terms) out.terms.push_back(not_before ? negated(each) : each);
    }
    return out;
}

MaskTerms bracketed(const MaskTerms& terms, std::size_t term, const std::optional<Mask>& other) {
    MaskTerms out = terms;
    const auto at = out.terms.begin() + static_cast<std::ptrdiff_t>(term);
    if (!other && at + 1 == out.terms.end()) return out;
    *at = joined({other_way(terms.join), {*at, other ? *other : *(at + 1)}});
    if (!other) out.terms.erase(at + 1);
    return out;
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
    const auto [mask, nots] = plain(term);
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
    return with_nots(set, nots);
}

Mask with_cells(const Mask& mask, const CellRegion& cells, bool allowed) {
    // Takes the term that with_cells() has put at the end, if there is one.
    const auto take = [](Mask& from, Join join, bool negated) -> CellRegion {
        MaskTerms terms = terms_of(from);
        if (terms.terms.empty() || (terms.terms.size() > 1 && terms.join != join)) return {};
        const auto [last, nots] = plain(terms.terms.back());
        if (nots != (negated ? 1 : 0)) return {};
        const auto region = by_kind(last, std::optional<CellRegion>(),
                                    [](const Cells& m) { return std::optional(m.region); });
        // A lone term of cells is a mask of its own, not what was added to one.
        if (!region || (terms.terms.size() == 1 && !negated)) return {};
        terms.terms.pop_back();
        from = joined(terms);
        return *region;
    };
    Mask base = mask;
    CellRegion hidden = take(base, Join::all, true), shown = take(base, Join::any, false);
    (allowed ? shown : hidden).add(cells);
    (allowed ? hidden : shown).remove(cells);
    if (!shown.empty()) base = base | Mask::cells(std::move(shown));
    return hidden.empty() ? base : base & !Mask::cells(std::move(hidden));
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
