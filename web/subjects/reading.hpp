// Describes in plain words what a head does with one query, judging by its weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/attention.hpp"

namespace attn::app {

// The query's row of weights, [keys]; the weights of a word's tokens are added.
struct Reading {
    struct Look {
        std::string at;    // "“animal”", "itself", "key 3"
        double share;      // share of the row
        Index tokens = 1;  // tokens of the word, whose shares are added
        Range keys{};      // the word's tokens, or the key
    };
    Index query = 0;
    std::string asks;         // "Reading “It”", "At query 5"
    std::vector<Look> looks;  // at most three, the strongest first; none if the query sees no key

    // Returns the strongest look if it is worth naming, otherwise null.
    const Look* strongest() const;
};

// Reads the row of `query`, or of the predicted token; with larger units than tokens, that of its unit, and
// with a mean over heads, the mean's. Returns nothing while the weights are computed, and if some of them
// cannot be shares of a whole.
std::optional<Reading> read_row(const Attention& attention, Index layer, Index head,
                                std::optional<Index> query, const MapChoice& choice = {});

// Returns "looks at “animal” (98 %)", as the rest of a sentence.
std::string looks_at(const Reading& reading);

// Names a query or a key for readers: a one-token word without its marks, any other token unchanged.
std::string query_in_words(const Attention& attention, Index query);
std::string key_in_words(const Attention& attention, Index key);

// Says what the predicted token's logits predict: "after the text", "in place of “[MASK]” at position 5".
// Requires a run of a model.
std::string prediction_in_words(const Attention& attention);

// Keeps the row read last, for a sentence that is drawn in every frame.
class RowReader {
  public:
    const std::optional<Reading>& read(const Attention& attention, Index layer, Index head,
                                       std::optional<Index> query, const MapChoice& choice = {});

  private:
    struct Row {
        const Attention* attention = nullptr;
        std::uint64_t version = 0;
        Index layer = -1, head = -1;
        std::optional<Index> query;
        MapChoice choice;  // its unit, mean and spans
        bool operator==(const Row&) const = default;
    };
    Row row_;
    std::optional<Reading> reading_;
};

}  // namespace attn::app
