#include "lenses/ladder/ladder.hpp"
#include "parts/ladder_part.hpp"
#include "parts/take_over.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

struct LadderLens::ViewMemory {
    parts::LadderPart part;
};

// Says which part of a longer text is shown, and lets the user change it.
void LadderLens::draw_window(const Drawing& drawing, Subject& subject, Range queries, Range keys) {
    const Ladder& ladder = *subject.ladder();
    const LadderState& now = drawing.state().of<LadderState>();
    const Index most = std::max(ladder.queries(), ladder.keys());
    const ui::Row row("ladder/settings");
    if (most > 1) {
        ImGui::BeginGroup();
        if (const auto tokens = ui::stepper("ladder/tokens", "tokens", queries.size(), 1,
                                            std::min(most, ladder_tokens_limit)))
            drawing.visit.perform(SetLadderTokens{{now.first, *tokens}}, ui::gesture());
        ImGui::EndGroup();
        if (ui::next_control(ui::need::stepper)) {
            ImGui::BeginGroup();
            if (const auto first =
                    ui::stepper("ladder/first", "from", queries.begin, 0, most - queries.size()))
                drawing.visit.perform(SetLadderTokens{{*first, now.tokens}}, ui::gesture());
            ImGui::EndGroup();
        }
        if (now.first && ui::next_button("Follow the query"))
            if (ui::button("ladder/follow", "Follow the query"))
                drawing.visit.perform(SetLadderTokens{{std::nullopt, now.tokens}});
    }
    if (ui::next_control(ui::need::choices)) parts::draw_take_over(drawing, subject, queries, keys);
}

void LadderLens::draw(const Drawing& drawing, Subject& subject) {
    const Ladder* ladder = subject.ladder();
    const auto [queries, keys] = window_of(subject);
    if (!ladder->edits()) {
        if (ui::settings()) draw_window(drawing, subject, queries, keys);
        ladder = subject.ladder();  // a command may have changed it
        if (!ladder) return;
    }
    remembered(seen_[drawing.state().subject]).part.draw(drawing, subject, *ladder, queries, keys);
}

}  // namespace attn::app
