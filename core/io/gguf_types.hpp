// The types of values and of tensors that GGUF files have numbers for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/gguf.hpp"

namespace attn {

// The size of a value; nothing if it depends on what the value holds.
std::optional<std::size_t> gguf_size(GgufType type);

// What stands at a number of llama.cpp's list of tensor types (ggml_type).
struct GgmlType {
    std::uint32_t number;
    std::string_view name;
    std::optional<DType> dtype;  // none: it is not supported
};
inline constexpr std::array ggml_types{
    GgmlType{0, "F32", DType::f32},
    GgmlType{1, "F16", DType::f16},
    GgmlType{2, "Q4_0", DType::q4_0},
    GgmlType{3, "Q4_1", DType::q4_1},
    GgmlType{4, "Q4_2", std::nullopt},
    GgmlType{5, "Q4_3", std::nullopt},
    GgmlType{6, "Q5_0", DType::q5_0},
    GgmlType{7, "Q5_1", DType::q5_1},
    GgmlType{8, "Q8_0", DType::q8_0},
    GgmlType{9, "Q8_1", std::nullopt},
    GgmlType{10, "Q2_K", DType::q2_k},
    GgmlType{11, "Q3_K", DType::q3_k},
    GgmlType{12, "Q4_K", DType::q4_k},
    GgmlType{13, "Q5_K", DType::q5_k},
    GgmlType{14, "Q6_K", DType::q6_k},
    GgmlType{15, "Q8_K", std::nullopt},
    GgmlType{16, "IQ2_XXS", std::nullopt},
    GgmlType{17, "IQ2_XS", std::nullopt},
    GgmlType{18, "IQ3_XXS", std::nullopt},
    GgmlType{19, "IQ1_S", std::nullopt},
    GgmlType{20, "IQ4_NL", DType::iq4_nl},
    GgmlType{21, "IQ3_S", std::nullopt},
    GgmlType{22, "IQ2_S", std::nullopt},
    GgmlType{23, "IQ4_XS", std::nullopt},
    GgmlType{24, "I8", DType::i8},
    GgmlType{25, "I16", DType::i16},
    GgmlType{26, "I32", DType::i32},
    GgmlType{27, "I64", DType::i64},
    GgmlType{28, "F64", DType::f64},
    GgmlType{29, "IQ1_M", std::nullopt},
    GgmlType{30, "BF16", DType::bf16},
    GgmlType{31, "Q4_0_4_4", std::nullopt},
    GgmlType{32, "Q4_0_4_8", std::nullopt},
    GgmlType{33, "Q4_0_8_8", std::nullopt},
    GgmlType{34, "TQ1_0", std::nullopt},
    GgmlType{35, "TQ2_0", std::nullopt},
    GgmlType{36, "IQ4_NL_4_4", std::nullopt},
    GgmlType{37, "IQ4_NL_4_8", std::nullopt},
    GgmlType{38, "IQ4_NL_8_8", std::nullopt},
    GgmlType{39, "MXFP4", std::nullopt},
    GgmlType{40, "NVFP4", std::nullopt},
    GgmlType{41, "Q1_0", std::nullopt},
    GgmlType{42, "Q2_0", std::nullopt},
};
inline constexpr std::string_view supported_weights =
    "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K and IQ4_NL";

}  // namespace attn
