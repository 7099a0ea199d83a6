// Follows a token through the residual stream of a row, in slices: the stream decoded at each place
// (logit_lens.hpp), the token's rank there, and the parts of its logit (direct_attribution.hpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/attribution/direct_attribution.hpp"
#include "analysis/attribution/logit_lens.hpp"

namespace attn {

class FollowedToken {
  public:
    explicit FollowedToken(std::shared_ptr<LogitLens> stream) : stream_(std::move(stream)) {}

    // Follows the asked token or, without one, the likeliest at the end; true while there is more to do.
    bool step(std::optional<std::int32_t> asked);
    bool done() const { return done_; }
    // The token that this means, once the stream is read. A token outside the vocabulary is none.
    std::int32_t meant(std::optional<std::int32_t> asked) const;

    const std::shared_ptr<LogitLens>& stream() const { return stream_; }
    // Once done.
    const DirectAttribution& parts() const { return *parts_; }
    const std::vector<Index>& ranks() const { return ranks_; }  // at the stream's places

  private:
    std::shared_ptr<LogitLens> stream_;
    std::optional<DirectAttribution> parts_;
    std::vector<Index> ranks_;
    bool done_ = false;
};

}  // namespace attn
