// Compares with plain PyTorch in float64: tests/golden/model/generate.py.
#include "model/forward.hpp"
#include "model/generate.hpp"
#include "models.hpp"

using namespace attn;
using namespace attn::test;

namespace {

struct Expected {
    Bytes bytes;

    explicit Expected(const std::string& name)
        : bytes(read_file(golden_folder(name) / "expect.safetensors")) {}
    Tensor operator[](const std::string& name) const {
        const auto file = parse_safetensors(bytes);
        REQUIRE(file);
        INFO(name);
        auto tensor = file->tensor(name);
        REQUIRE(tensor);
        return *tensor;
    }
    std::vector<std::int32_t> ids(const std::string& name) const {
        std::vector<std::int32_t> list;
        const Tensor ids = (*this)[name];
        for (float id : ids.values()) list.push_back(static_cast<std::int32_t>(id));
        return list;
    }
};

constexpr const char* names[] = {"gpt2-f32",          "gpt2-untied-f16",  "llama-sharded-bf16",
                                 "llama3-scaled-f32", "qwen2-linear-f32", "mistral-window-f16"};

}  // namespace

TEST_CASE("every tensor of a run matches PyTorch", "[golden][model]") {
    const std::string name = GENERATE(from_range(std::begin(names), std::end(names)));
    const Kernels& kernels = GENERATE(std::cref(default_kernels()), std::cref(reference_kernels()));
    CAPTURE(name, kernels.name);
    const Expected expected(name);
    const auto model = load(golden_folder(name));
    CHECK(model->notes().empty());
    const auto trace = run_forward(model, expected.ids("ids"), kernels);
    REQUIRE(trace);

    // Activations of these models are within ±10, attention weights within [0, 1].
    const double bound = 2e-5;
    const auto same = [&](const std::string& tensor, const Tensor& got) {
        CAPTURE(tensor);
        const Tensor want = expected[tensor];
        CHECK(got.shape() == want.shape());
        CHECK(deviation(got.values(), want.values()) < bound);
    };
    for (const NamedTensor& named : (*trace)->tensors())
        if (!named.name.ends_with("row_max") && !named.name.ends_with("row_log_sum"))
            same(named.name, *named.tensor);
    same("logits", (*trace)->logits({0, (*trace)->tokens()}));
    for (std::size_t layer = 0; layer < (*trace)->layers().size(); ++layer) {
        const Tensor got = weights_of((*trace)->layers()[layer].attention);
        const Tensor want = expected["layers." + std::to_string(layer) + ".weights"];
        CHECK(deviation(got.values(), want.values()) < 2e-6);
    }
}

TEST_CASE("greedy continuations match PyTorch", "[golden][model]") {
    const std::string name = GENERATE(from_range(std::begin(names), std::end(names)));
    CAPTURE(name);
    const Expected expected(name);
    auto generator = Generator::start(load(golden_folder(name)), expected.ids("ids"), {});
    REQUIRE(generator);
    for (std::int32_t want : expected.ids("greedy")) {
        const auto id = generator->next();
        REQUIRE(id);
        CHECK(*id == want);
    }
}
