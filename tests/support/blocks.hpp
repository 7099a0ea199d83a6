// Weights of every type, from random bits.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tensor/dtype.hpp"
#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace attn::test {

inline constexpr std::array block_types{DType::q4_0, DType::q4_1, DType::q5_0,  DType::q5_1,
                                        DType::q8_0, DType::q2_k, DType::q3_k,  DType::q4_k,
                                        DType::q5_k, DType::q6_k, DType::iq4_nl};
inline constexpr std::array weight_types{DType::f32,  DType::f16,  DType::bf16, DType::q4_0,  DType::q4_1,
                                         DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_k,  DType::q3_k,
                                         DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl};

// Returns where a block has its halves.
inline std::vector<std::size_t> halves_of(DType dtype) {
    switch (dtype) {
        case DType::q4_1:
        case DType::q5_1:
        case DType::q4_k:
        case DType::q5_k: return {0, 2};
        case DType::q2_k: return {80, 82};
        case DType::q3_k: return {108};
        case DType::q6_k: return {208};
        default: return {0};
    }
}

// Random bits, except that floats are below 2, so that nothing is infinite: the second highest bit of their
// exponents is cleared.
inline std::vector<std::byte> random_weights(DType dtype, Index elements, std::uint64_t seed) {
    std::vector<std::byte> bytes(bytes_of(dtype, elements));
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits() >> 56);
    const std::size_t last = byte_size(dtype) - 1;
    for (std::size_t block = 0; block < bytes.size(); block += byte_size(dtype)) {
        if (block_elements(dtype) == 1)
            bytes[block + last] &= std::byte{0xbf};
        else
            for (const std::size_t half : halves_of(dtype)) bytes[block + half + 1] &= std::byte{0xbf};
    }
    return bytes;
}

}  // namespace attn::test
