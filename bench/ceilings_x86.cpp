#include "ceiling.hpp"

attn::bench::Lanes attn::bench::lanes_of(std::string_view table) {
    if (table == "simd128") return lanes128();
    if (table == "avx2") return lanes_avx2();
    if (table == "avx512") return lanes_avx512();
    return {};
}
