// Draws the rail: the lenses in their groups, and the lessons.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "frame/frame.hpp"
#include "frame/panel.hpp"
#include "widgets/controls.hpp"
#include "widgets/page_field.hpp"

namespace attn::app {

namespace {

constexpr std::array<const char*, 5> group_names{"SEE", "UNDERSTAND", "QUESTION", "CHECK", "LEARN"},
    group_keys{"see", "understand", "question", "check", "learn"};

constexpr float rail_inset = 10, usual_row = 30, least_row = 21, row_gap = 2, around_group = 28;

float rail_height() { return ImGui::GetWindowHeight() - 2 * rail_inset; }
// Returns how many rows of this height the rail has beside the names of its groups.
int rows_of(float height, float rail, int groups) {
    return static_cast<int>((rail - around_group * static_cast<float>(groups)) / (height + row_gap));
}
float least_height() { return std::max(least_row, std::floor(1.4f * ImGui::GetFontSize())); }

// Ends a title at its colon or comma if it has no room as a whole, and cuts it if that does not help.
std::string short_title(const std::string& title, float width) {
    if (ui::text_size(title).x <= width) return title;
    const std::size_t end = title.find_first_of(":,");
    return ui::shortened(end == std::string::npos ? title : title.substr(0, end), width);
}

}  // namespace

// Says which subjects have what a lens needs; empty if none has it now.
std::string Frame::where_it_suits(const LensEntry& lens) const {
    std::vector<std::string> names;
    for (const SubjectEntry& entry : subject_list())
        if (lens_in(visit_, lens.key).suits(subject_in(visit_, entry.key))) names.emplace_back(entry.name);
    if (names.empty()) return "";
    std::string text = "There is nothing for this lens here; there is in " + names.front();
    for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " and ") + names[i];
    return text + ".";
}

bool Frame::draw_lens_button(const LensEntry& lens, float width, float height) {
    const bool on = visit_.state().lens == lens.key;
    Subject& subject = subject_in(visit_);
    const GuardedLens there = lens_in(visit_, lens.key);
    // While the subject shows nothing, a lens cannot say what it lacks.
    auto missing = subject.attention() ? there.missing(subject) : std::nullopt;
    if (missing && (missing->comes || (missing->offer && missing->offer->at_once))) missing.reset();
    const bool faint = missing || !there.suits(subject);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const bool pressed = flat_tab("lens/" + std::string(lens.key), lens.name, on, faint, {width, height}, 0);
    // A tooltip would cover other lenses or the heading of the open one.
    const std::string why = missing ? missing->sentence : faint ? where_it_suits(lens) : "";
    ui::describe((lens.meaning + (why.empty() ? "" : "\n\n" + why)).c_str());
    if (ImGui::IsItemHovered())
        hovered_lens_ = std::string(lens.name) + ": " + (why.empty() ? lens.meaning : why);
    if (on)
        ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + height / 2 - 8},
                                                  {at.x + 3, at.y + height / 2 + 8}, ui::theme().accent, 2);
    if (pressed && !on) open_lens(visit_, lens.key);
    return pressed;
}

// The open lens's group always shows its lenses.
bool Frame::shows_group(LensGroup group) const {
    return lens_of(visit_.state()).group == group || (folded_.groups & group_bit(group)) == 0;
}

// Draws the name of a group, which folds when pressed. Returns whether its lenses are shown.
bool Frame::draw_group(LensGroup group, bool folds) {
    constexpr float height = 20, indent = 14, arrow = 3.5f;
    const bool holds_open = lens_of(visit_.state()).group == group;
    const char* name = group_names[static_cast<std::size_t>(group)];
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    ImU32 ink = ui::theme().dim;
    bool shown = true;
    if (folds) {
        const std::string landmark = std::string("group/") + group_keys[static_cast<std::size_t>(group)];
        if (ImGui::InvisibleButton(landmark.c_str(), {width, height}, ImGuiButtonFlags_EnableNav) &&
            !holds_open) {
            folded_.groups ^= group_bit(group);
            visit_.page().remember("groups", std::to_string(folded_.groups));
        }
        shown = shows_group(group);
        if (ImGui::IsItemHovered() && !holds_open) ink = ui::theme().text;
        ui::landmark_item(landmark);
        ui::semantic_item(ui::Role::button, landmark, name);
        ui::node_opens(shown);
        const ImVec2 tip{at.x + width - 12, at.y + height / 2};
        ImDrawList* list = ImGui::GetWindowDrawList();
        if (shown)
            list->AddTriangleFilled({tip.x - arrow, tip.y - arrow / 2}, {tip.x + arrow, tip.y - arrow / 2},
                                    {tip.x, tip.y + arrow}, ink);
        else
            list->AddTriangleFilled({tip.x - arrow / 2, tip.y - arrow}, {tip.x - arrow / 2, tip.y + arrow},
                                    {tip.x + arrow, tip.y}, ink);
    } else {
        ImGui::Dummy({width, height});
    }
    const ui::Type small(ui::Face::semibold, 12);
    ui::draw_text(ImGui::GetWindowDrawList(), {at.x + indent, at.y + (height - ImGui::GetFontSize()) / 2},
                  ink, name);
    return shown;
}

// Counts the lenses that the rail shows, and its groups.
Frame::RailRows Frame::rail_rows() const {
    int lenses = 0, groups = 0;
    std::optional<LensGroup> group;
    for (const LensEntry& lens : lens_list()) {
        groups += group != lens.group;
        group = lens.group;
        lenses += shows_group(lens.group);
    }
    return {lenses, groups + (lessons_.library().lessons().empty() ? 0 : 1)};
}

// Returns how many rows the rail has for lessons beside all lenses; the last row leads to all of them.
std::size_t Frame::lesson_rows() const {
    const auto [lenses, groups] = rail_rows();
    return static_cast<std::size_t>(std::clamp(rows_of(least_height(), rail_height(), groups) - lenses, 0,
                                               static_cast<int>(most_lesson_rows)));
}

// Returns how high a lens is, such that all of them fit into a rail if that is legible.
float Frame::lens_height(bool in_rail) const {
    if (ui::by_touch()) return std::max(usual_row, ImGui::GetFrameHeight());
    if (!in_rail) return usual_row;
    const auto [lenses, groups] = rail_rows();
    const bool teaches = shows_group(LensGroup::learn) && !lessons_.library().lessons().empty();
    const float rows = static_cast<float>(lenses) + (teaches ? static_cast<float>(lesson_rows()) : 0);
    const float room = rail_height() - around_group * static_cast<float>(groups);
    return std::clamp(std::floor(room / rows) - row_gap, least_height(), usual_row);
}

// Draws all lenses in their groups. Returns whether one was pressed, if only the open one.
bool Frame::draw_rail(int columns) {
    constexpr float gap = 8;
    const float width = (ImGui::GetContentRegionAvail().x - gap * static_cast<float>(columns - 1)) /
                        static_cast<float>(columns);
    const float height = lens_height(columns == 1);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap, 2});
    std::optional<LensGroup> group;
    bool pressed = false;
    int placed = 0;  // lenses of the group drawn so far
    bool shown = true;
    std::optional<ui::SemanticGroup> tabs;
    for (const LensEntry& lens : lens_list()) {
        if (group != lens.group) {
            if (group) ImGui::Dummy({0, 4});
            group = lens.group;
            tabs.reset();
            shown = draw_group(lens.group, columns == 1);
            const auto place = static_cast<std::size_t>(lens.group);
            if (shown)
                tabs.emplace(ui::Role::tablist, std::string("lenses/") + group_keys[place],
                             group_names[place]);
            placed = 0;
        }
        if (!shown) continue;
        if (placed++ % columns) ImGui::SameLine();
        pressed = draw_lens_button(lens, width, height) || pressed;
    }
    tabs.reset();
    draw_lesson_links(columns);
    ImGui::PopStyleVar();
    return pressed;
}

// Draws the group Learn: the next lessons, the open one among them, and the way to all.
void Frame::draw_lesson_links(int columns) {
    const auto& all = lessons_.library().lessons();
    if (all.empty()) return;
    ImGui::Dummy({0, 4});
    const bool in_rail = columns == 1;
    const std::size_t rows = in_rail ? lesson_rows() : 1;
    const std::string label = "All " + std::to_string(all.size()) + " …";
    if (rows == 0) {
        // Without room for a row, the name of the group leads to the list.
        const ui::SemanticGroup group(ui::Role::tablist, "lenses/learn", "Learn");
        const std::string name = "LEARN · " + std::to_string(all.size()) + " lessons";
        if (flat_tab("group/learn", name.c_str(), lessons_.lists(), true,
                     {ImGui::GetContentRegionAvail().x, 20}, 0))
            lessons_.show_list(!lessons_.lists());
        return;
    }
    if (!draw_group(LensGroup::learn, in_rail)) return;
    const ui::SemanticGroup group(ui::Role::tablist, "lenses/learn", "Learn");
    const float height = lens_height(in_rail), width = ImGui::GetContentRegionAvail().x;
    const std::string open = lesson_of(visit_.state()).name;  // a copy, because a press opens another
    const std::size_t most = rows - 1;
    // The open lesson takes the place of the last one.
    std::vector<const learn::LessonEntry*> shown;
    const auto& kept = lessons_.run().kept();
    // Lessons that are done make room for others on the next visit, not under the pointer.
    for (const learn::LessonEntry& each : all) {
        const auto found = kept.find(each.name);
        if (shown.size() < most && (found == kept.end() || !found->second.was_done)) shown.push_back(&each);
    }
    const learn::LessonEntry* current = lessons_.library().find(open);
    if (current && std::ranges::find(shown, current) == shown.end()) {
        if (!shown.empty()) shown.pop_back();
        if (most > 0) shown.push_back(current);
    }
    for (const learn::LessonEntry* each : shown) {
        const std::string key = "learn/" + each->name;
        const std::string title = short_title(each->title, width - 28);
        if (flat_tab(key, title.c_str(), each->name == open, false, {width, height}, 0))
            lessons_.open(each->name);
        ui::rename_node(each->title);
        const std::string needs = learn::needs_told(each->needs);
        ui::describe(((each->minutes > 0 ? std::to_string(each->minutes) + " minutes" : std::string()) +
                      (needs.empty() ? "" : "; needs " + needs))
                         .c_str());
    }
    if (flat_tab("learn/all", label.c_str(), lessons_.lists(), true, {width, height}, 0)) {
        lessons_.show_list(!lessons_.lists());
        if (!in_rail) ImGui::CloseCurrentPopup();
    }
}

}  // namespace attn::app
