// Draws queries and keys of many texts in one plane, with the exact scores between one of them and all
// others.
#include <imgui.h>

#include <algorithm>

#include "app/format.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/part.hpp"
#include "widgets/controls.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/layout.hpp"

namespace attn::app::circuits {

namespace {

constexpr float corpus_dot = 2, corpus_reach = 12;
constexpr std::size_t corpus_listed = 12, corpus_lines = 5;

CellRef corpus_cell(const CorpusPlane::End& end) { return cells::corpus_plane(end.key, 0, end.point); }

void draw_corpus_dots(const CorpusPlane& shown, const Scatter& scatter, bool by_position) {
    Index longest = 1;
    for (const CorpusPlane::Point& each : shown.points()) longest = std::max(longest, each.token);
    const ui::ColourScale positions = ui::sequential_scale(static_cast<float>(longest));
    for (const bool key : {true, false})
        for (Index i = 0; i < std::ssize(shown.points()); ++i) {
            const ImVec2 p = scatter.point({key, i});
            const ImU32 colour = by_position ? positions.colour(static_cast<float>(shown.at({key, i}).token))
                                 : key       ? key_colour()
                                             : query_colour();
            // Squares are faster than circles, and look the same in a crowd of thousands.
            ImGui::GetWindowDrawList()->AddRectFilled({p.x - corpus_dot, p.y - corpus_dot},
                                                      {p.x + corpus_dot, p.y + corpus_dot},
                                                      ui::with_alpha(colour, 0.75f));
        }
}

// Returns the hovered one.
std::optional<CorpusPlane::End> draw_corpus_points(const Model& model, const Drawing& drawing,
                                                   Subject& subject, float width) {
    const present::Card card(drawing,
                             {.key = "circuits/corpus",
                              .title = "Queries and keys of many texts in one plane",
                              .table = [&] { return plane_table(model, subject); },
                              .is_listed = false},
                             width);
    const CorpusPlane& shown = *model.corpus;
    const CorpusPlane::End pinned = model.corpus_end;
    const Scatter scatter(shown.plane(), "circuits/corpus", card.width(), corpus_reach);
    draw_corpus_dots(shown, scatter, model.state.by_position);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& t = ui::theme();
    const ImVec2 from = scatter.point(pinned);
    const std::vector<Index> best = shown.best(pinned);
    for (std::size_t i = 0; i < std::min(best.size(), corpus_lines); ++i)
        list->AddLine(from, scatter.point({!pinned.key, best[i]}), ui::with_alpha(t.accent, 0.6f), 1.5f);
    list->AddCircle(from, 5, t.accent, 0, 2);
    const auto& over = scatter.over;
    if (!over) return over;
    list->AddCircle(scatter.point(*over), 5, t.text, 0, 1.5f);
    drawing.now.cell = corpus_cell(*over);
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    std::string told = corpus_name(model, subject, *over);
    if (over->key != pinned.key)
        told += "\nscore with the " + std::string(pinned.key ? "key" : "query") + " of " +
                corpus_word(model, subject, pinned) + ": " + fixed(shown.score(pinned, over->point), 3);
    ui::tooltip_at_cursor(told.c_str());
    if (scatter.clicked) present::pin(drawing, corpus_cell(*over));
    return over;
}

void draw_corpus_products(const Model& model, const Drawing& drawing, Subject& subject,
                          const CorpusPlane::End& of, float width) {
    const CorpusPlane& shown = *model.corpus;
    const std::vector<Index> best = shown.best(of), near = shown.plane().nearest(of);
    present::Bars bars{
        .key = "circuits/corpus_product",
        .title = "True scores of the " + corpus_name(model, subject, of),
        .value = "score",
        .cell = [&](Index i) { return corpus_cell({!of.key, best[static_cast<std::size_t>(i)]}); }};
    for (std::size_t i = 0; i < std::min(best.size(), corpus_listed); ++i) {
        const double score = shown.score(of, best[i]);
        const auto rank = std::ranges::find(near, best[i]) - near.begin() + 1;
        bars.bars.push_back({corpus_word(model, subject, {!of.key, best[i]}), static_cast<float>(score),
                             fixed(score, 2) + "   " + std::to_string(rank) + ". in the plane"});
    }
    draw_bars(drawing, std::move(bars), true, width);
    ui::caption(
        ("q · k with its scale, of any two tokens of the texts, whether or not one sees the other. The " +
         std::string(of.key ? "query" : "key") + " that is nearest in the plane is that of " +
         corpus_word(model, subject, {!of.key, near.front()}) + ", with " +
         fixed(shown.score(of, near.front()), 2) + ".")
            .c_str());
    ui::landmark_item("circuits/corpus_nearest");
}

}  // namespace

// Chooses the plane of the present text or of many texts.
void draw_plane_controls(const Drawing& drawing, Subject& subject) {
    State next = drawing.state().of<State>();
    static constexpr std::array<const char*, 2> sources{"this text", "many texts"},
        colours{"query or key", "position"};
    const auto choice = [](const char* label, const char* name, const auto& words, bool& chosen) {
        ui::next_control(ui::need::named_choices);
        if (const auto other = ui::labelled_choice(label, name, words, chosen ? 1 : 0)) chosen = *other == 1;
    };
    choice("of", "circuits/source", sources, next.corpus);
    if (next.corpus) choice("colour by", "circuits/colour", colours, next.by_position);
    if (next != drawing.state().of<State>())
        set(drawing, next, 0);
    else if (TextModel* text_model = subject.text_model(); text_model && next.corpus)
        text_model->draw_corpus();
}

void draw_corpus_plane(const Model& model, const Drawing& drawing, Subject& subject) {
    const CorpusPlane* shown = model.corpus_plane();
    if (!shown) return;
    const QueryKeyPlane& plane = shown->plane();
    const auto count = std::ssize(shown->points());
    const CorpusPlane::End pinned = model.corpus_end;
    static constexpr std::array<const char*, 2> ends{"query", "key"};
    ui::next_control(ui::need::choices);
    if (const auto chosen = ui::choice("circuits/corpus_end", ends, pinned.key ? 1 : 0))
        present::pin(drawing, corpus_cell({*chosen == 1, pinned.point}));
    ui::next_control(ui::need::stepper);
    if (const auto point = ui::stepper("circuits/corpus_point", "token", pinned.point, 0, count - 1))
        present::pin(drawing, corpus_cell({pinned.key, *point}));
    std::optional<CorpusPlane::End> over;
    const auto draw_left = [&](float w) {
        over = draw_corpus_points(model, drawing, subject, w);
        const std::string drawn = ", drawn with seed " + std::to_string(corpus_of(subject)->seed());
        ui::caption(("The plane of the first two principal components of both, which hold " +
                     percent(plane.share[0]) + " and " + percent(plane.share[1]) + " of their spread; " +
                     (model.state.by_position ? "darker is earlier in its text"
                                              : "queries are blue and keys are orange") +
                     ". Placed are " + many(count, "token") + " of " + with_commas(shown->tokens()) +
                     (count < shown->tokens() ? drawn : "") + ".")
                        .c_str());
        ui::landmark_item("circuits/corpus_told");
    };
    ui::unequal_columns(0.6f, present::card_gap, "circuits/corpus", draw_left, "circuits/corpus_products",
                        [&](float w) {
                            draw_corpus_products(model, drawing, subject,
                                                 over && over->key == pinned.key ? *over : pinned, w);
                        });
}

}  // namespace attn::app::circuits
