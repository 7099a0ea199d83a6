// Declares what the files that draw lens Compare share.
#pragma once

#include "lenses/compare/compare.hpp"

namespace attn::app {

// Holds the two runs while a frame is drawn.
struct CompareLens::Frame {
    const Drawing& drawing;
    const Attention& first;
    const Attention& second;
    const Pairing &pairing, &keys;
    Subject& subject;

    Selection selection() const { return selection_of(drawing); }
    const std::string& first_name(Index token) const {
        return first.query_names()[static_cast<std::size_t>(token)];
    }
    const std::string& second_name(Index token) const {
        return second.query_names()[static_cast<std::size_t>(token)];
    }

    // The compared words are the hovered ones, otherwise the chosen ones, otherwise the predicted word and
    // its partner.
    Index query() const {
        if (const auto& pointed = drawing.pointed.query; pointed && *pointed < first.queries())
            return *pointed;
        const auto chosen = selection().query;
        return chosen && *chosen < first.queries() ? *chosen : first.predicted();
    }
    std::optional<Index> second_query() const {
        const auto there = [&](std::optional<Index> token) { return token && *token < second.queries(); };
        if (there(drawing.pointed.second_query)) return drawing.pointed.second_query;
        if (drawing.pointed.query)
            if (const auto counterpart = pairing.second_of(query())) return counterpart;
        if (there(selection().counterpart)) return selection().counterpart;
        return drawing.pointed.query ? std::nullopt : pairing.second_of(query());
    }

    const Attention& run(bool of_second) const { return of_second ? second : first; }
    std::optional<Index> query_of(bool of_second) const { return of_second ? second_query() : query(); }

    // Highlights a row and a column of either run in both.
    void point_in(bool of_second, std::optional<Index> row, std::optional<Index> key) const {
        Hover& now = drawing.now;
        if (of_second) {
            now.second_query = row;
            now.second_key = key;
            drawing.point(row ? pairing.first_of(*row) : std::nullopt,
                          key ? keys.first_of(*key) : std::nullopt);
        } else {
            drawing.point(row, key);
            now.second_query = row ? pairing.second_of(*row) : std::nullopt;
            now.second_key = key ? keys.second_of(*key) : std::nullopt;
        }
    }
};

}  // namespace attn::app
