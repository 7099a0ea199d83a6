// All heads of all layers: their maps in layers or in the order of a score, or each a point over two scores.
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/heads_view.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

using app::HeadsChoice;
using app::HeadScore;

void title(SentenceView& view) {
    ui::section("Heads", true);
    ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    const auto [by, against] = view.session.state().sentence.heads;
    static constexpr std::array<const char*, 3> names{"by layer", "by score", "scatter"};
    if (const auto chosen = ui::choice("heads/view", names, against ? 2 : by ? 1 : 0)) {
        HeadsChoice choice;
        if (*chosen == 1) choice.by = by.value_or(HeadScore::induction);
        if (*chosen == 2) {
            choice.by = by.value_or(HeadScore::previous_token);
            choice.against =
                choice.by == HeadScore::induction ? HeadScore::previous_token : HeadScore::induction;
        }
        view.session.perform(app::SetHeads{choice});
    }
    if (by && !against) {
        ui::next_control(score_menu_width);
        if (const auto chosen = score_menu("heads/by", *by))
            view.session.perform(app::SetHeads{{*chosen, std::nullopt}});
    }
    ImGui::PopStyleVar();
}

}  // namespace

void HeadsView::point(HeadIndex head) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (head == chosen()) return;
    sentence.hover.layer = head.layer;
    sentence.hover.head = head.head;
}

std::string short_name(HeadIndex head) {
    return std::to_string(head.layer) + "." + std::to_string(head.head);
}

std::string long_name(HeadIndex head) {
    return "layer " + std::to_string(head.layer) + " · head " + std::to_string(head.head);
}

std::string written(HeadScore score, std::optional<double> number) {
    if (!number) return "…";
    const bool long_way = score == HeadScore::distance && *number >= 10;
    return app::fixed(*number, !long_way ? 2 : *number < 100 ? 1 : 0);
}

std::optional<HeadScore> score_menu(const char* name, HeadScore taken) {
    std::optional<HeadScore> chosen;
    ImGui::PushID(name);
    ImGui::SetNextItemWidth(score_menu_width);
    const bool open = ImGui::BeginCombo("##score", info(taken).name, ImGuiComboFlags_HeightLargest);
    ui::landmark_item(name);
    if (open) {
        for (std::size_t i = 0; i < app::head_scores.size(); ++i) {
            const auto score = static_cast<HeadScore>(i);
            if (ImGui::Selectable(info(score).name, score == taken) && score != taken) chosen = score;
            ui::landmark_item(std::string(name) + "/" + std::string(info(score).key));
            ui::tooltip(info(score).meaning);
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

void sentence_heads(SentenceView& view, const app::HeadOverview& heads, float width, float most_height) {
    title(view);
    HeadsView all{view, heads};
    const auto [by, against] = view.session.state().sentence.heads;
    by&& against ? head_scatter(all, *by, *against, width, most_height)
                 : head_grid(all, by, width, most_height);
}

}  // namespace attn::lenses
