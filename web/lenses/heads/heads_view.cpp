// Draws the controls of lens Heads, and the shapes of the heads' tensors.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::heads {

namespace {

constexpr float box_height = 60, box_gap = 20, least_box = 150, most_box = 250, numbers_width = 330;
constexpr Index most_slices = 64;

// The place of a box: its line, its first column and how many columns it spans.
struct BoxPlace {
    int line, column, span;
};
// Indexed by ShapeStep.
constexpr std::array<BoxPlace, shape_step_count> box_places{{{0, 1, 1},
                                                             {1, 0, 1},
                                                             {1, 1, 1},
                                                             {1, 2, 1},
                                                             {2, 0, 1},
                                                             {2, 1, 1},
                                                             {2, 2, 1},
                                                             {3, 0, 2},
                                                             {4, 1, 1},
                                                             {5, 1, 1},
                                                             {6, 1, 1}}};
// Pairs of tensors, the second computed from the first.
constexpr std::array<std::pair<ShapeStep, ShapeStep>, 12> box_arrows{
    {{ShapeStep::input, ShapeStep::q},
     {ShapeStep::input, ShapeStep::k},
     {ShapeStep::input, ShapeStep::v},
     {ShapeStep::q, ShapeStep::split_q},
     {ShapeStep::k, ShapeStep::split_k},
     {ShapeStep::v, ShapeStep::split_v},
     {ShapeStep::split_q, ShapeStep::weights},
     {ShapeStep::split_k, ShapeStep::weights},
     {ShapeStep::weights, ShapeStep::outputs},
     {ShapeStep::split_v, ShapeStep::outputs},
     {ShapeStep::outputs, ShapeStep::joined},
     {ShapeStep::joined, ShapeStep::written}}};

// Counts the heads that the tensor holds side by side; 0: it has none.
Index heads_in(ShapeStep step, const HeadSizes& sizes) {
    switch (step) {
        case ShapeStep::input:
        case ShapeStep::written: return 0;
        case ShapeStep::k:
        case ShapeStep::v:
        case ShapeStep::split_k:
        case ShapeStep::split_v: return sizes.kv_heads;
        default: return sizes.heads;
    }
}

// Draws the tensor's name, shape and formula, over a slice for each head.
void draw_box(const ShapedTensor& tensor, const HeadSizes& sizes, ImVec2 min, ImVec2 max, bool lit) {
    const ui::Theme& t = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(min, max, lit ? t.hovered : t.surface, 6);
    list->AddRect(min, max, lit ? t.accent : t.border, 6);
    const float left = min.x + 10, room = max.x - min.x - 20;
    {
        const ui::Type face(ui::Face::semibold, ui::size_small);
        ui::draw_text_within(list, {left, min.y + 5}, room, t.text, tensor.name);
    }
    {
        const ui::Type mono(ui::Face::mono, ui::size_small);
        ui::draw_text_within(list, {left, min.y + 22}, room, t.text, written_shape(tensor.shape));
    }
    {
        const ui::Type face(ui::Face::regular, ui::size_small);
        std::string made = tensor.made;
        if (tensor.matrix[0] > 0)
            made += ", " + std::to_string(tensor.matrix[0]) + " × " + std::to_string(tensor.matrix[1]);
        ui::draw_text_within(list, {left, min.y + 37}, room, t.dim, made);
    }
    const Index heads = heads_in(tensor.step, sizes);
    if (heads == 0 || heads > most_slices) return;
    const bool apart = tensor.shape.size() == 4;
    const float slice = room / static_cast<float>(heads), gap = apart ? std::min(3.0f, slice / 3) : 0;
    for (Index head = 0; head < heads; ++head) {
        const float from = left + slice * static_cast<float>(head);
        list->AddRectFilled({from, max.y - 6}, {from + slice - gap, max.y - 2},
                            ui::series_colour(static_cast<std::size_t>(head * (sizes.heads / heads))));
    }
}

struct Preset {
    const char *key, *name, *says;
    State state;
};
constexpr std::array<Preset, 3> presets{{
    {"tutorial",
     "128 in 4 heads",
     "The tutorial’s example: 128 numbers a token, 4 heads of 32",
     {.part = Part::shapes, .tutorial = true}},
    {"multi_query",
     "One head of K and V",
     "Multi-query attention: all heads share one head of keys and values",
     {.part = Part::sharing, .kv_heads = 1}},
    {"latent",
     "Half the rank",
     "Multi-head latent attention with half of the largest rank",
     {.part = Part::latent}},
}};

// ---- Controls ---------------------------------------------------------------------------------------------

void draw_presets(const Drawing& drawing) {
    const ui::Row tries("heads/try", ui::to_try);
    for (const Preset& preset : presets) {
        if (!ui::next_button(preset.name)) continue;
        if (ui::button(("heads/preset/" + std::string(preset.key)).c_str(), preset.name))
            drawing.visit.perform(Set<State>{preset.state});
        ui::tooltip(preset.says);
    }
}

void draw_part_controls(const Model& model, const Drawing& drawing, Subject& subject, State& next) {
    const auto choose = [&](const char* name, const char* label, std::array<const char*, 2> labels,
                            bool& on) {
        if (ui::next_control(ui::need::named_choices))
            if (const auto chosen = ui::labelled_choice(label, name, labels, on ? 1 : 0)) on = *chosen == 1;
    };
    // An arrow key moves a slider by less than one setting.
    const auto slide = [](const char* name, const char* label, Index value, Index most, const char* format) {
        const auto to =
            ui::slider(name, label, static_cast<double>(value), 0, static_cast<double>(most), format);
        if (!to) return value;
        const auto whole = static_cast<Index>(std::lround(*to));
        if (whole != value || ImGui::IsMouseDown(ImGuiMouseButton_Left)) return whole;
        return std::clamp(value + (*to > static_cast<double>(value) ? 1 : -1), Index{0}, most);
    };
    switch (model.state.part) {
        case Part::shapes:
            choose("heads/sizes", "of", {"this model", "the tutorial’s"}, next.tutorial);
            break;
        case Part::writes: {
            const Index last = subject.attention()->queries() - 1;
            ui::control(ui::need::stepper, [&] {
                if (const auto to = ui::stepper("heads/query", "token", chosen_query(subject), 0, last))
                    parts::choose_tokens(drawing, *to, selection_of(drawing).key);
            });
            break;
        }
        case Part::alike: {
            choose("heads/alike", "by", {"where they look", "what they write"}, next.outputs);
            if (subject.attention()->alike().size() > 1)
                choose("heads/layers", "heads of", {"this layer", "all layers"}, next.all_layers);
            break;
        }
        case Part::sharing: {
            if (model.runs().settings().empty()) break;
            // One head is on the left, the model's own number on the right.
            const Index most = std::ssize(model.runs().settings()), own = model.runs().most();
            const auto found = std::ranges::find(model.runs().settings(), model.setting());
            const Index place =
                found == model.runs().settings().end() ? most : model.runs().settings().end() - found - 1;
            const std::string shown = "to " + std::to_string(model.setting() == 0 ? own : model.setting()) +
                                      " of " + std::to_string(own);
            Index to = place;
            ui::control(ui::need::slider,
                        [&] { to = slide("heads/kv", "heads of K and V", place, most, shown.c_str()); });
            if (to != place)
                next.kv_heads =
                    to == most ? own : model.runs().settings()[static_cast<std::size_t>(most - to - 1)];
            break;
        }
        case Part::latent: {
            if (model.runs().most() < 2) break;
            Index to = model.setting();
            ui::control(ui::need::slider, [&] {
                to = slide("heads/rank", "rank", model.setting(), model.runs().most(), "%.0f");
            });
            if (to != model.setting()) next.rank = std::max<Index>(to, 1);
            break;
        }
    }
}

void draw_controls(const Model& model, const Drawing& drawing, Subject& subject) {
    static constexpr std::array<const char*, part_count> names{"shapes", "what each writes", "how alike",
                                                               "sharing K and V", "latent"};
    draw_presets(drawing);
    const ui::Row row("heads/settings");
    State next = drawing.state().of<State>();
    if (const auto chosen =
            ui::labelled_choice("look at", "heads/part", names, static_cast<int>(model.state.part)))
        next.part = static_cast<Part>(*chosen);
    draw_part_controls(model, drawing, subject, next);
    if (next != drawing.state().of<State>()) drawing.visit.perform(Set<State>{next}, ui::gesture());
}

// ---- Shapes -----------------------------------------------------------------------------------------------

void draw_ladder(const Model& model, const Drawing& drawing, float width) {
    const present::Card card(drawing,
                             {.key = "heads/shapes",
                              .title = "Shapes, one after the other",
                              .table = [sizes = model.sizes] { return shapes_table(sizes); }},
                             width);
    const auto shapes = shapes_of(model.sizes);
    const float w = card.width();
    const bool in_columns = w >= 3 * least_box + 2 * box_gap;
    const float wide = in_columns ? std::min((w - 2 * box_gap) / 3, most_box) : std::min(w, 2 * most_box);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const auto rect = [&](std::size_t i) {
        const auto [line, column, span] = in_columns ? box_places[i] : BoxPlace{static_cast<int>(i), 0, 1};
        const ImVec2 min{corner.x + static_cast<float>(column) * (wide + box_gap),
                         corner.y + static_cast<float>(line) * (box_height + box_gap)};
        return std::pair(
            min, ImVec2{min.x + static_cast<float>(span) * wide + static_cast<float>(span - 1) * box_gap,
                        min.y + box_height});
    };
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (const auto& [from, to] : box_arrows) {
        const auto [min, max] = rect(static_cast<std::size_t>(from));
        const auto [to_min, to_max] = rect(static_cast<std::size_t>(to));
        if (!in_columns && static_cast<int>(to) != static_cast<int>(from) + 1) continue;
        // Goes straight down if both boxes overlap, otherwise around two corners to the middle of the next
        // box.
        const float start = (min.x + max.x) / 2,
                    end = start > to_min.x && start < to_max.x ? start : (to_min.x + to_max.x) / 2,
                    turn = to_min.y - box_gap / 2;
        const ImVec2 b{end, to_min.y - 1};
        const ImU32 colour = ui::theme().dim;
        const std::array<ImVec2, 4> round{ImVec2{start, max.y}, {start, turn}, {end, turn}, {end, b.y - 4}};
        if (start == end)
            list->AddLine(round.front(), round.back(), colour, 1.3f);
        else
            list->AddPolyline(round.data(), static_cast<int>(round.size()), colour, 0, 1.3f);
        list->AddTriangleFilled({b.x - 4, b.y - 5}, {b.x + 4, b.y - 5}, b, colour);
    }
    const ui::SemanticGroup group(ui::Role::group, "heads/shapes", "Shapes, one after the other");
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const auto [min, max] = rect(i);
        const CellRef cell = cells::shape(i, 0);
        const std::string key = "heads/shape/" + std::to_string(i);
        ImGui::SetCursorScreenPos(min);
        ImGui::PushID(key.c_str());
        const bool pressed = ImGui::InvisibleButton("box", {max.x - min.x, max.y - min.y});
        ImGui::PopID();
        ui::landmark_item(key);
        ui::semantic_item(ui::Role::button, key,
                          std::string(shapes[i].name) + " " + written_shape(shapes[i].shape));
        const bool over = ImGui::IsItemHovered() || ImGui::IsItemFocused();
        if (over) drawing.now.cell = cell;
        if (ImGui::IsItemHovered()) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        if (pressed) present::pin(drawing, cell);
        draw_box(shapes[i], model.sizes, min, max, over || drawing.state().pin == cell);
    }
    const int lines = in_columns ? box_places.back().line + 1 : static_cast<int>(shape_step_count);
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({w, static_cast<float>(lines) * (box_height + box_gap) - box_gap});
}

void draw_shapes(const Model& model, const Drawing& drawing, float width) {
    const bool beside = width >= 3 * least_box + 2 * box_gap + present::card_gap + numbers_width;
    ui::column("ladder", beside ? width - present::card_gap - numbers_width : width,
               [&](float w) { draw_ladder(model, drawing, w); });
    if (beside) ImGui::SameLine(0, present::card_gap);
    ui::column("numbers", beside ? numbers_width : width,
               [&](float w) { present::sheet(drawing, numbers_sheet(model.sizes), w); });
}

}  // namespace

// ---- The whole lens ---------------------------------------------------------------------------------------

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    while (!drawing.deadline.passed() && model.step()) continue;
    static constexpr std::array<const char*, part_count> tries{
        "Follow the arrows from x down; point at a box for its numbers, then see what each head writes.",
        "Choose another token, or point at a head’s share to see what it is made of.",
        "Click the cell of two heads that are alike, then compare them by what they write.",
        "Drag the slider to the left: fewer keys and values to keep, and what the text loses for it.",
        "Drag the rank down until the loss rises: so many numbers hold what this text needs."};
    ui::hint(tries[static_cast<std::size_t>(model.state.part)]);
    if (ui::settings()) draw_controls(model, drawing, subject);
    model.update(drawing.visit, subject);
    const float width = ImGui::GetContentRegionAvail().x;
    switch (model.state.part) {
        case Part::shapes: draw_shapes(model, drawing, width); break;
        case Part::writes: draw_writes(model, drawing, subject, width); break;
        case Part::alike: draw_alike(model, drawing, subject); break;
        case Part::sharing:
        case Part::latent: draw_cache(model, drawing, subject); break;
    }
    if (model.step())
        drawing.visit.continue_with([&model, &subject, trace = model.trace] {
            return subject.attention() && subject.attention()->trace() == trace && trace == model.trace &&
                   model.step();
        });
}

}  // namespace attn::app::heads
