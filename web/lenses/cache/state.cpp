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

}  // namespace

const Fields<CacheState>& CacheState::fields() {
    using S = CacheState;
    static const Field<S> all[]{
        {"cache.part", "cache: {}", named<&S::part>(part_keys)},
        {"cache.prompt", [](const S& s) { return "prompt of " + many(s.prompt, "token"); },
         whole<&S::prompt>("number of tokens", 0, cache_most_tokens)},
        {"cache.written", [](const S& s) { return many(s.written, "token") + " decoded"; },
         whole<&S::written>("number of tokens", 0, cache_most_tokens)},
        {"cache.bits", "cache in {} bits",
         whole<[](S& s) -> auto& { return s.rounding.bits; }>("number of bits", 4, 16)},
        {"cache.group", "groups of {} tokens",
         whole<[](S& s) -> auto& { return s.rounding.group; }>("number of tokens in a group", 2,
                                                               cache_most_group)},
        {"cache.policy",
         [](const S& s) {
             return std::string("eviction: ") + policy_names[static_cast<std::size_t>(s.eviction.policy)];
         },
         named<[](S& s) -> auto& { return s.eviction.policy; }>(policy_keys)},
        {"cache.budget", [](const S& s) { return "cache of " + many(s.eviction.budget, "key"); },
         whole<[](S& s) -> auto& { return s.eviction.budget; }>("number of keys", 1, cache_most_tokens)},
        {"cache.sinks", "{} sinks",
         whole<[](S& s) -> auto& { return s.eviction.sinks; }>("number of sinks", 0, cache_most_tokens)},
        {"cache.observed", "{} queries observed",
         whole<[](S& s) -> auto& { return s.eviction.observed; }>("number of observed queries", 1,
                                                                  cache_most_observed)},
        {"cache.pooling", "pooled over {} keys",
         whole<[](S& s) -> auto& { return s.eviction.pooling; }>("number of pooled keys", 1,
                                                                 cache_most_pooling)},
        {"cache.kv_heads", "another cache compared",
         whole<&S::kv_heads>("number of heads", 0, cache_most_tokens)},
        {"cache.window", "another cache compared",
         whole<&S::window>("number of tokens", 0, cache_most_tokens)},
        {"cache.against", "another cache compared", whole<&S::bits>("number of bits", 4, 32)},
    };
    static const Fields<S> fields{
        .all = all, .check = [](const S& s) -> Status {
            const auto is_kept_in = [](Index bits) {
                return std::ranges::find(cache_bits, bits) != cache_bits.end();
            };
            if (!is_kept_in(s.bits)) return Error{"Choose 32, 16, 8 or 4 bits for a number of the cache."};
            if (!is_kept_in(s.rounding.bits))
                return Error{"Choose 16, 8 or 4 bits to round keys and values to."};
            if (s.eviction.pooling % 2 == 0) return Error{"SnapKV pools over an odd number of keys."};
            return ok();
        }};
    return fields;
}
LinkRows cache_links() { return {rows_of_fields<CacheState, 13>()}; }

}  // namespace attn::app
