#include "frame/sheet.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/format.hpp"
#include "widgets/controls.hpp"
#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app {

namespace {

constexpr float least_swipe = 48;  // points
constexpr float label_width = 62, chip_width = 54, chip_height = 22, chip_gap = 3;

struct Chip {
    std::string name, number;
    ImU32 fill;
    bool changed = false;
};

void draw_chips(ImVec2 at, const std::string& label, const std::vector<Chip>& chips, float width) {
    const ui::Theme& t = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    {
        ui::Type small(ui::Face::regular, ui::size_small);
        ui::draw_text_within(list, {at.x, at.y + 2}, label_width - 6, t.dim, label);
    }
    const float each =
        std::min((width - label_width) / static_cast<float>(std::max<std::size_t>(chips.size(), 1)), 84.0f);
    ui::Type mono(ui::Face::mono, 12);
    float x = at.x + label_width;
    for (const Chip& chip : chips) {
        const ImVec2 min{x, at.y}, max{x + each - chip_gap, at.y + chip_height};
        list->AddRectFilled(min, max, chip.fill, 3);
        if (chip.changed) list->AddRect(min, max, t.changed, 3, 0, 2);
        const ImU32 ink = ui::ink_on(chip.fill);
        const float room = max.x - min.x - 8, number = ui::text_size(chip.number).x;
        ui::draw_text(list, {max.x - 4 - number, at.y + 4}, ink, chip.number);
        if (room - number > 14)
            ui::draw_text_within(list, {min.x + 4, at.y + 4}, room - number - 4, ink, chip.name);
        x += each;
    }
}

// Returns the strongest keys, as many as fit, in their order.
std::vector<Index> strongest_keys(const Ladder& ladder, Index query, float width) {
    std::vector<Index> keys(static_cast<std::size_t>(ladder.keys()));
    std::iota(keys.begin(), keys.end(), Index{0});
    const auto most = static_cast<std::size_t>(std::max((width - label_width) / chip_width, 1.0f));
    if (keys.size() <= most) return keys;
    std::ranges::sort(keys, [&](Index a, Index b) {
        const float left = ladder.weight(query, a), right = ladder.weight(query, b);
        return left != right ? left > right : a < b;
    });
    keys.resize(most);
    std::ranges::sort(keys);
    return keys;
}

}  // namespace

bool BottomSheet::closed_by_finger(ImVec2 min, ImVec2 max, bool on_cell) {
    if (const auto swipe = ui::swiped()) {
        const ImVec2 from = swipe->from, way{swipe->to.x - from.x, swipe->to.y - from.y};
        const bool inside = from.x >= min.x && from.x < max.x && from.y >= min.y && from.y < max.y;
        if (inside && way.y > least_swipe && way.y > 2 * std::abs(way.x)) return true;
    }
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left))
        may_leave_ = !ImGui::IsMouseHoveringRect(min, max, false) &&
                     !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
    return ImGui::IsMouseReleased(ImGuiMouseButton_Left) && may_leave_ && !ui::dragged() && !on_cell &&
           !ImGui::IsAnyItemHovered();
}

void draw_effect(const Ladder& ladder, Index query, float width) {
    query = std::clamp(query, Index{0}, ladder.queries() - 1);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    std::vector<Chip> weights, outputs;
    const std::vector<Index> keys = strongest_keys(ladder, query, width);
    for (const auto& row : ladder.rungs({query, query + 1}, {0, ladder.keys()}))
        for (const Rung& rung : row) {
            const auto changed = [&](Index c) {
                return !rung.before.empty() && rung.before.at(0, c) != rung.values.at(0, c);
            };
            if (rung.stage == Stage::weight)
                for (const Index key : keys) {
                    const double weight = rung.values.at(0, key);
                    weights.push_back({ladder.key_name(key), fixed(weight, 2),
                                       ui::sequential(static_cast<float>(weight)), changed(key)});
                }
            if (rung.stage == Stage::output)
                for (Index c = 0; c < rung.values.cols; ++c)
                    outputs.push_back({"", fixed(rung.values.at(0, c), 2), ui::theme().raised, changed(c)});
        }
    draw_chips(at, ladder.query_name(query) + " →", weights, width);
    draw_chips({at.x, at.y + chip_height + chip_gap}, "output", outputs, width);
    ImGui::Dummy({width, 2 * chip_height + chip_gap + 4});
    ui::landmark_item("sheet/effect");
}

}  // namespace attn::app
