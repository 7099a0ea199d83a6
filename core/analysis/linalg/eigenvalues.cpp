#include "analysis/linalg/eigenvalues.hpp"

#include <Eigen/Householder>
#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/linalg/decompositions.hpp"

namespace attn {

namespace {

constexpr double operations_a_slice = 2e6;
// The search within a slice takes unusual shifts from the tenth step on that splits nothing off, and would
// lose them with the slice.
constexpr double most_steps_a_slice = 9;

Eigen::Map<Eigen::MatrixXd> square(Index size, std::vector<double>& values) {
    return {values.data(), size, size};
}

}  // namespace

EigenvalueSearch::EigenvalueSearch(Index size, std::span<const double> matrix)
    : size_(size), matrix_(matrix.begin(), matrix.end()) {
    done_ = !std::ranges::all_of(matrix_, [](double each) { return std::isfinite(each); });
    if (done_) return;
    square(size_, matrix_).transposeInPlace();
    double most = 0;
    for (const double each : matrix_) most = std::max(most, std::abs(each));
    if (most > 0) scale_ = most;
    for (double& each : matrix_) each /= scale_;
}

bool EigenvalueSearch::step() {
    if (done_) return false;
    if (reflected_ + 2 < size_) {
        const double each = 8 * static_cast<double>(size_ * size_);
        for (double work = 0; work < operations_a_slice && reflected_ + 2 < size_; work += each) reflect();
        return true;
    }
    split_off();
    return !done_;
}

// Makes the column 0 below its first subdiagonal.
void EigenvalueSearch::reflect() {
    auto m = square(size_, matrix_);
    const Index below = size_ - reflected_ - 1;
    Eigen::VectorXd essential(below - 1), room(size_);
    double tau = 0, kept = 0;
    m.col(reflected_).tail(below).makeHouseholder(essential, tau, kept);
    m.col(reflected_).tail(below).setZero();
    m(reflected_ + 1, reflected_) = kept;
    m.bottomRightCorner(below, below).applyHouseholderOnTheLeft(essential, tau, room.data());
    m.rightCols(below).applyHouseholderOnTheRight(essential, tau, room.data());
    ++reflected_;
}

void EigenvalueSearch::split_off() {
    // What does not converge in short slices gets one with unusual shifts.
    const bool last = ++slices_ > 10 * size_;
    const double each = 12 * static_cast<double>(size_ * size_);
    const double steps = std::clamp(operations_a_slice / each, 1.0, most_steps_a_slice);
    const bool found = towards_schur_form(matrix_, size_, last ? 0 : static_cast<Index>(steps));
    done_ = last || found;
    if (found) read_values();
}

// Reads the diagonal, where blocks of two by two are pairs of conjugates.
void EigenvalueSearch::read_values() {
    const auto m = square(size_, matrix_);
    for (Index i = 0; i < size_; ++i) {
        if (i + 1 == size_ || m(i + 1, i) == 0) {
            values_.emplace_back(scale_ * m(i, i), 0);
            continue;
        }
        const double half = (m(i, i) - m(i + 1, i + 1)) / 2,
                     imaginary = std::sqrt(std::abs(half * half + m(i + 1, i) * m(i, i + 1)));
        for (const double sign : {1.0, -1.0})
            values_.emplace_back(scale_ * (m(i + 1, i + 1) + half), scale_ * sign * imaginary);
        ++i;
    }
    std::ranges::sort(values_, {}, [](const std::complex<double>& each) {
        return std::pair(-std::abs(each), -each.imag());
    });
}

std::vector<std::complex<double>> eigenvalues(Index size, std::span<const double> matrix) {
    EigenvalueSearch search(size, matrix);
    while (search.step()) continue;
    return search.values();
}

}  // namespace attn
