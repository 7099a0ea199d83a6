// Computes the curves of lens Order: the score of one q and one k over their distance, under every scheme,
// and, for RoPE, beyond the trained length under every method of context extension. Works in slices of about
// a millisecond.
#pragma once

#include <array>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include "lenses/order/content.hpp"
#include "model/rope_scaling.hpp"

namespace attn::app {

// The q and k of a curve: those of two tokens, or the means over all. The mean score of all pairs at a
// distance is the score of the means, as far as positions act linearly on q and k.
struct CurvePair {
    std::optional<Index> query, key;  // both or neither; indices into the content
    bool operator==(const CurvePair&) const = default;
};
std::vector<double> content_row(const OrderContent& content, Stage stage, std::optional<Index> token);

// Returns the score for the softmax: scaled, capped, and with a scheme's bias.
double score_of(const OrderContent& content, double dot, double bias = 0);
double dot_of(std::span<const double> a, std::span<const double> b);

using PositionRules = std::array<PositionRule, position_schemes>;

// The key is at position 0, the query at a distance after it.
class DistanceCurves {
  public:
    DistanceCurves(std::shared_ptr<const OrderContent> content, CurvePair pair, const PositionRules& rules,
                   Index reach);

    bool step();  // true while there is more to do
    bool done() const { return std::ssize(scores_.back()) > reach_; }
    // Starts at distance 0, as far as computed; NaN if a scheme lacks the position.
    const std::vector<double>& scores(PositionScheme scheme) const {
        return scores_[static_cast<std::size_t>(scheme)];
    }
    // q and k under the scheme at that distance.
    CurvePair pair() const { return pair_; }
    std::vector<double> q_at(PositionScheme scheme, Index distance) const;
    std::vector<double> k_at(PositionScheme scheme) const;

  private:
    std::shared_ptr<const OrderContent> content_;
    CurvePair pair_;
    PositionRules rules_;
    Index reach_;
    std::vector<double> q_, k_;
    std::array<std::vector<double>, position_schemes> keys_;  // with their positions applied
    std::array<std::vector<double>, position_schemes> scores_;
};

// Says whether a rule has a position: a learned table ends.
bool reaches(const OrderContent& content, const PositionRule& rule, Index position);
// Says whether a rule stands for the model's own learned table.
bool is_own_table(const OrderContent& content, const PositionRule& rule);

inline constexpr std::size_t length_scalings = 5;  // RopeScaling::Kind
inline constexpr std::array length_scaling_names{"plain RoPE", "linear", "NTK-aware", "YaRN", "Llama 3"};
RopeScaling length_scaling(std::size_t kind, Index trained, Index factor);
// Number of positions in a full turn.
inline double wavelength(double frequency) { return 2 * std::numbers::pi / frequency; }

// Collects scores in bins of distances, because there are too many to show one by one.
class LengthCurves {
  public:
    static constexpr Index bins = 96, most_samples = 256;  // distances per bin: all, or the first

    LengthCurves(std::shared_ptr<const OrderContent> content, CurvePair pair, bool interleaved, Index trained,
                 Index factor);

    bool step();
    bool done() const { return bins_done_ >= bins; }
    Index bins_done() const { return bins_done_; }
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
    std::shared_ptr<const OrderContent> content_;
    Index farthest_, bins_done_ = 0;
    std::array<PositionRule, length_scalings> rules_;
    std::array<std::vector<Wave>, length_scalings> waves_;
    double unturned_ = 0;  // sum over components without a partner
    std::array<std::vector<Bin>, length_scalings> found_;
};

}  // namespace attn::app
