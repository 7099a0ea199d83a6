#include "text/bpe.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "text/pretokenize.hpp"
#include "text/utf8.hpp"

namespace attn {

namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

// Encodes the pieces of one text. Most pieces recur, so their ids are copied from their first occurrence.
class Bpe::Encoder {
  public:
    explicit Encoder(const Bpe& bpe) : bpe_(bpe) {}

    void add_text(std::string_view text) {
        for_each_piece(text, [&](std::string_view piece) { add_piece(piece); }, bpe_.pieces_.by);
    }
    void add_id(std::int32_t id) { ids_.push_back(id); }
    std::vector<std::int32_t> ids() && { return std::move(ids_); }

  private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::int32_t absorbed_before = -1;  // the symbol before it took it in
    struct Symbol {
        std::int32_t id = 0;
        std::size_t before = none, after = none;
    };
    struct Candidate {
        std::size_t rank = 0, left = 0;
        auto operator<=>(const Candidate&) const = default;
    };
    struct Range {
        std::size_t begin = 0, end = 0;
    };

    void add_piece(std::string_view piece) {
        const auto [known, is_new] = seen_.try_emplace(piece);
        if (is_new) {
            known->second.begin = ids_.size();
            if (const auto whole = bpe_.whole(piece))
                ids_.push_back(*whole);
            else
                merge(piece);
            known->second.end = ids_.size();
        } else {
            for (std::size_t i = known->second.begin; i < known->second.end; ++i) ids_.push_back(ids_[i]);
        }
    }

    // Among all neighbouring pairs that have a merge, always merges the one with the lowest rank, the
    // leftmost first.
    void merge(std::string_view piece) {
        symbols_.clear();
        for (std::size_t i = 0; i < piece.size(); ++i)
            symbols_.push_back({bpe_.byte_ids_[static_cast<unsigned char>(piece[i])], i == 0 ? none : i - 1,
                                i + 1 == piece.size() ? none : i + 1});
        for (std::size_t i = 0; i < symbols_.size(); ++i) offer(i);
        while (!candidates_.empty()) {
            const auto [rank, left] = candidates_.top();
            candidates_.pop();
            const Merge& found = bpe_.merges_[rank];
            Symbol& symbol = symbols_[left];
            if (symbol.id != found.left || symbol.after == none || symbols_[symbol.after].id != found.right)
                continue;  // one of the two has been merged with another symbol
            Symbol& absorbed = symbols_[symbol.after];
            symbol.id = found.result;
            symbol.after = absorbed.after;
            absorbed.id = absorbed_before;
            if (symbol.after != none) symbols_[symbol.after].before = left;
            offer(symbol.before);
            offer(left);
        }
        for (const Symbol& symbol : symbols_)
            if (symbol.id != absorbed_before) ids_.push_back(symbol.id);
    }

    void offer(std::size_t left) {
        if (left == none || symbols_[left].after == none) return;
        const auto rank = bpe_.ranks_.find(pair_key(symbols_[left].id, symbols_[symbols_[left].after].id));
        if (rank != bpe_.ranks_.end()) candidates_.push({rank->second, left});
    }

    const Bpe& bpe_;
    std::vector<std::int32_t> ids_;
    std::unordered_map<std::string_view, Range> seen_;  // maps a piece to its ids in ids_
    std::vector<Symbol> symbols_;                       // one per byte of the piece
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

Bpe::Bpe(std::vector<std::string> tokens, std::vector<Merge> merges, std::vector<Added> added,
         BpePieces pieces, std::span<const std::int32_t> never)
    : tokens_(std::move(tokens)), merges_(std::move(merges)), added_(std::move(added)), pieces_(pieces) {
    byte_ids_.fill(no_token);
    std::vector<bool> other(tokens_.size());  // than what text is made of
    for (const std::int32_t id : never) other[static_cast<std::size_t>(id)] = true;
    for (const Added& token : added_) {
        (token.later ? later_in_text_ : added_in_text_).add(this->token(token.id), token.id, token.strips);
        other[static_cast<std::size_t>(token.id)] = true;
        // A vocabulary may add a token that is a byte's.
        if (this->token(token.id).size() == 1)
            byte_ids_[static_cast<unsigned char>(this->token(token.id).front())] = token.id;
    }
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        if (other[id]) continue;
        if (tokens_[id].size() == 1)
            byte_ids_[static_cast<unsigned char>(tokens_[id].front())] = static_cast<std::int32_t>(id);
        if (pieces_.whole) by_bytes_.push_back(static_cast<std::int32_t>(id));
    }
    std::ranges::sort(by_bytes_, {}, [this](std::int32_t id) { return std::pair(token(id), id); });
    for (std::size_t rank = 0; rank < merges_.size(); ++rank)
        ranks_[pair_key(merges_[rank].left, merges_[rank].right)] = rank;
}

std::optional<std::int32_t> Bpe::whole(std::string_view piece) const {
    const auto found =
        std::ranges::lower_bound(by_bytes_, piece, {}, [this](std::int32_t id) { return token(id); });
    if (found == by_bytes_.end() || token(*found) != piece) return std::nullopt;
    return *found;
}

std::vector<std::int32_t> Bpe::encode(std::string_view text) const {
    std::string storage;
    text = well_formed(text, storage);
    Encoder encoder(*this);
    added_in_text_.divide(
        text,
        [&](std::string_view part) {
            later_in_text_.divide(
                part, [&](std::string_view piece) { encoder.add_text(piece); },
                [&](std::int32_t id) { encoder.add_id(id); });
        },
        [&](std::int32_t id) { encoder.add_id(id); });
    return std::move(encoder).ids();
}

std::string Bpe::decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (const std::int32_t id : ids) text += token(id);
    return text;
}

std::string_view Bpe::token(std::int32_t id) const {
    return 0 <= id && id < vocabulary_size() ? std::string_view(tokens_[static_cast<std::size_t>(id)]) : "";
}

std::int32_t Bpe::vocabulary_size() const { return static_cast<std::int32_t>(tokens_.size()); }

}  // namespace attn
