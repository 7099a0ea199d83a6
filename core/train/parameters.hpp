// The weights of a network that is being trained, in one buffer: gradients, moments and steps are loops over
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"
#include "model/families.hpp"
#include "model/model.hpp"
#include "tensor/dtype.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// Says where each weight of a model is in such a buffer, under the names and in the shapes of its checkpoint.
class ParameterLayout {
  public:
    struct Entry {
        std::string name;
        Shape shape;
        Index offset = 0;
        Index size = 0;

        // Its values in a buffer of this layout.
        template <class T>
        std::span<T> in(std::span<T> buffer) const {
            return buffer.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
        }
    };

    // It is an error if the weights do not fit into addressable memory.
    static Result<ParameterLayout> of(const ModelConfig& config);
    static Result<ParameterLayout> of(std::span<const DeclaredWeight> weights);

    std::span<const Entry> entries() const { return entries_; }
    Index size() const { return size_; }             // in floats, including the gaps between weights
    Index count() const;                             // how many parameters
    const Entry* find(std::string_view name) const;  // null: no weight has that name

  private:
    std::vector<Entry> entries_;  // each begins on a 64-byte boundary; the gaps stay 0
    Index size_ = 0;
};

using ParameterBuffer = AlignedVector<float>;

// Initialises like GPT-2 (Radford et al. 2019, section 2.3), whose deviation is 0.02: matrices are normal,
// those that write to the residual stream smaller by √(2 · layers), biases 0, gains 1. If `position_waves` >
// 0, learned positions begin as that amplitude times the sines and cosines of Vaswani et al. 2017, arXiv
// 1706.03762, section 3.5: then an offset between two positions is the same rotation everywhere, which a
// previous-token head learns in a fraction of the steps.
ParameterBuffer initial_parameters(const ParameterLayout& layout, const ModelConfig& config,
                                   std::uint64_t seed, double deviation = 0.02, double position_waves = 0);

// Returns the parameters of a model, widened to f32.
ParameterBuffer parameters_of(const ParameterLayout& layout, const Model& model);

// Writes the weights to a safetensors file, in f32 or rounded to f16.
std::vector<std::byte> safetensors_of(const ParameterLayout& layout, std::span<const float> parameters,
                                      DType dtype);

}  // namespace attn
