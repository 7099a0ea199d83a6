#include "present/card.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/scroll.hpp"
#include "widgets/svg_writer.hpp"
#include "widgets/vector_picture.hpp"
#include "widgets/wording.hpp"

namespace attn::present {

namespace {

constexpr float wide_padding = 14, narrow_padding = 6, rounding = 8, below_head = 6, action_gap = 4,
                least_title = 120, notation_gap = 10;
constexpr std::array<const char*, 7> all_items{"Table", "Copy", "CSV", "SVG", "PNG 1×", "PNG 2×", "PNG 4×"};
enum Item { table, copy, csv, svg, picture };
constexpr std::array<int, 3> picture_scales{1, 2, 4};
constexpr int first_saving = csv;

float action_width(const char* label) {
    return ui::text_size(label).x + 2 * ImGui::GetStyle().FramePadding.x;
}
float actions_width() {
    return action_width("Table") + action_width("Copy") + action_width("Save") + 2 * action_gap;
}

}  // namespace

Room::Room(float right) {
    ImGuiWindow* window = ImGui::GetCurrentWindow();
    outer_right_ = std::exchange(window->WorkRect.Max.x, right);
    outer_content_right_ = std::exchange(window->ContentRegionRect.Max.x, right);
}

Room::~Room() {
    ImGuiWindow* window = ImGui::GetCurrentWindow();
    window->WorkRect.Max.x = outer_right_;
    window->ContentRegionRect.Max.x = outer_content_right_;
}

Card::Card(const app::Drawing& drawing, Text text, float width)
    : drawing_(drawing),
      text_(std::move(text)),
      width_(width),
      padding_((width - width_within(width)) / 2),
      at_(ImGui::GetCursorScreenPos()),
      room_(at_.x + width_ - padding_) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    layers_.Split(list, 2);
    layers_.SetCurrentChannel(list, 1);
    ImGui::PushID(text_.key.c_str());
    // On a phone, the buttons in the title's line need room above and below for a finger.
    const bool is_high = ui::narrow_window() && !text_.title.empty();
    ImGui::SetCursorScreenPos({at_.x + padding_, at_.y + (is_high ? 0 : padding_)});
    ImGui::BeginGroup();
    if (text_.table && text_.is_listed) drawing_.visit.offer_table(text_.table);
    if (!text_.title.empty()) draw_head();
}

float Card::width_within(float width) {
    return width - 2 * (ui::narrow_window() ? narrow_padding : wide_padding);
}

bool Card::has_one_menu(float inner_width) {
    return ui::narrow_window() || inner_width - actions_width() < least_title;
}

std::string Card::way_to_table(float width) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({6, 3}));
    const bool one = has_one_menu(width_within(width));
    ImGui::PopStyleVar();
    return one ? "Save › Table" : "Table";
}

std::string Card::file() const {
    std::string name = text_.key;
    std::ranges::replace(name, '/', '-');
    return name;
}

bool Card::is_saved_as_picture() const { return drawing_.visit.saves_picture_of("card/" + text_.key); }

void Card::draw_head() {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& t = ui::theme();
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({6, 3}));
    const float high = ImGui::GetFrameHeight();
    float beside = 0;  // width that the buttons take from the title's line
    if (text_.table && !is_saved_as_picture()) {
        const bool one = has_one_menu(width());
        beside = one ? action_width("Save") : actions_width();
        ImGui::PushStyleColor(ImGuiCol_Button, ImVec4());
        ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
        draw_actions({at.x + width() - beside, at.y}, one);
        ImGui::PopStyleColor(2);
        beside += notation_gap;
    }
    if (drawing_.visit.figure_of("card/" + text_.key)) svg_ = std::make_unique<ui::VectorPicture>(list);
    float bottom = at.y + high;
    {
        const ui::Type semibold(ui::Face::semibold, ui::size_body);
        const std::string title = ui::wrapped(text_.title, width() - beside);
        const ImVec2 size = ui::text_size(title);
        ui::draw_text(list, {at.x, at.y + std::max((high - ImGui::GetFontSize()) / 2, 0.0f)}, t.text, title);
        bottom = std::max(bottom, at.y + (high - ImGui::GetFontSize()) / 2 + size.y);
    }
    if (!text_.notation.empty()) {
        const ui::Type small(ui::Face::regular, ui::size_small);
        const std::string notation = ui::wrapped(ui::for_pointer(text_.notation), width());
        ui::draw_text(list, {at.x, bottom}, t.dim, notation);
        bottom += ui::text_size(notation).y + 2;
    }
    ImGui::PopStyleVar();
    ImGui::SetCursorScreenPos(at);
    const float below = ui::narrow_window() ? -ImGui::GetStyle().ItemSpacing.y : below_head;
    ImGui::Dummy({width(), bottom + below - at.y});
}

void Card::draw_actions(ImVec2 at, bool in_one_menu) {
    const std::string of = "“" + text_.title + "”";
    const auto place = [&](const char* label) {
        ImGui::SetCursorScreenPos(at);
        at.x += action_width(label) + action_gap;
    };
    if (!in_one_menu) {
        place("Table");
        if (ui::button((text_.key + "/table").c_str(), "Table")) act(table);
        ui::rename_node(("Show " + of + " as a table").c_str());
        place("Copy");
        if (ui::button((text_.key + "/copy").c_str(), "Copy")) act(copy);
        ui::rename_node(("Copy " + of).c_str());
    }
    place("Save");
    std::vector<const char*> items;
    std::vector<int> acts;
    for (int item = in_one_menu ? table : first_saving; item < static_cast<int>(all_items.size()); ++item) {
        items.push_back(all_items[static_cast<std::size_t>(item)]);
        acts.push_back(item);
    }
    const std::string called = (in_one_menu ? "Copy or save " : "Save ") + of;
    if (const auto item = ui::menu((text_.key + "/save").c_str(), "Save", items, called.c_str()))
        act(acts[static_cast<std::size_t>(*item)]);
}

void Card::act(int item) {
    switch (item) {
        case table: drawing_.visit.page().show_table(text_.table().title); return;
        case copy: ImGui::SetClipboardText(app::table_cells(text_.table()).c_str()); return;
        case csv: drawing_.visit.save(file() + ".csv", app::table_csv(text_.table())); return;
        case svg: drawing_.visit.ask_figure("card/" + text_.key, file(), text_.title); return;
        default: break;
    }
    drawing_.visit.save_picture(file() + ".png", "card/" + text_.key,
                                picture_scales[static_cast<std::size_t>(item - picture)]);
}

Card::~Card() {
    ImGui::EndGroup();
    ImGui::PopID();
    const ImVec2 end{at_.x + width_, ImGui::GetItemRectMax().y + padding_};
    if (svg_) {
        const std::string svg = svg_->finish(at_, end, text_.title);
        drawing_.visit.save_figure(ui::as_figure(svg, *drawing_.visit.figure_of("card/" + text_.key)));
        svg_.reset();
    }
    ImDrawList* list = ImGui::GetWindowDrawList();
    layers_.SetCurrentChannel(list, 0);
    list->AddRectFilled(at_, end, ui::theme().surface, rounding);
    list->AddRect(at_, end, ui::theme().border, rounding);
    layers_.Merge(list);
    ui::landmark("card/" + text_.key, at_, end);
    if (is_saved_as_picture()) ui::scroll_to(at_, end);
    ImGui::SetCursorScreenPos(at_);
    ImGui::Dummy({width_, end.y - at_.y + std::max(card_gap - ImGui::GetStyle().ItemSpacing.y, 0.0f)});
}

}  // namespace attn::present
