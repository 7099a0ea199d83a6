// Checks the directions of a form against NumPy, against the whole matrix, and against their definition.
#include "analysis/linalg/bilinear_form.hpp"

#include <cmath>
#include <numeric>

#include "tensor/random.hpp"
#include "unit/analysis/eigen_svd.hpp"
#include "unit/analysis/golden_numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

using Dense = Eigen::MatrixXd;

struct Factors {
    Index rows, cols, rank;
    std::vector<double> left, right;
    FormFactors form() const { return {view_of(left, rows, rank), view_of(right, cols, rank)}; }
    Dense whole() const {
        Dense m(rows, cols);
        for (Index i = 0; i < rows; ++i)
            for (Index j = 0; j < cols; ++j) m(i, j) = form_cell<double>(form(), i, j);
        return m;
    }
};

std::vector<double> normal(Random& random, Index count) {
    std::vector<double> numbers;
    for (Index i = 0; i < count; ++i) numbers.push_back(random.normal());
    return numbers;
}
Factors random_factors(Index rows, Index cols, Index rank, std::uint64_t seed) {
    Random random(seed);
    auto left = normal(random, rows * rank), right = normal(random, cols * rank);
    return {rows, cols, rank, std::move(left), std::move(right)};
}

SingularDirections found(const Factors& factors) {
    SingularJob job(factors.form());
    int steps = 1;
    CHECK(job.directions() == nullptr);
    while (job.step()) ++steps;
    CHECK(steps == 4);
    CHECK_FALSE(job.step());
    REQUIRE(job.directions());
    return *job.directions();
}

// Rounding in sums of some hundred terms, each relative to the largest singular value.
constexpr double of_rounding = 1e-12;

void check_directions(const Factors& factors) {
    const SingularDirections all = found(factors);
    const Dense m = factors.whole();
    CHECK(all.count() == std::min({factors.rows, factors.cols, factors.rank}));
    const double most = std::max(all.values.front(), 1e-300);
    Dense sum = Dense::Zero(factors.rows, factors.cols);
    for (Index r = 0; r < all.count(); ++r) {
        const Eigen::Map<const Eigen::VectorXd> u(all.left_of(r).data(), factors.rows),
            v(all.right_of(r).data(), factors.cols);
        const double value = all.values[static_cast<std::size_t>(r)];
        if (r > 0) CHECK(value <= all.values[static_cast<std::size_t>(r - 1)]);
        sum += value * u * v.transpose();
        CHECK((m * v - value * u).norm() < of_rounding * most);
        for (Index s = 0; s < all.count(); ++s) {
            const Eigen::Map<const Eigen::VectorXd> other(all.left_of(s).data(), factors.rows),
                other_v(all.right_of(s).data(), factors.cols);
            CHECK(std::abs(u.dot(other) - (r == s)) < of_rounding);
            CHECK(std::abs(v.dot(other_v) - (r == s)) < of_rounding);
        }
        CHECK(u.maxCoeff() == u.cwiseAbs().maxCoeff());
    }
    CHECK((m - sum).norm() < of_rounding * most * std::sqrt(static_cast<double>(m.size())));
    const Eigen::VectorXd other = eigen_svd(m).values;
    for (Index r = 0; r < all.count(); ++r)
        CHECK(std::abs(all.values[static_cast<std::size_t>(r)] - other[r]) < of_rounding * most);
}

}  // namespace

TEST_CASE("a form's singular values and parts match NumPy's") {
    auto goldens = golden_numbers("forms.json");
    for (const auto& golden : goldens["forms"]) {
        const Factors factors{golden["rows"], golden["cols"], golden["rank"], golden["left"],
                              golden["right"]};
        const auto singular = golden["singular"].get<std::vector<double>>();
        const SingularDirections all = found(factors);
        REQUIRE(all.values.size() == singular.size());
        for (std::size_t r = 0; r < singular.size(); ++r)
            CHECK(std::abs(all.values[r] - singular[r]) < of_rounding * singular[0]);
        const FormSquares squares = squares_of(factors.form());
        CHECK(std::abs(squares.whole - golden["whole"].get<double>()) < of_rounding * squares.whole);
        CHECK(squares.square == golden.contains("symmetric"));
        if (!squares.square) continue;
        CHECK(std::abs(squares.symmetric - golden["symmetric"].get<double>()) < of_rounding * squares.whole);
        CHECK(std::abs(squares.antisymmetric - golden["antisymmetric"].get<double>()) <
              of_rounding * squares.whole);
    }
}

TEST_CASE("directions are orthonormal, ordered, and reproduce the form, whatever its shape") {
    for (const auto& [rows, cols, rank] : std::vector<std::array<Index, 3>>{
             {1, 1, 1}, {5, 5, 2}, {3, 3, 8}, {160, 160, 20}, {7, 30, 16}, {64, 64, 64}, {90, 4, 17}})
        check_directions(random_factors(rows, cols, rank, static_cast<std::uint64_t>(rows + cols + rank)));
}

TEST_CASE("the same holds for hard forms: rank-deficient, rank one, zero, and with values of all sizes") {
    Factors twins = random_factors(20, 20, 6, 3);
    for (Index i = 0; i < 20; ++i)
        for (Index a = 3; a < 6; ++a)
            twins.left[static_cast<std::size_t>(i * 6 + a)] =
                twins.left[static_cast<std::size_t>(i * 6 + a - 3)];
    check_directions(twins);
    const SingularDirections all = found(twins);
    for (std::size_t r = 3; r < 6; ++r) CHECK(all.values[r] < of_rounding * all.values[0]);
    CHECK(all.effective_rank() < 3 + 1e-6);
    Factors graded = random_factors(12, 12, 8, 4);
    for (Index i = 0; i < 12; ++i)
        for (Index a = 0; a < 8; ++a)
            graded.left[static_cast<std::size_t>(i * 8 + a)] *= std::pow(10.0, -2 * static_cast<double>(a));
    check_directions(graded);
    Factors none = random_factors(6, 6, 2, 5);
    std::ranges::fill(none.left, 0);
    CHECK(found(none).effective_rank() == 0);
    CHECK(found(none).values == std::vector<double>{0, 0});
    CHECK(squares_of(none.form()).whole == 0);
    Factors large = random_factors(9, 9, 3, 6);
    for (double& each : large.left) each *= 1e100;
    check_directions(large);
}

TEST_CASE(
    "the symmetric and the antisymmetric part share a form's squares, cell by cell and without its cells") {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        const Factors factors = random_factors(30, 30, 5, seed);
        double symmetric = 0, antisymmetric = 0;
        for (Index i = 0; i < 30; ++i)
            for (Index j = 0; j < 30; ++j) {
                const double s = form_cell<double>(factors.form(), FormPart::symmetric, i, j),
                             a = form_cell<double>(factors.form(), FormPart::antisymmetric, i, j),
                             whole = form_cell<double>(factors.form(), FormPart::whole, i, j);
                CHECK(std::abs(s + a - whole) < 1e-14 * (1 + std::abs(whole)));
                CHECK(s == form_cell<double>(factors.form(), FormPart::symmetric, j, i));
                CHECK(a == -form_cell<double>(factors.form(), FormPart::antisymmetric, j, i));
                // Five products and sums in f32.
                CHECK(std::abs(static_cast<double>(form_cell<float>(factors.form(), i, j)) - whole) < 1e-5);
                symmetric += s * s;
                antisymmetric += a * a;
            }
        const FormSquares squares = squares_of(factors.form());
        CHECK(std::abs(squares.symmetric - symmetric) < of_rounding * squares.whole);
        CHECK(std::abs(squares.antisymmetric - antisymmetric) < of_rounding * squares.whole);
        CHECK(std::abs(squares.symmetric + squares.antisymmetric - squares.whole) <
              of_rounding * squares.whole);
    }
    // W_Q = W_K makes a symmetric form.
    Factors same = random_factors(8, 8, 3, 9);
    same.right = same.left;
    CHECK(squares_of(same.form()).antisymmetric < of_rounding * squares_of(same.form()).whole);
}

TEST_CASE("the effective rank of equal values is their number, and less if one is larger") {
    SingularDirections all;
    all.values = {2, 2, 2, 2};
    CHECK(all.effective_rank() == Catch::Approx(4).epsilon(1e-12));
    all.values = {2, 0, 0, 0};
    CHECK(all.effective_rank() == 1);
    all.values = {8, 1, 1};
    CHECK(all.effective_rank() > 1);
    CHECK(all.effective_rank() < 3);
}
