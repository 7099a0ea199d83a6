#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/check/implementation.hpp"
#include "analysis/check/rounded_sums.hpp"

namespace attn {

namespace {

// x W + b, [batch, 1, n, out].
Array4 projected(const Array4& x, const Array4& w, const Array4& bias, const Precision& precision) {
    Array4 out(x.batch, 1, x.rows, w.cols);
    std::vector<double> in(static_cast<std::size_t>(x.cols)), column(static_cast<std::size_t>(x.cols));
    for (Index c = 0; c < w.cols; ++c) {
        for (Index a = 0; a < w.rows; ++a)
            column[static_cast<std::size_t>(a)] = rounded(precision.input, w.broadcast(0, 0, a, c));
        for (Index b = 0; b < x.batch; ++b)
            for (Index i = 0; i < x.rows; ++i) {
                const auto row = x.row(b, 0, i);
                for (std::size_t a = 0; a < in.size(); ++a) in[a] = rounded(precision.input, row[a]);
                double sum = rounded_dot(precision.sum, in, column);
                if (!bias.empty())
                    sum = rounded(precision.sum, sum + rounded(precision.input, bias.broadcast(0, 0, 0, c)));
                out.row(b, 0, i)[static_cast<std::size_t>(c)] = rounded(precision.output, sum);
            }
    }
    return out;
}

void round_inputs(std::span<double> values, const Precision& precision) {
    double most = 0;
    for (const double x : values) most = std::max(most, std::abs(x));
    const double scale =
        precision.scaled && most > 0 && std::isfinite(most) ? info(precision.input).largest / most : 1;
    for (double& x : values) x = rounded(precision.input, x * scale) / scale;
}

Array4 split(const Array4& from, Index heads, InputReading::Split how) {
    Array4 to(from.batch, heads, from.rows, from.cols / heads);
    if (how == InputReading::Split::transposed) return split_heads(from, heads);
    if (how == InputReading::Split::viewed) {
        to.values = from.values;
        return to;
    }
    for (Index b = 0; b < to.batch; ++b)
        for (Index h = 0; h < heads; ++h)
            for (Index i = 0; i < to.rows; ++i)
                for (Index c = 0; c < to.cols; ++c)
                    to.row(b, h, i)[static_cast<std::size_t>(c)] =
                        from.row(b, 0, i)[static_cast<std::size_t>(c * heads + h)];
    return to;
}

// Reads one buffer [n, 3 · heads · d] with the kinds first as if heads were first, or the other way round.
void pack(std::array<Array4, 3>& kinds, Index heads, InputReading::Packing packing) {
    const Array4 &q = kinds[0], width = q;
    const Index d = width.cols / heads;
    std::array<Array4, 3> out{q, q, q};
    const auto place = [&](Index kind, Index h, bool by_head) {
        return by_head ? (h * 3 + kind) * d : (kind * heads + h) * d;
    };
    const bool by_head = packing == InputReading::Packing::read_by_head;
    std::vector<double> buffer(static_cast<std::size_t>(3 * width.cols));
    for (Index b = 0; b < width.batch; ++b)
        for (Index i = 0; i < width.rows; ++i) {
            for (Index kind = 0; kind < 3; ++kind)
                for (Index h = 0; h < heads; ++h)
                    for (Index c = 0; c < d; ++c)
                        buffer[static_cast<std::size_t>(place(kind, h, !by_head) + c)] =
                            kinds[static_cast<std::size_t>(kind)].row(b, 0,
                                                                      i)[static_cast<std::size_t>(h * d + c)];
            for (Index kind = 0; kind < 3; ++kind)
                for (Index h = 0; h < heads; ++h)
                    for (Index c = 0; c < d; ++c)
                        out[static_cast<std::size_t>(kind)].row(b, 0,
                                                                i)[static_cast<std::size_t>(h * d + c)] =
                            buffer[static_cast<std::size_t>(place(kind, h, by_head) + c)];
        }
    kinds = std::move(out);
}

// [batch, 1, n, width] with the axes batch and n exchanged, or viewed so.
Array4 swapped(const Array4& from, InputReading::Swap swap) {
    Array4 to(from.rows, 1, from.batch, from.cols);
    if (swap == InputReading::Swap::viewed) {
        to.values = from.values;
        return to;
    }
    for (Index b = 0; b < from.batch; ++b)
        for (Index i = 0; i < from.rows; ++i) std::ranges::copy(from.row(b, 0, i), to.row(i, 0, b).begin());
    return to;
}

void rotate(Array4& heads, const CaseRope& rope, double first, const Precision& precision) {
    const Index pairs = rope.dim / 2;
    for (Index i = 0; i < heads.rows; ++i)
        for (Index a = 0; a < pairs; ++a) {
            const double angle =
                (first + static_cast<double>(i)) *
                std::pow(rope.base, -2 * static_cast<double>(a) / static_cast<double>(rope.dim));
            const double cosine = std::cos(angle), sine = std::sin(angle);
            for (Index b = 0; b < heads.batch; ++b)
                for (Index h = 0; h < heads.heads; ++h) {
                    const auto row = heads.row(b, h, i);
                    double& x = row[static_cast<std::size_t>(rope.interleaved ? 2 * a : a)];
                    double& y = row[static_cast<std::size_t>(rope.interleaved ? 2 * a + 1 : a + pairs)];
                    const double before = x;
                    x = rounded(precision.output, before * cosine - y * sine);
                    y = rounded(precision.output, before * sine + y * cosine);
                }
        }
}

}  // namespace

Array4 merged_heads(const Array4& heads) {
    Array4 to(heads.batch, 1, heads.rows, heads.heads * heads.cols);
    for (Index b = 0; b < heads.batch; ++b)
        for (Index h = 0; h < heads.heads; ++h)
            for (Index i = 0; i < heads.rows; ++i)
                std::ranges::copy(heads.row(b, h, i), to.row(b, 0, i).begin() + h * heads.cols);
    return to;
}

Array4 split_heads(const Array4& merged, Index heads) {
    Array4 to(merged.batch, heads, merged.rows, merged.cols / heads);
    const auto d = static_cast<std::size_t>(to.cols);
    for (Index b = 0; b < to.batch; ++b)
        for (Index h = 0; h < heads; ++h)
            for (Index i = 0; i < to.rows; ++i)
                std::ranges::copy(merged.row(b, 0, i).subspan(static_cast<std::size_t>(h) * d, d),
                                  to.row(b, h, i).begin());
    return to;
}

ReadInputs read_inputs(const AttentionCase& given, const InputReading& reading, const Precision& precision) {
    std::array<Array4, 3> kinds;
    if (const auto& p = given.projections) {
        const Array4 none;
        const auto bias = [&](const Array4& b) -> const Array4& {
            return reading.projection_bias ? b : none;
        };
        kinds = {projected(p->x, p->w_q, bias(p->b_q), precision),
                 projected(p->x_kv, p->w_k, bias(p->b_k), precision),
                 projected(p->x_kv, p->w_v, bias(p->b_v), precision)};
    } else {
        kinds = {merged_heads(given.q), merged_heads(given.k), merged_heads(given.v)};
        for (Array4& kind : kinds) round_inputs(kind.values, precision);
    }
    if (reading.packing != InputReading::Packing::separate) pack(kinds, given.heads(), reading.packing);
    if (reading.order != std::array{0, 1, 2})
        kinds = {kinds[static_cast<std::size_t>(reading.order[0])],
                 kinds[static_cast<std::size_t>(reading.order[1])],
                 kinds[static_cast<std::size_t>(reading.order[2])]};
    if (reading.swap != InputReading::Swap::none)
        for (Array4& kind : kinds) kind = swapped(kind, reading.swap);
    ReadInputs in{split(kinds[0], given.heads(), reading.split),
                  split(kinds[1], given.kv_heads(), reading.split),
                  split(kinds[2], given.kv_heads(), reading.split)};
    if (reading.rope) {
        rotate(in.q, *reading.rope, reading.first_query, precision);
        rotate(in.k, *reading.rope, reading.first_key, precision);
        if (reading.rotates_values) rotate(in.v, *reading.rope, reading.first_key, precision);
    }
    return in;
}

}  // namespace attn
