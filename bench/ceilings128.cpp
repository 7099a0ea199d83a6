#include "ceiling.hpp"

attn::bench::Ceiling attn::bench::ceiling_of(std::string_view table) {
    return table == "simd128" ? ceiling128 : nullptr;
}
