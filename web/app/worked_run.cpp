#include "app/worked_run.hpp"

#include <algorithm>
#include <cmath>

#include "app/presets.hpp"

namespace attn::app {

namespace {

// [n, m] = a [n, d] · b [d, m], summed in order in f32.
Matrix multiply(const Matrix& a, const Matrix& b) {
    Matrix c(a.rows, b.cols);
    for (Index i = 0; i < a.rows; ++i)
        for (Index j = 0; j < b.cols; ++j) {
            float sum = 0;
            for (Index p = 0; p < a.cols; ++p)
                sum += static_cast<float>(a.at(i, p)) * static_cast<float>(b.at(p, j));
            c.at(i, j) = static_cast<double>(sum);
        }
    return c;
}

Matrix identity(Index n) {
    Matrix m(n, n);
    for (Index i = 0; i < n; ++i) m.at(i, i) = 1;
    return m;
}

Tensor one_head(const Matrix& m) {
    Tensor tensor({1, m.rows, m.cols});
    std::ranges::transform(m.values, tensor.data(), [](double value) { return static_cast<float>(value); });
    return tensor;
}

Matrix from_stage(const Record& record, Stage stage) {
    Matrix m(record.queries(), record.keys());
    std::vector<float> values(m.values.size());
    record.stage(stage, 0, {0, m.rows}, {0, m.cols}, values);
    m.values.assign(values.begin(), values.end());
    return m;
}

const Matrix* weight_matrix(const WorkedState& state, MatrixId id) {
    switch (id) {
        case MatrixId::q: return &state.w_q;
        case MatrixId::k: return &state.w_k;
        default: return &state.w_v;
    }
}

std::string row_label(const WorkedState& state, MatrixId id, Index row) {
    const bool keys = id == MatrixId::k || id == MatrixId::v;
    const bool weights = id == MatrixId::w_q || id == MatrixId::w_k || id == MatrixId::w_v;
    const auto& labels = keys ? state.key_labels : state.query_labels;
    if (weights || row >= std::ssize(labels)) return std::to_string(row);
    return labels[static_cast<std::size_t>(row)];
}

std::string provenance_of_input(const WorkedState& state, CellRef cell) {
    WorkedState original = state;
    switch (state.origin.kind) {
        case Origin::Kind::entered: return "typed or pasted";
        case Origin::Kind::generated: generate_qkv(original, state.origin.seed); break;
        case Origin::Kind::preset: original = preset_state(state.preset); break;
    }
    const Matrix* then = original.input(cell.matrix);
    const Matrix* now = state.input(cell.matrix);
    const bool same = then && cell.row < then->rows && cell.col < then->cols &&
                      then->at(cell.row, cell.col) == now->at(cell.row, cell.col);
    if (!same) return "typed";
    if (state.origin.kind == Origin::Kind::generated)
        return "generated: numpy.random.seed(" + std::to_string(state.origin.seed) + "), randn";
    return "from example " + std::string(info(state.preset).letter);
}

}  // namespace

std::string_view symbol(MatrixId id) {
    switch (id) {
        case MatrixId::x: return "X";
        case MatrixId::w_q: return "W_Q";
        case MatrixId::w_k: return "W_K";
        case MatrixId::w_v: return "W_V";
        case MatrixId::q: return "Q";
        case MatrixId::k: return "K";
        case MatrixId::v: return "V";
        case MatrixId::raw: return "Scores";
        case MatrixId::scaled: return "Scaled";
        case MatrixId::capped: return "Capped";
        case MatrixId::masked: return "Masked";
        case MatrixId::weight: return "Weights";
        case MatrixId::output: return "Output";
    }
    return "";
}

bool is_stage(MatrixId id) { return id >= MatrixId::raw && id <= MatrixId::weight; }

Stage stage_of(MatrixId id) {
    switch (id) {
        case MatrixId::raw: return Stage::raw;
        case MatrixId::scaled: return Stage::scaled;
        case MatrixId::capped: return Stage::capped;
        case MatrixId::masked: return Stage::masked;
        default: return Stage::weight;
    }
}

MatrixShape shape_of(const WorkedState& state, MatrixId id) {
    if (const Matrix* m = state.input(id)) return {m->rows, m->cols};
    const bool scores = state.source == Source::scores;
    switch (id) {
        case MatrixId::q: return scores ? MatrixShape{} : MatrixShape{state.queries(), state.d_k()};
        case MatrixId::k: return scores ? MatrixShape{} : MatrixShape{state.keys(), state.d_k()};
        case MatrixId::v: return state.d_v() == 0 ? MatrixShape{} : MatrixShape{state.keys(), state.d_v()};
        case MatrixId::output: return state.d_v() == 0 ? MatrixShape{} : MatrixShape{state.queries(), state.d_v()};
        default: break;
    }
    return is_stage(id) ? MatrixShape{state.queries(), state.keys()} : MatrixShape{};
}

AttentionSpec spec_of(const WorkedState& state) {
    AttentionSpec spec;
    const bool divide = state.scale_by_sqrt_d && state.source != Source::scores && state.d_k() > 0;
    const double root = divide ? std::sqrt(static_cast<double>(state.d_k())) : 1.0;
    spec.scale = static_cast<float>(1.0 / (root * static_cast<double>(state.temperature)));
    spec.softcap = state.softcap;
    switch (state.mask.kind) {
        case WorkedMask::Kind::none: break;
        case WorkedMask::Kind::causal: spec.mask = Mask::causal(state.mask.offset); break;
        case WorkedMask::Kind::window: spec.mask = Mask::window(state.mask.before, state.mask.after); break;
        case WorkedMask::Kind::painted:
            spec.mask = Mask::painted({1, state.queries(), state.keys(), state.mask.painted});
            break;
    }
    return spec;
}

Result<WorkedRun> run_worked(const WorkedState& state) {
    Matrix q, k, v;
    switch (state.source) {
        case Source::projections:
            q = multiply(state.x, state.w_q);
            k = multiply(state.x, state.w_k);
            v = multiply(state.x, state.w_v);
            break;
        case Source::qkv:
            q = state.q;
            k = state.k;
            v = state.v;
            break;
        case Source::scores:  // S · I = S, so given scores are one more attention call
            q = state.scores;
            k = identity(state.keys());
            v = state.v.empty() ? identity(state.keys()) : state.v;
            break;
    }
    auto record = Record::run(one_head(q), one_head(k), one_head(v), spec_of(state));
    if (!record) return record.error();
    return WorkedRun{std::move(q), std::move(k), std::move(v), *std::move(record)};
}

Matrix WorkedRun::matrix(const WorkedState& state, MatrixId id) const {
    if (const Matrix* input = state.input(id)) return *input;
    if (shape_of(state, id) == MatrixShape{}) return {};
    switch (id) {
        case MatrixId::q: return q;
        case MatrixId::k: return k;
        case MatrixId::v: return v;
        case MatrixId::output: {
            const auto values = record.output().values();
            return {record.queries(), record.d_v(), {values.begin(), values.end()}};
        }
        default: return from_stage(record, stage_of(id));
    }
}

float WorkedRun::value(const WorkedState& state, CellRef cell) const {
    if (const Matrix* input = state.input(cell.matrix)) return static_cast<float>(input->at(cell.row, cell.col));
    switch (cell.matrix) {
        case MatrixId::q: return static_cast<float>(q.at(cell.row, cell.col));
        case MatrixId::k: return static_cast<float>(k.at(cell.row, cell.col));
        case MatrixId::v: return static_cast<float>(v.at(cell.row, cell.col));
        case MatrixId::output:
            return record.output().heads().head(0)(cell.row, cell.col);
        default: return record.cell(stage_of(cell.matrix), 0, cell.row, cell.col);
    }
}

std::string cell_name(const WorkedState& state, CellRef cell) {
    std::string text(symbol(cell.matrix));
    text += "[" + row_label(state, cell.matrix, cell.row) + ", ";
    text += is_stage(cell.matrix) ? row_label(state, MatrixId::k, cell.col) : std::to_string(cell.col);
    return text + "]";
}

WorkedExplanation explain_worked(const WorkedState& state, const WorkedRun& run, CellRef cell) {
    WorkedExplanation out;
    if (state.input(cell.matrix)) {
        out.kind = WorkedExplanation::Kind::input;
        out.provenance = provenance_of_input(state, cell);
        out.cell.f32 = run.value(state, cell);
        out.cell.f64 = state.input(cell.matrix)->at(cell.row, cell.col);
        return out;
    }
    out.provenance = "computed";
    if (is_stage(cell.matrix)) {
        out.kind = WorkedExplanation::Kind::stage;
        out.cell = explain(run.record, stage_of(cell.matrix), 0, cell.row, cell.col);
    } else if (cell.matrix == MatrixId::output) {
        out.kind = WorkedExplanation::Kind::output;
        out.cell = explain_output(run.record, 0, cell.row, cell.col);
    } else {
        out.kind = WorkedExplanation::Kind::projection;
        const Matrix& w = *weight_matrix(state, cell.matrix);
        out.cell.f32 = run.value(state, cell);
        for (Index p = 0; p < state.x.cols; ++p) {
            const Term term{p, state.x.at(cell.row, p), w.at(p, cell.col)};
            out.cell.terms.push_back(term);
            out.cell.f64 += term.product();
        }
    }
    return out;
}

}  // namespace attn::app
