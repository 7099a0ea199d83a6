// Shows the worked example as matrices: Q, K → scores → scaled → masked → weights → × V → output, with
// editable inputs.
#pragma once

#include "subjects/explain.hpp"
#include "subjects/ladder.hpp"
#include "subjects/worked/worked_run.hpp"

namespace attn::app {

class WorkedLadder final : public Ladder {
  public:
    // `before` may be null; then nothing is marked as changed.
    WorkedLadder(const WorkedState& state, const WorkedRun& run, const WorkedState& before_state,
                 const WorkedRun* before)
        : state_(state), before_state_(before_state), run_(&run), before_(before) {}

    std::vector<std::vector<Rung>> rungs(Range queries, Range keys) const override;
    Index queries() const override { return state_.queries(); }
    Index keys() const override { return state_.keys(); }
    std::string query_name(Index query) const override;
    std::string key_name(Index key) const override;
    float weight(Index query, Index key) const override;
    const LadderEdits* edits() const override;
    std::string remark(const RunCell& cell) const override;

  private:
    const WorkedState state_, before_state_;
    const WorkedRun *run_, *before_;
};

}  // namespace attn::app
