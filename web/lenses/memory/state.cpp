#include "lenses/memory/state.hpp"

#include <cmath>
#include <cstdio>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, 2> network_keys{"modern", "classical"}, plane_keys{"spread", "query"},
    pattern_keys{"seeded", "signs"};
constexpr double farthest = 1e6;  // distance of a start

MemoryState at_beta(MemoryState now, std::optional<double> beta) {
    now.network = MemoryNetwork::modern;
    now.beta = beta;
    now.start.reset();
    return now;
}
MemoryState seeded(MemoryState now, Index patterns) {
    MemoryState next;
    next.network = MemoryNetwork::classical;
    next.beta = now.beta;
    next.plane = now.plane;
    next.start = now.start;
    next.patterns = patterns;
    return next;
}

std::optional<std::array<double, 2>> read_start(std::string_view text) {
    const auto parts = split(text, ',');
    const auto across = read_number(parts[0]), up = read_number(parts.back());
    const auto within = [](double x) { return std::abs(x) <= farthest; };
    if (parts.size() != 2 || !across || !up || !within(*across) || !within(*up)) return std::nullopt;
    return std::array{*across, *up};
}
std::string write_start(const std::array<double, 2>& start) {
    return shortest(start[0]) + "," + shortest(start[1]);
}
constexpr std::string_view start_examples[] = {"0.5,-1", "0,0"};

}  // namespace

const Fields<MemoryState>& MemoryState::fields() {
    using S = MemoryState;
    static const Field<S> all[]{
        {"memory.network", "{} network", named<&S::network>(network_keys)},
        {"memory.beta", [](const S& s) { return s.beta ? beta_text(*s.beta) : "the head’s own β"; },
         real<&S::beta>("value of β", memory_least_beta, memory_most_beta)},
        {"memory.plane", {"plane of the query", "plane of the keys’ spread"}, named<&S::plane>(plane_keys)},
        {"memory.start",
         {"another start", "start at the query"},
         spelled<&S::start, read_start, write_start>("place in the plane", start_examples)},
        {"memory.patterns", {"signs of the keys", "seeded patterns"}, named<&S::of_keys>(pattern_keys)},
        {"memory.bits",
         [](const S& s) {
             return many(s.bits, "bit") + ", " + many(s.patterns, "pattern") + ", " + percent(s.flipped) +
                    " of the cue flipped, pattern " + std::to_string(s.stored) + ", seed " +
                    std::to_string(s.seed);
         },
         whole<&S::bits>("number of bits", memory_least_bits, memory_most_bits),
         whole<&S::patterns>("number of patterns", 1, memory_most_patterns),
         real<&S::flipped>("share of flipped bits", 0, memory_most_flipped),
         whole<&S::stored>("number of the cue’s pattern", 0, position_limit - 1),
         whole<&S::seed>("seed", 0, memory_most_seed)},
    };
    static const Fields<S> fields{
        .all = all, .check = [](const S& s) -> Status {
            if (s.start && !read_start(write_start(*s.start)))
                return Error{"A start lies at most a million to each side of the middle."};
            if (!s.of_keys && s.stored >= s.patterns)
                return Error{"The cue is made of one of the stored patterns, from 0 to " +
                             std::to_string(s.patterns - 1) + "."};
            return ok();
        }};
    return fields;
}
LinkRows memory_links() { return {rows_of_fields<MemoryState, 6>()}; }

std::span<const MemoryPreset> memory_presets(MemoryNetwork network) {
    static constexpr std::array modern{
        MemoryPreset{"Attention’s own β", [](MemoryState now) { return at_beta(now, std::nullopt); }},
        MemoryPreset{"β = 100, large", [](MemoryState now) { return at_beta(now, 100); }},
        MemoryPreset{"β = 0.1, small", [](MemoryState now) { return at_beta(now, 0.1); }},
    };
    static constexpr std::array classical{
        MemoryPreset{"10 patterns in 100 bits", [](MemoryState now) { return seeded(now, 10); }},
        MemoryPreset{"30: too many", [](MemoryState now) { return seeded(now, 30); }},
        MemoryPreset{"Signs of this head’s keys",
                     [](MemoryState now) {
                         now.network = MemoryNetwork::classical;
                         now.of_keys = true;
                         return now;
                     }},
    };
    return network == MemoryNetwork::modern ? std::span<const MemoryPreset>(modern) : classical;
}

std::string beta_text(double beta) {
    char text[32];
    std::snprintf(text, sizeof text, "β = %.4g", beta);
    return text;
}

}  // namespace attn::app
