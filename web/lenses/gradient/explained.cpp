// Explains the numbers of the backward pass: from the preceding step of that pass, and by a central
// difference.
#include <cmath>

#include "app/format.hpp"
#include "lenses/gradient/gradient.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"

namespace attn::app::gradient {

namespace {

constexpr const char* difference_text = "(L(+h) − L(−h)) / 2h";

// A gradient of the row.
struct Around {
    const Model& model;
    const Slopes& slopes;
    SlopeCell cell;
    HeadIndex head;

    const RowGradient<double>& pass() const { return slopes.f64(); }
    std::size_t key() const { return static_cast<std::size_t>(cell.col); }
    CellPlace at(const SlopeCell& of) const { return {head, cells::derivative(of.slope, of.row, of.col)}; }
    CellPlace at(Stage stage, Index col) const { return {head, RunCell{stage, slopes.query(), col}}; }
    // The weight that the softmax gives has a place unless the run's interventions changed the weights.
    std::optional<CellPlace> weight_at(Index key) const {
        return slopes.changed_behind(Stage::weight) ? std::nullopt : std::optional(at(Stage::weight, key));
    }
};

// A logit depends on the output through W_O's contribution to the residual stream, and everything that reads
// it.
void explain_way_back(Explained& out, const Around& a) {
    const LogitPass& logit = a.model.logit;
    const WeightView& w_o = logit.gradient()->trace().attention(a.head.layer).half.attention_out.weight;
    const std::span<const float> written = logit.output_slopes();
    const Index in = a.head.head * a.slopes.record().d_v() + a.cell.col;
    out.formula = "Σ_c W_O[b, c] · ∂L/∂attention output[i, c]";
    for (Index c = 0; c < std::ssize(written); ++c)
        out.term(std::to_string(c), element(w_o, in, c),
                 static_cast<double>(written[static_cast<std::size_t>(c)]),
                 CellPlace{a.head, RunCell{Stage::w_o, a.cell.col, c}});
    out.line("gradient", out.dot("w_o", "slopes"));
    out.note =
        "The slopes by what the layer's heads write came back from the logit through every layer above.";
    if (a.key() >= logit.differences().size()) return;
    const double difference = logit.differences()[a.key()];
    out.beside("by running the model", difference, difference_text);
    out.note += " The model itself, run with this number moved up and down by 1/128, says " +
                four(difference) + ": off by " + fixed(std::abs(difference - out.f64), 3) + ".";
}

// The loss itself is the objective for the output.
void explain_output(Explained& out, const Around& a) {
    const RowLoss& loss = a.slopes.loss();
    if (!loss.along.empty()) return explain_way_back(out, a);
    if (!loss.target) {
        const bool asked = loss.component == a.cell.col;
        out.formula = asked ? "∂O[i, b] / ∂O[i, b] = 1" : "∂O[i, b] / ∂O[i, c] = 0";
        out.note =
            asked ? "This is the component that is to be raised." : "Another component is to be raised.";
        return void(out.line("gradient", asked ? 1 : 0));
    }
    out.formula = "∂ ½ ‖O[i] − V[t]‖² / ∂O[i, b] = O[i, b] − V[t, b]";
    const Record& record = a.slopes.record();
    const ConstMatrix v = record.v().heads().head(record.kv_head(a.head.head));
    const Expression output = out.step("output", a.pass().output[a.key()], a.at(Stage::output, a.cell.col)),
                     wanted = out.step("wanted", static_cast<double>(v(*loss.target, a.cell.col)),
                                       CellPlace{a.head, RunCell{Stage::v, *loss.target, a.cell.col}});
    out.step("gradient", output - wanted);
}

void explain_masked(Explained& out, const Around& a) {
    const RowGradient<double>& pass = a.pass();
    out.formula = "A[i, j] · (∂L/∂A[i, j] − Σ_k A[i, k] ∂L/∂A[i, k])";
    const auto weight_at = a.weight_at(a.cell.col);
    const Expression weight = out.step("weight", pass.softmax[a.key()],
                                       weight_at ? "" : "as the softmax gives it", weight_at),
                     slope = weight_at ? out.step("∂L/∂A", pass.d_softmax[a.key()],
                                                  a.at({Slope::weight, a.slopes.query(), a.cell.col}))
                                       : out.step("∂L/∂A", pass.d_softmax[a.key()],
                                                  std::string("back through what changed the weights"));
    Column weights{"weights", {}}, slopes{"slopes", {}};
    for (std::size_t j = 0; j < pass.softmax.size(); ++j) {
        if (!pass.allowed[j]) continue;
        weights.values.push_back(pass.softmax[j]);
        slopes.values.push_back(pass.d_softmax[j]);
    }
    const Expression mean =
        out.step("their mean", dot(std::move(weights), std::move(slopes)), std::string("Σ A · ∂L/∂A"));
    out.step("∂L/∂S", weight * (slope - mean));
}

void explain_raw(Explained& out, const Around& a) {
    const double cap = a.slopes.record().spec().softcap;
    out.formula = cap > 0 ? "scale · (1 − tanh²(scaled / cap)) · ∂L/∂S[i, j]" : "scale · ∂L/∂S[i, j]";
    const bool changed = a.slopes.changed_behind(Stage::masked);
    const Expression masked =
        out.step("∂L/∂S", a.pass().d_score[a.key()], changed ? "back through what changed the scores" : "",
                 changed ? std::nullopt : std::optional(a.at({Slope::masked, a.slopes.query(), a.cell.col})));
    Expression factor = out.step("scale", a.slopes.record().scale());
    if (cap > 0) {
        const Expression bent = tanh(Expression(a.pass().scaled[a.key()]) / cap);
        factor = factor * out.step("slope of the cap", 1 - bent * bent, a.at(Stage::scaled, a.cell.col));
    }
    out.step("∂L/∂R", factor * masked);
}

void explain_jacobian(Explained& out, const Around& a) {
    const auto weight = [&](const char* name, Index key) {
        return out.step(name, a.pass().softmax[static_cast<std::size_t>(key)], a.weight_at(key));
    };
    out.formula = "A[i, j] · ((j = k) − A[i, k])";
    const Expression own = weight("A[i, j]", a.cell.row), other = weight("A[i, k]", a.cell.col);
    out.step("∂A/∂S", own * ((a.cell.row == a.cell.col ? 1 : 0) - other));
}

void explain_sum(Explained& out, const Around& a) {
    const auto place = [&](const SlopeTerm::Factor& factor) -> std::optional<CellPlace> {
        if (const auto* slope = std::get_if<SlopeCell>(&factor)) return a.at(*slope);
        const auto* cell = std::get_if<RunCell>(&factor);
        if (!cell) return std::nullopt;
        // The encoder's output does not belong to this attention.
        return CellPlace{cell->stage == Stage::final_norm ? HeadIndex{0, a.head.head} : a.head, *cell};
    };
    for (const SlopeTerm& term : a.slopes.terms(a.cell.slope, a.cell.row, a.cell.col))
        out.term(term.index < 0 ? "norm, other heads" : std::to_string(term.index), term.left, term.right,
                 place(term.left_at), place(term.right_at));
    out.line("gradient", out.dot("left", "right"));
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

std::optional<Explained> explain_derivative(Model& model, Subject& subject, const LensCell& number) {
    const auto slope = static_cast<Slope>(number.at[0]);
    const Index r = number.at[1], c = number.at[2];
    const Slopes& slopes = *model.slopes();
    if (!slopes.holds(slope, r, c)) return std::nullopt;
    const Attention& attention = *subject.attention();
    const auto query = [&](Index i) { return label_at(attention.query_names(), i); };
    const auto key = [&](Index i) { return label_at(attention.key_names(), i); };
    const std::string row = slope <= Slope::q      ? query(r)
                            : rows_are_keys(slope) ? key(r)
                            : slope == Slope::x    ? input_name(attention, slopes, r)
                                                   : std::to_string(r),
                      column = columns_are_keys(slope) ? key(c) : std::to_string(c);
    const RowLoss& loss = slopes.loss();
    const std::string aim = !loss.along.empty() ? model.logit_name(subject)
                            : loss.target
                                ? "half the squared distance to V[" + key(*loss.target) + "]"
                                : "O[" + query(slopes.query()) + ", " + std::to_string(loss.component) + "]";
    const Around around{model, slopes, {slope, r, c}, model.row->head};
    Explained out{.title = (slope == Slope::jacobian ? "∂A/∂S" : "∂L/∂" + std::string(info(slope).of)) + "[" +
                           row + ", " + column + "]",
                  .provenance = head_text(model.row->head, attention.numbering(), ", ") + " · L is " + aim,
                  .masked = is_of_pairs(slope) && !slopes.f64().allowed[static_cast<std::size_t>(c)],
                  .f32 = static_cast<double>(slopes.single(slope, r, c)),
                  .formula = formula_of(slope, loss.target.has_value())};
    switch (slope) {
        case Slope::output: explain_output(out, around); break;
        case Slope::masked: explain_masked(out, around); break;
        case Slope::raw: explain_raw(out, around); break;
        case Slope::jacobian: explain_jacobian(out, around); break;
        default: explain_sum(out, around);
    }
    if (const auto moved = slopes.difference(slope, r, c)) {
        out.beside("by moving it", *moved, difference_text);
        out.note = "Moved a little up and down, the loss has this slope, too; the two differ by " +
                   fixed(std::abs(*moved - out.f64), 3) + ".";
    }
    return out;
}

constexpr std::array<ModelNumber<Model>, 1> declared{{{&cells::derivative, explain_derivative}}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!slopes()) return std::nullopt;
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::gradient
