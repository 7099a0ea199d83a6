#include "analysis/attribution/followed_token.hpp"

namespace attn {

std::int32_t FollowedToken::meant(std::optional<std::int32_t> asked) const {
    const std::vector<Candidate>& likeliest = stream_->states().back().likeliest;
    if (asked && *asked < stream_->trace()->network().head.weight.out) return *asked;
    return likeliest.empty() ? 0 : likeliest.front().id;
}

bool FollowedToken::step(std::optional<std::int32_t> asked) {
    if (!stream_->done()) {
        stream_->step();
        return true;
    }
    const std::int32_t token = meant(asked);
    if (!parts_ || parts_->token() != token) {
        if (auto parts = DirectAttribution::start(stream_->trace(), stream_->row(), token)) {
            parts_.emplace(*std::move(parts));
            ranks_.clear();
        }
        return true;
    }
    if (ranks_.size() < stream_->places().size()) {
        ranks_.push_back(stream_->rank(std::ssize(ranks_), token));
        return true;
    }
    done_ = !parts_->step();
    return !done_;
}

}  // namespace attn
