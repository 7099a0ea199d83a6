#include "tensor/weights.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "tensor/blocks.hpp"

namespace attn {

namespace {

constexpr std::size_t most_block_bytes = 256;

// A part of a block: bytes [begin, begin + size), of which a panel holds `unit` of each row in turn.
struct BlockField {
    std::size_t begin, size, unit;
};

constexpr BlockField of_q8_0[]{{0, 2, 2}, {2, 32, 4}}, of_q4_0[]{{0, 2, 2}, {2, 16, 4}},
    of_q4_1[]{{0, 2, 2}, {2, 2, 2}, {4, 16, 4}}, of_q5_0[]{{0, 2, 2}, {2, 4, 4}, {6, 16, 4}},
    of_q5_1[]{{0, 2, 2}, {2, 2, 2}, {4, 4, 4}, {8, 16, 4}},
    of_q2_k[]{{0, 16, 1}, {16, 64, 4}, {80, 2, 2}, {82, 2, 2}},
    of_q3_k[]{{0, 32, 4}, {32, 64, 4}, {96, 12, 1}, {108, 2, 2}},
    of_q4_k[]{{0, 2, 2}, {2, 2, 2}, {4, 12, 1}, {16, 128, 4}},
    of_q5_k[]{{0, 2, 2}, {2, 2, 2}, {4, 12, 1}, {16, 32, 4}, {48, 128, 4}},
    of_q6_k[]{{0, 128, 4}, {128, 64, 4}, {192, 16, 1}, {208, 2, 2}};

std::span<const BlockField> block_fields(DType dtype) {
    switch (dtype) {
        case DType::q8_0: return of_q8_0;
        case DType::q4_0:
        case DType::iq4_nl: return of_q4_0;
        case DType::q4_1: return of_q4_1;
        case DType::q5_0: return of_q5_0;
        case DType::q5_1: return of_q5_1;
        case DType::q2_k: return of_q2_k;
        case DType::q3_k: return of_q3_k;
        case DType::q4_k: return of_q4_k;
        case DType::q5_k: return of_q5_k;
        case DType::q6_k: return of_q6_k;
        default: return {};
    }
}

// Where byte `byte` of a block of a panel's row lies in the panel's blocks of the same inputs.
std::size_t place_in_panel(const BlockField& field, std::size_t row, std::size_t byte) {
    const std::size_t of_field = byte - field.begin, rows = panel_rows;
    return rows * field.begin + (of_field / field.unit * rows + row) * field.unit + of_field % field.unit;
}

enum class To { panels, rows };

// Moves units of a known size, each in a single step: unit u of row r lies at `rows` + r · row_bytes + u ·
// unit, and at `panel` + (16 u + r) · unit.
template <std::size_t unit, To to>
void move_units(std::byte* rows, std::size_t row_bytes, std::size_t count, std::byte* panel) {
    for (std::size_t u = 0; u < count; ++u, rows += unit)
        for (std::size_t row = 0; row < panel_rows; ++row, panel += unit) {
            if constexpr (to == To::panels)
                std::memcpy(panel, rows + row * row_bytes, unit);
            else
                std::memcpy(rows + row * row_bytes, panel, unit);
        }
}

template <To to>
void move_field(const BlockField& field, std::byte* rows, std::size_t row_bytes, std::byte* panel) {
    switch (field.unit) {
        case 1: return move_units<1, to>(rows, row_bytes, field.size, panel);
        case 2: return move_units<2, to>(rows, row_bytes, field.size / 2, panel);
        default: return move_units<4, to>(rows, row_bytes, field.size / 4, panel);
    }
}

template <To to>
void rearrange(DType dtype, Index rows, std::span<std::byte> matrix) {
    const std::size_t row_bytes = matrix.size() / static_cast<std::size_t>(rows);
    // Elements without blocks lie like one field of all of them.
    const bool in_blocks = block_elements(dtype) > 1;
    const BlockField whole{0, row_bytes, byte_size(dtype)};
    const std::span<const BlockField> fields = in_blocks ? block_fields(dtype) : std::span(&whole, 1);
    const std::size_t block = in_blocks ? byte_size(dtype) : row_bytes;
    std::vector<std::byte> before(panel_rows * row_bytes);
    for (Index first = 0; first + panel_rows <= rows; first += panel_rows) {
        std::byte* at = matrix.data() + static_cast<std::size_t>(first) * row_bytes;
        std::memcpy(before.data(), at, before.size());
        std::byte *by_row = to == To::panels ? before.data() : at,
                  *panel = to == To::panels ? at : before.data();
        for (std::size_t byte = 0; byte < row_bytes; byte += block)
            for (const BlockField& field : fields)
                move_field<to>(field, by_row + byte + field.begin, row_bytes,
                               panel + panel_rows * (byte + field.begin));
    }
}

using BlockBytes = std::array<std::byte, most_block_bytes>;

// The block of a row, counted from the first at `data`, that has an element.
BlockBytes copy_block(const WeightView& weight, Index stored_row, Index element) {
    const Index elements = block_elements(weight.dtype), width = weight.row_elements(),
                first = element - element % elements;
    BlockBytes block;
    if (stored_row >= weight.rows_in_panels) {
        std::memcpy(block.data(), weight.data + bytes_of(weight.dtype, stored_row * width + first),
                    byte_size(weight.dtype));
        return block;
    }
    const Index in_panel = stored_row % panel_rows;
    const std::byte* blocks =
        weight.data + bytes_of(weight.dtype, (stored_row - in_panel) * width + panel_rows * first);
    for (const BlockField& field : block_fields(weight.dtype))
        for (std::size_t byte = field.begin; byte < field.begin + field.size; byte += field.unit)
            std::memcpy(block.data() + byte,
                        blocks + place_in_panel(field, static_cast<std::size_t>(in_panel), byte), field.unit);
    return block;
}

template <std::size_t unit>
void copy_elements(const std::byte* panel, std::size_t row, std::span<std::byte> to) {
    for (std::size_t byte = 0; byte < to.size(); byte += unit)
        std::memcpy(to.data() + byte, panel + panel_rows * byte + row * unit, unit);
}

// A row in a panel, of a type without blocks.
void read_elements(const WeightView& weight, Index stored_row, Index first, std::span<float> to) {
    constexpr std::size_t at_once = 256;
    std::array<std::byte, 4 * at_once> bytes;
    const std::size_t unit = byte_size(weight.dtype);
    const auto row = static_cast<std::size_t>(stored_row % panel_rows);
    const std::byte* panel =
        weight.data + bytes_of(weight.dtype, (stored_row - stored_row % panel_rows) * weight.row_elements() +
                                                 panel_rows * first);
    while (!to.empty()) {
        const std::size_t count = std::min(at_once, to.size());
        const std::span<std::byte> some(bytes.data(), count * unit);
        if (unit == 2)
            copy_elements<2>(panel, row, some);
        else
            copy_elements<4>(panel, row, some);
        convert_to_f32(weight.dtype, some, to.first(count));
        to = to.subspan(count);
        panel += panel_rows * some.size();
    }
}

}  // namespace

void put_into_panels(DType dtype, Index rows, std::span<std::byte> matrix) {
    rearrange<To::panels>(dtype, rows, matrix);
}

void put_into_rows(DType dtype, Index rows, std::span<std::byte> matrix) {
    rearrange<To::rows>(dtype, rows, matrix);
}

WeightView rows(WeightView weight, Range some) {
    if (weight.rows_in_panels > 0)
        weight.first_row += some.begin;
    else
        weight.data += bytes_of(weight.dtype, some.begin * weight.row_elements());
    (weight.layout == WeightView::Layout::out_in ? weight.out : weight.in) = some.size();
    return weight;
}

WeightView transposed(WeightView weight) {
    using enum WeightView::Layout;
    std::swap(weight.in, weight.out);
    weight.layout = weight.layout == in_out ? out_in : in_out;
    return weight;
}

void read_row(const WeightView& weight, Index row, Index first, std::span<float> to) {
    const Index width = weight.row_elements(), stored = weight.first_row + row;
    if (stored >= weight.rows_in_panels)
        return convert_to_f32(weight.dtype, weight.data, stored * width + first, to);
    const Index elements = block_elements(weight.dtype);
    if (elements == 1) return read_elements(weight, stored, first, to);
    while (!to.empty()) {
        const BlockBytes block = copy_block(weight, stored, first);
        const auto count = static_cast<std::size_t>(std::min(elements - first % elements, std::ssize(to)));
        convert_to_f32(weight.dtype, block.data(), first % elements, to.first(count));
        to = to.subspan(count);
        first += static_cast<Index>(count);
    }
}

double element(const WeightView& weight, Index in, Index out) {
    const bool by_output = weight.layout == WeightView::Layout::out_in;
    float value = 0;
    read_row(weight, by_output ? out : in, by_output ? in : out, {&value, 1});
    return static_cast<double>(value);
}

WeightBlock block_of(const WeightView& weight, Index row, Index at) {
    const BlockBytes block = copy_block(weight, weight.first_row + row, at);
    return take_apart(weight.dtype, std::span(block).first(byte_size(weight.dtype)));
}

}  // namespace attn
