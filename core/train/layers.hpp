// The parts of a network as they lie in a parameter buffer: views of them, by which model/block.hpp runs
// them, and their gradients, on the rows of one sequence.
//
// Every function takes the whole buffer, and gradients as a buffer of the same layout, which are added to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/backward.hpp"
#include "kernels/table.hpp"
#include "model/network.hpp"
#include "train/parameters.hpp"

namespace attn {

// Another attention, on what the projections give before RoPE: qkv [n, (heads + 2 kv_heads) · head_dim] with
// the heads of Q, of K and of V side by side, attended [n, heads · head_dim]. d_qkv is overwritten.
struct TrainedAttention {
    std::function<void(ConstMatrix qkv, MatrixView<float> attended)> forward;
    std::function<void(ConstMatrix qkv, ConstMatrix d_attended, MatrixView<float> d_qkv)> backward;
};

struct TrainedKernels {
    const Kernels* forward = &default_kernels();
    const BackwardKernels* backward = &default_backward();
    std::shared_ptr<const TrainedAttention> attention = {};  // null: RoPE and attention as they are
};

// y = x W + bias.
struct TrainedLinear {
    Index weight = 0;  // offsets
    std::optional<Index> bias;
    Index in = 0, out = 0;
    WeightView::Layout layout = WeightView::Layout::in_out;

    LinearView view(std::span<const float> parameters) const;
    // dx = dy Wᵀ, overwritten.
    void input_gradient(const TrainedKernels&, std::span<const float> parameters, ConstMatrix dy,
                        MatrixView<float> dx) const;
    void weight_gradient(const TrainedKernels&, ConstMatrix x, ConstMatrix dy,
                         std::span<float> gradients) const;
};

struct TrainedNorm {
    Norm::Kind kind = Norm::Kind::layer;
    Index gain = 0;
    std::optional<Index> bias;
    Index width = 0;
    double epsilon = 0;

    NormView view(std::span<const float> parameters) const;
    // dx is overwritten, and may be dy.
    void backward(const TrainedKernels&, std::span<const float> parameters, ConstMatrix x, ConstMatrix dy,
                  MatrixView<float> dx, std::span<float> gradients) const;
};

// y = (act(x W_gate) ∘ x W_up) W_down, or act(x W_up) W_down without a gate.
struct TrainedMlp {
    Activation activation = Activation::none;
    std::optional<TrainedLinear> gate;
    TrainedLinear up, down;

    // What its backward pass reads, [rows, d_ff]: up and gate as the matrices give them.
    struct Rows {
        MatrixView<float> up, gate, hidden;
    };
    void forward(const TrainedKernels&, std::span<const float> parameters, ConstMatrix x, const Rows& kept,
                 MatrixView<float> y) const;
    // dx is overwritten, and so are dy, kept.hidden and the room for the gradients of hidden and gate.
    void backward(const TrainedKernels&, std::span<const float> parameters, ConstMatrix x,
                  MatrixView<float> dy, const Rows& kept, MatrixView<float> d_hidden,
                  MatrixView<float> d_gate, MatrixView<float> dx, std::span<float> gradients) const;
};

// The values of whole rows, one behind the other.
inline std::span<float> values_of(MatrixView<float> m) {
    return {m.data, static_cast<std::size_t>(m.rows * m.cols)};
}
inline MatrixView<float> first_rows(Tensor& tensor, Index n) { return rows(tensor.matrix(), {0, n}); }

// Names are those of a checkpoint, "h.0.ln_1"; it has a bias where the layout has one.
TrainedLinear trained_linear(const ParameterLayout& layout, const std::string& name,
                             WeightView::Layout order);
TrainedNorm trained_norm(const ParameterLayout& layout, const std::string& name, Norm::Kind kind,
                         double epsilon);

}  // namespace attn
