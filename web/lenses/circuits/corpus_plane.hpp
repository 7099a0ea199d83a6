// Queries and keys that one head has on a set of texts, in one plane. Of many tokens it takes some, drawn from a seed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/theory/query_key_plane.hpp"
#include "attention/head_index.hpp"
#include "runs/corpus_run.hpp"

namespace attn::app {

class CorpusPlane {
  public:
    static constexpr Index most_points = 1500;  // tokens; each has a query and a key
    struct Point {
        Index text = 0, token = 0;
    };

    // The runs are all there, and have at least one token.
    CorpusPlane(const CorpusRun& texts, const HeadIndex& head);

    bool step() { return search_ && search_->step(); }  // true while there is more to do
    bool done() const { return search_ && search_->done(); }
    bool finite() const { return search_.has_value(); }  // else there is no plane
    std::uint64_t version() const { return version_; }   // of the texts
    const HeadIndex& head() const { return head_; }

    const QueryKeyPlane& plane() const { return search_->plane(); }  // once done
    // In the order of the texts.
    const std::vector<Point>& points() const { return points_; }
    Index tokens() const { return tokens_; }  // that they were drawn from
    std::span<const float> q(Index point) const { return row(q_, point); }
    std::span<const float> k(Index point) const { return row(k_, point); }
    // Of any two, whether or not they are of one text: scale · q · k.
    double score(Index query, Index key) const;
    double scale() const { return scale_; }

  private:
    static std::span<const float> row(const Tensor& of, Index point) {
        return {of.matrix().row(point), static_cast<std::size_t>(of.dim(1))};
    }
    std::uint64_t version_;
    HeadIndex head_;
    std::vector<Point> points_;
    Index tokens_ = 0;
    double scale_ = 1;
    Tensor q_, k_;  // [points, head_dim]
    std::optional<QueryKeyPlaneSearch> search_;
};

}  // namespace attn::app
