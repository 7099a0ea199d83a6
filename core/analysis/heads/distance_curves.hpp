// The score of one q and one k of a head over their distance, under every scheme of positions, and, for RoPE,
// beyond the trained length under every method of context extension. They work in slices of about a
// millisecond.
#pragma once

#include <array>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include "analysis/heads/unplaced_rows.hpp"
#include "model/rope_scaling.hpp"

namespace attn {

// The q and k of a curve: those of two tokens, or the means over all. The mean score of all pairs at a
// distance is the score of the means, as far as positions act linearly on q and k.
struct CurvePair {
    std::optional<Index> query, key;  // both or neither
    bool operator==(const CurvePair&) const = default;
};

using PositionRules = std::array<PositionRule, position_schemes>;

// The key is at position 0, the query at a distance after it.
class DistanceCurves {
  public:
    DistanceCurves(std::shared_ptr<const UnplacedRows> rows, CurvePair pair, PositionRules rules,
                   Index reach);

    bool step();  // true while there is more to do
    bool done() const { return std::ssize(scores_.back()) > reach_; }
    // Starts at distance 0, as far as computed; NaN if a scheme lacks the position.
    const std::vector<double>& scores(PositionScheme scheme) const {
        return scores_[static_cast<std::size_t>(scheme)];
    }

  private:
    std::shared_ptr<const UnplacedRows> rows_;
    CurvePair pair_;
    PositionRules rules_;
    Index reach_;
    std::array<std::vector<double>, position_schemes> keys_, scores_;  // keys: at position 0
};

inline constexpr std::size_t length_scalings = 5;  // RopeScaling::Kind
RopeScaling length_scaling(std::size_t kind, Index trained, Index factor);
// Number of positions in a full turn.
inline double wavelength(double frequency) { return 2 * std::numbers::pi / frequency; }

// Collects scores in bins of distances, because there are too many to show one by one.
class LengthCurves {
  public:
    static constexpr Index bins = 96, most_samples = 256;  // distances per bin: all, or the first

    LengthCurves(std::shared_ptr<const UnplacedRows> rows, CurvePair pair, bool interleaved, Index trained,
                 Index factor);

    bool step();
    bool done() const { return bins_done() >= bins; }
    Index bins_done() const { return std::ssize(found_.back()); }
    Index first_distance(Index bin) const;
    Index samples() const;
    const std::vector<double>& frequencies(std::size_t kind) const { return rules_[kind].frequencies; }
    double score(std::size_t kind, Index distance) const;
    struct Bin {
        double mean, low, high;
    };
    const Bin& bin(std::size_t kind, Index bin) const { return found_[kind][static_cast<std::size_t>(bin)]; }

  private:
    // The term that a pair of components adds to q · k: amplitude · cos(phase + distance · frequency).
    struct Wave {
        double amplitude, phase, frequency;
    };
    std::shared_ptr<const UnplacedRows> rows_;
    Index farthest_;
    std::array<PositionRule, length_scalings> rules_;
    std::array<std::vector<Wave>, length_scalings> waves_;
    double unturned_ = 0;  // sum over components without a partner
    std::array<std::vector<Bin>, length_scalings> found_;
};

}  // namespace attn
