#include "analysis/query_key_plane.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace attn {

namespace {

using PlaneRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

PlaneRows plane_rows(ConstMatrix m) {
    PlaneRows out(m.rows, m.cols);
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0; c < m.cols; ++c) out(r, c) = static_cast<double>(m(r, c));
    return out;
}

// Takes the mean away and returns it.
std::vector<double> plane_centre(PlaneRows& rows) {
    const Eigen::RowVectorXd mean = rows.colwise().mean();
    rows.rowwise() -= mean;
    return {mean.data(), mean.data() + mean.size()};
}

double spread_of(const PlaneRows& rows) { return rows.squaredNorm() / static_cast<double>(rows.rows()); }

}  // namespace

QueryKeyPlane query_key_plane(ConstMatrix q, ConstMatrix k) {
    PlaneRows queries = plane_rows(q), keys = plane_rows(k);
    QueryKeyPlane made;
    made.query_mean = plane_centre(queries);
    made.key_mean = plane_centre(keys);
    const double of_queries = spread_of(queries), of_keys = spread_of(keys);
    if (of_queries > 0 && of_keys > 0) made.stretch = std::pow(of_keys / of_queries, 0.25);
    queries *= made.stretch;
    keys /= made.stretch;
    const Eigen::MatrixXd squares = queries.transpose() * queries + keys.transpose() * keys;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(squares);
    const double all = std::max(squares.trace(), 0.0);
    const Index d = q.cols;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        made.axes[axis].assign(static_cast<std::size_t>(d), 0);
        const Index place = d - 1 - static_cast<Index>(axis);
        if (place < 0) continue;
        Eigen::VectorXd direction = solver.eigenvectors().col(place);
        Index most = 0;
        direction.cwiseAbs().maxCoeff(&most);
        if (direction[most] < 0) direction = -direction;
        std::copy_n(direction.data(), d, made.axes[axis].begin());
        made.share[axis] = all > 0 ? std::max(solver.eigenvalues()[place], 0.0) / all : 0;
    }
    const auto placed = [&](const PlaneRows& rows) {
        std::vector<QueryKeyPlane::Place> places;
        for (Index row = 0; row < rows.rows(); ++row) {
            QueryKeyPlane::Place place{};
            for (std::size_t axis = 0; axis < 2; ++axis)
                for (Index a = 0; a < d; ++a)
                    place[axis] += rows(row, a) * made.axes[axis][static_cast<std::size_t>(a)];
            places.push_back(place);
        }
        return places;
    };
    made.queries = placed(queries);
    made.keys = placed(keys);
    return made;
}

}  // namespace attn
