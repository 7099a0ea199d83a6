#include "ceiling.hpp"

attn::bench::Ceiling attn::bench::ceiling_of(std::string_view table) {
    if (table == "simd128") return ceiling128;
    if (table == "avx2") return ceiling_avx2;
    return table == "avx512" ? ceiling_avx512 : nullptr;
}
