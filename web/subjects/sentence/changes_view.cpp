// Draws the user's interventions in the run, and the controls that change a number.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "subjects/sentence/sentence.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

void SentenceSubject::draw_change_menu() {
    const std::vector<Offer> offers = change_offers();
    std::vector<const char*> names;
    for (const Offer& offer : offers) names.push_back(offer.label.c_str());
    const auto chosen = ui::menu("change", "Change…", names);
    if (chosen) visit().perform(offers[static_cast<std::size_t>(*chosen)].command);
    ui::tooltip(
        "Switch off a head, or more: the model goes on from there. To change a single number, click it.");
}

// The name of a direction's token.
std::string SentenceSubject::token_of(const RunChange& change) {
    if (!change.direction || !change.direction->is_of_token() || !open_.model) return "";
    direction_tokens_.follow(open_.model);
    return direction_tokens_.name(*this, change.direction->token);
}

// Draws a chip for each change, then their effect on the prediction.
void SentenceSubject::draw_changes() {
    const RunChanges& changes = now().changes;
    if (changes.all.empty()) return;
    const Layers& layers = run()->numbering();
    ui::Type small(ui::Face::regular, ui::size_small);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({10, 4}));
    std::optional<Command> asked;
    bool first = true;
    const OtherRuns others = other_runs();
    for (std::size_t i = 0; i < changes.all.size(); ++i) {
        const RunChange& change = changes.all[i];
        const bool of_texts = needs_texts(change);
        const bool has = sentence_.run() && fits(change, *sentence_.run()->run, others);
        const bool patch =
            change.operation == Operation::patch ||
            (change.direction && change.direction->kind == SteeringDirection::Kind::second_text);
        const std::string said = told(change, layers, token_of(change)),
                          text = (change.on ? "" : "off: ") + said;
        const std::string name = "changed/" + std::to_string(i);
        if (!std::exchange(first, false)) ui::next_control(ui::text_size(text).x + 60);
        ImGui::BeginGroup();
        if (ui::toggle(name.c_str(), text.c_str(), change.on && has)) asked = SwitchChange{i};
        ui::tooltip(
            !has && patch
                ? "It is taken from a second sentence: type one in the lens Compare. Scores and weights "
                  "need one of as many tokens."
            : !has && of_texts && corpus() ? "The texts that the mean is taken of are being run."
            : !has && needs_contrast(change)
                ? "It needs positive and negative texts: type some in the lens Steer."
            : !has      ? "This text has no such number, so nothing is changed here."
            : change.on ? "Click to switch this change off"
                        : "Click to switch this change on");
        ImGui::SameLine(0, 2);
        if (ui::button((name + "/drop").c_str(), "×")) asked = DropChange{i};
        ui::rename_node("Take back: " + said);
        ImGui::EndGroup();
    }
    if (std::ranges::any_of(changes.all, needs_texts)) draw_corpus();
    if (changes.any_on()) {
        static constexpr std::array<const char*, 2> shown{"changed", "before"};
        ui::next_control(ui::need::choices);
        ImGui::BeginGroup();
        if (const auto which = ui::choice("changed/shown", shown, changes.before ? 1 : 0))
            asked = ShowBefore{*which == 1};
        ui::tooltip("The key B goes to and fro.");
        if (!now().compared) {
            ImGui::SameLine(0, 6);
            if (ui::button("changed/compare", "Compare both"))
                asked = Compare{Comparison{.text = "", .before = true}};
        }
        ImGui::EndGroup();
    }
    ImGui::PopStyleVar();
    if (const std::string said = change_said(); !said.empty()) {
        const double times = changed_.effect().after / changed_.effect().before;
        ui::caption(
            (said + (std::isfinite(times) && times > 0 ? " (× " + fixed(times, 2) + ")." : ".")).c_str());
        ui::landmark_item("changed/measured");
    } else if (changed_.job.running()) {
        ui::caption("The model goes on from what you changed.");
    }
    const bool typing = ImGui::GetIO().WantTextInput;
    if (!typing && changes.any_on() && ImGui::Shortcut(ImGuiKey_B, ImGuiInputFlags_RouteGlobal))
        asked = ShowBefore{!changes.before};
    if (asked) visit().perform(*asked);
}

void SentenceSubject::draw_change(const CellPlace& place, const Explained& why) {
    if (why.masked || !run() || !awaited_.empty() || changed_.job.running()) return;
    std::optional<RunChange> change;
    if (why.part)
        change = RunChange{.at = *why.part};
    else
        change = change_at(*run()->run, place);
    if (!change || !fits(*change, *run()->run)) return;
    const std::vector<RunChange>& all = now().changes.all;
    const auto same = std::ranges::find_if(all, [&](const RunChange& each) { return each.at == change->at; });
    ImGui::Dummy({0, 6});
    {
        ui::Type semibold(ui::Face::semibold, ui::size_body);
        ui::text_item(why.part ? "Change what it is about" : "Change this number");
    }
    if (why.part) {
        std::string name = told(*change, run()->numbering());
        name.erase(name.rfind(':'));
        ui::caption((capitalised(name) + ".").c_str());
    }
    // A number already scaled or set is multiplied again as it is.
    const bool again = same != all.end() && same->on &&
                       (same->operation == Operation::scale || same->operation == Operation::set);
    std::optional<Command> asked;
    const auto to = [&](Operation operation, double value) {
        change->operation = operation;
        change->value = value;
        asked = ChangeRun{*change};
    };
    const bool hides = change->at.site == Site::mask;
    const auto number = [&](const char* name, const char* label, const char* meaning, double shown,
                            Operation operation) {
        ui::label(label);
        if (const auto typed = ui::number_field(name, meaning, shown, "%.6g", ui::long_number_width))
            to(operation, *typed);
    };
    if (!hides) {
        number("change/value", "to", why.part ? "Change all of its numbers to" : "Change this number to",
               why.part ? 0 : why.f32, Operation::set);
        number("change/add", "by", why.part ? "Change all of its numbers by" : "Change this number by", 0,
               Operation::add);
    }
    ui::next_control(ui::need::stepper);
    if (ui::button("change/zero", hides ? "Hide the key" : "0")) to(Operation::zero, 0);
    if (!hides) ui::rename_node("Set to 0");
    if (!hides) {
        const char* mean = is_of_cells(change->at.site) ? "Mean of the row" : "Mean of the tokens";
        ui::next_button(mean);
        if (ui::button("change/mean", mean)) to(Operation::mean, 0);
    }
    if (!hides && !is_of_cells(change->at.site) && !writes_another()) {
        ui::next_button("Mean of many texts");
        if (ui::button("change/mean_of_texts", "Mean of many texts")) to(Operation::mean_of_texts, 0);
    }
    for (const double factor : {0.5, 2.0, -1.0}) {
        if (hides) break;
        const std::string label = "× " + shortest(factor);
        ui::next_button(label);
        if (ui::button(("change/times/" + shortest(factor)).c_str(), label.c_str()))
            again ? to(same->operation, factor * same->value) : to(Operation::scale, factor);
    }
    change->operation = Operation::patch;
    if (fits(*change, *run()->run, {.beside = run_beside()})) {
        ui::next_button("As in the other text");
        if (ui::button("change/patch", "As in the other text")) to(Operation::patch, 0);
    }
    if (same != all.end()) {
        ui::next_button("Take it back");
        if (ui::button("change/drop", "Take it back"))
            asked = DropChange{static_cast<std::size_t>(same - all.begin())};
    }
    ui::caption(place.cell.is(Stage::weight)
                    ? "The model goes on from it. The other weights of the row stay as they are."
                    : "The model goes on from it, and what it says next changes.");
    if (asked) visit().perform(*asked);
}

}  // namespace attn::app
