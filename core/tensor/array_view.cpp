#include "tensor/array_view.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>

namespace attn {

namespace {

// Copies the elements at offset, offset + stride, … to `out`, in little-endian order.
void gather(const ArrayView& array, Index offset, Index stride, std::span<std::byte> out) {
    const auto width = static_cast<Index>(byte_size(array.dtype));
    const std::byte* source = array.bytes.data() + offset * width;
    for (auto target = out.begin(); target != out.end(); target += width, source += stride * width) {
        std::copy_n(source, width, target);
        if (array.big_endian) std::reverse(target, target + width);
    }
}

template <class Axes>
Shape strides_over(const Shape& shape, Axes axes) {
    Shape strides(shape.size(), 0);
    if (std::ranges::find(shape, 0) != shape.end())
        return strides;  // the other dimensions may be of any size
    Index stride = 1;
    for (std::size_t axis : axes) {
        strides[axis] = stride;
        stride *= shape[axis];
    }
    return strides;
}

}  // namespace

Index ArrayView::offset(std::span<const Index> position) const {
    Index elements = 0;
    for (std::size_t axis = 0; axis < position.size(); ++axis) elements += position[axis] * strides[axis];
    return elements;
}

Shape row_major_strides(const Shape& shape) {
    return strides_over(shape, std::views::iota(std::size_t{0}, shape.size()) | std::views::reverse);
}

Shape column_major_strides(const Shape& shape) {
    return strides_over(shape, std::views::iota(std::size_t{0}, shape.size()));
}

void read(const ArrayView& array, Index offset, Index stride, std::span<float> out) {
    const std::size_t width = byte_size(array.dtype);
    if (stride == 1 && !array.big_endian)
        return convert_to_f32(
            array.dtype, array.bytes.subspan(static_cast<std::size_t>(offset) * width, out.size() * width),
            out);
    std::array<std::byte, 2048> block;
    const std::size_t block_elements = block.size() / width;
    while (!out.empty()) {
        const std::size_t count = std::min(out.size(), block_elements);
        const auto bytes = std::span(block).first(count * width);
        gather(array, offset, stride, bytes);
        convert_to_f32(array.dtype, bytes, out.first(count));
        out = out.subspan(count);
        offset += static_cast<Index>(count) * stride;
    }
}

std::span<const std::byte> row_major(const ArrayView& array, std::vector<std::byte>& storage) {
    const std::size_t width = byte_size(array.dtype), rank = array.shape.size();
    if (array.strides == row_major_strides(array.shape) && (!array.big_endian || width == 1))
        return array.bytes;

    // This counts through all axes but the last; along the last one, elements are gathered.
    const std::size_t outer = rank == 0 ? 0 : rank - 1;
    const Index run = rank == 0 ? 1 : array.shape.back(), stride = rank == 0 ? 1 : array.strides.back();
    const std::size_t run_bytes = static_cast<std::size_t>(run) * width;
    std::size_t count = run_bytes;
    for (std::size_t axis = 0; axis < outer; ++axis) count *= static_cast<std::size_t>(array.shape[axis]);
    storage.resize(count);
    Shape position(outer, 0);
    for (std::size_t at = 0; at < storage.size(); at += run_bytes) {
        gather(array, array.offset(position), stride, std::span(storage).subspan(at, run_bytes));
        for (std::size_t axis = outer; axis-- > 0;) {
            if (++position[axis] < array.shape[axis]) break;
            position[axis] = 0;
        }
    }
    return storage;
}

Result<Tensor> to_tensor(const ArrayView& array) {
    if (auto count = element_count(array.shape, sizeof(float)); !count) return count.error();
    std::vector<std::byte> storage;
    Tensor tensor(array.shape);
    convert_to_f32(array.dtype, row_major(array, storage), tensor.values());
    return tensor;
}

}  // namespace attn
