#include "app/command.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/presets.hpp"
#include "app/worked_run.hpp"

namespace attn::app {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
    using Ts::operator()...;
};

Result<State> too_large(std::string_view what, Index size) {
    return Error{std::string(what) + " of " + std::to_string(size) + " is outside 1 to " +
                 std::to_string(worked_size_limit) + "; larger tensors belong into a model or a file."};
}

void resize_rows(Matrix& m, Index rows) {
    m.values.resize(static_cast<std::size_t>(rows * m.cols), 0.0);
    m.rows = rows;
}

void resize_cols(Matrix& m, Index cols) {
    Matrix out(m.rows, cols);
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0; c < std::min(cols, m.cols); ++c) out.at(r, c) = m.at(r, c);
    m = std::move(out);
}

void erase_row(Matrix& m, Index row) {
    const auto at = m.values.begin() + row * m.cols;
    m.values.erase(at, at + m.cols);
    --m.rows;
}

void erase_col(Matrix& m, Index col) {
    Matrix out(m.rows, m.cols - 1);
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0, to = 0; c < m.cols; ++c)
            if (c != col) out.at(r, to++) = m.at(r, c);
    m = std::move(out);
}

void resize_labels(std::vector<std::string>& labels, Index size) {
    while (std::ssize(labels) < size) labels.push_back("t" + std::to_string(labels.size()));
    labels.resize(static_cast<std::size_t>(size));
}

// Where rows or columns of a matrix follow an axis.
struct Edge {
    Matrix* matrix;
    bool rows;
};

std::vector<Edge> edges(WorkedState& w, Axis axis) {
    switch (w.source) {
        case Source::projections:
            switch (axis) {
                case Axis::queries:
                case Axis::keys: return {{&w.x, true}};
                case Axis::d_model: return {{&w.x, false}, {&w.w_q, true}, {&w.w_k, true}, {&w.w_v, true}};
                case Axis::d_k: return {{&w.w_q, false}, {&w.w_k, false}};
                case Axis::d_v: return {{&w.w_v, false}};
            }
            break;
        case Source::qkv:
            switch (axis) {
                case Axis::queries: return {{&w.q, true}};
                case Axis::keys: return {{&w.k, true}, {&w.v, true}};
                case Axis::d_k: return {{&w.q, false}, {&w.k, false}};
                case Axis::d_v: return {{&w.v, false}};
                case Axis::d_model: break;
            }
            break;
        case Source::scores:
            switch (axis) {
                case Axis::queries: return {{&w.scores, true}};
                case Axis::keys:
                    if (w.v.empty()) return {{&w.scores, false}};
                    return {{&w.scores, false}, {&w.v, true}};
                case Axis::d_v:
                    if (!w.v.empty()) return {{&w.v, false}};
                    break;
                case Axis::d_k:
                case Axis::d_model: break;
            }
            break;
    }
    return {};
}

bool moves_queries(const WorkedState& w, Axis axis) {
    return axis == Axis::queries || (axis == Axis::keys && w.source == Source::projections);
}
bool moves_keys(const WorkedState& w, Axis axis) {
    return axis == Axis::keys || (axis == Axis::queries && w.source == Source::projections);
}

// Painted bits of the new shape: kept where the cell remains, allowed where it is new.
void repaint(WorkedMask& mask, Index old_queries, Index old_keys, Index queries, Index keys) {
    if (mask.painted.empty()) return;
    std::vector<std::uint8_t> painted(static_cast<std::size_t>(queries * keys), 1);
    for (Index i = 0; i < std::min(queries, old_queries); ++i)
        for (Index j = 0; j < std::min(keys, old_keys); ++j)
            painted[static_cast<std::size_t>(i * keys + j)] = mask.painted[static_cast<std::size_t>(i * old_keys + j)];
    mask.painted = std::move(painted);
}

void erase_painted(WorkedMask& mask, Index queries, Index keys, std::optional<Index> query, std::optional<Index> key) {
    if (mask.painted.empty()) return;
    std::vector<std::uint8_t> painted;
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j)
            if (i != query && j != key) painted.push_back(mask.painted[static_cast<std::size_t>(i * keys + j)]);
    mask.painted = std::move(painted);
}

bool resize(WorkedState& w, Axis axis, Index size) {
    const auto moved = edges(w, axis);
    if (moved.empty()) return false;
    const Index old_queries = w.queries(), old_keys = w.keys();
    for (const Edge& e : moved) e.rows ? resize_rows(*e.matrix, size) : resize_cols(*e.matrix, size);
    resize_labels(w.query_labels, w.queries());
    resize_labels(w.key_labels, w.keys());
    repaint(w.mask, old_queries, old_keys, w.queries(), w.keys());
    return true;
}

Index size_of(WorkedState& w, Axis axis) {
    const auto moved = edges(w, axis);
    if (moved.empty()) return 0;
    return moved[0].rows ? moved[0].matrix->rows : moved[0].matrix->cols;
}

void remove_at(WorkedState& w, Axis axis, Index index) {
    const bool queries = moves_queries(w, axis), keys = moves_keys(w, axis);
    erase_painted(w.mask, w.queries(), w.keys(), queries ? std::optional(index) : std::nullopt,
                  keys ? std::optional(index) : std::nullopt);
    for (const Edge& e : edges(w, axis)) e.rows ? erase_row(*e.matrix, index) : erase_col(*e.matrix, index);
    if (queries && index < std::ssize(w.query_labels)) w.query_labels.erase(w.query_labels.begin() + index);
    if (keys && index < std::ssize(w.key_labels)) w.key_labels.erase(w.key_labels.begin() + index);
}

// The axes along the rows and columns of an input matrix.
std::pair<Axis, Axis> axes_of(MatrixId id) {
    switch (id) {
        case MatrixId::x: return {Axis::queries, Axis::d_model};
        case MatrixId::w_q:
        case MatrixId::w_k: return {Axis::d_model, Axis::d_k};
        case MatrixId::w_v: return {Axis::d_model, Axis::d_v};
        case MatrixId::q: return {Axis::queries, Axis::d_k};
        case MatrixId::k: return {Axis::keys, Axis::d_k};
        case MatrixId::v: return {Axis::keys, Axis::d_v};
        default: return {Axis::queries, Axis::keys};
    }
}

Result<State> paste(State state, const PasteCells& command) {
    WorkedState& w = state.worked;
    if (!w.input(command.at.matrix))
        return Error{std::string(symbol(command.at.matrix)) + " is computed here; paste into one of the inputs."};
    if (command.cells.empty()) return Error{"The pasted text holds no numbers."};
    const auto [row_axis, col_axis] = axes_of(command.at.matrix);
    const Index rows = command.at.row + command.cells.rows, cols = command.at.col + command.cells.cols;
    if (rows > worked_size_limit) return too_large("A matrix height", rows);
    if (cols > worked_size_limit) return too_large("A matrix width", cols);
    if (rows > size_of(w, row_axis)) resize(w, row_axis, rows);
    if (cols > size_of(w, col_axis)) resize(w, col_axis, cols);
    Matrix& m = *w.input(command.at.matrix);
    for (Index r = 0; r < command.cells.rows; ++r)
        for (Index c = 0; c < command.cells.cols; ++c)
            m.at(command.at.row + r, command.at.col + c) = command.cells.at(r, c);
    w.origin = {Origin::Kind::entered, 0};
    return state;
}

Result<State> set_source(State state, Source source) {
    WorkedState& w = state.worked;
    if (source == w.source) return state;
    auto run = run_worked(w);
    if (!run) return run.error();
    const Index queries = w.queries(), keys = w.keys();
    switch (source) {
        case Source::qkv:
            w.q = run->q;
            w.k = run->k;
            w.v = run->v;
            break;
        case Source::projections: {
            if (queries != keys || w.source == Source::scores)
                return Error{"X gives one query and one key a token, so it needs as many queries as keys and Q, K, V "
                             "to start from; this example has another shape."};
            // X = Q and W_Q = I keep Q; K and V follow from X from now on.
            w.x = run->q;
            w.w_q = w.w_k = Matrix(w.x.cols, w.x.cols);
            w.w_v = Matrix(w.x.cols, w.d_v() ? w.d_v() : w.x.cols);
            for (Index i = 0; i < w.x.cols; ++i) {
                w.w_q.at(i, i) = w.w_k.at(i, i) = 1;
                if (i < w.w_v.cols) w.w_v.at(i, i) = 1;
            }
            w.key_labels = w.query_labels;
            break;
        }
        case Source::scores:
            w.v = run->v;
            w.scores = run->matrix(w, MatrixId::scaled);
            w.scale_by_sqrt_d = false;
            w.temperature = 1;
            break;
    }
    w.source = source;
    w.origin = {Origin::Kind::entered, 0};
    return state;
}

struct Applier {
    State state;

    Result<State> operator()(const OpenLens& c) {
        state.lens = c.lens;
        state.pin.reset();
        return state;
    }
    Result<State> operator()(const OpenPreset& c) {
        state.worked = preset_state(c.preset);
        state.pin.reset();
        state.selection.query.reset();
        state.selection.key.reset();
        return state;
    }
    Result<State> operator()(const SetCell& c) {
        Matrix* m = state.worked.input(c.cell.matrix);
        if (!m || c.cell.row < 0 || c.cell.row >= m->rows || c.cell.col < 0 || c.cell.col >= m->cols)
            return Error{"That cell cannot be edited: it is computed from the inputs."};
        m->at(c.cell.row, c.cell.col) = c.value;
        return state;
    }
    Result<State> operator()(const PasteCells& c) { return paste(state, c); }
    Result<State> operator()(const Resize& c) {
        if (c.size < 1 || c.size > worked_size_limit) return too_large("A size", c.size);
        if (!resize(state.worked, c.axis, c.size)) return Error{"This example has no such dimension to change."};
        state.pin.reset();
        return state;
    }
    Result<State> operator()(const RemoveAt& c) {
        const Index size = size_of(state.worked, c.axis);
        if (c.index < 0 || c.index >= size) return Error{"There is no row or column " + std::to_string(c.index) + "."};
        if (size == 1) return Error{"The last row or column stays: attention needs at least one."};
        remove_at(state.worked, c.axis, c.index);
        state.pin.reset();
        return state;
    }
    Result<State> operator()(const SetSource& c) {
        state.pin.reset();
        return set_source(state, c.source);
    }
    Result<State> operator()(const Generate& c) {
        if (state.worked.source != Source::qkv) {
            auto converted = set_source(state, Source::qkv);
            if (!converted) return converted;
            state = *std::move(converted);
        }
        generate_qkv(state.worked, c.seed);
        return state;
    }
    Result<State> operator()(const SetScaling& c) {
        state.worked.scale_by_sqrt_d = c.by_sqrt_d;
        return state;
    }
    Result<State> operator()(const SetTemperature& c) {
        if (!(c.temperature >= 0.01f && c.temperature <= 100.0f))
            return Error{"The temperature " + shortest(static_cast<double>(c.temperature)) + " is outside 0.01 to 100."};
        state.worked.temperature = c.temperature;
        return state;
    }
    Result<State> operator()(const SetSoftcap& c) {
        if (!(c.softcap >= 0 && c.softcap <= 1000.0f))
            return Error{"The soft cap " + shortest(static_cast<double>(c.softcap)) + " is outside 0 (off) to 1000."};
        state.worked.softcap = c.softcap;
        return state;
    }
    Result<State> operator()(const SetMask& c) {
        WorkedState& w = state.worked;
        if (std::abs(c.offset) > worked_size_limit || c.before < 0 || c.after < 0 || c.before > worked_size_limit ||
            c.after > worked_size_limit)
            return Error{"A mask reaches at most " + std::to_string(worked_size_limit) + " tokens here."};
        // Painting starts from what the present mask allows.
        if (c.kind == WorkedMask::Kind::painted && w.mask.kind != WorkedMask::Kind::painted) {
            const Mask now = spec_of(w).mask;
            w.mask.painted.assign(static_cast<std::size_t>(w.queries() * w.keys()), 1);
            for (Index i = 0; i < w.queries(); ++i)
                for (Index j = 0; j < w.keys(); ++j)
                    w.mask.painted[static_cast<std::size_t>(i * w.keys() + j)] = now.allows(0, i, j);
        }
        if (c.kind != WorkedMask::Kind::painted) w.mask.painted.clear();
        w.mask.kind = c.kind;
        w.mask.offset = c.offset;
        w.mask.before = c.before;
        w.mask.after = c.after;
        return state;
    }
    Result<State> operator()(const PaintMask& c) {
        WorkedState& w = state.worked;
        if (c.query < 0 || c.query >= w.queries() || c.key < 0 || c.key >= w.keys())
            return Error{"That cell lies outside the mask."};
        if (w.mask.kind != WorkedMask::Kind::painted) {
            auto painted = (*this)(SetMask{WorkedMask::Kind::painted, w.mask.offset, w.mask.before, w.mask.after});
            if (!painted) return painted;
        }
        w.mask.painted[static_cast<std::size_t>(c.query * w.keys() + c.key)] = c.allowed;
        return state;
    }
    Result<State> operator()(const SetLabel& c) {
        WorkedState& w = state.worked;
        const bool shared = w.source == Source::projections;
        if (c.text.size() > 64) return Error{"A token name holds at most 64 bytes."};
        for (auto* labels : {&w.query_labels, &w.key_labels}) {
            if (!shared && (labels == &w.key_labels) != c.key) continue;
            if (c.index < 0 || c.index >= std::ssize(*labels)) return Error{"There is no such token."};
            (*labels)[static_cast<std::size_t>(c.index)] = c.text;
        }
        return state;
    }
    Result<State> operator()(const SetText& c) {
        state.sentence.text = c.text;
        return state;
    }
    Result<State> operator()(const SetModel& c) {
        state.sentence.model = c.name;
        state.selection = {};
        state.pin.reset();
        return state;
    }
    Result<State> operator()(const SetMap& c) {
        state.sentence.map = c.stage;
        return state;
    }
    Result<State> operator()(const SetFlowMass& c) {
        if (!(c.mass >= 0 && c.mass <= 1)) return Error{"The share of a row lies between 0 and 1."};
        state.sentence.flow_mass = c.mass;
        return state;
    }
    Result<State> operator()(const SetSampling& c) {
        const SamplingState& s = c.sampling;
        if (!(s.temperature >= 0 && s.temperature <= 100) || s.top_k < 0 || !(s.top_p > 0 && s.top_p <= 1))
            return Error{"Sampling takes a temperature from 0 to 100, a top-k of 0 or more and a top-p above 0 up to 1."};
        state.sentence.sampling = s;
        return state;
    }
    Result<State> operator()(const Select& c) {
        state.selection = c.selection;
        return state;
    }
    Result<State> operator()(const Pin& c) {
        state.pin = c.cell;
        return state;
    }
};

}  // namespace

Result<State> apply(const State& state, const Command& command) { return std::visit(Applier{state}, command); }

std::string describe(const State& before, const Command& command) {
    return std::visit(
        Overloaded{
            [&](const SetCell& c) {
                const Matrix* m = before.worked.input(c.cell.matrix);
                const std::string was = m ? shortest(m->at(c.cell.row, c.cell.col)) : "";
                return cell_name(before.worked, c.cell) + " " + was + " → " + shortest(c.value);
            },
            [](const OpenLens&) { return std::string("opened a lens"); },
            [](const OpenPreset& c) { return "example " + std::string(info(c.preset).letter); },
            [](const PasteCells& c) {
                return "pasted " + std::to_string(c.cells.rows) + "×" + std::to_string(c.cells.cols) + " into " +
                       std::string(symbol(c.at.matrix));
            },
            [](const Resize& c) { return "size " + std::to_string(c.size); },
            [](const RemoveAt& c) { return "removed " + std::to_string(c.index); },
            [](const SetSource&) { return std::string("changed the source"); },
            [](const Generate& c) { return "generated with seed " + std::to_string(c.seed); },
            [](const SetScaling& c) { return std::string(c.by_sqrt_d ? "scale 1/√d_k" : "no scale"); },
            [](const SetTemperature& c) { return "temperature " + fixed(static_cast<double>(c.temperature), 2); },
            [](const SetSoftcap& c) { return "soft cap " + fixed(static_cast<double>(c.softcap), 1); },
            [](const SetMask&) { return std::string("mask"); },
            [](const PaintMask&) { return std::string("painted the mask"); },
            [](const SetLabel&) { return std::string("renamed a token"); },
            [](const SetText&) { return std::string("text"); },
            [](const SetModel& c) { return "model " + c.name; },
            [](const SetMap&) { return std::string("map"); },
            [](const SetFlowMass&) { return std::string("flow"); },
            [](const SetSampling&) { return std::string("sampling"); },
            [](const Select&) { return std::string("selection"); },
            [](const Pin&) { return std::string("pin"); },
        },
        command);
}

bool is_navigation(const Command& command) {
    return std::holds_alternative<Select>(command) || std::holds_alternative<Pin>(command);
}

}  // namespace attn::app
