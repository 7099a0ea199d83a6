// One head's q and k under different ways to tell attention where its tokens stand, in f32 as the kernels
// have it and in double.
//
// Attention by itself is equivariant: softmax(P Q (P K)ᵀ) P V = P softmax(Q Kᵀ) V for every permutation P,
// and with a mask M that moves along, P M Pᵀ (Lee et al. 2019, arXiv 1810.00825, property 1). What depends on
// the places of the tokens, a causal mask or one of these schemes, breaks that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/record.hpp"
#include "model/positions.hpp"

namespace attn {

enum class PositionScheme {
    none,
    learned,
    sinusoidal,
    rotary,
    alibi,
    buckets,
    own_buckets,  // with the numbers of a model that has such
};
inline constexpr std::size_t position_schemes = 7;
inline bool has_buckets(PositionScheme scheme) {
    return scheme == PositionScheme::buckets || scheme == PositionScheme::own_buckets;
}
// Says whether the scheme changes q and k.
inline bool is_placed(PositionScheme scheme) {
    return scheme == PositionScheme::learned || scheme == PositionScheme::sinusoidal ||
           scheme == PositionScheme::rotary;
}

// A scheme with its numbers for one head.
struct PositionRule {
    PositionScheme scheme = PositionScheme::none;
    // Learned: row p of a table, which is drawn from a seed, is added to q and k alike.
    std::uint64_t seed = 1;
    Index table_rows = 512;
    // Rotary: radians per position for each pair, and what cosines and sines are multiplied by.
    std::vector<double> frequencies{};
    double magnitude = 1;
    bool interleaved = false;  // pairs (2a, 2a + 1); else (a, a + pairs)
    // ALiBi and buckets: what is added to a scaled score.
    double slope = 1;
    RelativeBuckets buckets{};
    std::vector<double> bucket_biases{};  // [buckets.count]
};

// Standard normal numbers of a seed.
std::vector<double> drawn_table_row(std::uint64_t seed, Index position, Index width);
std::vector<double> drawn_bucket_biases(std::uint64_t seed, Index count);

// The components of a pair in a vector with so many pairs.
struct PairPlace {
    Index first, second;
};
PairPlace pair_place(const PositionRule& rule, Index pair);

// Puts q or k [n, d] at their positions [n], as the kernels do.
void place(const Kernels& kernels, const PositionRule& rule, std::span<const Index> positions,
           MatrixView<float> rows);
// The same of one row in double.
std::vector<double> placed(const PositionRule& rule, std::span<const double> row, Index position);
// What is added to the scaled score; 0 for most schemes.
double position_bias(const PositionRule& rule, Index query, Index key);

// What one pair of components adds to q · k once both are turned: |q| |k| cos(angle of q − angle of k).
struct PairRotation {
    double q_length = 0, k_length = 0;
    double q_angle = 0, k_angle = 0;  // radians, turned
    double product = 0;
};
PairRotation pair_rotation(const PositionRule& rule, Index pair, std::span<const double> q, Index q_position,
                           std::span<const double> k, Index k_position);

// q of some tokens, k and v of the same or of others: [1, n_q, d_k], [1, n_k, d_k], [1, n_k, d_v].
struct HeadRows {
    Tensor q, k, v;
    // Row s is that of token order[s], of the queries, and of the keys with their values.
    HeadRows taken(std::span<const Index> queries, std::span<const Index> keys) const;
    HeadRows taken(std::span<const Index> order) const { return taken(order, order); }
};

// Attention over such rows at their positions.
struct PlacedRun {
    Record record;                // whose Q and K are placed, and whose bias is the scheme's
    std::vector<double> scores;   // [n_q, n_k] before the mask, all in double from the same rows
    std::vector<double> weights;  // [n_q, n_k]
    std::vector<double> outputs;  // [n_q, d_v]

    Index queries() const { return record.queries(); }
    Index keys() const { return record.keys(); }
    double score(Index i, Index j) const { return scores[static_cast<std::size_t>(i * keys() + j)]; }
    double weight(Index i, Index j) const { return weights[static_cast<std::size_t>(i * keys() + j)]; }
    double output(Index i, Index b) const { return outputs[static_cast<std::size_t>(i * record.d_v() + b)]; }
};
// The spec gives scale, soft cap and mask; rows and columns of the mask are places, not tokens.
Result<PlacedRun> run_placed(const Kernels& kernels, const PositionRule& rule, const HeadRows& rows,
                             std::span<const Index> query_positions, std::span<const Index> key_positions,
                             AttentionSpec spec);
inline Result<PlacedRun> run_placed(const Kernels& kernels, const PositionRule& rule, const HeadRows& rows,
                                    std::span<const Index> positions, AttentionSpec spec) {
    return run_placed(kernels, rule, rows, positions, positions, std::move(spec));
}

// How far the outputs after a move are from those before it that moved along, token by token: the largest
// |after[s] − before[order[s]]|, of an order of the queries. Outputs know no order of the keys.
struct CarriedError {
    std::vector<double> f32, f64;  // [n_q], by token
    double most_f32() const;
    double most_f64() const;
};
CarriedError carried_error(const PlacedRun& before, const PlacedRun& after, std::span<const Index> order);

// A bound of what rounding alone makes of the outputs when the keys come in another order: the sums of n
// exponentials and of n products are rounded by 2⁻²⁴ of themselves at each step, and exponents by 2⁻²⁴ of the
// largest score.
double reorder_rounding(const PlacedRun& run);

// How the scores before the mask of one run differ from those of another.
struct ScoreChange {
    Index equal = 0, all = 0;          // in all bits of f32
    double f32 = 0, f64 = 0;           // the largest differences
    Index f32_cell = 0, f64_cell = 0;  // where they are, query · n_k + key
};
ScoreChange score_change(const PlacedRun& a, const PlacedRun& b);
// The f32 scores of a run before its mask, [n_q, n_k].
std::vector<float> scores_of(const PlacedRun& run);

}  // namespace attn
