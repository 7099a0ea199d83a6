// The parts of lens Sentence and what they share while one frame is drawn.
#pragma once

#include <optional>
#include <string>

#include "app/clock.hpp"
#include "lenses/lens.hpp"
#include "widgets/heatmap.hpp"

namespace attn::lenses {

// A token or a pair of tokens under the cursor, wherever on the lens that is.
struct Pointed {
    std::optional<Index> query, key;
};

struct SentenceView {
    app::Session& session;
    const app::SentenceRun& run;
    Hover& hover;
    const app::Deadline& deadline;
    Pointed pointed;  // in the frame before: all parts show it
    Pointed now;      // in this frame so far

    const app::Selection& selection() const { return session.state().selection; }
    const Record& record() const {
        return run.trace->layers()[static_cast<std::size_t>(selection().layer)].attention;
    }
    Index tokens() const { return run.trace->tokens(); }
    // The map and the flow are by words, or by tokens.
    bool by_words() const { return takes_words(session.state().sentence.map) && run.words.merges(); }
    app::ShownAxis axis() const {
        return by_words() ? app::ShownAxis{run.words.names, &run.words} : app::ShownAxis{run.pieces};
    }
    const std::string& piece(Index token) const { return run.pieces[static_cast<std::size_t>(token)]; }
    bool allows(Index query, Index key) const {
        return record().spec().mask.allows(selection().head, query, key);
    }

    // The row that is looked at: under the cursor, else chosen, else the last.
    Index query() const { return pointed.query.value_or(selection().query.value_or(tokens() - 1)); }
    std::optional<Index> key() const { return pointed.query || pointed.key ? pointed.key : selection().key; }

    void point(std::optional<Index> query, std::optional<Index> key) { now = {query, key}; }
    void select(std::optional<Index> query, std::optional<Index> key);
    void select_head(Index layer, Index head);
};

// The mouse is or was farther from where its button went down than a hand trembles.
bool dragged();
// It went up where it had gone down.
bool clicked();

// What a text of n tokens still has.
inline std::optional<Index> within(std::optional<Index> token, Index n) {
    return token && *token < n ? token : std::nullopt;
}

// Each draws itself at the cursor, `width` points wide.
void sentence_flow(SentenceView& view, float width, float most_height);
void sentence_map(SentenceView& view, float width, float most_height);
void sentence_ladder(SentenceView& view, float width);
void sentence_next(SentenceView& view, float width);

}  // namespace attn::lenses
