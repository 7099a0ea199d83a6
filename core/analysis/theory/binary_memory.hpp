// The classical Hopfield network (Hopfield 1982, "Neural networks and physical systems with emergent
// collective computational abilities", doi 10.1073/pnas.79.8.2554) of N bits ±1 that stores P patterns x^1 …
// x^P by Hebb's rule,
//   w_ij = 1/N Σ_μ x^μ_i x^μ_j,  w_ii = 0,   E(s) = −½ Σ_ij w_ij s_i s_j.
// A bit is set to the sign of its field h_i = Σ_j w_ij s_j, one bit after the other; a field of 0 leaves it.
// Each flip lowers E by 2 |h_i|, so a state comes to rest. No weight is stored: with the overlaps m_μ = Σ_j
// x^μ_j s_j,
//   N h_i = Σ_μ x^μ_i m_μ − P s_i  and  N E = −½ (Σ_μ m_μ² − P N),
// which are whole numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/theory/hopfield.hpp"

namespace attn {

using Bits = std::vector<std::int8_t>;  // +1 or −1

class BinaryMemory {
  public:
    // patterns [P, N]; 1 <= N, 1 <= P.
    BinaryMemory(Index bits, Bits patterns);

    Index bits() const { return bits_; }
    Index count() const { return count_; }
    Bits pattern(Index i) const;  // [N]
    std::int8_t bit(Index pattern, Index i) const {
        return by_bit_[static_cast<std::size_t>(i * count_ + pattern)];
    }
    double weight(Index i, Index j) const;
    std::vector<std::int64_t> overlaps(std::span<const std::int8_t> state) const;  // [P]
    // N h_i and 2 N E, by the overlaps of the state.
    std::int64_t field(std::span<const std::int64_t> overlaps, Index i, std::int8_t now) const;
    std::int64_t twice_energy(std::span<const std::int64_t> overlaps) const;

  private:
    Index bits_, count_;
    Bits by_bit_;  // [N, P]
};

Bits random_bits(Index count, std::uint64_t seed);
// The signs of numbers; that of 0 is +1.
Bits signs_of(std::span<const double> numbers);
// Flips so many different bits.
Bits with_flips(Bits bits, Index flips, std::uint64_t seed);
Index bits_that_differ(std::span<const std::int8_t> a, std::span<const std::int8_t> b);

// Lets a state come to rest. Bits are visited in a seeded order, another in each round, until a round flips
// none.
class BinaryRecall {
  public:
    BinaryRecall(std::shared_ptr<const BinaryMemory> memory, Bits cue, std::uint64_t seed);

    bool step();  // visits a bit; true while there is more to do
    bool done() const { return done_; }
    const Bits& state() const { return state_; }
    const std::vector<std::int64_t>& overlaps() const { return overlaps_; }
    const BinaryMemory& memory() const { return *memory_; }
    // 2 N E at the start and after each flip, and which bit was flipped.
    const std::vector<std::int64_t>& energies() const { return energies_; }
    const std::vector<Index>& flips() const { return flips_; }

  private:
    void shuffle();

    std::shared_ptr<const BinaryMemory> memory_;
    Bits state_;
    std::uint64_t seed_;
    std::vector<std::int64_t> overlaps_, energies_;
    std::vector<Index> order_, flips_;
    std::size_t next_ = 0, flips_before_ = 0;  // `flips_before_`: before this round
    std::uint64_t round_ = 0;
    bool done_ = false;
};

// A pattern counts as recovered if at most 5 % of the bits are wrong in the end. At the capacity that is
// known for N → ∞, P = 0.138 N, still 1.6 % are (Amit, Gutfreund & Sompolinsky 1985, doi
// 10.1103/PhysRevLett.55.1530).
inline constexpr double most_wrong_bits = 0.05, known_capacity = 0.138;
bool recovered(std::span<const std::int8_t> state, std::span<const std::int8_t> pattern);
// The signs of where the modern network takes the cue from the same patterns, in 32 updates at most.
Bits modern_recall(std::shared_ptr<const HopfieldPatterns> patterns, double beta, const Bits& cue);
HopfieldPatterns patterns_of(const BinaryMemory& memory);

// Measures the share of patterns that are recovered over the load P / N: at each load, for each seed, up to
// some cues.
class CapacityTrials {
  public:
    static constexpr Index loads = 15, seeds = 10, cues = 8;
    static constexpr double load(Index i) { return 0.02 * static_cast<double>(i + 1); }
    struct Setting {
        Index bits = 100;
        double flipped = 0.1;  // share of bits
        double beta = 1;       // the modern network's
        bool operator==(const Setting&) const = default;
    };

    explicit CapacityTrials(const Setting& setting);

    bool step();  // tries one cue in both networks; true while there is more to do
    bool done() const { return seed_ == seeds; }
    Index seeds_done() const { return seed_; }
    Index patterns(Index load) const;                                         // how many are stored
    Index tried(Index load) const { return std::min(patterns(load), cues); }  // cues of a seed
    enum class Network { classical, modern };
    // Shares of the seeds that are done, in their order.
    const std::vector<double>& shares(Network network, Index load) const;
    std::vector<double> means(Network network) const;  // [loads]; empty until a seed is done

  private:
    void begin();  // begins the next load, or seed

    Setting setting_;
    Index seed_ = 0, load_ = 0, cue_ = 0;
    std::shared_ptr<const BinaryMemory> memory_;
    std::shared_ptr<const HopfieldPatterns> patterns_;
    std::array<Index, 2> good_{};
    // One row for each network.
    std::array<std::array<std::vector<double>, static_cast<std::size_t>(loads)>, 2> shares_;
};
// The load at which the mean share first passes one half, on the line between two loads; nothing where it
// never does.
std::optional<double> half_recovered(std::span<const double> means);

}  // namespace attn
