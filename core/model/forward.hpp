// Runs a model from token ids to a Trace, in slices short enough for a frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/intervention.hpp"
#include "model/trace.hpp"

namespace attn {

inline constexpr double operations_of_a_frame = 400e6;  // take about 15 ms at 30 GFLOP/s

// A row's numbers do not depend on what is computed with it, so the result is the same however the work is
// cut.
class ForwardPass {
  public:
    // Fails when there is no id, an id lies outside the
    // vocabulary, or there are more ids than the context holds. Models with segments may be told each
    // token's; without them all are 0. A continued run has no others either. An encoder reads the ids and its
    // decoder the decoder_ids, which begin with the start token, or that alone if there are none; the Trace
    // is the decoder's.
    static Result<ForwardPass> start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                     const Kernels& kernels = default_kernels(),
                                     double slice_operations = operations_of_a_frame,
                                     std::vector<std::int32_t> segments = {},
                                     std::vector<std::int32_t> decoder_ids = {});
    // The same under another mask than the model's own, in every layer: what the model would do if it saw
    // that. In an encoder–decoder, whose attentions see different texts, the mask applies to one kind of
    // them. Fails if the model has no such kind.
    static Result<ForwardPass> start_under(Mask mask, std::shared_ptr<const Model> model,
                                           std::vector<std::int32_t> ids,
                                           const Kernels& kernels = default_kernels(),
                                           double slice_operations = operations_of_a_frame,
                                           std::vector<std::int32_t> segments = {},
                                           std::vector<std::int32_t> decoder_ids = {},
                                           AttentionKind kind = AttentionKind::self);
    // Continues a run of the same model: the rows of the tokens that both begin with are kept, and so is
    // their memory where that can be shared (Tensor::continued). The result has the bits of a run of its own.
    // Where a model looks both ways, or turns all tokens of a longer text otherwise, none are kept. Where an
    // encoder reads the same ids, its run is shared. The interventions and the mask of the run hold here too,
    // those of given rows for these only.
    static Result<ForwardPass> start(const std::shared_ptr<const Trace>& before,
                                     std::vector<std::int32_t> ids,
                                     double slice_operations = operations_of_a_frame,
                                     std::vector<std::int32_t> decoder_ids = {});
    // The same text under these interventions, in their order, and no others. What lies before the first
    // number that they, or those of the run before, change is kept; the mask is kept as well. Fails as
    // `resolved` does.
    static Result<ForwardPass> start_with(const std::vector<Intervention>& interventions,
                                          const std::shared_ptr<const Trace>& before,
                                          double slice_operations = operations_of_a_frame);
    ForwardPass(ForwardPass&&) noexcept;
    ForwardPass& operator=(ForwardPass&&) noexcept;
    ~ForwardPass();

    // One slice of about slice_operations, one token at least; true while there is more to do. Large ones are
    // worth it: every slice reads the layer's weights anew.
    bool step();
    float progress() const;                         // 0 … 1, by operations
    Result<std::shared_ptr<const Trace>> finish();  // does what is left; once

  private:
    struct Run;
    struct Given {
        std::shared_ptr<const Model> model;
        std::vector<std::int32_t> ids, segments = {}, decoder_ids = {};
        const Kernels* kernels;
        double slice_operations;
        std::shared_ptr<const Trace> before = {};
        std::vector<Intervention> interventions = {};
        std::optional<RunMask> mask = {};  // an encoder has its own, too
    };
    static Result<ForwardPass> start(Given given);
    explicit ForwardPass(std::unique_ptr<Run> run);
    std::unique_ptr<Run> run_;
};

Result<std::shared_ptr<const Trace>> run_forward(std::shared_ptr<const Model> model,
                                                 std::vector<std::int32_t> ids,
                                                 const Kernels& kernels = default_kernels(),
                                                 std::vector<std::int32_t> segments = {},
                                                 std::vector<std::int32_t> decoder_ids = {});

}  // namespace attn
