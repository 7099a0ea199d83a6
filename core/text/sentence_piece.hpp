// SentencePiece's BPE (Kudo and Richardson 2018, arXiv:1808.06226) over pieces with scores: of all neighbours
// whose characters together are a piece, those of the best score are joined first, the leftmost among equals.
// A blank is written "▁". A character that is no piece is spelled by the pieces of its bytes, or is unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn {

class SentencePiece {
  public:
    static constexpr std::int32_t no_piece = -1;
    static constexpr std::string_view blank = "▁";

    struct Piece {
        std::string text;  // with "▁" for blanks
        float score = 0;   // not NaN
        std::int32_t id = 0;
    };
    // bytes[b] is the id of the piece for the byte b, or no_piece.
    SentencePiece(std::vector<Piece> pieces, const std::array<std::int32_t, 256>& bytes,
                  std::optional<std::int32_t> unknown);
    SentencePiece(SentencePiece&&) = default;
    SentencePiece& operator=(SentencePiece&&) = default;

    // Appends the ids of a text, which is well-formed UTF-8. A run of unknown characters is one unknown
    // token. Returns a character that has no token at all, if there is one. Takes O(n log n) time for n
    // characters.
    std::optional<std::string> encode(std::string_view text, std::vector<std::int32_t>& ids) const;

  private:
    class Encoder;

    std::vector<Piece> pieces_;
    std::unordered_map<std::string_view, std::size_t>
        places_;               // in pieces_, by their texts, which it refers to
    std::size_t longest_ = 0;  // in bytes
    std::array<std::int32_t, 256> bytes_;
    std::optional<std::int32_t> unknown_;
};

}  // namespace attn
