// What the pictures of all heads share, and the line of controls above them.
#include "lenses/heads_view.hpp"

#include <array>
#include <cmath>

#include "app/format.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

using app::HeadsChoice;
using app::HeadScore;

// The first of these that the heads have, but for one.
HeadScore first_measured(const HeadsView& view, std::initializer_list<HeadScore> scores,
                         std::optional<HeadScore> but = std::nullopt) {
    for (const HeadScore score : scores)
        if (view.heads.measures(score) && score != but) return score;
    return HeadScore::entropy;
}

void survey_controls(HeadsView& view) {
    using enum HeadScore;
    ui::section("Heads", true);
    ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    const auto [by, against] = view.choice;
    static constexpr std::array<const char*, 3> names{"by layer", "by score", "scatter"};
    if (const auto chosen = ui::choice("heads/view", names, against ? 2 : by ? 1 : 0)) {
        HeadsChoice choice;
        if (*chosen == 1) choice.by = by.value_or(first_measured(view, {induction, entropy}));
        if (*chosen == 2) {
            choice.by = by.value_or(first_measured(view, {previous_token, entropy}));
            choice.against =
                first_measured(view, {induction, previous_token, first_token, entropy}, choice.by);
        }
        view.choose_view(view.session, choice);
    }
    if (by && !against) {
        ui::next_control(score_menu_width);
        if (const auto chosen = score_menu(view, "heads/by", *by))
            view.choose_view(view.session, {*chosen, std::nullopt});
    }
    ImGui::PopStyleVar();
    for (const auto& score : {by, against})
        if (score && !view.heads.measures(*score)) ui::caption(view.refused(*score).c_str());
}

}  // namespace

void HeadsView::choose(HeadIndex head) {
    app::Selection selection = session.state().selection;
    selection.layer = head.layer;
    selection.head = head.head;
    session.perform(app::Select{selection}, ui::gesture());
}

void HeadsView::point(HeadIndex head) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (head == chosen()) return;
    hover.layer = head.layer;
    hover.head = head.head;
}

std::string HeadsView::short_name(HeadIndex head) const {
    return (heads.layers() > 1 ? std::to_string(head.layer) + "." : "") + std::to_string(head.head);
}

std::string HeadsView::long_name(HeadIndex head) const {
    return (heads.layers() > 1 ? "layer " + std::to_string(head.layer) + " · " : "") + "head " +
           std::to_string(head.head);
}

std::string HeadsView::written(HeadIndex head, HeadScore score) const {
    const auto value = number(head, score);
    if (!value) return heads.scores(head) ? "–" : "…";
    const bool long_way = score == HeadScore::distance && *value >= 10;
    return app::fixed(*value, !long_way ? 2 : *value < 100 ? 1 : 0);
}

std::string HeadsView::refused(HeadScore score) const {
    if (heads.measures(score)) return "";
    const std::string name = std::string("“") + info(score).name + "” ";
    return heads.measures(HeadScore::distance)
               ? name +
                     "compares tokens, and there are none here: drop their list, tokens.json or tokens.txt."
               : name + "is of one text looking at itself; here queries and keys are not as many.";
}

std::optional<HeadScore> score_menu(const HeadsView& view, const char* name, HeadScore taken) {
    std::optional<HeadScore> chosen;
    ImGui::PushID(name);
    ImGui::SetNextItemWidth(score_menu_width);
    const bool open = ImGui::BeginCombo("##score", info(taken).name, ImGuiComboFlags_HeightLargest);
    ui::landmark_item(name);
    if (open) {
        for (std::size_t i = 0; i < app::head_scores.size(); ++i) {
            const auto score = static_cast<HeadScore>(i);
            const std::string refused = view.refused(score);
            if (ImGui::Selectable(info(score).name, score == taken,
                                  refused.empty() ? 0 : ImGuiSelectableFlags_Disabled) &&
                score != taken)
                chosen = score;
            ui::landmark_item(std::string(name) + "/" + std::string(info(score).key));
            ui::tooltip(refused.empty() ? info(score).meaning : refused.c_str());
        }
        ImGui::EndCombo();
    } else {
        ui::tooltip(info(taken).meaning);
    }
    ImGui::PopID();
    return chosen;
}

bool arrow_pressed(ImGuiKey key) {
    return (ImGui::IsItemFocused() || ImGui::IsItemHovered()) &&
           ImGui::Shortcut(
               key, ImGuiInputFlags_Repeat | ImGuiInputFlags_RouteGlobal | ImGuiInputFlags_RouteOverFocused);
}

void head_survey(HeadsView& view, float width, float most_height) {
    survey_controls(view);
    const auto [by, against] = view.choice;
    by&& against ? head_scatter(view, *by, *against, width, most_height)
                 : head_grid(view, by, width, most_height);
}

}  // namespace attn::lenses
