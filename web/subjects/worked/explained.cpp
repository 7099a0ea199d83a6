// Explains a number of the worked example.
#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked.hpp"

namespace attn::app {

namespace {

std::string note_of(const WorkedState& worked, const CellRef& cell, double exact) {
    const Printed* printed = printed_value(misprints(worked), cell);
    if (!printed) return "";
    return "The tutorial “" + std::string(info(worked.preset).tutorial) + "” prints " +
           std::string(printed->text) + ", which is a misprint; the exact value is " + fixed(exact, 6) + ".";
}

}  // namespace

std::optional<Explained> explain_worked_cell(const WorkedState& worked, const WorkedRun& run,
                                             const CellRef& cell) {
    const MatrixShape shape = shape_of(worked, cell.stage);
    if (cell.row < 0 || cell.row >= shape.rows || cell.col < 0 || cell.col >= shape.cols) return std::nullopt;
    const WorkedExplanation why = explain_worked(worked, run, cell);
    Explained out;
    out.title = cell_name(worked, cell);
    out.provenance = why.provenance;
    out.masked = !why.cell.allowed;
    out.f32 = static_cast<double>(why.cell.f32);
    out.f64 = why.cell.f64;
    const CellNames names{label_at(worked.query_labels, cell.row), label_at(worked.key_labels, cell.col)};
    const bool scores_given = worked.source == Source::scores;
    using Kind = WorkedExplanation::Kind;
    if (why.kind == Kind::projection) {
        const std::string_view w = cell.stage == Stage::q ? "W_Q" : cell.stage == Stage::k ? "W_K" : "W_V";
        const std::string row = label_at(worked.query_labels, cell.row), col = std::to_string(cell.col);
        out.formula = "Σ_b X[" + row + ", b] · " + std::string(w) + "[b, " + col + "]";
        out.operands_title = "X[" + row + ", ·] · " + std::string(w) + "[·, " + col + "]";
        add_terms(out, why.cell.terms);
    }
    if (why.kind == Kind::stage || why.kind == Kind::output) {
        out.formula = formula_of(cell.stage, names, cell.col, scores_given);
        out.operands_title = operands_title_of(cell.stage, names, cell.col);
        add_terms(out, why.cell.terms);
        if (why.kind == Kind::output)
            for (auto& operand : out.operands)
                operand.name = label_at(worked.key_labels, std::stol(operand.name));
    }
    // A given score is followed by further stages, so the explanation shows what becomes of it.
    const bool given_score = scores_given && cell.stage == Stage::raw;
    if (why.kind == Kind::stage || given_score) {
        std::string scale_text;
        if (!scores_given && worked.scale_by_sqrt_d) scale_text += " / √" + std::to_string(worked.d_k());
        if (worked.temperature != 1) scale_text += " / " + shortest(worked.temperature);
        if (scale_text.empty()) scale_text = " × 1";
        add_chain(out, why.cell, spec_of(worked), cell.stage, scale_text);
        if (scores_given) out.steps.front().arithmetic = "given";
    }
    out.note = note_of(worked, cell, out.f64);
    return out;
}

}  // namespace attn::app
