// The parts of lens Tensors and what they share while one frame is drawn.
#pragma once

#include <optional>

#include "lenses/lens.hpp"
#include "widgets/heatmap.hpp"

namespace attn::lenses {

struct TensorsView {
    app::Session& session;
    app::TensorSet& set;
    Hover& hover;

    const app::Selection& selection() const { return session.state().selection; }
    void select_head(Index layer, Index head);
    void select(std::optional<Index> query, std::optional<Index> key);
};

// Of weights from 0 to 1, unless a file has other ones.
ui::ColourScale weight_scale(const app::TensorSet& set, float extent);

// Each draws itself at the cursor, `width` points wide.
void tensors_map(TensorsView& view, float width, float most_height);
void forget_tensors_map();  // it keeps the numbers of the set

// Before there is anything to show, or beside it: what may be dropped; what is to be answered; what waits.
void tensors_invitation(app::Session& session);
void tensors_questions(app::Session& session);
void tensors_waiting(app::Session& session);

}  // namespace attn::lenses
