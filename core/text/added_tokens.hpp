// Finds tokens that stand in a text literally, like "<|endoftext|>", before the text is divided into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace attn {

class AddedTokens {
  public:
    static constexpr std::size_t max_bytes = 256;  // per token; bounds the work at each position of a text

    void add(std::string_view content, std::int32_t id);  // content must not be empty or longer than that

    struct Match {
        std::size_t begin = 0, end = 0;
        std::int32_t id = 0;
    };
    // Returns the first added token in the text; if several begin there, the longest.
    std::optional<Match> find(std::string_view text) const;

  private:
    // The trie maps (node, byte) to a node; the root is 0.
    std::unordered_map<std::uint64_t, std::uint64_t> next_;
    std::unordered_map<std::uint64_t, std::int32_t> ids_;  // for the nodes at which a token ends
};

}  // namespace attn
