#include "lenses/gradient/slopes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn::app {

namespace {

constexpr std::array<SlopeInfo, slope_count> slope_table{{
    {"O", Stage::output, "what is asked for"},
    {"A", Stage::weight, "∂L/∂O Vᵀ"},
    {"S", Stage::masked, "A · (∂L/∂A − mean)"},
    {"R", Stage::raw, "scale · ∂L/∂S"},
    {"Q", Stage::q, "∂L/∂R K"},
    {"K", Stage::k, "∂L/∂Rᵀ Q"},
    {"V", Stage::v, "Aᵀ ∂L/∂O"},
    {"X", Stage::x, "∂L/∂Q W_Qᵀ + …"},
    {"W_Q", Stage::w_q, "Xᵀ ∂L/∂Q"},
    {"W_K", Stage::w_k, "Xᵀ ∂L/∂K"},
    {"W_V", Stage::w_v, "Xᵀ ∂L/∂V"},
    {"softmax", Stage::weight, "diag(a) − a aᵀ"},
}};

bool of_projections(Slope slope) { return slope >= Slope::x && slope <= Slope::w_v; }

}  // namespace

const SlopeInfo& info(Slope slope) { return slope_table[static_cast<std::size_t>(slope)]; }

CellRef cell_of(Slope slope, Index row, Index col) {
    return {.stage = Stage::lens, .row = row, .col = static_cast<Index>(slope) + slope_count * col};
}
SlopeCell slope_of(const CellRef& cell) {
    return {static_cast<Slope>(cell.col % slope_count), cell.row, cell.col / slope_count};
}

Slopes::Slopes(std::shared_ptr<const Record> record, Index head, Index query, RowLoss loss, bool scores_given,
               std::optional<Projections> projections)
    : record_(std::move(record)),
      head_(head),
      query_(query),
      loss_(loss),
      scores_given_(scores_given),
      projections_(std::move(projections)),
      f32_(row_pass<float>(*record_, head, query, loss)),
      f64_(row_pass<double>(*record_, head, query, loss)) {}

bool Slopes::has(Slope slope) const {
    if (slope == Slope::raw || slope == Slope::q || slope == Slope::k) return !scores_given_;
    return !of_projections(slope) || projections_;
}

Range Slopes::rows(Slope slope) const {
    switch (slope) {
        case Slope::k:
        case Slope::v:
        case Slope::jacobian: return {0, record_->keys()};
        case Slope::x: return {0, projections_->x.rows};
        case Slope::w_q:
        case Slope::w_k:
        case Slope::w_v: return {0, projections_->x.cols};
        default: return {query_, query_ + 1};
    }
}

Index Slopes::cols(Slope slope) const {
    switch (slope) {
        case Slope::output:
        case Slope::v:
        case Slope::w_v: return record_->d_v();
        case Slope::q:
        case Slope::k:
        case Slope::w_q:
        case Slope::w_k: return record_->d_k();
        case Slope::x: return projections_->x.cols;
        default: return record_->keys();
    }
}

bool Slopes::holds(Slope slope, Index row, Index col) const {
    if (!has(slope)) return false;
    const Range all = rows(slope);
    return row >= all.begin && row < all.end && col >= 0 && col < cols(slope);
}

template <typename Real>
Real Slopes::sum(const RowPass<Real>& pass, Slope slope, Index row, Index col) const {
    const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(col);
    const auto q = [&](Index a) { return static_cast<Real>(record_->q().heads().head(head_)(query_, a)); };
    const auto d_k = [&](Index j, Index a) { return pass.d_raw[static_cast<std::size_t>(j)] * q(a); };
    const auto d_v = [&](Index j, Index b) {
        const Real weight = pass.weight[static_cast<std::size_t>(j)] - static_cast<Real>(loss_.target == j);
        return weight * pass.d_output[static_cast<std::size_t>(b)];
    };
    Real all = 0;
    switch (slope) {
        case Slope::output: return pass.d_output[c];
        case Slope::weight: return pass.d_weight[c];
        case Slope::masked: return pass.d_masked[c];
        case Slope::raw: return pass.d_raw[c];
        case Slope::q: return pass.d_q[c];
        case Slope::k: return d_k(row, col);
        case Slope::v: return d_v(row, col);
        case Slope::jacobian: return pass.weight[r] * (static_cast<Real>(row == col) - pass.weight[c]);
        case Slope::w_q: return static_cast<Real>(projections_->x.at(query_, row)) * pass.d_q[c];
        case Slope::w_k:
            for (Index j = 0; j < record_->keys(); ++j)
                all += static_cast<Real>(projections_->x.at(j, row)) * d_k(j, col);
            return all;
        case Slope::w_v:
            for (Index j = 0; j < record_->keys(); ++j)
                all += static_cast<Real>(projections_->x.at(j, row)) * d_v(j, col);
            return all;
        case Slope::x:
            for (Index a = 0; a < record_->d_k(); ++a) {
                if (row == query_)
                    all += pass.d_q[static_cast<std::size_t>(a)] *
                           static_cast<Real>(projections_->w_q.at(col, a));
                all += d_k(row, a) * static_cast<Real>(projections_->w_k.at(col, a));
            }
            for (Index b = 0; b < record_->d_v(); ++b)
                all += d_v(row, b) * static_cast<Real>(projections_->w_v.at(col, b));
            return all;
    }
    return all;
}

double Slopes::value(Slope slope, Index row, Index col) const { return sum(f64_, slope, row, col); }
float Slopes::single(Slope slope, Index row, Index col) const { return sum(f32_, slope, row, col); }

std::vector<SlopeTerm> Slopes::terms(Slope slope, Index row, Index col) const {
    const Record& r = *record_;
    const ConstMatrix q = r.q().heads().head(head_), k = r.k().heads().head(r.kv_head(head_)),
                      v = r.v().heads().head(r.kv_head(head_));
    std::vector<SlopeTerm> terms;
    const auto add = [&](Index index, double left, double right, std::optional<CellRef> left_at,
                         CellRef right_at) { terms.push_back({index, left, right, left_at, right_at}); };
    const auto own = [&](Slope of, Index at_row, Index at_col) { return value(of, at_row, at_col); };
    switch (slope) {
        case Slope::weight:
            for (Index b = 0; b < r.d_v(); ++b)
                add(b, own(Slope::output, query_, b), static_cast<double>(v(col, b)),
                    cell_of(Slope::output, query_, b), {Stage::v, col, b});
            break;
        case Slope::q:
            for (Index j = 0; j < r.keys(); ++j)
                add(j, own(Slope::raw, query_, j), static_cast<double>(k(j, col)),
                    cell_of(Slope::raw, query_, j), CellRef{Stage::k, j, col});
            break;
        case Slope::k:
            add(col, own(Slope::raw, query_, row), static_cast<double>(q(query_, col)),
                cell_of(Slope::raw, query_, row), {Stage::q, query_, col});
            break;
        case Slope::v:
            add(col, f64_.weight[static_cast<std::size_t>(row)], own(Slope::output, query_, col),
                CellRef{Stage::weight, query_, row}, cell_of(Slope::output, query_, col));
            // The value that is aimed at moves towards the output.
            if (loss_.target == row)
                add(col, -1, own(Slope::output, query_, col), std::nullopt,
                    cell_of(Slope::output, query_, col));
            break;
        case Slope::w_q:
            add(query_, projections_->x.at(query_, row), own(Slope::q, query_, col),
                CellRef{Stage::x, query_, row}, cell_of(Slope::q, query_, col));
            break;
        case Slope::w_k:
        case Slope::w_v: {
            const Slope of = slope == Slope::w_k ? Slope::k : Slope::v;
            for (Index j = 0; j < r.keys(); ++j)
                add(j, projections_->x.at(j, row), own(of, j, col), CellRef{Stage::x, j, row},
                    cell_of(of, j, col));
            break;
        }
        case Slope::x: {
            const auto through = [&](Slope of, const Matrix& w, Stage stage, Index count) {
                for (Index a = 0; a < count; ++a)
                    add(a, own(of, row, a), w.at(col, a), cell_of(of, row, a), {stage, col, a});
            };
            if (row == query_) through(Slope::q, projections_->w_q, Stage::w_q, r.d_k());
            through(Slope::k, projections_->w_k, Stage::w_k, r.d_k());
            through(Slope::v, projections_->w_v, Stage::w_v, r.d_v());
            break;
        }
        default: break;
    }
    return terms;
}

double Slopes::input(Slope slope, Index row, Index col) const {
    const Record& r = *record_;
    const auto kv = r.kv_head(head_);
    switch (slope) {
        case Slope::q: return static_cast<double>(r.q().heads().head(head_)(row, col));
        case Slope::k: return static_cast<double>(r.k().heads().head(kv)(row, col));
        case Slope::v: return static_cast<double>(r.v().heads().head(kv)(row, col));
        case Slope::x: return projections_->x.at(row, col);
        case Slope::w_q: return projections_->w_q.at(row, col);
        case Slope::w_k: return projections_->w_k.at(row, col);
        case Slope::w_v: return projections_->w_v.at(row, col);
        default: return 1;
    }
}

// What a number moves with it: x and the projections move the q, k and v that are made of them, each in proportion.
std::vector<Moved> Slopes::moves(Slope slope, Index row, Index col) const {
    std::vector<Moved> moved;
    switch (slope) {
        case Slope::weight:
        case Slope::masked:
        case Slope::raw:
        case Slope::q:
        case Slope::k:
        case Slope::v: moved.push_back({info(slope).stage, row, col, 1}); break;
        case Slope::w_q: moved.push_back({Stage::q, query_, col, projections_->x.at(query_, row)}); break;
        case Slope::w_k:
        case Slope::w_v:
            for (Index j = 0; j < record_->keys(); ++j)
                moved.push_back(
                    {slope == Slope::w_k ? Stage::k : Stage::v, j, col, projections_->x.at(j, row)});
            break;
        case Slope::x:
            for (Index a = 0; a < record_->d_k(); ++a) {
                if (row == query_) moved.push_back({Stage::q, row, a, projections_->w_q.at(col, a)});
                moved.push_back({Stage::k, row, a, projections_->w_k.at(col, a)});
            }
            for (Index b = 0; b < record_->d_v(); ++b)
                moved.push_back({Stage::v, row, b, projections_->w_v.at(col, b)});
            break;
        default: break;
    }
    return moved;
}

std::optional<double> Slopes::difference(Slope slope, Index row, Index col) const {
    const std::vector<Moved> moved = moves(slope, row, col);
    // A score that is hidden cannot be moved.
    if (moved.empty() || (is_of_pairs(slope) && !f64_.allowed[static_cast<std::size_t>(col)]))
        return std::nullopt;
    const double h = difference_step * std::max(1.0, std::abs(input(slope, row, col)));
    return central_difference(*record_, head_, query_, loss_, moved, h);
}

std::vector<Slope> inputs_of(const Slopes& slopes) {
    if (slopes.projections()) return {Slope::x, Slope::w_q, Slope::w_k, Slope::w_v};
    if (!slopes.has(Slope::q)) return {Slope::masked, Slope::v};
    return {Slope::q, Slope::k, Slope::v};
}

double Slopes::squares() const {
    double squares = 0;
    for (const Slope slope : inputs_of(*this)) {
        const Range all = rows(slope);
        for (Index row = all.begin; row < all.end; ++row)
            for (Index col = 0; col < cols(slope); ++col) {
                const double each = value(slope, row, col);
                squares += each * each;
            }
    }
    return squares;
}

}  // namespace attn::app
