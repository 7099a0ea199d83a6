// The shortest of the least changes that LeastChange comes to from several starts.
//
// Without a soft cap, each log-odds g_j of least_change.hpp is concave in z: a linear score less the
// log-sum-exp of linear ones. The changes with g ≥ b are therefore a convex set, and a z = Jᵀ y with g = b
// and y ≥ 0 is the shortest of them all (Boyd & Vandenberghe 2004, "Convex optimization", section 5.5.3):
// raising a weight has one least change. Lowering one has many, since any rival may take what the key gives
// up. So there is a start for each rival k of each row (of a long one, those with the highest scores): the
// shortest change with m_j − m_k = b_j for the wishes of the row, as if k were its only key without one. They
// are taken in the order of their lengths.
#pragma once

#include <optional>
#include <vector>

#include "analysis/theory/least_change.hpp"

namespace attn {

class ShortestChange {
  public:
    // Each row must have a wish, and no obstacle.
    explicit ShortestChange(std::vector<WishedRow> rows);

    // Works out the rows after one change, O(n_k · size) each; true while there is more to do.
    bool step();
    bool done() const { return done_; }
    // The shortest so far, or the first search while none has found a change.
    const LeastChange& best() const { return best_; }
    bool proven() const { return proven_; }  // no change at all is shorter
    Index starts() const { return starts_; }

  private:
    void end_search();

    LeastChange best_;
    std::optional<LeastChange> other_;          // another start's, while it runs
    std::vector<std::vector<double>> waiting_;  // starts, the shortest last
    Index evaluations_left_ = 0, starts_ = 1;
    bool proven_ = false, done_ = false;
};

}  // namespace attn
