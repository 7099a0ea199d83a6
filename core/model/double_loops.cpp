#include "model/double_loops.hpp"

#include <cmath>
#include <span>

#include "tensor/dtype.hpp"

namespace attn {

void read_row(const WeightView& weight, Index row, std::vector<double>& to) {
    // Not thread_local: the objects are compiled for threads, and programs without threads have no such
    // storage.
    std::vector<float> stored(static_cast<std::size_t>(weight.row_elements()));
    read_row(weight, row, 0, stored);
    to.assign(stored.begin(), stored.end());
}

double dot(const double* a, const double* b, Index count) {
    double sum = 0;
    for (Index i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

double bias_at(const LinearView& linear, Index out) {
    return linear.bias.empty() ? 0 : static_cast<double>(linear.bias[static_cast<std::size_t>(out)]);
}

void multiply(const LinearView& linear, const double* x, double* y) {
    const WeightView& w = linear.weight;
    std::vector<double> row;
    for (Index out = 0; out < w.out; ++out) y[out] = bias_at(linear, out);
    if (w.layout == WeightView::Layout::out_in)
        for (Index out = 0; out < w.out; ++out) {
            read_row(w, out, row);
            y[out] += dot(x, row.data(), w.in);
        }
    else
        for (Index in = 0; in < w.in; ++in) {
            read_row(w, in, row);
            for (Index out = 0; out < w.out; ++out) y[out] += x[in] * row[static_cast<std::size_t>(out)];
        }
}

void normalise_row(const Norm& norm, const std::vector<double>& gain, const double* x, double* y) {
    const Index width = std::ssize(gain);
    const auto n = static_cast<double>(width);
    double mean = 0, variance = 0;
    if (norm.kind == Norm::Kind::layer) {
        for (Index i = 0; i < width; ++i) mean += x[i];
        mean /= n;
    }
    for (Index i = 0; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const double by = 1 / std::sqrt(variance / n + norm.epsilon);
    for (Index i = 0; i < width; ++i)
        y[i] = (x[i] - mean) * by * gain[static_cast<std::size_t>(i)] +
               (norm.bias.size() > 0 ? static_cast<double>(norm.bias.data()[i]) : 0);
}

}  // namespace attn
