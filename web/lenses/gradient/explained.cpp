// Explains the numbers of the backward pass: from the preceding step of that pass, and by a central
// difference.
#include <cmath>

#include "app/format.hpp"
#include "lenses/gradient/gradient.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

struct Around {
    Explained& out;
    const Slopes& slopes;
    SlopeCell cell;
    HeadIndex head;
    const LogitPass& logit;

    const RowGradient<double>& pass() const { return slopes.f64(); }
    std::size_t key() const { return static_cast<std::size_t>(cell.col); }
    CellPlace at(Slope slope, Index col) const {
        return {head, gradient_cells::derivative(slope, slopes.query(), col)};
    }
    CellPlace at(Stage stage, Index col) const { return {head, {stage, slopes.query(), col}}; }
    void step(std::string name, std::string arithmetic, double value, std::optional<CellPlace> place = {},
              bool current = false) const {
        out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, place});
    }
};

// A logit depends on the output through W_O's contribution to the residual stream, and everything that reads
// it.
void explain_way_back(const Around& a) {
    const Trace& trace = a.logit.gradient()->trace();
    const WeightView& w_o = trace.attention(a.head.layer).half.attention_out.weight;
    const std::span<const float> written = a.logit.output_slopes();
    const Index in = a.head.head * a.slopes.record().d_v() + a.cell.col;
    a.out.formula = "Σ_c W_O[b, c] · ∂L/∂attention output[i, c]";
    a.out.left_name = "w_o", a.out.right_name = "slopes";
    a.out.f64 = 0;
    for (std::size_t c = 0; c < written.size(); ++c) {
        const auto out = static_cast<Index>(c);
        const double weight = element(w_o, in, out), slope = static_cast<double>(written[c]);
        a.out.operands.push_back({std::to_string(c), weight, slope, weight * slope,
                                  CellPlace{a.head, {Stage::w_o, a.cell.col, out}}});
        a.out.f64 += weight * slope;
    }
    a.out.line("gradient", a.out.dot());
    a.out.note =
        "The slopes by what the layer's heads write came back from the logit through every layer above.";
    if (a.key() >= a.logit.differences().size()) return;
    const double difference = a.logit.differences()[a.key()];
    a.step("by running the model", "(L(+h) − L(−h)) / 2h", difference);
    a.out.note += " The model itself, run with this number moved up and down by 1/128, says " +
                  four(difference) + ": off by " + fixed(std::abs(difference - a.out.f64), 3) + ".";
}

// The loss itself is the objective for the output.
void explain_output(const Around& a) {
    const auto& [target, component, along, edits] = a.slopes.loss();
    if (!along.empty()) return explain_way_back(a);
    const auto value = a.pass().output[a.key()];
    if (!target) {
        const bool asked = component == a.cell.col;
        a.out.formula = asked ? "∂O[i, b] / ∂O[i, b] = 1" : "∂O[i, b] / ∂O[i, c] = 0";
        a.out.note =
            asked ? "This is the component that is to be raised." : "Another component is to be raised.";
        a.out.line("gradient", asked ? Expression(1) : Expression(0));
        return;
    }
    const double wanted = value - a.out.f64;
    a.out.formula = "∂ ½ ‖O[i] − V[t]‖² / ∂O[i, b] = O[i, b] − V[t, b]";
    a.step("output", "", value, a.at(Stage::output, a.cell.col));
    a.step("wanted", "", wanted, CellPlace{a.head, {Stage::v, *target, a.cell.col}});
    a.step("gradient", four(value) + " − " + four(wanted), a.out.f64, {}, true);
    a.out.line("gradient", Expression(value) - wanted);
}

void explain_masked(const Around& a) {
    const double weight = a.pass().softmax[a.key()], slope = a.pass().d_softmax[a.key()],
                 mean = a.pass().mean;
    a.out.formula = "A[i, j] · (∂L/∂A[i, j] − Σ_k A[i, k] ∂L/∂A[i, k])";
    if (a.slopes.changed_behind(Stage::weight)) {
        a.step("weight", "as the softmax gives it", weight);
        a.step("∂L/∂A", "back through what changed the weights", slope);
    } else {
        a.step("weight", "", weight, a.at(Stage::weight, a.cell.col));
        a.step("∂L/∂A", "", slope, a.at(Slope::weight, a.cell.col));
    }
    a.step("their mean", "Σ A · ∂L/∂A", mean);
    a.step("∂L/∂S", four(weight) + " · (" + four(slope) + " − " + four(mean) + ")", a.out.f64, {}, true);
    Column weights{"weights", {}}, slopes{"slopes", {}};
    for (std::size_t j = 0; j < a.pass().softmax.size(); ++j) {
        if (!a.pass().allowed[j]) continue;
        weights.values.push_back(a.pass().softmax[j]);
        slopes.values.push_back(a.pass().d_softmax[j]);
    }
    const Expression line = a.out.line("mean", dot(std::move(weights), std::move(slopes)));
    a.out.line("gradient", weight * (slope - line));
}

void explain_raw(const Around& a) {
    const double scale = a.slopes.record().scale(), cap = a.slopes.record().spec().softcap;
    const double masked = a.pass().d_score[a.key()], scaled = a.pass().scaled[a.key()];
    a.out.formula = cap > 0 ? "scale · (1 − tanh²(scaled / cap)) · ∂L/∂S[i, j]" : "scale · ∂L/∂S[i, j]";
    if (a.slopes.changed_behind(Stage::masked))
        a.step("∂L/∂S", "back through what changed the scores", masked);
    else
        a.step("∂L/∂S", "", masked, a.at(Slope::masked, a.cell.col));
    a.step("scale", "", scale);
    std::string text = four(scale);
    Expression factor = scale;
    if (cap > 0) {
        const double bent = std::tanh(scaled / cap), left = 1 - bent * bent;
        a.step("slope of the cap", "1 − tanh²(" + four(scaled) + " / " + four(cap) + ")", left,
               a.at(Stage::scaled, a.cell.col));
        const Expression line = a.out.line("bent", tanh(Expression(scaled) / cap));
        text += " · " + four(left);
        factor = factor * (1 - line * line);
    }
    a.step("∂L/∂R", text + " · " + four(masked), a.out.f64, {}, true);
    a.out.line("gradient", factor * masked);
}

void explain_jacobian(const Around& a) {
    const double own = a.pass().softmax[static_cast<std::size_t>(a.cell.row)],
                 other = a.pass().softmax[a.key()];
    const bool same = a.cell.row == a.cell.col, changed = a.slopes.changed_behind(Stage::weight);
    const auto weight_at = [&](Index key) {
        return changed ? std::nullopt : std::optional(a.at(Stage::weight, key));
    };
    a.out.formula = "A[i, j] · ((j = k) − A[i, k])";
    a.step("A[i, j]", "", own, weight_at(a.cell.row));
    a.step("A[i, k]", "", other, weight_at(a.cell.col));
    a.step("∂A/∂S", four(own) + " · (" + (same ? "1" : "0") + " − " + four(other) + ")", a.out.f64, {}, true);
    a.out.line("slope", own * (Expression(same ? 1 : 0) - other));
}

void explain_sum(const Around& a, const std::vector<SlopeTerm>& terms) {
    a.out.left_name = "left", a.out.right_name = "right";
    // The encoder's output does not belong to this attention.
    const auto place = [&](const std::optional<CellRef>& cell) -> std::optional<CellPlace> {
        if (!cell) return std::nullopt;
        return CellPlace{cell->stage == Stage::final_norm ? HeadIndex{0, a.head.head} : a.head, *cell};
    };
    for (const SlopeTerm& term : terms)
        a.out.operands.push_back({term.index < 0 ? "norm, other heads" : std::to_string(term.index),
                                  term.left, term.right, term.left * term.right, place(term.left_at),
                                  place(term.right_at)});
    a.out.line("gradient", a.out.dot());
}

const char* formula_of(Slope slope, bool to_value) {
    switch (slope) {
        case Slope::weight: return "Σ_b ∂L/∂O[i, b] · V[j, b]";
        case Slope::q: return "Σ_j ∂L/∂R[i, j] · K[j, a]";
        case Slope::k: return "∂L/∂R[i, j] · Q[i, a]";
        case Slope::v: return to_value ? "(A[i, j] − (j = t)) · ∂L/∂O[i, b]" : "A[i, j] · ∂L/∂O[i, b]";
        case Slope::x: return "Σ_a ∂L/∂Q[t, a] · W_Q[c, a] + ∂L/∂K · W_K + ∂L/∂V · W_V";
        case Slope::w_q: return "X[i, c] · ∂L/∂Q[i, a]";
        case Slope::w_k: return "Σ_j X[j, c] · ∂L/∂K[j, a]";
        case Slope::w_v: return "Σ_j X[j, c] · ∂L/∂V[j, b]";
        default: return "";
    }
}

}  // namespace

std::optional<Explained> GradientLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!slopes(subject)) return std::nullopt;
    const std::size_t differences = logit_.differences().size();
    if (!kept_ || kept_->shown != *shown_ || kept_->cell != place.cell || kept_->differences != differences)
        kept_ = Kept{*shown_, place.cell, differences, explain_by(declared, *this, subject, place.cell.own)};
    return kept_->why;
}

const std::array<LensNumber<GradientLens>, 1> GradientLens::declared{
    {{&gradient_cells::derivative, &GradientLens::explain_derivative}}};

CellKinds gradient_numbers() { return kinds_of(GradientLens::declared); }

std::optional<CellRef> packed_gradient_cell(Index row, Index col) {
    return gradient_cells::derivative(col % 12, row, col / 12);
}

std::optional<Explained> GradientLens::explain_derivative(Subject& subject, const LensCell& number) {
    const SlopeCell cell{static_cast<Slope>(number.at[0]), number.at[1], number.at[2]};
    const Slopes& slopes = *slopes_;
    if (!slopes.holds(cell.slope, cell.row, cell.col)) return std::nullopt;
    const Attention& attention = *subject.attention();
    Explained out;
    const std::string row = cell.slope <= Slope::q      ? label_at(attention.query_names(), cell.row)
                            : rows_are_keys(cell.slope) ? label_at(attention.key_names(), cell.row)
                            : cell.slope == Slope::x    ? input_name(attention, slopes, cell.row)
                                                        : std::to_string(cell.row);
    const std::string col =
        columns_are_keys(cell.slope) ? label_at(attention.key_names(), cell.col) : std::to_string(cell.col);
    out.title = (cell.slope == Slope::jacobian ? "∂A/∂S" : "∂L/∂" + std::string(info(cell.slope).of)) + "[" +
                row + ", " + col + "]";
    out.provenance =
        head_text(subject.chosen_head(), attention.numbering(), ", ") +
        (!slopes.loss().along.empty() ? " · L is " + logit_name(subject)
         : slopes.loss().target       ? " · L is half the squared distance to V[" +
                                      label_at(attention.key_names(), *slopes.loss().target) + "]"
                                : " · L is O[" + label_at(attention.query_names(), slopes.query()) + ", " +
                                      std::to_string(slopes.loss().component) + "]");
    out.f64 = slopes.value(cell.slope, cell.row, cell.col);
    out.f32 = static_cast<double>(slopes.single(cell.slope, cell.row, cell.col));
    out.masked = is_of_pairs(cell.slope) && !slopes.f64().allowed[static_cast<std::size_t>(cell.col)];
    const Around around{out, slopes, cell, subject.chosen_head(), logit_};
    if (cell.slope == Slope::output)
        explain_output(around);
    else if (cell.slope == Slope::masked)
        explain_masked(around);
    else if (cell.slope == Slope::raw)
        explain_raw(around);
    else if (cell.slope == Slope::jacobian)
        explain_jacobian(around);
    else
        explain_sum(around, slopes.terms(cell.slope, cell.row, cell.col));
    if (out.formula.empty()) out.formula = formula_of(cell.slope, slopes.loss().target.has_value());
    if (const auto moved = slopes.difference(cell.slope, cell.row, cell.col)) {
        out.steps.push_back({"by moving it", "(L(+h) − L(−h)) / 2h", four(*moved), false, {}});
        out.note = "Moved a little up and down, the loss has this slope, too; the two differ by " +
                   fixed(std::abs(*moved - out.f64), 3) + ".";
    }
    return out;
}

}  // namespace attn::app
