// What the logit of a token at a place of a text, or how far it is above another's, would gain from each
// head's output: the gradient by backpropagation (Rumelhart, Hinton & Williams 1986), through everything
// between that head and the logit, from what a Trace holds. Layers are attentions by their number
// (Network::attentions).
//
// Of a changed run the gradient is that of the run as it was changed, by the numbers as they were left. What
// a number is set to, patched to, or a mean of vectors, is a constant; the mean of a row of scores or weights
// depends on the row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/backward.hpp"
#include "model/block.hpp"
#include "model/trace.hpp"

namespace attn {

// L = logit[raise] − logit[over] of one row of the logits.
struct LogitLoss {
    std::int32_t raise = 0;
    std::optional<std::int32_t> over;  // none: the logit alone
    std::optional<Index> row = {};     // none: that of the last token
    bool operator==(const LogitLoss&) const = default;
};

double loss_of(std::span<const float> logits, const LogitLoss& loss);  // [vocabulary]
double loss_in(const Trace& trace, const LogitLoss& loss);             // which fits
// Fails if the vocabulary has no such token, or the text no such row.
Status check_loss(const Trace& trace, const LogitLoss& loss);

class LogitGradient {
  public:
    // Fails as check_loss does. 400 million operations take about 15 ms at 30 GFLOP/s.
    static Result<LogitGradient> start(std::shared_ptr<const Trace> trace, const LogitLoss& loss,
                                       double slice_operations = 400e6);

    // One slice of the way down from the logits to this layer's heads; true while there is more to do.
    bool step(Index layer);
    const Trace& trace() const { return *trace_; }
    const LogitLoss& loss() const { return loss_; }
    double value() const { return value_; }  // L itself

    // Null until step() came by.
    const Tensor* heads(Index layer) const;  // ∂L/∂ heads' output, [heads, queries, head_dim]
    // The same by what they were before the run's interventions on them; where there are none, that itself.
    const Tensor* heads_before(Index layer) const;
    // ∂L/∂ what they write together, before interventions on that, [queries, d_model].
    const Tensor* attention_output(Index layer) const;

  private:
    struct Slice {
        void (LogitGradient::*work)(const Slice&);
        AttentionPlace place;  // or of the MLP behind it
        Index number = 0;      // the attention's
        Range part;            // a range of tokens, or of heads of K and V
    };
    LogitGradient(std::shared_ptr<const Trace> trace, const LogitLoss& loss, double slice_operations);
    // Cuts work on so many tokens, at so many operations each.
    void plan(void (LogitGradient::*work)(const Slice&), Index number, Index tokens,
              double operations_per_token);
    void plan_mlp(Index number);
    void plan_attention(Index number);

    void leave_head(const Slice&);
    void add_row_of_head(std::int32_t token, float slope, std::span<float> d_input) const;
    void enter_encoder(const Slice&);
    void leave_mlp(const Slice&);
    void leave_heads(const Slice&);
    void attend(const Slice&);
    void attend_changed(const Slice&);  // only rows whose scores or weights were changed
    void leave_projections(const Slice&);
    void leave_encoded(const Slice&);  // what keys and values of cross-attention read

    const Trace& stack(const Slice& slice) const {
        return slice.place.kind == AttentionKind::encoder ? *trace_->encoder() : *trace_;
    }
    const Block& block(const Slice& slice) const;
    const LayerTrace& layer(const Slice& slice) const;
    void fill_rotary_back(const Trace& stack);  // sets rotary_back_
    // Takes the gradient of a site back through what the run's interventions did there, of rows from that one
    // on.
    void change_back(Index number, Site site, HeadsView<float> gradient, Index first_row) const;
    void change_back(const Slice& slice, Site site, MatrixView<float> gradient) const;
    void change_keys_back(const Slice& slice);
    bool is_changed(Index number, Site site) const;
    void add_back(std::span<const Linear> linears, MatrixView<float> d_outputs,
                  MatrixView<float> d_input) const;
    // Through the norms of Q and K, of the rows of d_qkv.
    void normalise_qk_back(const Slice& slice, MatrixView<float> d_qkv) const;

    struct Layer {
        Tensor heads, attention_output;
        Tensor heads_before;  // empty where no intervention is on them
        bool complete = false;
    };
    std::shared_ptr<const Trace> trace_;
    LogitLoss loss_;
    double slice_operations_, value_ = 0;
    std::vector<Slice> slices_;
    std::size_t next_ = 0;
    std::vector<Layer> layers_;
    Tensor d_residual_;  // [n, d_model]: ∂L/∂ the residual stream where the work has got to
    // [n, d_model]: ∂L/∂ what cross-attention reads of the encoder, as far as the work has got.
    Tensor d_encoded_;
    // The layer at work, with the shapes of its Record. The backward pass writes neither of the last three.
    Tensor d_q_, d_k_, d_v_, output_, row_max_, row_log_sum_;
    std::optional<Record> unchanged_;  // computes the output once more where interventions changed it
    // [n, d_model]: what the MLP of a parallel block gives to the residual that both sublayers read.
    Tensor d_parallel_;
    RotaryTables rotary_back_;  // with the sines negated
};

}  // namespace attn
