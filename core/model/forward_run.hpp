// A run at work: what ForwardPass plans and computes, slice by slice.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/block.hpp"
#include "model/forward.hpp"
#include "model/reused_rows.hpp"

namespace attn {

// This is not the walk of train/network.cpp, because it goes in slices, and because it keeps only what a
// Trace shows: the MLP is activated within its product. To keep it unactivated as well, as training does,
// takes a quarter more memory at least, and for 1,024 tokens 7 % more time.
struct ForwardPass::Run {
    // Runs one stack of layers.
    Run(Given given, const Network& network);
    // A decoder's, after what an encoder ran, or runs first.
    struct Encoded {
        std::shared_ptr<const Trace> trace;
        std::unique_ptr<Run> run;
    };
    void read(Encoded encoded);

    struct Slice {
        void (Run::*work)(const Slice&);
        Index layer = 0;
        Range tokens;
        double operations = 0;
        bool cross = false;  // which of the layer's attentions
    };

    // Cuts work on these tokens, at so many operations each, into slices of about slice_operations.
    void plan(void (Run::*work)(const Slice&), Range tokens, Index layer, double operations_per_token,
              bool cross = false);
    void plan_all();
    void plan_attention(Index layer, bool cross);
    void plan_layer(Index layer);
    bool step();

    void enter(const Slice&);
    void fill_rotary(const Slice&);
    void embed(const Slice&);
    void enter_attention(const Slice&);
    void project(const Slice&);
    void project_encoded(const Slice&);
    void prepare(const Slice&);
    void attend(const Slice&);
    void leave_attention(const Slice&);
    void fill_hidden(const Slice&);
    void leave_mlp(const Slice&);
    void run_experts(const Slice&);
    void leave_block(const Slice&);
    void leave(const Slice&);
    void finish(const Slice&);

    // Changes the slice's rows of a site, of one matrix or of heads.
    void change(const Slice& slice, Site site, HeadsView<float> rows);
    void change(const Slice& slice, Site site, MatrixView<float> rows) {
        change(slice, site, {rows.data, 1, rows.rows, rows.cols, 0, rows.row_stride});
    }
    // The attention that a slice works on, as the model counts them.
    Index number_of(const Slice& slice) const;

    Index kept_in(Index l, BlockStep step) const { return kept.rows(l, step); }
    // Returns a tensor for all tokens, which lie along that axis, with so many rows of the one before.
    Tensor continue_or_allocate(const Tensor* of_before, Index axis, Index rows, Shape shape) const {
        return of_before ? of_before->continued(axis, rows, trace->tokens(), capacity)
                         : Tensor(std::move(shape));
    }
    Tensor continue_or_allocate(Tensor Trace::* part, Index rows) const {
        return continue_or_allocate(before ? &(before.get()->*part) : nullptr, 0, rows,
                                    width(trace->model_->config().d_model));
    }
    Tensor continue_or_allocate(Index l, BlockStep step, Tensor LayerTrace::* part, Index columns) const {
        return continue_or_allocate(before ? &(layer_before(l).*part) : nullptr, 0, kept_in(l, step),
                                    width(columns));
    }
    Tensor continue_or_allocate(const Slice& slice, BlockStep step, Tensor AttentionTrace::* part,
                                Index columns) const {
        return continue_or_allocate(before ? &(attention_before(slice).*part) : nullptr, 0,
                                    kept_in(slice.layer, step), width(columns));
    }
    const LayerTrace& layer_before(Index l) const { return before->layers_[static_cast<std::size_t>(l)]; }
    const AttentionTrace& attention_before(const Slice& slice) const {
        const LayerTrace& layer = layer_before(slice.layer);
        return slice.cross ? *layer.cross : layer;
    }
    // What a layer reads, which the one before it writes; the last one leaves it as the final residual.
    Tensor next_residual(Index l) const {
        const ModelConfig& config = trace->model_->config();
        const Index rows = l == 0 ? kept.embedded() : kept_in(l - 1, BlockStep::mlp);
        if (l == std::ssize(network().blocks)) return continue_or_allocate(&Trace::final_residual_, rows);
        return continue_or_allocate(before ? &layer_before(l).resid_pre : nullptr, 0, rows,
                                    width(config.d_model));
    }
    Shape width(Index columns) const { return {trace->tokens(), columns}; }

    // The slice's rows of a matrix that may be empty.
    static MatrixView<float> part(Tensor& tensor, const Slice& slice) {
        return tensor.size() > 0 ? rows(tensor.matrix(), slice.tokens) : MatrixView<float>{};
    }

    const Network& network() const { return *trace->network_; }
    const Block& block(const Slice& slice) const {
        return network().blocks[static_cast<std::size_t>(slice.layer)];
    }
    const AttentionSublayer& half(const Slice& slice) const {
        return slice.cross ? *block(slice).cross : block(slice);
    }
    LayerTrace& layer(const Slice& slice) { return trace->layers_[static_cast<std::size_t>(slice.layer)]; }
    AttentionTrace& attention(const Slice& slice) {
        LayerTrace& all = layer(slice);
        return slice.cross ? *all.cross : all;
    }
    // The run of whose rows K and V are made.
    const Trace& keys(bool cross) const { return cross ? *trace->encoder_ : *trace; }

    std::shared_ptr<Trace> trace;
    std::unique_ptr<Run> encoder;  // while it runs
    std::shared_ptr<const Trace> before;
    ReusedRows kept;
    Index capacity = 0;                   // tokens
    std::vector<std::int32_t> positions;  // the rows of all tokens in the table
    RotaryTables rotary;                  // for the tokens that are not kept
    Bias bias;                            // for the text's distances, if the network has such
    // The attention that is being computed, until its AttentionTrace holds them.
    Tensor residual, normalised, q, k, v;
    double slice_operations;
    std::vector<Slice> slices;
    std::size_t next = 0;
    double operations_done = 0, operations = 0;
    std::optional<Error> failure;
};

}  // namespace attn
