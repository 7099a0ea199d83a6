// Weights in blocks, as GGUF files hold them: the elements of a row come in blocks of 32 or 256, whose
// integers share scales. The layouts are those of llama.cpp's C reference (ggml-quants), the order of
// operations, too: values equal its own to the last bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.hpp"

namespace attn {

inline constexpr std::size_t most_block_elements = 256;

// A block taken apart. Element i is scale[i / part] · quant[i], plus offset[i / part] if there are offsets; a
// scale is d · s, an offset −dmin · m, or as the block has it where it has no small scales.
struct WeightBlock {
    std::size_t elements = 0, part = 0;  // part: how many elements share a scale
    bool has_offsets = false;
    bool has_small_scales = false;  // s and m
    std::array<std::int8_t, most_block_elements> quant{};
    std::array<float, 16> scale{}, offset{};
    float d = 0, dmin = 0;
    std::array<std::int8_t, 16> s{}, m{};

    float value(std::size_t i) const {
        const float product = scale[i / part] * static_cast<float>(quant[i]);
        return has_offsets ? product + offset[i / part] : product;
    }
};

// One block of a type that has blocks; bytes_of(dtype, block_elements(dtype)) bytes of any alignment.
WeightBlock take_apart(DType dtype, std::span<const std::byte> block);

// Whether the scale of the whole block, and its offset's, are finite; if not, values of it may be infinite or
// NaN.
bool has_finite_scales(DType dtype, std::span<const std::byte> block);

// Whole blocks.
void widen_blocks(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

// Rounds values, whole blocks of 32, to Q8_0: d is the largest magnitude / 127, rounded to f16, and each
// value the nearest multiple of it within ±127 d. So a value moves by at most d / 2, and by 127 times what d
// itself was rounded by. Where a value is not finite, or d overflows, the whole block is NaN.
void narrow_to_q8_0(std::span<const float> values, std::span<std::byte> blocks);

}  // namespace attn
