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

    // The content must not be empty or longer than that. A token that `strips` has the ASCII white space
    // behind it.
    void add(std::string_view content, std::int32_t id, bool strips = false);

    struct Match {
        std::size_t begin = 0, end = 0;
        std::int32_t id = 0;
    };
    // Returns the first added token in the text; if several begin there, the longest.
    std::optional<Match> find(std::string_view text) const;

    // Calls use_text for what stands before, between and behind added tokens, if only "", and use_id for
    // those, in turn.
    template <class UseText, class UseId>
    void divide(std::string_view text, UseText use_text, UseId use_id) const {
        while (const auto match = find(text)) {
            use_text(text.substr(0, match->begin));
            use_id(match->id);
            text.remove_prefix(match->end);
        }
        use_text(text);
    }

  private:
    // The trie maps (node, byte) to a node; the root is 0.
    std::unordered_map<std::uint64_t, std::uint64_t> next_;
    struct Token {
        std::int32_t id = 0;
        bool strips = false;
    };
    std::unordered_map<std::uint64_t, Token> tokens_;  // for the nodes at which one ends
};

}  // namespace attn
