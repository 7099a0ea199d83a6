// Shows a worked example: a few vectors in which every number can be edited.
#pragma once

#include <memory>
#include <optional>

#include "subjects/explain_sums.hpp"
#include "subjects/subject.hpp"
#include "subjects/worked/label_menu.hpp"
#include "subjects/worked/ladder.hpp"
#include "subjects/worked/worked_run.hpp"

namespace attn::app {

LinkRows worked_links();
bool worked_may_select(const State& state, const Selection& selection);
bool worked_may_pin(const State& state, const RunCell& cell);
// Returns nothing if the example has no such cell.
std::optional<Explained> explain_worked_cell(const WorkedState& worked, const WorkedRun& run,
                                             const RunCell& cell);
// Explains a weight between larger units of its attention.
std::optional<Explained> explain_worked_units(const WorkedState& worked, const WorkedRun& run,
                                              const Attention& attention, const RunCell& cell,
                                              std::span<const TokenSpan> spans);

class WorkedSubject final : public Subject, private Comparing, private Editable {
  public:
    explicit WorkedSubject(Visit& visit);
    ~WorkedSubject() override;

    const WorkedRun& run() const { return *run_; }
    // Returns the run before the last step if it has the same shapes; changes are marked against it.
    const WorkedRun* run_before() const;

    Attention* attention() override;
    Attention* second() override;
    Comparing* comparing() override { return this; }
    Editable* editable() override { return this; }
    std::vector<Offer> offers() const override;
    const Ladder* ladder() override { return &*ladder_; }
    Command take_over(const HeadCopy& head) const override;
    std::optional<Explained> explain_at(const CellPlace& place) override;
    std::string status() override;
    Guide guide() const override;
    std::optional<Command> paste(const Matrix& cells) const override;
    bool draw_controls(const Drawing& drawing, bool brief) override;
    bool draw_in_tabs(const Drawing& drawing, bool brief, float width) override;
    std::pair<std::string, std::string> comparison_names() override {
        return {"as it is now", "as it was opened"};
    }
    void name_clicked(Stage matrix, std::optional<Index> row, std::optional<Index> column) override {
        if (now().input(matrix)) label_menu_.open(now(), matrix, row, column);
    }

    void follow(const State& before, Change how) override;
    std::string probe() const override;

  private:
    const WorkedState& now() const { return state().of<WorkedState>(); }
    void rerun();
    // Defined in view.cpp.
    void draw_adjust(bool is_short);
    void preset_menu(float width);
    void source_choice();
    void generator();
    void mask_choice();
    void scale_choice();
    void score_sliders();
    void sizes();
    void settings(bool begin_line);

    WorkedState run_for_, before_for_, original_for_;
    std::shared_ptr<const WorkedRun> run_, before_, original_run_;
    std::unique_ptr<Attention> attention_, original_;
    std::optional<WorkedLadder> ladder_;
    LabelMenu label_menu_;
    int seed_ = 42;          // shown in the field
    bool unfolded_ = false;  // shows the settings if there is little room
    MapSumExplainer sums_;
};

}  // namespace attn::app
