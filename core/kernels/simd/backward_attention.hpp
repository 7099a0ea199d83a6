// Computes the gradients of attention in tiles of 48 queries × 64 keys, whose weights are recomputed from the
// statistics of their rows (Dao et al. 2022, arXiv 2205.14135, algorithm 4).
//
// With S the scores, P the weights, O the output, dO its gradient and D_i = Σ_b dO_ib O_ib:
//   dP = dO Vᵀ,  dS = P ∘ (dP − D) ∘ slope of the soft cap,  dQ = scale · dS K,  dK = scale · dSᵀ Q,  dV = Pᵀ
//        dO.
// dP and D already contain the scale, so dS comes out scaled.
#pragma once

#include "kernels/backward.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/multiply.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

// Handles one head of K and V, and the query heads that share it.
template <class V>
class AttentionBackward {
  public:
    AttentionBackward(const AttentionBackwardCall& call, Index kv_head)
        : call_(call),
          forward_(call.forward),
          kv_head_(kv_head),
          k_(forward_.k.head(kv_head)),
          v_(forward_.v.head(kv_head)),
          heads_{kv_head * (forward_.q.heads / forward_.k.heads),
                 (kv_head + 1) * (forward_.q.heads / forward_.k.heads)},
          n_q_(forward_.q.rows),
          packed_k_transposed_(packed_size<V>(k_.cols, tile_keys)),
          packed_v_transposed_(packed_size<V>(v_.cols, tile_keys)),
          packed_k_(packed_size<V>(tile_keys, k_.cols)),
          packed_q_(packed_size<V>(tile_queries, k_.cols)),
          packed_d_output_(packed_size<V>(tile_queries, v_.cols)),
          scores_(tile_queries * tile_keys),
          d_scores_(tile_queries * tile_keys),
          d_k_(tile_keys * k_.cols),
          d_v_(tile_keys * v_.cols),
          rows_(3 * heads_.size() * n_q_) {}

    void run() {
        start();
        for (Index key = 0; key < k_.rows; key += tile_keys) add_keys({key, least(key + tile_keys, k_.rows)});
    }

  private:
    static constexpr Index tile_queries = 48;
    static constexpr Index tile_keys = 64;
    // A tile that the mask cuts is computed in parts of this many queries, each up to its last allowed key.
    static constexpr Index part_queries = 24;
    static_assert(tile_queries % part_queries == 0 && part_queries % V::Lanes::tile_rows == 0);

    // With these, P = exp(S − max) · factor.
    struct Row {
        float max, factor, d;
    };
    Row& row(Index head, Index query) {
        return reinterpret_cast<Row*>(rows_.data)[(head - heads_.begin) * n_q_ + query];
    }

    void start() {
        for (Index head = heads_.begin; head < heads_.end; ++head)
            for (Index query = 0; query < n_q_; ++query) {
                const float sum = exponential(forward_.row_log_sum(head, query));
                const float d =
                    dot(forward_.output.head(head).row(query), call_.d_output.head(head).row(query), v_.cols);
                // Without an allowed cell the scores are −inf, and exp(−inf − 0) · 0 is 0.
                row(head, query) = {sum == 0 ? 0 : forward_.row_max(head, query), sum == 0 ? 0 : 1 / sum,
                                    forward_.scale * d};
                fill_zero(call_.d_q.head(head).row(query), k_.cols);
            }
    }

    static float dot(const float* x, const float* y, Index n) {
        V sum = V::zero();
        for_each_vector<V>(n, [&](Index i, Index count) {
            sum = V::fma(load_some<V>(x + i, count), load_some<V>(y + i, count), sum);
        });
        return sum.total();
    }

    void add_keys(Range keys) {
        fill_zero(d_k_.data, keys.size() * k_.cols);
        fill_zero(d_v_.data, keys.size() * v_.cols);
        bool packed = false;
        for (Index head = heads_.begin; head < heads_.end; ++head)
            for (Index query = 0; query < n_q_; query += tile_queries) {
                const Range queries{query, least(query + tile_queries, n_q_)};
                const Coverage coverage = covers(head, queries, keys);
                if (coverage == Coverage::none) continue;
                if (!packed) pack_keys(keys);
                packed = true;
                add_tile(head, queries, keys, coverage);
            }
        const MatrixView<float> d_k = rows(call_.d_k.head(kv_head_), keys),
                                d_v = rows(call_.d_v.head(kv_head_), keys);
        copy_rows({d_k_.data, d_k.rows, d_k.cols, d_k.cols}, d_k.data, d_k.row_stride);
        copy_rows({d_v_.data, d_v.rows, d_v.cols, d_v.cols}, d_v.data, d_v.row_stride);
    }

    Coverage covers(Index head, Range queries, Range keys) const {
        if (forward_.rule.tile) return forward_.rule.tile(forward_.rule.self, head, queries, keys);
        return forward_.rule.row ? Coverage::some : Coverage::all;
    }

    void pack_keys(Range keys) {
        const ConstMatrix k = rows(k_, keys), v = rows(v_, keys);
        pack_transposed<V>(stored(k), k.cols, k.rows, packed_k_transposed_.data);
        pack_transposed<V>(stored(v), v.cols, v.rows, packed_v_transposed_.data);
        pack<V>(stored(k), k.rows, k.cols, packed_k_.data);
    }

    void add_tile(Index head, Range queries, Range keys, Coverage coverage) {
        if (coverage == Coverage::all) return add_part(head, queries, keys, keys.size(), coverage);
        for (Index query = queries.begin; query < queries.end; query += part_queries) {
            const Range part{query, least(query + part_queries, queries.end)},
                reached = reach(head, part, keys);
            if (reached.size() > 0) add_part(head, part, reached, keys.size(), covers(head, part, reached));
        }
    }

    // Returns the keys up to the last panel that holds an allowed cell.
    Range reach(Index head, Range queries, Range keys) const {
        while (keys.size() > 0) {
            const Range last{keys.begin + (keys.size() - 1) / panel_width<V> * panel_width<V>, keys.end};
            if (covers(head, queries, last) != Coverage::none) break;
            keys.end = last.begin;
        }
        return keys;
    }

    void add_part(Index head, Range queries, Range keys, Index packed_keys, Coverage coverage) {
        const ConstMatrix q = rows(forward_.q.head(head), queries),
                          d_output = rows(call_.d_output.head(head), queries);
        multiply_scaled(q, packed_k_transposed_, keys.size(), scores_);
        multiply_scaled(d_output, packed_v_transposed_, keys.size(), d_scores_);
        const WeightExp<V> exp;
        for (Index i = 0; i < queries.size(); ++i)
            differentiate_row(exp, head, queries.begin + i, keys, coverage, scores_.data + i * tile_keys,
                              d_scores_.data + i * tile_keys);

        const ConstMatrix weights{scores_.data, queries.size(), keys.size(), tile_keys},
            d_scores{d_scores_.data, queries.size(), keys.size(), tile_keys};
        pack<V>(stored(d_output), queries.size(), v_.cols, packed_d_output_.data);
        multiply<V, Write::added, Lies::turned>(weights, packed_d_output_.data, queries.size(),
                                                {d_v_.data, keys.size(), v_.cols, v_.cols});
        pack<V>(stored(q), queries.size(), k_.cols, packed_q_.data);
        multiply<V, Write::added, Lies::turned>(d_scores, packed_q_.data, queries.size(),
                                                {d_k_.data, keys.size(), k_.cols, k_.cols});
        multiply<V, Write::added>(d_scores, packed_k_.data, packed_keys, rows(call_.d_q.head(head), queries));
    }

    // to [queries, 64] = scale · a · b, where b [depth, keys] is packed.
    void multiply_scaled(ConstMatrix a, const Scratch& b, Index keys, const Scratch& to) const {
        const bool in_one = a.cols <= depth_block;
        multiply<V, Write::over>(a, b.data, a.cols,
                                 {to.data, a.rows, round_up(keys, panel_width<V>), tile_keys},
                                 in_one ? forward_.scale : one);
        if (in_one) return;
        const V scale = V::broadcast(forward_.scale);
        for (Index i = 0; i < a.rows; ++i)
            for (Index j = 0; j < keys; j += V::width) {
                float* at = to.data + i * tile_keys + j;
                (V::load(at) * scale).store(at);
            }
    }

    // Turns a row's scores into weights, and their gradients dP into dS.
    void differentiate_row(const WeightExp<V>& exp, Index head, Index query, Range keys, Coverage coverage,
                           float* scores, float* d) {
        const Index count = keys.size();
        float slopes[tile_keys];
        if (forward_.softcap != 0) cap_row(scores, slopes, count);
        if (forward_.bias.data) {
            const float* bias = forward_.bias.head(head).row(query);
            for (Index j = 0; j < count; ++j)
                scores[j] += bias[forward_.bias_one_column ? 0 : keys.begin + j];
        }
        if (coverage == Coverage::some) {
            std::uint8_t allowed[tile_keys];
            forward_.rule.row(forward_.rule.self, head, query, keys.begin,
                              {allowed, static_cast<std::size_t>(count)});
            for (Index j = 0; j < count; ++j) scores[j] = allowed[j] ? scores[j] : -__builtin_huge_valf();
        }
        const Row& r = row(head, query);
        const V max = V::broadcast(r.max), factor = V::broadcast(r.factor), mean = V::broadcast(r.d);
        for (Index j = 0; j < count; j += V::width) {
            const V weight = exp(V::load(scores + j) - max) * factor;
            weight.store(scores + j);
            (weight * (V::load(d + j) - mean)).store(d + j);
        }
        if (call_.d_bias.data) {
            float* d_bias = call_.d_bias.head(head).row(query) + keys.begin;
            for (Index j = 0; j < count; ++j) d_bias[j] += d[j] / forward_.scale;
        }
        if (forward_.softcap != 0)
            for (Index j = 0; j < count; j += V::width) (V::load(d + j) * V::load(slopes + j)).store(d + j);
    }

    // Turns scores s into capped scores c tanh(s / c), and writes the slopes 1 − tanh².
    void cap_row(float* scores, float* slopes, Index count) const {
        const Tanh<V> tanh;
        const V cap = V::broadcast(forward_.softcap), unit = V::broadcast(1);
        for (Index j = 0; j < count; j += V::width) {
            const V t = tanh(V::load(scores + j) / cap);
            (cap * t).store(scores + j);
            (unit - t * t).store(slopes + j);
        }
    }

    const AttentionBackwardCall& call_;
    const AttentionCall& forward_;
    Index kv_head_;
    ConstMatrix k_, v_;
    Range heads_;
    Index n_q_;
    Scratch packed_k_transposed_, packed_v_transposed_, packed_k_;  // hold a tile of keys
    Scratch packed_q_, packed_d_output_;                            // hold a part of a tile of queries
    Scratch scores_, d_scores_;                                     // [queries, 64]: S and dP, then P and dS
    Scratch d_k_, d_v_;                                             // [64, d_k], [64, d_v]: of a tile of keys
    Scratch rows_;                                                  // [heads, n_q] of Row
};

template <class V>
void attention_backward(const AttentionBackwardCall& call) {
    for_each_task(call.forward.k.heads, [&](Index kv_head) { AttentionBackward<V>(call, kv_head).run(); });
}

}  // namespace attn::simd
