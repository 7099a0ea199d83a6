// Commands that must succeed or fail, and random ones.
#pragma once

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "app/presets.hpp"
#include "app/worked_run.hpp"
#include "tensor/random.hpp"

namespace attn::test {

inline app::State after(const app::State& state, const app::Command& command) {
    auto next = app::apply(state, command);
    INFO((next ? "" : next.error().message));
    REQUIRE(next);
    return *next;
}

inline std::string refusal(const app::State& state, const app::Command& command) {
    const auto next = app::apply(state, command);
    REQUIRE_FALSE(next);
    return next.error().message;
}

inline app::State opened(app::PresetId preset) {
    return after(app::default_state(), app::OpenPreset{preset});
}

inline std::vector<double> weights(const app::WorkedState& worked) {
    const auto run = app::run_worked(worked);
    REQUIRE(run);
    return run->matrix(worked, app::MatrixId::weight).values;
}

// What every State is, whatever commands led to it.
inline void check_valid(const app::State& s) {
    const app::WorkedState& w = s.worked;
    const auto fits = app::check_inputs(w);
    INFO((fits ? "" : fits.error().message));
    REQUIRE(fits);
    const auto used = app::inputs_of(w.source);
    for (int i = 0; i <= static_cast<int>(app::MatrixId::raw); ++i) {
        const auto id = static_cast<app::MatrixId>(i);
        if (std::ranges::find(used, id) == used.end()) REQUIRE(w.stored(id)->empty());
    }
    REQUIRE(std::ssize(w.query_labels) == w.queries());
    REQUIRE(std::ssize(w.key_labels) == w.keys());
    if (w.source == app::Source::projections) REQUIRE(w.query_labels == w.key_labels);
    const bool painted = w.mask.kind == app::WorkedMask::Kind::painted;
    REQUIRE(std::ssize(w.mask.painted) == (painted ? w.queries() * w.keys() : 0));
    if (w.source == app::Source::scores) REQUIRE_FALSE(w.scale_by_sqrt_d);
    if (s.lens == app::LensId::worked) {
        if (s.selection.query) REQUIRE(*s.selection.query < w.queries());
        if (s.selection.key) REQUIRE(*s.selection.key < w.keys());
        if (s.pin) {
            const app::MatrixShape shape = app::shape_of(w, s.pin->matrix);
            REQUIRE(s.pin->row < shape.rows);
            REQUIRE(s.pin->col < shape.cols);
        }
    }
}

// A command that a person might give, or one that has to be refused.
class RandomCommands {
  public:
    explicit RandomCommands(std::uint64_t seed) : random_(seed) {}

    app::Command next(const app::State& state) {
        using namespace app;
        switch (below(38)) {
            case 0: return OpenLens{static_cast<LensId>(below(2))};
            case 1: return OpenPreset{presets()[static_cast<std::size_t>(below(std::ssize(presets())))].id};
            case 2:
            case 3: return SetCell{cell(state), number()};
            case 4: {
                Matrix cells(1 + below(5), 1 + below(5));
                for (double& value : cells.values) value = number();
                return PasteCells{cell(state), std::move(cells)};
            }
            case 5:
            case 6: return Resize{axis(), below(10) ? below(8) : below(80) - 5};
            case 7:
            case 8: return RemoveAt{axis(), below(6) - 1};
            case 9: return SetSource{static_cast<Source>(below(3))};
            case 10: return Generate{static_cast<std::uint32_t>(random_.bits())};
            case 11: return SetScaling{below(2) == 0};
            case 12: return SetTemperature{number()};
            case 13: return SetSoftcap{number()};
            case 14:
                return SetMask{static_cast<WorkedMask::Kind>(below(4)), below(140) - 70, below(70), below(5)};
            case 15: return PaintMask{below(6) - 1, below(6), below(2) == 0};
            case 16: return SetLabel{below(2) == 0, below(6), text()};
            case 17: return SetText{text()};
            case 18: return SetModel{text()};
            case 19:
                return SetMap{{.stage = static_cast<MapStage>(below(7)),
                               .pooling = static_cast<Pooling>(below(2)),
                               .unit = static_cast<Unit>(below(2))}};
            case 20: {
                FlowChoice flow{
                    static_cast<float>(random_.uniform() * 1.1), static_cast<FlowForm>(below(2)), {}};
                for (Index more = below(10); more > 0; --more) flow.heads.push_back({below(4), below(5) - 1});
                return SetFlow{std::move(flow)};
            }
            case 21:
                return SetSampling{{static_cast<float>(random_.uniform() * 3), below(100) - 1,
                                    static_cast<float>(random_.uniform()), random_.bits()}};
            case 22: {
                Selection selection{below(4), below(5) - 1, {}, {}};
                if (below(2)) selection.query = below(6) - 1;
                if (below(2)) selection.key = below(2'000'000);
                if (below(2)) selection.counterpart = below(2'000'000) - 1;
                return Select{selection};
            }
            case 23: return SetTrainingPlan{plan()};
            case 24: return ForkTraining{below(1000) - 50, values()};
            case 25: return below(2) ? CompareTraining{plan()} : CompareTraining{};
            case 26: return below(3) ? ShowTrainingStep{below(1000) - 10} : ShowTrainingStep{};
            case 27: return RunTraining{below(2) == 0};
            case 28:
                if (below(3) == 0) return Compare{};
                return Compare{Comparison{text(), static_cast<ComparisonView>(below(3))},
                               below(4) ? std::nullopt : std::optional(text())};
            case 29: return SetHeads{{score(), score()}};
            case 30: return OpenTrained{{plan(), below(1000) - 10}, text(), {below(4), below(5) - 1}};
            case 31: {
                OpenTensors files;
                for (Index i = below(4); i > 0; --i) files.files.push_back(text());
                return files;
            }
            case 32: return SetTensorMap{{static_cast<MapStage>(below(7)), static_cast<Pooling>(below(2))}};
            case 34: return SetTensorHeads{{score(), score()}};
            case 35:
                return SetTensorFlow{{static_cast<float>(random_.uniform()),
                                      static_cast<FlowForm>(below(2)),
                                      {{below(4), below(5)}}}};
            case 36: return SetTrainingMaps{static_cast<TrainingMaps>(below(2))};
            case 33: return SetTensorRule{{static_cast<TensorRule::Causal>(below(3)), below(2) == 0}};
            default: return below(4) ? Pin{cell(state)} : Pin{};
        }
    }

  private:
    Index below(Index limit) {
        return static_cast<Index>(random_.bits() % static_cast<std::uint64_t>(limit));
    }
    std::optional<app::HeadScore> score() {
        if (below(3) == 0) return std::nullopt;
        return static_cast<app::HeadScore>(below(std::ssize(app::head_scores)));
    }
    app::TrainingValues values() {
        app::TrainingValues v{
            .rate = below(2) ? 0.01 : number(), .seed = random_.bits(), .window = below(80) - 4};
        for (Index i = below(3); i > 0; --i) v.ablated.push_back({below(3), below(5)});
        return v;
    }
    app::TrainingPlan plan() {
        const auto presets = app::training_presets();
        app::TrainingPlan plan = presets[static_cast<std::size_t>(below(std::ssize(presets)))].plan;
        if (below(2)) plan.layers = below(6);
        if (below(2)) plan.steps = below(1500);
        if (below(2)) plan.values = values();
        if (below(2)) plan.changes.push_back({below(300), values()});
        if (below(2)) plan.text = text();
        return plan;
    }
    app::Axis axis() { return static_cast<app::Axis>(below(5)); }
    app::CellRef cell(const app::State& state) {
        const auto inputs = app::inputs_of(state.worked.source);
        const auto id = below(4) ? inputs[static_cast<std::size_t>(below(std::ssize(inputs)))]
                                 : static_cast<app::MatrixId>(below(app::matrix_count));
        return {id, below(7) - 1, below(7) - 1, false, below(10) == 0};
    }
    double number() {
        switch (below(8)) {
            case 0: return 0;
            case 1: return static_cast<double>(below(9)) / 4;
            case 2: return random_.normal() * 1e30;
            case 3: return random_.normal() * 1e-310;
            case 4: return std::numeric_limits<double>::infinity() * (below(2) ? 1 : -1);
            case 5: return below(3) ? 1e300 : std::numeric_limits<double>::quiet_NaN();
            default: return random_.normal();
        }
    }
    std::string text() {
        static constexpr const char* pieces[] = {"",  "cat", ",", "\\", " ",    "=",  "&",  "%",
                                                 "#", "+",   "ä", "🐈", "\xff", "\n", "a.b"};
        std::string text;
        for (Index i = below(6); i > 0; --i) text += pieces[below(std::ssize(pieces))];
        return below(20) ? text : std::string(static_cast<std::size_t>(below(3000)), 'x');
    }

    Random random_;
};

}  // namespace attn::test
