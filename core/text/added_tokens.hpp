// Tokens that are found in a text as they stand, before it is divided into pieces: "<|endoftext|>".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace attn {

class AddedTokens {
  public:
    static constexpr std::size_t max_bytes = 256;  // of one token; bounds the work at each place of a text

    void add(std::string_view content, std::int32_t id);  // content is not empty and not longer than that

    struct Match {
        std::size_t begin = 0, end = 0;
        std::int32_t id = 0;
    };
    // The first added token in the text; of those that begin there, the longest.
    std::optional<Match> find(std::string_view text) const;

  private:
    // A trie: node and byte → node; the root is 0.
    std::unordered_map<std::uint64_t, std::uint64_t> next_;
    std::unordered_map<std::uint64_t, std::int32_t> ids_;  // of the nodes at which a token ends
};

}  // namespace attn
