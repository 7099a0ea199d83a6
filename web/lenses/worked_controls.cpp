#include "lenses/worked_controls.hpp"

#include <array>
#include <cmath>

#include "app/axes.hpp"
#include "app/presets.hpp"
#include "app/worked_run.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

using app::Session;
using app::Source;
using app::WorkedMask;
using app::WorkedState;

void label(const char* text) {
    ImGui::AlignTextToFramePadding();
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    ImGui::TextUnformatted(text);
    ImGui::PopStyleColor();
    ImGui::SameLine(0, 8);
}

void preset_menu(Session& session, const WorkedState& w) {
    const app::PresetInfo& now = app::info(w.preset);
    label("Example");
    ImGui::SetNextItemWidth(std::min(300.0f, ImGui::GetContentRegionAvail().x));
    const std::string shown = std::string(now.letter) + "   " + std::string(now.title);
    const bool open = ImGui::BeginCombo("##preset", shown.c_str(), ImGuiComboFlags_HeightLargest);
    ui::landmark_item("preset");
    if (!open) return;
    for (const app::PresetInfo& p : app::presets()) {
        const std::string text = std::string(p.letter) + "   " + std::string(p.title);
        if (ImGui::Selectable(text.c_str(), p.id == w.preset)) session.perform(app::OpenPreset{p.id});
        ui::landmark_item("preset/" + std::string(p.letter));
    }
    ImGui::EndCombo();
}

void source_choice(Session& session, const WorkedState& w) {
    ui::next_control(250);
    label("from");
    static constexpr const char* names[] = {"X · W", "Q, K, V", "scores"};
    if (const auto chosen = ui::choice("source", names, static_cast<int>(w.source)))
        session.perform(app::SetSource{static_cast<Source>(*chosen)});
}

void generator(Session& session, const WorkedState& w) {
    ui::next_control(180);
    static int seed = 42;
    if (w.origin.kind == app::Origin::Kind::generated) seed = static_cast<int>(w.origin.seed);
    label("seed");
    ImGui::SetNextItemWidth(64);
    int wanted = seed;
    const bool entered = ImGui::InputInt("##seed", &wanted, 0, 0, ImGuiInputTextFlags_EnterReturnsTrue);
    ui::landmark_item("seed");
    if (entered && wanted >= 0) session.perform(app::Generate{static_cast<std::uint32_t>(seed = wanted)});
    ImGui::SameLine(0, 6);
    if (ui::button("generate", "Random Q, K, V"))
        session.perform(app::Generate{
            static_cast<std::uint32_t>(w.origin.kind == app::Origin::Kind::generated ? seed + 1 : seed)});
    ui::tooltip("Standard normal numbers, the ones that numpy.random.seed and randn give for this seed.");
}

void scale_choice(Session& session, const WorkedState& w) {
    if (w.source == Source::scores) return;
    ui::next_control(160);
    label("scale");
    static constexpr const char* names[] = {"1/√d_k", "none"};
    if (const auto chosen = ui::choice("scale", names, w.scale_by_sqrt_d ? 0 : 1))
        session.perform(app::SetScaling{*chosen == 0});
}

void compact_slider(Session& session, const char* name, const char* text, double value, double least,
                    double most, const char* format, bool logarithmic, auto command) {
    label(text);
    ImGui::SetNextItemWidth(110);
    double moved = value;
    const ImGuiSliderFlags flags =
        ImGuiSliderFlags_AlwaysClamp | (logarithmic ? ImGuiSliderFlags_Logarithmic : 0);
    const std::string id = "##" + std::string(name);
    // The number stands beside the slider, where the knob does not cover it.
    if (ImGui::SliderScalar(id.c_str(), ImGuiDataType_Double, &moved, &least, &most, "", flags))
        session.perform(command(moved), ui::gesture());
    ui::landmark_item(name);
    ImGui::SameLine(0, 8);
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImGui::AlignTextToFramePadding();
    ImGui::Text(format, value);
}

void mask_choice(Session& session, const WorkedState& w) {
    label("mask");
    static constexpr const char* names[] = {"none", "causal", "window", "painted"};
    WorkedMask mask = w.mask;
    const auto set = [&] { session.perform(app::SetMask{mask.kind, mask.offset, mask.before, mask.after}); };
    if (const auto chosen = ui::choice("mask", names, static_cast<int>(mask.kind))) {
        mask.kind = static_cast<WorkedMask::Kind>(*chosen);
        set();
    }
    const auto step = [&](const char* name, const char* text, Index& value, Index least) {
        ui::next_control(150);
        label(text);
        ImGui::PushID(name);
        if (ImGui::Button("−") && value > least) {
            --value;
            set();
        }
        ui::landmark_item(std::string(name) + "/less");
        ImGui::SameLine(0, 4);
        ImGui::AlignTextToFramePadding();
        ImGui::Text("%td", value);
        ImGui::SameLine(0, 4);
        if (ImGui::Button("+") && value < app::worked_size_limit) {
            ++value;
            set();
        }
        ui::landmark_item(std::string(name) + "/more");
        ImGui::PopID();
    };
    switch (w.mask.kind) {
        case WorkedMask::Kind::causal:
            step("mask/offset", "key ≤ query +", mask.offset, -app::worked_size_limit);
            break;
        case WorkedMask::Kind::window:
            step("mask/before", "back", mask.before, 0);
            step("mask/after", "ahead", mask.after, 0);
            break;
        case WorkedMask::Kind::painted:
            ui::next_control(150);
            ImGui::AlignTextToFramePadding();
            ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
            ImGui::TextUnformatted("click cells of Masked");
            ImGui::PopStyleColor();
            break;
        case WorkedMask::Kind::none: break;
    }
}

void sizes(Session& session, const WorkedState& w) {
    struct Size {
        const char* name;
        const char* text;
        app::Axis axis;
        Index now;
    };
    std::vector<Size> all;
    if (w.source == Source::projections) {
        all = {{"size/n", "tokens", app::Axis::queries, w.queries()},
               {"size/d", "d", app::Axis::d_model, w.x.cols},
               {"size/d_k", "d_k", app::Axis::d_k, w.d_k()},
               {"size/d_v", "d_v", app::Axis::d_v, w.d_v()}};
    } else {
        all = {{"size/n_q", "n_q", app::Axis::queries, w.queries()},
               {"size/n_k", "n_k", app::Axis::keys, w.keys()}};
        if (w.source == Source::qkv) all.push_back({"size/d_k", "d_k", app::Axis::d_k, w.d_k()});
        if (w.d_v() > 0) all.push_back({"size/d_v", "d_v", app::Axis::d_v, w.d_v()});
    }
    bool first = true;
    for (const Size& size : all) {
        if (!first) ui::next_control(120);
        first = false;
        label(size.text);
        ImGui::PushID(size.name);
        const auto change = [&](Index to) { session.perform(app::Resize{size.axis, to}); };
        ImGui::BeginDisabled(size.now <= 1);
        if (ImGui::Button("−")) change(size.now - 1);
        ImGui::EndDisabled();
        ui::landmark_item(std::string(size.name) + "/less");
        ImGui::SameLine(0, 4);
        ImGui::AlignTextToFramePadding();
        ImGui::Text("%td", size.now);
        ImGui::SameLine(0, 4);
        ImGui::BeginDisabled(size.now >= app::worked_size_limit);
        if (ImGui::Button("+")) change(size.now + 1);
        ImGui::EndDisabled();
        ui::landmark_item(std::string(size.name) + "/more");
        ImGui::PopID();
    }
}

// The row or column whose menu is open.
struct LabelMenu {
    app::Axis axis;
    Index index;
    bool named;  // tokens have names, components do not
    bool key;
    std::array<char, 65> text{};
};
std::optional<LabelMenu> opened_menu;

}  // namespace

void worked_controls(Session& session) {
    const WorkedState& w = session.state().worked;
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {9, 5});
    preset_menu(session, w);
    // On a phone the picture comes first.
    static bool unfolded = false;
    if (ImGui::GetContentRegionAvail().x < 640) {
        if (ui::button("adjust", unfolded ? "Fewer settings" : "Adjust mask, scale, sizes …"))
            unfolded = !unfolded;
        if (!unfolded) return ImGui::PopStyleVar();
    }
    source_choice(session, w);
    generator(session, w);
    mask_choice(session, w);
    scale_choice(session, w);
    ui::next_control(250);
    compact_slider(session, "temperature", "temperature", w.temperature, 0.05f, 20, "%.2f", true,
                   [](double t) { return app::SetTemperature{t}; });
    sizes(session, w);
    ui::next_control(230);
    compact_slider(session, "softcap", "soft cap", w.softcap, 0, 10, w.softcap > 0 ? "%.1f" : "off", false,
                   [](double c) { return app::SetSoftcap{std::round(c * 10) / 10}; });
    ImGui::PopStyleVar();
}

void open_label_menu(Session& session, app::MatrixId matrix, std::optional<Index> row,
                     std::optional<Index> column) {
    const WorkedState& w = session.state().worked;
    const auto [row_axis, column_axis] = app::axes_of(matrix);
    LabelMenu opened{row ? row_axis : column_axis, row ? *row : *column, false, false, {}};
    opened.key = opened.axis == app::Axis::keys;
    opened.named = opened.axis == app::Axis::queries || opened.axis == app::Axis::keys;
    if (opened.named) {
        const auto& labels = opened.key ? w.key_labels : w.query_labels;
        if (opened.index < std::ssize(labels))
            labels[static_cast<std::size_t>(opened.index)].copy(opened.text.data(), opened.text.size() - 1);
    }
    opened_menu = opened;
    ImGui::OpenPopup("label");
}

void label_menu(Session& session) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {12, 12});
    if (ImGui::BeginPopup("label")) {
        if (!opened_menu) {
            ImGui::CloseCurrentPopup();
        } else {
            if (opened_menu->named) {
                ImGui::SetNextItemWidth(160);
                if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
                if (ImGui::InputText("##name", opened_menu->text.data(), opened_menu->text.size(),
                                     ImGuiInputTextFlags_EnterReturnsTrue)) {
                    session.perform(
                        app::SetLabel{opened_menu->key, opened_menu->index, opened_menu->text.data()});
                    ImGui::CloseCurrentPopup();
                }
                ui::landmark_item("label/name");
            }
            const std::string text = opened_menu->named
                                         ? "Remove this token"
                                         : "Remove component " + std::to_string(opened_menu->index);
            if (ui::button("label/remove", text.c_str())) {
                session.perform(app::RemoveAt{opened_menu->axis, opened_menu->index});
                ImGui::CloseCurrentPopup();
            }
        }
        ImGui::EndPopup();
    } else {
        opened_menu.reset();
    }
    ImGui::PopStyleVar();
}

}  // namespace attn::lenses
