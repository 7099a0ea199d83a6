#include "text/bpe_train.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/quote.hpp"
#include "text/added_tokens.hpp"
#include "text/byte_alphabet.hpp"
#include "text/pretokenize.hpp"
#include "text/utf8.hpp"

namespace attn {

namespace {

// Holds every distinct piece once, with the number of its occurrences, as a list of symbols: bytes at first,
// tokens later. A merge visits only the places where its pair occurs.
class Trainer {
  public:
    explicit Trainer(std::vector<std::string> special) : tokens_(std::move(special)) {
        for (const std::uint8_t byte : bytes_in_alphabet_order()) {
            byte_ids_[byte] = static_cast<std::int32_t>(tokens_.size());
            tokens_.emplace_back(1, static_cast<char>(byte));
        }
    }

    void add_piece(std::string_view piece, std::int64_t count) {
        const std::size_t begin = symbols_.size();
        for (std::size_t i = 0; i < piece.size(); ++i) {
            const std::size_t at = begin + i;
            symbols_.push_back({byte_ids_[static_cast<std::uint8_t>(piece[i])], count, i == 0 ? none : at - 1,
                                i + 1 == piece.size() ? none : at + 1});
            if (i > 0) add_pair(at - 1);
        }
    }

    // Makes the most frequent pair a token; returns false if no pair is left.
    bool merge() {
        offer_pairs_that_grew();
        while (!candidates_.empty()) {
            const Candidate top = candidates_.top();
            candidates_.pop();
            const std::int64_t count = pairs_[top.pair].count;
            if (count == top.count) {
                merge(top.pair);
                return true;
            }
            if (count > 0) candidates_.push({count, top.pair});  // rarer than when it was queued
        }
        return false;
    }

    const std::vector<std::string>& tokens() const { return tokens_; }
    std::vector<Bpe::Merge> merges() const { return merges_; }

  private:
    using IdPair = std::pair<std::int32_t, std::int32_t>;
    struct Hash {
        std::size_t operator()(const IdPair& pair) const {
            return std::hash<std::uint64_t>{}(std::uint64_t{static_cast<std::uint32_t>(pair.first)} << 32 |
                                              static_cast<std::uint32_t>(pair.second));
        }
    };
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    struct Symbol {
        std::int32_t id = 0;     // -1: absorbed by the symbol before it
        std::int64_t count = 0;  // occurrences of the piece it is in
        std::size_t before = none, after = none;
    };
    struct PairUse {
        std::int64_t count = 0;
        std::vector<std::size_t> places;  // where its left symbol stands; some are out of date
    };
    struct Candidate {
        std::int64_t count = 0;
        IdPair pair;
        bool operator<(const Candidate& other) const {
            return count != other.count ? count < other.count : pair > other.pair;
        }
    };

    IdPair pair_at(std::size_t left) const { return {symbols_[left].id, symbols_[symbols_[left].after].id}; }

    void add_pair(std::size_t left) {
        const IdPair pair = pair_at(left);
        PairUse& use = pairs_[pair];
        use.count += symbols_[left].count;
        use.places.push_back(left);
        grown_.insert(pair);
    }

    void remove_pair(std::size_t left) { pairs_[pair_at(left)].count -= symbols_[left].count; }

    void offer_pairs_that_grew() {
        for (const IdPair& pair : grown_)
            if (const std::int64_t count = pairs_[pair].count; count > 0) candidates_.push({count, pair});
        grown_.clear();
    }

    // The bytes that a merge makes are never a token already: as long as they are not one token, no merge
    // crosses their ends, so wherever they occur, their inside has been merged in the same way.
    void merge(const IdPair& pair) {
        const auto [left, right] = pair;
        const auto id = static_cast<std::int32_t>(tokens_.size());
        tokens_.push_back(tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)]);
        merges_.push_back({left, right, id});
        std::vector<std::size_t> places = std::exchange(pairs_[pair].places, {});
        std::ranges::sort(places);  // "aaa" becomes "aa" + "a"
        for (const std::size_t place : places) {
            Symbol& symbol = symbols_[place];
            if (symbol.id != left || symbol.after == none || symbols_[symbol.after].id != right) continue;
            Symbol& absorbed = symbols_[symbol.after];
            remove_pair(place);
            if (symbol.before != none) remove_pair(symbol.before);
            if (absorbed.after != none) remove_pair(symbol.after);
            symbol.id = id;
            symbol.after = absorbed.after;
            absorbed.id = -1;
            if (symbol.before != none) add_pair(symbol.before);
            if (symbol.after != none) {
                symbols_[symbol.after].before = place;
                add_pair(place);
            }
        }
    }

    std::vector<std::string> tokens_;
    std::array<std::int32_t, 256> byte_ids_{};
    std::vector<Bpe::Merge> merges_;
    std::vector<Symbol> symbols_;
    std::unordered_map<IdPair, PairUse, Hash> pairs_;
    std::set<IdPair> grown_;
    std::priority_queue<Candidate> candidates_;
};

Status check_special(std::span<const std::string> tokens) {
    std::set<std::string_view> seen;
    for (const std::string& token : tokens) {
        if (token.size() < 2 || token.size() > AddedTokens::max_bytes ||
            std::ranges::any_of(token, [](char c) { return c < '!' || '~' < c; }))
            return Error{"the special token " + quote(token) + " is not of 2 to " +
                         std::to_string(AddedTokens::max_bytes) + " of the characters from ! to ~"};
        if (!seen.insert(token).second) return Error{"the special token " + quote(token) + " is given twice"};
    }
    return ok();
}

Result<Bpe> train(std::span<const std::string_view> texts, int vocabulary,
                  std::span<const std::string> special_tokens, bool fewer_will_do) {
    if (auto status = check_special(special_tokens); !status) return status.error();
    const std::size_t least = 256 + special_tokens.size();
    if (std::cmp_less(vocabulary, least))
        return Error{"a vocabulary of " + std::to_string(vocabulary) +
                     " tokens is too small: the 256 bytes and the special tokens take " +
                     std::to_string(least)};

    AddedTokens special;
    std::vector<Bpe::Added> added;
    for (const std::string& token : special_tokens) {
        const auto id = static_cast<std::int32_t>(added.size());
        special.add(token, id);
        added.push_back({id, true});
    }

    std::vector<std::string> storage(texts.size());
    std::unordered_map<std::string_view, std::int64_t> pieces;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        std::string_view text = well_formed(texts[i], storage[i]);
        const auto count = [&](std::string_view section) {
            for_each_piece(section, [&](std::string_view piece) { ++pieces[piece]; });
        };
        while (const auto match = special.find(text)) {
            count(text.substr(0, match->begin));
            text.remove_prefix(match->end);
        }
        count(text);
    }
    if (pieces.empty()) return Error{"there is no text to learn a vocabulary from"};

    Trainer trainer({special_tokens.begin(), special_tokens.end()});
    for (const auto& [piece, count] : pieces) trainer.add_piece(piece, count);
    while (std::cmp_less(trainer.tokens().size(), vocabulary))
        if (!trainer.merge()) {
            if (fewer_will_do) break;
            return Error{"a vocabulary of " + std::to_string(vocabulary) +
                         " tokens is more than this text supports; it makes " +
                         std::to_string(trainer.tokens().size())};
        }
    return Bpe(trainer.tokens(), trainer.merges(), std::move(added));
}

}  // namespace

Result<Bpe> train_bpe(std::span<const std::string_view> texts, int vocabulary,
                      std::span<const std::string> special_tokens) {
    return train(texts, vocabulary, special_tokens, false);
}

Result<Bpe> train_bpe_up_to(std::span<const std::string_view> texts, int vocabulary,
                            std::span<const std::string> special_tokens) {
    return train(texts, vocabulary, special_tokens, true);
}

}  // namespace attn
