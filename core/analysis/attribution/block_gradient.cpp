#include "analysis/attribution/block_gradient.hpp"

#include <algorithm>

#include "kernels/backward.hpp"

namespace attn {

void norm_gradient(const Norm& norm, ConstMatrix x, MatrixView<float> d) {
    const BackwardKernels& backward = default_backward();
    switch (norm.kind) {
        case Norm::Kind::layer:
            backward.layer_norm(x, norm.gain.values(), static_cast<float>(norm.epsilon), d, d, {}, {});
            break;
        case Norm::Kind::rms:
            backward.rms_norm(x, norm.gain.values(), static_cast<float>(norm.epsilon), d, d, {});
            break;
    }
}

void pre_norm_gradient(const std::optional<Norm>& norm, ConstMatrix x, MatrixView<float> d) {
    if (norm) norm_gradient(*norm, x, d);
}

Tensor add_residual_gradient(const SublayerNorms& norms, const Tensor& output, const Tensor& between,
                             Range tokens, MatrixView<float> d) {
    if (norms.post_residual_norm) norm_gradient(*norms.post_residual_norm, rows(between.matrix(), tokens), d);
    Tensor d_output({d.rows, d.cols});
    copy(d, d_output.matrix());
    if (norms.post_sublayer_norm)
        norm_gradient(*norms.post_sublayer_norm, rows(output.matrix(), tokens), d_output.matrix());
    return d_output;
}

std::vector<double> back_through(const Kernels& kernels, const WeightView& weight,
                                 std::span<const double> direction) {
    Tensor given({1, weight.out}), read({1, weight.in});
    std::ranges::transform(direction, given.data(), [](double each) { return static_cast<float>(each); });
    input_gradient(kernels, weight, given.matrix(), read.matrix());
    return {read.values().begin(), read.values().end()};
}

void mlp_gradient(const Kernels& kernels, const Mlp& mlp, Activation activation, ConstMatrix input,
                  ConstMatrix d_output, MatrixView<float> d_input) {
    const Shape wide{input.rows, mlp.up.weight.out};
    Tensor up(wide), d_hidden(wide);
    apply(kernels, mlp.up, input, up.matrix());
    input_gradient(kernels, mlp.down.weight, d_output, d_hidden.matrix());
    const auto activate_back = [&](const Tensor& z, Tensor& d) {
        default_backward().activate(activation, z.values(), d.values(), d.values());
    };
    if (!mlp.gate) {
        activate_back(up, d_hidden);
        return input_gradient(kernels, mlp.up.weight, d_hidden.matrix(), d_input);
    }
    // hidden = act(gate) · up
    Tensor gate(wide), d_gate = d_hidden, back({d_input.rows, d_input.cols});
    apply(kernels, *mlp.gate, input, gate.matrix());
    Tensor activated = gate;
    kernels.activate(activation, activated.values());
    for (Index i = 0; i < up.size(); ++i) {
        d_gate.data()[i] *= up.data()[i];
        d_hidden.data()[i] *= activated.data()[i];
    }
    activate_back(gate, d_gate);
    input_gradient(kernels, mlp.gate->weight, d_gate.matrix(), back.matrix());
    input_gradient(kernels, mlp.up.weight, d_hidden.matrix(), d_input);
    add(back.matrix(), d_input);
}

void experts_gradient(const Kernels& kernels, const Experts& experts, Activation activation,
                      const LayerTrace& at, Range tokens, ConstMatrix d_output, MatrixView<float> d_input) {
    Tensor d_scores({d_output.rows, experts.router.weight.out}), d_y({1, d_output.cols}), y(d_y.shape()),
        back(d_y.shape());
    for (Index row = 0; row < d_output.rows; ++row) {
        const Index token = tokens.begin + row;
        const ConstMatrix input = rows(at.mlp_input.matrix(), {token, token + 1});
        const float* weights = at.expert_weights.matrix().row(token);
        std::vector<float> d_weights;
        float mean = 0;
        for (Index slot = 0; slot < experts.per_token; ++slot) {
            const Mlp& mlp = experts.all[static_cast<std::size_t>(at.chosen_experts.matrix()(token, slot))];
            const Index d_ff = mlp.up.weight.out;
            const ConstMatrix hidden{at.mlp_hidden.matrix().row(token) + slot * d_ff, 1, d_ff, d_ff};
            apply(kernels, mlp.down, hidden, y.matrix());
            float& d_weight = d_weights.emplace_back(0.0f);
            for (Index c = 0; c < d_output.cols; ++c) {
                d_weight += y.data()[c] * d_output(row, c);
                d_y.data()[c] = weights[slot] * d_output(row, c);
            }
            mean += weights[slot] * d_weight;
            mlp_gradient(kernels, mlp, activation, input, d_y.matrix(), back.matrix());
            add(back.matrix(), rows(d_input, {row, row + 1}));
        }
        for (Index slot = 0; slot < experts.per_token; ++slot)
            d_scores.matrix()(row, static_cast<Index>(at.chosen_experts.matrix()(token, slot))) =
                weights[slot] * (d_weights[static_cast<std::size_t>(slot)] - mean);
    }
    Tensor of_router({d_input.rows, d_input.cols});
    input_gradient(kernels, experts.router.weight, d_scores.matrix(), of_router.matrix());
    add(of_router.matrix(), d_input);
}

}  // namespace attn
