#include "analysis/attribution/frozen_mlp.hpp"

#include <algorithm>
#include <vector>

#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"

namespace attn {

namespace {

Range one(Index row) { return {row, row + 1}; }

void multiply(MatrixView<float> rows, ConstMatrix by) {
    for (Index row = 0; row < rows.rows; ++row)
        for (Index c = 0; c < rows.cols; ++c) rows(row, c) *= by(row, c);
}

double along(const Tensor& bias, const float* row) {
    double sum = 0;
    for (Index i = 0; i < bias.size(); ++i)
        sum += static_cast<double>(bias.data()[i]) * static_cast<double>(row[i]);
    return sum;
}

}  // namespace

FrozenMlp::FrozenMlp(const Trace& stack, Index layer)
    : stack_(&stack), layer_(layer), held_(run().mlp_hidden.shape()) {}

FrozenMlp::Chosen FrozenMlp::chosen(Index token, Index slot) const {
    const Mlp& mlp =
        block().experts->all[static_cast<std::size_t>(run().chosen_experts.matrix()(token, slot))];
    return {mlp, run().expert_weights.matrix()(token, slot), slot * mlp.up.weight.out};
}

void FrozenMlp::hold(const Mlp& mlp, ConstMatrix inputs, ConstMatrix hidden, MatrixView<float> held) const {
    const Kernels& kernels = stack_->kernels();
    if (mlp.gate) return attn::apply(kernels, *mlp.gate, inputs, held, stack_->model()->config().activation);
    attn::apply(kernels, mlp.up, inputs, held);
    for (Index row = 0; row < held.rows; ++row)
        for (Index c = 0; c < held.cols; ++c)
            held(row, c) = held(row, c) == 0 ? 0 : hidden(row, c) / held(row, c);
}

void FrozenMlp::hold(Range tokens) {
    const auto of = [&](const Tensor& all) { return rows(all.matrix(), tokens); };
    if (!block().experts)
        return hold(block().mlp, of(run().mlp_input), of(run().mlp_hidden), rows(held_.matrix(), tokens));
    for (Index token = tokens.begin; token < tokens.end; ++token)
        for (Index slot = 0; slot < block().experts->per_token; ++slot) {
            const auto [mlp, weight, first] = chosen(token, slot);
            const Index units = mlp.up.weight.out;
            hold(mlp, rows(run().mlp_input.matrix(), one(token)),
                 {run().mlp_hidden.matrix().row(token) + first, 1, units, units},
                 columns(rows(held_.matrix(), one(token)), first, units));
        }
}

void FrozenMlp::apply(const Mlp& mlp, ConstMatrix held, ConstMatrix inputs, MatrixView<float> outputs) const {
    Tensor units({inputs.rows, mlp.up.weight.out});
    attn::apply(stack_->kernels(), mlp.up, inputs, units.matrix());
    multiply(units.matrix(), held);
    attn::apply(stack_->kernels(), mlp.down, units.matrix(), outputs);
}

void FrozenMlp::apply(ConstMatrix inputs, std::span<const Index> tokens, MatrixView<float> outputs) const {
    const ConstMatrix all = held_.matrix();
    if (!block().experts) {
        Tensor held({inputs.rows, all.cols});
        for (Index row = 0; row < inputs.rows; ++row)
            std::copy_n(all.row(tokens[static_cast<std::size_t>(row)]), all.cols, held.matrix().row(row));
        return apply(block().mlp, held.matrix(), inputs, outputs);
    }
    Tensor given({1, outputs.cols});
    for (Index row = 0; row < inputs.rows; ++row) {
        std::fill_n(outputs.row(row), outputs.cols, 0.0f);
        const Index token = tokens[static_cast<std::size_t>(row)];
        for (Index slot = 0; slot < block().experts->per_token; ++slot) {
            const auto [mlp, weight, first] = chosen(token, slot);
            const Index units = mlp.up.weight.out;
            apply(mlp, {all.row(token) + first, 1, units, units}, rows(inputs, one(row)), given.matrix());
            for (Index c = 0; c < outputs.cols; ++c) outputs(row, c) += weight * given.data()[c];
        }
    }
}

void FrozenMlp::back(const Mlp& mlp, ConstMatrix held, ConstMatrix d_outputs, MatrixView<float> d_inputs,
                     std::span<double> constants) const {
    Tensor d_units({d_outputs.rows, mlp.up.weight.out});
    input_gradient(stack_->kernels(), mlp.down.weight, d_outputs, d_units.matrix());
    multiply(d_units.matrix(), held);
    input_gradient(stack_->kernels(), mlp.up.weight, d_units.matrix(), d_inputs);
    for (Index row = 0; row < d_outputs.rows; ++row)
        constants[static_cast<std::size_t>(row)] +=
            along(mlp.up.bias, d_units.matrix().row(row)) + along(mlp.down.bias, d_outputs.row(row));
}

void FrozenMlp::back(ConstMatrix d_outputs, Range tokens, MatrixView<float> d_inputs,
                     std::span<double> constants) const {
    const ConstMatrix all = held_.matrix();
    if (!block().experts) return back(block().mlp, rows(all, tokens), d_outputs, d_inputs, constants);
    Tensor d_output({1, d_outputs.cols}), d_input({1, d_inputs.cols});
    for (Index row = 0; row < d_outputs.rows; ++row) {
        std::fill_n(d_inputs.row(row), d_inputs.cols, 0.0f);
        const Index token = tokens.begin + row;
        for (Index slot = 0; slot < block().experts->per_token; ++slot) {
            const auto [mlp, weight, first] = chosen(token, slot);
            const Index units = mlp.up.weight.out;
            for (Index c = 0; c < d_outputs.cols; ++c) d_output.data()[c] = weight * d_outputs(row, c);
            back(mlp, {all.row(token) + first, 1, units, units}, d_output.matrix(), d_input.matrix(),
                 constants.subspan(static_cast<std::size_t>(row), 1));
            add(d_input.matrix(), rows(d_inputs, one(row)));
        }
    }
}

}  // namespace attn
