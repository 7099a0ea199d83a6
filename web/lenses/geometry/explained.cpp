// Explains the numbers of the form, the gauge and the metric: sums of products, each factor of which leads
// on.
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "subjects/explain.hpp"

namespace attn::app::geometry {

namespace {

struct Factor {
    double value;
    std::optional<CellPlace> at;
};

double at(std::span<const double> numbers, Index i) { return numbers[static_cast<std::size_t>(i)]; }

// Adds the products left · right as operands. f32 becomes their sum in f32.
void add_products(Explained& out, Index count, auto left, auto right) {
    float sum = 0;
    for (Index a = 0; a < count; ++a) {
        const Factor l = left(a), r = right(a);
        out.term(std::to_string(a), l.value, r.value, l.at, r.at);
        sum += static_cast<float>(l.value) * static_cast<float>(r.value);
    }
    out.f32 = static_cast<double>(sum);
}

// What an explanation reads, and how it names it.
struct Here {
    Model& model;
    Subject& subject;
    Index row, col;

    Here(Model& m, Subject& s, const LensCell& cell)
        : model(m), subject(s), row(cell.at[0]), col(cell.at[1]) {}

    CellPlace place(const CellRef& cell) const { return {model.place.head, cell}; }
    std::string query(Index i) const { return label_at(subject.attention()->query_names(), i); }
    std::string key(Index j) const { return label_at(subject.attention()->key_names(), j); }
    static std::string brackets(const std::string& name, const std::string& row, const std::string& col) {
        return name + "[" + row + ", " + col + "]";
    }
    std::string element(const std::string& name) const {
        return brackets(name, std::to_string(row), std::to_string(col));
    }

    // A component of q or k.
    auto vector(Stage stage, Index token) const {
        const Record& record = *model.record;
        const Index head = model.place.head.head;
        const ConstMatrix rows =
            stage == Stage::q ? record.q().heads().head(head) : record.k().heads().head(record.kv_head(head));
        return [=, this](Index a) {
            return Factor{static_cast<double>(rows(token, a)), place(RunCell{stage, token, a})};
        };
    }
};

// The factors of the form's numbers.
struct FormHere : Here {
    const HeadForm& form;

    FormHere(Model& m, Subject& s, const LensCell& cell) : Here(m, s, cell), form(m.form()) {}

    Index rank() const { return form.factors().rank(); }
    std::string row_name(Index i) const {
        return form.of() == FormOf::tokens ? query(form.first_row() + i) : std::to_string(i);
    }
    std::string col_name(Index j) const {
        return form.of() == FormOf::tokens ? key(form.first_col() + j) : std::to_string(j);
    }
    CellRef factor_cell(bool right, Index i, Index a) const {
        switch (form.of()) {
            case FormOf::scores: return RunCell{right ? Stage::w_k : Stage::w_q, i, a};
            case FormOf::values: return right ? RunCell{Stage::w_o, a, i} : RunCell{Stage::w_v, i, a};
            case FormOf::tokens: break;
        }
        return right ? RunCell{Stage::k, form.first_col() + i, a}
                     : RunCell{Stage::q, form.first_row() + i, a};
    }
    // L[i, a] or R[i, a], by a.
    auto factor(bool right, Index i) const {
        return [=, this](Index a) {
            const auto& factors = form.factors();
            return Factor{(right ? factors.right : factors.left)(i, a), place(factor_cell(right, i, a))};
        };
    }
    auto inner(bool right, Index r) const {
        return [=, this](Index a) {
            return Factor{form.inner(r, right, a),
                          place((right ? cells::right_projection : cells::left_projection)(r, a))};
        };
    }
    auto along(bool right, Index r) const {
        return [=, this](Index b) {
            return Factor{at(form.direction(r, right), b),
                          place((right ? cells::right_singular_vector : cells::left_singular_vector)(r, b))};
        };
    }
};

// ---- The form ---------------------------------------------------------------------------------------------

std::optional<Explained> explain_form(Model& model, Subject& subject, const LensCell& cell) {
    const FormHere f(model, subject, cell);
    Explained out{.title = f.brackets("(" + f.form.name() + ")", f.row_name(f.row), f.col_name(f.col)),
                  .formula = "Σ_a L[i, a] · R[j, a]",
                  .operands_title = std::string(f.form.left_name()) + " · " + f.form.right_name() +
                                    ", component by component"};
    add_products(out, f.rank(), f.factor(false, f.row), f.factor(true, f.col));
    out.line("value", out.dot("l", "r"));
    return out;
}

std::optional<Explained> explain_part(Model& model, Subject& subject, const LensCell& cell) {
    const FormHere f(model, subject, cell);
    const bool symmetric = cell.kind == &cells::symmetric_part;
    Explained out{
        .title = f.element(std::string(symmetric ? "S" : "A") + " of " + f.form.name()),
        .f32 = static_cast<double>(form_cell<float>(
            f.form.factors(), symmetric ? FormPart::symmetric : FormPart::antisymmetric, f.row, f.col)),
        .formula = symmetric ? "½ (M[i, j] + M[j, i])" : "½ (M[i, j] − M[j, i])"};
    const auto whole = [&](const char* name, Index i, Index j) {
        return out.step(name, form_cell<double>(f.form.factors(), i, j), f.place(cells::bilinear_form(i, j)));
    };
    const Expression one = whole("M[i, j]", f.row, f.col), other = whole("M[j, i]", f.col, f.row);
    out.step(symmetric ? "symmetric" : "antisymmetric", 0.5 * (symmetric ? one + other : one - other));
    return out;
}

std::optional<Explained> explain_singular_value(Model& model, Subject& subject, const LensCell& cell) {
    const FormHere f(model, subject, cell);
    Explained out{
        .title = "σ[" + std::to_string(f.row) + "] of " + f.form.name(),
        .formula = "u M vᵀ = Σ_a (u L)[a] · (v R)[a]",
        .operands_title = "What u and v find in the components of the head",
        .note = "u and v are the directions for which this is as large as it can be, beside those before."};
    add_products(out, f.rank(), f.inner(false, f.row), f.inner(true, f.row));
    out.line("value", out.dot("u_l", "v_r"));
    return out;
}

std::optional<Explained> explain_singular_vector(Model& model, Subject& subject, const LensCell& cell) {
    const FormHere f(model, subject, cell);
    const SingularDirections& all = *f.form.directions();
    const bool right = cell.kind == &cells::right_singular_vector;
    Explained out{.title = f.brackets(right ? "v" : "u", std::to_string(f.row),
                                      right ? f.col_name(f.col) : f.row_name(f.col)),
                  .operands_title = "A row of the form along the other direction"};
    const double sigma = at(all.values, f.row);
    if (sigma <= 1e-12 * at(all.values, 0)) {
        // A direction that the form lacks is any direction at right angles to the others.
        out.formula = "at right angles to the other directions";
        out.f64 = at(f.form.direction(f.row, right), f.col);
        out.f32 = single(out.f64);
        out.note = "Its σ is 0, so the form says nothing about it.";
        return out;
    }
    out.formula = right ? "Σ_a R[j, a] · (u L)[a] / σ" : "Σ_a L[i, a] · (v R)[a] / σ";
    add_products(out, f.rank(), f.factor(right, f.col), f.inner(!right, f.row));
    const Expression sum = out.step("sum", right ? out.dot("r", "u_l") : out.dot("l", "v_r"));
    out.step("value", sum / out.step("σ", sigma, f.place(cells::singular_value(f.row))));
    out.f32 /= sigma;
    return out;
}

std::optional<Explained> explain_projection(Model& model, Subject& subject, const LensCell& cell) {
    const FormHere f(model, subject, cell);
    const bool right = cell.kind == &cells::right_projection;
    Explained out{.title = f.element(right ? "(v R)" : "(u L)"),
                  .formula = right ? "Σ_j v[j] · R[j, a]" : "Σ_i u[i] · L[i, a]",
                  .operands_title = "The direction, through " +
                                    std::string(right ? f.form.right_name() : f.form.left_name())};
    const auto column = [&](Index b) { return f.factor(right, b)(f.col); };
    add_products(out, std::ssize(f.form.direction(f.row, right)), f.along(right, f.row), column);
    out.line("value", out.dot("along", "w"));
    return out;
}

std::optional<Explained> explain_token(Model& model, Subject& subject, const LensCell& cell) {
    const FormHere f(model, subject, cell);
    const HeadWeights& w = *model.weights;
    const bool right = cell.kind == &cells::right_token, of_key = f.form.reads_keys(right);
    Explained out{.title = (right ? "x · v[" : "x · u[") + std::to_string(f.col) + "], x of " +
                           (of_key ? f.key(f.row) : f.query(f.row)),
                  .formula = right ? "Σ_b x[b] · v[b]" : "Σ_b x[b] · u[b]",
                  .operands_title = "The input along the direction"};
    // Cross-attention's keys are computed from the output of the encoder's last norm.
    const bool encoded = of_key && w.crosses;
    const HeadIndex head = encoded ? HeadIndex{0, model.place.head.head} : model.place.head;
    const Stage stage = encoded ? Stage::final_norm : w.trace ? Stage::attention_input : Stage::x;
    add_products(
        out, w.width(),
        [&](Index b) { return Factor{w.input(f.row, b, of_key), CellPlace{head, RunCell{stage, f.row, b}}}; },
        f.along(right, f.col));
    out.line("value", out.dot("x", "along"));
    return out;
}

std::optional<Explained> explain_word(Model& model, Subject& subject, const LensCell& cell) {
    const FormHere f(model, subject, cell);
    const bool right = cell.kind == &cells::right_vocabulary;
    const auto words = word_direction(*model.weights, f.form, f.col, right);
    if (!words) return std::nullopt;
    const bool writes = words->writes, normalised = words->norm.has_value();
    const auto id = static_cast<std::int32_t>(f.row);
    const std::vector<float> row = TokenDirections(*words->tokens, words->norm, words->direction, 1).row(id);
    const std::vector<std::string> names = subject.token_texts(std::array{id});
    const std::string side = right ? "v" : "u";
    Explained out{
        .title = (names.empty() ? "token " + std::to_string(id) : in_quotes(names[0])) + " along " + side +
                 "[" + std::to_string(f.col) + "]",
        .formula = writes
                       ? "Σ_b v[b] · gain[b] · W_head[b, token]"
                       : (normalised ? "Σ_b norm(W_E[token])[b] · " : "Σ_b W_E[token][b] · ") + side + "[b]",
        .operands_title = writes ? "What it would add to the logit" : "The token’s embedding along it",
        .note = writes ? "Through the gain of the last norm, whose division by the spread is left out."
                : normalised && model.weights->crosses && f.form.reads_keys(right)
                    ? "The embedding alone, normalised as the encoder does it at its end: without what its "
                      "layers add."
                : normalised
                    ? "The embedding alone, normalised as this layer does it: without a position, and "
                      "without what earlier layers add."
                    : "The embedding alone: without a position, and without what earlier layers add."};
    // A direction that writes has gone through the norm's gain, so its components are numbers of no cell.
    const auto token = [&](Index b) {
        return Factor{static_cast<double>(row[static_cast<std::size_t>(b)]),
                      writes ? std::optional(f.place(RunCell{Stage::w_head, b, f.row})) : std::nullopt};
    };
    const auto own = [&](Index b) {
        return writes ? Factor{at(words->direction, b), std::nullopt} : f.along(right, f.col)(b);
    };
    add_products(out, std::ssize(row), token, own);
    out.line("value", out.dot("token", "along"));
    return out;
}

// ---- The gauge --------------------------------------------------------------------------------------------

std::string gauge_note(const Gauge& gauge) {
    switch (gauge.kind) {
        case GaugeKind::rotation:
            return "A rotation: cos t on the diagonal of its two components, ± sin t beside it.";
        case GaugeKind::stretch: return "A stretch: e^t for q, and e^−t for k.";
        case GaugeKind::shear: return "A shear: one component of q gains t times another.";
        case GaugeKind::mix: break;
    }
    return "A is symmetric, with eigenvalues from 1 to −1 along axes of seed " + std::to_string(gauge.seed) +
           ".";
}

std::optional<Explained> explain_gauge(Model& model, Subject& subject, const LensCell& cell) {
    const Here here(model, subject, cell);
    const GaugedScores& scores = model.gauged();
    const bool dual = cell.kind == &cells::dual_gauge;
    const double value =
        at(dual ? scores.matrices.dual : scores.matrices.g, here.row * scores.matrices.size + here.col);
    Explained out{.title = here.element(dual ? "G⁻ᵀ" : "G"),
                  .f32 = single(value),
                  .f64 = value,
                  .formula = dual ? "exp(−t Aᵀ)" : "exp(t A)",
                  .note = gauge_note(scores.gauge)};
    out.beside("t", scores.gauge.t);
    out.beside("condition", scores.matrices.condition, "‖G‖ ‖G⁻¹‖");
    return out;
}

std::optional<Explained> explain_gauged_score(Model& model, Subject& subject, const LensCell& cell) {
    const Here here(model, subject, cell);
    const GaugedScores& scores = model.gauged();
    const Index i = model.queries.place(here.row), j = model.keys.place(here.col);
    Explained out{.title = here.brackets("Q G (K G⁻ᵀ)ᵀ", here.query(here.row), here.key(here.col)),
                  .formula = "Σ_a (Q G)[i, a] · (K G⁻ᵀ)[j, a]",
                  .operands_title = "The moved query and the moved key",
                  .note = "In single precision the scores in view can be off by at most " +
                          fixed(scores.bound, 3) + ": each rounding grows by what G and G⁻ᵀ stretch."};
    add_products(
        out, scores.matrices.size,
        [&](Index a) { return Factor{scores.moved.q(i, a), here.place(cells::gauged_query(here.row, a))}; },
        [&](Index a) { return Factor{scores.moved.k(j, a), here.place(cells::gauged_key(here.col, a))}; });
    out.line("value", out.dot("q", "k"));
    out.f32 = scores.score32(i, j);
    const double plain = scores.plain(i, j);
    out.beside("without G", plain, "q · k", here.place(RunCell{Stage::raw, here.row, here.col}));
    out.beside("moved by", out.f64 - plain, "in double");
    out.beside("", out.f32 - plain, "in single");
    return out;
}

std::optional<Explained> explain_gauged_vector(Model& model, Subject& subject, const LensCell& cell) {
    const Here here(model, subject, cell);
    const GaugedScores& scores = model.gauged();
    const bool of_key = cell.kind == &cells::gauged_key;
    const CellKind& gauge = of_key ? cells::dual_gauge : cells::gauge;
    const std::vector<double>& matrix = of_key ? scores.matrices.dual : scores.matrices.g;
    Explained out{
        .title = here.brackets(of_key ? "K G⁻ᵀ" : "Q G", of_key ? here.key(here.row) : here.query(here.row),
                               std::to_string(here.col)),
        .formula = of_key ? "Σ_b K[j, b] · G⁻ᵀ[b, a]" : "Σ_b Q[i, b] · G[b, a]",
        .operands_title = of_key ? "The key through G⁻ᵀ" : "The query through G"};
    add_products(
        out, scores.matrices.size, here.vector(of_key ? Stage::k : Stage::q, here.row), [&](Index b) {
            return Factor{at(matrix, b * scores.matrices.size + here.col), here.place(gauge(b, here.col))};
        });
    out.line("value", out.dot(of_key ? "k" : "q", "g"));
    out.f32 = of_key ? scores.moved32.k(model.keys.place(here.row), here.col)
                     : scores.moved32.q(model.queries.place(here.row), here.col);
    return out;
}

// ---- The metric -------------------------------------------------------------------------------------------

std::optional<Explained> explain_metric(Model& model, Subject& subject, const LensCell& cell) {
    const Here here(model, subject, cell);
    const Metric& metric = model.metric()->metric;
    const bool inverse = cell.kind == &cells::inverse_metric;
    const double value = at(inverse ? metric.inverse() : metric.g(), here.row * metric.size() + here.col);
    return Explained{.title = here.element(inverse ? "g⁻¹" : "g"),
                     .f32 = single(value),
                     .f64 = value,
                     .formula = inverse ? "Σ_c g[a, c] · g⁻¹[c, b] = (a = b)" : "g^{ab} = g^{ba}",
                     .note = inverse ? "It lowers what g raises."
                                     : "g has " + many(metric.negative(), "negative direction") + " of " +
                                           std::to_string(metric.size()) + ", and a condition of " +
                                           fixed(metric.condition(), 2) + "."};
}

std::optional<Explained> explain_raised_query(Model& model, Subject& subject, const LensCell& cell) {
    const Here here(model, subject, cell);
    const MetricScores& scores = *model.metric();
    const Index d = scores.metric.size();
    Explained out{.title = here.brackets("Q raised", here.query(here.row), std::to_string(here.col)),
                  .formula = "q^a = Σ_b g[a, b] · q_b",
                  .operands_title = "The metric and the query"};
    add_products(
        out, d,
        [&](Index b) {
            return Factor{at(scores.metric.g(), here.col * d + b), here.place(cells::metric(here.col, b))};
        },
        here.vector(Stage::q, here.row));
    out.line("value", out.dot("g", "q"));
    out.f32 = scores.raised32(model.queries.place(here.row), here.col);
    return out;
}

std::optional<Explained> explain_metric_score(Model& model, Subject& subject, const LensCell& cell) {
    const Here here(model, subject, cell);
    const MetricScores& scores = *model.metric();
    const Index i = model.queries.place(here.row), j = model.keys.place(here.col);
    Explained out{.title = here.brackets("q g k", here.query(here.row), here.key(here.col)),
                  .formula = "Σ_a q^a · k_a",
                  .operands_title = "The raised query and the key",
                  .note = "W_Q g in place of W_Q makes the same score."};
    add_products(
        out, scores.metric.size(),
        [&](Index a) { return Factor{scores.raised(i, a), here.place(cells::raised_query(here.row, a))}; },
        here.vector(Stage::k, here.col));
    out.line("value", out.dot("q", "k"));
    out.f32 = scores.score32(i, j);
    out.beside("without g", row_chain(*model.record, model.place.head.head, here.row).at(here.col).raw,
               "q · k", here.place(RunCell{Stage::raw, here.row, here.col}));
    return out;
}

std::optional<Explained> explain_metric_weight(Model& model, Subject& subject, const LensCell& cell) {
    const Here here(model, subject, cell);
    const MetricScores& scores = *model.metric();
    const CellExplanation under = scores.under.at(here.col), before = scores.plain.at(here.col);
    Explained out{.title = here.brackets("Weights under g", here.query(here.row), here.key(here.col)),
                  .masked = !under.allowed,
                  .f32 = single(under.weight),
                  .formula = "softmax of the scores q g k"};
    out.beside("score", under.raw, "q g k", here.place(cells::metric_score(here.row, here.col)));
    const Expression masked = out.step("masked", under.masked, std::string("scaled as it was"));
    // A row without keys has no maximum, and an edit may set a weight.
    const bool is_quotient = std::isfinite(under.row_max) && !under.weight_before;
    const Expression raised =
        out.step("exp(…)", is_quotient ? exp(masked - under.row_max) : Expression(under.exponential));
    out.step("weight", is_quotient ? raised / under.row_sum : Expression(under.weight));
    out.beside("without g", before.weight, "", here.place(RunCell{Stage::weight, here.row, here.col}));
    return out;
}

// ---- All numbers ------------------------------------------------------------------------------------------

constexpr std::array<ModelNumber<Model>, 23> declared{{
    {&cells::bilinear_form, explain_form},
    {&cells::symmetric_part, explain_part},
    {&cells::antisymmetric_part, explain_part},
    {&cells::singular_value, explain_singular_value},
    {&cells::left_singular_vector, explain_singular_vector},
    {&cells::right_singular_vector, explain_singular_vector},
    {&cells::left_projection, explain_projection},
    {&cells::right_projection, explain_projection},
    {&cells::left_token, explain_token},
    {&cells::right_token, explain_token},
    {&cells::left_vocabulary, explain_word},
    {&cells::right_vocabulary, explain_word},
    {&cells::gauge, explain_gauge},
    {&cells::dual_gauge, explain_gauge},
    {&cells::gauged_query, explain_gauged_vector},
    {&cells::gauged_key, explain_gauged_vector},
    {&cells::gauged_score, explain_gauged_score},
    {&cells::metric, explain_metric},
    {&cells::inverse_metric, explain_metric},
    {&cells::raised_query, explain_raised_query},
    {&cells::metric_score, explain_metric_score},
    {&cells::metric_weight, explain_metric_weight},
    {&cells::einsum, explain_einsum},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

// In older links, the kind is in the column; kinds are counted in the order of the table.
std::optional<CellRef> packed_cell(Index row, Index col) {
    if (col < 0) return std::nullopt;
    const CellRef cell = (*numbers()[static_cast<std::size_t>(col % 23)])(row, col / 23);
    return cell.own()->is_within() ? std::optional(cell) : std::nullopt;
}

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!record || !holds(cell)) return std::nullopt;
    std::optional<Explained> out = explain_by(declared, *this, subject, cell);
    if (out) out->provenance = head_text(place.head, subject.attention()->numbering(), ", ") + " · computed";
    return out;
}

}  // namespace attn::app::geometry
