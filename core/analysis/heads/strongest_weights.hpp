// Says how much heads concentrate: the largest weight of each row of a head, and of a query's row of every
// head.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "attention/head_index.hpp"
#include "model/trace.hpp"

namespace attn {

inline std::vector<float> strongest_weights(const Record& record, Index head) {
    std::vector<float> all;
    for (Index query = 0; query < record.queries(); ++query)
        all.push_back(std::ranges::max(record.weights(head, query)));
    return all;
}

// Near 1 if the head attends to one token at a time.
inline double mean_strongest(const Record& record, Index head) {
    double sum = 0;
    for (const float each : strongest_weights(record, head)) sum += static_cast<double>(each);
    return sum / static_cast<double>(record.queries());
}

// Finds the largest weight in a query's row of every head, one head a step.
class StrongestWeights {
  public:
    // The query is one of this attention's.
    StrongestWeights(std::shared_ptr<const Trace> trace, Index attention, Index query);

    bool step();  // true while there is more to do
    bool done() const { return std::ssize(all_) == trace_->attentions() * heads_; }

    struct Look {
        Index key = 0;
        double weight = 0;
        double rest = 0;  // the rest of the row; distinguishes heads whose weight rounds to 1 in f32
    };
    // Returns nothing until the head is measured, and if its attention has other queries.
    std::optional<Look> of(const HeadIndex& head) const;

  private:
    std::shared_ptr<const Trace> trace_;
    Index heads_, attention_, query_;
    std::vector<std::optional<Look>> all_;  // [attentions, heads], as far as they are known
};

}  // namespace attn
