#include "subjects/worked/commands.hpp"

#include <algorithm>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked_run.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

Error bad_size(Index size) {
    return {"A matrix here has 1 to " + std::to_string(matrix_size_limit) + " rows and columns, not " +
            std::to_string(size) + "."};
}

Error bad_value(Stage matrix, double value) {
    return {std::string(symbol(matrix)) + " cannot hold " + shortest(value) +
            ": a cell holds what f32 can, up to 3.4e38" + (matrix == Stage::raw ? ", or inf or -inf." : ".")};
}

// Painting starts from what the current mask allows.
void start_painting(WorkedState& w) {
    const Mask now = spec_of(w).mask;
    w.mask = {.kind = WorkedMask::Kind::painted};
    for (Index i = 0; i < w.queries(); ++i)
        for (Index j = 0; j < w.keys(); ++j) w.mask.painted.push_back(now.allows(0, i, j));
}

bool may_be_temperature(double value) { return value >= 0.01 && value <= 100; }
bool may_be_softcap(double value) { return value == 0 || (value >= 0.01 && value <= 1000); }

std::string axis_name(const WorkedState& w, Axis axis) {
    switch (axis) {
        case Axis::queries: return w.source == Source::projections ? "tokens" : "queries";
        case Axis::keys: return w.source == Source::projections ? "tokens" : "keys";
        case Axis::d_k: return "d_k";
        case Axis::d_v: return "d_v";
        case Axis::d_model: return "d_model";
    }
    return "";
}

}  // namespace

bool is_label(std::string_view text) { return text.size() <= 64 && is_utf8(text); }

Status OpenPreset::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    w = preset_state(preset);
    state.pin.reset();
    state.selection.forget_tokens();
    return ok();
}
std::string OpenPreset::describe(const State&) const { return "example " + std::string(info(preset).letter); }

Status SetCell::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    Matrix* m = w.input(cell.stage);
    if (!m || !m->holds(cell.row, cell.col))
        return Error{"That cell cannot be edited: it is computed from the inputs."};
    if (!may_hold(cell.stage, value)) return bad_value(cell.stage, value);
    m->at(cell.row, cell.col) = value;
    return ok();
}
std::string SetCell::describe(const State& before) const {
    const Matrix* m = worked_of(before).input(cell.stage);
    if (!m || !m->holds(cell.row, cell.col)) return std::string();
    return cell_name(worked_of(before), cell) + " " + shortest(m->at(cell.row, cell.col)) + " → " +
           shortest(value);
}

Status PasteCells::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    const Stage id = at.stage;
    const Index top = at.row, left = at.col;
    Matrix* m = w.input(id);
    if (!m) return Error{std::string(symbol(id)) + " is computed here; paste into one of the inputs."};
    if (!m->holds(top, left)) return Error{"Paste at a cell of the matrix; this one is outside."};
    if (cells.empty()) return Error{"The pasted text holds no numbers."};
    const auto [row_axis, col_axis] = axes_of(id);
    for (const auto& [axis, size] :
         {std::pair(row_axis, top + cells.rows), std::pair(col_axis, left + cells.cols)}) {
        if (size > matrix_size_limit) return bad_size(size);
        if (size > size_of(w, axis)) resize(w, axis, size);
    }
    for (Index r = 0; r < cells.rows; ++r)
        for (Index c = 0; c < cells.cols; ++c) {
            const double value = cells.at(r, c);
            if (!may_hold(id, value)) return bad_value(id, value);
            m->at(top + r, left + c) = value;
        }
    w.origin = {.kind = Origin::Kind::entered};
    return ok();
}
std::string PasteCells::describe(const State&) const {
    return "pasted " + std::to_string(cells.rows) + "×" + std::to_string(cells.cols) + " into " +
           std::string(symbol(at.stage));
}

Status Resize::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    if (size < 1 || size > matrix_size_limit) return bad_size(size);
    if (size_of(w, axis) == 0) return Error{"This example has no such dimension to change."};
    resize(w, axis, size);
    return ok();
}
std::string Resize::describe(const State& before) const {
    return axis_name(worked_of(before), axis) + " " + std::to_string(size_of(worked_of(before), axis)) +
           " → " + std::to_string(size);
}

Status RemoveAt::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    const Index size = size_of(w, axis);
    if (index < 0 || index >= size) return Error{"There is no row or column " + std::to_string(index) + "."};
    if (size == 1) return Error{"The last row or column stays: attention needs at least one."};
    remove_at(w, axis, index);
    state.selection.forget_tokens();
    state.pin.reset();
    return ok();
}
std::string RemoveAt::describe(const State& before) const {
    return "removed " + std::to_string(index) + " of " + axis_name(worked_of(before), axis);
}

Status SetSource::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    if (source == w.source) return ok();
    const WorkedState before = w;
    const bool scores_given = before.source == Source::scores;
    auto run = run_worked(before);
    if (!run) return run.error();
    w.clear_matrices();
    switch (source) {
        case Source::qkv:  // S = S I
            w.q = scores_given ? before.scores : run->q;
            w.k = scores_given ? identity(before.keys(), before.keys()) : std::move(run->k);
            w.v = std::move(run->v);
            break;
        case Source::projections:  // X = Q and W_Q = I keep Q; from now on, K and V follow from X
            if (scores_given || before.queries() != before.keys())
                return Error{
                    "X gives one query and one key a token, so it needs as many queries as keys and Q, K, V "
                    "to start from; this example has another shape."};
            w.x = std::move(run->q);
            w.w_q = w.w_k = identity(before.d_k(), before.d_k());
            w.w_v = identity(before.d_k(), before.d_v());
            w.key_labels = w.query_labels;
            break;
        case Source::scores:
            w.scores = exact_scaled_scores(before, *run);
            w.v = std::move(run->v);
            w.scale_by_sqrt_d = false;
            break;
    }
    w.source = source;
    w.origin = {.kind = Origin::Kind::entered};
    if (auto fits = check_inputs(w); !fits)
        return Error{"That cannot be the new source: " + fits.error().message};
    return ok();
}
std::string SetSource::describe(const State&) const {
    switch (source) {
        case Source::projections: return std::string("from X and projections");
        case Source::qkv: return std::string("from Q, K, V");
        case Source::scores: break;
    }
    return std::string("from scores");
}

Status Generate::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    const Index keys = w.keys(), d_k = w.source == Source::scores ? keys : w.d_k();
    generate_qkv(w, {Origin::Kind::generated, seed, w.queries(), keys, d_k, w.d_v() ? w.d_v() : keys});
    return ok();
}
std::string Generate::describe(const State&) const { return "generated with seed " + std::to_string(seed); }

Status SetScaling::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    if (w.source == Source::scores && by_sqrt_d) return Error{"Given scores have no d_k to be scaled by."};
    w.scale_by_sqrt_d = by_sqrt_d;
    return ok();
}
std::string SetScaling::describe(const State&) const {
    return std::string(by_sqrt_d ? "scale 1/√d_k" : "no scale");
}

Status SetTemperature::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    if (!may_be_temperature(temperature))
        return Error{"The temperature " + shortest(temperature) + " is outside 0.01 to 100."};
    w.temperature = temperature;
    return ok();
}
std::string SetTemperature::describe(const State&) const { return "temperature " + shortest(temperature); }

Status SetSoftcap::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    if (!may_be_softcap(softcap))
        return Error{"The soft cap " + shortest(softcap) + " is neither 0 (off) nor from 0.01 to 1000."};
    w.softcap = softcap;
    return ok();
}
std::string SetSoftcap::describe(const State&) const {
    return softcap == 0 ? std::string("no soft cap") : "soft cap " + shortest(softcap);
}

Status SetMask::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    const auto reaches = [](Index tokens) { return tokens >= 0 && tokens <= matrix_size_limit; };
    if (offset < -matrix_size_limit || offset > matrix_size_limit || !reaches(before) || !reaches(after))
        return Error{"A mask reaches at most " + std::to_string(matrix_size_limit) + " tokens here."};
    switch (kind) {
        case WorkedMask::Kind::none: w.mask = {}; break;
        case WorkedMask::Kind::causal: w.mask = {.kind = kind, .offset = offset}; break;
        case WorkedMask::Kind::window: w.mask = {.kind = kind, .before = before, .after = after}; break;
        case WorkedMask::Kind::painted: start_painting(w); break;
    }
    return ok();
}
std::string SetMask::describe(const State&) const {
    switch (kind) {
        case WorkedMask::Kind::none: return std::string("no mask");
        case WorkedMask::Kind::causal: return "causal mask, offset " + std::to_string(offset);
        case WorkedMask::Kind::window:
            return "window of " + std::to_string(before) + " before, " + std::to_string(after) + " after";
        case WorkedMask::Kind::painted: break;
    }
    return std::string("painted mask");
}

Status PaintMask::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    if (query < 0 || query >= w.queries() || key < 0 || key >= w.keys())
        return Error{"That cell lies outside the mask."};
    start_painting(w);
    w.mask.painted[static_cast<std::size_t>(query * w.keys() + key)] = allowed;
    return ok();
}
std::string PaintMask::describe(const State& before) const {
    return (allowed ? "allowed " : "hid ") + cell_name(worked_of(before), {Stage::masked, query, key});
}

Status SetLabel::apply(State& state) const {
    WorkedState& w = state.edit<WorkedState>();
    const bool shared = w.source == Source::projections;
    if (!is_label(text)) return Error{"A token's name is UTF-8 of at most 64 bytes."};
    for (auto* labels : {&w.query_labels, &w.key_labels}) {
        if (!shared && (labels == &w.key_labels) != key) continue;
        if (index < 0 || index >= std::ssize(*labels))
            return Error{"Choose one of the tokens; this one does not exist."};
        (*labels)[static_cast<std::size_t>(index)] = text;
    }
    return ok();
}
std::string SetLabel::describe(const State&) const { return "renamed to " + text; }

Status TakeHead::apply(State& state) const {
    const auto fits = [](const Matrix& m) {
        return m.rows <= matrix_size_limit && m.cols <= matrix_size_limit;
    };
    if (!fits(head.q) || !fits(head.k) || !fits(head.v))
        return Error{"The worked example holds up to " + std::to_string(matrix_size_limit) +
                     " tokens and components. Choose fewer tokens."};
    WorkedState w = worked_of(state);
    w.clear_matrices();
    w.source = Source::qkv;
    w.origin = {.kind = Origin::Kind::taken, .from = head.from};
    w.q = head.q;
    w.k = head.k;
    w.v = head.v;
    const auto labels = [](std::vector<std::string> names, Index count) {
        for (std::string& name : names)
            if (!is_label(name)) name.clear();
        resize_labels(names, count);
        return names;
    };
    w.query_labels = labels(head.query_labels, w.queries());
    w.key_labels = labels(head.key_labels, w.keys());
    w.scale_by_sqrt_d = head.scale_by_sqrt_d;
    w.temperature = head.temperature;
    w.softcap = head.softcap;
    if (!may_be_temperature(w.temperature) || !may_be_softcap(w.softcap))
        return Error{
            "This head cannot be edited here: its scale or its soft cap is beyond what the example "
            "supports."};
    w.mask = {};
    if (head.allowed && std::ssize(*head.allowed) != w.queries() * w.keys())
        return Error{"This head cannot be edited here: its mask and its scores differ in shape."};
    if (!is_utf8(head.from) || head.from.size() > origin_limit)
        return Error{"Where a head comes from is said in at most 200 bytes of UTF-8."};
    if (head.allowed) w.mask = {.kind = WorkedMask::Kind::painted, .painted = *head.allowed};
    if (const Status sound = check_inputs(w); !sound)
        return Error{"This head cannot be edited here: " + sound.error().message};
    state.edit<WorkedState>() = std::move(w);
    show_subject(state, worked_subject);
    state.lens = usual_lens(state);
    state.selection = {};
    state.pin.reset();
    return ok();
}
std::string TakeHead::describe(const State&) const { return "took " + head.from; }

}  // namespace attn::app
