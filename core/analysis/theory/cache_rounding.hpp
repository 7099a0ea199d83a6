// Keys and values of a cache in few bits, as KIVI keeps them (Liu et al. 2024, arXiv 2402.02750): keys in
// groups of successive tokens for each channel, because some channels of keys are large in every token;
// values in groups of successive channels for each token. A group has a least number z and a step s =
// (largest − least) / (2^bits − 1), both kept as f16, and each of its numbers x the code round((x − z) / s),
// within 0 … 2^bits − 1, which reads as z + s · code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

struct CacheRounding {
    Index bits = 4;   // 16: f16, without groups; 8 or 4
    Index group = 8;  // tokens of keys, and channels of values or as many as there are
    bool operator==(const CacheRounding&) const = default;

    // How many tokens are rounded while a query at this position is answered: those of the groups that are
    // complete before it. The newest keep their numbers until then.
    Index rounded_before(Index position) const { return bits == 16 ? position : position / group * group; }
};

struct RoundedGroup {
    float least = 0, step = 0;  // f16 numbers; a step of 0: all of the group are `least`
    // Rounds numbers, all of them finite.
    static RoundedGroup of(std::span<const float> numbers, Index bits);
    Index code(float number, Index bits) const;
    float read(Index code) const { return least + step * static_cast<float>(code); }
};

// Rounds the rows in place, [tokens, head_dim]. The keys' are a whole group of tokens.
void round_keys(const CacheRounding& rounding, MatrixView<float> rows);
void round_values(const CacheRounding& rounding, MatrixView<float> rows);

// The group that a number of keys or of values belongs to, of the tokens of its head before they were
// rounded; 16 bits have none.
RoundedGroup group_of_key(const CacheRounding& rounding, ConstMatrix keys, Index token, Index channel);
RoundedGroup group_of_value(const CacheRounding& rounding, ConstMatrix values, Index token, Index channel);

}  // namespace attn
