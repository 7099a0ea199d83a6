// Weight matrices: how they lie in memory, and how their numbers are read.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/blocks.hpp"
#include "tensor/dtype.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// Sixteen rows of a matrix [out, in] may lie as a panel, in the bytes that the rows took: blocks of the
// same inputs follow one another, and in each the same field of all sixteen rows lies together: quants and
// f32 four bytes of a row at a time, halves two, small scales one. A product reads a panel from its first
// byte to its last, with sixteen outputs in a vector. Rows that fill no panel lie after the panels, as they
// are.
inline constexpr Index panel_rows = 16;

// Puts the rows of a matrix, each of whole blocks, into panels in place, and back.
void put_into_panels(DType dtype, Index rows, std::span<std::byte> matrix);
void put_into_rows(DType dtype, Index rows, std::span<std::byte> matrix);

// A weight matrix as it is stored: [in, out] ("Conv1D", GPT-2) or [out, in] (nn.Linear), any float type,
// also in blocks (tensor/blocks.hpp), which lie along its rows.
struct WeightView {
    enum class Layout { in_out, out_in };
    const std::byte* data = nullptr;  // little-endian, any alignment
    DType dtype = DType::f32;         // f32, f16, bf16 or one in blocks
    Index in = 0;
    Index out = 0;
    Layout layout = Layout::out_in;
    Index rows_in_panels = 0;  // how many rows at `data` lie in panels; 0: all lie one after the other
    Index first_row = 0;       // which of them is this matrix's first, if they lie in panels
    bool finite = false;  // known to have no number that is infinite or NaN: a vector is multiplied faster

    // Rows of what is stored.
    Index rows() const { return layout == Layout::out_in ? out : in; }
    Index row_elements() const { return layout == Layout::out_in ? in : out; }
};

// A matrix of some of the stored rows, which shares the bytes.
WeightView rows(WeightView weight, Range some);
// The product with it goes from outputs to inputs.
WeightView transposed(WeightView weight);

// The block of a stored row that has this element; a matrix in blocks only.
WeightBlock block_of(const WeightView& weight, Index row, Index at);
// Widens elements [first, first + to.size()) of a stored row.
void read_row(const WeightView& weight, Index row, Index first, std::span<float> to);
double element(const WeightView& weight, Index in, Index out);

}  // namespace attn
