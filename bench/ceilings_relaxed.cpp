#include "ceiling.hpp"

attn::bench::Ceiling attn::bench::ceiling_of(std::string_view table) {
    if (table == "simd128") return ceiling128;
    return table == "relaxed simd128" ? ceiling_relaxed : nullptr;
}
