#include "kernels/panels.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>

namespace attn {

namespace {

using Lanes = Eigen::Array<float, panel_width, 1>;

// This many rows of B are multiplied at a time: 16 KB of a panel stay in the first-level cache, and long sums
// lose less accuracy when they are made of shorter ones.
constexpr Index block_depth = 256;

// Multiplies two rows of C with 16 columns each, which fill the registers of every machine.
void multiply_block(const float* a0, const float* a1, const float* panel, Index depth, bool add, float* c0,
                    float* c1) {
    Lanes sum0 = Lanes::Zero(), sum1 = Lanes::Zero();
    for (Index k = 0; k < depth; ++k) {
        const Lanes b = Eigen::Map<const Lanes>(panel + k * panel_width);
        // This is not b * a0[k]: Eigen's product with a scalar makes clang 19 go through memory, 20 times as
        // slow.
        const Lanes x0 = Lanes::Constant(a0[k]), x1 = Lanes::Constant(a1[k]);
        sum0 += b * x0;
        sum1 += b * x1;
    }
    Eigen::Map<Lanes> row0(c0), row1(c1);
    if (add) sum0 += row0, sum1 += row1;
    row0 = sum0;
    row1 = sum1;
}

// An odd last row is computed twice, so that there is only one code path.
void multiply_panels(ConstMatrix a, const Panels& b, bool add, MatrixView<float> c) {
    for (Index column = 0; column < b.cols(); column += panel_width) {
        const Index width = std::min(panel_width, b.cols() - column);
        const float* panel = b.panel(column / panel_width);
        Index first = 0;
        do {
            const Index depth = std::min(block_depth, b.depth() - first);
            for (Index i = 0; i < a.rows; i += 2) {
                const Index next = std::min(i + 1, a.rows - 1);
                const auto multiply = [&](float* c0, float* c1) {
                    multiply_block(a.row(i) + first, a.row(next) + first, panel + first * panel_width, depth,
                                   add || first > 0, c0, c1);
                };
                float* c0 = c.row(i) + column;
                float* c1 = c.row(next) + column;
                if (width == panel_width) {
                    multiply(c0, c1);
                    continue;
                }
                std::array<float, panel_width> part0{}, part1{};
                std::copy_n(c0, width, part0.data());
                std::copy_n(c1, width, part1.data());
                multiply(part0.data(), part1.data());
                std::copy_n(part0.data(), width, c0);
                std::copy_n(part1.data(), width, c1);
            }
            first += depth;
        } while (first < b.depth());
    }
}

}  // namespace

void Panels::resize(Index depth, Index cols) {
    depth_ = depth;
    cols_ = cols;
    const Index panels = (cols + panel_width - 1) / panel_width;
    values_.resize(static_cast<std::size_t>(panels * depth * panel_width));
    if (cols % panel_width != 0) std::fill_n(panel(panels - 1), depth * panel_width, 0.0f);
}

void Panels::pack(ConstMatrix b) {
    resize(b.rows, b.cols);
    for (Index column = 0; column < cols_; column += panel_width) {
        const Index width = std::min(panel_width, cols_ - column);
        float* to = panel(column / panel_width);
        for (Index k = 0; k < depth_; ++k, to += panel_width) std::copy_n(b.row(k) + column, width, to);
    }
}

void Panels::pack_transposed(ConstMatrix b) {
    resize(b.cols, b.rows);
    for (Index column = 0; column < cols_; column += panel_width) {
        const Index width = std::min(panel_width, cols_ - column);
        float* to = panel(column / panel_width);
        for (Index k = 0; k < depth_; ++k, to += panel_width)
            for (Index c = 0; c < width; ++c) to[c] = b(column + c, k);
    }
}

void Panels::pack(const WeightView& weight, Range columns) {
    resize(weight.in, columns.size());
    const auto widen = [&](Index row, Index first, Index count, float* to) {
        read_row(weight, row, first, {to, static_cast<std::size_t>(count)});
    };

    std::array<float, 64> run;
    if (weight.layout == WeightView::Layout::in_out) {
        // Copies many columns of one input at a time, since they are contiguous in the file.
        for (Index k = 0; k < depth_; ++k)
            for (Index first = 0; first < cols_; first += std::ssize(run)) {
                const Index count = std::min(std::ssize(run), cols_ - first);
                widen(k, columns.begin + first, count, run.data());
                for (Index c = 0; c < count; c += panel_width)
                    std::copy_n(run.data() + c, std::min(panel_width, count - c),
                                panel((first + c) / panel_width) + k * panel_width);
            }
        return;
    }

    for (Index first = 0; first < depth_; first += std::ssize(run)) {
        const Index count = std::min(std::ssize(run), depth_ - first);
        for (Index column = 0; column < cols_; ++column) {
            widen(columns.begin + column, first, count, run.data());
            float* to = panel(column / panel_width) + first * panel_width + column % panel_width;
            for (Index k = 0; k < count; ++k) to[k * panel_width] = run[static_cast<std::size_t>(k)];
        }
    }
}

void multiply(ConstMatrix a, const Panels& b, MatrixView<float> c) { multiply_panels(a, b, false, c); }

void multiply_add(ConstMatrix a, const Panels& b, MatrixView<float> c) { multiply_panels(a, b, true, c); }

}  // namespace attn
