#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/examples/examples.hpp"
#include "present/card.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::examples {

namespace {

void draw_settings(const Model& model, const Drawing& drawing) {
    const ui::Row row("examples/settings");
    static constexpr std::array names{"weight", "length written", "effect on the logit"};
    State next = model.of.state;
    ui::control(ui::need::named_choices, [&] {
        if (const auto by = ui::labelled_choice("by", "examples/by", names, static_cast<int>(next.by)))
            next.by = static_cast<ExampleMeasure>(*by);
    });
    static constexpr std::array counts{100, 500, 2000};
    static constexpr std::array count_names{"100", "500", "2,000"};
    const auto chosen = std::ranges::find(counts, next.texts) - counts.begin();
    ui::control(ui::need::choices, [&] {
        if (const auto texts =
                ui::labelled_choice("texts", "examples/texts", count_names, static_cast<int>(chosen)))
            next.texts = counts[static_cast<std::size_t>(*texts)];
    });
    if (next != model.of.state) drawing.visit.perform(Set<State>{next});
}

// Draws which texts these are, and the choice of others.
void draw_texts(const Model& model, Subject& subject) {
    ui::label("Texts");
    subject.text_model()->draw_sample();
    ui::caption((many(std::ssize(model.search->texts()), "text") + ", " +
                 with_commas(static_cast<Index>(model.search->examples().pairs(model.of.head))) +
                 " pairs of this head.")
                    .c_str());
    ui::landmark_item("examples/told");
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    ui::hint(
        "Read the lists from the top: does one rule cover the strongest and the median? Click a line to open "
        "it.");
    if (ui::settings()) draw_settings(model, drawing);
    if (!model.search) return;
    if (!model.search->done())
        drawing.visit.continue_with([search = model.search] { return search->step(); });
    std::optional<HeadExample> opened;
    const auto draw = [&](List which, float width) {
        if (const auto pair = parts::draw_example_lines(drawing, lines_of(model, which), width))
            opened = pair;
    };
    const float width = ImGui::GetContentRegionAvail().x;
    if (width < ui::two_columns) {
        for (const List which : {List::strongest, List::deciles, List::random}) draw(which, width);
    } else {
        const float column = std::floor((width - present::card_gap) / 2);
        ui::column("left", column, [&](float w) { draw(List::strongest, w); });
        ImGui::SameLine(0, present::card_gap);
        ui::column("right", column, [&](float w) {
            draw(List::deciles, w);
            draw(List::random, w);
        });
    }
    draw_texts(model, subject);
    if (opened) parts::open_example(subject, *model.search, model.of.head, *opened);
}

}  // namespace attn::app::examples
