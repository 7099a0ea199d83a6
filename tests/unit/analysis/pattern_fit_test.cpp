#include "analysis/theory/pattern_fit.hpp"

#include <Eigen/Core>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/theory/attention_pattern.hpp"
#include "tensor/random.hpp"

using namespace attn;

namespace {

std::vector<FittedPattern> fits_of(const std::vector<double>& target, Index n) {
    PatternFit fit(target, n, 1);
    double progress = 0;
    while (fit.step()) {
        CHECK(fit.progress() >= progress);
        progress = fit.progress();
    }
    CHECK(fit.progress() == 1);
    REQUIRE(std::ssize(fit.found()) == n);
    return fit.found();
}

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
Eigen::Map<const Rows> rows_of(const std::vector<double>& numbers, Index rows) {
    return {numbers.data(), rows, std::ssize(numbers) / rows};
}

// Softmax of Q Kᵀ / √d, computed with Eigen.
Rows weights_of(const FittedPattern& of, Index n) {
    Rows scores = rows_of(of.q, n) * rows_of(of.k, n).transpose() / std::sqrt(static_cast<double>(of.d_k));
    for (Index i = 0; i < n; ++i) {
        scores.row(i) = (scores.row(i).array() - scores.row(i).maxCoeff()).exp();
        scores.row(i) /= scores.row(i).sum();
    }
    return scores;
}

std::vector<double> permuted(Index n, Index step) {
    std::vector<double> target(static_cast<std::size_t>(n * n));
    for (Index i = 0; i < n; ++i) target[static_cast<std::size_t>(i * n + (i + step) % n)] = 1;
    return target;
}

}  // namespace

TEST_CASE("a pattern says to which keys each query attends, and shares a row among them") {
    CHECK(cells_of({PatternKind::previous, 3, 1, {}}) ==
          std::vector<std::uint8_t>{1, 0, 0, 1, 0, 0, 0, 1, 0});
    CHECK(cells_of({PatternKind::blocks, 4, 1, {}}) ==
          std::vector<std::uint8_t>{1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1});
    const auto permutation = cells_of({PatternKind::permutation, 9, 4, {}});
    for (std::size_t i = 0; i < 9; ++i) {
        int row = 0, column = 0;
        for (std::size_t j = 0; j < 9; ++j) row += permutation[i * 9 + j], column += permutation[j * 9 + i];
        CHECK(row == 1);
        CHECK(column == 1);
    }
    CHECK(target_of({PatternKind::painted, 2, 1, {1, 1, 0, 0}}) == std::vector<double>{0.5, 0.5, 0, 0});
}

TEST_CASE("statements about a fitted pattern are true of its Q and K") {
    Random random(2);
    std::vector<double> soft(25);
    for (double& each : soft) each = random.uniform();
    for (Index i = 0; i < 5; ++i) {
        double sum = 0;
        for (Index j = 0; j < 5; ++j) sum += soft[static_cast<std::size_t>(i * 5 + j)];
        for (Index j = 0; j < 5; ++j) soft[static_cast<std::size_t>(i * 5 + j)] /= sum;
    }
    for (const auto& target : {permuted(5, 2), soft}) {
        const Eigen::Map<const Rows> wanted = rows_of(target, 5);
        for (const FittedPattern& each : fits_of(target, 5)) {
            INFO("d_k " << each.d_k);
            const Rows weights = weights_of(each, 5);
            double divergence = 0;
            for (Index i = 0; i < 5; ++i)
                for (Index j = 0; j < 5; ++j)
                    if (wanted(i, j) > 0)
                        divergence += wanted(i, j) * std::log(wanted(i, j) / weights(i, j)) / 5;
            // The same sums in another order; for a weight as small as 1e-6, its logarithm magnifies their
            // error a million times.
            CHECK((weights - rows_of(each.weights, 5)).cwiseAbs().maxCoeff() < 1e-12);
            CHECK(std::abs(each.largest_error - (weights - wanted).cwiseAbs().maxCoeff()) < 1e-12);
            CHECK(std::abs(each.divergence - divergence) < 1e-8);
            CHECK(each.divergence > -1e-12);
        }
    }
}

TEST_CASE("one component can attend to the first token, two to any one; a soft pattern needs its rank") {
    std::vector<double> first(36);
    for (std::size_t i = 0; i < 6; ++i) first[i * 6] = 1;
    CHECK(fits_of(first, 6)[0].largest_error < 0.01);
    // With keys on a line, only the outermost can be the strongest; on a circle, each of them can.
    const auto permutation = fits_of(permuted(6, 1), 6);
    CHECK(permutation[0].rows_right < 6);
    CHECK(permutation[0].largest_error > 0.4);
    CHECK(permutation[1].rows_right == 6);
    CHECK(permutation[1].largest_error < 0.01);
    // log A of random rows has full rank: n − 1 components and a constant per row reproduce it, fewer do not.
    // (Eckart and Young 1936 bound the remainder from below; here it only has to exist.)
    Random random(9);
    std::vector<double> soft(36);
    for (double& each : soft) each = std::exp(random.normal());
    for (std::size_t i = 0; i < 6; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < 6; ++j) sum += soft[i * 6 + j];
        for (std::size_t j = 0; j < 6; ++j) soft[i * 6 + j] /= sum;
    }
    const auto fitted = fits_of(soft, 6);
    CHECK(fitted[4].largest_error < 0.01);
    CHECK(fitted[1].largest_error > 0.01);
    CHECK(fitted[0].divergence > fitted[1].divergence);
}

TEST_CASE("rows without a pattern are left out, and a fit is reproducible") {
    std::vector<double> target(16);
    CHECK(PatternFit(target, 4, 1).done());
    CHECK(PatternFit(target, 4, 1).found().empty());
    target[1] = 1;
    PatternFit once(target, 4, 5), again(target, 4, 5);
    CHECK(once.rows() == 1);
    while (once.step()) continue;
    while (again.step()) continue;
    REQUIRE(once.found().size() == 4);
    CHECK(once.found()[0].rows_right == 1);
    CHECK(once.found()[0].largest_error <= PatternFit::near);
    for (std::size_t d = 0; d < 4; ++d) CHECK(once.found()[d].q == again.found()[d].q);
}
