// Reads arrays of an .npz file.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "io/npz.hpp"

namespace attn::test {

// Accepts any element type; the values are rounded to f32.
inline Tensor array_of(const std::vector<NpzArray>& arrays, const std::string& name) {
    INFO(name);
    const auto found = std::ranges::find(arrays, name, &NpzArray::name);
    REQUIRE(found != arrays.end());
    const auto unpacked = Unpacking(found->entry).finish();
    REQUIRE(unpacked);
    const auto array = parse_npy(unpacked->bytes);
    REQUIRE(array);
    auto tensor = to_tensor(*array);
    REQUIRE(tensor);
    return *std::move(tensor);
}

}  // namespace attn::test
