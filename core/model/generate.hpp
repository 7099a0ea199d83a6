// Choosing tokens one after the other, with a cache of keys and values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/trace.hpp"
#include "tensor/random.hpp"

namespace attn {

struct Sampling {
    float temperature = 0;   // 0: the likeliest token (greedy), whatever top_k and top_p say
    Index top_k = 0;         // 0: every token
    float top_p = 1;         // (0, 1]
    std::uint64_t seed = 0;  // of Random, tensor/random.hpp

    bool operator==(const Sampling&) const = default;
};

struct Candidate {
    std::int32_t id;
    float logit;
    double probability;
};

// At most `at_most` tokens, likeliest first (of equals the lower id). Probabilities are the softmax of
// logit / temperature over the whole vocabulary; then only the top_k largest stay (with what equals the last of
// them), then the fewest whose probabilities reach top_p, and what stays is divided by its sum: the order of
// Hugging Face's TemperatureLogitsWarper, TopKLogitsWarper and TopPLogitsWarper (Holtzman et al. 2019, arXiv
// 1904.09751). Temperature 0 gives one token with probability 1. Empty where a logit is NaN or the largest is
// infinite.
std::vector<Candidate> next_token_distribution(std::span<const float> logits, const Sampling& sampling,
                                               Index at_most);

class Generator {
  public:
    // Runs the prompt; fails as Forward::start does, and where a number of the sampling is out of range.
    static Result<Generator> start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                   const Sampling& sampling);
    // Goes on from a run that exists: its keys and values become the cache.
    static Result<Generator> start(const Trace& prompt, const Sampling& sampling);
    Generator(Generator&&) noexcept;
    Generator& operator=(Generator&&) noexcept;
    ~Generator();

    // One slice of running the newest token: a layer, or a part of the vocabulary; true while there is more to do
    // before next() can choose. Calling it is optional.
    bool step();
    // Chooses and appends a token. Fails when the context is full or the logits are not finite.
    Result<std::int32_t> next();

    std::span<const std::int32_t> ids() const;  // the prompt and what was chosen
    // [vocabulary], of the last token; while step() is true, partly still of the one before.
    std::span<const float> logits() const;

  private:
    struct State;
    explicit Generator(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace attn
