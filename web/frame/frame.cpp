#include "frame/frame.hpp"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "frame/panel.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/page_field.hpp"

namespace attn::app {

namespace {

constexpr float rail_width = 176, inspector_width = 320, padding = 22, above_lens = 6;

// Sizes of the letters of the sentence that says what is seen.
constexpr float narrow_spoken = 17, least_spoken = 17;

}  // namespace

void Frame::draw(std::size_t heap_bytes) {
    // Heap size jitters by a few bytes; without hysteresis the rounded figure would flicker and request a
    // redraw every frame.
    if (std::max(heap_bytes, heap_bytes_) - std::min(heap_bytes, heap_bytes_) >= 100'000)
        heap_bytes_ = heap_bytes;
    // Escape belongs to whatever had the keyboard when the frame began; a shortcut's route would be a frame
    // late. Escape also hides the focus ring, which Dear ImGui would draw around the panel.
    if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) ImGui::SetNavCursorVisible(false);
    const bool escaped = ImGui::IsKeyPressed(ImGuiKey_Escape, false) && !ImGui::IsAnyItemActive() &&
                         !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
    visit_.begin_frame();
    ui::clear_landmarks();
    ui::clear_semantics();
    ui::clear_page_fields();
    ui::scroll_by_fingers();
    palette_.draw(visit_);  // first, so that it gets what is typed
    const ImGuiViewport* view = ImGui::GetMainViewport();
    ImGui::SetNextWindowPos(view->Pos);
    ImGui::SetNextWindowSize(view->Size);
    ImGui::Begin("page", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse |
                     ImGuiWindowFlags_NoNavFocus);
    now_ = {};
    hovered_lens_.clear();
    lessons_.update();
    const Rect window{view->Pos, view->Size};
    alone_ || ui::narrow_window() ? draw_narrow(window) : draw_wide(window);
    ImGui::End();
    if (const auto cut = ui::take_cut_text(); cut && !ui::landmarks().contains("tooltip"))
        ui::tooltip_at(cut->min, cut->max, cut->text.c_str());
    lessons_.point(now_);
    before_ = now_;
    shortcuts();
    if (escaped) close_explanation();
    announce_pin();
    if (!ImGui::IsAnyItemActive() && !ui::page_types()) ui::next_gesture();
}

// Additional text boxes of the page lie over the top of the lens (web/shell/style.css). The rail stays in
// place, so that the lens just pressed remains under the pointer.
float Frame::height_of_boxes() const {
    constexpr float box_height = 39, above = 6;
    const auto shown = std::ranges::count_if(
        lower_boxes, [&](Box which) { return subject_in(visit_).lower_box(which).has_value(); });
    return shown == 0 ? 0 : above + box_height * static_cast<float>(shown);
}

float Frame::width_on_the_right() const {
    constexpr float writer_width = 460;
    if (lessons_.writer().is_open()) return writer_width;
    return folded_.explanations && !lessons_.is_open() ? 0 : inspector_width;
}

void Frame::draw_wide(const Rect& window) {
    const ui::Theme& t = ui::theme();
    const auto [at, size] = window;
    const float top = at.y + height_of_boxes();
    const float height = size.y - status_height, left = at.x + (folded_.lenses ? 0 : rail_width),
                right = at.x + size.x - width_on_the_right();
    if (!folded_.lenses) panel("rail", at, {rail_width, height}, t.surface, {8, 10}, [&] { draw_rail(); });
    panel("tabs", {left, top}, {right - left, tabs_height}, {}, {padding - 8, 4},
          [&] { draw_tabs(right - left - 2 * padding); });
    scrolling_panel("lens", {left, top + tabs_height}, {right - left, at.y + height - top - tabs_height}, {},
                    {padding, above_lens}, [&] {
                        draw_lens();
                        steady_.keep();
                    });
    if (right < at.x + size.x) draw_right({right, at.y}, {at.x + size.x - right, height});
    panel("status", {at.x, at.y + height}, {size.x, status_height}, t.surface, {8, 4},
          [&] { draw_wide_status(size.x - 16); });
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddLine({left, at.y}, {left, at.y + height}, t.border);
    list->AddLine({left, top + tabs_height}, {right, top + tabs_height}, t.border);
    list->AddLine({right, at.y}, {right, at.y + height}, t.border);
    list->AddLine({at.x, at.y + height}, {at.x + size.x, at.y + height}, t.border);
}

// ---- The lens ---------------------------------------------------------------------------------------------

void Frame::draw_lens() {
    // A newly opened lens starts at its top.
    if (visit_.state().subject != drawn_subject_ || visit_.state().lens != drawn_lens_) {
        ImGui::SetScrollY(0);
        spoken_width_ = 0;
        steady_ = {};
        if (!drawn_lens_.empty() && visit_.state().pin == drawn_pin_) carried_pin_ = drawn_pin_;
    }
    drawn_subject_ = visit_.state().subject;
    drawn_lens_ = visit_.state().lens;
    ui::folded().offered = false;
    ui::folded().hint.clear();
    draw_progress();
    const Deadline deadline(frame_ms);
    const Drawing drawing{visit_, before_, now_, deadline};
    Subject& subject = subject_in(visit_);
    draw_sentence(subject);
    if (!subject.draw_controls(drawing, is_brief())) return;
    // A button may have led elsewhere.
    if (visit_.state().subject != drawn_subject_ || visit_.state().lens != drawn_lens_) return;
    draw_units(subject);
    if (const auto missing = lens_in(visit_).draw(drawing, subject)) draw_missing(*missing);
}

// Says why the lens stays with tokens, where maps show larger units.
void Frame::draw_units(Subject& subject) {
    const Attention* attention = subject.attention();
    if (!attention) return;
    const char* tokens_alone = lens_in(visit_).tokens_alone();
    if (!tokens_alone || attention->unit_of(weights_of(looks_of(visit_.state()).map)) == Unit::tokens) return;
    ui::caption(tokens_alone);
    ui::landmark_item("tokens-alone");
}

// Draws the sentence that says what is seen.
void Frame::draw_sentence(Subject& subject) {
    const std::string told = lens_in(visit_).spoken(subject);
    spoken_ = on_one_line(told);
    const std::size_t end = std::min(told.find('\n'), told.size());
    const std::string text = subject.attention() ? told.substr(0, end) : subject.heading();
    detail_ = subject.attention() && end < told.size() ? told.substr(end + 1) : "";
    if (text.empty()) return;
    // The content below must not move when the next sentence is a little longer or shorter, nor when
    // training, which continues by itself, makes it longer. In a wide window, a long sentence is in smaller
    // letters instead of on two lines.
    const bool narrow = ui::narrow_window();
    const float top = ImGui::GetCursorPosY(), width = ImGui::GetContentRegionAvail().x;
    const float begin = ImGui::GetCursorScreenPos().y;
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {8, narrow ? 8 : ui::head_gap});
    if (spoken_width_ != width) spoken_size_ = narrow ? narrow_spoken : ui::size_heading;
    for (; !narrow && spoken_size_ > least_spoken; --spoken_size_)
        if (const ui::Type type(ui::Face::semibold, spoken_size_); ui::text_size(text).x <= width) break;
    bool previews = false;
    {
        ui::Type type(ui::Face::semibold, spoken_size_);
        if (spoken_width_ != width)
            spoken_height_ =
                narrow ? ImGui::GetTextLineHeight() * (subject.learning() ? 3.0f : 2.0f) : ui::size_heading;
        spoken_width_ = width;
        const auto height = [&](const std::string& of) { return ui::text_size(ui::wrapped(of, width)).y; };
        // Arcs and bars show the query under the cursor; so does the sentence, if it takes no more lines.
        const std::string preview =
            before_.query && !before_.head ? lens_in(visit_).preview(subject, *before_.query) : std::string();
        previews = !preview.empty() && height(preview) <= std::max(spoken_height_, height(text));
        ui::wrapped_text(previews ? preview : text, FLT_MAX,
                         spoken_.empty() ? ui::Role::heading : ui::Role::status);
        if (!spoken_.empty()) ui::landmark_item("spoken");
    }
    // On a phone, the guide shows it.
    if (!detail_.empty() && !previews && !narrow) ui::caption(detail_.c_str());
    spoken_height_ = std::max(spoken_height_, ImGui::GetItemRectMax().y - begin);
    ImGui::SetCursorPosY(top + spoken_height_);
    ImGui::Dummy({0, 0});  // a lens may have nothing to draw yet
    ImGui::PopStyleVar();
}

// Says what is missing, with a button that leads there.
void Frame::draw_missing(const Missing& missing) {
    ImGui::Dummy({0, 6});
    ui::paragraph(missing.sentence, ui::theme().text);
    ui::landmark_item("missing");
    if (missing.offer) {
        if (ui::button("missing/offer", missing.offer->label.c_str())) visit_.perform(missing.offer->command);
        return;
    }
    const GuardedLens lens = lens_in(visit_);
    const std::string_view key = visit_.state().lens;
    for (const SubjectEntry& entry : subject_list()) {
        auto& other = subject_in(visit_, entry.key);
        if (entry.key == visit_.state().subject || !lens.suits(other)) continue;
        if (ui::button(("missing/" + std::string(entry.key)).c_str(),
                       (std::string("Go to ") + entry.name).c_str())) {
            return visit_.perform(Together{{OpenSubject{entry.key}, OpenLens{key}}});
        }
        ImGui::SameLine(0, 8);
    }
    ImGui::NewLine();
}

void Frame::draw_progress() {
    const auto progress = visit_.progress();
    if (!progress) return;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, top = at.y - above_lens + 1;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({at.x, top}, {at.x + width, top + 3}, ui::theme().raised, 2);
    list->AddRectFilled({at.x, top}, {at.x + width * progress->share, top + 3}, ui::theme().accent, 2);
    ui::Type small(ui::Face::regular, ui::size_small);
    const std::string text =
        std::string(progress->name) + " " + fixed(100 * static_cast<double>(progress->share), 0) + " %";
    ui::draw_text(list, {at.x + width - ui::text_size(text).x, top + 4}, ui::theme().dim, text);
    ui::semantic_text(text, {at.x, top}, {at.x + width, top + 20});
}

// ---- Around the lens ----------------------------------------------------------------------------------

void Frame::shortcuts() {
    if (ImGui::GetIO().WantTextInput) return;
    if (ImGui::Shortcut(ImGuiMod_Ctrl | ImGuiKey_Z, ImGuiInputFlags_RouteGlobal)) visit_.undo();
    if (ImGui::Shortcut(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z, ImGuiInputFlags_RouteGlobal))
        visit_.redo();
}

void Frame::close_explanation() {
    told_ = Told::nothing;
    if (visit_.state().pin) visit_.perform(Pin{std::nullopt});
}

void Frame::pasted(const std::string& text) {
    Subject& subject = subject_in(visit_);
    const auto cells = parse_numbers(text);
    const Ladder* ladder = subject.ladder();
    Editable* editable = subject.editable();
    if (!editable || !editable->paste(Matrix(1, 1)))
        return visit_.report_error({ladder && ladder->edits()
                                        ? "To paste numbers, first click the cell where they should begin."
                                        : "There is no cell to paste numbers into. Edit a copy in Example."});
    if (!cells) return visit_.report_error(cells.error());
    visit_.perform(*editable->paste(*cells));
}

std::vector<Table> Frame::tables() {
    std::vector<Table> all = lens_in(visit_).tables(subject_in(visit_));
    // Something opened since the last frame has not drawn its charts yet.
    if (visit_.state().subject == drawn_subject_ && visit_.state().lens == drawn_lens_)
        for (Table& each : visit_.tables())
            if (std::ranges::find(all, each.title, &Table::title) == all.end())
                all.push_back(std::move(each));
    return all;
}

}  // namespace attn::app
