// Explains the numbers of the form, the gauge and the metric: sums of products, each factor of which leads on.
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

using Number = GeometryNumber;

struct Factor {
    double value;
    std::optional<CellPlace> at;
};

// Σ left · right: the operands and the value, in f32 from factors in f32.
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
    add_line(out, "value", "dot(" + out.left_name + ", " + out.right_name + ")", out.f64);
}

// The value is the sum divided by a number of its own.
void divide(Explained& out, const char* name, double by, const CellPlace& at) {
    out.steps.push_back({"sum", "", four(out.f64), false, {}});
    out.steps.push_back({name, "", four(by), false, at});
    out.steps.push_back({"value", four(out.f64) + " / " + four(by), four(out.f64 / by), true, {}});
    out.f64 /= by;
    out.f32 /= by;
    add_line(out, "divided", "value / " + in_expression(by), out.f64);
}

std::string brackets(const std::string& name, const std::string& row, const std::string& col) {
    return name + "[" + row + ", " + col + "]";
}

double at(std::span<const double> numbers, Index i) { return numbers[static_cast<std::size_t>(i)]; }

}  // namespace

std::optional<Explained> GeometryLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    const GeometryCell cell = geometry_cell(place.cell);
    if (place.cell.second || place.head != subject.chosen_head() || !holds(subject, cell))
        return std::nullopt;
    std::optional<Explained> out = cell.number == Number::element     ? explain_element(subject, cell)
                                   : cell.number >= Number::metric    ? explain_metric(subject, place, cell)
                                   : cell.number >= Number::gauge     ? explain_gauge(subject, place, cell)
                                   : cell.number >= Number::left_word ? explain_word(subject, place, cell)
                                                                      : explain_form(subject, place, cell);
    if (out && out->provenance.empty())
        out->provenance =
            head_text(subject.chosen_head(), subject.attention()->numbering(), ", ") + " · computed";
    return out;
}

std::optional<Explained> GeometryLens::explain_form(Subject& subject, const CellPlace& place,
                                                    const GeometryCell& cell) {
    const HeadForm& f = *form(subject);
    const Attention& attention = *subject.attention();
    const std::string m = f.name();
    const auto here = [&](CellRef ref) { return CellPlace{place.head, ref}; };
    const auto own = [&](Number number, Index row, Index col) { return here(cell_of(number, row, col)); };
    const auto row_name = [&](Index i) {
        return f.of() == FormOf::tokens ? label_at(attention.query_names(), f.first_row() + i)
                                        : std::to_string(i);
    };
    const auto col_name = [&](Index j) {
        return f.of() == FormOf::tokens ? label_at(attention.key_names(), f.first_col() + j)
                                        : std::to_string(j);
    };
    const auto left = [&](Index row) {
        return [&, row](Index a) { return Factor{f.factors().left(row, a), here(f.left_at(row, a))}; };
    };
    const auto right = [&](Index col) {
        return [&, col](Index a) { return Factor{f.factors().right(col, a), here(f.right_at(col, a))}; };
    };
    const Index rank = f.factors().rank(), r = cell.row, i = cell.col;
    const std::string direction = std::to_string(cell.row);
    Explained out;
    if (cell.number == Number::whole) {
        out.title = brackets("(" + m + ")", row_name(cell.row), col_name(cell.col));
        out.formula = "Σ_a L[i, a] · R[j, a]";
        out.operands_title = std::string(f.left_name()) + " · " + f.right_name() + ", component by component";
        explain_sum(out, rank, left(cell.row), right(cell.col), {"l", "r"});
        return out;
    }
    if (cell.number <= Number::antisymmetric) {
        const bool symmetric = cell.number == Number::symmetric;
        const FormPart part = symmetric ? FormPart::symmetric : FormPart::antisymmetric;
        const double one = form_cell<double>(f.factors(), cell.row, cell.col),
                     other = form_cell<double>(f.factors(), cell.col, cell.row);
        out.title = brackets(std::string(symmetric ? "S" : "A") + " of " + m, std::to_string(cell.row),
                             std::to_string(cell.col));
        out.formula = symmetric ? "½ (M[i, j] + M[j, i])" : "½ (M[i, j] − M[j, i])";
        out.f64 = form_cell<double>(f.factors(), part, cell.row, cell.col);
        out.f32 = static_cast<double>(form_cell<float>(f.factors(), part, cell.row, cell.col));
        out.steps.push_back({"M[i, j]", "", four(one), false, own(Number::whole, cell.row, cell.col)});
        out.steps.push_back({"M[j, i]", "", four(other), false, own(Number::whole, cell.col, cell.row)});
        const char* sign = symmetric ? " + " : " − ";
        out.steps.push_back({symmetric ? "symmetric" : "antisymmetric",
                             "½ (" + four(one) + sign + four(other) + ")",
                             four(out.f64),
                             true,
                             {}});
        add_line(out, "part",
                 "(" + in_expression(one) + (symmetric ? " + " : " - ") + in_expression(other) + ") / 2",
                 out.f64);
        return out;
    }
    const SingularDirections& all = *f.directions();
    const auto inner = [&](bool of_right) {
        return [&, of_right](Index a) {
            return of_right ? Factor{f.inner_right(r, a), own(Number::inner_right, r, a)}
                            : Factor{f.inner_left(r, a), own(Number::inner_left, r, a)};
        };
    };
    const auto along = [&](bool of_right, Index of) {
        return [&, of_right, of](Index b) {
            return of_right ? Factor{at(all.right_of(of), b), own(Number::right, of, b)}
                            : Factor{at(all.left_of(of), b), own(Number::left, of, b)};
        };
    };
    switch (cell.number) {
        case Number::singular:
            out.title = "σ[" + direction + "] of " + m;
            out.formula = "u M vᵀ = Σ_a (u L)[a] · (v R)[a]";
            out.operands_title = "What u and v find in the components of the head";
            explain_sum(out, rank, inner(false), inner(true), {"u_l", "v_r"});
            out.note =
                "u and v are the directions for which this is as large as it can be, beside those before.";
            break;
        case Number::left:
        case Number::right: {
            const bool of_right = cell.number == Number::right;
            const double sigma = at(all.values, r);
            out.title = std::string(of_right ? "v" : "u") + "[" + direction + ", " +
                        (of_right ? col_name(i) : row_name(i)) + "]";
            out.formula = of_right ? "Σ_a R[j, a] · (u L)[a] / σ" : "Σ_a L[i, a] · (v R)[a] / σ";
            out.operands_title = "A row of the form along the other direction";
            if (of_right)
                explain_sum(out, rank, right(i), inner(false), {"r", "u_l"});
            else
                explain_sum(out, rank, left(i), inner(true), {"l", "v_r"});
            if (sigma > 1e-12 * at(all.values, 0)) {
                divide(out, "σ", sigma, own(Number::singular, r, 0));
            } else {
                // A direction that the form does not have is any that is at right angles to the others.
                out.operands.clear();
                out.lines.clear();
                out.formula = "at right angles to the other directions";
                out.f64 = at(of_right ? all.right_of(r) : all.left_of(r), i);
                out.f32 = static_cast<double>(static_cast<float>(out.f64));
                out.note = "Its σ is 0, so the form says nothing about it.";
            }
            break;
        }
        case Number::inner_left:
        case Number::inner_right: {
            const bool of_right = cell.number == Number::inner_right;
            out.title =
                std::string(of_right ? "(v R)" : "(u L)") + "[" + direction + ", " + std::to_string(i) + "]";
            out.formula = of_right ? "Σ_j v[j] · R[j, a]" : "Σ_i u[i] · L[i, a]";
            out.operands_title =
                "The direction, through " + std::string(of_right ? f.right_name() : f.left_name());
            const auto column = [&](Index b) {
                return of_right ? Factor{f.factors().right(b, i), here(f.right_at(b, i))}
                                : Factor{f.factors().left(b, i), here(f.left_at(b, i))};
            };
            explain_sum(out, of_right ? all.cols : all.rows, along(of_right, r), column, {"along", "w"});
            break;
        }
        case Number::left_token:
        case Number::right_token: {
            const bool of_right = cell.number == Number::right_token;
            const HeadWeights& w = *weights(subject);
            const bool of_key = f.reads_keys(of_right);
            out.title = (of_right ? "x · v[" : "x · u[") + std::to_string(i) + "], x of " +
                        label_at(of_key ? attention.key_names() : attention.query_names(), cell.row);
            out.formula = of_right ? "Σ_b x[b] · v[b]" : "Σ_b x[b] · u[b]";
            out.operands_title = "The input along the direction";
            const auto input = [&](Index b) {
                return Factor{w.input(cell.row, b, of_key), w.input_at(place.head, cell.row, b, of_key)};
            };
            explain_sum(out, w.width(), input, along(of_right, i), {"x", "along"});
            break;
        }
        default: return std::nullopt;
    }
    return out;
}

std::optional<Explained> GeometryLens::explain_word(Subject& subject, const CellPlace& place,
                                                    const GeometryCell& cell) {
    const bool right = cell.number == Number::right_word;
    const HeadForm& f = *form(subject);
    const auto direction = word_direction(*weights(subject), f, cell.col, right);
    if (!direction) return std::nullopt;
    const auto id = static_cast<std::int32_t>(cell.row);
    const TokenDirections words(*direction->tokens, direction->norm, direction->direction, 1);
    const std::vector<float> row = words.row(id);
    const std::vector<std::string> names = subject.token_texts(std::array{id});
    Explained out;
    out.title = (names.empty() ? "token " + std::to_string(id) : in_quotes(names[0])) + " along " +
                (right ? "v[" : "u[") + std::to_string(cell.col) + "]";
    out.formula = direction->writes
                      ? "Σ_b v[b] · gain[b] · W_head[b, token]"
                      : std::string(direction->norm ? "Σ_b norm(W_E[token])[b] · " : "Σ_b W_E[token][b] · ") +
                            (right ? "v[b]" : "u[b]");
    out.operands_title =
        direction->writes ? "What it would add to the logit" : "The token’s embedding along it";
    const auto own = [&](Index b) {
        const auto leads_on =
            direction->writes ? std::nullopt
                              : std::optional(CellPlace{
                                    place.head, cell_of(right ? Number::right : Number::left, cell.col, b)});
        return Factor{at(direction->direction, b), leads_on};
    };
    const auto token = [&](Index b) {
        const auto leads_on = direction->writes
                                  ? std::optional(CellPlace{place.head, {Stage::w_head, b, cell.row}})
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

std::optional<Explained> GeometryLens::explain_gauge(Subject& subject, const CellPlace& place,
                                                     const GeometryCell& cell) {
    const GaugedHead& head = *gauged(subject);
    const Attention& attention = *subject.attention();
    const Record& record = *head.in_view.record;
    const Index d = record.d_k();
    const auto own = [&](Number number, Index row, Index col) {
        return CellPlace{place.head, cell_of(number, row, col)};
    };
    Explained out;
    const std::string t = four(head.gauge.t), col = std::to_string(cell.col);
    if (cell.number == Number::gauge || cell.number == Number::dual) {
        const bool dual = cell.number == Number::dual;
        out.title = brackets(dual ? "G⁻ᵀ" : "G", std::to_string(cell.row), col);
        out.formula = dual ? "exp(−t Aᵀ)" : "exp(t A)";
        out.f64 = at(dual ? head.matrices.dual : head.matrices.g, cell.row * d + cell.col);
        out.f32 = static_cast<double>(static_cast<float>(out.f64));
        out.steps.push_back({"t", "", t, false, {}});
        out.steps.push_back({"condition", "‖G‖ ‖G⁻¹‖", four(head.matrices.condition), false, {}});
        if (head.gauge.kind == GaugeKind::rotation)
            out.note = "A rotation: cos t on the diagonal of its two components, ± sin t beside it.";
        if (head.gauge.kind == GaugeKind::stretch) out.note = "A stretch: e^t for q, and e^−t for k.";
        if (head.gauge.kind == GaugeKind::shear)
            out.note = "A shear: one component of q gains t times another.";
        if (head.gauge.kind == GaugeKind::mix)
            out.note = "A is symmetric, with eigenvalues from 1 to −1 along axes of seed " +
                       std::to_string(head.gauge.seed) + ".";
        return out;
    }
    if (cell.number == Number::moved_score) {
        const std::string query = label_at(attention.query_names(), cell.row),
                          key = label_at(attention.key_names(), cell.col);
        out.title = brackets("Q G (K G⁻ᵀ)ᵀ", query, key);
        out.formula = "Σ_a (Q G)[i, a] · (K G⁻ᵀ)[j, a]";
        out.operands_title = "The moved query and the moved key";
        const Index i = head.in_view.queries.place(cell.row), j = head.in_view.keys.place(cell.col);
        explain_sum(
            out, d, [&](Index a) { return Factor{head.q.at(i, a), own(Number::moved_q, cell.row, a)}; },
            [&](Index a) { return Factor{head.k.at(j, a), own(Number::moved_k, cell.col, a)}; }, {"q", "k"});
        out.f32 = head.score32.at(i, j);
        const double plain = head.plain.at(i, j);
        out.steps.push_back({"without G", "q · k", four(plain), false,
                             CellPlace{place.head, {Stage::raw, cell.row, cell.col}}});
        out.steps.push_back({"moved by", "in double", fixed(out.f64 - plain, 4), false, {}});
        out.steps.push_back({"", "in single", fixed(out.f32 - plain, 4), false, {}});
        out.note = "In single precision the scores in view can be off by at most " + fixed(head.bound, 3) +
                   ": each rounding grows by what G and G⁻ᵀ stretch.";
        return out;
    }
    const bool of_key = cell.number == Number::moved_k;
    const ShownTokens& shown = of_key ? head.in_view.keys : head.in_view.queries;
    const Matrix& moved32 = of_key ? head.k32 : head.q32;
    const ConstMatrix from = of_key ? record.k().heads().head(record.kv_head(head.in_view.head))
                                    : record.q().heads().head(head.in_view.head);
    out.title = brackets(of_key ? "K G⁻ᵀ" : "Q G",
                         label_at(of_key ? attention.key_names() : attention.query_names(), cell.row), col);
    out.formula = of_key ? "Σ_b K[j, b] · G⁻ᵀ[b, a]" : "Σ_b Q[i, b] · G[b, a]";
    out.operands_title = of_key ? "The key through G⁻ᵀ" : "The query through G";
    explain_sum(
        out, d,
        [&](Index b) {
            return Factor{static_cast<double>(from(cell.row, b)),
                          CellPlace{place.head, {of_key ? Stage::k : Stage::q, cell.row, b}}};
        },
        [&](Index b) {
            return Factor{at(of_key ? head.matrices.dual : head.matrices.g, b * d + cell.col),
                          own(of_key ? Number::dual : Number::gauge, b, cell.col)};
        },
        {of_key ? "k" : "q", "g"});
    out.f32 = moved32.at(shown.place(cell.row), cell.col);
    return out;
}

std::optional<Explained> GeometryLens::explain_metric(Subject& subject, const CellPlace& place,
                                                      const GeometryCell& cell) {
    const auto& made = *metric(subject);
    if (!made) return std::nullopt;
    const MetricHead& head = *made;
    const Attention& attention = *subject.attention();
    const Record& record = *head.in_view.record;
    const Index d = head.metric.size();
    const auto own = [&](Number number, Index row, Index col) {
        return CellPlace{place.head, cell_of(number, row, col)};
    };
    const std::string col = std::to_string(cell.col), query = label_at(attention.query_names(), cell.row),
                      key = label_at(attention.key_names(), cell.col);
    const Index i = head.in_view.queries.place(cell.row), j = head.in_view.keys.place(cell.col);
    const auto raw_at = CellPlace{place.head, {Stage::raw, cell.row, cell.col}};
    Explained out;
    switch (cell.number) {
        case Number::metric:
        case Number::inverse: {
            const bool inverse = cell.number == Number::inverse;
            out.title = brackets(inverse ? "g⁻¹" : "g", std::to_string(cell.row), col);
            out.f64 = at(inverse ? head.metric.inverse() : head.metric.g(), cell.row * d + cell.col);
            out.f32 = static_cast<double>(static_cast<float>(out.f64));
            out.formula = inverse ? "Σ_c g[a, c] · g⁻¹[c, b] = (a = b)" : "g^{ab} = g^{ba}";
            out.note = inverse ? "It lowers what g raises."
                               : "g has " + many(head.metric.negative(), "negative direction") + " of " +
                                     std::to_string(d) + ", and a condition of " +
                                     fixed(head.metric.condition(), 2) + ".";
            return out;
        }
        case Number::raised:
            out.title = brackets("Q raised", query, col);
            out.formula = "q^a = Σ_b g[a, b] · q_b";
            out.operands_title = "The metric and the query";
            explain_sum(
                out, d,
                [&](Index b) {
                    return Factor{at(head.metric.g(), cell.col * d + b), own(Number::metric, cell.col, b)};
                },
                [&](Index b) {
                    return Factor{
                        static_cast<double>(record.q().heads().head(head.in_view.head)(cell.row, b)),
                        CellPlace{place.head, {Stage::q, cell.row, b}}};
                },
                {"g", "q"});
            out.f32 = head.raised32.at(i, cell.col);
            return out;
        case Number::metric_score: {
            out.title = brackets("q g k", query, key);
            out.formula = "Σ_a q^a · k_a";
            out.operands_title = "The raised query and the key";
            const ConstMatrix k = record.k().heads().head(record.kv_head(head.in_view.head));
            explain_sum(
                out, d,
                [&](Index a) { return Factor{head.raised.at(i, a), own(Number::raised, cell.row, a)}; },
                [&](Index a) {
                    return Factor{static_cast<double>(k(cell.col, a)),
                                  CellPlace{place.head, {Stage::k, cell.col, a}}};
                },
                {"q", "k"});
            out.f32 = head.score32.at(i, j);
            out.steps.push_back({"without g", "q · k",
                                 four(row_chain(record, head.in_view.head, cell.row).at(cell.col).raw), false,
                                 raw_at});
            out.note = "W_Q g in place of W_Q makes the same score.";
            return out;
        }
        default: break;
    }
    const CellExplanation under = head.under.at(cell.col), before = head.plain.at(cell.col);
    out.title = brackets("Weights under g", query, key);
    out.formula = "softmax of the scores q g k";
    out.masked = !under.allowed;
    out.f64 = under.weight;
    out.f32 = static_cast<double>(static_cast<float>(under.weight));
    out.steps.push_back(
        {"score", "q g k", four(under.raw), false, own(Number::metric_score, cell.row, cell.col)});
    out.steps.push_back({"masked", "scaled as it was", four(under.masked), false, {}});
    out.steps.push_back({"exp(…)",
                         "exp(" + four(under.masked) + " − " + four(under.row_max) + ")",
                         four(under.exponential),
                         false,
                         {}});
    out.steps.push_back(
        {"weight", four(under.exponential) + " / " + four(under.row_sum), four(under.weight), true, {}});
    out.steps.push_back({"without g", "", four(before.weight), false,
                         CellPlace{place.head, {Stage::weight, cell.row, cell.col}}});
    add_line(out, "weight", in_expression(under.exponential) + " / " + in_expression(under.row_sum), out.f64);
    return out;
}

}  // namespace attn::app
