#include "subjects/worked/ladder.hpp"

#include "app/format.hpp"
#include "subjects/worked/commands.hpp"
#include "subjects/worked/presets.hpp"

namespace attn::app {

namespace {

std::string title_of(const WorkedState& w, Stage id) {
    const std::string root = "√" + std::to_string(w.d_k());
    const bool divided = w.scale_by_sqrt_d && w.source != Source::scores;
    switch (id) {
        case Stage::x: return "X  tokens";
        case Stage::w_q: return "W_Q";
        case Stage::w_k: return "W_K";
        case Stage::w_v: return "W_V";
        case Stage::q: return "Q  queries";
        case Stage::k: return "K  keys";
        case Stage::v: return "V  values";
        case Stage::raw: return w.source == Source::scores ? "Scores" : "Scores  QKᵀ";
        case Stage::scaled: {
            std::string text = divided ? "Scaled  ÷ " + root : "Scaled";
            if (w.temperature != 1) text += " ÷ " + fixed(w.temperature, 2);
            return text;
        }
        case Stage::capped: return "Capped  ± " + fixed(w.softcap, 1);
        case Stage::masked: return "Masked";
        case Stage::weight: return "Weights";
        case Stage::output: return "Output  AV";
        default: break;
    }
    return "";
}

std::string notation_of(const WorkedState& w, Stage id, Stage scores) {
    const bool projected = w.source == Source::projections;
    const auto projection = [&](const char* text) { return projected ? text : app::notation_of(id, scores); };
    switch (id) {
        case Stage::x: return "X[i, b]";
        case Stage::w_q: return "W_Q[b, a]";
        case Stage::w_k: return "W_K[b, a]";
        case Stage::w_v: return "W_V[b, c]";
        case Stage::q: return projection("Q[i, a] = X[i, b] W_Q[b, a]");
        case Stage::k: return projection("K[j, a] = X[j, b] W_K[b, a]");
        case Stage::v: return projection("V[j, c] = X[j, b] W_V[b, c]");
        case Stage::raw: return w.source == Source::scores ? "R[i, j], given" : app::notation_of(id, scores);
        case Stage::scaled: {
            std::string text = "S[i, j] = R[i, j]";
            if (w.scale_by_sqrt_d && w.source != Source::scores) text += " / √d_k";
            return w.temperature == 1 ? text : text + " / " + fixed(w.temperature, 2);
        }
        default: return app::notation_of(id, scores);
    }
}

const char* sign_before(const WorkedState& w, Stage id) {
    switch (id) {
        case Stage::k: return "·";
        case Stage::raw: return w.source == Source::scores ? "" : "=";
        case Stage::scaled:
        case Stage::capped:
        case Stage::masked:
        case Stage::weight: return "→";
        case Stage::v: return "×";
        case Stage::output: return "=";
        default: return "";
    }
}

// Lists the ladder from top to bottom; each row starts a new line if there is room for several matrices side
// by side.
std::vector<std::vector<Stage>> stages_of(const WorkedState& w) {
    std::vector<std::vector<Stage>> rows;
    if (w.source == Source::projections) rows.push_back({Stage::x, Stage::w_q, Stage::w_k, Stage::w_v});
    std::vector<Stage> stages;
    if (w.source == Source::scores)
        stages = {Stage::raw};
    else
        rows.push_back({Stage::q, Stage::k, Stage::raw});
    const bool scales = w.source != Source::scores || w.temperature != 1;
    if (scales) stages.push_back(Stage::scaled);
    if (w.softcap > 0) stages.push_back(Stage::capped);
    if (w.mask.kind != WorkedMask::Kind::none) stages.push_back(Stage::masked);
    stages.push_back(Stage::weight);
    if (w.d_v() > 0) stages.push_back(Stage::v);
    if (w.d_v() > 0) stages.push_back(Stage::output);
    rows.push_back(stages);
    return rows;
}

int decimals_of(const WorkedState& w, Stage id) {
    if (w.input(id)) return 2;
    return id == Stage::raw || id == Stage::q || id == Stage::k || id == Stage::v ? 2 : 3;
}

bool may_edit(const State& state, Stage stage) { return worked_of(state).input(stage) != nullptr; }

double value_of(const State& state, const RunCell& cell) {
    return worked_of(state).input(cell.stage)->at(cell.row, cell.col);
}

Command set_cell(const RunCell& cell, double value) { return SetCell{cell, value}; }

std::optional<Command> reset_cell(const State& state, const RunCell& cell) {
    const WorkedState original = origin_state(worked_of(state));
    const Matrix* was = original.input(cell.stage);
    if (!was || !was->holds(cell.row, cell.col)) return std::nullopt;
    return SetCell{cell, was->at(cell.row, cell.col)};
}

std::optional<Command> paint_cell(const State& state, const RunCell& cell) {
    const WorkedState& w = worked_of(state);
    if (cell.stage != Stage::masked || w.mask.kind != WorkedMask::Kind::painted) return std::nullopt;
    return PaintMask{cell.row, cell.col, !spec_of(w).mask.allows(0, cell.row, cell.col)};
}

// Computed Q, K, V and scores can become inputs; if they already are, the pin goes to them.
std::optional<Instead> instead_of(const State& state, const RunCell& cell) {
    const WorkedState& w = worked_of(state);
    const std::string name(symbol(cell.stage));
    const auto change = [&](std::string from, const char* label, Source source, const RunCell& to) {
        const bool is_input = w.input(to.stage) != nullptr;
        return Instead{
            name + (name.ends_with('s') ? " are" : " is") + " computed from " + std::move(from) + ".", label,
            is_input ? Command(Pin{to}) : Command(SetSource{source}), to};
    };
    constexpr const char* vectors = "Change Q, K and V instead";
    if (w.input(cell.stage)) return std::nullopt;
    if (cell.stage == Stage::q || cell.stage == Stage::k || cell.stage == Stage::v)
        return change("X · W_" + name, vectors, Source::qkv, cell);
    const RunCell score{Stage::raw, cell.row, cell.col};
    if (cell.stage == Stage::raw) return change("Q · K", "Change the scores instead", Source::scores, score);
    if (is_score_or_weight(cell.stage))
        return change("the scores", "Change the scores instead", Source::scores, score);
    if (cell.stage != Stage::output) return std::nullopt;
    const RunCell value{Stage::v, state.selection.key.value_or(0), cell.col};
    return change("the weights and V", w.input(Stage::v) ? "Change V instead" : vectors, Source::qkv, value);
}

constexpr LadderEdits all_edits{may_edit, value_of, set_cell, reset_cell, paint_cell, instead_of};

}  // namespace

std::vector<std::vector<Rung>> WorkedLadder::rungs(Range, Range) const {
    std::vector<std::vector<Rung>> rows;
    const bool comparable =
        before_ && before_state_.preset == state_.preset && before_state_.source == state_.source;
    const std::span<const Printed> wrong = misprints(state_);
    Stage scores = Stage::raw;
    for (const std::vector<Stage>& stages : stages_of(state_)) {
        std::vector<Rung>& row = rows.emplace_back();
        for (const Stage stage : stages) {
            Rung rung{.stage = stage,
                      .title = title_of(state_, stage),
                      .notation = notation_of(state_, stage, scores),
                      .sign = sign_before(state_, stage),
                      .values = run_->matrix(state_, stage),
                      .decimals = decimals_of(state_, stage)};
            if (comparable) rung.before = before_->matrix(before_state_, stage);
            if (rung.before.rows != rung.values.rows || rung.before.cols != rung.values.cols)
                rung.before = {};
            if (rows_are_queries(stage)) rung.row_labels = state_.query_labels;
            if (rows_are_keys(stage)) rung.row_labels = state_.key_labels;
            if (is_of_pairs(stage)) rung.column_labels = state_.key_labels;
            const bool is_projection = stage == Stage::w_q || stage == Stage::w_k || stage == Stage::w_v;
            rung.row_axis = stage == Stage::x         ? "token"
                            : rows_are_queries(stage) ? "query"
                            : rows_are_keys(stage)    ? "key"
                                                      : "in";
            rung.column_axis = is_of_pairs(stage) ? "key" : is_projection ? "out" : "component";
            const bool after_mask = stage == Stage::masked || stage == Stage::weight;
            if (after_mask && state_.mask.kind != WorkedMask::Kind::none)
                rung.allowed = [mask = run_->record.spec().mask](Index r, Index c) {
                    return mask.allows(0, r, c);
                };
            if (!wrong.empty())
                rung.misprinted = [wrong, stage](Index r, Index c) {
                    return printed_value(wrong, {stage, r, c}) != nullptr;
                };
            if (is_of_pairs(stage)) scores = stage;
            row.push_back(std::move(rung));
        }
    }
    return rows;
}

std::string WorkedLadder::query_name(Index query) const { return label_at(state_.query_labels, query); }
std::string WorkedLadder::key_name(Index key) const { return label_at(state_.key_labels, key); }

float WorkedLadder::weight(Index query, Index key) const {
    return run_->record.cell(Stage::weight, 0, query, key);
}

const LadderEdits* WorkedLadder::edits() const { return &all_edits; }

std::string WorkedLadder::remark(const RunCell& cell) const {
    const Printed* printed = printed_value(misprints(state_), cell);
    if (!printed) return "";
    return "“" + std::string(info(state_.preset).tutorial) + "” prints " + std::string(printed->text) +
           ", a misprint; the exact value is " + fixed(explain_worked(state_, *run_, cell).cell.f64, 4) + ".";
}

}  // namespace attn::app
