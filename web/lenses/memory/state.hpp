// Defines the settings of lens Memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "app/fields.hpp"

namespace attn::app {

enum class MemoryNetwork { modern, classical };
enum class MemoryPlane { spread, query };  // the keys' principal components; the query and its strongest key

inline constexpr double memory_least_beta = 0.1, memory_most_beta = 100;
inline constexpr Index memory_least_bits = 8, memory_most_bits = 400, memory_most_patterns = 200;
inline constexpr Index memory_most_keys = 1000;  // keys whose signs are stored
inline constexpr double memory_most_flipped = 0.5;
inline constexpr Index memory_most_seed = 999'999;

struct MemoryState {
    MemoryNetwork network = MemoryNetwork::modern;
    std::optional<double> beta{};  // none: the head's own scale
    MemoryPlane plane = MemoryPlane::spread;
    std::optional<std::array<double, 2>> start{};  // in the plane, across and up; none: the query itself
    // Settings of the classical network.
    bool of_keys = false;             // stores the signs of the keys; otherwise seeded patterns
    Index bits = 100, patterns = 10;  // for seeded patterns
    double flipped = 0.1;             // share of the cue's bits
    Index stored = 0;                 // the pattern that the cue is made from
    Index seed = 1;
    bool operator==(const MemoryState&) const = default;
    static const Fields<MemoryState>& fields();
};
using SetMemory = Set<MemoryState>;

LinkRows memory_links();

struct MemoryPreset {
    const char* name;
    MemoryState (*make)(MemoryState now);
};
std::span<const MemoryPreset> memory_presets(MemoryNetwork network);

// Writes "β = 0.2236".
std::string beta_text(double beta);

}  // namespace attn::app
