#include <algorithm>
#include <cmath>

#include "lenses/overview/overview.hpp"
#include "parts/example_lines.hpp"
#include "parts/flow_part.hpp"
#include "parts/heads_part.hpp"
#include "parts/map_part.hpp"
#include "parts/score_part.hpp"
#include "present/card.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float least_window = 480, left_share = 0.46f;
// Fractions of the window's height.
constexpr float flow_share = 0.6f, nameless_flow_share = 0.45f, heads_share = 0.55f, map_share = 0.7f,
                single_map_share = 0.78f;

}  // namespace

struct Overview::ViewMemory {
    std::uint64_t origin = 0;
    parts::FlowPart flow;
    parts::MapPart map;
    parts::ScorePart score;
    Index example_texts = 0;  // to read for examples of the head
};

namespace {

constexpr Index example_texts = 100;
constexpr std::size_t examples_shown = 5;

// Shows what makes the chosen head fire, once a person asks for it, because reading many texts takes a while.
void draw_examples(const Drawing& drawing, Subject& subject, Index& texts, float width) {
    TextModel* model = subject.text_model();
    ExampleSearch* search = model && !subject.translating() ? model->examples(texts) : nullptr;
    if (!search) return;
    if (!search->done()) drawing.visit.continue_with([search] { return search->step(); });
    const HeadIndex head = subject.chosen_head();
    const HeadExamples& found = search->examples();
    parts::ExampleLines lines{
        .key = "examples", .title = "What makes this head fire", .search = search, .head = head};
    if (head.layer < found.attentions() && head.head < found.heads()) {
        const auto all = found.strongest(head, lines.by);
        lines.pairs.assign(all.begin(),
                           all.begin() + std::min(std::ssize(all), std::ptrdiff_t{examples_shown}));
    }
    for (std::size_t rank = 0; rank < lines.pairs.size(); ++rank)
        lines.ranks.push_back(std::to_string(rank + 1));
    if (!lines.pairs.empty()) {
        if (const auto pair = parts::draw_example_lines(drawing, lines, width))
            parts::open_example(subject, *search, head, *pair);
        return;
    }
    const present::Card card(drawing, {.key = "examples", .title = lines.title}, width);
    if (ui::button("examples/read", "Find its strongest examples", search->done()) && search->done())
        texts = example_texts;
}

}  // namespace

void Overview::draw(const Drawing& drawing, Subject& subject) {
    Attention& attention = *subject.attention();
    ViewMemory& seen = remembered(seen_[drawing.state().subject]);
    if (seen.origin != attention.origin()) {
        seen.map.forget();
        seen.flow.forget();
        seen.origin = attention.origin();
    }
    const float width = ImGui::GetContentRegionAvail().x;
    const float window = std::max(ImGui::GetWindowHeight(), least_window);
    const bool several = attention.layers() * attention.heads() > 1;
    // A part may choose a head of another text, which the following parts show.
    const auto shown = [&]() -> Attention& { return *subject.attention(); };
    // The flow and the map have menus of their own.
    {
        const present::Card card(drawing, {.key = "flow", .title = ""}, width);
        seen.flow.draw(drawing, attention, card.width(),
                       window * (attention.has_tokens() ? flow_share : nameless_flow_share));
    }
    const auto draw_map = [&](float room, float most_height) {
        const present::Card card(drawing, {.key = "map", .title = ""}, room);
        seen.map.draw(drawing, shown(), card.width(), most_height);
    };
    if (!several || width < ui::two_columns) {
        draw_map(width, several ? 1e6f : window * single_map_share);
        if (several) parts::draw_heads(drawing, shown(), width, window * map_share);
        seen.score.draw(drawing, shown(), width);
        draw_examples(drawing, subject, seen.example_texts, width);
        return subject.draw_beside(drawing, width);
    }
    const float left = std::floor((width - present::card_gap) * left_share);
    ui::column("left", left, [&](float w) {
        parts::draw_heads(drawing, shown(), w, window * heads_share);
        subject.draw_beside(drawing, w);
    });
    ImGui::SameLine(0, present::card_gap);
    ui::column("right", width - left - present::card_gap, [&](float w) {
        draw_map(w, window * map_share);
        seen.score.draw(drawing, shown(), w);
        draw_examples(drawing, subject, seen.example_texts, w);
    });
}

}  // namespace attn::app
