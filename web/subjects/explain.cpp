#include "subjects/explain.hpp"

#include <cmath>
#include <limits>

#include "app/format.hpp"

namespace attn::app {

namespace {

std::string number(double value) { return fixed(value, 4); }

double norm(std::span<const float> values) {
    double sum = 0;
    for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
    return std::sqrt(sum);
}

// Multiplies a weight by the norm of its key's value; a weight of 0 gives 0 even for an infinite value.
void add_contribution(Explained& out, double weight, double key_norm, const char* norm_name) {
    out.f64 = weight == 0 ? 0 : weight * key_norm;
    out.steps.push_back({norm_name, "", number(key_norm), false});
    out.steps.push_back({"contribution", number(weight) + " · " + number(key_norm), number(out.f64), true});
}

}  // namespace

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string label_at(std::span<const std::string> labels, Index i) {
    return i >= 0 && i < std::ssize(labels) ? labels[static_cast<std::size_t>(i)] : std::to_string(i);
}

void add_terms(Explained& out, std::span<const Term> terms) {
    for (const Term& t : terms)
        out.operands.push_back({std::to_string(t.index), t.left, t.right, t.product()});
}

void add_chain(Explained& out, const CellExplanation& c, const AttentionSpec& spec, Stage current,
               const std::string& scale_text) {
    const auto step = [&](Stage stage, std::string name, std::string arithmetic, double value) {
        out.steps.push_back({std::move(name), std::move(arithmetic), number(value), stage == current});
    };
    step(Stage::raw, "score", "q · k", c.raw);
    step(Stage::scaled, "scaled", number(c.raw) + scale_text, c.scaled);
    if (spec.softcap > 0) {
        const std::string cap = shortest(static_cast<double>(spec.softcap));
        step(Stage::capped, "capped", cap + " · tanh(" + number(c.scaled) + " / " + cap + ")", c.capped);
    }
    if (!spec.mask.is_everything() || !spec.bias.empty()) {
        const std::string how = !c.allowed          ? "masked: −∞"
                                : spec.bias.empty() ? "the mask allows it"
                                                    : number(c.capped) + " + " + number(c.bias);
        step(Stage::masked, "masked", how, c.allowed ? c.masked : -std::numeric_limits<double>::infinity());
    }
    if (!c.allowed) {
        step(Stage::weight, "weight", "exactly 0: the mask forbids it", 0);
        return;
    }
    if (c.row_max == -std::numeric_limits<double>::infinity()) {
        step(Stage::weight, "weight", "the row has nothing to look at", 0);
        return;
    }
    out.steps.push_back({"row maximum", "", number(c.row_max), false});
    out.steps.push_back(
        {"exp(s − max)", "exp(" + number(c.masked - c.row_max) + ")", number(c.exponential), false});
    out.steps.push_back({"Σ of the row", "", number(c.row_sum), false});
    step(Stage::weight, "weight", number(c.exponential) + " / " + number(c.row_sum), c.weight);
}

std::string formula_of(Stage stage, const CellNames& names, Index col, bool scores_given) {
    const std::string& i = names.query;
    const std::string& j = names.key;
    switch (stage) {
        case Stage::raw: return scores_given ? "" : "Σ_a Q[" + i + ", a] · K[" + j + ", a]";
        case Stage::scaled: return "scale · score";
        case Stage::capped: return "c · tanh(s / c)";
        case Stage::masked: return "s where the mask allows it, else −∞";
        case Stage::weight: return "exp(s − max) / Σ exp(s − max)";
        case Stage::contribution: return "Weights[" + i + ", " + j + "] · ‖V[" + j + ", ·]‖";
        case Stage::projected: return "Weights[" + i + ", " + j + "] · ‖V[" + j + ", ·] W_O‖";
        case Stage::output: return "Σ_j Weights[" + i + ", j] · V[j, " + std::to_string(col) + "]";
        default: return "";
    }
}

std::string operands_title_of(Stage stage, const CellNames& names, Index col) {
    switch (stage) {
        case Stage::raw: return "Q[" + names.query + ", ·] · K[" + names.key + ", ·]";
        case Stage::output: return "Weights[" + names.query + ", ·] · V[·, " + std::to_string(col) + "]";
        default: return "";
    }
}

bool explain_cell(Explained& out, const Record& record, Index head, const CellRef& cell,
                  const CellNames& names, const std::function<double(Index key)>& projected_norm) {
    const Stage stage = cell.stage;
    const bool of_keys = stage == Stage::k || stage == Stage::v, pairs = is_of_pairs(stage);
    const Index rows = of_keys ? record.keys() : record.queries();
    const Index cols = pairs                                         ? record.keys()
                       : stage == Stage::v || stage == Stage::output ? record.d_v()
                       : stage == Stage::q || stage == Stage::k      ? record.d_k()
                                                                     : 0;
    if (cell.row < 0 || cell.row >= rows || cell.col < 0 || cell.col >= cols) return false;
    if (stage == Stage::projected && !projected_norm) return false;
    out.title = std::string(symbol(stage)) + "[" + (of_keys ? names.key : names.query) + ", " +
                (pairs ? names.key : std::to_string(cell.col)) + "]";
    out.formula = formula_of(stage, names, cell.col);
    if (pairs) {
        const Stage chain = is_score_or_weight(stage) ? stage : Stage::weight;
        const CellExplanation why = explain(record, chain, head, cell.row, cell.col);
        out.masked = !why.allowed;
        out.f32 = static_cast<double>(why.f32);
        out.f64 = why.f64;
        out.operands_title = operands_title_of(Stage::raw, names, cell.col);
        // A weight is easier to read together with the dot product that it comes from.
        add_terms(out, dot_terms(record, head, cell.row, cell.col));
        add_chain(out, why, record.spec(), stage, " × " + fixed(why.scale, 6));
        if (chain == stage) return true;
        const ConstMatrix values = record.v().heads().head(record.kv_head(head));
        const bool projected = stage == Stage::projected;
        const double key_norm = projected
                                    ? projected_norm(cell.col)
                                    : norm({values.row(cell.col), static_cast<std::size_t>(values.cols)});
        add_contribution(out, why.weight, key_norm, projected ? "‖v W_O‖" : "‖v‖");
        out.f32 = projected ? static_cast<double>(why.f32) * key_norm
                            : static_cast<double>(record.cell(stage, head, cell.row, cell.col));
        return true;
    }
    if (stage == Stage::output) {
        const CellExplanation why = explain_output(record, head, cell.row, cell.col);
        out.f32 = static_cast<double>(why.f32);
        out.f64 = why.f64;
        out.operands_title = operands_title_of(stage, names, cell.col);
        add_terms(out, why.terms);
        return true;
    }
    const Tensor& tensor = stage == Stage::q ? record.q() : stage == Stage::k ? record.k() : record.v();
    const Index own = stage == Stage::q ? head : record.kv_head(head);
    out.f32 = out.f64 = static_cast<double>(tensor.heads().head(own)(cell.row, cell.col));
    return true;
}

}  // namespace attn::app
