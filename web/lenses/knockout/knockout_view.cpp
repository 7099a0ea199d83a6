// Draws the controls of the lens and its heads: how far the target falls without each, beside its direct
// contribution and its largest weight.
#include <imgui.h>

#include <algorithm>
#include <array>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "parts/part.hpp"
#include "parts/text_pairs.hpp"
#include "parts/token_choice.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::knockout {

namespace {

constexpr float least_head_card = 330, agreement_height = 190;

// ---- Controls ---------------------------------------------------------------------------------------------

// Returns whether one was pressed, which may have changed everything.
bool draw_presets(const Drawing& drawing) {
    const ui::Row tries("knockout/try", ui::to_try);
    return std::ranges::any_of(parts::text_pairs, [&](const parts::TextPair& pair) {
        return parts::draw_text_pair(drawing, pair, Set<State>{});
    });
}

void draw_part_controls(const Model& model, State& next) {
    const auto chosen_in = [](const char* label, const char* name, const auto& names, Index taken) {
        return ui::next_control(ui::need::named_choices)
                   ? ui::labelled_choice(label, name, names, static_cast<int>(taken))
                   : std::nullopt;
    };
    const State& now = model.state;
    if (now.part == Part::heads) {
        static constexpr std::array<const char*, removal_count> removals{"zero", "mean", "many texts",
                                                                         "twin"};
        if (const auto chosen =
                chosen_in("in its place", "knockout/removal", removals, static_cast<Index>(now.removal)))
            next.removal = static_cast<Removal>(*chosen);
    }
    if (now.part == Part::patching) {
        static constexpr std::array<const char*, patch_sites.size()> sites{"residual", "attention", "MLP"};
        if (const auto chosen = chosen_in("patch", "knockout/site", sites,
                                          std::ranges::find(patch_sites, now.site) - patch_sites.begin()))
            next.site = patch_sites[static_cast<std::size_t>(*chosen)];
        static constexpr std::array<const char*, 2> directions{"second into first", "first into second"};
        if (const auto chosen = chosen_in("from", "knockout/into", directions, now.back ? 1 : 0))
            next.back = *chosen == 1;
    }
}

// Draws the step that adds a second text, which the open part needs.
void draw_second(const Model& model, const Drawing& drawing, Subject& subject) {
    const State& now = model.state;
    // A training run's second is another network, so it has no counterfactual text.
    const bool needs_twin =
        now.part == Part::patching || (now.part == Part::heads && now.removal == Removal::twin);
    Comparing* comparing = subject.learning() ? nullptr : subject.comparing();
    const auto offer = needs_twin && !model.twin && comparing ? comparing->offer_second() : std::nullopt;
    if (!offer) return;
    if (ui::next_control(ui::need::named_choices) && ui::button("knockout/second", offer->label.c_str()))
        drawing.visit.perform(Together{{offer->command, OpenLens{drawing.state().lens}}});
}

// If not all tokens are in view, this control brings the others there.
void draw_query(const Model& model, const Drawing& drawing, Subject& subject) {
    const Index last = subject.attention()->queries() - 1;
    if (last < 1 ||
        (model.state.part == Part::patching && (!model.patches() || model.patches()->tokens().size() > last)))
        return;
    ui::control(ui::need::stepper, [&] {
        if (const auto to = ui::stepper("knockout/query", "query", model.query, 0, last))
            parts::choose_tokens(drawing, *to, selection_of(drawing).key);
    });
}

void draw_controls(Model& model, const Drawing& drawing, Subject& subject) {
    if (draw_presets(drawing)) return;
    State next = model.state;
    TextModel* text_model = subject.text_model();
    {
        const ui::Row row("knockout/settings");
        static constexpr std::array<const char*, part_count> names{"heads", "edges", "patching"};
        if (const auto chosen =
                ui::labelled_choice("knock out", "knockout/part", names, static_cast<int>(next.part)))
            next.part = static_cast<Part>(*chosen);
        draw_second(model, drawing, subject);
        // Drawn before the items that appear and disappear while the model runs on.
        const auto offer = text_model ? text_model->offer_without(model.head) : std::nullopt;
        if (offer && model.state.part == Part::heads) {
            if (ui::next_control(ui::need::choices) &&
                ui::button("knockout/off", offer->label.c_str(), {switch_off, switch_on}))
                drawing.visit.perform(offer->command);
        }
        parts::draw_token_choice({.key = "knockout",
                                  .loss = model.target ? std::optional(model.target->loss) : std::nullopt,
                                  .rows = {&model.here, &model.there},
                                  .vocabulary = model.vocabulary,
                                  .search = model.search,
                                  .typed = model.typed},
                                 subject, next.raise, next.over);
        draw_query(model, drawing, subject);
        draw_part_controls(model, next);
    }
    if (text_model && model.state.part == Part::heads && model.state.removal == Removal::texts)
        text_model->draw_corpus();
    ui::fault("knockout/fault", model.search.fault);
    if (next != model.state) drawing.visit.perform(Set<State>{next}, ui::gesture());
}

// ---- Heads ------------------------------------------------------------------------------------------------

// Plots each head by its largest weight and by how far the target falls without it.
void draw_agreement(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const auto agree = model.agreement();
    if (!agree) return;
    ui::ChartCurve points{.name = "falls by", .colour = ui::series_colour(0), .apart = true, .radius = 4};
    std::vector<HeadIndex> heads;
    for (Index layer = 0; layer < model.removals()->attentions(); ++layer)
        for (Index head = 0; head < model.heads(); ++head)
            if (const auto look = model.look({layer, head})) {
                points.add(look->weight, *model.removals()->logit_drop({layer, head}));
                points.notes.push_back(head_text({layer, head}, subject.attention()->numbering()));
                heads.push_back({layer, head});
            }
    const ui::Chart chart{.name = "knockout-agreement",
                          .title = "Bright and important",
                          .x = {"strongest weight", 0, 1},
                          .y = ui::fitted("falls without it, in logits", {&points, 1}, true)};
    const auto reply = present::chart(
        drawing, chart, width, agreement_height, {&points, 1},
        [&](std::size_t, std::size_t i) { return cells::head_ablation(heads[i].layer, heads[i].head); });
    if (reply.clicked) parts::choose_head(drawing, heads[reply.over->point]);
    ui::caption(
        ("Rank correlation over the heads, 1 where the order is the same: of the fall and what they add "
         "directly " +
         fixed(agree->direct, 2) + ", of how far it moves at all and the strongest weight " +
         fixed(agree->look, 2) + ".")
            .c_str());
    ui::landmark_item("knockout/agreement");
}

void draw_heads(const Model& model, const Drawing& drawing, Subject& subject) {
    const auto sheet = [&](const CellKind& kind) {
        return [&](float width) {
            const auto clicked = present::sheet(drawing, head_sheet(model, subject, kind), width);
            if (clicked && clicked->second < model.heads())
                parts::choose_head(drawing, {clicked->first, clicked->second});
        };
    };
    ui::columns("knockout/heads", least_head_card, present::card_gap, sheet(cells::head_ablation),
                sheet(cells::direct_effect), sheet(cells::max_weight),
                [&](float width) { draw_agreement(model, drawing, subject, width); });
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    while (!drawing.deadline.passed() && model.step(subject)) continue;
    ui::hint(model.state.part == Part::heads ? "Click the head whose fall is largest, then look at its edges."
             : model.state.part == Part::edges
                 ? "Click a cell of the maps to cut the edges of another query."
                 : "Compare what the residual, the attention and the MLPs carry over.");
    if (ui::settings()) draw_controls(model, drawing, subject);
    // A preset may have requested another model.
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    if (model.refused.empty()) {
        if (const auto share = model.share_done(); share && *share < 1) {
            ui::caption(("The model runs again and again, " + percent(static_cast<double>(*share)) + " done.")
                            .c_str());
            ui::landmark_item("knockout/progress");
        }
        switch (model.state.part) {
            case Part::heads: draw_heads(model, drawing, subject); break;
            case Part::edges: draw_edges(model, drawing, subject); break;
            case Part::patching: draw_patching(model, drawing, subject); break;
        }
    }
    if (model.step(subject))
        drawing.visit.continue_with([&model, &subject, target = model.target] {
            return subject.attention() && subject.attention()->trace() && target == model.target &&
                   model.step(subject);
        });
}

}  // namespace attn::app::knockout
