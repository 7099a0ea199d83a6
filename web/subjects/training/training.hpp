// Trains a small network on the page; the user can go back to every step.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runs/text_run.hpp"
#include "subjects/explain_measured.hpp"
#include "subjects/explain_sums.hpp"
#include "subjects/head_ladder.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

inline constexpr std::string_view training_subject = "training";

LinkRows training_links();
bool training_may_select(const State& state, const Selection& selection);
bool training_may_pin(const State& state, const RunCell& cell);

class TrainingSubject final : public Subject, private Comparing, private Learning {
  public:
    explicit TrainingSubject(Visit& visit);

    // Opens the shown network as a model for the user's own text, starting with its probe.
    void open_network(const TrainingRun& run, const TrainingView& view);
    // Offers the network as a download, laid out as on a model hub.
    void save_network(const TrainingRun& run, const TrainingView& view);

    Attention* attention() override;
    Attention* second() override;
    HeadCount head_count() override { return {now().plan.layers, now().plan.heads}; }
    Comparing* comparing() override { return this; }
    Learning* learning() override { return this; }
    std::vector<Offer> offers() const override;
    std::optional<Offer> offer_second() const override;
    const NamedHeads* named_heads() override;
    std::vector<std::string> token_texts(std::span<const std::int32_t> ids) override;
    const Ladder* ladder() override { return ladder_of(ladder_, attention(), chosen_head()); }
    const TrainingState& course() const override { return now(); }
    TrainingRuns& runs() override { return runs_; }
    std::optional<Explained> explain_at(const CellPlace& place) override;
    std::string status() override;
    Guide guide() const override;
    std::string heading() const override { return "Watch attention being learned"; }
    bool draw_controls(const Drawing& drawing, bool brief) override;
    bool draw_in_tabs(const Drawing& drawing, bool brief, float width) override;
    void draw_beside(const Drawing& drawing, float width) override;
    void draw_comparison(const Drawing& drawing) override;
    std::pair<std::string, std::string> comparison_names() override;

    void receive(State& state, const State& here, Change how) override;
    void fit_selection() override;
    bool work(Urgency urgency, double until_ms) override;
    std::uint64_t milestones() const override { return naming_.milestones(); }
    std::int64_t memory_kept() const override { return runs_.bytes(); }
    std::optional<TextBox> text_box() const override;
    void text_typed(Box box, const std::string& text) override;
    std::string probe() const override;

  private:
    // The pass of one of the two runs over the probe, by the network at the shown step.
    struct Shown {
        std::shared_ptr<const Trace> of;
        std::unique_ptr<TextRun> run;
    };
    const TrainingState& now() const { return state().of<TrainingState>(); }
    TextRun* shown(Shown& place, const TrainingRun* run, const TrainingView* view);
    // Defined in view.cpp and settings_view.cpp.
    void draw_presets();
    // Says why the run cannot take another step.
    Status may_go_on(const TrainingRun* run) const;
    bool is_behind(const TrainingRun* run) const;
    std::string told(const TrainingRun* run) const;
    void draw_transport(const TrainingRun* run);
    void draw_go(const TrainingRun* run);
    void draw_settings();

    TrainingRuns& runs_;
    Shown shown_, compared_;
    HeadNaming naming_;  // names for the network that was shown when the runs last rested
    std::optional<HeadLadder> ladder_;
    ScoreExplainer scores_;
    MapSumExplainer sums_;
};

}  // namespace attn::app
