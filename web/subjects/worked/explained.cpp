// Explains a number of the worked example.
#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked.hpp"

namespace attn::app {

namespace {

std::string note_of(const WorkedState& worked, const RunCell& cell, double exact) {
    const Printed* printed = printed_value(misprints(worked), cell);
    if (!printed) return "";
    return "The tutorial “" + std::string(info(worked.preset).tutorial) + "” prints " +
           std::string(printed->text) + ", which is a misprint; the exact value is " + fixed(exact, 6) + ".";
}

TokenWeights worked_weights(const WorkedState& worked, const WorkedRun& run) {
    return [&](Index query, Index key) {
        const CellExplanation cell = explain_worked(worked, run, {Stage::weight, query, key}).cell;
        return TokenWeight{cell.allowed, static_cast<double>(cell.f32), cell.f64};
    };
}

}  // namespace

std::optional<Explained> explain_worked_units(const WorkedState& worked, const WorkedRun& run,
                                              const Attention& attention, const RunCell& cell,
                                              std::span<const TokenSpan> spans) {
    auto out = explain_units(attention, spans, {}, cell, worked_weights(worked, run));
    if (out) out->provenance = "computed";
    return out;
}

std::optional<Explained> explain_worked_cell(const WorkedState& worked, const WorkedRun& run,
                                             const RunCell& cell) {
    const MatrixShape shape = shape_of(worked, cell.stage);
    if (cell.row < 0 || cell.row >= shape.rows || cell.col < 0 || cell.col >= shape.cols) return std::nullopt;
    const WorkedExplanation why = explain_worked(worked, run, cell);
    Explained out;
    out.title = cell_name(worked, cell);
    out.provenance = why.provenance;
    out.masked = !why.cell.allowed;
    out.f32 = static_cast<double>(why.cell.f32);
    out.f64 = why.cell.f64;
    const Places places{{}, cell.second};
    const auto row_of = [&](Stage stage, Index row) -> PlaceOf {
        return [places, stage, row](Index a) { return places(stage, row, a); };
    };
    const auto column_of = [&](Stage stage, Index col) -> PlaceOf {
        return [places, stage, col](Index a) { return places(stage, a, col); };
    };
    const auto key_at = [&](Index key) { return label_at(worked.key_labels, key); };
    const CellNames names{label_at(worked.query_labels, cell.row), key_at(cell.col), key_at};
    const bool scores_given = worked.source == Source::scores;
    using Kind = WorkedExplanation::Kind;
    if (why.kind == Kind::softmax) {
        explain_softmax(out, run.record, worked_row(worked, run, cell.row), spec_of(worked), places, cell,
                        names);
        return out;
    }
    if (why.kind == Kind::projection) {
        const std::string_view w = cell.stage == Stage::q ? "W_Q" : cell.stage == Stage::k ? "W_K" : "W_V";
        const Stage weights = cell.stage == Stage::q   ? Stage::w_q
                              : cell.stage == Stage::k ? Stage::w_k
                                                       : Stage::w_v;
        const std::string row = label_at(worked.query_labels, cell.row), col = std::to_string(cell.col);
        out.formula = "Σ_b X[" + row + ", b] · " + std::string(w) + "[b, " + col + "]";
        out.operands_title = "X[" + row + ", ·] · " + std::string(w) + "[·, " + col + "]";
        add_terms(out, why.cell.terms, row_of(Stage::x, cell.row), column_of(weights, cell.col), {"x", "w"});
        out.line("value", out.dot());
    }
    if (why.kind == Kind::stage || why.kind == Kind::output) {
        out.formula = formula_of(cell.stage, names, cell.col, scores_given);
        out.operands_title =
            operands_title_of(is_of_pairs(cell.stage) ? Stage::raw : cell.stage, names, cell.col);
    }
    if (why.kind == Kind::stage)
        add_terms(out, why.cell.terms, row_of(Stage::q, cell.row), row_of(Stage::k, cell.col), {"q", "k"});
    if (why.kind == Kind::output) {
        add_terms(out, why.cell.terms, row_of(Stage::weight, cell.row), column_of(Stage::v, cell.col),
                  {"weights", "v"});
        for (auto& operand : out.operands) {
            operand.product_at = places(Stage::contribution, cell.row, std::stol(operand.name));
            operand.name = label_at(worked.key_labels, std::stol(operand.name));
        }
        out.line("output", out.dot());
    }
    // A given score is followed by further stages, so the explanation shows what becomes of it.
    const bool given_score = scores_given && cell.stage == Stage::raw;
    if (why.kind == Kind::stage || given_score) {
        std::string scale_text;
        if (!scores_given && worked.scale_by_sqrt_d) scale_text += " / √" + std::to_string(worked.d_k());
        if (worked.temperature != 1) scale_text += " / " + shortest(worked.temperature);
        if (scale_text.empty()) scale_text = " × 1";
        add_chain(
            out, why.cell, spec_of(worked), places, cell, cell.stage, scale_text,
            scores_given || cell.stage == Stage::contribution ? std::nullopt : std::optional(out.dot()));
        if (scores_given) out.steps.front().arithmetic = "given";
    }
    if (cell.stage == Stage::contribution) {
        std::vector<double> value;
        for (Index b = 0; b < worked.d_v(); ++b) value.push_back(run.v.at(cell.col, b));
        add_contribution(out, why.cell.weight, value, row_of(Stage::v, cell.col), false);
    }
    out.note = note_of(worked, cell, out.f64);
    if (is_of_pairs(cell.stage) && cell.sink != Sink::shown)
        leave_out_first_key(out, cell, worked_weights(worked, run)(cell.row, 0),
                            places(Stage::weight, cell.row, 0));
    return out;
}

}  // namespace attn::app
