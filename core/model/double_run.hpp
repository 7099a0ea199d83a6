// A run of a model once more, in double precision: what its numbers are without the roundings of f32. The
// weights are those of the files, and every step is the plain loop over them. It has the run's mask and
// interventions; what these take from other runs or from means are the f32 numbers that the run took.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/explain.hpp"
#include "attention/stage.hpp"
#include "model/double_loops.hpp"
#include "model/intervention.hpp"
#include "model/trace.hpp"

namespace attn {

struct SublayerNorms;

class DoubleRun {
  public:
    // Whether a run can be repeated so: it is short enough for its model's size.
    static bool repeats(const Trace& run);
    explicit DoubleRun(std::shared_ptr<const Trace> run);
    DoubleRun(const DoubleRun&) = delete;
    DoubleRun& operator=(const DoubleRun&) = delete;

    bool step();  // about 10 ms; true while there is more to do
    bool done() const { return next_ == ops_.size(); }
    float progress() const { return static_cast<float>(operations_done_ / operations_); }
    const std::shared_ptr<const Trace>& run() const { return run_; }

    static bool has(Stage stage);  // whether value() knows such numbers
    // A number of the run, where its Trace has it: of an attention by its number, and of one of its heads
    // where the stage is a head's. Nothing where the run has no such number. Only when it is done.
    std::optional<double> value(Index attention, Stage stage, Index head, Index row, Index col) const;
    // The softmax of a row's logits at a token of the vocabulary.
    double probability(Index row, Index token) const;

  private:
    struct Half {
        DoubleRows resid_pre, input, q, k, v, output, attended, between;  // heads side by side
    };
    struct Layer : Half {
        std::optional<Half> cross;
        DoubleRows middle, mlp_input, up, hidden, expert_weights, mlp_output, mlp_between;
    };
    // A stack of layers: that of the model, or its encoder's.
    struct Stack {
        const Trace* run = nullptr;
        DoubleRows token, position, segment, sum, final_residual, final_norm, head_input;
        std::vector<Layer> layers;
    };
    // Work on units that can be done in slices, in their order.
    struct Op {
        std::function<void(Range)> work;
        Index units;
        double operations;  // operations of one unit
    };

    void plan(Index units, double operations, std::function<void(Range)> work);
    void plan_stack(Stack& stack);
    void plan_embedding(Stack& stack, DoubleRows& residual);
    void plan_half(Stack& stack, Index attention, Half& half, DoubleRows& left);
    void plan_mlp(Stack& stack, Index layer, Index attention, DoubleRows& left);
    void plan_experts(Stack& stack, Index layer);
    void plan_head(Stack& stack);
    void plan_linear(const LinearView& linear, const DoubleRows& x, DoubleRows& y, Index first = 0);
    void plan_norm(const Norm* norm, const DoubleRows& x, DoubleRows& y);
    void plan_activation(DoubleRows& rows);
    void plan_left(const SublayerNorms& norms, const DoubleRows& residual, const DoubleRows& output,
                   DoubleRows& between, DoubleRows& left);
    void plan_rope(const Rotary& rotary, DoubleRows& rows, Index heads, Index tokens);
    void plan_changes(const Stack& stack, Index attention, Site site, DoubleRows& rows, Index heads = 1);

    struct Found {
        const Stack* stack;
        const Layer* layer;
        const Half* half;
        const DoubleRows* keys;  // what K and V are made of
    };
    Found find(Index attention) const;
    RowChain chain(Index attention, const Half& half, Index head, Index query) const;
    double logit(Index row, Index token) const;
    std::vector<double> gain_of(const Norm& norm) const;

    std::shared_ptr<const Trace> run_;
    const Model& model_;
    Stack encoder_, own_;
    std::vector<Op> ops_;
    std::size_t next_ = 0;
    Index next_unit_ = 0;
    double operations_ = 0, operations_done_ = 0;
    struct LogSum {
        Index row = -1;
        double value = 0;
    };
    mutable LogSum log_sum_;  // the row whose logits were asked for last
};

}  // namespace attn
