// Prints the bits of runs, to compare before and after a change that should keep them:
//   tests-native "[hashes]" > before.txt
#include <bit>
#include <catch_amalgamated.hpp>
#include <iomanip>
#include <iostream>

#include "model/forward.hpp"
#include "support/small_families.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// FNV-1a over the bytes of f32.
class Hash {
  public:
    void add(const Tensor& tensor) {
        for (const float each : tensor.values())
            for (std::uint32_t bits = std::bit_cast<std::uint32_t>(each), i = 0; i < 4; ++i, bits >>= 8)
                value_ = (value_ ^ (bits & 255)) * 0x100000001b3u;
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325u;
};

void print(const std::string& model, const Kernels& kernels, const Trace& trace) {
    Hash attention, logits;
    for (const NamedTensor& named : trace.tensors()) attention.add(*named.tensor);
    logits.add(trace.logits({0, trace.tokens()}));
    std::cout << model << ' ' << kernels.name << std::hex << " run " << attention.value() << " logits "
              << logits.value() << std::dec << '\n';
}

}  // namespace

TEST_CASE("hashes of runs by kernel table", "[.][hashes]") {
    const std::vector<std::int32_t> ids{1, 4, 2, 3, 4, 0, 2};
    for (const Kernels* kernels : all_kernels()) {
        for (const char* name : {"gpt2-f32", "gpt2-untied-f16", "llama-sharded-bf16", "llama3-scaled-f32",
                                 "qwen2-linear-f32", "mistral-window-f16"}) {
            const auto model = load(golden_folder(name));
            const auto trace = run_forward(model, ids, *kernels);
            REQUIRE(trace);
            print(name, *kernels, **trace);
            const auto some = run_forward(model, std::vector(ids.begin(), ids.end() - 1), *kernels);
            REQUIRE(some);
            const auto decoded = ForwardPass::start(*some, ids)->finish();
            REQUIRE(decoded);
            print(std::string(name) + ", decoded", *kernels, **decoded);
        }
        for (const SmallFamily& family : small_families) {
            const auto model = small_model(family);
            const auto trace = run_forward(model, ids, *kernels);
            REQUIRE(trace);
            print(family.name, *kernels, **trace);
        }
    }
}
