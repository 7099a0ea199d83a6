// From token ids to a Trace, in slices short enough for a frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/head_index.hpp"
#include "model/trace.hpp"

namespace attn {

// What a head gives for one token, in place of what it computed: [head_dim].
struct SetHeadOutput {
    HeadIndex head;
    Index token = 0;
    std::vector<float> values;
};

inline constexpr double operations_of_a_frame = 400e6;  // take about 15 ms at 30 GFLOP/s

// A row's numbers do not depend on what is computed with it, so the result is the same however the work is cut.
class Forward {
  public:
    // Fails when there is no id, an id lies outside the
    // vocabulary, or there are more ids than the context holds. Models with segments may be told each token's; without
    // them all are 0. A continued run has no others either. An encoder reads the ids and its decoder the decoder_ids,
    // which begin with the start token, or that alone if there are none; the Trace is the decoder's.
    static Result<Forward> start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                 const Kernels& kernels = default_kernels(),
                                 double slice_operations = operations_of_a_frame,
                                 std::vector<std::int32_t> segments = {},
                                 std::vector<std::int32_t> decoder_ids = {});
    // The same under another mask than the model's own, in every layer: what the model would do if it saw that. Fails
    // for an encoder–decoder, whose attentions see different texts.
    static Result<Forward> start_under(Mask mask, std::shared_ptr<const Model> model,
                                       std::vector<std::int32_t> ids,
                                       const Kernels& kernels = default_kernels(),
                                       double slice_operations = operations_of_a_frame,
                                       std::vector<std::int32_t> segments = {});
    // Continues a run of the same model: the rows of the tokens that both begin with are kept, and so is their memory
    // where that can be shared (Tensor::continued). The result has the bits of a run of its own. Where a model looks both
    // ways, or turns all tokens of a longer text otherwise, none are kept. Where an encoder reads the same ids, its run is
    // shared.
    static Result<Forward> start(const std::shared_ptr<const Trace>& before, std::vector<std::int32_t> ids,
                                 double slice_operations = operations_of_a_frame,
                                 std::vector<std::int32_t> decoder_ids = {});
    // The same text, as the model goes on from a head that gives something else. What comes before that is kept, and the
    // mask as well. The head's Record holds what it computed, attention_output what was made of it. Its layer is the
    // number of the attention, and the token one of its queries. Fails if there is no such head or token, or if there are
    // too many or too few values.
    static Result<Forward> start_with(SetHeadOutput changed, const std::shared_ptr<const Trace>& before,
                                      double slice_operations = operations_of_a_frame);
    Forward(Forward&&) noexcept;
    Forward& operator=(Forward&&) noexcept;
    ~Forward();

    // One slice of about slice_operations, one token at least; true while there is more to do. Large ones are worth it:
    // every slice reads the layer's weights anew.
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
        std::optional<SetHeadOutput> changed = {};
    };
    static Result<Forward> start(Given given);
    explicit Forward(std::unique_ptr<Run> run);
    std::unique_ptr<Run> run_;
};

Result<std::shared_ptr<const Trace>> run_forward(std::shared_ptr<const Model> model,
                                                 std::vector<std::int32_t> ids,
                                                 const Kernels& kernels = default_kernels(),
                                                 std::vector<std::int32_t> segments = {},
                                                 std::vector<std::int32_t> decoder_ids = {});

}  // namespace attn
