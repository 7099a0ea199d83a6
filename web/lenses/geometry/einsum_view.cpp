// Draws Einstein sums that the user types.
#include <imgui.h>

#include <array>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::geometry {

namespace {

constexpr std::array sums{"ik,jk->ij with Q, K",   "ij,jd->id with A, V", "k,k-> with q, k",
                          "ij->i with A",          "ii-> with A",         "ab,cb->ac with W_Q, W_K",
                          "hik,hjk->hij with Q, K"};

void draw_text(Model& model, const Drawing& drawing) {
    Model::Typed& field = model.typed_einsum;
    State next = model.state;
    if (field.of != next.einsum) field = {next.einsum, next.einsum, ""};
    ui::label("einsum");
    const ui::Typed typed = ui::text_field("geometry/text", "Einstein sum, as in ik,jk->ij with Q, K",
                                           field.text, einsum_text_limit);
    std::string names;
    for (const NamedInfo& each : named_matrices())
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    ui::tooltip(("The subscripts of NumPy’s einsum, then “with” and the matrices: " + names).c_str());
    if (typed.too_long) {
        field.fault = "An einsum here has at most " + std::to_string(einsum_text_limit) +
                      " characters, so that text was not taken.";
    } else if (typed.changed) {
        const auto made = NamedSum::of(model.named_head(), field.text);
        field.fault = made ? "" : made.error().message;
        if (made) next.einsum = field.of = field.text;
    }
    for (const char* each : sums) {
        if (each != sums.front()) ui::next_control(ui::need::choices);
        if (ui::button(("geometry/sum/" + std::string(each)).c_str(), each)) next.einsum = each;
    }
    set(drawing, next, ui::gesture());
    ui::fault("geometry/fault", field.fault);
}

void draw_loops(const NamedSum& all, const Drawing& drawing, float width) {
    const EinsumLoops& loops = all.sum().loops();
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
}

void draw_result(const Model& model, const NamedSum& all, const Drawing& drawing, float width) {
    if (!all.sum().done()) return ui::caption("Adding up …");
    present::sheet(drawing, result_sheet(model, all), width);
    ui::caption(all.same() ? ("The same as " + std::string(all.same()->matrix->name) + ", the " +
                              all.same()->matrix->what + ": the largest difference is " +
                              fixed(all.same()->off, 2) + ".")
                                 .c_str()
                           : "No other matrix of this head is the same.");
    ui::landmark_item("geometry/same");
}

}  // namespace

void draw_einsum(Model& model, const Drawing& drawing, Subject& subject) {
    draw_text(model, drawing);
    model.update(drawing.visit, subject);
    ImGui::Dummy({0, 6});
    const auto& all = model.sum();
    if (!all) {
        if (model.typed_einsum.fault.empty()) ui::fault("geometry/fault", all.error().message);
        return;
    }
    if (!all->done())
        drawing.visit.continue_with([&model] { return model.record && model.sum() && model.sum()->step(); });
    present::in_columns({[&](float width) { draw_loops(*all, drawing, width); },
                         [&](float width) { draw_result(model, *all, drawing, width); }},
                        least_column);
}

}  // namespace attn::app::geometry
