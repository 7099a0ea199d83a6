// Compares the reference gradients with central differences, in double, of forward passes that are written
// out a second time here. The loss is the sum of the output times random numbers, so these numbers are the
// gradient with respect to the output.

#include <catch_amalgamated.hpp>
#include <numbers>

#include "attention/mask.hpp"
#include "support/backward.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

using Numbers = std::vector<double>;

Numbers wide(const Tensor& t) { return {t.values().begin(), t.values().end()}; }

double inner(const Numbers& x, const Numbers& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
}

// Compares gradient[i] with (loss(x + h e_i) − loss(x − h e_i)) / 2h. With h = 1e-5, the difference is off by
// h² times a third derivative, and by 1e-16 / h times the loss: about 1e-9. The gradient is rounded to f32,
// with a relative error of 6e-8.
template <class Loss>
void check_gradient(const Tensor& gradient, Numbers x, Loss loss) {
    constexpr double step = 1e-5;
    REQUIRE(std::ssize(x) == gradient.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double before = x[i];
        x[i] = before + step;
        const double above = loss(x);
        x[i] = before - step;
        const double below = loss(x);
        x[i] = before;
        const double slope = (above - below) / (2 * step);
        REQUIRE_THAT(static_cast<double>(gradient.values()[i]),
                     WithinAbs(slope, 1e-8 + 2e-7 * std::abs(slope)));
    }
}

struct Sizes {
    Index heads, kv_heads, n_q, n_k, d_k, d_v;
};

std::size_t place(Index row, Index column, Index columns) {
    return static_cast<std::size_t>(row * columns + column);
}

Numbers attention(const Sizes& s, const AttentionCall& call, const Mask& mask, const Numbers& q,
                  const Numbers& k, const Numbers& v, const Numbers& bias) {
    Numbers output(static_cast<std::size_t>(s.heads * s.n_q * s.d_v));
    for (Index head = 0; head < s.heads; ++head)
        for (Index i = 0; i < s.n_q; ++i) {
            const Index kv = head * s.kv_heads / s.heads;
            double total = 0;
            Numbers sum(static_cast<std::size_t>(s.d_v));
            for (Index j = 0; j < s.n_k; ++j) {
                if (!mask.allows(head, i, j)) continue;
                double score = 0;
                for (Index a = 0; a < s.d_k; ++a)
                    score += q[place(head * s.n_q + i, a, s.d_k)] * k[place(kv * s.n_k + j, a, s.d_k)];
                score *= static_cast<double>(call.scale);
                const double cap = static_cast<double>(call.softcap);
                if (cap != 0) score = cap * std::tanh(score / cap);
                score += bias[place(head * s.n_q + i, j, s.n_k)];
                total += std::exp(score);
                for (Index b = 0; b < s.d_v; ++b)
                    sum[place(0, b, 0)] += std::exp(score) * v[place(kv * s.n_k + j, b, s.d_v)];
            }
            for (Index b = 0; b < s.d_v; ++b)
                output[place(head * s.n_q + i, b, s.d_v)] = total == 0 ? 0 : sum[place(0, b, 0)] / total;
        }
    return output;
}

}  // namespace

TEST_CASE("Gradients of attention are the derivatives of its loss", "[unit][kernels]") {
    const char* text = GENERATE("everything", "causal(1)", "causal(-2)", "window(2,1)", "painted(1,1,3,a)");
    const float softcap = GENERATE(0.0f, 1.5f);
    const auto s = GENERATE(Sizes{1, 1, 5, 5, 3, 3}, Sizes{4, 2, 4, 6, 3, 2}, Sizes{2, 1, 6, 3, 2, 5});
    const Mask mask = *Mask::parse(text);
    const Tensor q = random_tensor({s.heads, s.n_q, s.d_k}, 1),
                 k = random_tensor({s.kv_heads, s.n_k, s.d_k}, 2),
                 v = random_tensor({s.kv_heads, s.n_k, s.d_v}, 3),
                 bias = random_tensor({s.heads, s.n_q, s.n_k}, 4);
    AttentionCall call = attention_call(q, k, v);
    call.scale = 0.7f;
    call.softcap = softcap;
    call.rule = mask.rule();
    call.bias = bias.heads();
    INFO(text << ", soft cap " << softcap << ", heads " << s.heads);
    const AttentionPass pass(call);
    const AttentionGradients g = differentiate(reference_backward(), pass);
    const Numbers up = wide(pass.d_output), wide_q = wide(q), wide_k = wide(k), wide_v = wide(v),
                  wide_bias = wide(bias);
    const auto loss = [&](const Numbers& of_q, const Numbers& of_k, const Numbers& of_v,
                          const Numbers& of_bias) {
        return inner(attention(s, call, mask, of_q, of_k, of_v, of_bias), up);
    };
    check_gradient(g.d_q, wide_q, [&](const Numbers& x) { return loss(x, wide_k, wide_v, wide_bias); });
    check_gradient(g.d_k, wide_k, [&](const Numbers& x) { return loss(wide_q, x, wide_v, wide_bias); });
    check_gradient(g.d_v, wide_v, [&](const Numbers& x) { return loss(wide_q, wide_k, x, wide_bias); });
    check_gradient(g.d_bias, wide_bias, [&](const Numbers& x) { return loss(wide_q, wide_k, wide_v, x); });
}

TEST_CASE("Gradients of a linear layer are the derivatives of its loss", "[unit][kernels]") {
    const Index n = 5, in = 4, out = 3;
    const Tensor x = random_tensor({n, in}, 5), w = random_tensor({in, out}, 6), b = random_tensor({out}, 7),
                 dy = random_tensor({n, out}, 8);
    const auto loss = [&](const Numbers& of_x, const Numbers& of_w, const Numbers& of_b) {
        double sum = 0;
        for (Index i = 0; i < n; ++i)
            for (Index o = 0; o < out; ++o) {
                double y = of_b[place(0, o, 0)];
                for (Index a = 0; a < in; ++a) y += of_x[place(i, a, in)] * of_w[place(a, o, out)];
                sum += y * static_cast<double>(dy.matrix()(i, o));
            }
        return sum;
    };
    Tensor d_w({in, out}), d_turned({out, in}), d_b({out}), none;
    using enum WeightView::Layout;
    reference_backward().linear(x.matrix(), dy.matrix(), in_out, d_w.matrix(), d_b.values());
    reference_backward().linear(x.matrix(), dy.matrix(), out_in, d_turned.matrix(), {});
    check_gradient(d_w, wide(w), [&](const Numbers& p) { return loss(wide(x), p, wide(b)); });
    check_gradient(d_b, wide(b), [&](const Numbers& p) { return loss(wide(x), wide(w), p); });
    for (Index a = 0; a < in; ++a)
        for (Index o = 0; o < out; ++o) CHECK(d_turned.matrix()(o, a) == d_w.matrix()(a, o));

    // For the input, the same weights [in, out] are those [out', in'] of a layer from `out` to `in`.
    Tensor d_x({n, in});
    reference_kernels().linear(dy.matrix(),
                               {reinterpret_cast<const std::byte*>(w.data()), DType::f32, out, in, out_in},
                               {}, Activation::none, d_x.matrix());
    check_gradient(d_x, wide(x), [&](const Numbers& p) { return loss(p, wide(w), wide(b)); });
}

TEST_CASE("Gradients of the norms are the derivatives of their loss", "[unit][kernels]") {
    const bool centred = GENERATE(false, true);
    const Index n = 3, d = GENERATE(1, 2, 7);
    const float epsilon = 1e-2f;
    const Tensor x = random_tensor({n, d}, 9), gain = random_tensor({d}, 10), bias = random_tensor({d}, 11),
                 dy = random_tensor({n, d}, 12);
    const auto loss = [&](const Numbers& of_x, const Numbers& of_gain, const Numbers& of_bias) {
        double sum = 0;
        for (Index r = 0; r < n; ++r) {
            double mean = 0, variance = 0;
            for (Index c = 0; c < d && centred; ++c) mean += of_x[place(r, c, d)] / static_cast<double>(d);
            for (Index c = 0; c < d; ++c)
                variance += std::pow(of_x[place(r, c, d)] - mean, 2) / static_cast<double>(d);
            for (Index c = 0; c < d; ++c) {
                const double normal =
                    (of_x[place(r, c, d)] - mean) / std::sqrt(variance + static_cast<double>(epsilon));
                const double y = normal * of_gain[place(0, c, 0)] + of_bias[place(0, c, 0)];
                sum += y * static_cast<double>(dy.matrix()(r, c));
            }
        }
        return sum;
    };
    Tensor d_x({n, d}), d_gain({d}), d_bias({d});
    if (centred)
        reference_backward().layer_norm(x.matrix(), gain.values(), epsilon, dy.matrix(), d_x.matrix(),
                                        d_gain.values(), d_bias.values());
    else
        reference_backward().rms_norm(x.matrix(), gain.values(), epsilon, dy.matrix(), d_x.matrix(),
                                      d_gain.values());
    check_gradient(d_x, wide(x), [&](const Numbers& p) { return loss(p, wide(gain), wide(bias)); });
    check_gradient(d_gain, wide(gain), [&](const Numbers& p) { return loss(wide(x), p, wide(bias)); });
    if (centred)
        check_gradient(d_bias, wide(bias), [&](const Numbers& p) { return loss(wide(x), wide(gain), p); });
}

TEST_CASE("Gradients of the activations are the derivatives of their loss", "[unit][kernels]") {
    const auto activation = GENERATE(Activation::none, Activation::relu, Activation::gelu,
                                     Activation::gelu_tanh, Activation::silu);
    const Tensor z = random_tensor({40}, 13, 3), dy = random_tensor({40}, 14);
    Tensor dz({40});
    reference_backward().activate(activation, z.values(), dy.values(), dz.values());
    const Numbers up = wide(dy);
    check_gradient(dz, wide(z), [&](Numbers x) {
        for (double& v : x) v = activated(activation, v);
        return inner(x, up);
    });
}

TEST_CASE("Gradients of cross-entropy are the derivatives of the loss", "[unit][kernels]") {
    const Index n = 4, vocabulary = 6;
    const std::vector<std::int32_t> targets{2, -1, 5, 0};
    const Tensor logits = random_tensor({n, vocabulary}, 15, 2);
    const auto losses = [&](const Numbers& x) {
        Numbers loss(targets.size());
        for (Index r = 0; r < n; ++r) {
            const std::int32_t target = targets[static_cast<std::size_t>(r)];
            double sum = 0;
            for (Index c = 0; c < vocabulary; ++c) sum += std::exp(x[place(r, c, vocabulary)]);
            if (target >= 0)
                loss[static_cast<std::size_t>(r)] = std::log(sum) - x[place(r, target, vocabulary)];
        }
        return loss;
    };
    Tensor gradient = logits;
    std::vector<float> loss(targets.size());
    reference_backward().cross_entropy(gradient.matrix(), targets, 0.25f, loss);
    check_gradient(gradient, wide(logits),
                   [&](const Numbers& x) { return inner(losses(x), Numbers(targets.size(), 0.25)); });
    for (std::size_t i = 0; i < loss.size(); ++i)
        CHECK_THAT(static_cast<double>(loss[i]), WithinAbs(losses(wide(logits))[i], 1e-6));
}

TEST_CASE("rope with the sine negated is the gradient of rope", "[unit][kernels]") {
    const bool interleaved = GENERATE(false, true);
    const Index n = 3, half = 2, d = 5;
    const Tensor angles = random_tensor({n, half}, 16, 2), x = random_tensor({n, d}, 17),
                 dy = random_tensor({n, d}, 18);
    Tensor cosine({n, half}), sine({n, half}), negated({n, half}), dx = dy;
    for (Index i = 0; i < n * half; ++i) {
        cosine.data()[i] = std::cos(angles.data()[i]);
        sine.data()[i] = std::sin(angles.data()[i]);
        negated.data()[i] = -sine.data()[i];
    }
    reference_kernels().rope(dx.matrix(), std::as_const(cosine).matrix(), std::as_const(negated).matrix(),
                             interleaved);
    check_gradient(dx, wide(x), [&](Numbers y) {
        for (Index r = 0; r < n; ++r)
            for (Index a = 0; a < half; ++a) {
                double& first = y[place(r, interleaved ? 2 * a : a, d)];
                double& second = y[place(r, interleaved ? 2 * a + 1 : a + half, d)];
                const double c = static_cast<double>(cosine.matrix()(r, a)),
                             s = static_cast<double>(sine.matrix()(r, a)), before = first;
                first = before * c - second * s;
                second = before * s + second * c;
            }
        return inner(y, wide(dy));
    });
}
