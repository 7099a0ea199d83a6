#include "runs/row_slopes.hpp"

#include <algorithm>
#include <array>
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
        search_keys();
    }
    return false;
}

void Slopes::search_keys() {
    const RowGradient<double>& pass = f64();
    const auto finite = [](double each) { return std::isfinite(each); };
    keys_found_ = {.lowest = std::ranges::min_element(pass.d_masked) - pass.d_masked.begin(),
                   .highest = std::ranges::max_element(pass.d_masked) - pass.d_masked.begin(),
                   .heaviest = std::ranges::max_element(pass.weight) - pass.weight.begin(),
                   .any_allowed = std::ranges::find(pass.allowed, 1) != pass.allowed.end(),
                   .all_finite = std::ranges::all_of(pass.d_masked, finite)};
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
    return rows(slope).holds(row) && columns(slope).holds(col);
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

// Rotates like model/explain.hpp.
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
Real Slopes::vector_slope(const RowGradient<Real>& pass, Slope slope, Index token, Index a) const {
    const auto j = static_cast<std::size_t>(token), c = static_cast<std::size_t>(a);
    switch (slope) {
        case Slope::q: return pass.d_q[c];
        case Slope::k: return pass.d_raw[j] * static_cast<Real>(record_->q().heads().head(head_)(query_, a));
        default:
            return pass.weight[j] * pass.d_summed[c] -
                   static_cast<Real>(loss_.target == token) * pass.d_output[c];
    }
}

double Slopes::kept(Slope slope, Index token, Index component) const {
    double all = 1;
    for (const auto& [stage, edit] : projections_->changes)
        if (stage == info(slope).stage)
            all *= static_cast<double>(
                slope_of(edit, slope == Slope::q ? head_ : record_->kv_head(head_), token, component));
    return all;
}

bool Slopes::changed_behind(Stage stage) const {
    const RowGradient<double>& pass = f64();
    switch (stage) {
        case Stage::output: return pass.d_summed != pass.d_output;
        case Stage::weight: return pass.softmax != pass.weight || pass.d_softmax != pass.d_weight;
        default: return pass.score != pass.masked || pass.d_score != pass.d_masked;
    }
}

const HeadNorm* Slopes::norm_of(Slope slope) const {
    const auto& norm = slope == Slope::q ? projections_->q_norm : projections_->k_norm;
    return norm && slope != Slope::v ? &*norm : nullptr;
}

// With n_a = g_a u_a / r, r² = mean u² + ε over N components, ∂L/∂u_b = g_b ∂L/∂n_b / r − u_b Σ_a g_a u_a
// ∂L/∂n_a / (N r³) (Zhang & Sennrich 2019, arXiv 1910.07467), where the other heads' components have only the
// second part.
template <typename Real>
void Slopes::go_before(const RowGradient<Real>& pass, Projected<Real>& back) const {
    back.k_along.assign(static_cast<std::size_t>(record_->keys()), Real{0});
    const auto vectors = [&](Slope slope, Index first, Index tokens) {
        const Index width = columns(slope).end;
        const HeadNorm* norm = norm_of(slope);
        std::vector<Real> slopes;
        for (Index token = first; token < first + tokens; ++token) {
            const std::size_t begin = slopes.size();
            for (Index a = 0; a < width; ++a) {
                const auto made = [&](Index component) {
                    return static_cast<Real>(kept(slope, token, component)) *
                           vector_slope(pass, slope, token, component);
                };
                if (slope == Slope::v) {
                    slopes.push_back(made(a));
                    continue;
                }
                Real& all = slopes.emplace_back(Real{0});
                for (const auto& [component, factor] : turned(token, a))
                    all += static_cast<Real>(factor) * made(component);
            }
            if (!norm) continue;
            const double square = norm->squares[static_cast<std::size_t>(token)];
            const Real root = static_cast<Real>(std::sqrt(square));
            Real sum = 0;
            for (Index a = 0; a < width; ++a) {
                Real& each = slopes[begin + static_cast<std::size_t>(a)];
                each *= static_cast<Real>(norm->gain[static_cast<std::size_t>(a)]) / root;
                sum += each * static_cast<Real>(norm->before.at(token, a));
            }
            const Real along = -sum / static_cast<Real>(norm->together * square);
            for (Index a = 0; a < width; ++a)
                slopes[begin + static_cast<std::size_t>(a)] +=
                    along * static_cast<Real>(norm->before.at(token, a));
            (slope == Slope::q ? back.q_along : back.k_along[static_cast<std::size_t>(token)]) = along;
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
const Slopes::Projected<float>& Slopes::back() const {
    return f32_back_;
}
template <>
const Slopes::Projected<double>& Slopes::back() const {
    return f64_back_;
}

template <typename Real>
Real Slopes::projected(Slope slope, Index token, Index a) const {
    const Projected<Real>& all = back<Real>();
    if (slope == Slope::q) return all.q[static_cast<std::size_t>(a)];
    const std::vector<Real>& vectors = slope == Slope::k ? all.k : all.v;
    return vectors[static_cast<std::size_t>(token * columns(slope).end + a)];
}

template <typename Real>
Real Slopes::sum(const RowGradient<Real>& pass, Slope slope, Index row, Index col) const {
    const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(col);
    switch (slope) {
        case Slope::output: return pass.d_output[c];
        case Slope::weight: return pass.d_weight[c];
        case Slope::masked: return pass.d_masked[c];
        case Slope::raw: return pass.d_raw[c];
        case Slope::q:
        case Slope::k:
        case Slope::v: return vector_slope(pass, slope, row, col);
        case Slope::jacobian: return pass.softmax[r] * (static_cast<Real>(row == col) - pass.softmax[c]);
        case Slope::w_q:
            return static_cast<Real>(x(query_row(), row)) * projected<Real>(Slope::q, query_, col);
        case Slope::w_k:
        case Slope::w_v: {
            const std::vector<Real>& slopes = slope == Slope::w_k ? back<Real>().w_k : back<Real>().w_v;
            return slopes[static_cast<std::size_t>((row - projections_->first) * columns(slope).end + col)];
        }
        case Slope::x: {
            Real all = 0;
            const auto through = [&](Slope of, Slope matrix) {
                for (Index a = 0; a < columns(of).end; ++a)
                    all += projected<Real>(of, row, a) * static_cast<Real>(w(matrix, col, a));
            };
            const auto others = [&](const HeadNorm* norm, Index token, Real along) {
                if (norm && !norm->others.empty())
                    all += along * static_cast<Real>(norm->others.at(token, col - projections_->first));
            };
            if (row == query_row()) {
                through(Slope::q, Slope::w_q);
                others(norm_of(Slope::q), query_, back<Real>().q_along);
            }
            if (row < record_->keys()) {
                through(Slope::k, Slope::w_k);
                through(Slope::v, Slope::w_v);
                others(norm_of(Slope::k), row, back<Real>().k_along[r]);
            }
            return all;
        }
    }
    return 0;
}

double Slopes::value(Slope slope, Index row, Index col) const { return sum(f64(), slope, row, col); }
float Slopes::single(Slope slope, Index row, Index col) const { return sum(f32(), slope, row, col); }

std::vector<SlopeTerm> Slopes::terms(Slope slope, Index row, Index col) const {
    if (of_projections(slope)) return projection_terms(slope, row, col);
    const Record& r = *record_;
    std::vector<SlopeTerm> terms;
    const auto raw = [&](Index key) { return value(Slope::raw, query_, key); };
    // The gradient with respect to a component of the output, before any change there.
    const auto summed = [&](Index b) { return f64().d_summed[static_cast<std::size_t>(b)]; };
    const auto summed_at = [&](Index b) -> SlopeTerm::Factor {
        if (summed(b) != value(Slope::output, query_, b)) return {};
        return SlopeCell{Slope::output, query_, b};
    };
    switch (slope) {
        case Slope::weight:
            for (Index b = 0; b < r.d_v(); ++b)
                terms.push_back(
                    {b, summed(b), input(Slope::v, col, b), summed_at(b), RunCell{Stage::v, col, b}});
            break;
        case Slope::q:
            for (Index j = 0; j < r.keys(); ++j)
                terms.push_back({j, raw(j), input(Slope::k, j, col), SlopeCell{Slope::raw, query_, j},
                                 RunCell{Stage::k, j, col}});
            break;
        case Slope::k:
            terms.push_back({col, raw(row), input(Slope::q, query_, col), SlopeCell{Slope::raw, query_, row},
                             RunCell{Stage::q, query_, col}});
            break;
        case Slope::v:
            terms.push_back({col, f64().weight[static_cast<std::size_t>(row)], summed(col),
                             RunCell{Stage::weight, query_, row}, summed_at(col)});
            // The target value moves towards the output.
            if (loss_.target == row)
                terms.push_back(
                    {col, -1, value(Slope::output, query_, col), {}, SlopeCell{Slope::output, query_, col}});
            break;
        default: break;
    }
    return terms;
}

std::vector<SlopeTerm> Slopes::projection_terms(Slope slope, Index row, Index col) const {
    std::vector<SlopeTerm> terms;
    // Returns where the gradient of a vector stands that is not normalised, rotated or changed.
    const auto before = [&](Slope of, Index token, Index a) -> SlopeTerm::Factor {
        const bool as_shown = of == Slope::v || !(projections_->rotary || norm_of(of));
        if (!as_shown || kept(of, token, a) != 1) return {};
        return SlopeCell{of, token, a};
    };
    // The gradient through a token's row of X.
    const auto by_x = [&](Slope of, Index token, Index x_row) {
        const bool encoded = projections_->crosses && x_row < record_->keys();
        const Stage stage = encoded ? Stage::final_norm : projections_->of_x;
        terms.push_back({token, x(x_row, row), projected<double>(of, token, col),
                         RunCell{stage, x_row == query_row() ? query_ : x_row, row}, before(of, token, col)});
    };
    const auto through = [&](Slope of, Slope matrix, Index token) {
        for (Index a = 0; a < columns(of).end; ++a)
            terms.push_back({a, projected<double>(of, token, a), w(matrix, col, a), before(of, token, a),
                             RunCell{info(matrix).stage, col, a}});
    };
    const auto others = [&](const HeadNorm* norm, Index token, double along) {
        if (norm && !norm->others.empty())
            terms.push_back({-1, along, norm->others.at(token, col - projections_->first)});
    };
    switch (slope) {
        case Slope::w_q: by_x(Slope::q, query_, query_row()); break;
        case Slope::w_k:
        case Slope::w_v:
            for (Index j = 0; j < record_->keys(); ++j) by_x(slope == Slope::w_k ? Slope::k : Slope::v, j, j);
            break;
        default:
            if (row == query_row()) {
                through(Slope::q, Slope::w_q, query_);
                others(norm_of(Slope::q), query_, f64_back_.q_along);
            }
            if (row < record_->keys()) {
                through(Slope::k, Slope::w_k, row);
                through(Slope::v, Slope::w_v, row);
                others(norm_of(Slope::k), row, f64_back_.k_along[static_cast<std::size_t>(row)]);
            }
    }
    return terms;
}

std::vector<Slope> inputs_of(const Slopes& slopes) {
    if (slopes.projections()) return {Slope::x, Slope::w_q, Slope::w_k, Slope::w_v};
    if (!slopes.has(Slope::q)) return {Slope::masked, Slope::v};
    return {Slope::q, Slope::k, Slope::v};
}

double Slopes::squares(std::span<const Slope> of) const {
    double squares = 0;
    for (const Slope slope : of) {
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
