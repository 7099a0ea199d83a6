// Chooses the tokens that a matrix shows if it has no room for all.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/format.hpp"

namespace attn::app {

class ShownTokens {
  public:
    ShownTokens() = default;
    // Shows these tokens, in ascending order.
    ShownTokens(Index all, std::vector<Index> tokens) : all_(all), tokens_(std::move(tokens)) {}
    ShownTokens(Index all, Range tokens) : all_(all), tokens_(static_cast<std::size_t>(tokens.size())) {
        std::iota(tokens_.begin(), tokens_.end(), tokens.begin);
    }
    // Chooses at most `room` of `all` tokens. Tokens in `wanted` come first, the most important ones first
    // (the chosen one, the strongest, those that a sentence names; invalid ones are skipped), then the newest
    // up to `last`, then those after it.
    ShownTokens(Index all, Index room, Index last, std::span<const Index> wanted) : all_(all) {
        room = std::clamp(room, Index{1}, std::max(all, Index{1}));
        const auto add = [&](Index token) {
            if (token >= 0 && token < all && std::ssize(tokens_) < room && !holds(token))
                tokens_.insert(std::ranges::lower_bound(tokens_, token), token);
        };
        for (const Index token : wanted) add(token);
        for (Index token = std::min(last, all - 1); token >= 0 && std::ssize(tokens_) < room; --token)
            add(token);
        for (Index token = last + 1; token < all && std::ssize(tokens_) < room; ++token) add(token);
    }

    Index size() const { return std::ssize(tokens_); }
    Index operator[](Index place) const { return tokens_[static_cast<std::size_t>(place)]; }
    auto begin() const { return tokens_.begin(); }
    auto end() const { return tokens_.end(); }
    std::span<const Index> tokens() const { return tokens_; }
    bool holds(Index token) const { return std::ranges::binary_search(tokens_, token); }
    // Finds the place of a shown token.
    Index place(Index token) const { return std::ranges::lower_bound(tokens_, token) - tokens_.begin(); }
    bool are_all() const { return size() == all_; }
    // Names the shown tokens by `name(token)`; a name that follows a gap begins with an ellipsis.
    std::vector<std::string> labels_by(auto&& name) const {
        std::vector<std::string> labels;
        Index next = 0;
        for (const Index token : tokens_) {
            labels.push_back((token == next ? "" : "… ") + std::string(name(token)));
            next = token + 1;
        }
        return labels;
    }
    std::vector<std::string> labels(std::span<const std::string> names) const {
        return labels_by([&](Index token) { return label_at(names, token); });
    }
    bool operator==(const ShownTokens&) const = default;

  private:
    Index all_ = 0;
    std::vector<Index> tokens_;  // ascending
};

}  // namespace attn::app
