#include "kernels/workers.hpp"

#include <atomic>
#include <catch_amalgamated.hpp>
#include <vector>

#include "attention/mask.hpp"
#include "support/kernels.hpp"
#include "support/threads.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("Every task is done once, whatever the number of threads", "[unit][kernels][threads]") {
    const Threads threads(GENERATE(1, 2, 3, 8));
    for (const Index tasks : {0, 1, 2, 7, 1000}) {
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(tasks));
        for (int call = 0; call < 50; ++call)
            for_each_task(tasks, [&](Index i) { ++done[static_cast<std::size_t>(i)]; });
        for (const auto& times : done) REQUIRE(times == 50);
    }
}

TEST_CASE("Tasks may start tasks of their own", "[unit][kernels][threads]") {
    const Threads threads(4);
    std::atomic<int> done = 0;
    for_each_task(10, [&](Index) { for_each_task(10, [&](Index) { ++done; }); });
    CHECK(done == 100);
}

TEST_CASE("Results have the same bits for any number of threads", "[unit][kernels][threads]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    const Index n = 700, d = 40;
    const Tensor q = random_tensor({6, n, d}, 1), k = random_tensor({2, n, d}, 2),
                 v = random_tensor({2, n, d}, 3);
    const Mask causal = Mask::causal();
    AttentionCall call = attention_call(q, k, v);
    call.rule = causal.rule();
    const Tensor x = random_tensor({600, 130}, 4), w = random_tensor({130, 300}, 5);
    const WeightView weight{reinterpret_cast<const std::byte*>(w.data()), DType::f32, 130, 300,
                            WeightView::Layout::in_out};
    const auto linear = [&](Index rows) {
        Tensor y({rows, 300});
        kernels.linear({x.data(), rows, 130, 130}, weight, {}, Activation::gelu, y.matrix());
        return y;
    };

    const Threads one(1);
    const AttentionResult attention = run(kernels, call);
    const Tensor many = linear(600), single = linear(1);
    const Threads several(GENERATE(2, 5));
    CHECK(run(kernels, call) == attention);
    CHECK(linear(600) == many);
    CHECK(linear(1) == single);
}
