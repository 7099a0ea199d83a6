// Computes fused attention in tiles of 48 queries × 64 keys, with an online softmax over the key tiles.
//
// A tile of K and V is packed once for a block of query tiles and for all heads that share it. Key tiles
// begin at multiples of 64 and count as full: keys beyond the last one are masked. Nothing in a row's
// arithmetic depends on the other rows. So a query decoded against a cache has the same bits as in the full
// causal pass.
#pragma once

#include "kernels/attention_tiles.hpp"
#include "kernels/exponentials.hpp"
#include "kernels/portable_attention.hpp"
#include "kernels/simd/columns.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/exp.hpp"
#include "kernels/simd/multiply.hpp"
#include "kernels/table.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

inline constexpr Index tile_queries = attention_tile_queries;
inline constexpr Index tile_keys = attention_tile_keys;
inline constexpr Index tiles_per_block = 8;
inline constexpr float infinity = __builtin_huge_valf();

// A row's weights are summed relative to one of its scores, its reference. A larger score becomes the
// reference only if it is larger by more than this: a float has ample room for e^8, and a row's sums rarely
// need rescaling.
inline constexpr float slack = 8;

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

// Finds the largest scores of a whole row, one per lane. Two maxima run side by side, so that
// neither waits for the other.
template <class V>
[[gnu::always_inline]] inline V largest_of_row(const float* scores) {
    V even = V::broadcast(-infinity), odd = even;
    for (Index j = 0; j < tile_keys; j += 2 * V::width) {
        even = V::max(V::load(scores + j), even);
        odd = V::max(V::load(scores + j + V::width), odd);
    }
    return V::max(even, odd);
}

// Writes exp(score − max), possibly in place, and returns their sum, spread over the lanes.
template <class V>
[[gnu::always_inline]] inline V exponentiate_row(const WeightExp<V>& exp, const float* scores, Index count,
                                                 float max, float* to) {
    V total = V::zero();
    if (__builtin_isinf(max)) {
        __builtin_memmove(to, scores, tile_keys * sizeof(float));
        exponentiate({to, tile_keys}, max, SoftmaxPrecision::f32);
        for (Index j = 0; j < count; j += V::width) total = total + V::load(to + j);
        return total;
    }
    const V most = V::broadcast(max);
    for (Index j = 0; j < count; j += V::width) {
        const V e = exp(V::load(scores + j) - most);
        e.store(to + j);
        total = total + e;
    }
    return total;
}

// Reduces each row, given as one vector, and returns the results with one row per lane.
template <class V, class Combine>
V across(V (&rows)[V::width], Combine combine) {
    V::transpose(rows);
    V result = rows[0];
    for (Index r = 1; r < V::width; ++r) result = combine(result, rows[r]);
    return result;
}

template <class V>
void scale_by(float factor, float* row, Index n) {
    const V f = V::broadcast(factor);
    Index i = 0;
    for (; i + V::width <= n; i += V::width) (V::load(row + i) * f).store(row + i);
    (V::load(row + i, n - i) * f).store(row + i, n - i);
}

// Computes the query heads that share one head of K and V, for a block of queries.
template <class V>
class AttentionBlock {
  public:
    static constexpr Index queries_at_most = tiles_per_block * tile_queries;
    // A tile that the mask cuts is computed in parts of this many queries, each from its first to its last
    // allowed key. A part is whole tiles of the product.
    static constexpr Index part_queries = 12;
    static_assert(tile_queries % part_queries == 0 && part_queries % V::Lanes::tile_rows == 0);

    AttentionBlock(const AttentionCall& call, Index kv_head, Range queries)
        : call_(call),
          k_(call.k.head(kv_head)),
          v_(call.v.head(kv_head)),
          heads_{kv_head * (call.q.heads / call.k.heads), (kv_head + 1) * (call.q.heads / call.k.heads)},
          queries_(queries),
          packed_k_(packed_size<V>(call.k.cols, tile_keys)),
          packed_v_(packed_size<V>(tile_keys, call.v.cols)),
          scores_(tile_queries * tile_keys),
          max_(heads_.size() * queries_at_most + V::width),
          reference_(heads_.size() * queries_at_most),
          sum_(2 * heads_.size() * queries_at_most) {}

    void run() {
        start();
        const Range keys = call_.part ? call_.part->keys : Range{0, k_.rows};
        for (Index key = keys.begin; key < keys.end; key += tile_keys)
            add_keys({key, least(key + tile_keys, k_.rows)});
        if (call_.part) keep_sums();
        if (!call_.part || call_.part->last) finish();
    }

  private:
    // Each row has its largest score so far, its reference, and the sum of exp(score − reference).
    Index place(Index head, Index query) const {
        return (head - heads_.begin) * queries_at_most + query - queries_.begin;
    }
    float& max(Index head, Index query) { return max_.data[place(head, query)]; }
    float& reference(Index head, Index query) { return reference_.data[place(head, query)]; }
    double& sum(Index head, Index query) { return reinterpret_cast<double*>(sum_.data)[place(head, query)]; }
    float* output(Index head, Index query) { return call_.output.head(head).row(query); }

    template <class F>
    void for_each_row(F f) {
        for (Index head = heads_.begin; head < heads_.end; ++head)
            for (Index query = queries_.begin; query < queries_.end; ++query) f(head, query);
    }

    void start() {
        const Index rows = heads_.size() * queries_at_most;
        for (Index i = 0; i < rows; ++i) max_.data[i] = reference_.data[i] = -infinity;
        for (Index i = rows; i < rows + V::width; ++i) max_.data[i] = -infinity;
        for_each_row([&](Index head, Index query) {
            sum(head, query) = 0;
            fill_zero(output(head, query), call_.output.cols);
            if (!call_.part) return;
            const RowSums& before = call_.part->rows[static_cast<std::size_t>(query)];
            max(head, query) = before.max;
            reference(head, query) = before.reference;
            sum(head, query) = before.sum;
        });
    }

    void keep_sums() {
        for_each_row([&](Index head, Index query) {
            call_.part->rows[static_cast<std::size_t>(query)] = {max(head, query), reference(head, query),
                                                                 sum(head, query)};
        });
    }

    void add_keys(Range keys) {
        const bool one_row = heads_.size() == 1 && queries_.size() == 1;
        as_stored_ = one_row && keys.size() == tile_keys && k_.cols <= depth_block;
        bool packed = as_stored_;
        for (Index head = heads_.begin; head < heads_.end; ++head)
            for (Index query = queries_.begin; query < queries_.end; query += tile_queries) {
                const Range queries{query, least(query + tile_queries, queries_.end)};
                Coverage coverage = call_.rule.row ? Coverage::some : Coverage::all;
                if (call_.rule.tile) coverage = call_.rule.tile(call_.rule.self, head, queries, keys);
                if (coverage == Coverage::none) {
                    for (Index i = query; call_.part && i < queries.end; ++i)
                        for (Index key = keys.begin; key < keys.end; ++key)
                            call_.part->scores(i, key) = -infinity;
                    continue;
                }
                if (!packed) pack_keys(keys);
                packed = true;
                add_tile(head, queries, keys, coverage);
            }
    }

    void pack_keys(Range keys) {
        const ConstMatrix k = rows(k_, keys), v = rows(v_, keys);
        pack_transposed<V>(stored(k), k.cols, k.rows, packed_k_.data);
        finite_ = all_finite<V>(v);
        if (finite_) pack<V>(stored(v), v.rows, v.cols, packed_v_.data);
    }

    void add_tile(Index head, Range queries, Range keys, Coverage coverage) {
        const Index step = coverage == Coverage::some ? part_queries : tile_queries;
        for (Index query = queries.begin; query < queries.end; query += step) {
            const Range part{query, least(query + step, queries.end)};
            // Scores that are kept are those of a whole tile.
            const bool cut = coverage == Coverage::some && !call_.part;
            add_part(head, part, keys, cut ? reach(head, part, keys) : keys, coverage);
        }
    }

    // Returns the keys from the first to the last panel that holds an allowed cell.
    Range reach(Index head, Range queries, Range tile) const {
        Range runs{tile.end, tile.begin};
        for (Index query = queries.begin; query < queries.end; ++query) {
            Range run = tile;
            if (!narrow(head, query, run)) return reach_by_panels(head, queries, tile);
            if (run.size() == 0) continue;
            runs = {least(runs.begin, run.begin), runs.end > run.end ? runs.end : run.end};
        }
        if (runs.size() <= 0) return {tile.begin, tile.begin};
        return {tile.begin + (runs.begin - tile.begin) / panel_width<V> * panel_width<V>, runs.end};
    }
    // Narrows the keys to the row's run of allowed ones, if they are known to be one run.
    bool narrow(Index head, Index query, Range& keys) const {
        return call_.rule.run && call_.rule.run(call_.rule.self, head, query, keys);
    }
    Range reach_by_panels(Index head, Range queries, Range keys) const {
        constexpr Index width = panel_width<V>;
        const auto empty = [&](Range panel) {
            return call_.rule.tile(call_.rule.self, head, queries, panel) == Coverage::none;
        };
        if (!call_.rule.tile) return keys;
        while (keys.size() > 0) {
            const Range last{keys.begin + (keys.size() - 1) / width * width, keys.end};
            if (!empty(last)) break;
            keys.end = last.begin;
        }
        while (keys.size() > width && empty({keys.begin, keys.begin + width})) keys.begin += width;
        return keys;
    }

    // The keys are some of the tile's, from the beginning of a panel on.
    void add_part(Index head, Range queries, Range tile, Range keys, Coverage coverage) {
        if (keys.size() == 0) return;
        const ConstMatrix q = rows(call_.q.head(head), queries);
        const bool in_one = q.cols <= depth_block;
        const Index first = keys.begin - tile.begin, cols = round_up(keys.size(), panel_width<V>);
        const MatrixView<float> scores =
            call_.part ? MatrixView<float>{call_.part->scores.row(queries.begin) + keys.begin, queries.size(),
                                           cols, call_.part->scores.row_stride}
                       : MatrixView<float>{scores_.data, queries.size(), cols, tile_keys};
        if (as_stored_)
            score_row(q.data, keys, scores.data);
        else
            multiply<V, Write::over>(q, packed_k_.data + first * q.cols, q.cols, scores,
                                     in_one ? call_.scale : one);
        for (Index i = 0; i < queries.size() && !in_one; ++i)
            scale_by<V>(call_.scale, scores.row(i), keys.size());
        for (Index i = 0; i < queries.size(); i += V::width)
            weigh_rows(head, {queries.begin + i, least(queries.begin + i + V::width, queries.end)}, keys,
                       coverage, {scores.row(i), 0, 0, scores.row_stride}, scores_.data + i * tile_keys);
        const ConstMatrix weights{scores_.data, queries.size(), keys.size(), tile_keys};
        const MatrixView<float> output = rows(call_.output.head(head), queries);
        if (finite_ && !as_stored_)
            multiply<V, Write::added>(weights, packed_v_.data + first * panel_width<V>, tile.size(), output);
        else
            multiply_present(weights, rows(v_, keys), output);
    }

    // The scores of the only query, from keys as they lie: packing them for one row does not pay. Keys behind
    // the last are still in its tile, which is full.
    void score_row(const float* q, Range keys, float* to) {
        constexpr int groups = V::Lanes::panel_vectors;
        for (Index key = keys.begin; key < keys.end; key += panel_width<V>) {
            V sums[groups];
            products_with_rows<V, groups>(q, k_.row(key), k_.row_stride, k_.cols, sums);
            for (int g = 0; g < groups; ++g, to += V::width) (sums[g] * V::broadcast(call_.scale)).store(to);
        }
    }

    // Turns the scores of at most V::width rows into exp(score − reference of the row), in rows of a tile.
    void weigh_rows(Index head, Range queries, Range keys, Coverage coverage, MatrixView<float> scores,
                    float* to) {
        const Index count = queries.size();
        float* largest = &max(head, queries.begin);
        float* reference = &this->reference(head, queries.begin);
        const bool plain =
            coverage == Coverage::all && keys.size() == tile_keys && call_.softcap == 0 && !call_.bias.data;
        V lanes[V::width];
        for (Index r = 0; r < V::width; ++r)
            lanes[r] = r >= count ? V::broadcast(-infinity)
                       : plain    ? largest_of_row<V>(scores.row(r))
                                  : mask(head, queries.begin + r, keys, coverage, scores.row(r));
        const V most = across<V>(lanes, [](V a, V b) { return V::max(a, b); });
        V::max(most, V::load(largest)).store(largest);
        const WeightExp<V> exp;
        for (Index r = 0; r < count; ++r) {
            if (largest[r] > reference[r] + slack) {
                rescale(head, queries.begin + r, exp(V::broadcast(reference[r] - largest[r])).v[0]);
                reference[r] = largest[r];
            }
        }
        for (Index r = 0; r < V::width; ++r)
            lanes[r] = r < count ? exponentiate_row<V>(exp, scores.row(r), keys.size(), reference[r],
                                                       to + r * tile_keys)
                                 : V::zero();
        float totals[V::width];
        across<V>(lanes, [](V a, V b) { return a + b; }).store(totals);
        for (Index r = 0; r < count; ++r) sum(head, queries.begin + r) += static_cast<double>(totals[r]);
    }

    // Masks the scores of a row and returns their largest, one per lane.
    V mask(Index head, Index query, Range keys, Coverage coverage, float* scores) {
        const Index count = keys.size();
        if (call_.softcap != 0) {
            const Tanh<V> tanh;
            const V cap = V::broadcast(call_.softcap);
            for (Index j = 0; j < count; j += V::width)
                (cap * tanh(V::load(scores + j) / cap)).store(scores + j);
        }
        if (call_.bias.data) {
            const float* bias = call_.bias.head(head).row(query);
            const V all = V::broadcast(*bias);
            // What this adds behind the last key is overwritten below.
            for_each_vector<V>(count, [&](Index j, Index some) {
                const V each = call_.bias_one_column ? all : load_some<V>(bias + keys.begin + j, some);
                (V::load(scores + j) + each).store(scores + j);
            });
        }
        Range run = keys;
        if (coverage == Coverage::some && !narrow(head, query, run)) {
            std::uint8_t allowed[tile_keys];
            call_.rule.row(call_.rule.self, head, query, keys.begin,
                           {allowed, static_cast<std::size_t>(count)});
            for (Index j = 0; j < count; ++j) scores[j] = allowed[j] ? scores[j] : -infinity;
        }
        for (Index j = 0; j < run.begin - keys.begin; ++j) scores[j] = -infinity;
        for (Index j = run.end - keys.begin; j < tile_keys; ++j) scores[j] = -infinity;
        return largest_of_row<V>(scores);
    }

    // Rescales what the row has summed up so far to a larger reference.
    void rescale(Index head, Index query, float factor) {
        sum(head, query) *= static_cast<double>(factor);
        float* out = output(head, query);
        // A factor of 0 must not be multiplied: weights that became 0 must leave no trace of an infinite
        // value.
        if (factor == 0)
            fill_zero(out, call_.output.cols);
        else
            scale_by<V>(factor, out, call_.output.cols);
    }

    // Makes the same sums in the same order, but skips keys of zero weight: 0 · inf must not reach the
    // output.
    static void multiply_present(ConstMatrix weights, ConstMatrix values, MatrixView<float> output) {
        for (Index i = 0; i < weights.rows; ++i) {
            const float* row = weights.row(i);
            // Some vectors of the output, of `count` columns each.
            const auto add = [&]<int together>(Index b, Index count) __attribute__((always_inline)) {
                V sums[together]{};
                for (Index j = 0; j < weights.cols; ++j)
                    if (row[j] != 0)
                        for (Index v = 0; v < together; ++v)
                            sums[v] = V::fma(V::broadcast(row[j]),
                                             load_some<V>(values.row(j) + b + v * V::width, count), sums[v]);
                for (Index v = 0; v < together; ++v) {
                    float* out = output.row(i) + b + v * V::width;
                    store_some(load_some<V>(out, count) + sums[v], out, count);
                }
            };
            Index b = 0;
            for (; b + 4 * V::width <= values.cols; b += 4 * V::width)
                add.template operator()<4>(b, V::width);
            for (; b < values.cols; b += V::width)
                add.template operator()<1>(b, least(V::width, values.cols - b));
        }
    }

    void finish() {
        for_each_row([&](Index head, Index query) {
            const float total = static_cast<float>(sum(head, query)),
                        below = reference(head, query) - max(head, query);
            call_.row_max(head, query) = max(head, query);
            call_.row_log_sum(head, query) = logarithm(total);
            if (total == 0) return;
            if (below < 0) call_.row_log_sum(head, query) += below;
            float* out = output(head, query);
            for_each_vector<V>(call_.output.cols, [&](Index i, Index count) {
                store_some(load_some<V>(out + i, count) / V::broadcast(total), out + i, count);
            });
        });
    }

    const AttentionCall& call_;
    ConstMatrix k_, v_;
    Range heads_, queries_;
    Scratch packed_k_, packed_v_, scores_;
    // [heads, queries]; the sums are doubles. Maxima are read a vector at a time, the last of which may reach
    // beyond them.
    Scratch max_, reference_, sum_;
    bool finite_ = true;      // whether the packed values are finite
    bool as_stored_ = false;  // whether the tile is read without being packed
};

template <class V>
void attention(const AttentionCall& call) {
    if (call.q.heads == 0) return;
    if (call.softmax_precision != SoftmaxPrecision::f32) return portable_attention(call);
    constexpr Index size = AttentionBlock<V>::queries_at_most;
    const Index across = blocks(call.q.rows, size);
    // The last blocks go first: under a causal mask they take longest.
    for_each_task(call.k.heads * across, [&](Index task) {
        AttentionBlock<V>(call, task % call.k.heads,
                          block(across - 1 - task / call.k.heads, size, call.q.rows))
            .run();
    });
}

}  // namespace attn::simd
