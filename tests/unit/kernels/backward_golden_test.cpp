// Compares with PyTorch, computed in double by tests/golden/backward/generate.py.

#include <catch_amalgamated.hpp>

#include "attention/mask.hpp"
#include "io/npy.hpp"
#include "support/backward.hpp"
#include "support/files.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

// Inputs are standard-normal and few; f32 is off by a few 1e-7 of numbers below 30, as in the
// comparison with the reference.
constexpr double golden_tolerance = 1e-5;

class GoldenCase {
  public:
    explicit GoldenCase(const std::string& name)
        : folder_(source_dir() / "tests" / "golden" / "backward" / name) {}

    Tensor operator[](const std::string& name) const {
        const auto bytes = read_file(folder_ / (name + ".npy"));
        const auto array = parse_npy(bytes);
        INFO(name);
        REQUIRE(array);
        auto tensor = to_tensor(*array);
        REQUIRE(tensor);
        return *std::move(tensor);
    }

    void check(const char* name, const Tensor& actual, double bound = golden_tolerance) const {
        INFO(name);
        CHECK_THAT(largest_difference(actual.values(), (*this)[name].values()), WithinAbs(0, bound));
    }

  private:
    std::filesystem::path folder_;
};

const BackwardKernels& generate_backward_kernels() {
    return *GENERATE(from_range(fast_and_reference_backward()));
}

}  // namespace

TEST_CASE("Gradients of attention match PyTorch", "[golden][kernels]") {
    const BackwardKernels& kernels = generate_backward_kernels();
    const GoldenCase golden(GENERATE("attention-causal", "attention-softcap-grouped"));
    const Tensor q = golden["q"], k = golden["k"], v = golden["v"];
    const Mask causal = Mask::causal();
    AttentionCall call = attention_call(q, k, v);
    call.scale = 1 / std::sqrt(static_cast<float>(q.dim(2)));
    call.softcap = golden["softcap"].data()[0];
    call.rule = causal.rule();
    AttentionPass pass(call);
    golden.check("output", pass.result.output);
    pass.d_output = golden["d_output"];
    const AttentionGradients g = differentiate(kernels, pass);
    golden.check("d_q", g.d_q);
    golden.check("d_k", g.d_k);
    golden.check("d_v", g.d_v);
}

TEST_CASE("Gradients of the norms match PyTorch", "[golden][kernels]") {
    const BackwardKernels& kernels = generate_backward_kernels();
    const GoldenCase layer("layer-norm"), rms("rms-norm");
    Tensor d_x({9, 33}), d_gain({33}), d_bias({33});
    kernels.layer_norm(layer["x"].matrix(), layer["gain"].values(), 1e-5f, layer["d_output"].matrix(),
                       d_x.matrix(), d_gain.values(), d_bias.values());
    layer.check("d_x", d_x);
    layer.check("d_gain", d_gain);
    layer.check("d_bias", d_bias);
    d_gain = Tensor({33});
    kernels.rms_norm(rms["x"].matrix(), rms["gain"].values(), 1e-5f, rms["d_output"].matrix(), d_x.matrix(),
                     d_gain.values());
    rms.check("d_x", d_x);
    rms.check("d_gain", d_gain);
}

TEST_CASE("Gradients of a linear layer match PyTorch", "[golden][kernels]") {
    const BackwardKernels& kernels = generate_backward_kernels();
    const GoldenCase golden("linear");
    const Tensor x = golden["x"], weight = golden["weight"], dy = golden["d_output"];
    Tensor d_x(x.shape()), d_weight(weight.shape()), d_bias({weight.dim(0)});
    kernels.linear(x.matrix(), dy.matrix(), WeightView::Layout::out_in, d_weight.matrix(), d_bias.values());
    golden.check("d_weight", d_weight);
    golden.check("d_bias", d_bias);
    const WeightView other{reinterpret_cast<const std::byte*>(weight.data()), DType::f32, weight.dim(0),
                           weight.dim(1), WeightView::Layout::in_out};
    default_kernels().linear(dy.matrix(), other, {}, Activation::none, d_x.matrix());
    golden.check("d_x", d_x);
}

TEST_CASE("Gradients of the activations match PyTorch", "[golden][kernels]") {
    const BackwardKernels& kernels = generate_backward_kernels();
    const auto [name, activation] =
        GENERATE(std::pair{"relu", Activation::relu}, std::pair{"gelu", Activation::gelu},
                 std::pair{"gelu-tanh", Activation::gelu_tanh}, std::pair{"silu", Activation::silu});
    const GoldenCase golden(name);
    Tensor d = golden["d_output"];
    kernels.activate(activation, golden["z"].values(), d.values(), d.values());
    golden.check("d_z", d);
}

TEST_CASE("Cross-entropy and its gradient match PyTorch", "[golden][kernels]") {
    const BackwardKernels& kernels = generate_backward_kernels();
    const GoldenCase golden("cross-entropy");
    const Tensor ids = golden["targets"];
    const std::vector<std::int32_t> targets(ids.values().begin(), ids.values().end());
    Tensor logits = golden["logits"], loss({logits.dim(0)});
    const auto count = std::ranges::count_if(targets, [](std::int32_t t) { return t >= 0; });
    kernels.cross_entropy(logits.matrix(), targets, 1 / static_cast<float>(count), loss.values());
    golden.check("loss", loss);
    golden.check("d_logits", logits, 1e-7);  // at most 1 / 16
}

TEST_CASE("One step and ten steps of AdamW match PyTorch", "[golden][kernels]") {
    const BackwardKernels& kernels = generate_backward_kernels();
    const GoldenCase golden("adamw");
    Tensor parameters = golden["parameters"], m(parameters.shape()), v(parameters.shape());
    const Tensor gradients = golden["gradients"];
    AdamW a{.rate = 0.01f, .beta2 = 0.95f, .weight_decay = 0.1f, .correction1 = 1, .correction2 = 1};
    for (Index step = 1; step <= 10; ++step) {
        a.correction1 = static_cast<float>(1 - std::pow(0.9, step));
        a.correction2 = static_cast<float>(1 - std::pow(0.95, step));
        kernels.adamw(a, parameters.values(),
                      {gradients.matrix().row(step - 1), static_cast<std::size_t>(parameters.size())},
                      m.values(), v.values());
        if (step != 1 && step != 10) continue;
        // Weights are below 4, and their steps of 0.01 are accurate to 1e-6 of that: beta2 = 0.95 is off by
        // 1e-8 as an f32, and so the difference 1 − beta2 by 2e-7.
        const std::string which = "_" + std::to_string(step);
        golden.check(("parameters" + which).c_str(), parameters, 2e-6);
        golden.check(("m" + which).c_str(), m, 1e-7);
        golden.check(("v" + which).c_str(), v, 1e-8);
    }
}
