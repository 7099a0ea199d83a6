#include "cases.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "ceiling.hpp"
#include "kernels/exp.hpp"
#include "tensor/random.hpp"

namespace attn::bench {

Tensor uniform(Shape shape, std::uint64_t seed) {
    Tensor t(std::move(shape));
    Random random(seed);
    for (float& x : t.values()) x = static_cast<float>((2 * random.uniform() - 1) * std::sqrt(3.0));
    return t;
}

Input input(std::string name, const Tensor& tensor) {
    return {std::move(name), tensor.shape(), std::as_bytes(tensor.values())};
}

double allowed_cells(const Mask& mask, Index n) {
    double cells = 0;
    std::vector<std::uint8_t> row(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) {
        mask.row(0, i, 0, row);
        for (const std::uint8_t allowed : row) cells += allowed;
    }
    return cells;
}

Case attention(std::string name, Index heads, Index kv_heads, Index n, Index d, Mask mask) {
    struct Data {
        Tensor q, k, v, output, max, log_sum;
        Mask mask;
    };
    const auto data = std::make_shared<Data>(Data{uniform({heads, n, d}, 1), uniform({kv_heads, n, d}, 2),
                                                  uniform({kv_heads, n, d}, 3), Tensor({heads, n, d}),
                                                  Tensor({heads, n}), Tensor({heads, n}), std::move(mask)});
    const auto run = [=](const Kernels& kernels) {
        kernels.attention({.q = std::as_const(data->q).heads(),
                           .k = std::as_const(data->k).heads(),
                           .v = std::as_const(data->v).heads(),
                           .scale = 1 / std::sqrt(static_cast<float>(d)),
                           .rule = data->mask.rule(),
                           .output = data->output.heads(),
                           .row_max = data->max.matrix(),
                           .row_log_sum = data->log_sum.matrix()});
    };
    return {std::move(name),
            4.0 * static_cast<double>(heads * d) * allowed_cells(data->mask, n),
            run,
            {input("q", data->q), input("k", data->k), input("v", data->v)},
            data->output.values()};
}

Case linear(Index n, Index in, Index out, DType dtype, WeightView::Layout layout) {
    struct Data {
        Tensor x, y, bias;
        std::vector<std::byte> weight;
    };
    const auto data =
        std::make_shared<Data>(Data{uniform({n, in}, 4), Tensor({n, out}), uniform({out}, 5), {}});
    const Tensor w = uniform({in, out}, 6);
    data->weight.resize(static_cast<std::size_t>(w.size()) * byte_size(dtype));
    for (Index i = 0; i < w.size(); ++i) {
        const float value = w.data()[i];
        const std::uint16_t half = dtype == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
        const auto* bytes = dtype == DType::f32 ? reinterpret_cast<const std::byte*>(&value)
                                                : reinterpret_cast<const std::byte*>(&half);
        std::copy_n(bytes, byte_size(dtype),
                    data->weight.data() + static_cast<std::size_t>(i) * byte_size(dtype));
    }
    const auto run = [=](const Kernels& kernels) {
        kernels.linear(std::as_const(data->x).matrix(), {data->weight.data(), dtype, in, out, layout},
                       data->bias.values(), Activation::none, data->y.matrix());
    };
    const std::string size = std::to_string(n) + "×" + std::to_string(in) + "×" + std::to_string(out);
    return {"linear " + size + " " + std::string(attn::name(dtype)) +
                (layout == WeightView::Layout::in_out ? " in_out" : " out_in"),
            2.0 * static_cast<double>(n) * static_cast<double>(in) * static_cast<double>(out),
            run,
            {input("x", data->x), {"weight", w.shape(), data->weight}, input("bias", data->bias)},
            data->y.values()};
}

namespace {

Case window(Index n, Index size, Index d) {
    const auto q = std::make_shared<Tensor>(uniform({n, d}, 7)),
               k = std::make_shared<Tensor>(uniform({n, d}, 8)),
               scores = std::make_shared<Tensor>(Shape{size, size});
    const auto run = [=](const Kernels& kernels) {
        kernels.dot_products({q->data() + (n - size) * d, size, d, d}, {k->data(), size, d, d},
                             scores->matrix());
    };
    return {"window " + std::to_string(size) + "² of scores", 2.0 * static_cast<double>(size * size * d),
            run};
}

Case softmax(Index rows, Index cols) {
    const auto x = std::make_shared<Tensor>(uniform({rows, cols}, 9)),
               y = std::make_shared<Tensor>(Shape{rows, cols});
    return {"softmax " + std::to_string(rows) + "×" + std::to_string(cols) + " (elements)",
            static_cast<double>(rows * cols), [=](const Kernels& kernels) {
                std::copy_n(x->data(), x->size(), y->data());
                kernels.softmax(y->matrix());
            }};
}

Case activation(std::string name, Activation function) {
    const auto x = std::make_shared<Tensor>(uniform({64, 3072}, 10)),
               y = std::make_shared<Tensor>(Shape{64, 3072});
    return {name + " 64×3072 (elements)", static_cast<double>(x->size()), [=](const Kernels& kernels) {
                std::copy_n(x->data(), x->size(), y->data());
                kernels.activate(function, y->values());
            }};
}

Case norm(Index rows, Index cols) {
    const auto x = std::make_shared<Tensor>(uniform({rows, cols}, 11)),
               y = std::make_shared<Tensor>(Shape{rows, cols}),
               gain = std::make_shared<Tensor>(uniform({cols}, 12));
    return {"layer_norm " + std::to_string(rows) + "×" + std::to_string(cols) + " (elements)",
            static_cast<double>(rows * cols), [=](const Kernels& kernels) {
                kernels.layer_norm(std::as_const(*x).matrix(), gain->values(), gain->values(), 1e-5f,
                                   y->matrix());
            }};
}

}  // namespace

Case exponentials(Index count) {
    struct Data {
        Tensor x, y;
    };
    const auto data = std::make_shared<Data>(Data{uniform({count}, 13), Tensor({count})});
    const auto run = [=](const Kernels& kernels) {
        const Exp exp = lanes_of(kernels.name).exp;
        if (exp) return exp(data->x.data(), data->y.data(), count);
        std::ranges::transform(data->x.values(), data->y.data(), exp_f32);
    };
    return {"exp of " + std::to_string(count),
            static_cast<double>(count),
            run,
            {input("x", data->x)},
            data->y.values()};
}

std::vector<Case> cases() {
    using enum WeightView::Layout;
    std::vector<Case> all;
    for (const Index n : {128, 512, 1024, 2048, 4096}) {
        all.push_back(attention("attention 12×64 n=" + std::to_string(n) + " full", 12, 12, n, 64, {}));
        all.push_back(
            attention("attention 12×64 n=" + std::to_string(n) + " causal", 12, 12, n, 64, Mask::causal()));
    }
    all.push_back(attention("attention 32/8×128 n=1024 causal", 32, 8, 1024, 128, Mask::causal()));
    all.push_back(attention("attention 12×64 n=4096 window 256", 12, 12, 4096, 64,
                            Mask::causal() & Mask::window(255, 0)));
    all.push_back(window(16384, 1024, 64));
    for (const auto layout : {in_out, out_in}) {
        all.push_back(linear(512, 768, 768, DType::f32, layout));
        all.push_back(linear(512, 768, 3072, DType::f32, layout));
        all.push_back(linear(512, 768, 3072, DType::f16, layout));
        all.push_back(linear(512, 768, 3072, DType::bf16, layout));
        all.push_back(linear(1, 768, 3072, DType::f32, layout));
        all.push_back(linear(1, 768, 3072, DType::f16, layout));
        all.push_back(linear(1, 768, 3072, DType::bf16, layout));
    }
    all.push_back(softmax(64, 1024));
    all.push_back(activation("gelu", Activation::gelu));
    all.push_back(activation("gelu_tanh", Activation::gelu_tanh));
    all.push_back(activation("silu", Activation::silu));
    all.push_back(norm(64, 768));
    std::ranges::move(backward_cases(), std::back_inserter(all));
    return all;
}

}  // namespace attn::bench
