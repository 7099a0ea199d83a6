// Two sentences beside each other in lens Sentence: what its parts share while one frame is drawn.
#pragma once

#include <optional>
#include <string>

#include "analysis/comparison.hpp"
#include "lenses/sentence_view.hpp"

namespace attn::lenses {

// A row and a column of either sentence, lit in every part.
struct PairPointed {
    std::optional<Index> query, key;                // of the first
    std::optional<Index> second_query, second_key;  // of the second
};

struct CompareView {
    SentenceView& first;
    const app::SentenceRun& second;
    const Alignment& alignment;
    const app::Comparison& comparison;
    PairPointed pointed;  // in the frame before
    PairPointed now;      // in this frame so far

    app::Session& session() const { return first.session; }
    const app::Selection& selection() const { return first.selection(); }
    const Record& second_record() const {
        return second.trace->layers()[static_cast<std::size_t>(selection().layer)].attention;
    }
    const std::string& second_piece(Index token) const {
        return second.pieces[static_cast<std::size_t>(token)];
    }

    // The words that are compared: under the cursor, else chosen, else the last and the one that stands for the other.
    Index query() const;
    std::optional<Index> second_query() const;

    void point(std::optional<Index> query, std::optional<Index> key);         // in the first
    void point_second(std::optional<Index> query, std::optional<Index> key);  // in the second
    // A token of one text stands for that of the other, or for the only one there that is the same token.
    std::optional<Index> second_of(Index first_token) const;
    std::optional<Index> first_of(Index second_token) const;
};

void sentence_compare(SentenceView& view);
void compare_maps(CompareView& view, float width, float most_height);

}  // namespace attn::lenses
