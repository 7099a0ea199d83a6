// The parts of lens Tensors and what they share while one frame is drawn.
#pragma once

#include <optional>

#include "lenses/sentence_view.hpp"
#include "widgets/heatmap.hpp"

namespace attn::lenses {

struct TensorsView {
    app::Session& session;
    app::TensorSet& set;
    Hover& hover;
    Pointed pointed;   // in the frame before: all parts show it
    Pointed now = {};  // in this frame so far

    const app::Selection& selection() const { return session.state().selection; }
    // The map and the flow are by words, or by tokens.
    bool by_words() const { return set.shows_words(session.state().tensors.map); }
    app::ShownAxis queries() const { return axis(set.query_names(), set.query_words()); }
    app::ShownAxis keys() const { return axis(set.key_names(), set.key_words()); }
    void select_head(Index layer, Index head);
    void select(std::optional<Index> query, std::optional<Index> key);

  private:
    app::ShownAxis axis(const std::vector<std::string>& tokens, const app::WordAxis& words) const {
        return by_words() ? app::ShownAxis{words.names, &words} : app::ShownAxis{tokens};
    }
};

// Of weights from 0 to 1, unless a file has other ones.
ui::ColourScale weight_scale(const app::TensorSet& set, float extent);

// Each draws itself at the cursor, `width` points wide.
void tensors_flow(TensorsView& view, float width, float most_height);
void forget_tensors_flow();  // it keeps the numbers of the set
void tensors_map(TensorsView& view, float width, float most_height);
void forget_tensors_map();                     // it keeps the numbers of the set
std::optional<double> tensors_map_progress();  // 0 … 1, while there is more to do

// Before there is anything to show, or beside it: what may be dropped; what is to be answered; what waits.
void tensors_invitation(app::Session& session);
void tensors_questions(app::Session& session);
void tensors_waiting(app::Session& session);

}  // namespace attn::lenses
