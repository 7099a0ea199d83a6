// What the two pictures of all heads in lens Sentence share: a grid of their maps, and points over two scores.
#pragma once

#include <optional>
#include <string>

#include "lenses/sentence_view.hpp"

namespace attn::lenses {

struct HeadsView {
    SentenceView& sentence;
    const app::HeadOverview& heads;

    HeadIndex chosen() const { return {sentence.selection().layer, sentence.selection().head}; }
    void choose(HeadIndex head) { sentence.select_head(head.layer, head.head); }
    void point(HeadIndex head);  // with the cursor: it is lit wherever heads are shown
    std::optional<double> number(HeadIndex head, app::HeadScore score) const {
        return number_of(heads.scores(head), score);
    }
};

std::string short_name(HeadIndex head);                            // "3.7"
std::string long_name(HeadIndex head);                             // "layer 3 · head 7"
std::string written(app::HeadScore score, std::optional<double>);  // "0.43"; "…" while there is none

inline constexpr float score_menu_width = 150;
// All scores, each with what it means; a newly chosen one.
std::optional<app::HeadScore> score_menu(const char* name, app::HeadScore taken);

// While the last item has the focus or is under the cursor.
bool arrow_pressed(ImGuiKey key);

// Each draws itself at the cursor. The grid is in layers, or in the order of a score.
void head_grid(HeadsView& view, std::optional<app::HeadScore> by, float width, float most_height);
void head_scatter(HeadsView& view, app::HeadScore across, app::HeadScore up, float width, float most_height);

}  // namespace attn::lenses
