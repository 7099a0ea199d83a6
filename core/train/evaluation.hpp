// How well a network foretells a text.
#pragma once

#include "train/network.hpp"

namespace attn {

struct Evaluation {
    double loss = 0;      // nats a token, mean
    Index targets = 0;    // tokens foretold: all but the first
    double accuracy = 0;  // share of them that were the most likely token
};

// Of a text of so many bytes, whose tokens were evaluated.
double bits_per_byte(const Evaluation& evaluation, std::size_t bytes);

// In windows of `context` tokens that overlap by half, every token once: all but those of the first half window are foretold
// from at least half a window.
Evaluation evaluate(const TrainedNetwork& network, std::span<const float> parameters, Index context,
                    std::span<const std::int32_t> ids);

}  // namespace attn
