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
      loss_(std::move(loss)),
      scores_given_(scores_given),
      projections_(std::move(projections)),
      f32_(record_, head, query, loss_),
      f64_(record_, head, query, loss_) {}

bool Slopes::step() {
    if (!f32_.done()) return f32_.step(), true;
    if (!f64_.done()) {
        if (f64_.step()) return true;
        if (projections_) {
            go_before(f32(), f32_back_);
            go_before(f64(), f64_back_);
        }
    }
    return false;
}

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
        case Slope::w_v: return {projections_->first, projections_->first + projections_->x.cols};
        default: return {query_, query_ + 1};
    }
}

Range Slopes::columns(Slope slope) const {
    switch (slope) {
        case Slope::output:
        case Slope::v:
        case Slope::w_v: return {0, record_->d_v()};
        case Slope::q:
        case Slope::k:
        case Slope::w_q:
        case Slope::w_k: return {0, record_->d_k()};
        case Slope::x: return {projections_->first, projections_->first + projections_->x.cols};
        default: return {0, record_->keys()};
    }
}

bool Slopes::holds(Slope slope, Index row, Index col) const {
    if (!has(slope)) return false;
    const auto within = [](Range range, Index i) { return i >= range.begin && i < range.end; };
    return within(rows(slope), row) && within(columns(slope), col);
}

double Slopes::x(Index token, Index component) const {
    return projections_->x.at(token, component - projections_->first);
}
double Slopes::w(Slope slope, Index component, Index a) const {
    const Matrix& w = slope == Slope::w_q   ? projections_->w_q
                      : slope == Slope::w_k ? projections_->w_k
                                            : projections_->w_v;
    return w.at(component - projections_->first, a);
}

// As model/explain.hpp turns them.
std::vector<Slopes::Share> Slopes::turned(Index token, Index a) const {
    const Rotary* rotary = projections_->rotary ? &*projections_->rotary : nullptr;
    const RotaryPair pair = pair_of(rotary, a);
    if (pair.partner < 0) return {{a, 1}};
    const double angle = static_cast<double>(token) *
                         rotary->of_text(record_->keys())[static_cast<std::size_t>(pair.pair)],
                 m = rotary->magnitude;
    return {{a, m * std::cos(angle)},
            {pair.partner, pair.first ? m * std::sin(angle) : -m * std::sin(angle)}};
}

template <typename Real>
Real Slopes::vector_slope(const RowPass<Real>& pass, Slope slope, Index token, Index a) const {
    const auto j = static_cast<std::size_t>(token), c = static_cast<std::size_t>(a);
    switch (slope) {
        case Slope::q: return pass.d_q[c];
        case Slope::k: return pass.d_raw[j] * static_cast<Real>(record_->q().heads().head(head_)(query_, a));
        default: return (pass.weight[j] - static_cast<Real>(loss_.target == token)) * pass.d_output[c];
    }
}

template <typename Real>
void Slopes::go_before(const RowPass<Real>& pass, BeforeTurning<Real>& back) const {
    const auto vectors = [&](Slope slope, Index first, Index tokens) {
        const Index width = columns(slope).end;
        std::vector<Real> slopes;
        for (Index token = first; token < first + tokens; ++token)
            for (Index a = 0; a < width; ++a) {
                if (slope == Slope::v) {
                    slopes.push_back(vector_slope(pass, slope, token, a));
                    continue;
                }
                Real& all = slopes.emplace_back(Real{0});
                for (const auto& [component, factor] : turned(token, a))
                    all += static_cast<Real>(factor) * vector_slope(pass, slope, token, component);
            }
        return slopes;
    };
    back.q = vectors(Slope::q, query_, 1);
    back.k = vectors(Slope::k, 0, record_->keys());
    back.v = vectors(Slope::v, 0, record_->keys());
    const auto matrix = [&](const std::vector<Real>& of, Index width) {
        const Matrix& x = projections_->x;
        std::vector<Real> slopes(static_cast<std::size_t>(x.cols * width));
        for (Index j = 0; j < record_->keys(); ++j)
            for (Index c = 0; c < x.cols; ++c)
                for (Index a = 0; a < width; ++a)
                    slopes[static_cast<std::size_t>(c * width + a)] +=
                        static_cast<Real>(x.at(j, c)) * of[static_cast<std::size_t>(j * width + a)];
        return slopes;
    };
    back.w_k = matrix(back.k, record_->d_k());
    back.w_v = matrix(back.v, record_->d_v());
}

template <>
const Slopes::BeforeTurning<float>& Slopes::back() const {
    return f32_back_;
}
template <>
const Slopes::BeforeTurning<double>& Slopes::back() const {
    return f64_back_;
}

template <typename Real>
Real Slopes::before_turning(Slope slope, Index token, Index a) const {
    const BeforeTurning<Real>& all = back<Real>();
    if (slope == Slope::q) return all.q[static_cast<std::size_t>(a)];
    const std::vector<Real>& vectors = slope == Slope::k ? all.k : all.v;
    return vectors[static_cast<std::size_t>(token * columns(slope).end + a)];
}

template <typename Real>
Real Slopes::sum(const RowPass<Real>& pass, Slope slope, Index row, Index col) const {
    const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(col);
    switch (slope) {
        case Slope::output: return pass.d_output[c];
        case Slope::weight: return pass.d_weight[c];
        case Slope::masked: return pass.d_masked[c];
        case Slope::raw: return pass.d_raw[c];
        case Slope::q:
        case Slope::k:
        case Slope::v: return vector_slope(pass, slope, row, col);
        case Slope::jacobian: return pass.weight[r] * (static_cast<Real>(row == col) - pass.weight[c]);
        case Slope::w_q:
            return static_cast<Real>(x(query_, row)) * before_turning<Real>(Slope::q, query_, col);
        case Slope::w_k:
        case Slope::w_v: {
            const std::vector<Real>& slopes = slope == Slope::w_k ? back<Real>().w_k : back<Real>().w_v;
            return slopes[static_cast<std::size_t>((row - projections_->first) * columns(slope).end + col)];
        }
        case Slope::x: {
            Real all = 0;
            const auto through = [&](Slope of, Slope matrix) {
                for (Index a = 0; a < columns(of).end; ++a)
                    all += before_turning<Real>(of, row, a) * static_cast<Real>(w(matrix, col, a));
            };
            if (row == query_) through(Slope::q, Slope::w_q);
            through(Slope::k, Slope::w_k);
            through(Slope::v, Slope::w_v);
            return all;
        }
    }
    return 0;
}

double Slopes::value(Slope slope, Index row, Index col) const { return sum(f64(), slope, row, col); }
float Slopes::single(Slope slope, Index row, Index col) const { return sum(f32(), slope, row, col); }

std::vector<SlopeTerm> Slopes::terms(Slope slope, Index row, Index col) const {
    const Record& r = *record_;
    const ConstMatrix q = r.q().heads().head(head_), k = r.k().heads().head(r.kv_head(head_)),
                      v = r.v().heads().head(r.kv_head(head_));
    std::vector<SlopeTerm> terms;
    const auto add = [&](Index index, double left, double right, std::optional<CellRef> left_at,
                         std::optional<CellRef> right_at) {
        terms.push_back({index, left, right, left_at, right_at});
    };
    // Where a slope by a vector stands, which is not turned.
    const auto before = [&](Slope of, Index token, Index a) {
        const bool as_shown = of == Slope::v || !projections_->rotary;
        return as_shown ? std::optional(cell_of(of, token, a)) : std::nullopt;
    };
    const auto own = [&](Slope of, Index at_row, Index at_col) { return value(of, at_row, at_col); };
    switch (slope) {
        case Slope::weight:
            for (Index b = 0; b < r.d_v(); ++b)
                add(b, own(Slope::output, query_, b), static_cast<double>(v(col, b)),
                    cell_of(Slope::output, query_, b), CellRef{Stage::v, col, b});
            break;
        case Slope::q:
            for (Index j = 0; j < r.keys(); ++j)
                add(j, own(Slope::raw, query_, j), static_cast<double>(k(j, col)),
                    cell_of(Slope::raw, query_, j), CellRef{Stage::k, j, col});
            break;
        case Slope::k:
            add(col, own(Slope::raw, query_, row), static_cast<double>(q(query_, col)),
                cell_of(Slope::raw, query_, row), CellRef{Stage::q, query_, col});
            break;
        case Slope::v:
            add(col, f64().weight[static_cast<std::size_t>(row)], own(Slope::output, query_, col),
                CellRef{Stage::weight, query_, row}, cell_of(Slope::output, query_, col));
            // The value that is aimed at moves towards the output.
            if (loss_.target == row)
                add(col, -1, own(Slope::output, query_, col), std::nullopt,
                    cell_of(Slope::output, query_, col));
            break;
        case Slope::w_q:
            add(query_, x(query_, row), before_turning<double>(Slope::q, query_, col),
                CellRef{projections_->of_x, query_, row}, before(Slope::q, query_, col));
            break;
        case Slope::w_k:
        case Slope::w_v: {
            const Slope of = slope == Slope::w_k ? Slope::k : Slope::v;
            for (Index j = 0; j < r.keys(); ++j)
                add(j, x(j, row), before_turning<double>(of, j, col), CellRef{projections_->of_x, j, row},
                    before(of, j, col));
            break;
        }
        case Slope::x: {
            const auto through = [&](Slope of, Slope matrix) {
                for (Index a = 0; a < columns(of).end; ++a)
                    add(a, before_turning<double>(of, row, a), w(matrix, col, a), before(of, row, a),
                        CellRef{info(matrix).stage, col, a});
            };
            if (row == query_) through(Slope::q, Slope::w_q);
            through(Slope::k, Slope::w_k);
            through(Slope::v, Slope::w_v);
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
        case Slope::x: return x(row, col);
        case Slope::w_q:
        case Slope::w_k:
        case Slope::w_v: return w(slope, row, col);
        default: return 1;
    }
}

// What a number moves with it: x and the projections move the q, k and v that are made of them, each in proportion.
std::vector<Moved> Slopes::moves(Slope slope, Index row, Index col) const {
    std::vector<Moved> moved;
    const auto move = [&](Stage stage, Index token, Index a, double by) {
        if (stage == Stage::v) return moved.push_back({stage, token, a, by});
        for (const auto& [component, factor] : turned(token, a))
            moved.push_back({stage, token, component, factor * by});
    };
    switch (slope) {
        case Slope::weight:
        case Slope::masked:
        case Slope::raw:
        case Slope::q:
        case Slope::k:
        case Slope::v: moved.push_back({info(slope).stage, row, col, 1}); break;
        case Slope::w_q: move(Stage::q, query_, col, x(query_, row)); break;
        case Slope::w_k:
        case Slope::w_v:
            for (Index j = 0; j < record_->keys(); ++j)
                move(slope == Slope::w_k ? Stage::k : Stage::v, j, col, x(j, row));
            break;
        case Slope::x:
            for (Index a = 0; a < record_->d_k(); ++a) {
                if (row == query_) move(Stage::q, row, a, w(Slope::w_q, col, a));
                move(Stage::k, row, a, w(Slope::w_k, col, a));
            }
            for (Index b = 0; b < record_->d_v(); ++b) move(Stage::v, row, b, w(Slope::w_v, col, b));
            break;
        default: break;
    }
    return moved;
}

std::optional<double> Slopes::difference(Slope slope, Index row, Index col) const {
    const std::vector<Moved> moved = moves(slope, row, col);
    // A score that is hidden cannot be moved.
    if (moved.empty() || (is_of_pairs(slope) && !f64().allowed[static_cast<std::size_t>(col)]))
        return std::nullopt;
    const double h = difference_step * std::max(1.0, std::abs(input(slope, row, col)));
    return central_difference(*record_, head_, query_, loss_, f64(), moved, h);
}

std::vector<Slope> inputs_of(const Slopes& slopes) {
    if (slopes.projections()) return {Slope::x, Slope::w_q, Slope::w_k, Slope::w_v};
    if (!slopes.has(Slope::q)) return {Slope::masked, Slope::v};
    return {Slope::q, Slope::k, Slope::v};
}

double Slopes::squares() const {
    double squares = 0;
    for (const Slope slope : inputs_of(*this)) {
        const Range all = rows(slope), across = columns(slope);
        for (Index row = all.begin; row < all.end; ++row)
            for (Index col = across.begin; col < across.end; ++col) {
                const double each = value(slope, row, col);
                squares += each * each;
            }
    }
    return squares;
}

}  // namespace attn::app
