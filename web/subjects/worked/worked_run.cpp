#include "subjects/worked/worked_run.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "subjects/worked/presets.hpp"

namespace attn::app {

namespace {

// Computes [n, m] = a [n, d] · b [d, m], summed in order; operands and sum are of type Number.
template <class Number>
Matrix multiply(const Matrix& a, const Matrix& b) {
    Matrix c(a.rows, b.cols);
    for (Index i = 0; i < a.rows; ++i)
        for (Index j = 0; j < b.cols; ++j) {
            Number sum = 0;
            for (Index p = 0; p < a.cols; ++p)
                sum += static_cast<Number>(a.at(i, p)) * static_cast<Number>(b.at(p, j));
            c.at(i, j) = static_cast<double>(sum);
        }
    return c;
}

Tensor one_head(const Matrix& m) {
    Tensor tensor({1, m.rows, m.cols});
    std::ranges::transform(m.values, tensor.data(), [](double value) { return static_cast<float>(value); });
    return tensor;
}

Matrix as_matrix(const Tensor& tensor) {
    return {tensor.dim(1), tensor.dim(2), {tensor.values().begin(), tensor.values().end()}};
}

double scale_of(const WorkedState& state) {
    const bool divide = state.scale_by_sqrt_d && state.source != Source::scores;
    return 1.0 / ((divide ? std::sqrt(static_cast<double>(state.d_k())) : 1.0) * state.temperature);
}

// Says whether the stage comes before the mask and the scores are given; the record does not have such
// stages.
bool is_given_stage(const WorkedState& state, Stage id) {
    return state.source == Source::scores && (id == Stage::raw || id == Stage::scaled || id == Stage::capped);
}

float given_stage(const WorkedState& state, Stage id, Index query, Index key) {
    const auto raw = static_cast<float>(state.scores.at(query, key));
    if (id == Stage::raw) return raw;
    const float scaled = raw * static_cast<float>(scale_of(state)), cap = static_cast<float>(state.softcap);
    return id == Stage::scaled || cap == 0 ? scaled : cap * std::tanh(scaled / cap);
}

ScoreRow score_row(const WorkedState& state, const WorkedRun& run, Index query) {
    ScoreRow row;
    row.scale = scale_of(state);
    row.softcap = state.softcap;
    row.allowed.resize(static_cast<std::size_t>(state.keys()));
    run.record.spec().mask.row(0, query, 0, row.allowed);
    for (Index j = 0; j < state.keys(); ++j) {
        double raw = state.source == Source::scores ? state.scores.at(query, j) : 0;
        for (Index a = 0; a < run.q.cols; ++a) raw += run.q.at(query, a) * run.k.at(j, a);
        row.raw.push_back(raw);
    }
    return row;
}

const Matrix& weight_matrix(const WorkedState& state, Stage id) {
    switch (id) {
        case Stage::q: return state.w_q;
        case Stage::k: return state.w_k;
        default: return state.w_v;
    }
}

std::string row_label(const WorkedState& state, Stage id, Index row) {
    const bool keys = id == Stage::k || id == Stage::v;
    const bool weights = id == Stage::w_q || id == Stage::w_k || id == Stage::w_v;
    const auto& labels = keys ? state.key_labels : state.query_labels;
    if (weights || row < 0 || row >= std::ssize(labels)) return std::to_string(row);
    return labels[static_cast<std::size_t>(row)];
}

std::string provenance_of_input(const WorkedState& state, RunCell cell) {
    const Origin& origin = state.origin;
    if (origin.kind == Origin::Kind::entered) return "typed, pasted or carried over";
    if (origin.kind == Origin::Kind::taken)
        return "taken from " + origin.from + ", unless it was edited since";
    const bool generated = origin.kind == Origin::Kind::generated;
    const std::string from = generated ? "numpy.random.seed(" + std::to_string(origin.seed) + "), randn"
                                       : "example " + std::string(info(state.preset).letter);
    const WorkedState original = origin_state(state);
    const Matrix* then = original.input(cell.stage);
    if (!then || !then->holds(cell.row, cell.col)) return "added; " + from + " has no such cell";
    const double before = then->at(cell.row, cell.col);
    if (before == state.input(cell.stage)->at(cell.row, cell.col))
        return (generated ? "generated: " : "from ") + from;
    return "changed; " + from + " has " + shortest(before) + " here";
}

}  // namespace

MatrixShape shape_of(const WorkedState& state, Stage id) {
    if (const Matrix* m = state.input(id)) return {m->rows, m->cols};
    const bool scores = state.source == Source::scores;
    switch (id) {
        case Stage::q: return scores ? MatrixShape{} : MatrixShape{state.queries(), state.d_k()};
        case Stage::k: return scores ? MatrixShape{} : MatrixShape{state.keys(), state.d_k()};
        case Stage::v: return state.d_v() == 0 ? MatrixShape{} : MatrixShape{state.keys(), state.d_v()};
        case Stage::output:
            return state.d_v() == 0 ? MatrixShape{} : MatrixShape{state.queries(), state.d_v()};
        default: break;
    }
    if (id == Stage::row_max || id == Stage::row_sum) return {state.queries(), 1};
    if (id == Stage::exponential) return {state.queries(), state.keys()};
    if (id == Stage::contribution && state.d_v() == 0) return {};
    return is_score_or_weight(id) || id == Stage::contribution ? MatrixShape{state.queries(), state.keys()}
                                                               : MatrixShape{};
}

AttentionSpec spec_of(const WorkedState& state) {
    AttentionSpec spec;
    spec.scale = scale_of(state);
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
    AttentionSpec spec = spec_of(state);
    Matrix q, k, v = state.v;
    Tensor q32, k32, v32;
    switch (state.source) {
        case Source::projections:
            q = multiply<double>(state.x, state.w_q);
            k = multiply<double>(state.x, state.w_k);
            v = multiply<double>(state.x, state.w_v);
            q32 = one_head(multiply<float>(state.x, state.w_q));
            k32 = one_head(multiply<float>(state.x, state.w_k));
            v32 = one_head(multiply<float>(state.x, state.w_v));
            break;
        case Source::qkv:
            q = state.q;
            k = state.k;
            q32 = one_head(q);
            k32 = one_head(k);
            v32 = one_head(v);
            break;
        case Source::scores: {
            // Multiplying S · I would turn an infinite score times 0 into NaN, so the scores are zero and S,
            // capped, is the bias.
            Tensor bias({1, state.queries(), state.keys()});
            const auto cells = bias.heads().head(0);
            for (Index i = 0; i < cells.rows; ++i)
                for (Index j = 0; j < cells.cols; ++j) cells(i, j) = given_stage(state, Stage::capped, i, j);
            spec.bias.values = std::make_shared<Tensor>(std::move(bias));
            if (v.empty()) v = identity(state.keys(), state.keys());
            q32 = Tensor({1, state.queries(), 1});
            k32 = Tensor({1, state.keys(), 1});
            v32 = one_head(v);
            break;
        }
    }
    auto record = Record::run(std::move(q32), std::move(k32), std::move(v32), std::move(spec));
    if (!record) return record.error();
    return WorkedRun{std::move(q), std::move(k), std::move(v), *std::move(record)};
}

Matrix exact_scaled_scores(const WorkedState& state, const WorkedRun& run) {
    WorkedState plain = state;
    plain.temperature = 1;
    Matrix scores(state.queries(), state.keys());
    for (Index i = 0; i < scores.rows; ++i) {
        const ScoreRow row = score_row(plain, run, i);
        for (Index j = 0; j < scores.cols; ++j)
            scores.at(i, j) = row.scale * row.raw[static_cast<std::size_t>(j)];
    }
    return scores;
}

Matrix WorkedRun::matrix(const WorkedState& state, Stage id) const {
    if (const Matrix* input = state.input(id)) return *input;
    const auto [rows, cols] = shape_of(state, id);
    if (rows == 0) return {};
    switch (id) {
        case Stage::q: return as_matrix(record.q());
        case Stage::k: return as_matrix(record.k());
        case Stage::v: return as_matrix(record.v());
        case Stage::output: return as_matrix(record.output());
        default: break;
    }
    Tensor cells({1, rows, cols});
    if (is_given_stage(state, id) || is_of_softmax(id)) {
        const auto each = cells.heads().head(0);
        for (Index i = 0; i < rows; ++i)
            for (Index j = 0; j < cols; ++j) each(i, j) = value(state, {id, i, j});
    } else {
        record.stage(id, 0, {0, rows}, {0, cols}, cells.values());
    }
    return as_matrix(cells);
}

float WorkedRun::value(const WorkedState& state, RunCell cell) const {
    const Stage id = cell.stage;
    const Index row = cell.row, col = cell.col;
    if (const Matrix* input = state.input(id)) return static_cast<float>(input->at(row, col));
    switch (id) {
        case Stage::q: return record.q().heads().head(0)(row, col);
        case Stage::k: return record.k().heads().head(0)(row, col);
        case Stage::v: return record.v().heads().head(0)(row, col);
        case Stage::output: return record.output().heads().head(0)(row, col);
        case Stage::row_max: return softmax_row(record, 0, row).max;
        case Stage::row_sum: return softmax_row(record, 0, row).sum;
        case Stage::exponential:
            return softmax_row(record, 0, row).exponential(record.cell(Stage::masked, 0, row, col));
        default: break;
    }
    return is_given_stage(state, id) ? given_stage(state, id, row, col) : record.cell(id, 0, row, col);
}

bool rows_are_queries(Stage stage) {
    return stage == Stage::x || stage == Stage::q || is_of_pairs(stage) || is_of_softmax(stage) ||
           stage == Stage::output;
}
bool rows_are_keys(Stage stage) { return stage == Stage::k || stage == Stage::v; }

std::string cell_name(const WorkedState& state, RunCell cell) {
    std::string text(symbol(cell.stage));
    text += "[" + row_label(state, cell.stage, cell.row) + ", ";
    text += is_of_pairs(cell.stage) ? row_label(state, Stage::k, cell.col) : std::to_string(cell.col);
    return text + "]";
}

RowChain worked_row(const WorkedState& state, const WorkedRun& run, Index query) {
    return RowChain(score_row(state, run, query));
}

WorkedExplanation explain_worked(const WorkedState& state, const WorkedRun& run, RunCell cell) {
    using Kind = WorkedExplanation::Kind;
    const Stage id = cell.stage;
    const Index row = cell.row, col = cell.col;
    const Matrix* input = state.input(id);
    WorkedExplanation out;
    if (is_score_or_weight(id) || id == Stage::contribution) {
        out.kind = Kind::stage;
        out.cell = worked_row(state, run, row).at(col);
        out.cell.f64 = out.cell.chain_value(id);
        if (id == Stage::contribution) {
            double squares = 0;
            for (Index b = 0; b < run.v.cols; ++b) squares += run.v.at(col, b) * run.v.at(col, b);
            out.cell.f64 = out.cell.weight == 0 ? 0 : out.cell.weight * std::sqrt(squares);
        }
        for (Index a = 0; id != Stage::contribution && a < run.q.cols; ++a)
            out.cell.terms.push_back({a, run.q.at(row, a), run.k.at(col, a)});
    } else if (is_of_softmax(id)) {
        out.kind = Kind::softmax;
        out.cell = worked_row(state, run, row).at(col);
        out.cell.f64 = id == Stage::row_max   ? out.cell.row_max
                       : id == Stage::row_sum ? out.cell.row_sum
                                              : out.cell.exponential;
    } else if (id == Stage::output) {
        out.kind = Kind::output;
        const RowChain chain = worked_row(state, run, row);
        for (Index j = 0; j < state.keys(); ++j)
            out.cell.terms.push_back({j, chain.at(j).weight, run.v.at(j, col)});
        for (const Term& term : out.cell.terms) out.cell.f64 += term.product();
    } else if (!input) {
        out.kind = Kind::projection;
        const Matrix& w = weight_matrix(state, id);
        for (Index p = 0; p < state.x.cols; ++p)
            out.cell.terms.push_back({p, state.x.at(row, p), w.at(p, col)});
        for (const Term& term : out.cell.terms) out.cell.f64 += term.product();
    }
    out.provenance = "computed";
    if (input) {
        out.kind = Kind::input;
        out.provenance = provenance_of_input(state, cell);
        out.cell.f64 = input->at(row, col);
    }
    out.cell.f32 = run.value(state, cell);
    return out;
}

}  // namespace attn::app
