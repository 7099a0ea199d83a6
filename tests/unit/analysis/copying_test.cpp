// Compares with the whole matrix [tokens, tokens] of each head, in double: the traces of its powers are the
// sums of the powers of its eigenvalues, which determine all eigenvalues other than 0.
#include "analysis/heads/copying.hpp"

#include "analysis/linalg/eigenvalues.hpp"
#include "tensor/random.hpp"
#include "unit/analysis/whole_circuits.hpp"

using namespace attn;
using namespace attn::test;

namespace {

using Complex = std::complex<double>;

Complex power_sum(const std::vector<Complex>& values, int power) {
    Complex sum = 0;
    for (const Complex& each : values) sum += std::pow(each, power);
    return sum;
}

CopyingJob copying_found(const std::shared_ptr<const Model>& model,
                         const Kernels& kernels = default_kernels()) {
    auto job = CopyingJob::start(model, kernels);
    REQUIRE(job);
    while (job->step()) continue;
    return *std::move(job);
}

Whole whole_ov(const Model& model, HeadIndex head) {
    const Whole read = product(read_tokens(model.network(), head.layer), whole_w_v(model, head));
    return product(read, logits_from(model.network(), head.layer, whole_w_o(model, head)));
}

}  // namespace

TEST_CASE("the eigenvalues of matrices with known eigenvalues", "[analysis]") {
    const auto turned = eigenvalues(2, std::vector<double>{0, -2, 2, 0});  // a quarter turn, scaled by 2
    REQUIRE(turned.size() == 2);
    CHECK(std::abs(turned[0] - Complex(0, 2)) < 1e-14);
    CHECK(std::abs(turned[1] - Complex(0, -2)) < 1e-14);
    // The companion matrix of (x − 3)(x + 2)(x − 1) = x³ − 2x² − 5x + 6.
    const auto roots = eigenvalues(3, std::vector<double>{2, 5, -6, 1, 0, 0, 0, 1, 0});
    REQUIRE(roots.size() == 3);
    CHECK(std::abs(roots[0] - 3.0) < 1e-12);
    CHECK(std::abs(roots[1] + 2.0) < 1e-12);
    CHECK(std::abs(roots[2] - 1.0) < 1e-12);
    const auto defective = eigenvalues(2, std::vector<double>{1, 1, 0, 1});
    // A double root is only as accurate as the square root of the rounding.
    CHECK(std::abs(defective[0] - 1.0) < 1e-7);
    CHECK(eigenvalues(1, std::vector<double>{NAN}).empty());
    CHECK(eigenvalues(3, std::vector<double>(9)) == std::vector<Complex>(3));
    // Shifts taken from its corner leave a cyclic permutation unchanged; its eigenvalues are the roots of
    // unity.
    std::vector<double> cycle(64);
    for (std::size_t i = 0; i < 8; ++i) cycle[i * 8 + (i + 1) % 8] = 1;
    const auto of_cycle = eigenvalues(8, cycle);
    REQUIRE(of_cycle.size() == 8);
    for (const Complex& each : of_cycle) CHECK(std::abs(std::pow(each, 8) - 1.0) < 1e-12);
    // Takes several slices, with reflections; compares the traces of powers.
    Random random(7);
    constexpr Index size = 90;
    std::vector<double> many(size * size);
    for (double& each : many) each = random.normal() * 1e150;
    const auto found = eigenvalues(size, many);
    REQUIRE(std::ssize(found) == size);
    Complex sum = 0, squares = 0;
    double trace = 0, trace_of_square = 0;
    for (const Complex& each : found) sum += each / 1e150, squares += each / 1e150 * (each / 1e150);
    for (Index i = 0; i < size; ++i) {
        const auto at = [&](Index row, Index col) {
            return many[static_cast<std::size_t>(row * size + col)] / 1e150;
        };
        trace += at(i, i);
        for (Index j = 0; j < size; ++j) trace_of_square += at(i, j) * at(j, i);
    }
    CHECK(std::abs(sum - trace) < 1e-11 * size);
    CHECK(std::abs(squares - trace_of_square) < 1e-11 * size * size);
}

TEST_CASE("a head that copies scores 1, one that suppresses −1, and a zero head nothing", "[analysis]") {
    CHECK(copying_of(2, std::vector<double>{3, 1, 0, 2}).score == Catch::Approx(1));
    CHECK(copying_of(2, std::vector<double>{-3, 1, 0, -2}).score == Catch::Approx(-1));
    CHECK(std::abs(copying_of(2, std::vector<double>{0, -1, 1, 0}).score) < 1e-15);  // i and −i
    CHECK(std::isnan(copying_of(2, std::vector<double>{0, 0, 0, 0}).score));
    CHECK(std::isnan(copying_of(2, std::vector<double>{HUGE_VAL, 0, 0, 1}).score));
}

TEST_CASE("every head's eigenvalues match its circuit over the whole vocabulary, in every family",
          "[analysis]") {
    for (const SmallFamily& family : small_families) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const CopyingJob found = copying_found(model);
        const Index heads = model->config().heads;
        REQUIRE(std::ssize(found.heads()) == model->network().attentions() * heads);
        for (Index layer = 0; layer < model->network().attentions(); ++layer)
            for (Index head = 0; head < heads; ++head) {
                CAPTURE(layer, head);
                const Copying& own = found.of({layer, head});
                REQUIRE(std::ssize(own.eigenvalues) == model->config().head_dim);
                const Whole all = whole_ov(*model, {layer, head});
                // Sums over 20 tokens and 16 components in f32, raised to powers.
                Whole power = all;
                double size = 1;
                for (int k = 1; k <= 5; ++k, power = product(power, all)) {
                    size *= norm_of(all);
                    const Complex sum = power_sum(own.eigenvalues, k);
                    CAPTURE(k, sum, trace_of(power), size);
                    CHECK(std::abs(sum - trace_of(power)) < 2e-5 * size * k);
                }
                double real = 0, moduli = 0;
                for (const Complex& each : own.eigenvalues) real += each.real(), moduli += std::abs(each);
                CHECK(own.score == Catch::Approx(real / moduli));
                CHECK(std::abs(own.score) <= 1 + 1e-12);
            }
    }
}

TEST_CASE("a vocabulary of several chunks gives the same sum as adding token by token", "[analysis]") {
    const SmallFamily wide{"gpt2",
                           R"({"model_type": "gpt2", "vocab_size": 300, "n_positions": 16, "n_embd": 16,
        "n_layer": 1, "n_head": 2})"};
    const auto model = small_model(wide);
    const CopyingJob fast = copying_found(model), plain = copying_found(model, reference_kernels());
    for (Index head = 0; head < 2; ++head) {
        const Whole all = whole_ov(*model, {0, head});
        CHECK(std::abs(power_sum(fast.of({0, head}).eigenvalues, 1) - trace_of(all)) < 2e-5 * norm_of(all));
        CHECK(std::abs(fast.of({0, head}).score - plain.of({0, head}).score) < 1e-4);
    }
}

TEST_CASE("two heads, a reader and a writer, meet in one small matrix", "[analysis]") {
    const auto model = small_model(small_families.front());
    TokenProducts products(*CircuitEnds::of(model));
    while (products.step()) continue;
    const Tensor between = products.between({1, 0}, {0, 1});
    const Whole reads = product(read_tokens(model->network(), 0), whole_w_v(*model, {0, 1}));
    const Whole writes = logits_from(model->network(), 1, whole_w_o(*model, {1, 0}));
    const Whole expected = product(writes, reads);
    const double size = norm_of(writes) * norm_of(reads);
    for (Index a = 0; a < between.dim(0); ++a)
        for (Index b = 0; b < between.dim(1); ++b)
            CHECK(std::abs(static_cast<double>(between.matrix()(a, b)) -
                           expected[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]) < 1e-5 * size);
}

TEST_CASE("an encoder–decoder has no such score, and says why", "[analysis]") {
    for (const SmallFamily& family : small_encoder_decoders) {
        const auto job = CopyingJob::start(small_model(family));
        REQUIRE_FALSE(job);
        CHECK(job.error().message.starts_with("The heads of an encoder–decoder"));
    }
}
