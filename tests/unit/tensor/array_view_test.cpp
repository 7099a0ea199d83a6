#include "tensor/array_view.hpp"

#include <algorithm>
#include <bit>
#include <catch_amalgamated.hpp>
#include <cstring>
#include <vector>

using namespace attn;

namespace {

// Makes the elements 0, 1, 2, … of a type, in memory order.
std::vector<std::byte> counted(DType dtype, bool big_endian, Index count) {
    std::vector<std::byte> bytes;
    for (Index i = 0; i < count; ++i) {
        std::byte element[8];
        const auto put = [&](auto value) { std::memcpy(element, &value, sizeof value); };
        switch (dtype) {
            case DType::f16: put(f32_to_f16(static_cast<float>(i))); break;
            case DType::f32: put(static_cast<float>(i)); break;
            case DType::f64: put(static_cast<double>(i)); break;
            default: put(static_cast<std::int64_t>(i)); break;
        }
        const auto width = byte_size(dtype);
        if (big_endian) std::reverse(element, element + width);
        bytes.insert(bytes.end(), element, element + width);
    }
    return bytes;
}

}  // namespace

TEST_CASE("strides of both orders", "[array_view]") {
    CHECK(row_major_strides({2, 3, 4}) == Shape{12, 4, 1});
    CHECK(column_major_strides({2, 3, 4}) == Shape{1, 2, 6});
    CHECK(row_major_strides({}).empty());
    // If one axis is empty, the others may have any size.
    CHECK(row_major_strides({0, PTRDIFF_MAX, PTRDIFF_MAX}) == Shape{0, 0, 0});
}

TEST_CASE("elements are read in place", "[array_view]") {
    const auto dtype = GENERATE(DType::u8, DType::i16, DType::f16, DType::f32, DType::f64, DType::i64);
    const bool big_endian = GENERATE(false, true);
    const Index count = dtype == DType::u8 ? 200 : 1200;
    auto bytes = counted(dtype, big_endian, count);
    bytes.insert(bytes.begin(), std::byte{0xff});  // unaligned
    const ArrayView array{dtype, big_endian, {count}, {1}, std::span(bytes).subspan(1)};
    for (const Index stride : {1, 2, 7}) {
        std::vector<float> out(static_cast<std::size_t>((count - 3) / stride));
        read(array, 3, stride, out);
        for (std::size_t i = 0; i < out.size(); ++i)
            CHECK(out[i] == static_cast<float>(3 + static_cast<Index>(i) * stride));
    }
    std::vector<std::byte> storage;
    const auto row = row_major(array, storage);
    CHECK(storage.empty() == (!big_endian || byte_size(dtype) == 1));
    CHECK(std::ranges::equal(row, counted(dtype, false, count)));
}

TEST_CASE("a tensor of any order of axes", "[array_view]") {
    const auto bytes = counted(DType::f32, false, 24);
    const ArrayView fortran{DType::f32, false, {2, 3, 4}, column_major_strides({2, 3, 4}), bytes};
    const auto tensor = to_tensor(fortran);
    REQUIRE(tensor);
    for (Index i = 0; i < 2; ++i)
        for (Index j = 0; j < 3; ++j)
            for (Index k = 0; k < 4; ++k) {
                CHECK(tensor->heads().head(i)(j, k) == static_cast<float>(i + 2 * j + 6 * k));
                CHECK(fortran.offset(std::vector<Index>{i, j, k}) == i + 2 * j + 6 * k);
            }
    const ArrayView scalar{DType::f32, false, {}, {}, std::span(bytes).subspan(8, 4)};
    CHECK(*to_tensor(scalar) == Tensor({}, std::vector<float>{2}));
    const ArrayView empty{DType::f64, true, {3, 0}, {0, 0}, {}};
    CHECK(to_tensor(empty)->shape() == Shape{3, 0});
}
