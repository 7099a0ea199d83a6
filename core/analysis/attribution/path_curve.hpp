// What is left of a logit in graphs of several sizes, each run on its own (path_run.hpp): the strongest edges
// of a graph, or as many random ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/path_run.hpp"

namespace attn {

class PathCurve {
  public:
    struct Point {
        Index count = 0;  // the strongest edges that were taken
        Index edges = 0;  // on paths from embeddings to the target
        double value = 0;
        std::vector<double> random = {};  // one for each random graph; `value` is their mean
    };

    // Each size runs the strongest edges or, if that is not 0, so many random graphs of as many edges as the
    // strongest ones leave. Curves may share a base. To cancel one, drop it.
    explicit PathCurve(std::shared_ptr<PathBase> base, std::uint64_t random_graphs = 0)
        : base_(std::move(base)), random_graphs_(random_graphs) {}

    // Measures a size unless it is known; true while there is more to do. An unfinished size gives way to
    // another one.
    bool step(Index count);
    const Point* at(Index count) const;                        // null: not measured
    std::span<const Point> points() const { return points_; }  // in the order of their counts
    const PathGraph& graph() const { return base_->graph(); }

    // Looks for the fewest of the strongest edges that keep at least a share: through ascending sizes up to
    // the first that does, and by halves between that and the one before, down to a hundredth.
    struct Reach {
        Index count = 0;        // the last size if none keeps the share
        bool is_known = false;  // if not, the count has to be measured first
    };
    Reach reach(double share, std::span<const Index> sizes) const;

    // The share that graphs of at most so many edges reach, as far as they are measured, from 0 to 1; between
    // two of them it rises with the logarithm of the number.
    double share_within(double edges) const;

  private:
    void start_run();
    void take_value();

    std::shared_ptr<PathBase> base_;
    std::uint64_t random_graphs_;
    Point next_;  // the one that runs
    std::optional<PathRun> run_;
    std::vector<Point> points_;
};

// The share of the target's variable part that a value keeps. Its constant part are the biases that reach it
// through no node.
double kept_share(const PathGraph& graph, double value);

}  // namespace attn
