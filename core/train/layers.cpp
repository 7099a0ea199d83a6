#include "train/layers.hpp"

#include <algorithm>

#include "model/block.hpp"

namespace attn {

namespace {

std::span<const float> part(std::span<const float> all, std::optional<Index> offset, Index size) {
    if (!offset) return {};
    return all.subspan(static_cast<std::size_t>(*offset), static_cast<std::size_t>(size));
}

std::span<float> part(std::span<float> all, std::optional<Index> offset, Index size) {
    if (!offset) return {};
    return all.subspan(static_cast<std::size_t>(*offset), static_cast<std::size_t>(size));
}

}  // namespace

LinearView TrainedLinear::view(std::span<const float> parameters) const {
    return {{std::as_bytes(part(parameters, weight, in * out)).data(), DType::f32, in, out, layout},
            part(parameters, bias, out)};
}

void TrainedLinear::input_gradient(const TrainedKernels& kernels, std::span<const float> parameters,
                                   ConstMatrix dy, MatrixView<float> dx) const {
    attn::input_gradient(*kernels.forward, view(parameters).weight, dy, dx);
}

void TrainedLinear::weight_gradient(const TrainedKernels& kernels, ConstMatrix x, ConstMatrix dy,
                                    std::span<float> gradients) const {
    const bool in_out = layout == WeightView::Layout::in_out;
    const MatrixView<float> d_weight{gradients.data() + weight, in_out ? in : out, in_out ? out : in,
                                     in_out ? out : in};
    kernels.backward->linear(x, dy, layout, d_weight, part(gradients, bias, out));
}

NormView TrainedNorm::view(std::span<const float> parameters) const {
    return {kind, part(parameters, gain, width), part(parameters, bias, width), epsilon};
}

void TrainedNorm::backward(const TrainedKernels& kernels, std::span<const float> parameters, ConstMatrix x,
                           ConstMatrix dy, MatrixView<float> dx, std::span<float> gradients) const {
    if (kind == Norm::Kind::layer)
        kernels.backward->layer_norm(x, part(parameters, gain, width), static_cast<float>(epsilon), dy, dx,
                                     part(gradients, gain, width), part(gradients, bias, width));
    else
        kernels.backward->rms_norm(x, part(parameters, gain, width), static_cast<float>(epsilon), dy, dx,
                                   part(gradients, gain, width));
}

void TrainedMlp::forward(const TrainedKernels& kernels, std::span<const float> parameters, ConstMatrix x,
                         const Rows& kept, MatrixView<float> y) const {
    apply(*kernels.forward, up.view(parameters), x, kept.up);
    if (gate) apply(*kernels.forward, gate->view(parameters), x, kept.gate);
    const std::span<float> hidden = values_of(kept.hidden);
    std::ranges::copy(values_of(gate ? kept.gate : kept.up), hidden.begin());
    kernels.forward->activate(activation, hidden);
    if (gate)
        for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] *= kept.up.data[i];
    apply(*kernels.forward, down.view(parameters), kept.hidden, y);
}

void TrainedMlp::backward(const TrainedKernels& kernels, std::span<const float> parameters, ConstMatrix x,
                          MatrixView<float> dy, const Rows& kept, MatrixView<float> d_hidden,
                          MatrixView<float> d_gate, MatrixView<float> dx, std::span<float> gradients) const {
    down.input_gradient(kernels, parameters, dy, d_hidden);
    down.weight_gradient(kernels, kept.hidden, dy, gradients);
    if (gate) {
        // hidden = act(gate) · up; what was hidden becomes act(gate).
        const std::span<float> activated = values_of(kept.hidden);
        std::ranges::copy(values_of(kept.gate), activated.begin());
        kernels.forward->activate(activation, activated);
        for (std::size_t i = 0; i < activated.size(); ++i) {
            d_gate.data[i] = d_hidden.data[i] * kept.up.data[i];
            d_hidden.data[i] *= activated[i];
        }
        kernels.backward->activate(activation, values_of(kept.gate), values_of(d_gate), values_of(d_gate));
        gate->input_gradient(kernels, parameters, d_gate, dy);
        gate->weight_gradient(kernels, x, d_gate, gradients);
    } else {
        kernels.backward->activate(activation, values_of(kept.up), values_of(d_hidden), values_of(d_hidden));
    }
    up.input_gradient(kernels, parameters, d_hidden, dx);
    up.weight_gradient(kernels, x, d_hidden, gradients);
    if (gate) add(dy, dx);
}

TrainedLinear trained_linear(const ParameterLayout& layout, const std::string& name,
                             WeightView::Layout order) {
    const auto* weight = layout.find(name + ".weight");
    const auto* bias = layout.find(name + ".bias");
    const bool in_out = order == WeightView::Layout::in_out;
    return {weight->offset, bias ? std::optional(bias->offset) : std::nullopt, weight->shape[in_out ? 0 : 1],
            weight->shape[in_out ? 1 : 0], order};
}

TrainedNorm trained_norm(const ParameterLayout& layout, const std::string& name, Norm::Kind kind,
                         double epsilon) {
    const auto* gain = layout.find(name + ".weight");
    const auto* bias = layout.find(name + ".bias");
    return {kind, gain->offset, bias ? std::optional(bias->offset) : std::nullopt, gain->size, epsilon};
}

}  // namespace attn
