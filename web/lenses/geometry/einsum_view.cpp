// Draws the metric, and Einstein sums that the user types.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/geometry/view.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr std::array sums{"ik,jk->ij with Q, K",   "ij,jd->id with A, V", "k,k-> with q, k",
                          "ij->i with A",          "ii-> with A",         "ab,cb->ac with W_Q, W_K",
                          "hik,hjk->hij with Q, K"};

}  // namespace

void GeometryLens::draw_einsum_text(Subject& subject) {
    if (typed_einsum_.of != now().einsum) typed_einsum_ = {now().einsum, now().einsum, ""};
    ui::label("einsum");
    const ui::Typed typed = ui::text_field("geometry/text", "Einstein sum, as in ik,jk->ij with Q, K",
                                           typed_einsum_.text, einsum_text_limit);
    std::string names;
    for (const NamedInfo& each : named_matrices())
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    ui::tooltip(("The subscripts of NumPy’s einsum, then “with” and the matrices: " + names).c_str());
    GeometryState next = now();
    if (typed.too_long) {
        typed_einsum_.fault = "An einsum here has at most " + std::to_string(einsum_text_limit) +
                              " characters, so that text was not taken.";
    } else if (typed.changed) {
        const auto made = NamedSum::of(subject, state(), weights(subject), typed_einsum_.text);
        typed_einsum_.fault = made ? "" : made.error().message;
        if (made) next.einsum = typed_einsum_.of = typed_einsum_.text;
    }
    for (const char* each : sums) {
        if (each != sums.front()) ui::next_control(ui::need::choices);
        if (ui::button(("geometry/sum/" + std::string(each)).c_str(), each)) next.einsum = each;
    }
    set(next, ui::gesture());
    ui::fault("geometry/fault", typed_einsum_.fault);
}

void GeometryLens::draw_einsum(const Drawing& drawing, Subject& subject) {
    draw_einsum_text(subject);
    ImGui::Dummy({0, 6});
    const auto& made = *sum(subject);
    if (!made) {
        if (typed_einsum_.fault.empty()) ui::fault("geometry/fault", made.error().message);
        return;
    }
    NamedSum& all = **made;
    if (!all.done())
        drawing.visit.continue_with([this, &all, &subject] {
            return sum_ && sum_->what && sum_->what->get() == &all &&
                   all.step(subject, state(), weights_->what);
        });
    const EinsumLoops& loops = all.sum().loops();
    const auto as_loops = [&](float width) {
        const present::Card card(drawing, {.key = "geometry/loops", .title = "As loops"}, width);
        {
            const ui::Type mono(ui::Face::mono, ui::size_small);
            for (const std::string& line : loops.written(all.text())) {
                ui::text_item(line);
                ui::semantic_text(ui::Role::paragraph, line);
            }
        }
        ImGui::Dummy({0, 6});
        std::string product;
        for (const EinsumLoops::Loop& loop : loops.loops) {
            ui::list_item(std::string(1, loop.index).c_str(),
                          (many(loop.size, "value") + ", from " + loop.from +
                           (loop.summed ? ", summed over" : ", kept in the result"))
                              .c_str());
            product += (product.empty() ? "" : " · ") + std::to_string(loop.size);
        }
        std::string shapes;
        for (std::size_t o = 0; o < all.text().names.size(); ++o)
            shapes += all.operand(o).name + " " + to_string(all.operand(o).shape) + ", ";
        ui::caption((shapes + "out " + to_string(loops.shape) + ".").c_str());
        ui::landmark_item("geometry/shapes");
        ui::caption(("Multiply-adds: " + product + " = " + with_commas(loops.multiply_adds) + ".").c_str());
        ui::landmark_item("geometry/work");
    };
    const auto result = [&](float width) {
        if (!all.sum().done()) return ui::caption("Adding up …");
        present::sheet(drawing, result_sheet(all), width);
        ui::caption(all.same() ? ("The same as " + std::string(all.same()->matrix->name) + ", the " +
                                  all.same()->matrix->what + ": the largest difference is " +
                                  fixed(all.same()->off, 2) + ".")
                                     .c_str()
                               : "No other matrix of this head is the same.");
        ui::landmark_item("geometry/same");
    };
    present::in_columns({as_loops, result}, least_column);
}

}  // namespace attn::app
