// Moves a number, with everything computed from it, to measure its gradient by a finite difference.
#include <algorithm>
#include <cmath>
#include <utility>

#include "runs/row_slopes.hpp"

namespace attn::app {

double Slopes::input(Slope slope, Index row, Index col) const {
    const Record& r = *record_;
    const auto kv = r.kv_head(head_);
    switch (slope) {
        case Slope::q: return static_cast<double>(r.q().heads().head(head_)(row, col));
        case Slope::k: return static_cast<double>(r.k().heads().head(kv)(row, col));
        case Slope::v: return static_cast<double>(r.v().heads().head(kv)(row, col));
        case Slope::x: return x(row, col);
        case Slope::w_q:
        case Slope::w_k:
        case Slope::w_v: return w(slope, row, col);
        default: return 1;
    }
}

void Slopes::move_vector(std::vector<Moved>& moved, Slope of, Index token, std::vector<double> by, Index row,
                         double x_by) const {
    if (const HeadNorm* norm = norm_of(of)) {
        double change = 0;
        for (Index a = 0; a < std::ssize(by); ++a) {
            const double each = by[static_cast<std::size_t>(a)];
            change += each * (2 * norm->before.at(token, a) + each);
        }
        if (!norm->others.empty()) {
            const Index c = row - projections_->first;
            change += x_by * (2 * norm->others.at(token, c) +
                              x_by * norm->other_squares[static_cast<std::size_t>(c)]);
        }
        const double square = norm->squares[static_cast<std::size_t>(token)], before = std::sqrt(square),
                     after = std::sqrt(square + change / norm->together);
        for (Index a = 0; a < std::ssize(by); ++a) {
            double& each = by[static_cast<std::size_t>(a)];
            const double u = norm->before.at(token, a);
            each = norm->gain[static_cast<std::size_t>(a)] * ((u + each) / after - u / before);
        }
    }
    for (Index a = 0; a < std::ssize(by); ++a)
        if (const double each = by[static_cast<std::size_t>(a)]; each != 0)
            for (const auto& [component, factor] : turned(token, a))
                moved.push_back(
                    {info(of).stage, token, component, factor * each * kept(of, token, component)});
}

// Lists what moves if a number moves by h: x and the projections also move the q, k and v computed from them.
std::vector<Moved> Slopes::moves(Slope slope, Index row, Index col, double h) const {
    std::vector<Moved> moved;
    const auto one = [&](double by) {
        std::vector<double> all(static_cast<std::size_t>(record_->d_k()));
        all[static_cast<std::size_t>(col)] = by;
        return all;
    };
    const auto all_by = [&](Slope matrix) {
        std::vector<double> all;
        for (Index a = 0; a < record_->d_k(); ++a) all.push_back(h * w(matrix, col, a));
        return all;
    };
    switch (slope) {
        case Slope::weight:
        case Slope::masked:
        case Slope::raw:
        case Slope::q:
        case Slope::k:
        case Slope::v: moved.push_back({info(slope).stage, row, col, h}); break;
        case Slope::w_q: move_vector(moved, Slope::q, query_, one(h * x(query_row(), row)), row, 0); break;
        case Slope::w_k:
            for (Index j = 0; j < record_->keys(); ++j)
                move_vector(moved, Slope::k, j, one(h * x(j, row)), row, 0);
            break;
        case Slope::w_v:
            for (Index j = 0; j < record_->keys(); ++j)
                moved.push_back({Stage::v, j, col, h * x(j, row) * kept(Slope::v, j, col)});
            break;
        case Slope::x:
            if (row == query_row()) move_vector(moved, Slope::q, query_, all_by(Slope::w_q), col, h);
            if (row == record_->keys()) break;
            move_vector(moved, Slope::k, row, all_by(Slope::w_k), col, h);
            for (Index b = 0; b < record_->d_v(); ++b)
                moved.push_back({Stage::v, row, b, h * w(Slope::w_v, col, b) * kept(Slope::v, row, b)});
            break;
        default: break;
    }
    return moved;
}

std::optional<double> Slopes::difference(Slope slope, Index row, Index col) const {
    const double h = difference_step * std::max(1.0, std::abs(input(slope, row, col)));
    // A hidden score cannot be moved.
    if (slope == Slope::output || slope == Slope::jacobian ||
        (is_of_pairs(slope) && !f64().allowed[static_cast<std::size_t>(col)]))
        return std::nullopt;
    return central_difference(
        *record_, head_, query_, loss_, f64(), [&](double by) { return moves(slope, row, col, by); }, h);
}

}  // namespace attn::app
