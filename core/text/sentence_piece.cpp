#include "text/sentence_piece.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include "text/utf8.hpp"

namespace attn {

class SentencePiece::Encoder {
  public:
    Encoder(const SentencePiece& vocabulary, std::string_view text) : vocabulary_(vocabulary) {
        while (!text.empty()) {
            const std::size_t length = first_code_point(text).bytes;
            symbols_.push_back({text.substr(0, length), symbols_.size() - 1, symbols_.size() + 1});
            text.remove_prefix(length);
        }
        for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) offer(i);
    }

    void join() {
        while (!candidates_.empty()) {
            const Candidate best = candidates_.top();
            candidates_.pop();
            Symbol& left = symbols_[best.left];
            if (left.text.empty() || left.after >= symbols_.size()) continue;
            Symbol& right = symbols_[left.after];
            if (left.text.size() + right.text.size() != best.bytes) continue;  // one of them has grown
            left.text = {left.text.data(), best.bytes};
            right.text = {};
            left.after = right.after;
            if (left.after < symbols_.size()) symbols_[left.after].before = best.left;
            if (best.left > 0) offer(left.before);
            offer(best.left);
        }
    }

    std::optional<std::string> ids(std::vector<std::int32_t>& ids) const {
        bool unknown_before = false;
        for (const Symbol& symbol : symbols_) {
            if (symbol.text.empty()) continue;
            if (const auto place = vocabulary_.places_.find(symbol.text);
                place != vocabulary_.places_.end()) {
                ids.push_back(vocabulary_.pieces_[place->second].id);
                unknown_before = false;
                continue;
            }
            const auto id_of = [this](char byte) {
                return vocabulary_.bytes_[static_cast<unsigned char>(byte)];
            };
            if (std::ranges::none_of(symbol.text, [&](char byte) { return id_of(byte) == no_piece; })) {
                for (const char byte : symbol.text) ids.push_back(id_of(byte));
                unknown_before = false;
                continue;
            }
            if (!vocabulary_.unknown_) return std::string(symbol.text);
            if (!unknown_before) ids.push_back(*vocabulary_.unknown_);
            unknown_before = true;
        }
        return std::nullopt;
    }

  private:
    // The first symbol has none before it, and the last has none after it: their places are beyond the end.
    struct Symbol {
        std::string_view text;  // empty: it has become part of the one before it
        std::size_t before = 0, after = 0;
    };
    struct Candidate {
        float score = 0;
        std::size_t left = 0;
        std::size_t bytes = 0;  // both together
        bool operator<(const Candidate& other) const {
            return score != other.score ? score < other.score : left > other.left;
        }
    };

    void offer(std::size_t left) {
        const std::size_t right = symbols_[left].after;
        if (right >= symbols_.size()) return;
        const std::string_view text = symbols_[left].text;
        const std::size_t bytes = text.size() + symbols_[right].text.size();
        if (bytes > vocabulary_.longest_) return;
        const auto place = vocabulary_.places_.find({text.data(), bytes});
        if (place != vocabulary_.places_.end())
            candidates_.push({vocabulary_.pieces_[place->second].score, left, bytes});
    }

    const SentencePiece& vocabulary_;
    std::vector<Symbol> symbols_;  // one per character
    std::priority_queue<Candidate> candidates_;
};

SentencePiece::SentencePiece(std::vector<Piece> pieces, const std::array<std::int32_t, 256>& bytes,
                             std::optional<std::int32_t> unknown)
    : pieces_(std::move(pieces)), bytes_(bytes), unknown_(unknown) {
    places_.reserve(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        places_.try_emplace(pieces_[i].text, i);
        longest_ = std::max(longest_, pieces_[i].text.size());
    }
}

std::optional<std::string> SentencePiece::encode(std::string_view text,
                                                 std::vector<std::int32_t>& ids) const {
    std::string marked;
    for (const char byte : text) {
        if (byte == ' ')
            marked += blank;
        else
            marked += byte;
    }
    Encoder encoder(*this, marked);
    encoder.join();
    return encoder.ids(ids);
}

}  // namespace attn
