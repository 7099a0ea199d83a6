// An encoder–decoder as it is trained: a T5, the loss of pairs of sequences and its gradient by every weight.
//
// Pairs lie side by side: the rows of a matrix are the tokens of all sources, or of all targets, and each
// pair attends to itself alone. So short sequences fill the matrix products and nothing is padded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/mask.hpp"
#include "model/positions.hpp"
#include "train/layers.hpp"
#include "train/t5.hpp"

namespace attn {

// Sequences one behind the other.
struct Sequences {
    std::vector<std::int32_t> ids;
    std::vector<Range> parts;

    void add(std::span<const std::int32_t> sequence);
    Index tokens() const { return std::ssize(ids); }
};

struct SequencePairs {
    Sequences source;                   // with their end
    Sequences decoder;                  // what the decoder reads: the start, then the target without its end
    std::vector<std::int32_t> targets;  // for each token of `decoder`: the next one, or −1: none

    // Both end with the end token.
    void add(std::span<const std::int32_t> from, std::span<const std::int32_t> to, std::int32_t start);
};

class EncoderDecoder {
  public:
    EncoderDecoder(const ModelConfig& config, const ParameterLayout& layout,
                   const TrainedKernels& kernels = {});

    // What a forward pass leaves; made once for sequences up to `longest` tokens and up to so many tokens in
    // total, on either side.
    struct Activations;
    using Kept = std::unique_ptr<Activations, void (*)(Activations*)>;
    Kept activations(Index tokens, Index longest) const;

    // decode() reads the sources that were encoded last, which must be as many.
    void encode(std::span<const float> parameters, const Sequences& source, Activations& kept) const;
    ConstMatrix decode(std::span<const float> parameters, const Sequences& decoder,
                       Activations& kept) const;  // the logits [tokens, vocabulary]

    struct Loss {
        double sum = 0;   // Σ −ln p(target)
        Index right = 0;  // targets that are the most likely token
    };
    Loss loss(std::span<const float> parameters, const SequencePairs& pairs, Activations& kept) const;
    // The same sum, and adds the gradient of weight · sum to `gradients`.
    double gradient(std::span<const float> parameters, const SequencePairs& pairs, float weight,
                    Activations& kept, std::span<float> gradients) const;

    // The weights of a pair [heads, queries, keys], of the last forward pass.
    enum class Attention { encoder, decoder, cross };
    Tensor weights(Attention which, Index layer, Index pair, Activations& kept) const;

    const ModelConfig& config() const { return config_; }

  private:
    struct Half {  // self-attention or cross-attention
        TrainedNorm norm;
        TrainedLinear q, k, v, o;
    };
    struct Block {
        Half self;
        std::optional<Half> cross;
        TrainedNorm mlp_norm;
        TrainedMlp mlp;
    };
    struct Stack {
        bool decoder = false;
        Index bias_table = 0;  // offset of [buckets, heads]
        Mask mask;
        std::vector<Block> blocks;
        TrainedNorm final_norm;
    };
    struct HalfRows;
    struct BlockRows;
    struct StackRows;

    Half half(const ParameterLayout& layout, const std::string& name, const char* kind) const;
    Stack stack(const ParameterLayout& layout, bool decoder) const;
    void forward(const Stack& stack, std::span<const float> parameters, const Sequences& sequences,
                 StackRows& rows, const StackRows* memory) const;
    void forward(const Half& half, std::span<const float> parameters, HalfRows& at, StackRows& rows,
                 const StackRows* memory, const Stack& stack) const;
    void backward(const Stack& stack, std::span<const float> parameters, StackRows& rows,
                  const StackRows* memory, MatrixView<float> d_memory, std::span<float> gradients) const;
    void backward(const Half& half, std::span<const float> parameters, HalfRows& at, StackRows& rows,
                  const StackRows* memory, MatrixView<float> d_memory, const Stack& stack,
                  std::span<float> gradients) const;
    AttentionCall call(HalfRows& at, const StackRows& rows, const StackRows* memory, const Stack& stack,
                       Index pair) const;
    RelativeBuckets buckets_of(const Stack& stack) const;
    void fill_biases(const Stack& stack, std::span<const float> parameters, StackRows& rows) const;
    void add_bias_gradient(const Stack& stack, const StackRows& rows, std::span<float> gradients) const;

    TrainedKernels kernels_;
    ModelConfig config_;
    Index embedding_ = 0;  // offset
    Stack encoder_, decoder_;
    TrainedLinear head_;
    float head_scale_ = 1;  // multiplies what the head reads
};

}  // namespace attn
