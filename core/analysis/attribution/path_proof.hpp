// The smallest graph through which a share of a logit flows, with its proof: what is left of the logit if the
// model runs with this graph alone, and with as many random edges; and all three for graphs of several sizes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/attribution/path_curve.hpp"

namespace attn {

// Norms and activations are held while a logit flows through a graph, and live in the proof and in the random
// graphs.
enum class PathMeasure : std::uint8_t { flow, proof, random };
inline constexpr std::size_t path_measure_count = 3;

class PathProof {
  public:
    static constexpr std::uint64_t random_graphs = 5;  // each size has so many

    // The graph has to be done. It flows, and proves nothing until it is told what replaces the rest.
    explicit PathProof(std::shared_ptr<const PathGraph> graph);

    // Fails as PathBase does.
    Status replace_rest(const PathReplacement& replacement);
    bool proves() const { return curves_.back().has_value(); }
    void forget_proof() { curves_[1] = curves_[2] = std::nullopt; }

    // Looks for the smallest graph, measures it, and then all sizes. True while there is more to do.
    bool step(double share);
    // How many of the strongest edges the smallest graph takes; 0: it is being looked for for the first time.
    Index taken() const { return taken_; }
    // A measure that has not begun has no points.
    std::span<const PathCurve::Point> points(PathMeasure measure) const;
    const PathCurve::Point* at(PathMeasure measure, Index count) const;  // null: not measured
    const PathCurve& flow() const { return *curves_.front(); }

  private:
    const std::optional<PathCurve>& curve(PathMeasure measure) const {
        return curves_[static_cast<std::size_t>(measure)];
    }
    std::shared_ptr<const PathGraph> graph_;
    std::vector<Index> sizes_;
    Index taken_ = 0;
    std::array<std::optional<PathCurve>, path_measure_count> curves_;
};

}  // namespace attn
