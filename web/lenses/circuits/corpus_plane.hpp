// Places the queries and keys of one head on a sample of texts in a plane. If there are many tokens, it draws
// some of them with a seed.
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
    static constexpr Index most_points = 1500;  // number of tokens; each has a query and a key
    struct Point {
        Index text = 0, token = 0;
    };

    // The runs are complete and have at least one token.
    CorpusPlane(const CorpusRun& texts, const HeadIndex& head);

    bool step() { return search_ && search_->step(); }  // true while there is more to do
    bool done() const { return search_ && search_->done(); }
    bool finite() const { return search_.has_value(); }  // false: there is no plane
    std::uint64_t version() const { return version_; }   // version of the texts
    const HeadIndex& head() const { return head_; }

    const QueryKeyPlane& plane() const { return search_->plane(); }  // once done
    // In the order of the texts.
    const std::vector<Point>& points() const { return points_; }
    Index tokens() const { return tokens_; }  // tokens that they were drawn from
    std::span<const float> q(Index point) const { return row(q_, point); }
    std::span<const float> k(Index point) const { return row(k_, point); }
    // Returns scale · q · k for any two points, whether or not they are in the same text.
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
