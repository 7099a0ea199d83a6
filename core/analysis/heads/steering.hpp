// Directions of the residual stream that steer a run: a multiple of one is added at a site, for all tokens or
// for one (activation addition: Turner et al. 2023, arXiv 2308.10248; differences between sets of texts:
// Rimsky et al. 2023, arXiv 2312.06681). The dial counts in mean lengths of the stream at that site.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/head_index.hpp"
#include "model/trace.hpp"

namespace attn {

struct SteeringDirection {
    enum class Kind : std::uint8_t {
        embedding,    // a token's row as the first block finds it, without its position
        unembedding,  // the direction whose product with the final residual is a token's logit, but for a
                      // positive factor and a constant: its row of the head, back through the last norm's
                      // gain
        written,      // what a head writes when it attends to a token alone: the token's embedding through
                      // the norm in front, W_V and W_O
        second_text,  // the mean of this text's tokens minus that of a second text's, or one token of each
        many_texts,   // the mean of this text's tokens minus that over a set of texts
        contrast,     // the mean over the tokens of positive texts minus that over negative ones
    };
    Kind kind = Kind::embedding;
    std::int32_t token = 0;           // 0 for differences
    HeadIndex head = {};              // writes it: its attention, and the head of queries
    std::optional<Index> place = {};  // second_text's token in both texts; none: the mean of all

    bool is_of_token() const { return kind <= Kind::written; }
    bool operator==(const SteeringDirection&) const = default;
};

// Sites of the whole stream, in the order of the arithmetic.
inline constexpr std::array steering_sites{Site::resid_pre, Site::resid_mid, Site::resid_post};

struct Steering {
    SteeringDirection direction = {};
    Index attention = 0;  // its number (Network::attentions)
    Site site = Site::resid_pre;
    std::optional<Index> row = {};  // none: all tokens, those of a continuation too
    double dial = 0;
    bool operator==(const Steering&) const = default;
};

// Runs of other texts in the same model that differences are taken from, as far as there are any.
struct SteeringRuns {
    using Runs = std::span<const std::shared_ptr<const Trace>>;
    const Trace* second = nullptr;      // second_text
    Runs texts = {};                    // many_texts
    Runs positive = {}, negative = {};  // contrast
};

// Fails with one sentence if the run, or what it is compared with, lacks what the steering names. It takes no
// time that grows with the model.
Status check_steering(const Steering& steering, const Trace& run, const SteeringRuns& others = {});

struct SteeringVector {
    std::vector<double> direction = {};  // [d_model]
    double length = 0;                   // the direction's
    double stream = 0;                   // mean length of the run's tokens at the site

    // What one is added to a token at this dial: dial · stream / length · direction.
    std::vector<float> added(double dial) const;
};
// The same, with the numbers. `run` is the run before any changes; fails as check_steering does, and if the
// direction has no length.
Result<SteeringVector> steering_vector(const Steering& steering, const Trace& run,
                                       const SteeringRuns& others = {});
// Adds the vector at the steering's dial.
Intervention intervention_of(const Steering& steering, const SteeringVector& vector);

}  // namespace attn
