#include "kernels/panels.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>

namespace attn {

namespace {

using Lanes = Eigen::Array<float, panel_width, 1>;

Lanes load(const float* from) { return Eigen::Map<const Lanes>(from); }

Lanes load(const float* from, Index width) {
    if (width == panel_width) return load(from);
    Lanes lanes = Lanes::Zero();
    std::copy_n(from, width, lanes.data());
    return lanes;
}

void store(const Lanes& lanes, float* to, Index width) {
    if (width == panel_width)
        Eigen::Map<Lanes>{to} = lanes;
    else
        std::copy_n(lanes.data(), width, to);
}

// Two rows at a time fill the registers; an odd last row goes through twice, so there is one way only.
template <bool add>
void multiply_panels(ConstMatrix a, const Panels& b, MatrixView<float> c) {
    const Index depth = b.depth();
    for (Index column = 0; column < b.cols(); column += panel_width) {
        const float* panel = b.panel(column / panel_width);
        const Index width = std::min(panel_width, b.cols() - column);
        for (Index i = 0; i < a.rows; i += 2) {
            const Index next = std::min(i + 1, a.rows - 1);
            const float* upper = a.row(i);
            const float* lower = a.row(next);
            Lanes sum_upper = Lanes::Zero();
            Lanes sum_lower = Lanes::Zero();
            if constexpr (add) {
                sum_upper = load(c.row(i) + column, width);
                sum_lower = load(c.row(next) + column, width);
            }
            for (Index k = 0; k < depth; ++k) {
                const Lanes lanes = load(panel + k * panel_width);
                sum_upper += lanes * upper[k];
                sum_lower += lanes * lower[k];
            }
            store(sum_upper, c.row(i) + column, width);
            store(sum_lower, c.row(next) + column, width);
        }
    }
}

}  // namespace

void Panels::resize(Index depth, Index cols) {
    depth_ = depth;
    cols_ = cols;
    const Index panels = (cols + panel_width - 1) / panel_width;
    values_.resize(static_cast<std::size_t>(panels * depth * panel_width));
    if (cols % panel_width != 0) std::fill_n(row(cols - cols % panel_width, 0), depth * panel_width, 0.0f);
}

void Panels::pack(ConstMatrix b) {
    resize(b.rows, b.cols);
    for (Index k = 0; k < depth_; ++k)
        for (Index column = 0; column < cols_; column += panel_width)
            std::copy_n(b.row(k) + column, std::min(panel_width, cols_ - column), row(column, k));
}

void Panels::pack_transposed(ConstMatrix b) {
    resize(b.cols, b.rows);
    for (Index column = 0; column < cols_; ++column)
        for (Index k = 0; k < depth_; ++k) *row(column, k) = b(column, k);
}

void Panels::pack(const WeightView& weight, Range columns) {
    resize(weight.in, columns.size());
    const Index size = static_cast<Index>(byte_size(weight.dtype));
    const auto widen = [&](Index first_element, Index count, float* to) {
        convert_to_f32(weight.dtype,
                       {weight.data + first_element * size, static_cast<std::size_t>(count * size)},
                       {to, static_cast<std::size_t>(count)});
    };

    if (weight.layout == WeightView::Layout::in_out) {
        for (Index k = 0; k < depth_; ++k)
            for (Index column = 0; column < cols_; column += panel_width)
                widen(k * weight.out + columns.begin + column, std::min(panel_width, cols_ - column),
                      row(column, k));
        return;
    }

    std::array<float, 64> run;
    for (Index first = 0; first < depth_; first += std::ssize(run)) {
        const Index count = std::min(std::ssize(run), depth_ - first);
        for (Index column = 0; column < cols_; ++column) {
            widen((columns.begin + column) * weight.in + first, count, run.data());
            float* to = row(column, first);
            for (Index k = 0; k < count; ++k) to[k * panel_width] = run[static_cast<std::size_t>(k)];
        }
    }
}

void multiply(ConstMatrix a, const Panels& b, MatrixView<float> c) { multiply_panels<false>(a, b, c); }

void multiply_add(ConstMatrix a, const Panels& b, MatrixView<float> c) { multiply_panels<true>(a, b, c); }

}  // namespace attn
