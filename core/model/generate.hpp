// Chooses tokens one after the other, with a cache of keys and values.
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
    std::uint64_t seed = 0;  // for Random, tensor/random.hpp

    bool operator==(const Sampling&) const = default;
};

struct Candidate {
    std::int32_t id;
    float logit;
    double probability;
};

// Returns at most `at_most` tokens, the likeliest first (the lower id first if tied). Probabilities are the
// softmax of logit / temperature over the whole vocabulary. Then only the top_k largest stay (with any that
// equal the last of them), then the fewest whose probabilities reach top_p, and the rest is divided by its
// sum: this is the order of Hugging Face's TemperatureLogitsWarper, TopKLogitsWarper and TopPLogitsWarper
// (Holtzman et al. 2019, arXiv 1904.09751). Temperature 0 gives one token with probability 1. The result is
// empty if a logit is NaN or the largest is infinite.
std::vector<Candidate> next_token_distribution(std::span<const float> logits, const Sampling& sampling,
                                               Index at_most);

// Draws tokens one after the other from logits that somebody computes.
class Sampler {
  public:
    // Fails if a parameter is out of range.
    static Result<Sampler> start(const Sampling& sampling);
    // Draws from the logits [vocabulary] after a position. Fails if they are not finite.
    Result<std::int32_t> draw(std::span<const float> logits, Index position);

  private:
    explicit Sampler(const Sampling& sampling) : sampling_(sampling), random_(sampling.seed) {}
    Sampling sampling_;
    Random random_;
};

class Generator {
  public:
    // Takes the prompt. Fails as ForwardPass::start does, if a sampling parameter is out of range, and if the
    // model reads in both directions, for then each token would change those before it. An encoder–decoder
    // goes on with what its decoder reads.
    static Result<Generator> start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                   const Sampling& sampling, std::vector<std::int32_t> decoder_ids = {});
    // Continues an existing run: its keys and values become the cache. A run that interventions changed, or
    // that another mask than its own did, goes on with them: those of all rows hold for every new token.
    static Result<Generator> start(const std::shared_ptr<const Trace>& prompt, const Sampling& sampling);
    Generator(Generator&&) noexcept;
    Generator& operator=(Generator&&) noexcept;
    ~Generator();

    // Runs one slice of the newest token: a layer or a part of the vocabulary. True while there is more to do
    // before next() can choose; calling it is optional.
    bool step();
    // Chooses and appends a token. Fails if the context is full or the logits are not finite.
    Result<std::int32_t> next();

    std::span<const std::int32_t> ids() const;  // the prompt and the chosen tokens, of a decoder its own
    // [vocabulary], for the last token; while step() returns true, part of it still belongs to the token
    // before.
    std::span<const float> logits() const;

  private:
    struct State;
    explicit Generator(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace attn
