#include "analysis/check/record_case.hpp"

#include <algorithm>
#include <cmath>

#include "attention/mask_terms.hpp"

namespace attn {

namespace {

Array4 array_of(const Tensor& heads) {
    Array4 array(1, heads.dim(0), heads.dim(1), heads.dim(2));
    for (Index h = 0; h < array.heads; ++h)
        for (Index i = 0; i < array.rows; ++i)
            std::copy_n(heads.heads().head(h).row(i), array.cols, array.row(0, h, i).begin());
    return array;
}

// The rotation that a case can describe: frequencies base^(−2a / dim), and no magnitude.
std::optional<CaseRope> plain_rope(const Rotary& rotary, Index tokens) {
    const std::vector<double>& frequencies = rotary.of_text(tokens);
    const auto dim = static_cast<double>(2 * rotary.pairs());
    for (Index a = 0; a < rotary.pairs(); ++a) {
        const double plain = std::pow(rotary.base, -2 * static_cast<double>(a) / dim);
        if (std::abs(frequencies[static_cast<std::size_t>(a)] - plain) > 1e-9 * plain) return std::nullopt;
    }
    if (rotary.magnitude != 1) return std::nullopt;
    return CaseRope{rotary.interleaved, rotary.base, 2 * rotary.pairs()};
}

// Turns rows of positions 0, 1, 2 … back: the transposed rotation.
void turn_back(Array4& heads, const CaseRope& rope) {
    const Index pairs = rope.dim / 2;
    for (Index i = 0; i < heads.rows; ++i)
        for (Index a = 0; a < pairs; ++a) {
            const double angle =
                static_cast<double>(i) *
                std::pow(rope.base, -2 * static_cast<double>(a) / static_cast<double>(rope.dim));
            const double cosine = std::cos(angle), sine = std::sin(angle);
            for (Index h = 0; h < heads.heads; ++h) {
                const auto row = heads.row(0, h, i);
                double& x = row[static_cast<std::size_t>(rope.interleaved ? 2 * a : a)];
                double& y = row[static_cast<std::size_t>(rope.interleaved ? 2 * a + 1 : a + pairs)];
                const double before = x;
                x = before * cosine + y * sine;
                y = y * cosine - before * sine;
            }
        }
}

// Takes causal and window terms as what they are, and paints the others.
CaseMask case_mask_of(const Record& record) {
    CaseMask out;
    std::vector<Mask> others;
    MaskTerms terms = terms_of(record.spec().mask);
    if (terms.join == Join::any && terms.terms.size() > 1) terms = {Join::all, {record.spec().mask}};
    for (const Mask& term : terms.terms) {
        const std::string name = name_of(term);
        const std::vector<TermNumber> numbers = numbers_of(term);
        if (name == "causal" && !out.causal)
            out.causal = numbers[0].value;
        else if (name == "window" && !out.window)
            out.window = CaseWindow{numbers[0].value, numbers[1].value};
        else if (name == "padding" && out.padding.empty()) {
            out.padding = Array4(1, 1, 1, record.keys());
            std::fill_n(out.padding.values.begin(), std::min(numbers[0].value, record.keys()), 1.0);
        } else
            others.push_back(term);
    }
    if (others.empty()) return out;
    const Mask rest = joined({Join::all, others});
    bool alike = true;
    out.painted = Array4(1, record.heads(), record.queries(), record.keys());
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(record.keys()));
    for (Index h = 0; h < record.heads(); ++h)
        for (Index i = 0; i < record.queries(); ++i) {
            rest.row(h, i, 0, allowed);
            std::ranges::copy(allowed, out.painted.row(0, h, i).begin());
            alike = alike && std::ranges::equal(out.painted.row(0, h, i), out.painted.row(0, 0, i));
        }
    if (alike) {
        out.painted.heads = 1;
        out.painted.values.resize(static_cast<std::size_t>(record.queries() * record.keys()));
    }
    return out;
}

Array4 case_bias_of(const Record& record) {
    const Bias& bias = record.spec().bias;
    if (bias.empty()) return {};
    const Index heads = bias.values->dim(0);
    Array4 out(1, heads, record.queries(), record.keys());
    for (Index h = 0; h < heads; ++h)
        for (Index i = 0; i < out.rows; ++i)
            for (Index j = 0; j < out.cols; ++j)
                out.row(0, h, i)[static_cast<std::size_t>(j)] = static_cast<double>(bias.at(h, i, j));
    return out;
}

}  // namespace

Result<RecordCase> case_of(const Record& record, const Rotary* rotary) {
    if (record.spec().edits)
        return Error{"Scores or weights of this layer were changed by hand; undo that to see mistakes."};
    if (record.queries() == 0 || record.keys() == 0) return Error{"There is no query here, or no key."};
    const auto numbers = static_cast<std::int64_t>(record.q().size() + record.k().size() + record.v().size());
    const auto cells = static_cast<std::int64_t>(record.queries()) * record.keys();
    if (numbers > case_numbers_limit || cells > case_cells_limit)
        return Error{
            "This text is too long for mistakes, which concern all of its heads and keys at once; open one "
            "of "
            "up to 500 tokens."};
    RecordCase out;
    AttentionCase& c = out.given;
    c.q = array_of(record.q());
    c.k = array_of(record.k());
    c.v = array_of(record.v());
    c.mask = case_mask_of(record);
    c.bias = case_bias_of(record);
    c.scale = record.scale();
    c.softcap = record.spec().softcap;
    if (!rotary || rotary->pairs() == 0) {
        out.unrotated = "queries and keys that are rotated; here they are not";
        return out;
    }
    c.rope = plain_rope(*rotary, record.queries());
    if (!c.rope) {
        out.unrotated = "frequencies of the form base^(−2a/d); here they are stretched";
        return out;
    }
    turn_back(c.q, *c.rope);
    turn_back(c.k, *c.rope);
    return out;
}

}  // namespace attn
