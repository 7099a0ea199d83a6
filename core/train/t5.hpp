// T5 (Raffel et al. 2020, arXiv 1910.10683) and T5 v1.1 as model hubs have them: configuration, names of the weights,
// initial values and relative positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/families.hpp"
#include "tensor/activation.hpp"
#include "train/parameters.hpp"

namespace attn {

struct T5Config {
    Index vocab_size = 0;
    Index d_model = 0;
    Index heads = 0;
    Index head_dim = 0;  // heads · head_dim may differ from d_model
    Index d_ff = 0;
    Index encoder_layers = 0, decoder_layers = 0;
    Index buckets = 32;        // of distances between a query and a key
    Index max_distance = 128;  // from there on all distances share a bucket
    double norm_epsilon = 1e-6;
    Activation activation = Activation::relu;
    bool gated = false;
    bool tied = true;  // the head is the embedding, and what it reads is divided by √d_model
    std::int32_t start_id = 0, end_id = 1;
};

// Of the bytes of a config.json. Keys that are missing have the defaults of transformers.
Result<T5Config> parse_t5_config(std::span<const std::byte> json);

// Every weight that is read, "encoder.block.0.layer.0.SelfAttention.q.weight" [out, in] and so on.
std::vector<DeclaredWeight> t5_weights(const T5Config& config);

// Of the half "layer.1" of block 0 of "encoder": "encoder.block.0.layer.1.".
std::string t5_half(const char* stack, Index block, Index half);

// Matrices are normal, each with the deviation that transformers' T5 gives it; gains are 1.
ParameterBuffer initial_t5_parameters(const ParameterLayout& layout, const T5Config& config,
                                      std::uint64_t seed);

// The bucket of the offset `key − query`. Half of the buckets are for each direction; in a decoder, where no key lies
// ahead, all are for keys behind. Within a direction, half are for one distance each, and the others grow with its
// logarithm up to max_distance.
Index relative_bucket(Index offset, bool both_directions, const T5Config& config);

}  // namespace attn
