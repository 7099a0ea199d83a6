#include "app/explained.hpp"

#include <cmath>
#include <limits>

#include "app/format.hpp"
#include "app/presets.hpp"

namespace attn::app {

namespace {

std::string number(double value) { return fixed(value, 4); }

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

// Names of the query, the key and the value rows around a cell.
struct Names {
    std::string query;
    std::string key;
};

void add_terms(Explained& out, std::span<const Term> terms) {
    for (const Term& t : terms)
        out.operands.push_back({std::to_string(t.index), t.left, t.right, t.product()});
}

// raw → scaled → capped → masked → weight, as far as the record goes; `current` is the cell's own stage.
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

std::string formula_of(MatrixId matrix, const Names& names, Index col, bool scores_given) {
    const std::string& i = names.query;
    const std::string& j = names.key;
    switch (matrix) {
        case MatrixId::raw: return scores_given ? "" : "Σ_a Q[" + i + ", a] · K[" + j + ", a]";
        case MatrixId::scaled: return "scale · score";
        case MatrixId::capped: return "c · tanh(s / c)";
        case MatrixId::masked: return "s where the mask allows it, else −∞";
        case MatrixId::weight: return "exp(s − max) / Σ exp(s − max)";
        case MatrixId::output: return "Σ_j Weights[" + i + ", j] · V[j, " + std::to_string(col) + "]";
        default: return "";
    }
}

std::string operands_title_of(MatrixId matrix, const Names& names, Index col) {
    switch (matrix) {
        case MatrixId::raw: return "Q[" + names.query + ", ·] · K[" + names.key + ", ·]";
        case MatrixId::output: return "Weights[" + names.query + ", ·] · V[·, " + std::to_string(col) + "]";
        default: return "";
    }
}

std::string at(const std::vector<std::string>& labels, Index i) {
    return i >= 0 && i < std::ssize(labels) ? labels[static_cast<std::size_t>(i)] : std::to_string(i);
}

std::string note_of(const WorkedState& worked, const CellRef& cell, double exact) {
    const Printed* printed = printed_value(worked, cell);
    if (!printed) return "";
    if (worked == preset_state(worked.preset))
        return "The tutorial prints " + std::string(printed->text) + "; the exact value is " +
               fixed(exact, 6) + ".";
    return "The tutorial prints " + std::string(printed->text) +
           " for its own numbers; with your edits the exact value is " + fixed(exact, 6) + ".";
}

std::optional<Explained> explain_worked_cell(const Session& session, const CellRef& cell) {
    const WorkedState& worked = session.state().worked;
    const MatrixShape shape = shape_of(worked, cell.matrix);
    if (cell.row < 0 || cell.row >= shape.rows || cell.col < 0 || cell.col >= shape.cols) return std::nullopt;
    const WorkedExplanation why = explain_worked(worked, session.worked(), cell);
    Explained out;
    out.title = cell_name(worked, cell);
    out.provenance = why.provenance;
    out.masked = !why.cell.allowed;
    out.f32 = static_cast<double>(why.cell.f32);
    out.f64 = why.cell.f64;
    const Names names{at(worked.query_labels, cell.row), at(worked.key_labels, cell.col)};
    const bool scores_given = worked.source == Source::scores;
    using Kind = WorkedExplanation::Kind;
    if (why.kind == Kind::projection) {
        const std::string_view w = cell.matrix == MatrixId::q   ? "W_Q"
                                   : cell.matrix == MatrixId::k ? "W_K"
                                                                : "W_V";
        const std::string row = at(worked.query_labels, cell.row), col = std::to_string(cell.col);
        out.formula = "Σ_b X[" + row + ", b] · " + std::string(w) + "[b, " + col + "]";
        out.operands_title = "X[" + row + ", ·] · " + std::string(w) + "[·, " + col + "]";
        add_terms(out, why.cell.terms);
    }
    if (why.kind == Kind::stage || why.kind == Kind::output) {
        out.formula = formula_of(cell.matrix, names, cell.col, scores_given);
        out.operands_title = operands_title_of(cell.matrix, names, cell.col);
        add_terms(out, why.cell.terms);
        if (why.kind == Kind::output)
            for (auto& operand : out.operands) operand.name = at(worked.key_labels, std::stol(operand.name));
    }
    // A given score has a future as well: what becomes of it.
    const bool given_score = scores_given && cell.matrix == MatrixId::raw;
    if (why.kind == Kind::stage || given_score) {
        std::string scale_text;
        if (!scores_given && worked.scale_by_sqrt_d) scale_text += " / √" + std::to_string(worked.d_k());
        if (worked.temperature != 1) scale_text += " / " + shortest(worked.temperature);
        if (scale_text.empty()) scale_text = " × 1";
        add_chain(out, why.cell, spec_of(worked), stage_of(cell.matrix), scale_text);
        if (scores_given) out.steps.front().arithmetic = "given";
    }
    out.note = note_of(worked, cell, out.f64);
    return out;
}

Explained explain_sentence_words(const SentenceRun& run, const Selection& selection, const CellRef& cell) {
    const Record& record = run.trace->layers()[static_cast<std::size_t>(selection.layer)].attention;
    const WordPair pair{run.words.of(cell.row),
                        run.words.of(cell.col),
                        in_quotes(run.words.name(cell.row)),
                        in_quotes(run.words.name(cell.col)),
                        run.pieces,
                        run.pieces};
    Explained out;
    explain_words(out, pair, record, selection.head);
    return out;
}

std::optional<Explained> explain_sentence_cell(const Session& session, const CellRef& cell) {
    const SentenceRun* run = session.run_of(cell);
    if (!run) return std::nullopt;
    const Selection& selection = session.state().selection;
    const Record& record = run->trace->layers()[static_cast<std::size_t>(selection.layer)].attention;
    const Index n = run->trace->tokens();
    const Index cols = is_stage(cell.matrix)                                           ? n
                       : cell.matrix == MatrixId::v || cell.matrix == MatrixId::output ? record.d_v()
                                                                                       : record.d_k();
    if (cell.row < 0 || cell.row >= n || cell.col < 0 || cell.col >= cols) return std::nullopt;
    const auto name = [&](Index i) { return in_quotes(at(run->pieces, i)); };
    const std::string where =
        "layer " + std::to_string(selection.layer) + ", head " + std::to_string(selection.head);

    Explained out;
    const std::string provenance =
        where + (cell.second ? ", second sentence" : "") + " · computed by " + session.model_name();
    if (cell.words) {
        if (cell.row >= run->words.count() || cell.col >= run->words.count()) return std::nullopt;
        out = explain_sentence_words(*run, selection, cell);
        out.provenance = provenance;
        return out;
    }
    const Names names{name(cell.row), name(cell.col)};
    out.provenance = provenance;
    out.title = std::string(symbol(cell.matrix)) + "[" + names.query + ", " +
                (is_stage(cell.matrix) ? names.key : std::to_string(cell.col)) + "]";
    if (is_stage(cell.matrix)) {
        explain_stage(out, record, selection.head, cell, names.query, names.key);
        return out;
    }
    if (cell.matrix == MatrixId::output) {
        const CellExplanation why = explain_output(record, selection.head, cell.row, cell.col);
        out.f32 = static_cast<double>(why.f32);
        out.f64 = why.f64;
        out.formula = formula_of(cell.matrix, names, cell.col, false);
        out.operands_title = operands_title_of(cell.matrix, names, cell.col);
        for (const Term& t : why.terms) out.operands.push_back({name(t.index), t.left, t.right, t.product()});
        return out;
    }
    const Tensor& tensor = cell.matrix == MatrixId::q   ? record.q()
                           : cell.matrix == MatrixId::k ? record.k()
                                                        : record.v();
    const Index head = cell.matrix == MatrixId::q ? selection.head : record.kv_head(selection.head);
    out.f32 = static_cast<double>(tensor.heads().head(head)(cell.row, cell.col));
    out.f64 = out.f32;
    out.note = cell.matrix == MatrixId::v
                   ? "A value vector: the normalised residual of this token times W_V."
                   : "Component " + std::to_string(cell.col) + " of the " +
                         (cell.matrix == MatrixId::q ? "query" : "key") + " that enters the score" +
                         (run->trace->position_embedding().size() ? "." : ", after its rotary position.");
    return out;
}

}  // namespace

void explain_stage(Explained& out, const Record& record, Index head, const CellRef& cell,
                   const std::string& query, const std::string& key) {
    const Names names{query, key};
    const CellExplanation why = explain(record, stage_of(cell.matrix), head, cell.row, cell.col);
    out.masked = !why.allowed;
    out.f32 = static_cast<double>(why.f32);
    out.f64 = why.f64;
    out.formula = formula_of(cell.matrix, names, cell.col, false);
    out.operands_title = operands_title_of(MatrixId::raw, names, cell.col);
    // A weight is read together with the dot product it comes from.
    add_terms(out, dot_terms(record, head, cell.row, cell.col));
    add_chain(out, why, record.spec(), stage_of(cell.matrix), " × " + fixed(why.scale, 6));
}

std::optional<Explained> explain_cell(const Session& session, const CellRef& cell) {
    switch (session.state().lens) {
        case LensId::worked: return explain_worked_cell(session, cell);
        case LensId::tensors: return explain_tensor_cell(session, cell);
        case LensId::sentence:
        case LensId::training: break;
    }
    return explain_sentence_cell(session, cell);
}

}  // namespace attn::app
