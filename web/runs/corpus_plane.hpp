// Places the queries and keys of one head on a sample of texts in a plane. If there are many tokens, it draws
// some of them with a seed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/theory/query_key_plane.hpp"
#include "attention/head_index.hpp"
#include "runs/corpus_run.hpp"

namespace attn::app {

class CorpusPlane {
  public:
    static constexpr Index most_points = 1500;  // number of tokens; each has a query and a key
    using End = QueryKeyPlane::End;
    struct Point {
        Index text = 0, token = 0;
        auto operator<=>(const Point&) const = default;
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
    const Point& at(const End& end) const { return points_[static_cast<std::size_t>(end.point)]; }
    Index tokens() const { return tokens_; }  // tokens that they were drawn from
    std::span<const float> vector(const End& end) const;
    // Returns scale · q · k with any point of the other kind, whether or not they are in the same text.
    double score(const End& end, Index other) const;
    std::vector<Index> best(const End& end) const;  // all points of the other kind, the highest score first

  private:
    std::uint64_t version_;
    HeadIndex head_;
    std::vector<Point> points_;
    Index tokens_ = 0;
    double scale_ = 1;
    Tensor q_, k_;  // [points, head_dim]
    std::optional<QueryKeyPlaneSearch> search_;
};

}  // namespace attn::app
