// Draws the subject's own part of the page: the example's question, and its settings besides the cells.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "subjects/worked/commands.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr float adjust_width = 92, adjust_gap = 8;

// Draws a control with its label on the left.
void group(auto&& draw) {
    ImGui::BeginGroup();
    draw();
    ImGui::EndGroup();
}

std::string title_of(const PresetInfo& preset) {
    return std::string(preset.letter) + "   " + std::string(preset.title);
}

// Copies of a head, random numbers and typed numbers are not examples, so they have titles of their own.
std::string title_of(const WorkedState& worked) {
    switch (worked.origin.kind) {
        case Origin::Kind::generated: return "Random numbers, seed " + std::to_string(worked.origin.seed);
        case Origin::Kind::entered: return "Your numbers";
        case Origin::Kind::taken: return "Copy of " + worked.origin.from;
        case Origin::Kind::preset: break;
    }
    return title_of(info(worked.preset));
}

// Explains the marks in the corners of cells.
void legend() {
    const ui::Type small(ui::Face::regular, ui::size_small);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float side = ImGui::GetTextLineHeight();
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, {at.x + side * 1.5f, at.y + side}, ui::theme().raised, 3);
    ui::draw_misprint(list, {at.x + side * 1.5f, at.y});
    ImGui::SetCursorScreenPos({at.x + side * 1.5f + 8, at.y});
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    ui::text_item("the tutorial prints another number here");
    ImGui::PopStyleColor();
    ui::landmark_item("legend");
    ui::semantic_text(ui::Role::paragraph, "A corner is marked where the tutorial prints another number.");
}

std::string told(const Introduction& about, const char* how) {
    return about.question + " " + about.story + how;
}

float height_of(const std::string& text, bool with_legend) {
    const ui::Type type(ui::Face::regular, ui::size_small);
    const float width = ImGui::GetContentRegionAvail().x, spacing = ImGui::GetStyle().ItemSpacing.y;
    const float height = ui::text_size(ui::wrapped(text, width)).y + spacing;
    return with_legend ? height + ImGui::GetTextLineHeight() + spacing : height;
}

// `how` says how to edit. An introduction takes at least the room of the example's own, so that the cells
// stay in place when one of them is edited.
void draw_introduction(const WorkedState& worked, const char* how) {
    const float top = ImGui::GetCursorScreenPos().y;
    const float least = height_of(told(introduction(preset_state(worked.preset)), how),
                                  !printed_values(worked.preset).empty());
    ui::caption(told(introduction(worked), how).c_str());
    if (!misprints(worked).empty()) legend();
    const float left = top + least - ImGui::GetCursorScreenPos().y;
    if (left > 0) ImGui::Dummy({0, left - ImGui::GetStyle().ItemSpacing.y});
}

}  // namespace

bool WorkedSubject::draw_controls(const Drawing&, bool brief) {
    const bool little = ImGui::GetContentRegionAvail().x < ui::settings_open || ui::low_window_now();
    const bool narrow = ui::narrow_window(), above = ui::folded().subject;
    if (!brief && usual_lens(state()) == state().lens)
        draw_introduction(
            now(),
            little
                ? " Drag an input sideways to change it; whatever changes is outlined."
                : " Drag or type to change an input, or click it and scroll; whatever changes is outlined.");
    if (narrow) ImGui::Dummy({0, 2});
    // If there is little room, the picture comes first and the settings are folded away.
    const bool folds = brief || little, beside = folds && narrow;
    if (!folds) {
        const ui::Row row("worked/settings");
        if (!above) preset_menu(0);
        settings(above);
    } else if (!above || unfolded_) {
        ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({9, 5}));
        const ui::TightLabels tight;
        if (!above) {
            preset_menu(beside ? ImGui::GetContentRegionAvail().x - adjust_width - adjust_gap : 0);
            beside ? ImGui::SameLine(0, adjust_gap) : (void)ui::next_control(ui::need::many_choices);
            draw_adjust(beside);
        }
        if (unfolded_) settings(above);
        ImGui::PopStyleVar();
    }
    label_menu_.draw(visit());
    if (narrow) ImGui::Dummy({0, 6});
    return true;
}

// Draws the button that folds and unfolds the settings.
void WorkedSubject::draw_adjust(bool is_short) {
    const char *more = is_short ? "Adjust …" : "Adjust mask, scale, sizes …",
               *fewer = is_short ? "Fewer" : "Fewer settings";
    if (ui::button("adjust", unfolded_ ? fewer : more, {fewer, more})) unfolded_ = !unfolded_;
    ui::node_opens(unfolded_);
}

bool WorkedSubject::draw_in_tabs(const Drawing&, bool brief, float width) {
    const float menu = brief ? width - adjust_width - adjust_gap : width;
    if (menu < ui::menu_width) return false;
    preset_menu(menu);
    if (!brief) return true;
    ImGui::SameLine(0, adjust_gap);
    draw_adjust(true);
    ui::tooltip("Adjust mask, scale, sizes …");
    return true;
}

void WorkedSubject::settings(bool begin_line) {
    if (begin_line || ui::next_control(ui::need::many_choices)) source_choice();
    if (ui::next_control(ui::need::many_choices)) generator();
    mask_choice();
    scale_choice();
    score_sliders();
    sizes();
}

// With a width, the menu has no label.
void WorkedSubject::preset_menu(float width) {
    group([&] {
        if (width == 0) ui::label("Example");
        ImGui::SetNextItemWidth(
            std::min(ui::wide_menu_width, width > 0 ? width : ImGui::GetContentRegionAvail().x));
        if (!ui::begin_list("preset", "Example", title_of(now()).c_str())) return;
        for (const PresetInfo& each : presets())
            if (ui::list_option(("preset/" + std::string(each.letter)).c_str(), title_of(each).c_str(),
                                now().origin.kind == Origin::Kind::preset && each.id == now().preset))
                visit().perform(OpenPreset{each.id});
        ui::end_list();
    });
}

void WorkedSubject::source_choice() {
    static constexpr const char* names[] = {"X · W", "Q, K, V", "scores"};
    group([&] {
        ui::label("from");
        if (const auto chosen = ui::choice("source", names, static_cast<int>(now().source)))
            visit().perform(SetSource{static_cast<Source>(*chosen)});
    });
}

void WorkedSubject::generator() {
    const bool generated = now().origin.kind == Origin::Kind::generated;
    if (generated) seed_ = static_cast<int>(now().origin.seed);
    group([&] {
        ui::label("seed");
        constexpr double most = std::numeric_limits<int>::max();
        const auto wanted = ui::number_field("seed", "seed", seed_, "%.0f", ui::number_width);
        if (wanted && *wanted >= 0) {
            seed_ = static_cast<int>(std::min(*wanted, most));
            visit().perform(Generate{static_cast<std::uint32_t>(seed_)});
        }
        ImGui::SameLine(0, 6);
        if (ui::button("generate", "Random Q, K, V"))
            visit().perform(Generate{static_cast<std::uint32_t>(generated ? seed_ + 1 : seed_)});
        ui::tooltip("Standard normal numbers: those that numpy.random.seed and randn give for this seed.");
    });
}

void WorkedSubject::mask_choice() {
    static constexpr const char* names[] = {"none", "causal", "window", "painted"};
    const WorkedMask::Kind kind = now().mask.kind;
    WorkedMask mask = now().mask;
    if (ui::next_control(ui::need::slider))
        group([&] {
            ui::label("mask");
            if (const auto chosen = ui::choice("mask", names, static_cast<int>(kind)))
                mask.kind = static_cast<WorkedMask::Kind>(*chosen);
        });
    const auto step = [&](const char* name, const char* label, Index& value, Index least, const char* tip) {
        if (!ui::next_control(ui::need::long_button)) return;
        group([&] { value = ui::stepper(name, label, value, least, matrix_size_limit).value_or(value); });
        if (tip) ui::tooltip(tip);
    };
    switch (kind) {
        case WorkedMask::Kind::causal:
            step("mask/offset", "offset", mask.offset, -matrix_size_limit,
                 "A query may look at the keys up to its own position plus this offset.");
            break;
        case WorkedMask::Kind::window:
            step("mask/before", "back", mask.before, 0, nullptr);
            step("mask/after", "ahead", mask.after, 0, nullptr);
            break;
        case WorkedMask::Kind::painted:
            if (!ui::next_control(ui::need::named_choices)) break;
            ImGui::AlignTextToFramePadding();
            ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
            ui::wrapped_text("Click cells of Masked to hide or show them.");
            ImGui::PopStyleColor();
            break;
        case WorkedMask::Kind::none: break;
    }
    if (mask != now().mask) visit().perform(SetMask{mask.kind, mask.offset, mask.before, mask.after});
}

void WorkedSubject::scale_choice() {
    if (now().source == Source::scores) return;
    static constexpr const char* names[] = {"1/√d_k", "none"};
    if (ui::next_control(ui::need::choices))
        group([&] {
            ui::label("scale");
            if (const auto chosen = ui::choice("scale", names, now().scale_by_sqrt_d ? 0 : 1))
                visit().perform(SetScaling{*chosen == 0});
        });
}

void WorkedSubject::score_sliders() {
    if (ui::next_control(ui::need::slider))
        group([&] {
            if (const auto t =
                    ui::slider("temperature", "temperature", now().temperature, 0.05, 20, "%.2f", true))
                visit().perform(SetTemperature{*t}, ui::gesture());
        });
    if (ui::next_control(ui::need::slider))
        group([&] {
            const char* format = now().softcap > 0 ? "%.1f" : "off";
            if (const auto cap = ui::slider("softcap", "soft cap", now().softcap, 0, 10, format))
                visit().perform(SetSoftcap{std::round(*cap * 10) / 10}, ui::gesture());
        });
}

void WorkedSubject::sizes() {
    struct Size {
        const char* name;
        const char* label;
        Axis axis;
    };
    std::vector<Size> all;
    if (now().source == Source::projections)
        all = {{"size/n", "tokens", Axis::queries}, {"size/d", "d", Axis::d_model}};
    else
        all = {{"size/n_q", "n_q", Axis::queries}, {"size/n_k", "n_k", Axis::keys}};
    if (now().source != Source::scores) all.push_back({"size/d_k", "d_k", Axis::d_k});
    if (now().d_v() > 0) all.push_back({"size/d_v", "d_v", Axis::d_v});
    for (const Size& size : all) {
        if (ui::next_control(ui::need::long_button))
            group([&] {
                if (const auto to =
                        ui::stepper(size.name, size.label, size_of(now(), size.axis), 1, matrix_size_limit))
                    visit().perform(Resize{size.axis, *to});
            });
    }
}

}  // namespace attn::app
