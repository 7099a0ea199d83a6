#include "parts/take_over.hpp"

#include "subjects/head_copy.hpp"
#include "widgets/controls.hpp"

namespace attn::parts {

void draw_take_over(const app::Drawing& drawing, app::Subject& subject, Range queries, Range keys) {
    const auto offer = app::take_over(drawing.visit, subject, queries, keys);
    if (!offer) return;
    if (ui::button("take", offer->label.c_str())) drawing.visit.perform(offer->command);
    ui::tooltip(
        "Copies this head's q, k and v for these tokens, exactly as they are, so that you can change "
        "them");
}

}  // namespace attn::parts
