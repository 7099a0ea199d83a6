#include "lenses/cache/words.hpp"

#include <algorithm>
#include <array>

#include "app/format.hpp"

namespace attn::app::cache_words {

namespace {

template <std::size_t n>
std::string amount(double count, const std::array<const char*, n>& units) {
    std::size_t unit = 0;
    for (; count >= 999.5 && unit + 1 < n; ++unit) count /= 1000;
    return fixed(count, unit == 0 || count >= 99.95 ? 0 : 1) + units[unit];
}

}  // namespace

std::string bytes(double bytes) {
    static constexpr std::array units{" B", " KB", " MB", " GB", " TB"};
    return amount(bytes, units);
}

std::string operations(double operations) {
    static constexpr std::array units{" FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP"};
    return amount(operations, units);
}

std::string policy(const EvictionRule& rule) {
    const std::string keys =
        rule.budget == 1 ? "one key" : "at most " + std::to_string(rule.budget) + " keys";
    switch (rule.policy) {
        case EvictionPolicy::window: return keys + ", the newest";
        case EvictionPolicy::sinks: {
            // One place belongs to the query itself.
            const Index first = std::min(rule.sinks, rule.budget - 1);
            if (first == 0) return keys + ", the newest";
            return keys + ", the first " + std::to_string(first) +
                   (first + 1 == rule.budget ? " and the query’s own" : " and the newest");
        }
        case EvictionPolicy::heavy_hitters:
            return keys + (rule.newest() == rule.budget ? ", the newest" : ", heavy hitters and the newest");
        case EvictionPolicy::snapkv: break;
    }
    return many(rule.budget, "key") + " of the prompt, as SnapKV chooses them";
}

}  // namespace attn::app::cache_words
