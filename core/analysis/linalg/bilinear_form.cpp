#include "analysis/linalg/bilinear_form.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

namespace {

using Dense = Eigen::MatrixXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Rows, 0, Eigen::OuterStride<>> map_of(MatrixView<const double> m) {
    return {m.data, m.rows, m.cols, Eigen::OuterStride<>(m.row_stride)};
}
Eigen::Map<const Dense> map_of(const std::vector<double>& numbers, Index rows, Index cols) {
    return {numbers.data(), rows, cols};
}
std::vector<double> numbers_of(const Dense& m) { return {m.data(), m.data() + m.size()}; }

}  // namespace

template <typename Real>
Real form_cell(const FormFactors& factors, Index row, Index col) {
    Real sum = 0;
    for (Index a = 0; a < factors.rank(); ++a)
        sum += static_cast<Real>(factors.left(row, a)) * static_cast<Real>(factors.right(col, a));
    return sum;
}
template <typename Real>
Real form_cell(const FormFactors& factors, FormPart part, Index row, Index col) {
    const Real cell = form_cell<Real>(factors, row, col);
    if (part == FormPart::whole) return cell;
    const Real other = form_cell<Real>(factors, col, row);
    return (part == FormPart::symmetric ? cell + other : cell - other) / 2;
}
template float form_cell<float>(const FormFactors&, Index, Index);
template double form_cell<double>(const FormFactors&, Index, Index);
template float form_cell<float>(const FormFactors&, FormPart, Index, Index);
template double form_cell<double>(const FormFactors&, FormPart, Index, Index);

FormSquares squares_of(const FormFactors& factors) {
    const auto left = map_of(factors.left), right = map_of(factors.right);
    const Dense left_gram = left.transpose() * left, right_gram = right.transpose() * right;
    FormSquares squares;
    squares.whole = left_gram.cwiseProduct(right_gram).sum();
    squares.square = factors.rows() == factors.cols();
    if (!squares.square) return squares;
    const Dense mixed = right.transpose() * left;
    const double of_square = mixed.cwiseProduct(mixed.transpose()).sum();
    squares.symmetric = std::max(0.0, (squares.whole + of_square) / 2);
    squares.antisymmetric = std::max(0.0, (squares.whole - of_square) / 2);
    return squares;
}

double SingularDirections::effective_rank() const {
    double sum = 0, entropy = 0;
    for (const double value : values) sum += value;
    if (!(sum > 0)) return 0;
    for (const double value : values)
        if (value > 0) entropy -= value / sum * std::log(value / sum);
    return std::exp(entropy);
}

ThinQr SingularJob::thin(MatrixView<const double> factor) {
    return thin_qr(numbers_of(map_of(factor)), factor.rows, factor.cols);
}

void SingularJob::decompose() {
    const Index rank = factors_.rank();
    const Dense core = map_of(left_.r, left_.least, rank) * map_of(right_.r, right_.least, rank).transpose();
    ThinSvd svd = thin_svd(numbers_of(core), left_.least, right_.least);
    directions_.values = std::move(svd.values);
    inner_left_ = std::move(svd.left);
    inner_right_ = std::move(svd.right);
}

void SingularJob::go_back() {
    directions_.rows = factors_.rows();
    directions_.cols = factors_.cols();
    const Index count = directions_.count();
    const Dense left =
        map_of(left_.q, factors_.rows(), left_.least) * map_of(inner_left_, left_.least, count);
    const Dense right =
        map_of(right_.q, factors_.cols(), right_.least) * map_of(inner_right_, right_.least, count);
    directions_.left = numbers_of(left);
    directions_.right = numbers_of(right);
    for (Index r = 0; r < count; ++r) {
        const auto most =
            std::ranges::max_element(directions_.left_of(r), {}, [](double each) { return std::abs(each); });
        if (*most >= 0) continue;
        const auto rotate = [&](std::vector<double>& all, Index size) {
            for (Index i = 0; i < size; ++i) {
                double& each = all[static_cast<std::size_t>(r * size + i)];
                each = -each;
            }
        };
        rotate(directions_.left, directions_.rows);
        rotate(directions_.right, directions_.cols);
    }
}

bool SingularJob::step() {
    switch (steps_++) {
        case 0: left_ = thin(factors_.left); return true;
        case 1: right_ = thin(factors_.right); return true;
        case 2: decompose(); return true;
        case 3: go_back(); return false;
        default: steps_ = 4; return false;
    }
}

}  // namespace attn
