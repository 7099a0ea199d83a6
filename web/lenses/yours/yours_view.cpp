// Draws the verdict's line to change, yours beside the right result, and what else comes near.
#include <imgui.h>

#include <algorithm>

#include "analysis/check/hard_case.hpp"
#include "app/format.hpp"
#include "lenses/yours/yours.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::yours {

namespace {

constexpr float least_matrix = 300, gap_below = 12, near_share = 0.5f;
constexpr std::uint32_t hard_seed = 1;

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.visit.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

std::size_t example_of(std::string_view key) {
    return static_cast<std::size_t>(std::ranges::find(example_keys(), key) - example_keys().begin());
}

void draw_tries(const Model& model, const Drawing& drawing) {
    const ui::Row tries("yours/try", ui::to_try);
    for (const auto& [key, label] : {std::pair{"kv_heads_tiled", "Tile grouped heads"},
                                     {"mask_after_softmax", "Mask after the softmax"},
                                     {"scale_missing", "Forget the scale"},
                                     {"right", "A right result"}}) {
        if (!ui::next_button(label)) continue;
        if (ui::button((std::string("yours/try/") + key).c_str(), label)) {
            State next = model.state;
            next.example = example_of(key);
            next.file.clear();
            set(drawing, next);
        }
    }
}

void draw_settings(Model& model, const Drawing& drawing) {
    const ui::Row row("yours/settings");
    State next = drawing.state().of<State>();  // an example that was tried has changed it
    if (ui::next_button("Choose files…") && ui::button("yours/choose", "Choose files…"))
        drawing.visit.page().choose_tensors();
    if (ui::next_button("Make a case") && ui::button("yours/make", "Make a case"))
        drawing.visit.page().download("case.npz", hard_case(hard_seed));
    if (ui::next_button("Its Python") && ui::button("yours/script", "Its Python"))
        drawing.visit.save("check_case.py", hard_case_script());
    const char* shown = model.is_example() ? example_name(next.example) : "none: your files";
    ui::labelled_list("example", "yours/example", shown, ui::wide_menu_width,
                      [&](const ui::ListOptions& list) {
                          for (std::size_t i = 0; i < example_keys().size(); ++i)
                              if (list.option(example_keys()[i], example_name(i),
                                              model.is_example() && i == next.example)) {
                                  next.example = i;
                                  next.file.clear();
                              }
                      });
    if (model.shown) {
        const AttentionCase& given = model.shown->given();
        if (given.batch() > 1)
            ui::control(ui::need::stepper, [&] {
                if (const auto to =
                        ui::stepper("yours/batch", "batch", model.shown->batch(), 0, given.batch() - 1))
                    next.batch = *to;
            });
        if (given.heads() > 1 && given.w_o.empty())
            ui::control(ui::need::stepper, [&] {
                if (const auto to =
                        ui::stepper("yours/head", "head", model.shown->head(), 0, given.heads() - 1))
                    next.head = *to;
            });
    }
    set(drawing, next);
}

void draw_fix(const Model& model) {
    const Verdict& v = model.result->verdict;
    ui::paragraph(sentence(v), ui::theme().text);
    ui::landmark_item("yours/verdict");
    if (v.first_wrong) {
        const WrongCell& cell = *v.first_wrong;
        ui::paragraph("First wrong cell: " + place(*model.result->given, cell) + " is " +
                          shortest(static_cast<float>(cell.theirs)) + " and should be " +
                          shortest(static_cast<float>(cell.right)) + ".",
                      ui::theme().text);
        ui::landmark_item("yours/first");
    }
    if (!v.causes.empty()) {
        ui::caption("The line to change:");
        const ui::Type code(ui::Face::mono, ui::size_small);
        ui::paragraph(fix_text(model), ui::theme().text, ImGui::GetContentRegionAvail().x);
        ui::landmark_item("yours/fix");
    }
    for (const std::string& note : model.result->given->notes) ui::caption(note.c_str());
    if (const std::string open = open_questions(v); !open.empty()) ui::paragraph(open, ui::theme().dim);
    ImGui::Dummy({0, gap_below});
}

void draw_result(const Model& model, const Drawing& drawing) {
    const float width = ImGui::GetContentRegionAvail().x;
    const auto draw_matrices = [&](Matrix first, std::optional<Matrix> second) {
        std::vector<present::Picture> pictures;
        for (const std::optional<Matrix> which : {std::optional(first), second})
            if (which)
                pictures.emplace_back(
                    [&, which](float w) { present::sheet(drawing, output_sheet(model, *which), w); });
        present::in_columns(pictures, least_matrix);
        ImGui::Dummy({0, gap_below});
    };
    const bool mistaken = model.result->verdict.kind == Verdict::Kind::mistake;
    draw_matrices(Matrix::difference, Matrix::returned);
    draw_fix(model);
    draw_matrices(Matrix::right, mistaken ? std::optional(Matrix::explained) : std::nullopt);
    const bool beside = width >= ui::two_unequal_columns && !model.result->nearest.empty();
    const float left = beside ? std::floor((width - ui::column_gap) * near_share) : width;
    if (!model.result->nearest.empty()) {
        ui::column("near", left, [&](float w) { present::sheet(drawing, near_sheet(model), w); });
        if (beside) ImGui::SameLine(0, ui::column_gap);
    }
    ui::column("precision", beside ? width - left - ui::column_gap : width,
               [&](float w) { present::sheet(drawing, precision_sheet(model), w); });
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const std::string_view kinds = ".npz, .safetensors or .npy files.";
    const std::string hint =
        !model.is_example() ? "Drop another case, or choose an example: "
        : model.state.example == 0
            ? "This is an example. Drop q, k, v and output of your own code: "
            : "This is an example with a planted mistake. Drop q, k, v and output of your own code: ";
    ui::hint((hint + std::string(kinds)).c_str());
    if (ui::settings()) {
        draw_tries(model, drawing);
        draw_settings(model, drawing);
    }
    model.update(drawing.visit, subject);
    while (!drawing.deadline.passed() && model.step()) continue;
    model.update(drawing.visit, subject);
    if (model.result) {
        draw_result(model, drawing);
        return;
    }
    if (!model.is_example() && !model.shown_source()) {
        ui::paragraph(
            "This link was made with " + model.state.file + ". Drop the same file here to see what it shows.",
            ui::theme().text);
        ui::landmark_item("yours/wanted");
        return;
    }
    ui::caption("Trying mistakes …");
    ImGui::ProgressBar(model.progress(), {260, 4}, "");
    drawing.visit.continue_with([&model, key = model.key()] { return model.key() == key && model.step(); });
}

}  // namespace attn::app::yours
