// Random cases of attention in which a mistake was planted, in the precision of a library.
#pragma once

#include <cstdint>
#include <random>

#include "analysis/check/rounding_levels.hpp"

namespace attn::testing {

struct PlantedShape {
    Index batch, heads, kv_heads, queries, keys, d;
};

inline Array4 random_array(Index b, Index h, Index r, Index c, std::mt19937& random, NumberFormat format) {
    std::normal_distribution<double> normal;
    Array4 array(b, h, r, c);
    for (double& x : array.values)
        x = rounded(format, static_cast<double>(static_cast<float>(normal(random))));
    return array;
}

// A case that has all that a mistake may concern: projections or not, a painted mask or a causal one,
// padding, a bias, a soft cap, a window, a rotation; one query may see no key.
struct CaseParts {
    bool projected = false, painted = false, causal = false, padding = false, bias = false, softcap = false;
    bool window = false, rope = false, empty_row = false, weights = false;
};

inline AttentionCase random_case(const PlantedShape& s, const CaseParts& parts, const Precision& precision,
                                 std::uint32_t seed) {
    std::mt19937 random(seed);
    AttentionCase c;
    const auto array = [&](Index b, Index h, Index r, Index n) {
        return random_array(b, h, r, n, random, precision.input);
    };
    c.input_format = precision.input;
    c.output_format = info(precision.output).bits > 16 ? NumberFormat::f32 : precision.output;
    if (parts.projected) {
        const Index width = s.heads * s.d;
        CaseProjections p;
        p.x = array(s.batch, 1, s.queries, width);
        p.x_kv = s.queries == s.keys ? p.x : array(s.batch, 1, s.keys, width);
        const auto matrix = [&](Index out) {
            Array4 w = array(1, 1, width, out);
            for (double& x : w.values)
                x = rounded(precision.input, x / std::sqrt(static_cast<double>(width)));
            return w;
        };
        p.w_q = matrix(width), p.w_k = matrix(s.kv_heads * s.d), p.w_v = matrix(s.kv_heads * s.d);
        p.b_q = array(1, 1, 1, width), p.b_k = array(1, 1, 1, s.kv_heads * s.d),
        p.b_v = array(1, 1, 1, s.kv_heads * s.d);
        c.w_o = matrix(width), c.b_o = array(1, 1, 1, width);
        c.projections = p;
        c.q = Array4(s.batch, s.heads, s.queries, s.d);
        c.k = Array4(s.batch, s.kv_heads, s.keys, s.d);
        c.v = c.k;
        ReadInputs in = read_inputs(c, {}, {});
        c.q = in.q, c.k = in.k, c.v = in.v;
    } else {
        c.q = array(s.batch, s.heads, s.queries, s.d);
        c.k = array(s.batch, s.kv_heads, s.keys, s.d);
        c.v = array(s.batch, s.kv_heads, s.keys, s.d);
    }
    c.scale = 1 / std::sqrt(static_cast<double>(s.d));
    if (parts.causal) c.mask.causal = c.mask.offset = s.keys - s.queries;
    if (parts.painted || parts.empty_row) {
        c.mask.painted = Array4(1, 1, s.queries, s.keys);
        for (double& x : c.mask.painted.values) x = random() % 3 != 0;
        for (Index i = 0; i < s.queries; ++i) c.mask.painted.row(0, 0, i)[0] = 1;
        if (parts.empty_row) std::ranges::fill(c.mask.painted.row(0, 0, s.queries / 2), 0);
    }
    if (parts.padding) {
        c.mask.padding = Array4(s.batch, 1, 1, s.keys);
        for (Index b = 0; b < s.batch; ++b)
            for (Index j = 0; j < s.keys; ++j)
                c.mask.padding.row(b, 0, 0)[static_cast<std::size_t>(j)] = j == 0 || j < s.keys - 2 - b;
    }
    if (parts.bias) c.bias = array(1, s.heads, s.queries, s.keys);
    if (parts.softcap) c.softcap = 2;
    if (parts.window) c.mask.window = CaseWindow{2, parts.causal ? 0 : 2};
    if (parts.rope) c.rope = CaseRope{.dim = s.d / 2 * 2};
    return c;
}

// What a program with this mistake, or without, returns in a precision.
inline void compute_output(AttentionCase& c, const Implementation& how, const Precision& precision,
                           bool weights) {
    ImplementationRun run(c, how, precision);
    Array4 output(c.batch(), 1, c.queries(), c.output_width());
    for (Index b = 0; b < c.batch(); ++b)
        for (Index i = 0; i < c.queries(); ++i)
            std::ranges::copy(run.output_row(b, i), output.row(b, 0, i).begin());
    if (weights) {
        c.weights = Array4(c.batch(), c.heads(), c.queries(), c.keys());
        for (Index b = 0; b < c.batch(); ++b)
            for (Index h = 0; h < c.heads(); ++h)
                for (Index i = 0; i < c.queries(); ++i)
                    std::ranges::copy(run.weights_row(b, h, i), c.weights.row(b, h, i).begin());
    }
    c.output = std::move(output);
}

}  // namespace attn::testing
