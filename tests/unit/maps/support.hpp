// Provides records for maps, the cells of a map, and the expected blocks.
#pragma once

#include <catch_amalgamated.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/pool.hpp"
#include "maps/map.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"

namespace attn::test {

using RecordPointer = std::shared_ptr<const Record>;

inline RecordPointer record(Tensor q, Tensor k, Tensor v, AttentionSpec spec = {},
                            const Kernels& kernels = default_kernels()) {
    auto result = Record::run(std::move(q), std::move(k), std::move(v), std::move(spec), kernels);
    REQUIRE(result);
    return std::make_shared<const Record>(*std::move(result));
}

// Two heads over one key-value head, with d_k 8 and d_v 6.
inline RecordPointer random_record(Index n_q, Index n_k, AttentionSpec spec = {},
                                   const Kernels& kernels = default_kernels()) {
    return record(random_tensor({2, n_q, 8}, 1), random_tensor({1, n_k, 8}, 2), random_tensor({1, n_k, 6}, 3),
                  std::move(spec), kernels);
}

inline AttentionSpec masked_by(Mask mask) {
    AttentionSpec spec;
    spec.mask = std::move(mask);
    return spec;
}

// Runs a job to its end.
template <class Job>
Job finished(Job job) {
    while (job.step()) {
    }
    REQUIRE(job.done());
    return job;
}

struct BruteForce {
    float strongest = masked_cell;
    double mean = masked_cell;  // −inf if all are masked
    double magnitude = 0;       // mean of the magnitudes
};

// Computes one block of cells, cut off at the map's edges.
inline BruteForce brute_force(const Map& map, std::span<const float> cells, Range queries, Range keys) {
    BruteForce block;
    double sum = 0, magnitudes = 0, count = 0;
    for (Index i = queries.begin; i < std::min(queries.end, map.queries()); ++i)
        for (Index j = keys.begin; j < std::min(keys.end, map.keys()); ++j) {
            const float cell = cells[static_cast<std::size_t>(i * map.keys() + j)];
            if (cell == masked_cell) continue;
            const float best = block.strongest;
            const bool stronger = best == masked_cell ||
                                  (map.is_signed() ? std::abs(cell) > std::abs(best) ||
                                                         (std::abs(cell) == std::abs(best) && cell > best)
                                                   : cell > best);
            if (stronger) block.strongest = cell;
            sum += static_cast<double>(cell);
            magnitudes += std::abs(static_cast<double>(cell));
            ++count;
        }
    if (count == 0) return block;
    block.mean = sum / count;
    block.magnitude = magnitudes / count;
    return block;
}

// Says whether a block is right: its strongest cell to the last bit, and its mean, for blocks of `side` ×
// `side` cells, within what f32 sums promise, 2 · side · 2^-24 of the mean magnitude, and a little more if
// blocks were made from blocks.
inline bool agrees(float strongest, float mean, const BruteForce& expected, Index side) {
    if (strongest != expected.strongest) return false;
    if (strongest == masked_cell) return mean == masked_cell;
    return std::abs(static_cast<double>(mean) - expected.mean) <=
           2.5 * static_cast<double>(side) * 0x1p-24 * expected.magnitude;
}

// Makes masks of every kind, for up to n_q queries and n_k keys.
inline std::vector<Mask> all_masks(Index n_q, Index n_k) {
    std::vector<std::int32_t> documents;
    for (Index i = 0; i < std::max(n_q, n_k); ++i) documents.push_back(static_cast<std::int32_t>(i / 37));
    PaintedBits bits{1, n_q, n_k, std::vector<std::uint8_t>(static_cast<std::size_t>(n_q * n_k))};
    Random random(5);
    for (std::uint8_t& b : bits.allowed) b = random.below(4) == 0;
    return {Mask::everything(),
            Mask::causal(n_k - n_q),
            Mask::window(3, 1),
            Mask::padding(n_k / 2),
            Mask::same_document(documents, documents),
            Mask::prefix(n_k / 3),
            Mask::strided(5),
            Mask::block_sparse(16, 2, 2, {1, 0, 0, 1}),
            Mask::global_local({0, 7}, 2),
            Mask::painted(bits),
            Mask::causal() & !Mask::window(4, 4),
            Mask::window(1, 1) | Mask::padding(2)};
}

}  // namespace attn::test
