// Tests that a run that continues another has the bits of a run of its own, and shares its memory if nothing
// is in the way.
#include <cstring>

#include "analysis/heads/head_maps.hpp"
#include "model/forward.hpp"
#include "models.hpp"
#include "support/kernels.hpp"

using namespace attn;
using namespace attn::test;

namespace {

using Ids = std::vector<std::int32_t>;

Ids ids_of(Index count) {
    Ids ids;
    for (Index i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((i * i + i / 3) % 8));
    return ids;
}

Ids first(const Ids& ids, Index count) { return {ids.begin(), ids.begin() + count}; }

Ids with(Ids ids, Index at, std::int32_t id) {
    ids[static_cast<std::size_t>(at)] = id;
    return ids;
}

std::shared_ptr<const Trace> continued(const std::shared_ptr<const Trace>& before, const Ids& ids) {
    auto forward = ForwardPass::start(before, ids);
    REQUIRE(forward);
    auto trace = forward->finish();
    REQUIRE(trace);
    CHECK(forward->progress() == 1);
    return *trace;
}

bool same_bits(const Tensor& a, const Tensor& b) {
    const Tensor x = a, y = b;  // copies are contiguous
    return x.shape() == y.shape() &&
           std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(float)) == 0;
}

// Compares everything with a run of the trace's ids alone.
void check_alone(const std::shared_ptr<const Trace>& trace) {
    const Ids ids(trace->ids().begin(), trace->ids().end());
    const auto alone = run_forward(trace->model(), ids, trace->kernels());
    REQUIRE(alone);
    const auto got = trace->tensors(), expected = (*alone)->tensors();
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        INFO(got[i].name << " of " << ids.size() << " tokens");
        CHECK(same_bits(*got[i].tensor, *expected[i].tensor));
    }
    const Index n = trace->tokens();
    CHECK(same_bits(trace->logits({n - 1, n}), (*alone)->logits({n - 1, n})));
    const Index layer = std::ssize(trace->layers()) - 1;
    for (const Stage stage : {Stage::raw, Stage::weight, Stage::contribution, Stage::projected}) {
        const auto a = cells_of(*map_of(trace, layer, 1, stage, Sink::shown)),
                   b = cells_of(*map_of(*alone, layer, 1, stage, Sink::shown));
        CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
    }
}

const float* memory(const std::shared_ptr<const Trace>& trace) {
    return trace->layers().front().mlp_hidden.data();
}

}  // namespace

TEST_CASE("A run that continues another equals a run of its own, bit for bit", "[model]") {
    const std::string name = GENERATE("gpt2", "llama3-scaled-f32", "mistral-window-f16");
    const Kernels& kernels = generate_kernels();
    CAPTURE(name, kernels.name);
    const auto model = name == "gpt2" ? wide_model(48) : with_context(name, 200);
    const Ids ids = ids_of(170);
    // Around the sizes of the kernels' tiles.
    const Index begin = GENERATE(1, 64, 129);
    const auto start = run_forward(model, first(ids, begin), kernels);
    REQUIRE(start);

    const auto typed = continued(*start, first(ids, begin + 1));
    check_alone(typed);
    check_alone(continued(typed, first(ids, begin + 2)));
    // While another run occupies the room behind it.
    const auto more = continued(typed, first(ids, begin + 37));
    check_alone(more);
    check_alone(continued(more, first(ids, begin + 5)));
    check_alone(continued(more, with(first(ids, begin + 20), begin / 2, 7)));
    check_alone(continued(more, with(first(ids, begin + 20), 0, 5)));
    check_alone(more);
    check_alone(typed);
    check_alone(*start);
}

TEST_CASE("Tokens one after the other continue a run in the same memory", "[model]") {
    const auto model = with_context("qwen2-linear-f32", 64);
    const Ids ids = ids_of(64);
    auto trace = continued(*run_forward(model, first(ids, 20)), first(ids, 21));
    for (Index n = 22; n <= 36; ++n) {  // there is room for 16 more tokens
        const auto next = continued(trace, first(ids, n));
        CHECK(memory(next) == memory(trace));
        check_alone(next);
        trace = next;
    }
    const auto fewer = continued(trace, first(ids, 30));
    CHECK(memory(fewer) == memory(trace));
    const auto otherwise = continued(fewer, with(first(ids, 31), 30, 9));
    CHECK(memory(otherwise) != memory(trace));
    check_alone(otherwise);
    check_alone(trace);
}

TEST_CASE("A run dropped half-way does not interfere", "[model]") {
    const auto model = with_context("llama-sharded-bf16", 64);
    const Ids ids = ids_of(40);
    const auto before = continued(*run_forward(model, first(ids, 20)), first(ids, 21));
    {
        auto dropped = ForwardPass::start(before, with(first(ids, 25), 22, 9), 1);
        REQUIRE(dropped);
        for (int i = 0; i < 9; ++i) dropped->step();
    }
    check_alone(continued(before, first(ids, 25)));
}

TEST_CASE("Impossible runs are refused, continued or not", "[model]") {
    const auto before = run_forward(with_context("llama-sharded-bf16", 64), ids_of(20));
    CHECK(!ForwardPass::start(*before, Ids{}));
    CHECK(!ForwardPass::start(*before, Ids(65, 1)));
    CHECK(!ForwardPass::start(*before, Ids{1, 2, 99}));
}
