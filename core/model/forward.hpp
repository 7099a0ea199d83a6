// From token ids to a Trace, in slices short enough for a frame.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/trace.hpp"

namespace attn {

// The slices are a function of the model and the number of tokens, so the result does not depend on who calls
// step() when.
class Forward {
  public:
    // Fails when there is no id, an id lies outside the vocabulary, or there are more ids than the context holds.
    static Result<Forward> start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                 const Kernels& kernels = default_kernels());
    Forward(Forward&&) noexcept;
    Forward& operator=(Forward&&) noexcept;
    ~Forward();

    bool step();             // one slice of about 40 million operations; true while there is more to do
    float progress() const;  // 0 … 1, by operations
    Result<std::shared_ptr<const Trace>> finish();  // does what is left; once

  private:
    struct Run;
    explicit Forward(std::unique_ptr<Run> run);
    std::unique_ptr<Run> run_;
};

Result<std::shared_ptr<const Trace>> run_forward(std::shared_ptr<const Model> model,
                                                 std::vector<std::int32_t> ids,
                                                 const Kernels& kernels = default_kernels());

}  // namespace attn
