// The two ends of a training step: the loss with its gradient, and the update of the weights.
#pragma once

#include "kernels/backward.hpp"
#include "kernels/simd/backward_activation.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

template <class V>
float largest(const float* x, Index n) {
    V most = V::broadcast(-__builtin_huge_valf());
    Index i = 0;
    for (; i + V::width <= n; i += V::width) most = V::max(V::load(x + i), most);
    float result = most.largest();
    for (; i < n; ++i) result = x[i] > result ? x[i] : result;
    return result;
}

// Replaces a row of logits by weight · (softmax − one-hot) and returns the loss.
template <class V>
float cross_entropy_row(const WeightExp<V>& exp, float* row, Index n, Index target, float weight) {
    const float max = largest<V>(row, n), of_target = row[target];
    const double sum = sum_of_terms<V>(n, [&](Index i, Index count) {
        const V e = exp(load_some<V>(row + i, count) - V::broadcast(max));
        store_some(e, row + i, count);
        return e;
    });
    const V factor = V::broadcast(weight / static_cast<float>(sum));
    for_each_vector<V>(
        n, [&](Index i, Index count) { store_some(load_some<V>(row + i, count) * factor, row + i, count); });
    row[target] -= weight;
    return logarithm(static_cast<float>(sum)) + (max - of_target);
}

template <class V>
void cross_entropy(MatrixView<float> logits, std::span<const std::int32_t> targets, float weight,
                   std::span<float> loss) {
    constexpr Index rows_to_a_task = 16;
    for_each_block(logits.rows, rows_to_a_task, [&](Range rows) {
        const WeightExp<V> exp;
        for (Index r = rows.begin; r < rows.end; ++r) {
            const auto i = static_cast<std::size_t>(r);
            if (targets[i] < 0) fill_zero(logits.row(r), logits.cols);
            loss[i] = targets[i] < 0
                          ? 0
                          : cross_entropy_row<V>(exp, logits.row(r), logits.cols, targets[i], weight);
        }
    });
}

template <class V>
void adamw(const AdamW& a, std::span<float> parameters, std::span<const float> gradient, std::span<float> m,
           std::span<float> v) {
    for_each_block(std::ssize(parameters), elements_block, [&](Range part) {
        const V decay = V::broadcast(1 - a.rate * a.weight_decay),
                rate = V::broadcast(a.rate / a.correction1);
        const V beta1 = V::broadcast(a.beta1), rest1 = V::broadcast(1 - a.beta1);
        const V beta2 = V::broadcast(a.beta2), rest2 = V::broadcast(1 - a.beta2);
        const V correction = V::broadcast(1 / a.correction2), epsilon = V::broadcast(a.epsilon);
        const V factor = V::broadcast(a.gradient_factor);
        for_each_vector<V>(part.size(), [&](Index i, Index count) {
            const Index at = part.begin + i;
            const V g = factor * load_some<V>(gradient.data() + at, count);
            const V first = V::fma(rest1, g, beta1 * load_some<V>(m.data() + at, count));
            const V second = V::fma(rest2 * g, g, beta2 * load_some<V>(v.data() + at, count));
            const V step = rate * first / (V::square_root(second * correction) + epsilon);
            const V kept = decay * load_some<V>(parameters.data() + at, count);
            store_some(kept - step, parameters.data() + at, count);
            store_some(first, m.data() + at, count);
            store_some(second, v.data() + at, count);
        });
    });
}

template <class V>
double sum_of_squares(std::span<const float> x) {
    const Index n = std::ssize(x), tasks = blocks(n, elements_block);
    const Scratch parts(2 * tasks);
    double* const part = reinterpret_cast<double*>(parts.data);
    for_each_task(tasks, [&](Index task) {
        const Range range = block(task, elements_block, n);
        part[task] = sum<V>(x.data() + range.begin, range.size(), [](V value) { return value * value; });
    });
    double total = 0;
    for (Index task = 0; task < tasks; ++task) total += part[task];
    return total;
}

}  // namespace attn::simd
