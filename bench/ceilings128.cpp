#include "ceiling.hpp"

attn::bench::Lanes attn::bench::lanes_of(std::string_view table) {
    if (table == "simd128") return lanes128();
    return {};
}
