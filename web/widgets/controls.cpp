#include "widgets/controls.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/page_field.hpp"
#include "widgets/semantics.hpp"
#include "widgets/wording.hpp"

namespace attn::ui {

namespace {
std::uint64_t gesture_number = 1;
constexpr float label_width = 86, radio_gap = 2;
bool labels_are_tight = false;
Row* row_now = nullptr;
std::string last_label;  // names the choice that follows

// Rounds to the number that the slider shows, so that the value set is the value displayed. A format without
// a number leaves it unrounded.
double as_written(double value, const char* format) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    char* end = nullptr;
    const double written = std::strtod(text, &end);
    return end == text ? value : written;
}

float control_gap() { return narrow_window() ? 12 : 22; }

bool sized_button(const char* name, const char* label, float width, bool enabled) {
    ImGui::BeginDisabled(!enabled);
    ImGui::PushID(name);
    const bool pressed = ImGui::Button((as_drawn(label) + "###button").c_str(), {width, 0});
    ImGui::PopID();
    landmark_item(name);
    semantic_item(Role::button, name, label);
    ImGui::EndDisabled();
    return pressed;
}
}  // namespace

std::uint64_t gesture() { return gesture_number; }
void next_gesture() { ++gesture_number; }

void lay_out_unseen() {
    ImGuiWindow* window = ImGui::GetCurrentWindow();
    if (window->HiddenFramesCanSkipItems > 0) window->SkipItems = false;
}

namespace {

// Continues the line if a control of this width fits on it.
void continue_line(float width, float gap = control_gap()) {
    const float right = ImGui::GetItemRectMax().x + gap + width;
    if (right <= ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x) ImGui::SameLine(0, gap);
}

}  // namespace

bool next_control(float width) {
    if (row_now) return row_now->next(width);
    continue_line(width);
    return true;
}

bool next_button(const std::string& label) {
    return next_control(text_size(label).x + 2 * ImGui::GetStyle().FramePadding.x);
}

// ---- Rows -------------------------------------------------------------------------------------------------

namespace {

constexpr const char *open_row = "More ▾", *close_row = "Fewer ▴";
constexpr ImVec2 row_padding{10, 5};
constexpr float try_rounding = 13;

// Remembers whether the controls of a row need more than a line. It stays so until other controls or another
// width ask again, because a control may be wider than it said.
struct Needed {
    float widths = 0, room = 0;
    bool more = false;
};
Needed& needed_by(const std::string& row) {
    static std::map<std::string, Needed> rows;
    return rows[row];
}

float room_for_more() {
    return std::max(text_size(open_row).x, text_size(close_row).x) + 2 * row_padding.x + control_gap();
}

}  // namespace

Row::Row(std::string key, const char* label)
    : key_(std::move(key)),
      label_(label),
      left_(ImGui::GetCursorScreenPos().x),
      right_(left_ + ImGui::GetContentRegionAvail().x),
      window_(ImGui::GetCurrentWindow()->ID) {
    if (narrow_window()) return;
    tight_.emplace();
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, compact(row_padding));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, head_gap});
    if (label) ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, try_rounding);
    start_ = ImGui::GetCursorScreenPos();
    is_open_ = folded().rows.contains(key_);
    row_now = this;
}

Row::~Row() {
    // A thing to try changes the lens, whose headline is to stay in view, not the button.
    if (label_ && !was_pressed_) forget_press();
    if (narrow_window()) return;
    row_now = nullptr;
    ImGui::PopStyleVar(label_ ? 3 : 2);
    if (!is_full_) used_ = ImGui::GetItemRectMax().x;
    // The last control that was announced may have had nothing to draw.
    if (ImGui::GetCursorScreenPos().x > left_ + 1) ImGui::NewLine();
    Needed& needed = needed_by(key_);
    const float room = right_ - left_;
    const bool same = needed.widths == widths_ && needed.room == room;
    needed = {widths_, room, (same && needed.more) || used_ > right_};
}

bool Row::next(float width) {
    if (ImGui::GetCurrentWindow()->ID != window_) return true;
    if (label_ && !std::exchange(is_labelled_, true)) {
        ui::label(label_);
        last_label.clear();
        start_ = ImGui::GetCursorScreenPos();
    }
    const ImVec2 at = ImGui::GetCursorScreenPos();
    widths_ += width;
    return (at.x == start_.x && at.y == start_.y) || next_radio(width, control_gap());
}

bool Row::next_radio(float width, float gap) {
    if (!is_full_) {
        used_ = ImGui::GetItemRectMax().x;
        const float room = needed_by(key_).more ? room_for_more() : 0;
        if (used_ + gap + width <= right_ - room) {
            ImGui::SameLine(0, gap);
            return true;
        }
        is_full_ = true;
        draw_more();
    }
    used_ += gap + width;
    if (!is_open_) return false;
    if (std::exchange(is_behind_, true)) continue_line(width, gap);
    return true;
}

void Row::draw_more() {
    const float width = room_for_more() - control_gap();
    ImGui::SameLine();
    ImGui::SetCursorScreenPos({right_ - width, ImGui::GetCursorScreenPos().y});
    ImGui::PushStyleColor(ImGuiCol_Button, 0u);
    ImGui::PushStyleColor(ImGuiCol_Text, theme().accent);
    if (sized_button(("more/" + key_).c_str(), is_open_ ? close_row : open_row, width, true)) {
        if (!folded().rows.erase(key_)) folded().rows.insert(key_);
    }
    ImGui::PopStyleColor(2);
    rename_node(label_ ? "More to try" : "More settings");
    node_opens(is_open_);
}

void label(const char* text) {
    last_label = text;
    ImGui::AlignTextToFramePadding();
    ImGui::PushStyleColor(ImGuiCol_Text, theme().dim);
    text_item(text);
    ImGui::PopStyleColor();
    labels_are_tight ? ImGui::SameLine(0, 8) : ImGui::SameLine(label_width);
}

TightLabels::TightLabels() : before_(std::exchange(labels_are_tight, true)) {}
TightLabels::~TightLabels() { labels_are_tight = before_; }

bool button(const char* name, const char* label, bool enabled) {
    return sized_button(name, label, 0, enabled);
}

bool button(const char* name, const char* label, std::initializer_list<const char*> labels,
            const Status& possible) {
    float widest = text_size(label).x;
    for (const char* each : labels) widest = std::max(widest, text_size(each).x);
    const bool pressed =
        sized_button(name, label, widest + 2 * ImGui::GetStyle().FramePadding.x, static_cast<bool>(possible));
    if (!possible) tooltip(possible.error().message.c_str());
    return pressed;
}

bool button(const char* name, const char* label, const Status& possible) {
    const bool pressed = button(name, label, static_cast<bool>(possible));
    if (!possible) tooltip(possible.error().message.c_str());
    return pressed;
}

bool toggle(const char* name, const char* label, bool on) {
    if (on) {
        ImGui::PushStyleColor(ImGuiCol_Button, theme().accent_soft);
        ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme().accent_soft);
    }
    const bool pressed = button(name, label);
    if (on) ImGui::PopStyleColor(2);
    return pressed;
}

std::optional<int> choice(const char* name, std::span<const char* const> labels, int taken) {
    std::optional<int> chosen;
    std::string called = std::exchange(last_label, {});
    if (called.empty())
        for (const char* each : labels) called += (called.empty() ? "" : ", ") + std::string(each);
    const SemanticGroup group(Role::radiogroup, name, std::move(called));
    ImGui::PushID(name);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {radio_gap, 4});
    for (int i = 0; i < static_cast<int>(labels.size()); ++i) {
        const char* label = labels[static_cast<std::size_t>(i)];
        if (i > 0) {
            const float width = text_size(label).x + 2 * ImGui::GetStyle().FramePadding.x;
            if (row_now) {
                if (!row_now->next_radio(width, radio_gap)) continue;
            } else {
                continue_line(width, radio_gap);
            }
        }
        const bool on = i == taken;
        if (on) {
            ImGui::PushStyleColor(ImGuiCol_Button, theme().accent_soft);
            ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme().accent_soft);
        }
        if (ImGui::Button(as_drawn(label).c_str()) && !on) chosen = i;
        if (on) ImGui::PopStyleColor(2);
        const std::string item = std::string(name) + "/" + label;
        landmark_item(item);
        semantic_item(Role::radio, item, label).on = on;
    }
    ImGui::PopStyleVar();
    ImGui::PopID();
    return chosen;
}

std::optional<int> labelled_choice(const char* label, const char* name, std::span<const char* const> labels,
                                   int taken) {
    ImGui::BeginGroup();
    ui::label(label);
    const auto chosen = choice(name, labels, taken);
    ImGui::EndGroup();
    return chosen;
}

namespace {

// Gives the options of a list the height that fingers need.
class OptionRoom {
  public:
    OptionRoom() {
        const ImVec2 spacing = ImGui::GetStyle().ItemSpacing;
        const float room = by_touch() ? finger_size - ImGui::GetTextLineHeight() : spacing.y;
        ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {spacing.x, std::max(spacing.y, room)});
    }
    OptionRoom(const OptionRoom&) = delete;
    OptionRoom& operator=(const OptionRoom&) = delete;
    ~OptionRoom() { ImGui::PopStyleVar(); }
};

}  // namespace

std::optional<int> menu(const char* name, const char* label, std::span<const char* const> items,
                        const char* called) {
    std::optional<int> chosen;
    ImGui::PushID(name);
    if (button(name, label)) {
        ImGui::OpenPopup("menu");
        // Keeps the list under its button, wherever the mouse is.
        ImGui::GetCurrentContext()->OpenPopupStack.back().OpenPopupPos = {ImGui::GetItemRectMin().x,
                                                                          ImGui::GetItemRectMax().y + 4};
    }
    if (called) rename_node(called);
    node_opens(ImGui::IsPopupOpen("menu"));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, popup_padding);
    if (ImGui::BeginPopup("menu")) {
        {
            const OptionRoom room;
            const SemanticGroup group(Role::menu, std::string(name) + "/menu", label);
            for (int i = 0; i < static_cast<int>(items.size()); ++i) {
                const char* shown = items[static_cast<std::size_t>(i)];
                const std::string item = std::string(name) + "/" + shown;
                if (ImGui::Selectable(as_drawn(shown).c_str())) chosen = i;
                landmark_item(item);
                semantic_item(Role::menuitem, item, shown);
            }
        }
        ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
    ImGui::PopID();
    return chosen;
}

bool begin_list(const char* name, const char* label, const char* shown) {
    const ImVec2 min = ImGui::GetCursorScreenPos(),
                 max{min.x + ImGui::CalcItemWidth(), min.y + ImGui::GetFrameHeight()};
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, popup_padding);
    const bool open = ImGui::BeginCombo((std::string("##") + name).c_str(), as_drawn(shown).c_str(),
                                        ImGuiComboFlags_HeightLargest);
    ImGui::PopStyleVar();
    landmark(name, min, max);
    // While the list is open, the last item belongs to it.
    (open ? semantic_place(Role::button, name, label, min, max) : semantic_item(Role::button, name, label))
        .value = shown;
    node_opens(open);
    if (open) begin_semantic_group(Role::listbox, std::string(name) + "/list", label);
    return open;
}

bool list_option(const char* name, const char* label, bool on, bool enabled) {
    const OptionRoom room;
    const bool chosen =
        ImGui::Selectable(as_drawn(label).c_str(), on, enabled ? 0 : ImGuiSelectableFlags_Disabled);
    landmark_item(name);
    Node& node = semantic_item(Role::option, name, label);
    node.on = on;
    node.disabled = !enabled;
    return chosen;
}

void end_list() {
    end_semantic_group();
    ImGui::EndCombo();
}

void labelled_list(const char* label, const std::string& name, const std::string& shown, float width,
                   const std::function<void(const ListOptions&)>& draw) {
    control(width + 100, [&] {
        ui::label(label);
        ImGui::SetNextItemWidth(width);
        if (!begin_list(name.c_str(), label, shown.c_str())) return;
        draw(ListOptions(name));
        end_list();
    });
}

std::optional<Index> stepper(const char* name, const char* label, Index value, Index least, Index most) {
    return stepper(name, label, std::to_string(value),
                   {value - 1, value > least ? "" : std::to_string(least) + " is the minimum."},
                   {value + 1, value < most ? "" : std::to_string(most) + " is the maximum."},
                   {static_cast<double>(value), static_cast<double>(least), static_cast<double>(most)});
}

std::optional<Index> stepper(const char* name, const char* label, const std::string& shown, const Lead& less,
                             const Lead& more, const SliderRange& range) {
    std::optional<Index> changed;
    const auto end = [&](const char* sign, const char* side, const Lead& lead) {
        ImGui::BeginDisabled(!lead.refused.empty());
        if (ImGui::Button(sign)) changed = lead.value;
        ImGui::EndDisabled();
        landmark_item(std::string(name) + side);
        if (!lead.refused.empty()) tooltip(lead.refused.c_str());
    };
    ImGui::PushID(name);
    ui::label(label);
    last_label.clear();  // names this control alone
    const ImVec2 min = ImGui::GetCursorScreenPos();
    Node& node =
        semantic_place(Role::spinbutton, name, label, min, {min.x + 80, min.y + ImGui::GetFrameHeight()});
    node.value = shown;
    node.range = range;
    if (const double steps = asked_steps(name); steps != 0) {
        const Lead& lead = steps > 0 ? more : less;
        if (lead.refused.empty())
            changed = std::isinf(steps) && range.least < range.most
                          ? static_cast<Index>(steps > 0 ? range.most : range.least)
                          : lead.value;
    }
    end("−", "/less", less);
    ImGui::SameLine(0, 6);
    {
        Type mono(Face::mono, size_body);
        const float width = std::max(narrow_window() ? 24.0f : 30.0f, text_size(shown).x);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        draw_text(ImGui::GetWindowDrawList(),
                  {at.x + (width - text_size(shown).x) / 2, at.y + ImGui::GetStyle().FramePadding.y},
                  theme().text, shown);
        ImGui::Dummy({width, ImGui::GetFrameHeight()});
    }
    ImGui::SameLine(0, 6);
    end("+", "/more", more);
    node.max = ImGui::GetItemRectMax();
    ImGui::PopID();
    return changed;
}

std::optional<double> slider(const char* name, const char* label, double value, double least, double most,
                             const char* format, bool logarithmic) {
    std::optional<double> changed;
    ImGui::PushID(name);
    ui::label(label);
    last_label.clear();  // names this control alone
    // The number is next to the slider, where the knob does not cover it.
    constexpr float value_width = 42;
    ImGui::SetNextItemWidth(std::min(ImGui::GetContentRegionAvail().x - value_width, 150.0f));
    double moved = value;
    const ImGuiSliderFlags flags =
        ImGuiSliderFlags_AlwaysClamp | (logarithmic ? ImGuiSliderFlags_Logarithmic : 0);
    if (ImGui::SliderScalar("##value", ImGuiDataType_Double, &moved, &least, &most, "", flags) &&
        moved != value)
        changed = as_written(moved, format);
    landmark_item(name);
    char written[32];
    std::snprintf(written, sizeof written, format, value);
    // Arrow keys go from one whole number to the next, whatever the range.
    const bool whole = std::string_view(format).starts_with("%.0f");
    const double steps = whole && !logarithmic ? asked_steps(name) : 0;
    auto asked = semantic_slider(name, label, written, {value, least, most}, logarithmic);
    if (steps != 0) asked = std::clamp(value + steps, least, most);
    if (asked && whole && std::abs(*asked - value) < 1 && *asked != value)
        asked = std::clamp(value + std::copysign(1.0, *asked - value), least, most);
    if (asked && *asked != value) changed = asked;
    ImGui::SameLine(0, 8);
    {
        Type mono(Face::mono, size_small);
        ImGui::AlignTextToFramePadding();
        text_item(written);
    }
    ImGui::PopID();
    return changed;
}

void section(const char* text, bool with_controls) {
    Type semibold(Face::semibold, size_title);
    if (with_controls) ImGui::AlignTextToFramePadding();
    text_item(text);
    semantic_text(Role::heading, text);
    last_label = text;
}

}  // namespace attn::ui
