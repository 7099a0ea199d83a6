// Lens Curves shows what changes while a network learns: its loss, what each head does, and the attention of
// every head at one step. The user can go back to any step and branch off new runs from it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/fields.hpp"
#include "lenses/lens.hpp"
#include "runs/step_maps.hpp"
#include "subjects/explain_measured.hpp"

namespace attn::app::curves {

struct State {
    TrainingMaps maps = TrainingMaps::weights;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The scores of a head that have a curve.
struct CurveScore {
    const char *name, *axis, *formula;
    double HeadPoint::* value;
};
inline constexpr std::array<CurveScore, 3> curve_scores{{
    {"Induction", "induction, on one random repeat", "1/n · Σ_i A[i, i − n + 1], i in the second copy",
     &HeadPoint::induction},
    {"Previous token", "weight, on the sequence shown", "Σ_i A[i, i−1] / Σ A", &HeadPoint::previous_token},
    {"Entropy", "nats, on the sequence shown", "1/n · Σ_i (−Σ_j A[i, j] ln A[i, j])", &HeadPoint::entropy},
}};

// The lens's own numbers. A head is counted over all layers.
namespace cells {
inline constexpr std::array<std::string_view, curve_scores.size()> scores{"induction", "previous", "entropy"};
inline constexpr CellKind loss{"loss", {CellAxis{"step"}}},
    score{"score", {CellAxis{"score", scores}, {"head"}, {"step"}}};
}  // namespace cells
CellKinds numbers();
// Older links call these numbers "loss.STEP.0" and "curve.STEP.COLUMN", with a column for each score and
// head.
std::optional<CellRef> measured_cell(const app::State& state, std::string_view name, Index row, Index col);

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() { return nullptr; }
    static bool suits(Subject& subject) { return subject.learning() != nullptr; }
    static Guide guide(Subject& subject) { return subject.guide(); }

    void update(Visit& visit, Subject& subject);
    std::uint64_t key() const { return maps.serial(); }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    HeadIndex chosen;
    const TrainingRun* run = nullptr;  // null until there is one
    std::int64_t step = 0;             // the shown one
    const TrainingView* view = nullptr;
    StepMaps maps;
    ScoreExplainer scores;
    // The pass of a network over the repeated tokens.
    Derived<std::shared_ptr<const attn::Model>, std::shared_ptr<const Trace>> repeated;
};

std::string place_name(HeadIndex head);  // "layer 1, head 0"
Table map_table(const Model& model);     // map of the chosen head
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

class CurvesLens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;

    // The gradient of a weight is a number of the run, which this lens alone computes.
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override {
        return cell.own() || cell.is(Stage::gradient);
    }
};

}  // namespace attn::app::curves
