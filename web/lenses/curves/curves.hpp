// Lens Curves shows what changes while a network learns: its loss, what each head does, and the attention of
// every head at one step. The user can go back to any step and branch off new runs from it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "app/fields.hpp"
#include "attention/head_index.hpp"
#include "lenses/lens.hpp"
#include "maps/map.hpp"
#include "subjects/explain_measured.hpp"
#include "widgets/chart.hpp"
#include "widgets/heatmap.hpp"

namespace attn::app {

// The maps of all heads show either the weights or the gradient of the probe's loss with respect to them.
enum class TrainingMaps { weights, gradient };

struct CurvesState {
    TrainingMaps maps = TrainingMaps::weights;
    bool operator==(const CurvesState&) const = default;
    static const Fields<CurvesState>& fields();
};
using SetTrainingMaps = Set<CurvesState>;

LinkRows curves_links();

// The scores of a head that have a curve. A point's cell, Stage::curve, has the step as its row and score ·
// heads + head as its column.
enum class CurveScore { induction, previous_token, entropy };

// Holds the maps of all heads at one step in the heatmap pass's format: [layers · heads, n, n], −inf where
// masked.
class StepMaps {
  public:
    void update(const TrainingRun& run, const TrainingView& view, TrainingMaps shown);
    std::uint64_t serial() const { return serial_; }
    const float* of(std::size_t head) const { return values_[head].data(); }
    float extent() const { return extent_; }  // the largest magnitude of any cell
    TrainingMaps shown() const { return shown_; }
    const std::shared_ptr<const Trace>& trace() const { return trace_; }
    // Gradients with respect to every head's output, [heads, n, head_dim] per layer; empty for weights.
    const std::vector<Tensor>& gradients() const { return gradients_; }

  private:
    std::vector<Tensor> gradients_;
    std::shared_ptr<const Trace> trace_;
    TrainingMaps shown_ = TrainingMaps::weights;
    std::uint64_t serial_ = 0;
    std::vector<std::vector<float>> values_;
    float extent_ = 0;
};

class CurvesLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject& subject) const override { return subject.course() != nullptr; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject&, const CellRef& cell) const override {
        return cell.stage == Stage::gradient || cell.stage == Stage::loss || cell.stage == Stage::curve;
    }

  private:
    void draw_curves(const Drawing& drawing, const TrainingState& course, const TrainingRun& run,
                     const TrainingRun* compared, std::int64_t shown, float width);
    // Draws a button that forks the run; `plan` is the run's own, without its text.
    void draw_fork(const std::string& name, const char* label, const TrainingPlan& plan,
                   const ForkTraining& fork);
    void draw_maps(const Drawing& drawing, const TrainingRun& run, const TrainingPlan& plan,
                   const TrainingView& view, const NamedHeads* named, float width);
    std::optional<Explained> explain_gradient(const CellPlace& place) const;
    std::optional<Explained> explain_curve(Subject& subject, const TrainingRun& run, const CellRef& cell);
    std::optional<Explained> explain_induction(const TrainingRun& run, const TrainingView& view,
                                               HeadIndex head);
    void draw_choice();
    void draw_branches(const TrainingState& course, const TrainingPlan& plan, std::int64_t shown);
    Table map_table(const TrainingRun& run, const TrainingView& view) const;  // map of the chosen head
    void touch_map(const Drawing& drawing, const TrainingRun& run, HeadIndex head, ImVec2 at,
                   float side) const;

    StepMaps maps_;
    ScoreExplainer scores_;
    // The pass over repeated tokens by the network whose induction score was explained last.
    std::shared_ptr<const Model> repeated_of_;
    std::shared_ptr<const Trace> repeated_;
};

}  // namespace attn::app
