// Draws text and settings: the expression as a text and as terms, its size, and copies of it.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "attention/mask_presets.hpp"
#include "attention/mask_program.hpp"
#include "lenses/masks/view.hpp"
#include "present/card.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::masks {

namespace {

constexpr std::size_t longest_typed = 40'000;

// Long enough for a window to skip whole tiles of the kernels.
constexpr Index usual_any_n = 1024;

void draw_presets(const Model& model, const Drawing& drawing) {
    const Index size = std::max(model.looked.queries, model.looked.keys);
    std::vector<const char*> names;
    int taken = -1;
    for (const MaskPreset& preset : mask_presets()) {
        if (preset.make(size) == model.state.mask) taken = static_cast<int>(std::ssize(names));
        names.push_back(preset.name);
    }
    const ui::Row tries("masks/try", ui::to_try);
    ui::next_control(ui::need::named_choices);
    if (const auto chosen = ui::choice("masks/preset", names, taken))
        set_mask(model, drawing, mask_presets()[static_cast<std::size_t>(*chosen)].make(size));
}

void draw_text(Model& model, const Drawing& drawing) {
    ViewMemory& seen = remembered(model.seen);
    if (seen.typed != model.state.mask) {
        seen.typed = model.state.mask;
        seen.text = model.state.mask.text();
        seen.fault.clear();
    }
    ui::label("mask");
    const ui::Typed typed = ui::text_field("masks/text", "Mask as text", seen.text, longest_typed);
    ui::tooltip(
        "Terms: causal(0) window(15,0) padding(5) prefix(3) strided(4) global_local([0],2) "
        "same_document([0*5,1*3]) block_sparse(…) painted(…) cells(1,[0,2,3,5]) everything. & is and, | is "
        "or, ! is not.");
    if (typed.too_long) {
        seen.fault =
            "That text is longer than " + with_commas(longest_typed) + " characters, so it was not taken.";
    } else if (typed.changed) {
        seen.fault.clear();
        if (const auto mask = Mask::parse(seen.text)) {
            seen.typed = *mask;
            set_mask(model, drawing, *mask, ui::gesture());
        } else {
            seen.fault = mask.error().message + ".";
        }
    }
    ui::fault("masks/fault", seen.fault);
}

void draw_settings(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::Row row("masks/settings");
    State tried = model.state;
    const bool own = tried.size > 0;
    if (const auto chosen =
            ui::labelled_choice("size", "masks/size", std::array{"these tokens", "any n"}, own ? 1 : 0))
        tried.size = *chosen == 0 ? 0 : std::clamp<Index>(model.looked.queries, usual_any_n, size_limit);
    if (own)
        ui::control(ui::need::slider, [&] {
            if (const auto n = ui::slider("masks/n", "n", static_cast<double>(tried.size), 1,
                                          static_cast<double>(size_limit), "%.0f", true))
                tried.size = std::clamp<Index>(std::lround(*n), 1, size_limit);
        });
    const bool moves = ui::control(ui::need::named_choices, [&] {
        ui::label("off by one");
        if (const auto chosen = ui::choice("masks/off", std::array{"no", "one key fewer", "one key more"},
                                           tried.shift < 0   ? 1
                                           : tried.shift > 0 ? 2
                                                             : 0))
            tried.shift = *chosen == 1 ? -1 : *chosen == 2 ? 1 : 0;
    });
    if (moves && shifted(model.state.mask, 1) == model.state.mask)
        ui::tooltip("No term of this mask follows the diagonal, so nothing can be off by one.");
    else if (moves)
        ui::tooltip("Moves the edges along the diagonal by one key, as < in place of ≤ does.");
    ui::control(ui::need::button, [&] {
        if (const auto form = ui::menu("masks/copy", "Copy as", mask_program_names))
            ImGui::SetClipboardText(mask_program(model.looked.mask, model.looked.head.head,
                                                 model.looked.queries, model.looked.keys,
                                                 static_cast<MaskProgram>(*form))
                                        .c_str());
        ui::tooltip("Lines of Python that make this mask");
    });
    if (subject.attention()->trace())
        ui::control(ui::need::choices, [&] {
            ui::label("model");
            if (const auto chosen =
                    ui::choice("masks/model", std::array{"as it is", "under this mask"}, tried.runs ? 1 : 0))
                tried.runs = *chosen == 1;
        });
    if (tried != model.state) drawing.visit.perform(Set<State>{tried}, ui::gesture());
    // The mask as a text and as terms needs lines of its own.
    constexpr float whole_line = 1e6f;
    if (!ui::next_control(whole_line)) return;
    draw_text(model, drawing);
    draw_terms(model, drawing);
}

}  // namespace

void set_mask(const Model& model, const Drawing& drawing, Mask mask, std::uint64_t gesture) {
    State tried = model.state;
    tried.mask = std::move(mask);
    drawing.visit.perform(Set<State>{std::move(tried)}, gesture);
}

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(
        "A mask tried out here changes no other lens. Choose “window of 16” and then “any n”: the larger n, "
        "the more tiles the kernel skips. Point at a cell to see which term hides it.");
    if (ui::settings()) {
        draw_presets(model, drawing);
        draw_settings(model, drawing, subject);
    }
    model.update(drawing.visit, subject);
    const float width = ImGui::GetContentRegionAvail().x;
    const auto draw_numbers = [&](float wide) {
        draw_counts(model, drawing, wide);
        draw_empty_rows(model, drawing, wide);
    };
    if (width < ui::two_columns) {
        draw_map(model, drawing, width);
        draw_numbers(width);
    } else {
        const float left = std::floor((width - present::card_gap) * 0.52f);
        ui::column("mask", left, [&](float wide) { draw_map(model, drawing, wide); });
        ImGui::SameLine(0, present::card_gap);
        ui::column("counts", width - present::card_gap - left, draw_numbers);
    }
    draw_losses(model, drawing, width);
    if (model.state.runs && subject.attention()->trace()) draw_predictions(model, drawing, subject);
    if (model.pending())
        drawing.visit.continue_with(
            [&model, begun = model.looked] { return model.looked == begun && model.step(); });
}

}  // namespace attn::app::masks
