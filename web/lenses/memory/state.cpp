#include "lenses/memory/state.hpp"

#include <cmath>
#include <cstdio>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, 2> network_keys{"modern", "classical"}, plane_keys{"spread", "query"},
    pattern_keys{"seeded", "signs"};
constexpr double farthest = 1e6;  // of a start

template <std::size_t n>
std::optional<std::string> key_unless_first(const std::array<std::string_view, n>& keys, auto value) {
    const auto i = static_cast<std::size_t>(value);
    return i == 0 ? std::nullopt : std::optional(std::string(keys[i]));
}

constexpr LinkRow memory_rows_of_links[] = {
    {"memory.network", "modern or classical",
     [](State& s, const std::string& value) {
         const auto network = index_of(network_keys, value);
         if (network) s.edit<MemoryState>().network = static_cast<MemoryNetwork>(*network);
         return network.has_value();
     },
     [](const State& s, const State&) {
         return key_unless_first(network_keys, s.of<MemoryState>().network);
     }},
    {"memory.beta", "a number from 0.1 to 100",
     [](State& s, const std::string& value) {
         MemoryState memory = s.of<MemoryState>();
         memory.beta = read_number(value);
         return memory.beta && take(s, SetMemory{memory});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& beta = s.of<MemoryState>().beta;
         return beta ? std::optional(shortest(*beta)) : std::nullopt;
     }},
    {"memory.plane", "spread or query",
     [](State& s, const std::string& value) {
         const auto plane = index_of(plane_keys, value);
         if (plane) s.edit<MemoryState>().plane = static_cast<MemoryPlane>(*plane);
         return plane.has_value();
     },
     [](const State& s, const State&) { return key_unless_first(plane_keys, s.of<MemoryState>().plane); }},
    {"memory.start", "a place in the plane, as 0.5,-1",
     [](State& s, const std::string& value) {
         const auto parts = split(value, ',');
         const auto across = read_number(parts[0]), up = read_number(parts.back());
         if (parts.size() != 2 || !across || !up) return false;
         MemoryState memory = s.of<MemoryState>();
         memory.start = {*across, *up};
         return take(s, SetMemory{memory});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& start = s.of<MemoryState>().start;
         if (!start) return std::nullopt;
         return shortest((*start)[0]) + "," + shortest((*start)[1]);
     }},
    {"memory.patterns", "seeded or signs",
     [](State& s, const std::string& value) {
         const auto patterns = index_of(pattern_keys, value);
         if (patterns) s.edit<MemoryState>().of_keys = *patterns == 1;
         return patterns.has_value();
     },
     [](const State& s, const State&) {
         return key_unless_first(pattern_keys, s.of<MemoryState>().of_keys);
     }},
    {"memory.bits", "bits, patterns, the share that is flipped, a pattern and a seed, as 100,10,0.1,0,1",
     [](State& s, const std::string& value) {
         const auto parts = split(value, ',');
         if (parts.size() != 5) return false;
         const auto bits = read_integer<Index>(parts[0]), patterns = read_integer<Index>(parts[1]),
                    stored = read_integer<Index>(parts[3]), seed = read_integer<Index>(parts[4]);
         const auto flipped = read_number(parts[2]);
         if (!bits || !patterns || !flipped || !stored || !seed) return false;
         MemoryState memory = s.of<MemoryState>();
         memory.bits = *bits;
         memory.patterns = *patterns;
         memory.flipped = *flipped;
         memory.stored = *stored;
         memory.seed = *seed;
         return take(s, SetMemory{memory});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto written = [](const MemoryState& m) {
             return std::to_string(m.bits) + "," + std::to_string(m.patterns) + "," + shortest(m.flipped) +
                    "," + std::to_string(m.stored) + "," + std::to_string(m.seed);
         };
         const std::string now = written(s.of<MemoryState>());
         return now == written({}) ? std::nullopt : std::optional(now);
     }},
};

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

}  // namespace

LinkRows memory_links() { return {memory_rows_of_links}; }

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

Status SetMemory::apply(State& state) const {
    const auto within = [](auto value, auto least, auto most) { return value >= least && value <= most; };
    if (memory.beta && !within(*memory.beta, memory_least_beta, memory_most_beta))
        return Error{"β is a number from 0.1 to 100."};
    if (memory.start)
        for (const double each : *memory.start)
            if (!within(each, -farthest, farthest))
                return Error{"A start lies at most a million to each side of the middle."};
    if (!within(memory.bits, memory_least_bits, memory_most_bits))
        return Error{"A network here has 8 to 400 bits."};
    if (!within(memory.patterns, 1, memory_most_patterns))
        return Error{"A network here stores 1 to 200 patterns."};
    if (!within(memory.flipped, 0.0, memory_most_flipped))
        return Error{"At most half of the bits can be flipped."};
    const Index stored = memory.of_keys ? position_limit : memory.patterns;
    if (!within(memory.stored, 0, stored - 1)) return Error{"There is no such pattern."};
    if (!within(memory.seed, 0, memory_most_seed)) return Error{"A seed is a number from 0 to 999,999."};
    state.edit<MemoryState>() = memory;
    return ok();
}

std::string SetMemory::describe(const State& before) const {
    const MemoryState& was = before.of<MemoryState>();
    if (memory.network != was.network)
        return memory.network == MemoryNetwork::modern ? "modern network" : "classical network";
    if (memory.beta != was.beta) return memory.beta ? beta_text(*memory.beta) : "the head’s own β";
    if (memory.plane != was.plane)
        return memory.plane == MemoryPlane::spread ? "plane of the keys’ spread" : "plane of the query";
    if (memory.start != was.start) return memory.start ? "another start" : "start at the query";
    if (memory.of_keys != was.of_keys) return memory.of_keys ? "signs of the keys" : "seeded patterns";
    if (memory.bits != was.bits) return many(memory.bits, "bit");
    if (memory.patterns != was.patterns) return many(memory.patterns, "pattern");
    if (memory.flipped != was.flipped) return percent(memory.flipped) + " of the bits flipped";
    if (memory.seed != was.seed) return "seed " + std::to_string(memory.seed);
    return "pattern " + std::to_string(memory.stored);
}

}  // namespace attn::app
