// Draws the classical network: the bits of a pattern, its cue and the state where it comes to rest, its
// energy, and its capacity.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::memory {

namespace {

constexpr float least_picture = 200, flips_height = 280, capacity_height = 280;

std::string cues_told(const CapacityTrials& trials) {
    const Index least = trials.tried(0), most = trials.tried(CapacityTrials::loads - 1);
    return least == most ? many(most, "cue") + " each"
                         : std::to_string(least) + " to " + many(most, "cue") + " each (one for a pattern)";
}

void draw_bits(const Model& model, const Drawing& drawing) {
    const std::array<Sheet, 3> all = bits_sheets(model);
    const auto square = [&](const Sheet& sheet) {
        return [&](float wide) { present::sheet(drawing, sheet, wide); };
    };
    ui::columns("memory/bits", least_picture, present::card_gap, square(all[0]), square(all[1]),
                square(all[2]));
    const auto& modern = model.recall.kept()->modern();
    if (!modern || !modern->done()) return;
    const Index wrong = bits_that_differ(signs_of(modern->end()), model.recall.kept()->pattern());
    ui::caption(("From the same cue, the signs of the modern network at " + beta_text(modern->beta()) +
                 " end with " + many(wrong, "wrong bit") + ".")
                    .c_str());
    ui::landmark_item("memory/beside");
}

void draw_flips(const Model& model, const Drawing& drawing, float width) {
    const BinaryRecall& run = model.recall.kept()->run();
    ui::ChartCurve curve{.name = "E", .colour = ui::series_colour(0), .points = run.flips().size() <= 64};
    for (const std::int64_t each : run.energies()) {
        curve.add(static_cast<double>(curve.x.size()),
                  static_cast<double>(each) / static_cast<double>(2 * model.bits->bits()));
    }
    const std::array curves{curve};
    const ui::Chart chart{.name = "memory-flips",
                          .title = "Energy, flip by flip",
                          .x = {"flips", 0, std::max(curve.x.back(), 1.0), false, true},
                          .y = ui::fitted("energy", curves, false)};
    present::chart(drawing, chart, width, flips_height, curves,
                   [](std::size_t, std::size_t flip) { return cells::classical_energy(flip); });
}

void draw_capacity(const Model& model, const Drawing& drawing, float width) {
    using Network = CapacityTrials::Network;
    const CapacityTrials& trials = *model.capacity.kept();
    const double last = CapacityTrials::load(CapacityTrials::loads - 1);
    ui::ChartCurve classical{.name = "classical", .colour = ui::series_colour(0), .points = true},
        modern{.name = "modern, " + beta_text(model.beta.value_or(1)),
               .colour = ui::series_colour(1),
               .points = true};
    const ui::ChartCurve known{.name = "0.138, known for N → ∞",
                               .colour = ui::theme().dim,
                               .x = {known_capacity, known_capacity},
                               .y = {0, 1},
                               .dashed = true};
    for (const auto& [network, curve] :
         {std::pair{Network::classical, &classical}, std::pair{Network::modern, &modern}}) {
        const std::vector<double> means = trials.means(network);
        for (std::size_t i = 0; i < means.size(); ++i) {
            const auto& shares = trials.shares(network, static_cast<Index>(i));
            const auto [low, high] = std::ranges::minmax(shares);
            curve->x.push_back(CapacityTrials::load(static_cast<Index>(i)));
            curve->y.push_back(means[i]);
            curve->band_low.push_back(low);
            curve->band_high.push_back(high);
        }
    }
    const std::array curves{classical, modern, known};
    const double load = static_cast<double>(model.state.patterns) / static_cast<double>(model.state.bits);
    const ui::Chart chart{.name = "memory-capacity",
                          .title = "Share recovered, " + many(model.state.bits, "random bit"),
                          .x = {"load, patterns / bits", 0, last},
                          .y = {"share recovered", 0, 1.04},
                          .marked = std::min(model.state.of_keys ? 0 : load, last)};
    const ui::ChartReply reply =
        present::chart(drawing, chart, width, capacity_height, curves,
                       [](std::size_t network, std::size_t load) -> std::optional<CellRef> {
                           if (network > 1) return std::nullopt;
                           return cells::capacity(network, load);
                       });
    if (reply.held && !model.state.of_keys) {
        State wanted = model.state;
        wanted.patterns = std::clamp<Index>(std::lround(*reply.held * static_cast<double>(model.state.bits)),
                                            1, most_patterns);
        wanted.stored = std::min(wanted.stored, wanted.patterns - 1);
        set(model, drawing, wanted);
    }
    std::string text = std::to_string(trials.seeds_done()) + " of " + std::to_string(CapacityTrials::seeds) +
                       " seeds, " + cues_told(trials) + " with " + percent(model.state.flipped) +
                       " of the bits flipped; the bands go from the lowest seed to the highest. ";
    if (const auto half = half_recovered(trials.means(Network::classical)))
        text +=
            "The classical network recovers half of its patterns up to a load of " + fixed(*half, 3) + ". ";
    text += "0.138 is the capacity that Amit, Gutfreund and Sompolinsky (1985) found for very many bits.";
    ui::caption(text.c_str());
    ui::landmark_item("memory/measured");
}

}  // namespace

void draw_classical(Model& model, const Drawing& drawing, Subject& subject) {
    static constexpr std::array<const char*, 2> sources{"seeded", "signs of the keys"};
    State wanted = model.state;
    if (const auto chosen =
            ui::labelled_choice("patterns", "memory/patterns-of", sources, wanted.of_keys ? 1 : 0)) {
        wanted.of_keys = *chosen == 1;
        wanted.stored = 0;
    }
    const auto step = [&](const char* name, const char* label, Index& value, Index least, Index most) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto to = ui::stepper(name, label, value, least, most)) value = *to;
        ImGui::EndGroup();
    };
    if (!wanted.of_keys) {
        step("memory/bits", "bits", wanted.bits, least_bits, most_bits);
        step("memory/count", "patterns", wanted.patterns, 1, most_patterns);
        wanted.stored = std::min(wanted.stored, wanted.patterns - 1);
    }
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto to = ui::slider("memory/flipped", "flipped", wanted.flipped, 0, most_flipped, "%.2f"))
        wanted.flipped = std::clamp(*to, 0.0, most_flipped);
    ImGui::EndGroup();
    if (model.bits) {
        Index pattern = std::min(wanted.stored, model.bits->count() - 1);
        step("memory/which", "pattern", pattern, 0,
             (wanted.of_keys == model.state.of_keys && !wanted.of_keys ? wanted.patterns
                                                                       : model.bits->count()) -
                 1);
        if (pattern != model.pattern()) wanted.stored = pattern;
    }
    step("memory/seed", "seed", wanted.seed, 0, most_seed);
    set(model, drawing, wanted);
    model.update(drawing.visit, subject);
    if (!model.bits) {
        ui::paragraph(model.refused, ui::theme().text);
        ui::landmark_item("memory/refused");
        return;
    }
    if (model.state.of_keys) {
        std::string told =
            "Pattern " + std::to_string(model.pattern()) + " is the signs of the key of " +
            key_name(subject, model.patterns()->keys[static_cast<std::size_t>(model.pattern())]) + ".";
        if (model.bits->count() < model.patterns()->count())
            told += " The first " + with_commas(model.bits->count()) + " of " +
                    with_commas(model.patterns()->count()) + " keys are stored.";
        ui::caption(told.c_str());
    }
    ImGui::Dummy({0, 6});
    draw_bits(model, drawing);
    ui::columns(
        "memory/classical", 360, present::card_gap, [&](float w) { draw_flips(model, drawing, w); },
        [&](float w) { draw_capacity(model, drawing, w); });
}

}  // namespace attn::app::memory
