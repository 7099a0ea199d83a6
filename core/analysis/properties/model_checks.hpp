// Checks properties on a whole run of a model: what the heads add up to, and what the same model computes
// again, with another end of the text, or with its tokens permuted.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/properties/record_checks.hpp"
#include "model/forward.hpp"

namespace attn {

// Σ over all heads of what they add, and the bias of W_O, beside the attention's output, [d_model] a row.
class HeadSums {
  public:
    HeadSums(std::shared_ptr<const Trace> trace, Index attention);
    bool step(PropertyResult& into);  // checks a query; true while there is more to do
    float progress() const;

  private:
    std::shared_ptr<const Trace> trace_;
    Index attention_;
    Tensor magnitudes_;  // |W_O|, [in, out]
    std::vector<Index> rows_;
    std::size_t next_ = 0;
};

// What each head adds to a component of the attention's output, in the order of the heads, then the bias.
std::vector<double> head_summands(const Trace& trace, Index attention, Index query, Index component);

// Runs the model on another text of the same tokens and compares the outputs of heads.
class Rerun {
  public:
    // `property` is `bits`, `past` or `positions`. The attention of these heads says which text of an
    // encoder–decoder is changed.
    Rerun(Property property, std::shared_ptr<const Trace> trace, std::vector<CheckedHeads> heads,
          const CheckOptions& options);

    Lacking lacking() const { return lacking_; }
    bool is_meant() const { return is_meant_; }
    bool step(PropertyResult& into);  // a slice of a run, or all comparisons
    float progress() const;
    const std::vector<Index>& order() const { return order_; }  // the tokens that stand at each place

  private:
    void begin(std::vector<std::int32_t> ids, bool of_encoder);
    void compare(const Trace& other, PropertyResult& into) const;

    Property property_;
    std::shared_ptr<const Trace> trace_;
    std::vector<CheckedHeads> heads_;
    std::vector<Index> order_;
    std::optional<ForwardPass> pass_;
    bool is_changed_ = false;  // the run's own changes have been applied again
    bool is_meant_ = true;
    Lacking lacking_ = Lacking::nothing;
};

}  // namespace attn
