#include "analysis/cost/attention_forms.hpp"

#include <atomic>
#include <cmath>
#include <cstring>

#include "kernels/workers.hpp"

namespace attn {

namespace {

constexpr Index rows_a_task = 64, numbers_a_task = 1 << 20;

float scale_for(ConstMatrix q) { return 1 / std::sqrt(static_cast<float>(q.cols)); }

// Several sums side by side, so that none waits for another.
std::uint32_t sum_of_bits(const float* numbers, Index count) {
    constexpr Index together = 16;
    std::uint32_t sums[together]{}, bits[together];
    Index i = 0;
    for (; i + together <= count; i += together) {
        std::memcpy(bits, numbers + i, sizeof bits);
        for (Index j = 0; j < together; ++j) sums[j] += bits[j];
    }
    std::uint32_t sum = 0;
    for (; i < count; ++i) {
        std::memcpy(bits, numbers + i, sizeof bits[0]);
        sum += bits[0];
    }
    for (const std::uint32_t each : sums) sum += each;
    return sum;
}

// The reference reads a weight of `linear` by its type, one by one, which takes far longer than its sum.
void sum_plainly(ConstMatrix weights, ConstMatrix v, MatrixView<float> output) {
    for (Index i = 0; i < output.rows; ++i)
        for (Index b = 0; b < output.cols; ++b) {
            double sum = 0;
            for (Index j = 0; j < v.rows; ++j)
                sum += static_cast<double>(weights(i, j)) * static_cast<double>(v(j, b));
            output(i, b) = static_cast<float>(sum);
        }
}

}  // namespace

void naive_attention(const Kernels& kernels, ConstMatrix q, ConstMatrix k, ConstMatrix v, NaiveMemory& memory,
                     MatrixView<float> output) {
    const MatrixView<float> scores = memory.scores.matrix();
    kernels.dot_products(q, k, scores);
    const float scale = scale_for(q);
    for_each_block(scores.rows, rows_a_task, [&](Range part) {
        for (Index r = part.begin; r < part.end; ++r)
            for (Index c = 0; c < scores.cols; ++c) scores(r, c) *= scale;
        kernels.softmax(rows(scores, part));
    });
    if (&kernels == &reference_kernels()) return sum_plainly(scores, v, output);
    const WeightView values{.data = reinterpret_cast<const std::byte*>(v.data),
                            .in = v.rows,
                            .out = v.cols,
                            .layout = WeightView::Layout::in_out};
    kernels.linear(scores, values, {}, Activation::none, output);
}

void fused_attention(const Kernels& kernels, ConstMatrix q, ConstMatrix k, ConstMatrix v, FusedMemory& memory,
                     MatrixView<float> output) {
    const auto head = [](auto m) {
        return HeadsView<std::remove_pointer_t<decltype(m.data)>>{
            m.data, 1, m.rows, m.cols, m.rows * m.row_stride, m.row_stride};
    };
    kernels.attention({.q = head(q),
                       .k = head(k),
                       .v = head(v),
                       .scale = scale_for(q),
                       .output = head(output),
                       .row_max = memory.row_max.matrix(),
                       .row_log_sum = memory.row_log_sum.matrix()});
}

std::uint32_t read_once(std::span<const float> numbers) {
    std::atomic<std::uint32_t> sum = 0;
    for_each_block(std::ssize(numbers), numbers_a_task,
                   [&](Range part) { sum += sum_of_bits(numbers.data() + part.begin, part.size()); });
    return sum;
}

}  // namespace attn
