// Draws the classical network: the bits of a pattern, its cue and where that comes to rest, its energy, and its capacity.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "lenses/memory/view.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/plot.hpp"

namespace attn::app {

using namespace memory_view;

namespace {

constexpr float least_picture = 200, most_picture = 230, picture_gap = 24, most_bit = 20, bit_label = 44;
constexpr float flips_height = 280, capacity_height = 280;

std::string cues_told(const CapacityTrials& trials) {
    const Index least = trials.tried(0), most = trials.tried(CapacityTrials::loads - 1);
    return least == most ? many(most, "cue") + " each"
                         : std::to_string(least) + " to " + many(most, "cue") + " each (one for a pattern)";
}

}  // namespace

void MemoryLens::draw_bits(const Drawing& drawing, float width) {
    const Index bits = bits_->bits();
    const auto side = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(bits))));
    const auto lower = (bits + side - 1) / side;
    const auto square = [&](const Bits& from) {
        Matrix values(lower, side);
        for (Index i = 0; i < bits; ++i) values.at(i / side, i % side) = from[static_cast<std::size_t>(i)];
        return values;
    };
    const auto [wrong_before, wrong_after] = wrong_bits();
    const Matrix pattern = square(bits_->pattern(stored())), cue = square(cue_),
                 end = square(recall_->state());
    ui::Lines lines(width, {picture_gap, 12});
    const float picture = width >= ui::two_columns
                              ? std::clamp((width - 2 * picture_gap) / 3, least_picture, most_picture)
                              : std::min(width, most_picture);
    const auto draw = [&](const char* name, const char* title, const std::string& notation,
                          const Matrix& values) {
        ui::MatrixGrid grid;
        grid.name = name;
        grid.title = title;
        grid.notation = notation;
        grid.values = &values;
        grid.before = &pattern;
        grid.is_signed = true;
        grid.decimals = 0;
        grid.row_axis = "bits";
        grid.column_axis = "bit";
        grid.allowed = [&](Index r, Index c) { return r * side + c < bits; };
        ui::GridMetrics metrics;
        metrics.cell_width = metrics.cell_height =
            std::min(std::floor((picture - bit_label) / static_cast<float>(side)), most_bit);
        metrics.label_width = bit_label;
        metrics.numbers = false;
        const auto cell_of = [&](ui::CellAt at) -> std::optional<CellRef> {
            const Index i = at.first * side + at.second;
            return &values == &end && i < bits ? std::optional(memory_cells::local_field(i)) : std::nullopt;
        };
        const ImVec2 size = ui::grid_size(grid, metrics);
        draw_grid(drawing, grid, metrics, lines.place({std::max(size.x, picture), size.y}), cell_of);
    };
    draw("memory/stored", "Stored", "pattern " + std::to_string(stored()), pattern);
    draw("memory/cue", "Cue", many(wrong_before, "bit") + " wrong", cue);
    draw("memory/rest", recall_->done() ? "At rest" : "On its way", many(wrong_after, "bit") + " wrong", end);
    lines.finish();
    if (!beside_ || !beside_->done()) return;
    const Index wrong = bits_that_differ(signs_of(beside_->end()), bits_->pattern(stored()));
    ui::caption(("From the same cue, the signs of the modern network at " + beta_text(beside_->beta()) +
                 " end with " + many(wrong, "wrong bit") + ".")
                    .c_str());
    ui::landmark_item("memory/beside");
}

void MemoryLens::draw_flips(const Drawing& drawing, float width) {
    ui::ChartCurve curve;
    curve.name = "E";
    curve.colour = ui::series_colour(0);
    curve.points = recall_->flips().size() <= 64;
    for (const std::int64_t each : recall_->energies()) {
        curve.x.push_back(static_cast<double>(curve.x.size()));
        curve.y.push_back(static_cast<double>(each) / static_cast<double>(2 * bits_->bits()));
    }
    const std::array curves{curve};
    const ui::Chart chart{.name = "memory-flips",
                          .title = "Energy, flip by flip",
                          .x = {"flips", 0, std::max(curve.x.back(), 1.0), false, true},
                          .y = ui::fitted("energy", curves, false)};
    const ui::ChartReply reply = present::chart(drawing, chart, width, flips_height, curves);
    answer(drawing, reply,
           reply.over ? std::optional(memory_cells::classical_energy(reply.over->point)) : std::nullopt);
}

void MemoryLens::draw_capacity(const Drawing& drawing, float width) {
    using Network = CapacityTrials::Network;
    const double last = CapacityTrials::load(CapacityTrials::loads - 1);
    ui::ChartCurve classical, modern, known;
    classical.name = "classical";
    classical.colour = ui::series_colour(0);
    modern.name = "modern, " + beta_text(capacity_of_.beta);
    modern.colour = ui::series_colour(1);
    known.name = "0.138, known for N → ∞";
    known.colour = ui::theme().dim;
    known.dashed = true;
    known.x = {known_capacity, known_capacity};
    known.y = {0, 1};
    for (const auto& [network, curve] :
         {std::pair{Network::classical, &classical}, std::pair{Network::modern, &modern}}) {
        const std::vector<double> means = capacity_->means(network);
        curve->points = true;
        for (std::size_t i = 0; i < means.size(); ++i) {
            const auto& shares = capacity_->shares(network, static_cast<Index>(i));
            const auto [low, high] = std::ranges::minmax(shares);
            curve->x.push_back(CapacityTrials::load(static_cast<Index>(i)));
            curve->y.push_back(means[i]);
            curve->band_low.push_back(low);
            curve->band_high.push_back(high);
        }
    }
    const std::array curves{classical, modern, known};
    const double load = static_cast<double>(now().patterns) / static_cast<double>(now().bits);
    const ui::Chart chart{.name = "memory-capacity",
                          .title = "Share of patterns recovered, " + many(now().bits, "random bit"),
                          .x = {"load, patterns / bits", 0, last},
                          .y = {"share recovered", 0, 1.04},
                          .marked = std::min(now().of_keys ? 0 : load, last)};
    const ui::ChartReply reply = present::chart(drawing, chart, width, capacity_height, curves);
    if (reply.held && !now().of_keys) {
        MemoryState wanted = now();
        wanted.patterns = std::clamp<Index>(std::lround(*reply.held * static_cast<double>(now().bits)), 1,
                                            memory_most_patterns);
        wanted.stored = std::min(wanted.stored, wanted.patterns - 1);
        set(wanted);
    }
    answer(drawing, reply,
           reply.over && reply.over->curve < 2
               ? std::optional(memory_cells::capacity(reply.over->curve, reply.over->point))
               : std::nullopt);
    std::string text = std::to_string(capacity_->seeds_done()) + " of " +
                       std::to_string(CapacityTrials::seeds) + " seeds, " + cues_told(*capacity_) + " with " +
                       percent(now().flipped) +
                       " of the bits flipped; the bands go from the lowest seed to the highest. ";
    if (const auto half = half_recovered(capacity_->means(Network::classical)))
        text +=
            "The classical network recovers half of its patterns up to a load of " + fixed(*half, 3) + ". ";
    text += "0.138 is the capacity that Amit, Gutfreund and Sompolinsky (1985) found for very many bits.";
    ui::caption(text.c_str());
    ui::landmark_item("memory/measured");
}

void MemoryLens::draw_classical(const Drawing& drawing, Subject& subject, float width) {
    static constexpr std::array<const char*, 2> sources{"seeded", "signs of the keys"};
    MemoryState wanted = now();
    ImGui::BeginGroup();
    ui::label("patterns");
    if (const auto chosen = ui::choice("memory/patterns-of", sources, wanted.of_keys ? 1 : 0)) {
        wanted.of_keys = *chosen == 1;
        wanted.stored = 0;
    }
    ImGui::EndGroup();
    const auto step = [&](const char* name, const char* label, Index& value, Index least, Index most) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto to = ui::stepper(name, label, value, least, most)) value = *to;
        ImGui::EndGroup();
    };
    if (!wanted.of_keys) {
        step("memory/bits", "bits", wanted.bits, memory_least_bits, memory_most_bits);
        step("memory/count", "patterns", wanted.patterns, 1, memory_most_patterns);
        wanted.stored = std::min(wanted.stored, wanted.patterns - 1);
    }
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto to =
            ui::slider("memory/flipped", "flipped", wanted.flipped, 0, memory_most_flipped, "%.2f"))
        wanted.flipped = std::clamp(*to, 0.0, memory_most_flipped);
    ImGui::EndGroup();
    if (bits_) {
        Index pattern = std::min(wanted.stored, bits_->count() - 1);
        step("memory/which", "pattern", pattern, 0,
             (wanted.of_keys == now().of_keys && !wanted.of_keys ? wanted.patterns : bits_->count()) - 1);
        if (pattern != stored()) wanted.stored = pattern;
    }
    step("memory/seed", "seed", wanted.seed, 0, memory_most_seed);
    set(wanted);
    update(subject);
    if (!bits_) {
        ui::paragraph(refused_, ui::theme().text);
        ui::landmark_item("memory/refused");
        return;
    }
    if (now().of_keys) {
        std::string told = "Pattern " + std::to_string(stored()) + " is the signs of the key of " +
                           key_name(subject, patterns_->keys[static_cast<std::size_t>(stored())]) + ".";
        if (bits_->count() < patterns_->count())
            told += " The first " + with_commas(bits_->count()) + " of " + with_commas(patterns_->count()) +
                    " keys are stored.";
        ui::caption(told.c_str());
    }
    ImGui::Dummy({0, 6});
    draw_bits(drawing, width);
    ImGui::Dummy({0, 6});
    ui::columns(
        "memory/classical", 360, ui::column_gap, [&](float w) { draw_flips(drawing, w); },
        [&](float w) { draw_capacity(drawing, w); });
}

}  // namespace attn::app
