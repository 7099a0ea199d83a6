// What people get wrong when they implement attention, the most frequent in public reports first. Each
// mistake changes an Implementation, in one or several variants.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/check/implementation.hpp"

namespace attn {

struct MistakeVariant {
    std::string detail;  // "base 500000"; may be empty
    std::function<void(Implementation&)> apply;
};

// The line to change, in three libraries.
struct Remedy {
    const char *pytorch, *jax, *numpy;
};

struct Mistake {
    std::string_view key;  // stable, for programs
    const char* name;      // in a list: "Heads merged without a transpose"
    const char* cause;     // "when heads are merged without transposing first"
    const char* shows_in;  // which data tell it from others: "more than one head"
    Remedy remedy;
    // The variants that can be made of this case; none: the mistake has no meaning there.
    std::vector<MistakeVariant> (*variants)(const AttentionCase& given);
};

std::span<const Mistake> mistakes();
const Mistake* find_mistake(std::string_view key);
// Their keys, in the same order.
// clang-format off: many in a line
inline constexpr std::array mistake_keys = std::to_array<std::string_view>({
    "heads_merged_without_transpose", "heads_split_without_transpose", "mask_inverted", "causal_top_left",
    "causal_bottom_right", "causal_strict", "causal_one_more", "causal_missing", "padding_ignored",
    "mask_ignored", "scale_missing", "scale_d_model", "scale_d_k", "scale_twice", "scale_multiplied",
    "rope_interleaved", "rope_halves", "rope_base", "rope_position_from_one", "rope_without_past",
    "rope_on_v", "rope_missing", "kv_heads_tiled", "dropout_left_on", "softmax_over_queries",
    "softmax_over_heads", "empty_rows_nan", "empty_rows_uniform", "k_not_transposed", "mask_after_softmax",
    "mask_added_as_01", "mask_multiplied", "mask_value_finite", "bias_left_out", "softcap_after_mask",
    "softcap_missing", "window_off_by_one", "window_missing", "qkv_order_swapped",
    "batch_and_sequence_swapped", "weights_averaged_over_heads", "base_2_exponential",
    "tile_remainder_ignored", "causal_added"});
// clang-format on

// Dropout is random, so it is recognised by its pattern (dropout_pattern.hpp) and not by a variant.
inline constexpr std::string_view dropout_key = "dropout_left_on";

}  // namespace attn
