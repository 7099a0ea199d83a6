// The gradients that a training step consists of.

#include "kernels/backward.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "cases.hpp"

namespace attn::bench {

namespace {

// Returns the gradients that go with a table of kernels. The portable table has none, so it gets those
// compiled for any machine.
const BackwardKernels& beside(const Kernels& kernels) {
    const auto all = all_backward();
    const auto found = std::ranges::find(all, kernels.name, &BackwardKernels::name);
    return found == all.end() ? *all.front() : **found;
}

Case attention_backward(std::string name, Index heads, Index n, Index d, const Mask& mask) {
    struct Data {
        Tensor q, k, v, output, max, log_sum, d_output, d_q, d_k, d_v;
        Mask mask;
    };
    const Shape shape{heads, n, d};
    const auto data = std::make_shared<Data>(
        Data{uniform(shape, 21), uniform(shape, 22), uniform(shape, 23), Tensor(shape), Tensor({heads, n}),
             Tensor({heads, n}), uniform(shape, 24), Tensor(shape), Tensor(shape), Tensor(shape), mask});
    const auto& in = std::as_const(*data);
    const AttentionBackwardCall call{.forward = {.q = in.q.heads(),
                                                 .k = in.k.heads(),
                                                 .v = in.v.heads(),
                                                 .scale = 1 / std::sqrt(static_cast<float>(d)),
                                                 .rule = data->mask.rule(),
                                                 .output = data->output.heads(),
                                                 .row_max = data->max.matrix(),
                                                 .row_log_sum = data->log_sum.matrix()},
                                     .d_output = in.d_output.heads(),
                                     .d_q = data->d_q.heads(),
                                     .d_k = data->d_k.heads(),
                                     .d_v = data->d_v.heads()};
    default_kernels().attention(call.forward);
    return {std::move(name), 10.0 * static_cast<double>(heads * d) * allowed_cells(mask, n),
            [data, call](const Kernels& kernels) { beside(kernels).attention(call); }};
}

Case linear_backward(Index n, Index in, Index out) {
    struct Data {
        Tensor x, dy, d_weight, d_bias;
    };
    const auto data = std::make_shared<Data>(
        Data{uniform({n, in}, 25), uniform({n, out}, 26), Tensor({in, out}), Tensor({out})});
    return {"linear backward " + std::to_string(n) + "×" + std::to_string(in) + "×" + std::to_string(out),
            2.0 * static_cast<double>(n * in * out), [data](const Kernels& kernels) {
                beside(kernels).linear(data->x.matrix(), data->dy.matrix(), WeightView::Layout::in_out,
                                       data->d_weight.matrix(), data->d_bias.values());
            }};
}

Case norm_backward(Index n, Index d) {
    struct Data {
        Tensor x, gain, dy, dx, d_gain, d_bias;
    };
    const auto data = std::make_shared<Data>(Data{uniform({n, d}, 27), uniform({d}, 28), uniform({n, d}, 29),
                                                  Tensor({n, d}), Tensor({d}), Tensor({d})});
    return {"layer_norm backward " + std::to_string(n) + "×" + std::to_string(d) + " (elements)",
            static_cast<double>(n * d), [data](const Kernels& kernels) {
                beside(kernels).layer_norm(data->x.matrix(), data->gain.values(), 1e-5f, data->dy.matrix(),
                                           data->dx.matrix(), data->d_gain.values(), data->d_bias.values());
            }};
}

Case activation_backward(Index count) {
    struct Data {
        Tensor z, dy, dz;
    };
    const auto data =
        std::make_shared<Data>(Data{uniform({count}, 30), uniform({count}, 31), Tensor({count})});
    return {"gelu_tanh backward of " + std::to_string(count) + " (elements)", static_cast<double>(count),
            [data](const Kernels& kernels) {
                beside(kernels).activate(Activation::gelu_tanh, data->z.values(), data->dy.values(),
                                         data->dz.values());
            }};
}

Case cross_entropy(Index n, Index vocabulary) {
    struct Data {
        Tensor logits, gradient;
        std::vector<std::int32_t> targets;
        std::vector<float> loss;
    };
    const auto rows = static_cast<std::size_t>(n);
    const auto data =
        std::make_shared<Data>(Data{uniform({n, vocabulary}, 32), Tensor({n, vocabulary}),
                                    std::vector<std::int32_t>(rows, 7), std::vector<float>(rows)});
    return {"cross_entropy " + std::to_string(n) + "×" + std::to_string(vocabulary) + " (elements)",
            static_cast<double>(n * vocabulary), [data](const Kernels& kernels) {
                std::ranges::copy(data->logits.values(), data->gradient.data());
                beside(kernels).cross_entropy(data->gradient.matrix(), data->targets, 1, data->loss);
            }};
}

Case adamw(Index count) {
    struct Data {
        Tensor parameters, gradient, m, v;
    };
    const auto data = std::make_shared<Data>(
        Data{uniform({count}, 33), uniform({count}, 34), Tensor({count}), Tensor({count})});
    return {"adamw of " + std::to_string(count) + " (elements)", static_cast<double>(count),
            [data](const Kernels& kernels) {
                beside(kernels).adamw({.rate = 1e-6f, .correction1 = 0.1f, .correction2 = 0.001f},
                                      data->parameters.values(), data->gradient.values(), data->m.values(),
                                      data->v.values());
            }};
}

}  // namespace

std::vector<Case> backward_cases() {
    std::vector<Case> all;
    for (const Index d : {16, 32, 64}) {
        const std::string name = "attention backward 96×" + std::to_string(d) + " n=256 ";
        all.push_back(attention_backward(name + "full", 96, 256, d, {}));
        all.push_back(attention_backward(name + "causal", 96, 256, d, Mask::causal()));
    }
    all.push_back(attention_backward("attention backward 12×64 n=1024 causal", 12, 1024, 64, Mask::causal()));
    for (const auto& [in, out] : {std::pair<Index, Index>{256, 256}, {256, 768}, {256, 1024}, {1024, 256}})
        all.push_back(linear_backward(3072, in, out));
    all.push_back(norm_backward(3072, 256));
    all.push_back(activation_backward(3072 * 1024));
    all.push_back(cross_entropy(3072, 2048));
    all.push_back(adamw(1600000));
    return all;
}

}  // namespace attn::bench
