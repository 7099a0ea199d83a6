// Defines the settings of lens Cache: which part of it is shown, and the numbers for its runs and formulas.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "analysis/theory/cache_cost.hpp"
#include "analysis/theory/cache_rounding.hpp"
#include "analysis/theory/eviction.hpp"
#include "app/fields.hpp"

namespace attn::app {

enum class CachePart : std::uint8_t { cost, bits, eviction };
inline constexpr Index cache_part_count = 3;
inline constexpr std::array<Index, 4> cache_bits{32, 16, 8, 4};  // the first is the page's own precision

struct CacheState {
    CachePart part = CachePart::cost;
    // Tokens that are read at once. 0: for the cost, the whole text; for decoding, half of it, and the rest
    // is decoded.
    Index prompt = 0;
    Index written =
        0;  // for the cost, tokens decoded after the prompt; 0: as many as the prompt has, if there is room
    // The cache compared with the model's own. For key-value heads and the window, 0 means the model's own.
    Index kv_heads = 0, window = 0, bits = 4;
    CacheRounding rounding{};
    EvictionRule eviction{};
    bool operator==(const CacheState&) const = default;
    static const Fields<CacheState>& fields();
};
inline constexpr Index cache_most_tokens = 1'000'000, cache_most_group = 128, cache_most_observed = 1000,
                       cache_most_pooling = 63;
using SetCache = Set<CacheState>;

LinkRows cache_links();

inline constexpr std::array<const char*, eviction_policy_count> policy_names{"window", "sinks + window",
                                                                             "heavy hitters", "SnapKV"};

struct CachePreset {
    const char *key, *name;
    const char* text;
    CacheState cache;
};
inline constexpr const char* cache_story =
    "The animal didn't cross the street because it was too tired. The dog saw a red ball in the garden. It";
inline constexpr std::array<CachePreset, 3> cache_presets{{
    {"heavy",
     "A story with 12 keys",
     cache_story,
     {.part = CachePart::eviction, .eviction = {.policy = EvictionPolicy::heavy_hitters, .budget = 12}}},
    {"window",
     "Without its first tokens",
     cache_story,
     {.part = CachePart::eviction, .eviction = {.policy = EvictionPolicy::window, .budget = 12}}},
    {"bits", "In 4 bits", cache_story, {.part = CachePart::bits}},
}};

}  // namespace attn::app
