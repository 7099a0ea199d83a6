// What the axes of a tensor mean: heads, rows and columns, whatever their order in the file.
#pragma once

#include <cstddef>
#include <vector>

#include "tensor/array_view.hpp"

namespace attn {

struct PlacedTensor {
    std::size_t tensor = 0;                            // of FoundFiles::tensors
    int layer = -1, head = -1, row = -1, column = -1;  // axes of the array; −1: it has none
    Shape at;  // of each axis that is none of these, which element is taken
};

// The array's own elements as [layers, heads, rows, columns].
ArrayView placed(const ArrayView& array, const PlacedTensor& place);

// Of that view, from the array's shape alone.
struct PlacedShape {
    Index layers = 1, heads = 1, rows = 1, columns = 1;
};
PlacedShape placed_shape(const Shape& shape, const PlacedTensor& place);

// The last axes as heads, rows and columns, where there are so many; the axes before them are left to `at`.
enum class AxisOrder {
    heads_first,   // [heads, rows, columns]
    heads_second,  // [rows, heads, columns]
    heads_last,    // [rows, columns, heads]
};
PlacedTensor place_last_axes(std::size_t tensor, const Shape& shape, AxisOrder order);

}  // namespace attn
