// Explains the numbers of the form, the gauge and the metric: sums of products, each factor of which leads
// on.
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

struct Factor {
    double value;
    std::optional<CellPlace> at;
};

// Explains Σ left · right: the operands and the value, in f32 from factors in f32.
void explain_sum(Explained& out, Index count, auto left, auto right,
                 std::pair<const char*, const char*> names) {
    float sum = 0;
    out.left_name = names.first;
    out.right_name = names.second;
    for (Index a = 0; a < count; ++a) {
        const Factor l = left(a), r = right(a);
        out.operands.push_back({std::to_string(a), l.value, r.value, l.value * r.value, l.at, r.at});
        out.f64 += l.value * r.value;
        sum += static_cast<float>(l.value) * static_cast<float>(r.value);
    }
    out.f32 = static_cast<double>(sum);
    out.line("value", out.dot());
}

// Divides the sum by a number that has a place of its own.
void divide(Explained& out, const char* name, double by, const CellPlace& at) {
    out.steps.push_back({"sum", "", four(out.f64), false, {}});
    out.steps.push_back({name, "", four(by), false, at});
    out.steps.push_back({"value", four(out.f64) + " / " + four(by), four(out.f64 / by), true, {}});
    out.f64 /= by;
    out.f32 /= by;
    out.line("divided", out.calculation.result() / by);
}

std::string brackets(const std::string& name, const std::string& row, const std::string& col) {
    return name + "[" + row + ", " + col + "]";
}

double at(std::span<const double> numbers, Index i) { return numbers[static_cast<std::size_t>(i)]; }

// The factors of the form's numbers.
struct FormTerms {
    const HeadForm& form;
    const Attention& attention;
    HeadIndex head;

    CellPlace here(const CellRef& cell) const { return {head, cell}; }
    std::string row_name(Index i) const {
        return form.of() == FormOf::tokens ? label_at(attention.query_names(), form.first_row() + i)
                                           : std::to_string(i);
    }
    std::string col_name(Index j) const {
        return form.of() == FormOf::tokens ? label_at(attention.key_names(), form.first_col() + j)
                                           : std::to_string(j);
    }
    auto left(Index row) const {
        return [=, this](Index a) { return Factor{form.factors().left(row, a), here(form.left_at(row, a))}; };
    }
    auto right(Index col) const {
        return
            [=, this](Index a) { return Factor{form.factors().right(col, a), here(form.right_at(col, a))}; };
    }
    auto inner(bool of_right, Index r) const {
        return [=, this](Index a) {
            return of_right ? Factor{form.inner_right(r, a), here(geometry_cells::right_projection(r, a))}
                            : Factor{form.inner_left(r, a), here(geometry_cells::left_projection(r, a))};
        };
    }
    auto along(bool of_right, Index r) const {
        return [=, this](Index b) {
            const SingularDirections& all = *form.directions();
            return of_right
                       ? Factor{at(all.right_of(r), b), here(geometry_cells::right_singular_vector(r, b))}
                       : Factor{at(all.left_of(r), b), here(geometry_cells::left_singular_vector(r, b))};
        };
    }
};

}  // namespace

std::optional<Explained> GeometryLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (place.head != subject.chosen_head() || !holds(subject, place.cell.own)) return std::nullopt;
    std::optional<Explained> out = explain_by(declared, *this, subject, place.cell.own);
    if (out && out->provenance.empty())
        out->provenance =
            head_text(subject.chosen_head(), subject.attention()->numbering(), ", ") + " · computed";
    return out;
}

const std::array<LensNumber<GeometryLens>, 23> GeometryLens::declared{{
    {&geometry_cells::bilinear_form, &GeometryLens::explain_form},
    {&geometry_cells::symmetric_part, &GeometryLens::explain_part},
    {&geometry_cells::antisymmetric_part, &GeometryLens::explain_part},
    {&geometry_cells::singular_value, &GeometryLens::explain_singular_value},
    {&geometry_cells::left_singular_vector, &GeometryLens::explain_singular_vector},
    {&geometry_cells::right_singular_vector, &GeometryLens::explain_singular_vector},
    {&geometry_cells::left_projection, &GeometryLens::explain_projection},
    {&geometry_cells::right_projection, &GeometryLens::explain_projection},
    {&geometry_cells::left_token, &GeometryLens::explain_token},
    {&geometry_cells::right_token, &GeometryLens::explain_token},
    {&geometry_cells::left_vocabulary, &GeometryLens::explain_word},
    {&geometry_cells::right_vocabulary, &GeometryLens::explain_word},
    {&geometry_cells::gauge, &GeometryLens::explain_gauge},
    {&geometry_cells::dual_gauge, &GeometryLens::explain_gauge},
    {&geometry_cells::gauged_query, &GeometryLens::explain_gauged_vector},
    {&geometry_cells::gauged_key, &GeometryLens::explain_gauged_vector},
    {&geometry_cells::gauged_score, &GeometryLens::explain_gauged_score},
    {&geometry_cells::metric, &GeometryLens::explain_metric},
    {&geometry_cells::inverse_metric, &GeometryLens::explain_metric},
    {&geometry_cells::raised_query, &GeometryLens::explain_raised_query},
    {&geometry_cells::metric_score, &GeometryLens::explain_metric_score},
    {&geometry_cells::metric_weight, &GeometryLens::explain_metric_weight},
    {&geometry_cells::einsum, &GeometryLens::explain_einsum},
}};

CellKinds geometry_numbers() { return kinds_of(GeometryLens::declared); }

// In older links, the kind is in the column; kinds are counted in the order of the table.
std::optional<CellRef> packed_geometry_cell(Index row, Index col) {
    if (col < 0) return std::nullopt;
    const CellRef cell = (*geometry_numbers()[static_cast<std::size_t>(col % 23)])(row, col / 23);
    return cell.own.is_within() ? std::optional(cell) : std::nullopt;
}

// ---- The form ---------------------------------------------------------------------------------------------

std::optional<Explained> GeometryLens::explain_form(Subject& subject, const LensCell& cell) {
    const FormTerms f{*form(subject), *subject.attention(), subject.chosen_head()};
    const Index row = cell.at[0], col = cell.at[1];
    Explained out;
    out.title = brackets("(" + f.form.name() + ")", f.row_name(row), f.col_name(col));
    out.formula = "Σ_a L[i, a] · R[j, a]";
    out.operands_title =
        std::string(f.form.left_name()) + " · " + f.form.right_name() + ", component by component";
    explain_sum(out, f.form.factors().rank(), f.left(row), f.right(col), {"l", "r"});
    return out;
}

std::optional<Explained> GeometryLens::explain_part(Subject& subject, const LensCell& cell) {
    const HeadForm& f = *form(subject);
    const Index row = cell.at[0], col = cell.at[1];
    const bool symmetric = cell.kind == &geometry_cells::symmetric_part;
    const FormPart part = symmetric ? FormPart::symmetric : FormPart::antisymmetric;
    const double one = form_cell<double>(f.factors(), row, col),
                 other = form_cell<double>(f.factors(), col, row);
    Explained out;
    out.title = brackets(std::string(symmetric ? "S" : "A") + " of " + f.name(), std::to_string(row),
                         std::to_string(col));
    out.formula = symmetric ? "½ (M[i, j] + M[j, i])" : "½ (M[i, j] − M[j, i])";
    out.f64 = form_cell<double>(f.factors(), part, row, col);
    out.f32 = static_cast<double>(form_cell<float>(f.factors(), part, row, col));
    const auto whole = [&](Index i, Index j) {
        return CellPlace{subject.chosen_head(), geometry_cells::bilinear_form(i, j)};
    };
    out.steps.push_back({"M[i, j]", "", four(one), false, whole(row, col)});
    out.steps.push_back({"M[j, i]", "", four(other), false, whole(col, row)});
    const char* sign = symmetric ? " + " : " − ";
    out.steps.push_back({symmetric ? "symmetric" : "antisymmetric",
                         "½ (" + four(one) + sign + four(other) + ")",
                         four(out.f64),
                         true,
                         {}});
    out.line("part", (symmetric ? Expression(one) + other : Expression(one) - other) / 2);
    return out;
}

std::optional<Explained> GeometryLens::explain_singular_value(Subject& subject, const LensCell& cell) {
    const FormTerms f{*form(subject), *subject.attention(), subject.chosen_head()};
    const Index r = cell.at[0];
    Explained out;
    out.title = "σ[" + std::to_string(r) + "] of " + f.form.name();
    out.formula = "u M vᵀ = Σ_a (u L)[a] · (v R)[a]";
    out.operands_title = "What u and v find in the components of the head";
    explain_sum(out, f.form.factors().rank(), f.inner(false, r), f.inner(true, r), {"u_l", "v_r"});
    out.note = "u and v are the directions for which this is as large as it can be, beside those before.";
    return out;
}

std::optional<Explained> GeometryLens::explain_singular_vector(Subject& subject, const LensCell& cell) {
    const FormTerms f{*form(subject), *subject.attention(), subject.chosen_head()};
    const SingularDirections& all = *f.form.directions();
    const bool of_right = cell.kind == &geometry_cells::right_singular_vector;
    const Index r = cell.at[0], i = cell.at[1], rank = f.form.factors().rank();
    const double sigma = at(all.values, r);
    Explained out;
    out.title = brackets(of_right ? "v" : "u", std::to_string(r), of_right ? f.col_name(i) : f.row_name(i));
    out.formula = of_right ? "Σ_a R[j, a] · (u L)[a] / σ" : "Σ_a L[i, a] · (v R)[a] / σ";
    out.operands_title = "A row of the form along the other direction";
    if (of_right)
        explain_sum(out, rank, f.right(i), f.inner(false, r), {"r", "u_l"});
    else
        explain_sum(out, rank, f.left(i), f.inner(true, r), {"l", "v_r"});
    if (sigma > 1e-12 * at(all.values, 0)) {
        divide(out, "σ", sigma, f.here(geometry_cells::singular_value(r)));
    } else {
        // A direction that the form lacks is any direction at right angles to the others.
        out.operands.clear();
        out.calculation.clear();
        out.formula = "at right angles to the other directions";
        out.f64 = at(of_right ? all.right_of(r) : all.left_of(r), i);
        out.f32 = static_cast<double>(static_cast<float>(out.f64));
        out.note = "Its σ is 0, so the form says nothing about it.";
    }
    return out;
}

std::optional<Explained> GeometryLens::explain_projection(Subject& subject, const LensCell& cell) {
    const FormTerms f{*form(subject), *subject.attention(), subject.chosen_head()};
    const SingularDirections& all = *f.form.directions();
    const bool of_right = cell.kind == &geometry_cells::right_projection;
    const Index r = cell.at[0], i = cell.at[1];
    Explained out;
    out.title = brackets(of_right ? "(v R)" : "(u L)", std::to_string(r), std::to_string(i));
    out.formula = of_right ? "Σ_j v[j] · R[j, a]" : "Σ_i u[i] · L[i, a]";
    out.operands_title =
        "The direction, through " + std::string(of_right ? f.form.right_name() : f.form.left_name());
    const auto column = [&](Index b) { return of_right ? f.right(b)(i) : f.left(b)(i); };
    explain_sum(out, of_right ? all.cols : all.rows, f.along(of_right, r), column, {"along", "w"});
    return out;
}

std::optional<Explained> GeometryLens::explain_token(Subject& subject, const LensCell& cell) {
    const FormTerms f{*form(subject), *subject.attention(), subject.chosen_head()};
    const HeadWeights& w = *weights(subject);
    const bool of_right = cell.kind == &geometry_cells::right_token, of_key = f.form.reads_keys(of_right);
    const Index token = cell.at[0], r = cell.at[1];
    Explained out;
    out.title = (of_right ? "x · v[" : "x · u[") + std::to_string(r) + "], x of " +
                label_at(of_key ? f.attention.key_names() : f.attention.query_names(), token);
    out.formula = of_right ? "Σ_b x[b] · v[b]" : "Σ_b x[b] · u[b]";
    out.operands_title = "The input along the direction";
    const auto input = [&](Index b) {
        return Factor{w.input(token, b, of_key), w.input_at(f.head, token, b, of_key)};
    };
    explain_sum(out, w.width(), input, f.along(of_right, r), {"x", "along"});
    return out;
}

std::optional<Explained> GeometryLens::explain_word(Subject& subject, const LensCell& cell) {
    const bool right = cell.kind == &geometry_cells::right_vocabulary;
    const CellKind& vector =
        right ? geometry_cells::right_singular_vector : geometry_cells::left_singular_vector;
    const HeadForm& f = *form(subject);
    const auto direction = word_direction(*weights(subject), f, cell.at[1], right);
    if (!direction) return std::nullopt;
    const auto id = static_cast<std::int32_t>(cell.at[0]);
    const TokenDirections words(*direction->tokens, direction->norm, direction->direction, 1);
    const std::vector<float> row = words.row(id);
    const std::vector<std::string> names = subject.token_texts(std::array{id});
    Explained out;
    out.title = (names.empty() ? "token " + std::to_string(id) : in_quotes(names[0])) + " along " +
                (right ? "v[" : "u[") + std::to_string(cell.at[1]) + "]";
    out.formula = direction->writes
                      ? "Σ_b v[b] · gain[b] · W_head[b, token]"
                      : std::string(direction->norm ? "Σ_b norm(W_E[token])[b] · " : "Σ_b W_E[token][b] · ") +
                            (right ? "v[b]" : "u[b]");
    out.operands_title =
        direction->writes ? "What it would add to the logit" : "The token’s embedding along it";
    const auto own = [&](Index b) {
        const auto leads_on = direction->writes
                                  ? std::nullopt
                                  : std::optional(CellPlace{subject.chosen_head(), vector(cell.at[1], b)});
        return Factor{at(direction->direction, b), leads_on};
    };
    const auto token = [&](Index b) {
        const auto leads_on =
            direction->writes
                ? std::optional(CellPlace{subject.chosen_head(), {Stage::w_head, b, cell.at[0]}})
                : std::nullopt;
        return Factor{static_cast<double>(row[static_cast<std::size_t>(b)]), leads_on};
    };
    explain_sum(out, std::ssize(row), token, own, {"token", "along"});
    out.note =
        direction->writes ? "Through the gain of the last norm, whose division by the spread is left out."
        : direction->norm && weights(subject)->crosses && f.reads_keys(right)
            ? "The embedding alone, normalised as the encoder does it at its end: without what its layers "
              "add."
        : direction->norm ? "The embedding alone, normalised as this layer does it: without a position, and "
                            "without what earlier layers add."
                          : "The embedding alone: without a position, and without what earlier layers add.";
    return out;
}

// ---- The gauge --------------------------------------------------------------------------------------------

std::optional<Explained> GeometryLens::explain_gauge(Subject& subject, const LensCell& cell) {
    const GaugedHead& head = *gauged(subject);
    const Index d = head.in_view.record->d_k(), row = cell.at[0], col = cell.at[1];
    Explained out;
    const bool dual = cell.kind == &geometry_cells::dual_gauge;
    out.title = brackets(dual ? "G⁻ᵀ" : "G", std::to_string(row), std::to_string(col));
    out.formula = dual ? "exp(−t Aᵀ)" : "exp(t A)";
    out.f64 = at(dual ? head.matrices.dual : head.matrices.g, row * d + col);
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    out.steps.push_back({"t", "", four(head.gauge.t), false, {}});
    out.steps.push_back({"condition", "‖G‖ ‖G⁻¹‖", four(head.matrices.condition), false, {}});
    if (head.gauge.kind == GaugeKind::rotation)
        out.note = "A rotation: cos t on the diagonal of its two components, ± sin t beside it.";
    if (head.gauge.kind == GaugeKind::stretch) out.note = "A stretch: e^t for q, and e^−t for k.";
    if (head.gauge.kind == GaugeKind::shear) out.note = "A shear: one component of q gains t times another.";
    if (head.gauge.kind == GaugeKind::mix)
        out.note = "A is symmetric, with eigenvalues from 1 to −1 along axes of seed " +
                   std::to_string(head.gauge.seed) + ".";
    return out;
}

std::optional<Explained> GeometryLens::explain_gauged_score(Subject& subject, const LensCell& cell) {
    const GaugedHead& head = *gauged(subject);
    const Attention& attention = *subject.attention();
    const HeadIndex chosen = subject.chosen_head();
    const Index d = head.in_view.record->d_k(), row = cell.at[0], col = cell.at[1];
    Explained out;
    const std::string query = label_at(attention.query_names(), row),
                      key = label_at(attention.key_names(), col);
    out.title = brackets("Q G (K G⁻ᵀ)ᵀ", query, key);
    out.formula = "Σ_a (Q G)[i, a] · (K G⁻ᵀ)[j, a]";
    out.operands_title = "The moved query and the moved key";
    const Index i = head.in_view.queries.place(row), j = head.in_view.keys.place(col);
    explain_sum(
        out, d,
        [&](Index a) {
            return Factor{head.q.at(i, a), CellPlace{chosen, geometry_cells::gauged_query(row, a)}};
        },
        [&](Index a) {
            return Factor{head.k.at(j, a), CellPlace{chosen, geometry_cells::gauged_key(col, a)}};
        },
        {"q", "k"});
    out.f32 = head.score32.at(i, j);
    const double plain = head.plain.at(i, j);
    out.steps.push_back(
        {"without G", "q · k", four(plain), false, CellPlace{chosen, {Stage::raw, row, col}}});
    out.steps.push_back({"moved by", "in double", fixed(out.f64 - plain, 4), false, {}});
    out.steps.push_back({"", "in single", fixed(out.f32 - plain, 4), false, {}});
    out.note = "In single precision the scores in view can be off by at most " + fixed(head.bound, 3) +
               ": each rounding grows by what G and G⁻ᵀ stretch.";
    return out;
}

std::optional<Explained> GeometryLens::explain_gauged_vector(Subject& subject, const LensCell& cell) {
    const GaugedHead& head = *gauged(subject);
    const Attention& attention = *subject.attention();
    const Record& record = *head.in_view.record;
    const HeadIndex chosen = subject.chosen_head();
    const Index d = record.d_k(), row = cell.at[0], col = cell.at[1];
    Explained out;
    const bool of_key = cell.kind == &geometry_cells::gauged_key;
    const ShownTokens& shown = of_key ? head.in_view.keys : head.in_view.queries;
    const Matrix& moved32 = of_key ? head.k32 : head.q32;
    const ConstMatrix from = of_key ? record.k().heads().head(record.kv_head(head.in_view.head))
                                    : record.q().heads().head(head.in_view.head);
    out.title = brackets(of_key ? "K G⁻ᵀ" : "Q G",
                         label_at(of_key ? attention.key_names() : attention.query_names(), row),
                         std::to_string(col));
    out.formula = of_key ? "Σ_b K[j, b] · G⁻ᵀ[b, a]" : "Σ_b Q[i, b] · G[b, a]";
    out.operands_title = of_key ? "The key through G⁻ᵀ" : "The query through G";
    explain_sum(
        out, d,
        [&](Index b) {
            return Factor{static_cast<double>(from(row, b)),
                          CellPlace{chosen, {of_key ? Stage::k : Stage::q, row, b}}};
        },
        [&](Index b) {
            return Factor{
                at(of_key ? head.matrices.dual : head.matrices.g, b * d + col),
                CellPlace{chosen, (of_key ? geometry_cells::dual_gauge : geometry_cells::gauge)(b, col)}};
        },
        {of_key ? "k" : "q", "g"});
    out.f32 = moved32.at(shown.place(row), col);
    return out;
}

// ---- The metric -------------------------------------------------------------------------------------------

std::optional<Explained> GeometryLens::explain_metric(Subject& subject, const LensCell& cell) {
    const auto& made = *metric(subject);
    if (!made) return std::nullopt;
    const MetricHead& head = *made;
    const Index d = head.metric.size(), row = cell.at[0], col = cell.at[1];
    Explained out;
    const bool inverse = cell.kind == &geometry_cells::inverse_metric;
    out.title = brackets(inverse ? "g⁻¹" : "g", std::to_string(row), std::to_string(col));
    out.f64 = at(inverse ? head.metric.inverse() : head.metric.g(), row * d + col);
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    out.formula = inverse ? "Σ_c g[a, c] · g⁻¹[c, b] = (a = b)" : "g^{ab} = g^{ba}";
    out.note = inverse ? "It lowers what g raises."
                       : "g has " + many(head.metric.negative(), "negative direction") + " of " +
                             std::to_string(d) + ", and a condition of " + fixed(head.metric.condition(), 2) +
                             ".";
    return out;
}

std::optional<Explained> GeometryLens::explain_raised_query(Subject& subject, const LensCell& cell) {
    const auto& made = *metric(subject);
    if (!made) return std::nullopt;
    const MetricHead& head = *made;
    const Record& record = *head.in_view.record;
    const HeadIndex chosen = subject.chosen_head();
    const Index d = head.metric.size(), row = cell.at[0], col = cell.at[1];
    Explained out;
    out.title = brackets("Q raised", label_at(subject.attention()->query_names(), row), std::to_string(col));
    out.formula = "q^a = Σ_b g[a, b] · q_b";
    out.operands_title = "The metric and the query";
    explain_sum(
        out, d,
        [&](Index b) {
            return Factor{at(head.metric.g(), col * d + b),
                          CellPlace{chosen, geometry_cells::metric(col, b)}};
        },
        [&](Index b) {
            return Factor{static_cast<double>(record.q().heads().head(head.in_view.head)(row, b)),
                          CellPlace{chosen, {Stage::q, row, b}}};
        },
        {"g", "q"});
    out.f32 = head.raised32.at(head.in_view.queries.place(row), col);
    return out;
}

std::optional<Explained> GeometryLens::explain_metric_score(Subject& subject, const LensCell& cell) {
    const auto& made = *metric(subject);
    if (!made) return std::nullopt;
    const MetricHead& head = *made;
    const Attention& attention = *subject.attention();
    const Record& record = *head.in_view.record;
    const HeadIndex chosen = subject.chosen_head();
    const Index row = cell.at[0], col = cell.at[1], i = head.in_view.queries.place(row),
                j = head.in_view.keys.place(col);
    Explained out;
    out.title =
        brackets("q g k", label_at(attention.query_names(), row), label_at(attention.key_names(), col));
    out.formula = "Σ_a q^a · k_a";
    out.operands_title = "The raised query and the key";
    const ConstMatrix k = record.k().heads().head(record.kv_head(head.in_view.head));
    explain_sum(
        out, head.metric.size(),
        [&](Index a) {
            return Factor{head.raised.at(i, a), CellPlace{chosen, geometry_cells::raised_query(row, a)}};
        },
        [&](Index a) {
            return Factor{static_cast<double>(k(col, a)), CellPlace{chosen, {Stage::k, col, a}}};
        },
        {"q", "k"});
    out.f32 = head.score32.at(i, j);
    out.steps.push_back({"without g", "q · k", four(row_chain(record, head.in_view.head, row).at(col).raw),
                         false, CellPlace{chosen, {Stage::raw, row, col}}});
    out.note = "W_Q g in place of W_Q makes the same score.";
    return out;
}

std::optional<Explained> GeometryLens::explain_metric_weight(Subject& subject, const LensCell& cell) {
    const auto& made = *metric(subject);
    if (!made) return std::nullopt;
    const MetricHead& head = *made;
    const Attention& attention = *subject.attention();
    const HeadIndex chosen = subject.chosen_head();
    const Index row = cell.at[0], col = cell.at[1];
    Explained out;
    const CellExplanation under = head.under.at(col), before = head.plain.at(col);
    out.title = brackets("Weights under g", label_at(attention.query_names(), row),
                         label_at(attention.key_names(), col));
    out.formula = "softmax of the scores q g k";
    out.masked = !under.allowed;
    out.f64 = under.weight;
    out.f32 = static_cast<double>(static_cast<float>(under.weight));
    out.steps.push_back({"score", "q g k", four(under.raw), false,
                         CellPlace{chosen, geometry_cells::metric_score(row, col)}});
    out.steps.push_back({"masked", "scaled as it was", four(under.masked), false, {}});
    out.steps.push_back({"exp(…)",
                         "exp(" + four(under.masked) + " − " + four(under.row_max) + ")",
                         four(under.exponential),
                         false,
                         {}});
    out.steps.push_back(
        {"weight", four(under.exponential) + " / " + four(under.row_sum), four(under.weight), true, {}});
    out.steps.push_back(
        {"without g", "", four(before.weight), false, CellPlace{chosen, {Stage::weight, row, col}}});
    out.line("weight", Expression(under.exponential) / under.row_sum);
    return out;
}

}  // namespace attn::app
