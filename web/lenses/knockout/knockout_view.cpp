// Draws the controls of the lens and its heads: how far the target falls without each, beside its direct
// contribution and its largest weight.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "parts/part.hpp"
#include "parts/token_field.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr float least_head_card = 330, agreement_height = 190;

}  // namespace

// ---- Controls ---------------------------------------------------------------------------------------------

void KnockoutLens::draw_presets() {
    for (const KnockoutPreset& preset : knockout_presets) {
        std::optional<Command> reads;
        for (const SubjectEntry& entry : subject_list())
            if (!reads)
                reads = static_cast<Subject&>(visit().subject(entry.key)).reads(preset.text, preset.twin);
        if (!reads) continue;
        ui::next_control(ui::need::choices);
        if (ui::button(("knockout/preset/" + std::string(preset.key)).c_str(), preset.name))
            visit().perform(Together{{*reads, SetKnockout{}, OpenLens{state().lens}}});
        ui::tooltip(preset.text);
    }
}

// Draws two lists of tokens.
void KnockoutLens::draw_target(Subject& subject, KnockoutState& next) {
    const LogitLoss& loss = target_->loss;
    const std::vector<std::int32_t> ids = tokens_offered(subject);
    const std::vector<std::string> names = vocabulary_.names(subject, ids);
    const auto name = [&](std::int32_t id) {
        return names[static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin())];
    };
    const auto list = [&](const char* landmark, const char* label, const std::string& shown, auto&& options) {
        ui::next_control(ui::need::many_choices);
        ImGui::BeginGroup();
        ui::label(label);
        ImGui::SetNextItemWidth(ui::menu_width);
        if (ui::begin_list(landmark, label, shown.c_str())) {
            options();
            ui::end_list();
        }
        ImGui::EndGroup();
    };
    const auto option = [&](const std::string& landmark, std::int32_t id, bool on) {
        return ui::list_option((landmark + "/" + std::to_string(id)).c_str(), name(id).c_str(), on);
    };
    list("knockout/raise", "the logit of", name(loss.raise), [&] {
        for (const std::int32_t id : ids)
            if (option("knockout/raise", id, id == loss.raise)) {
                next.raise = id;
                next.over = loss.over == id ? loss.raise : loss.over;
            }
    });
    list("knockout/over", "over that of", loss.over ? name(*loss.over) : "nothing", [&] {
        if (ui::list_option("knockout/over/none", "nothing", !loss.over)) {
            next.raise = loss.raise;
            next.over = std::nullopt;
        }
        for (const std::int32_t id : ids)
            if (id != loss.raise && option("knockout/over", id, loss.over == id)) {
                next.raise = loss.raise;
                next.over = id;
            }
    });
    ui::next_control(ui::need::many_choices);
    parts::token_field("knockout/token", "or type it", "The token whose logit is asked about", search_);
    if (const auto typed = vocabulary_.find(search_, here_.logits.values())) {
        std::erase(typed_, *typed);
        typed_.insert(typed_.begin(), *typed);
        next.raise = typed;
        next.over = loss.over == typed ? std::nullopt : loss.over;
    }
    ui::next_control(ui::need::choices);
    const Status possible = now().raise ? ok() : Status(Error{"It is what is asked about already."});
    if (ui::button("knockout/likeliest", "The likeliest", possible)) next.raise = next.over = std::nullopt;
}

void KnockoutLens::draw_part_controls(Subject& subject, KnockoutState& next) {
    if (now().part == KnockoutPart::heads) {
        static constexpr std::array<const char*, removal_count> removals{"zero", "mean", "many texts",
                                                                         "twin"};
        ui::next_control(ui::need::named_choices);
        if (const auto chosen = ui::labelled_choice("in its place", "knockout/removal", removals,
                                                    static_cast<int>(now().removal)))
            next.removal = static_cast<Removal>(*chosen);
    }
    if (now().part == KnockoutPart::patching) {
        static constexpr std::array<const char*, patch_sites.size()> sites{"residual", "attention", "MLP"};
        const auto taken = std::ranges::find(patch_sites, now().site) - patch_sites.begin();
        ui::next_control(ui::need::named_choices);
        if (const auto chosen = ui::labelled_choice("patch", "knockout/site", sites, static_cast<int>(taken)))
            next.site = patch_sites[static_cast<std::size_t>(*chosen)];
        static constexpr std::array<const char*, 2> directions{"second into first", "first into second"};
        ui::next_control(ui::need::named_choices);
        if (const auto chosen = ui::labelled_choice("from", "knockout/into", directions, now().back ? 1 : 0))
            next.back = *chosen == 1;
    }
    // A training run's second is another network, so it has no counterfactual text.
    const bool needs_twin = now().part == KnockoutPart::patching ||
                            (now().part == KnockoutPart::heads && now().removal == Removal::twin);
    if (now().part == KnockoutPart::heads && now().removal == Removal::texts) subject.draw_corpus();
    const auto offer = needs_twin && !twin_ && !subject.course() ? subject.offer_second() : std::nullopt;
    if (!offer) return;
    ui::next_control(ui::need::named_choices);
    if (ui::button("knockout/second", offer->label.c_str()))
        visit().perform(Together{{offer->command, OpenLens{state().lens}}});
}

// If not all tokens are in view, this control brings the others there.
void KnockoutLens::draw_query(const Drawing& drawing, Subject& subject) {
    const Index last = subject.attention()->queries() - 1;
    if (last < 1 ||
        (now().part == KnockoutPart::patching && (!patches() || patches()->tokens().size() > last)))
        return;
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    if (const auto to = ui::stepper("knockout/query", "query", chosen_query(subject), 0, last))
        parts::choose_tokens(drawing, *to, selection_of(drawing).key);
    ImGui::EndGroup();
}

void KnockoutLens::draw_controls(const Drawing& drawing, Subject& subject) {
    const KnockoutState before = now();
    KnockoutState next = before;
    static constexpr std::array<const char*, knockout_part_count> names{"heads", "edges", "patching"};
    if (const auto chosen =
            ui::labelled_choice("knock out", "knockout/part", names, static_cast<int>(now().part)))
        next.part = static_cast<KnockoutPart>(*chosen);
    // Drawn before the items that appear and disappear while the model runs on.
    if (const auto offer = subject.offer_without(subject.chosen_head());
        offer && now().part == KnockoutPart::heads) {
        ui::next_control(ui::need::choices);
        if (ui::button("knockout/off", offer->label.c_str(), {switch_off, switch_on}))
            visit().perform(offer->command);
    }
    if (target_) draw_target(subject, next);
    // A link may name a token that the vocabulary lacks.
    if (!target_ && now().raise) {
        ui::next_control(ui::need::choices);
        if (ui::button("knockout/likeliest", "The likeliest")) next.raise = next.over = std::nullopt;
    }
    draw_query(drawing, subject);
    draw_part_controls(subject, next);
    ui::fault("knockout/fault", search_.fault);
    if (next != before) visit().perform(SetKnockout{next}, ui::gesture());
    draw_presets();
}

// ---- Heads ------------------------------------------------------------------------------------------------

void KnockoutLens::draw_head_sheet(const Drawing& drawing, Subject& subject, const CellKind& kind,
                                   float width) const {
    const auto clicked = present::sheet(drawing, head_sheet(subject, kind), width);
    if (clicked && clicked->second < removals()->heads())
        parts::choose_head(drawing, {clicked->first, clicked->second});
}

// Plots each head by its largest weight and by how far the target falls without it.
void KnockoutLens::draw_agreement(const Drawing& drawing, Subject& subject, float width) const {
    const auto agree = agreement();
    if (!agree) return;
    const Layers numbering = subject.attention()->numbering();
    ui::ChartCurve points{.name = "falls by", .colour = ui::series_colour(0), .apart = true, .radius = 4};
    std::vector<HeadIndex> heads;
    for (Index layer = 0; layer < removals()->attentions(); ++layer)
        for (Index head = 0; head < removals()->heads(); ++head)
            if (const auto looks = look({layer, head})) {
                points.x.push_back(looks->weight);
                points.y.push_back(*removals()->logit_drop({layer, head}));
                points.notes.push_back(head_text({layer, head}, numbering));
                heads.push_back({layer, head});
            }
    const ui::Chart chart{.name = "knockout-agreement",
                          .title = "Bright and important",
                          .x = {"strongest weight", 0, 1},
                          .y = ui::fitted("falls without it, in logits", {&points, 1}, true)};
    const auto reply = present::chart(drawing, chart, width, agreement_height, {&points, 1},
                                      [&](std::size_t, std::size_t i) {
                                          return knockout_cells::head_ablation(heads[i].layer, heads[i].head);
                                      });
    if (reply.clicked) parts::choose_head(drawing, heads[reply.over->point]);
    ui::caption(
        ("Rank correlation over the heads, 1 where the order is the same: of the fall and what they add "
         "directly " +
         fixed(agree->direct, 2) + ", of how far it moves at all and the strongest weight " +
         fixed(agree->look, 2) + ".")
            .c_str());
    ui::landmark_item("knockout/agreement");
}

void KnockoutLens::draw_heads(const Drawing& drawing, Subject& subject) {
    const auto sheet = [&](const CellKind& kind) {
        return [&](float width) { draw_head_sheet(drawing, subject, kind, width); };
    };
    ui::columns("knockout/heads", least_head_card, present::card_gap, sheet(knockout_cells::head_ablation),
                sheet(knockout_cells::direct_effect), sheet(knockout_cells::max_weight),
                [&](float width) { draw_agreement(drawing, subject, width); });
}

void KnockoutLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    update(subject);
    while (!drawing.deadline.passed() && step(subject)) continue;
    ui::hint(now().part == KnockoutPart::heads
                 ? "Click the head whose fall is largest, then look at its edges."
             : now().part == KnockoutPart::edges
                 ? "Click a cell of the maps to cut the edges of another query."
                 : "Compare what the residual, the attention and the MLPs carry over.");
    if (ui::settings()) draw_controls(drawing, subject);
    // A preset may have requested another model.
    if (!subject.attention() || missing(subject)) return;
    update(subject);
    ImGui::Dummy({0, 6});
    if (refused().empty()) {
        if (const auto share = share_done(); share && *share < 1) {
            ui::caption(("The model runs again and again, " + percent(static_cast<double>(*share)) + " done.")
                            .c_str());
            ui::landmark_item("knockout/progress");
        }
        const float width = ImGui::GetContentRegionAvail().x;
        switch (now().part) {
            case KnockoutPart::heads: draw_heads(drawing, subject); break;
            case KnockoutPart::edges: draw_edges(drawing, subject, width); break;
            case KnockoutPart::patching: draw_patching(drawing, subject, width); break;
        }
    }
    if (step(subject))
        drawing.visit.continue_with([this, &subject, target = target_] {
            return subject.attention() && subject.attention()->trace() && target == target_ && step(subject);
        });
}

}  // namespace attn::app
