// Every head's weights, pooled to a small square, so that all heads fit on one screen. Block maxima, so that a
// single bright cell survives. Computed in slices.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/trace.hpp"

namespace attn::app {

class Thumbnails {
  public:
    static constexpr Index side_limit = 64;

    Thumbnails() = default;
    explicit Thumbnails(std::shared_ptr<const Trace> trace);

    bool step();  // one head, or some rows of a long one; true while there is more to do
    Index side() const { return side_; }  // pixels a side; n itself up to side_limit
    Index layers() const { return layers_; }
    Index heads() const { return heads_; }
    Index done() const { return next_head_; }                    // heads that are complete, in reading order
    std::span<const float> head(Index layer, Index head) const;  // [side, side], query by key

  private:
    std::shared_ptr<const Trace> trace_;
    Index layers_ = 0, heads_ = 0, side_ = 0;
    Index next_head_ = 0, next_row_ = 0;
    std::vector<float> maxima_;  // [layers, heads, side, side]
};

}  // namespace attn::app
