// Measures how well a network predicts a text.
#pragma once

#include "train/network.hpp"

namespace attn {

struct Evaluation {
    double loss = 0;      // nats per token, mean
    Index targets = 0;    // predicted tokens: all but the first
    double accuracy = 0;  // the share that were the most likely token
};

// The evaluation must be of a text of this many bytes.
double bits_per_byte(const Evaluation& evaluation, std::size_t bytes);

// Predicts every token once, in windows of `context` tokens that overlap by half: all tokens but those of the
// first half window are predicted from at least half a window.
Evaluation evaluate(const TrainedNetwork& network, std::span<const float> parameters, Index context,
                    std::span<const std::int32_t> ids);

}  // namespace attn
