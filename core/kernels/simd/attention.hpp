// Fused attention: tiles of about 64 queries × 64 keys, online softmax over the key tiles.
//
// A tile of K and V is packed once for a block of query tiles and for all heads that share it. Tiles of keys begin
// at multiples of 64 and are treated as full, keys beyond the last one as masked, and nothing in a row's
// arithmetic depends on the other rows. So a query decoded against a cache has the same bits as in the full causal
// pass.
#pragma once

#include "kernels/exponentials.hpp"
#include "kernels/portable_attention.hpp"
#include "kernels/simd/exp.hpp"
#include "kernels/simd/multiply.hpp"
#include "kernels/table.hpp"

namespace attn::simd {

inline constexpr Index tile_keys = 64;
inline constexpr Index tiles_per_block = 4;
inline constexpr float infinity = __builtin_huge_valf();

template <class V>
constexpr Index tile_queries = 64 / V::Lanes::tile_rows * V::Lanes::tile_rows;

template <class T>
MatrixView<T> rows_of(MatrixView<T> m, Range rows) {
    return {m.row(rows.begin), rows.size(), m.cols, m.row_stride};
}

template <class V>
bool all_finite(ConstMatrix m) {
    V check = V::zero();  // stays 0, or becomes NaN
    for (Index r = 0; r < m.rows; ++r) {
        Index c = 0;
        for (; c + V::width <= m.cols; c += V::width) check = V::fma(V::load(m.row(r) + c), V::zero(), check);
        check = V::fma(V::load(m.row(r) + c, m.cols - c), V::zero(), check);
    }
    return check.total() == 0;
}

// Scores -> exp(score − max), their sum.
template <class V>
float exponentiate_row(float* scores, float max) {
    const V most = V::broadcast(max);
    V total = V::zero();
    for (Index j = 0; j < tile_keys; j += V::width) {
        const V e = exp_nonpositive(V::load(scores + j) - most);
        e.store(scores + j);
        total = total + e;
    }
    return total.total();
}

template <class V>
void scale_by(float factor, float* row, Index n) {
    const V f = V::broadcast(factor);
    Index i = 0;
    for (; i + V::width <= n; i += V::width) (V::load(row + i) * f).store(row + i);
    (V::load(row + i, n - i) * f).store(row + i, n - i);
}

// The query heads that share one head of K and V, a block of queries at a time.
template <class V>
class AttentionGroup {
  public:
    AttentionGroup(const AttentionCall& call, Index group)
        : call_(call),
          group_(group),
          block_(tile_queries<V> * (group < tiles_per_block ? tiles_per_block / group : 1)),
          packed_k_(packed_size<V>(call.k.cols, tile_keys)),
          packed_v_(packed_size<V>(tile_keys, call.v.cols)),
          scores_(tile_queries<V> * tile_keys),
          max_(group * block_),
          sum_(2 * group * block_) {}

    void run(Index kv_head) {
        k_ = call_.k.head(kv_head);
        v_ = call_.v.head(kv_head);
        heads_ = {kv_head * group_, (kv_head + 1) * group_};
        for (Index begin = 0; begin < call_.q.rows; begin += block_) {
            queries_ = {begin, least(begin + block_, call_.q.rows)};
            start();
            for (Index key = 0; key < k_.rows; key += tile_keys)
                add_keys({key, least(key + tile_keys, k_.rows)});
            finish();
        }
    }

  private:
    // A row's place in the block: its largest score so far, and the sum of exp(score − largest).
    struct Row {
        float& max;
        double& sum;
        float* output;
    };
    Row row(Index head, Index query) {
        const Index at = (head - heads_.begin) * block_ + query - queries_.begin;
        return {max_.data[at], reinterpret_cast<double*>(sum_.data)[at], call_.output.head(head).row(query)};
    }

    template <class F>
    void for_each_row(F f) {
        for (Index head = heads_.begin; head < heads_.end; ++head)
            for (Index query = queries_.begin; query < queries_.end; ++query) f(head, query);
    }

    void start() {
        for_each_row([&](Index head, Index query) {
            const Row r = row(head, query);
            r.max = -infinity;
            r.sum = 0;
            for (Index b = 0; b < call_.output.cols; ++b) r.output[b] = 0;
        });
    }

    void add_keys(Range keys) {
        bool packed = false;
        for (Index head = heads_.begin; head < heads_.end; ++head)
            for (Index query = queries_.begin; query < queries_.end; query += tile_queries<V>) {
                const Range queries{query, least(query + tile_queries<V>, queries_.end)};
                Coverage coverage = call_.rule.row ? Coverage::some : Coverage::all;
                if (call_.rule.tile) coverage = call_.rule.tile(call_.rule.self, head, queries, keys);
                if (coverage == Coverage::none) continue;
                if (!packed) pack_keys(keys);
                packed = true;
                add_tile(head, queries, keys, coverage);
            }
    }

    void pack_keys(Range keys) {
        const ConstMatrix k = rows_of(k_, keys), v = rows_of(v_, keys);
        pack_transposed<V>(stored(k), k.cols, k.rows, packed_k_.data);
        finite_ = all_finite<V>(v);
        if (finite_) pack<V>(stored(v), v.rows, v.cols, packed_v_.data);
    }

    void add_tile(Index head, Range queries, Range keys, Coverage coverage) {
        multiply<V, Write::over>(
            rows_of(call_.q.head(head), queries), packed_k_.data,
            {scores_.data, queries.size(), round_up(keys.size(), panel_width<V>), tile_keys});
        for (Index i = 0; i < queries.size(); ++i) {
            float* scores = scores_.data + i * tile_keys;
            raise_max(row(head, queries.begin + i), mask(head, queries.begin + i, keys, coverage, scores));
        }
        for (Index i = 0; i < queries.size(); ++i) {
            float* scores = scores_.data + i * tile_keys;
            const Row r = row(head, queries.begin + i);
            r.sum += __builtin_isinf(r.max) ? exponentiate({scores, tile_keys}, r.max, SoftmaxPrecision::f32)
                                            : static_cast<double>(exponentiate_row<V>(scores, r.max));
        }
        const ConstMatrix weights{scores_.data, queries.size(), keys.size(), tile_keys};
        const MatrixView<float> output = rows_of(call_.output.head(head), queries);
        if (finite_)
            multiply<V, Write::added>(weights, packed_v_.data, output);
        else
            multiply_present(weights, rows_of(v_, keys), output);
    }

    // Products q · k -> masked scores; returns the largest.
    float mask(Index head, Index query, Range keys, Coverage coverage, float* scores) {
        const Index count = keys.size();
        const V scale = V::broadcast(call_.scale);
        V most = V::broadcast(-infinity);
        if (coverage == Coverage::all && count == tile_keys && call_.softcap == 0 && !call_.bias.data) {
            for (Index j = 0; j < tile_keys; j += V::width) {
                const V s = V::load(scores + j) * scale;
                s.store(scores + j);
                most = V::max(s, most);
            }
            return most.largest();
        }

        scale_by<V>(call_.scale, scores, count);
        if (call_.softcap != 0) {
            const V cap = V::broadcast(call_.softcap);
            for (Index j = 0; j < count; j += V::width)
                (cap * tanh(V::load(scores + j) / cap)).store(scores + j);
        }
        if (call_.bias.data) {
            const float* bias = call_.bias.head(head).row(query);
            for (Index j = 0; j < count; ++j) scores[j] += bias[call_.bias_one_column ? 0 : keys.begin + j];
        }
        if (coverage == Coverage::some) {
            std::uint8_t allowed[tile_keys];
            call_.rule.row(call_.rule.self, head, query, keys.begin,
                           {allowed, static_cast<std::size_t>(count)});
            for (Index j = 0; j < count; ++j) scores[j] = allowed[j] ? scores[j] : -infinity;
        }
        for (Index j = count; j < tile_keys; ++j) scores[j] = -infinity;
        for (Index j = 0; j < tile_keys; j += V::width) most = V::max(V::load(scores + j), most);
        return most.largest();
    }

    // Rescales what the row has summed up so far to a larger maximum.
    void raise_max(Row r, float max) {
        if (!(max > r.max)) return;
        const float factor = __builtin_isinf(max) ? 0 : exp_nonpositive(V::broadcast(r.max - max)).v[0];
        r.max = max;
        r.sum *= static_cast<double>(factor);
        // Not a product where the factor is 0: weights that have become 0 leave nothing of an infinite value.
        if (factor == 0)
            for (Index b = 0; b < call_.output.cols; ++b) r.output[b] = 0;
        else
            scale_by<V>(factor, r.output, call_.output.cols);
    }

    // The same sums in the same order, without the keys of zero weight: 0 · inf must not reach the output.
    static void multiply_present(ConstMatrix weights, ConstMatrix values, MatrixView<float> output) {
        for (Index i = 0; i < weights.rows; ++i)
            for (Index b = 0; b < values.cols; b += V::width) {
                const Index count = least(V::width, values.cols - b);
                V sum = V::zero();
                for (Index j = 0; j < weights.cols; ++j)
                    if (weights(i, j) != 0)
                        sum = V::fma(V::broadcast(weights(i, j)), V::load(values.row(j) + b, count), sum);
                float* out = output.row(i) + b;
                (V::load(out, count) + sum).store(out, count);
            }
    }

    void finish() {
        for_each_row([&](Index head, Index query) {
            const Row r = row(head, query);
            const float total = static_cast<float>(r.sum);
            call_.row_max(head, query) = r.max;
            call_.row_log_sum(head, query) = logarithm(total);
            if (total == 0) return;
            for (Index b = 0; b < call_.output.cols; b += V::width) {
                const Index count = least(V::width, call_.output.cols - b);
                (V::load(r.output + b, count) / V::broadcast(total)).store(r.output + b, count);
            }
        });
    }

    const AttentionCall& call_;
    Index group_;  // query heads to a head of K and V
    Index block_;  // queries
    Scratch packed_k_, packed_v_, scores_;
    Scratch max_, sum_;  // [group, block], float and double
    ConstMatrix k_, v_;
    Range heads_, queries_;
    bool finite_ = true;  // the packed values
};

template <class V>
void attention(const AttentionCall& call) {
    if (call.q.heads == 0) return;
    if (call.softmax_precision != SoftmaxPrecision::f32) return portable_attention(call);
    AttentionGroup<V> group(call, call.q.heads / call.k.heads);
    for (Index kv_head = 0; kv_head < call.k.heads; ++kv_head) group.run(kv_head);
}

}  // namespace attn::simd
