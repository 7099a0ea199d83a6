#include "io/tensor_axes.hpp"

#include <tuple>

namespace attn {

ArrayView placed(const ArrayView& array, const PlacedTensor& place) {
    ArrayView view{array.dtype, array.big_endian, {}, {}, {}};
    for (int axis : {place.layer, place.head, place.row, place.column}) {
        const auto a = static_cast<std::size_t>(axis);
        view.shape.push_back(axis < 0 ? 1 : array.shape[a]);
        view.strides.push_back(axis < 0 ? 0 : array.strides[a]);
    }
    const auto first = static_cast<std::size_t>(array.offset(place.at));
    view.bytes = array.bytes.subspan(first * byte_size(array.dtype));
    return view;
}

PlacedShape placed_shape(const Shape& shape, const PlacedTensor& place) {
    const auto size = [&](int axis) { return axis < 0 ? Index{1} : shape[static_cast<std::size_t>(axis)]; };
    return {size(place.layer), size(place.head), size(place.row), size(place.column)};
}

PlacedTensor place_last_axes(std::size_t tensor, const Shape& shape, AxisOrder order) {
    const int rank = static_cast<int>(shape.size());
    PlacedTensor place;
    place.tensor = tensor;
    place.at.assign(shape.size(), 0);
    if (rank < 3) {
        place.column = rank - 1;
        place.row = rank - 2;
        return place;
    }
    const int a = rank - 3, b = rank - 2, c = rank - 1;
    switch (order) {
        case AxisOrder::heads_first:
            std::tie(place.head, place.row, place.column) = std::tuple(a, b, c);
            break;
        case AxisOrder::heads_second:
            std::tie(place.row, place.head, place.column) = std::tuple(a, b, c);
            break;
        case AxisOrder::heads_last:
            std::tie(place.row, place.column, place.head) = std::tuple(a, b, c);
            break;
    }
    return place;
}

}  // namespace attn
