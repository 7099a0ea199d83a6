// Draws text and settings: the expression as a text and as terms, its size, and copies of it.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/masks/masks.hpp"
#include "present/card.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr std::size_t longest_typed = 40'000;

// Long enough for a window to skip whole tiles of the kernels.
constexpr Index usual_any_n = 1024;

// Keeps controls together, on a line that breaks if they do not fit.
void group(float width, auto draw) {
    ui::next_control(width);
    ImGui::BeginGroup();
    draw();
    ImGui::EndGroup();
}

}  // namespace

void MasksLens::draw_presets() {
    const Index size = std::max(looked_->queries, looked_->keys);
    std::vector<const char*> names;
    int taken = -1;
    for (const MaskPreset& preset : mask_presets()) {
        if (preset.make(size) == now().mask) taken = static_cast<int>(std::ssize(names));
        names.push_back(preset.name);
    }
    if (const auto chosen = ui::choice("masks/preset", names, taken)) {
        MasksState tried = now();
        tried.mask = mask_presets()[static_cast<std::size_t>(*chosen)].make(size);
        set(tried);
    }
}

void MasksLens::draw_text() {
    if (typed_.mask != now().mask || !typed_.fresh) {
        typed_ = {now().mask.text(), now().mask, "", true};
    }
    ui::label("mask");
    const ui::Typed typed = ui::text_field("masks/text", "Mask as text", typed_.text, longest_typed);
    ui::tooltip(
        "Terms: causal(0) window(15,0) padding(5) prefix(3) strided(4) global_local([0],2) "
        "same_document([0*5,1*3]) block_sparse(…) painted(…) cells(1,[0,2,3,5]) everything. & is and, | is "
        "or, ! is not.");
    if (typed.too_long) {
        typed_.fault =
            "That text is longer than " + with_commas(longest_typed) + " characters, so it was not taken.";
    } else if (typed.changed) {
        typed_.fault.clear();
        if (const auto mask = Mask::parse(typed_.text)) {
            MasksState tried = now();
            tried.mask = typed_.mask = *mask;
            set(tried, ui::gesture());
        } else {
            typed_.fault = mask.error().message + ".";
        }
    }
    ui::fault("masks/fault", typed_.fault);
}

void MasksLens::draw_settings(Subject& subject) {
    MasksState tried = now();
    const bool own = tried.size > 0;
    if (const auto chosen =
            ui::labelled_choice("size", "masks/size", std::array{"these tokens", "any n"}, own ? 1 : 0))
        tried.size = *chosen == 0 ? 0 : std::clamp<Index>(looked_->queries, usual_any_n, mask_size_limit);
    if (own)
        group(ui::need::slider, [&] {
            if (const auto n = ui::slider("masks/n", "n", static_cast<double>(tried.size), 1,
                                          static_cast<double>(mask_size_limit), "%.0f", true))
                tried.size = std::clamp<Index>(std::lround(*n), 1, mask_size_limit);
        });
    group(ui::need::named_choices, [&] {
        ui::label("off by one");
        if (const auto chosen = ui::choice("masks/off", std::array{"no", "one key fewer", "one key more"},
                                           tried.shift < 0   ? 1
                                           : tried.shift > 0 ? 2
                                                             : 0))
            tried.shift = *chosen == 1 ? -1 : *chosen == 2 ? 1 : 0;
    });
    if (shifted(now().mask, 1) == now().mask)
        ui::tooltip("No term of this mask follows the diagonal, so nothing can be off by one.");
    else
        ui::tooltip("Moves the edges along the diagonal by one key, as < in place of ≤ does.");
    group(ui::need::button, [&] {
        if (const auto form = ui::menu("masks/copy", "Copy as", mask_program_names))
            ImGui::SetClipboardText(mask_program(looked_->mask, looked_->head.head, looked_->queries,
                                                 looked_->keys, static_cast<MaskProgram>(*form))
                                        .c_str());
        ui::tooltip("Lines of Python that make this mask");
    });
    if (subject.attention()->trace())
        group(ui::need::choices, [&] {
            ui::label("model");
            if (const auto chosen =
                    ui::choice("masks/model", std::array{"as it is", "under this mask"}, tried.runs ? 1 : 0))
                tried.runs = *chosen == 1;
        });
    if (tried != now()) set(tried, ui::gesture());
}

void MasksLens::draw(const Drawing& drawing, Subject& subject) {
    look(subject);
    const ui::TightLabels tight;
    ui::hint(
        "A mask tried out here changes no other lens. Choose “window of 16” and then “any n”: the larger n, "
        "the "
        "more tiles the kernel skips. Point at a cell to see which term hides it.");
    if (ui::settings()) {
        draw_presets();
        draw_settings(subject);  // above the terms, whose number differs between presets
        draw_text();
        draw_terms();
    }
    look(subject);
    ImGui::Dummy({0, 6});
    const float width = ImGui::GetContentRegionAvail().x;
    if (width < ui::two_columns) {
        draw_map(drawing, width);
        draw_counts(drawing, width);
        draw_empty_rows(drawing, width);
    } else {
        const float left = std::floor((width - present::card_gap) * 0.52f),
                    right = width - present::card_gap - left;
        ui::column("mask", left, [&](float wide) { draw_map(drawing, wide); });
        ImGui::SameLine(0, present::card_gap);
        ui::column("counts", right, [&](float wide) {
            draw_counts(drawing, wide);
            draw_empty_rows(drawing, wide);
        });
    }
    draw_losses(drawing, width);
    if (now().runs && subject.attention()->trace()) draw_model(drawing, subject);
    if (step_wanted())
        drawing.visit.continue_with([this, begun = looked_] { return looked_ == begun && step(); });
}

}  // namespace attn::app
