#include "lenses/cache/state.hpp"

#include <algorithm>
#include <type_traits>

#include "app/command.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, cache_part_count> part_keys{"cost", "bits", "eviction"};
constexpr std::array<std::string_view, eviction_policy_count> policy_keys{"window", "sinks", "heavy_hitters",
                                                                          "snapkv"};

// A link row of a number, which `of` returns a reference to.
template <auto of>
constexpr LinkRow number_row(std::string_view key, std::string_view expected) {
    return {key, expected,
            [](State& s, const std::string& text) {
                CacheState next = s.of<CacheState>();
                const auto value = read_integer<Index>(text);
                if (value) of(next) = *value;
                return value && take(s, SetCache{next});
            },
            [](const State& s, const State&) -> std::optional<std::string> {
                CacheState now = s.of<CacheState>(), usual;
                return of(now) == of(usual) ? std::nullopt : std::optional(std::to_string(of(now)));
            }};
}

// One of a name among several, which `of` returns a reference to.
template <const auto& names, auto of>
constexpr LinkRow name_row(std::string_view key, std::string_view expected) {
    return {key, expected,
            [](State& s, const std::string& text) {
                CacheState next = s.of<CacheState>();
                const auto found = index_of(names, text);
                if (!found) return false;
                of(next) = static_cast<std::remove_reference_t<decltype(of(next))>>(*found);
                return take(s, SetCache{next});
            },
            [](const State& s, const State&) -> std::optional<std::string> {
                CacheState now = s.of<CacheState>(), usual;
                return of(now) == of(usual)
                           ? std::nullopt
                           : std::optional(std::string(names[static_cast<std::size_t>(of(now))]));
            }};
}

constexpr LinkRow cache_link_rows[] = {
    name_row<part_keys, [](CacheState& s) -> auto& { return s.part; }>("cache.part",
                                                                       "cost, bits or eviction"),
    number_row<[](CacheState& s) -> auto& { return s.prompt; }>("cache.prompt", "a number of tokens"),
    number_row<[](CacheState& s) -> auto& { return s.written; }>("cache.written", "a number of tokens"),
    number_row<[](CacheState& s) -> auto& { return s.kv_heads; }>("cache.kv_heads", "a number of heads"),
    number_row<[](CacheState& s) -> auto& { return s.window; }>("cache.window", "a number of tokens"),
    number_row<[](CacheState& s) -> auto& { return s.bits; }>("cache.against", "32, 16, 8 or 4 bits"),
    number_row<[](CacheState& s) -> auto& { return s.rounding.bits; }>("cache.bits", "16, 8 or 4 bits"),
    number_row<[](CacheState& s) -> auto& { return s.rounding.group; }>("cache.group",
                                                                        "a number of tokens from 2 to 128"),
    name_row<policy_keys, [](CacheState& s) -> auto& { return s.eviction.policy; }>(
        "cache.policy", "window, sinks, heavy_hitters or snapkv"),
    number_row<[](CacheState& s) -> auto& { return s.eviction.budget; }>("cache.budget",
                                                                         "a number of keys from 1 on"),
    number_row<[](CacheState& s) -> auto& { return s.eviction.sinks; }>("cache.sinks", "a number of keys"),
    number_row<[](CacheState& s) -> auto& { return s.eviction.observed; }>("cache.observed",
                                                                           "a number of queries from 1 on"),
    number_row<[](CacheState& s) -> auto& { return s.eviction.pooling; }>("cache.pooling",
                                                                          "an odd number of keys up to 63"),
};

bool is_within(Index value, Index least, Index most) { return value >= least && value <= most; }

}  // namespace

LinkRows cache_links() { return {cache_link_rows}; }

Status SetCache::apply(State& state) const {
    for (const Index tokens :
         {cache.prompt, cache.written, cache.window, cache.kv_heads, cache.eviction.sinks})
        if (!is_within(tokens, 0, cache_most_tokens))
            return Error{"That number has to be from 0 to " + with_commas(cache_most_tokens) + "."};
    if (std::ranges::find(cache_bits, cache.bits) == cache_bits.end())
        return Error{"A number of the cache is kept in 32, 16, 8 or 4 bits."};
    if (cache.rounding.bits == 32 || std::ranges::find(cache_bits, cache.rounding.bits) == cache_bits.end())
        return Error{"Keys and values are rounded to 16, 8 or 4 bits."};
    if (!is_within(cache.rounding.group, 2, cache_most_group))
        return Error{"A group is of 2 to " + std::to_string(cache_most_group) + " tokens."};
    if (!is_within(cache.eviction.budget, 1, cache_most_tokens))
        return Error{"A query sees one key at least, its own."};
    if (!is_within(cache.eviction.observed, 1, cache_most_observed))
        return Error{"SnapKV observes 1 to " + with_commas(cache_most_observed) + " queries."};
    if (!is_within(cache.eviction.pooling, 1, cache_most_pooling) || cache.eviction.pooling % 2 == 0)
        return Error{"SnapKV pools over an odd number of keys, " + std::to_string(cache_most_pooling) +
                     " at most."};
    state.edit<CacheState>() = cache;
    return ok();
}

std::string SetCache::describe(const State& before) const {
    const CacheState& was = before.of<CacheState>();
    if (cache.part != was.part)
        return "cache: " + std::string(part_keys[static_cast<std::size_t>(cache.part)]);
    if (cache.prompt != was.prompt) return "prompt of " + many(cache.prompt, "token");
    if (cache.written != was.written) return many(cache.written, "token") + " decoded";
    if (cache.rounding != was.rounding)
        return "cache in " + std::to_string(cache.rounding.bits) + " bits, groups of " +
               std::to_string(cache.rounding.group);
    if (cache.eviction.policy != was.eviction.policy)
        return std::string("eviction: ") + policy_names[static_cast<std::size_t>(cache.eviction.policy)];
    if (cache.eviction.budget != was.eviction.budget) return "cache of " + many(cache.eviction.budget, "key");
    return cache.eviction != was.eviction ? "eviction changed" : "another cache compared";
}

}  // namespace attn::app
