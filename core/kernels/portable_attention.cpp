// Computes attention in tiles of 64 queries × 64 keys, with an online softmax over the key tiles.
//
// Key tiles begin at multiples of 64 and always count as full: keys beyond the last one are masked. Nothing
// in a row's arithmetic depends on the other rows. So a query decoded against a cache has the same bits as
// in the full causal pass.

#include "kernels/portable_attention.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/exp.hpp"
#include "kernels/exponentials.hpp"
#include "kernels/panels.hpp"

namespace attn {

namespace {

constexpr Index tile_rows = portable_tile_queries, tile_keys = portable_tile_keys;
constexpr float infinity = std::numeric_limits<float>::infinity();

using TileRow = std::span<float, tile_keys>;

bool all_finite(ConstMatrix m) {
    bool finite = true;
    for (Index r = 0; r < m.rows; ++r) {
        std::uint32_t found = 0;
        for (Index c = 0; c < m.cols; ++c)
            found |= (std::bit_cast<std::uint32_t>(m(r, c)) & 0x7f800000u) == 0x7f800000u;
        finite = finite && !found;
    }
    return finite;
}

// Computes one head for a block of at most 64 queries.
class QueryTile {
  public:
    QueryTile(const AttentionCall& call, Index head, Range queries, Panels& panels)
        : call_(call),
          panels_(panels),
          head_(head),
          queries_(queries),
          q_(rows(call.q.head(head), queries)),
          k_(call.k.head(head / (call.q.heads / call.k.heads))),
          v_(call.v.head(head / (call.q.heads / call.k.heads))),
          output_(rows(call.output.head(head), queries)) {
        if (call.part) std::copy_n(call.part->rows.begin() + queries.begin, queries.size(), states_.begin());
    }

    void run() {
        for (Index i = 0; i < output_.rows; ++i) std::fill_n(output_.row(i), output_.cols, 0.0f);
        // Only f32 exponentials are rescaled when a larger maximum turns up; the other precisions need it
        // beforehand.
        if (call_.softmax_precision != SoftmaxPrecision::f32) {
            for_each_tile([&](Range, float* scores) {
                for (Index i = 0; i < queries_.size(); ++i)
                    state(i).max = std::max(state(i).max, largest(tile_row(scores, i)));
            });
        }
        for_each_tile([&](Range keys, float* scores) { accumulate(keys, scores); });
        if (call_.part)
            std::copy_n(states_.begin(), queries_.size(), call_.part->rows.begin() + queries_.begin);
        if (!call_.part || call_.part->last) finish();
    }

  private:
    static TileRow tile_row(float* scores, Index i) { return TileRow(scores + i * tile_keys, tile_keys); }
    RowSums& state(Index i) { return states_[static_cast<std::size_t>(i)]; }

    // Calls f(keys, masked scores [queries, 64]) for every key tile that holds an allowed cell.
    template <class F>
    void for_each_tile(F f) {
        const Range all = call_.part ? call_.part->keys : Range{0, k_.rows};
        for (Index begin = all.begin; begin < all.end; begin += tile_keys) {
            const Range keys{begin, std::min(begin + tile_keys, k_.rows)};
            Coverage coverage = call_.rule.row ? Coverage::some : Coverage::all;
            if (call_.rule.tile) coverage = call_.rule.tile(call_.rule.self, head_, queries_, keys);
            if (coverage == Coverage::none) {
                if (call_.part) {
                    scores_.fill(-infinity);
                    keep(keys);
                }
                continue;
            }
            panels_.pack_transposed(rows(k_, keys));
            multiply(q_, panels_, {scores_.data(), queries_.size(), keys.size(), tile_keys});
            for (Index i = 0; i < queries_.size(); ++i) mask(i, keys, coverage, tile_row(scores_.data(), i));
            keep(keys);
            f(keys, scores_.data());
        }
    }

    void keep(Range keys) {
        for (Index i = 0; call_.part && i < queries_.size(); ++i)
            std::copy_n(scores_.data() + i * tile_keys, keys.size(),
                        call_.part->scores.row(queries_.begin + i) + keys.begin);
    }

    // Turns raw scores into masked scores.
    void mask(Index i, Range keys, Coverage coverage, TileRow scores) {
        const Index query = queries_.begin + i;
        const TileRow::size_type count = static_cast<std::size_t>(keys.size());
        for (float& s : scores.first(count)) s *= call_.scale;
        if (call_.softcap != 0)
            for (float& s : scores.first(count)) s = call_.softcap * std::tanh(s / call_.softcap);
        if (call_.bias.data) {
            const float* bias = call_.bias.head(head_).row(query);
            for (std::size_t j = 0; j < count; ++j)
                scores[j] += bias[call_.bias_one_column ? 0 : static_cast<std::size_t>(keys.begin) + j];
        }
        round_to(call_.softmax_precision, scores.first(count));
        if (coverage == Coverage::some) {
            std::array<std::uint8_t, tile_keys> allowed;
            call_.rule.row(call_.rule.self, head_, query, keys.begin, std::span(allowed).first(count));
            for (std::size_t j = 0; j < count; ++j) scores[j] = allowed[j] ? scores[j] : -infinity;
        }
        std::ranges::fill(scores.subspan(count), -infinity);
    }

    // Does one step of the online softmax and its product with V.
    void accumulate(Range keys, float* scores) {
        for (Index i = 0; i < queries_.size(); ++i) {
            const TileRow row = tile_row(scores, i);
            const float max = std::max(state(i).max, largest(row));
            if (max != state(i).max) rescale(i, max);
            state(i).sum += exponentiate(row, max, call_.softmax_precision);
        }
        const MatrixView<float> weights{scores, queries_.size(), keys.size(), tile_keys};
        const ConstMatrix values = rows(v_, keys);
        if (all_finite(values)) {
            panels_.pack(values);
            multiply_add(weights, panels_, output_);
        } else {
            multiply_add_present(weights, values);
        }
    }

    void rescale(Index i, float max) {
        const float factor = std::isinf(max) ? 0 : exp_f32(state(i).max - max);
        state(i).max = max;
        state(i).sum *= static_cast<double>(factor);
        float* out = output_.row(i);
        // A factor of 0 must not be multiplied: weights that became 0 must leave no trace of an infinite
        // value.
        if (factor == 0)
            std::fill_n(out, output_.cols, 0.0f);
        else
            for (Index b = 0; b < output_.cols; ++b) out[b] *= factor;
    }

    // Makes the same sums in the same order, but skips keys of zero weight: 0 · inf must not reach the
    // output.
    void multiply_add_present(ConstMatrix weights, ConstMatrix values) {
        for (Index i = 0; i < weights.rows; ++i)
            for (Index b = 0; b < values.cols; ++b) {
                float sum = 0;
                for (Index j = 0; j < weights.cols; ++j)
                    if (weights(i, j) != 0) sum += values(j, b) * weights(i, j);
                output_(i, b) += sum;
            }
    }

    void finish() {
        for (Index i = 0; i < queries_.size(); ++i) {
            float total = static_cast<float>(state(i).sum);
            round_to(call_.softmax_precision, {&total, 1});
            call_.row_max(head_, queries_.begin + i) = state(i).max;
            call_.row_log_sum(head_, queries_.begin + i) = std::log(total);
            if (total == 0) continue;
            for (Index b = 0; b < output_.cols; ++b) output_(i, b) /= total;
        }
    }

    const AttentionCall& call_;
    Panels& panels_;  // holds a tile of K or V
    Index head_;
    Range queries_;
    ConstMatrix q_, k_, v_;
    MatrixView<float> output_;
    std::array<RowSums, tile_rows> states_;  // the reference is the maximum
    alignas(64) std::array<float, tile_rows * tile_keys> scores_;
};

}  // namespace

void portable_attention(const AttentionCall& call) {
    Panels panels;
    for (Index head = 0; head < call.q.heads; ++head)
        for (Index begin = 0; begin < call.q.rows; begin += tile_rows)
            QueryTile(call, head, {begin, std::min(begin + tile_rows, call.q.rows)}, panels).run();
}

}  // namespace attn
