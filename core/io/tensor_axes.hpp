// Says which axes of a tensor are heads, rows and columns, whatever their order in the file.
#pragma once

#include <cstddef>
#include <vector>

#include "tensor/array_view.hpp"

namespace attn {

struct PlacedTensor {
    std::size_t tensor = 0;                            // index into FoundFiles::tensors
    int layer = -1, head = -1, row = -1, column = -1;  // axes of the array; −1: it has no such axis
    Shape at;                                          // for each of the other axes, which element is taken
};

// Views the array's own elements as [layers, heads, rows, columns].
ArrayView placed(const ArrayView& array, const PlacedTensor& place);

// The shape of that view follows from the array's shape alone.
struct PlacedShape {
    Index layers = 1, heads = 1, rows = 1, columns = 1;
};
PlacedShape placed_shape(const Shape& shape, const PlacedTensor& place);

// Takes the last axes for heads, rows and columns, as far as there are that many; `at` chooses
// along the axes before them.
enum class AxisOrder {
    heads_first,   // [heads, rows, columns]
    heads_second,  // [rows, heads, columns]
    heads_last,    // [rows, columns, heads]
};
PlacedTensor place_last_axes(std::size_t tensor, const Shape& shape, AxisOrder order);

}  // namespace attn
