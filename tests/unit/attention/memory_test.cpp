// Tests that a Record is linear in the sequence length. This program counts every byte that is allocated.

#include <atomic>
#include <catch_amalgamated.hpp>
#include <cstdlib>
#include <new>

#include "attention/explain.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"

namespace {
std::atomic<std::size_t> allocated = 0;

void* count(std::size_t size, std::size_t alignment) {
    allocated += size;
    void* p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (!p) std::abort();
    return p;
}
}  // namespace

void* operator new(std::size_t size) { return count(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return count(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace attn;
using namespace attn::test;

namespace {

template <class F>
std::size_t bytes_of(F f) {
    const std::size_t before = allocated;
    f();
    return allocated - before;
}

}  // namespace

TEST_CASE("A run allocates its output, two numbers a row, and tiles", "[unit][record]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto precision = GENERATE(SoftmaxPrecision::f32, SoftmaxPrecision::bf16);
    const Index d = 16;
    for (const Index n : {256, 512, 1024}) {
        AttentionSpec spec;
        spec.mask = Mask::causal() & Mask::window(100, 0);
        spec.softmax_precision = precision;
        Tensor q = random_tensor({2, n, d}, 1), k = random_tensor({2, n, d}, 2),
               v = random_tensor({2, n, d}, 3);
        Result<Record> record = Error{};
        const std::size_t run =
            bytes_of([&] { record = Record::run(std::move(q), std::move(k), std::move(v), spec, kernels); });
        REQUIRE(record);
        // Output and row numbers take 2 n (d + 2) floats. A block of at least 192 queries packs 64 keys of K
        // and V at a time and holds 64 × 64 scores: less than 64 (2 · 32 + 64) floats. They are counted once
        // more for each block, because the reference holds one row of n scores. Together, this is less than 8
        // n d floats more.
        const auto linear = static_cast<std::size_t>(n * d) * sizeof(float);
        INFO(kernels.name << ", n " << n << ": " << run << " bytes");
        CHECK(run < 12 * linear);
        CHECK(run < static_cast<std::size_t>(n * n) * sizeof(float));

        // A window allocates only what it shows, and an explanation allocates one row.
        std::vector<float> window(10 * 12);
        CHECK(bytes_of([&] { record->stage(Stage::contribution, 1, {5, 15}, {0, 12}, window); }) < 10000);
        CHECK(bytes_of([&] { explain_output(*record, 0, n - 1, 0); }) <
              4 * static_cast<std::size_t>(n) * sizeof(Term));
    }
}

TEST_CASE("The map of 16,384 tokens is kept in memory linear in them", "[unit][record]") {
    // With this mask nearly every tile is skipped, so the run is quick.
    AttentionSpec spec;
    spec.mask = Mask::causal() & Mask::window(3, 0);
    const Index n = 16384, d = 4;
    std::size_t inputs = 0, run = 0;
    Result<Record> record = Error{};
    Tensor q, k, v;
    inputs = bytes_of([&] {
        q = random_tensor({1, n, d}, 1), k = random_tensor({1, n, d}, 2), v = random_tensor({1, n, d}, 3);
    });
    run = bytes_of([&] { record = Record::run(std::move(q), std::move(k), std::move(v), spec); });
    REQUIRE(record);
    CHECK(inputs + run < std::size_t{8} << 20);  // n² floats would take 1 GiB
    std::vector<float> corner(4);
    record->stage(Stage::weight, 0, {n - 2, n}, {n - 2, n}, corner);
    CHECK(corner[1] == 0);
    CHECK(corner[3] > 0);
}
