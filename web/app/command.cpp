#include "app/command.hpp"

#include <algorithm>

#include "app/format.hpp"
#include "app/presets.hpp"
#include "app/worked_run.hpp"

namespace attn::app {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
    using Ts::operator()...;
};

Error bad_size(Index size) {
    return {"A matrix here has 1 to " + std::to_string(worked_size_limit) + " rows and columns, not " +
            std::to_string(size) + "."};
}

Error bad_value(MatrixId matrix, double value) {
    return {std::string(symbol(matrix)) + " cannot hold " + shortest(value) +
            ": a cell holds what f32 can, up to 3.4e38" +
            (matrix == MatrixId::raw ? ", or inf or -inf." : ".")};
}

bool may_select(const State& state, const Selection& s) {
    const bool worked = state.lens == LensId::worked;
    const auto within = [](Index i, Index size) { return i >= 0 && i < size; };
    return within(s.layer, position_limit) && within(s.head, position_limit) &&
           (!s.query || within(*s.query, worked ? state.worked.queries() : position_limit)) &&
           (!s.key || within(*s.key, worked ? state.worked.keys() : position_limit)) &&
           (!s.counterpart || within(*s.counterpart, position_limit));
}

bool may_pin(const State& state, const CellRef& cell) {
    if (cell.second && (state.lens != LensId::sentence || !state.sentence.compared)) return false;
    const bool of_tokens = state.lens == LensId::sentence || state.lens == LensId::tensors;
    if (cell.words && (cell.second || cell.matrix != MatrixId::weight || !of_tokens)) return false;
    MatrixShape shape = shape_of(state.worked, cell.matrix);
    if (of_tokens)  // which show no projections
        shape = cell.matrix < MatrixId::q ? MatrixShape{} : MatrixShape{position_limit, position_limit};
    return cell.row >= 0 && cell.row < shape.rows && cell.col >= 0 && cell.col < shape.cols;
}

// Painting starts from what the present mask allows.
void start_painting(WorkedState& w) {
    const Mask now = spec_of(w).mask;
    w.mask = {.kind = WorkedMask::Kind::painted};
    for (Index i = 0; i < w.queries(); ++i)
        for (Index j = 0; j < w.keys(); ++j) w.mask.painted.push_back(now.allows(0, i, j));
}

Result<State> paste(State state, const PasteCells& command) {
    WorkedState& w = state.worked;
    const MatrixId id = command.at.matrix;
    const Index top = command.at.row, left = command.at.col;
    Matrix* m = w.input(id);
    if (!m) return Error{std::string(symbol(id)) + " is computed here; paste into one of the inputs."};
    if (!m->holds(top, left)) return Error{"There is no such cell to paste at."};
    if (command.cells.empty()) return Error{"The pasted text holds no numbers."};
    const auto [row_axis, col_axis] = axes_of(id);
    for (const auto& [axis, size] :
         {std::pair(row_axis, top + command.cells.rows), std::pair(col_axis, left + command.cells.cols)}) {
        if (size > worked_size_limit) return bad_size(size);
        if (size > size_of(w, axis)) resize(w, axis, size);
    }
    for (Index r = 0; r < command.cells.rows; ++r)
        for (Index c = 0; c < command.cells.cols; ++c) {
            const double value = command.cells.at(r, c);
            if (!may_hold(id, value)) return bad_value(id, value);
            m->at(top + r, left + c) = value;
        }
    w.origin = {.kind = Origin::Kind::entered};
    return state;
}

Result<State> set_source(State state, Source source) {
    WorkedState& w = state.worked;
    if (source == w.source) return state;
    const WorkedState before = w;
    const bool scores_given = before.source == Source::scores;
    auto run = run_worked(before);
    if (!run) return run.error();
    w.clear_matrices();
    switch (source) {
        case Source::qkv:  // S = S I
            w.q = scores_given ? before.scores : std::move(run->q);
            w.k = scores_given ? identity(before.keys(), before.keys()) : std::move(run->k);
            w.v = std::move(run->v);
            break;
        case Source::projections:  // X = Q and W_Q = I keep Q; K and V follow from X from now on
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
    return state;
}

struct Applier {
    State state;

    Result<State> operator()(const OpenLens& c) {
        if (c.lens == state.lens) return state;
        state.lens = c.lens;
        // Rows, keys and cells of one lens are not those of another.
        state.selection.forget_tokens();
        state.pin.reset();
        return state;
    }
    Result<State> operator()(const OpenPreset& c) {
        state.worked = preset_state(c.preset);
        state.pin.reset();
        state.selection.forget_tokens();
        return state;
    }
    Result<State> operator()(const SetCell& c) {
        Matrix* m = state.worked.input(c.cell.matrix);
        if (!m || !m->holds(c.cell.row, c.cell.col))
            return Error{"That cell cannot be edited: it is computed from the inputs."};
        if (!may_hold(c.cell.matrix, c.value)) return bad_value(c.cell.matrix, c.value);
        m->at(c.cell.row, c.cell.col) = c.value;
        return state;
    }
    Result<State> operator()(const PasteCells& c) { return paste(state, c); }
    Result<State> operator()(const Resize& c) {
        if (c.size < 1 || c.size > worked_size_limit) return bad_size(c.size);
        if (size_of(state.worked, c.axis) == 0) return Error{"This example has no such dimension to change."};
        resize(state.worked, c.axis, c.size);
        return state;
    }
    Result<State> operator()(const RemoveAt& c) {
        const Index size = size_of(state.worked, c.axis);
        if (c.index < 0 || c.index >= size)
            return Error{"There is no row or column " + std::to_string(c.index) + "."};
        if (size == 1) return Error{"The last row or column stays: attention needs at least one."};
        remove_at(state.worked, c.axis, c.index);
        state.selection.forget_tokens();
        state.pin.reset();
        return state;
    }
    Result<State> operator()(const SetSource& c) { return set_source(state, c.source); }
    Result<State> operator()(const Generate& c) {
        WorkedState& w = state.worked;
        const Index keys = w.keys(), d_k = w.source == Source::scores ? keys : w.d_k();
        generate_qkv(w, {Origin::Kind::generated, c.seed, w.queries(), keys, d_k, w.d_v() ? w.d_v() : keys});
        return state;
    }
    Result<State> operator()(const SetScaling& c) {
        if (state.worked.source == Source::scores && c.by_sqrt_d)
            return Error{"Given scores have no d_k to be scaled by."};
        state.worked.scale_by_sqrt_d = c.by_sqrt_d;
        return state;
    }
    Result<State> operator()(const SetTemperature& c) {
        if (!(c.temperature >= 0.01 && c.temperature <= 100))
            return Error{"The temperature " + shortest(c.temperature) + " is outside 0.01 to 100."};
        state.worked.temperature = c.temperature;
        return state;
    }
    Result<State> operator()(const SetSoftcap& c) {
        if (!(c.softcap == 0 || (c.softcap >= 0.01 && c.softcap <= 1000)))
            return Error{"The soft cap " + shortest(c.softcap) +
                         " is neither 0 (off) nor from 0.01 to 1000."};
        state.worked.softcap = c.softcap;
        return state;
    }
    Result<State> operator()(const SetMask& c) {
        WorkedState& w = state.worked;
        const auto reaches = [](Index tokens) { return tokens >= 0 && tokens <= worked_size_limit; };
        if (c.offset < -worked_size_limit || c.offset > worked_size_limit || !reaches(c.before) ||
            !reaches(c.after))
            return Error{"A mask reaches at most " + std::to_string(worked_size_limit) + " tokens here."};
        switch (c.kind) {
            case WorkedMask::Kind::none: w.mask = {}; break;
            case WorkedMask::Kind::causal: w.mask = {.kind = c.kind, .offset = c.offset}; break;
            case WorkedMask::Kind::window:
                w.mask = {.kind = c.kind, .before = c.before, .after = c.after};
                break;
            case WorkedMask::Kind::painted: start_painting(w); break;
        }
        return state;
    }
    Result<State> operator()(const PaintMask& c) {
        WorkedState& w = state.worked;
        if (c.query < 0 || c.query >= w.queries() || c.key < 0 || c.key >= w.keys())
            return Error{"That cell lies outside the mask."};
        start_painting(w);
        w.mask.painted[static_cast<std::size_t>(c.query * w.keys() + c.key)] = c.allowed;
        return state;
    }
    Result<State> operator()(const SetLabel& c) {
        WorkedState& w = state.worked;
        const bool shared = w.source == Source::projections;
        if (!is_label(c.text)) return Error{"A token's name is UTF-8 of at most 64 bytes."};
        for (auto* labels : {&w.query_labels, &w.key_labels}) {
            if (!shared && (labels == &w.key_labels) != c.key) continue;
            if (c.index < 0 || c.index >= std::ssize(*labels)) return Error{"There is no such token."};
            (*labels)[static_cast<std::size_t>(c.index)] = c.text;
        }
        return state;
    }
    Result<State> operator()(const SetText& c) {
        if (!is_utf8(c.text)) return Error{"The text is not UTF-8."};
        state.sentence.text = c.text;
        return state;
    }
    Result<State> operator()(const Compare& c) {
        if (c.with && !is_utf8(c.with->text)) return Error{"The second text is not UTF-8."};
        if (c.text && !is_utf8(*c.text)) return Error{"The text is not UTF-8."};
        if (!c.with) state.selection.counterpart.reset();
        if (c.text) state.sentence.text = *c.text;
        state.sentence.compared = c.with;
        return state;
    }
    Result<State> operator()(const SetModel& c) {
        if (c.name == state.sentence.model && !state.sentence.trained)
            return state;  // a link that names it has chosen already
        if (!is_model_name(c.name)) return Error{"A model's name is UTF-8 of at most 200 bytes."};
        state.sentence.model = c.name;
        state.sentence.trained.reset();
        state.sentence.flow.heads.clear();
        state.selection = {};
        state.pin.reset();
        return state;
    }
    Result<State> operator()(const OpenTrained& c) {
        if (const Status sound = check(c.network); !sound) return sound.error();
        if (!is_utf8(c.text)) return Error{"The text is not UTF-8."};
        const TrainedHere network{normalised(c.network.plan), c.network.step};
        state.lens = LensId::sentence;
        state.sentence.text = c.text;
        state.sentence.model = name_of(network);
        state.sentence.trained = network;
        state.sentence.compared.reset();
        state.sentence.flow.heads.clear();
        state.selection = {};
        state.selection.layer = c.head.layer;
        state.selection.head = c.head.head;
        if (!may_select(state, state.selection)) return Error{"There is no such head to choose."};
        state.pin.reset();
        state.training.running = false;
        if (state.training.plan == network.plan) state.training.step = network.step;
        return state;
    }
    Result<State> operator()(const SetMap& c) { return set_map(c.map, state.sentence.map); }
    Result<State> operator()(const AddBookmark& c) { return add(c.place, state.sentence.bookmarks); }
    Result<State> operator()(const RemoveBookmark& c) { return remove(c.index, state.sentence.bookmarks); }
    Result<State> operator()(const SetHeads& c) { return set_heads(c.heads, state.sentence.heads); }
    Result<State> operator()(const SetFlow& c) { return set_flow(c.flow, state.sentence.flow); }
    Result<State> operator()(const SetSampling& c) {
        const SamplingState& s = c.sampling;
        if (!(s.temperature >= 0 && s.temperature <= 100) || s.top_k < 0 || !(s.top_p > 0 && s.top_p <= 1))
            return Error{
                "Sampling takes a temperature from 0 to 100, a top-k of 0 or more and a top-p above 0 up to "
                "1."};
        state.sentence.sampling = s;
        return state;
    }
    Result<State> operator()(const SetTrainingPlan& c) { return train(c.plan, 0); }
    Result<State> operator()(const ForkTraining& c) {
        TrainingState& t = state.training;
        if (c.step < 0 || c.step >= t.plan.steps)
            return Error{"A run of " + std::to_string(t.plan.steps) + " steps cannot be forked at step " +
                         std::to_string(c.step) + "."};
        TrainingPlan plan = forked(t.plan, c.step, c.values);
        if (plan == t.plan) return state;
        t.compared = t.plan;
        return train(plan, c.step);
    }
    Result<State> operator()(const CompareTraining& c) {
        if (c.plan)
            if (const Status sound = check(*c.plan); !sound) return sound.error();
        state.training.compared = c.plan;
        if (c.plan) state.training.compared = normalised(*c.plan);
        return state;
    }
    Result<State> operator()(const ShowTrainingStep& c) {
        if (c.step)
            if (const Status there = check(TrainedHere{state.training.plan, *c.step}); !there)
                return there.error();
        state.training.step = c.step;
        return state;
    }
    Result<State> operator()(const RunTraining& c) {
        state.training.running = c.on;
        return state;
    }
    Result<State> operator()(const SetTrainingMaps& c) {
        state.training.maps = c.maps;
        return state;
    }
    Result<State> operator()(const OpenTensors& c) {
        if (!are_file_names(c.files))
            return Error{"There are at most " + std::to_string(tensor_file_limit) +
                         " files of tensors, with names of UTF-8 of at most 200 bytes."};
        const bool known = c.files == state.tensors.files;  // a link that names them has chosen already
        if (!known) {
            state.tensors.files = c.files;
            state.tensors.rule = {};
            state.tensors.flow.heads.clear();
        }
        if (!known || state.lens != LensId::tensors) {
            state.lens = LensId::tensors;
            state.selection = {};
            state.pin.reset();
        }
        return state;
    }
    Result<State> operator()(const SetTensorMap& c) { return set_map(c.map, state.tensors.map); }
    Result<State> operator()(const SetTensorRule& c) {
        state.tensors.rule = c.rule;
        return state;
    }
    Result<State> operator()(const SetTensorHeads& c) { return set_heads(c.heads, state.tensors.heads); }
    Result<State> operator()(const SetTensorFlow& c) { return set_flow(c.flow, state.tensors.flow); }
    Result<State> operator()(const AddTensorBookmark& c) { return add(c.place, state.tensors.bookmarks); }
    Result<State> operator()(const RemoveTensorBookmark& c) {
        return remove(c.index, state.tensors.bookmarks);
    }
    Result<State> operator()(const Select& c) {
        if (!may_select(state, c.selection)) return Error{"There is no such row or column to choose."};
        state.selection = c.selection;
        return state;
    }
    Result<State> operator()(const Pin& c) {
        if (c.cell && !may_pin(state, *c.cell)) return Error{"There is no such cell to pin."};
        state.pin = c.cell;
        return state;
    }

    Result<State> add(const Bookmark& p, std::vector<Bookmark>& marks) {
        const auto lies_within = [](Range range) {
            return range.begin >= 0 && range.begin < range.end && range.end <= position_limit;
        };
        if (!lies_within(p.queries) || !lies_within(p.keys) || p.layer < 0 || p.layer >= position_limit ||
            p.head < 0 || p.head >= position_limit)
            return Error{"There is no such part of a map to mark."};
        if (std::ranges::find(marks, p) != marks.end()) return state;
        if (marks.size() >= bookmark_limit)
            return Error{"There is room for " + std::to_string(bookmark_limit) +
                         " bookmarks. Remove one first."};
        marks.push_back(p);
        return state;
    }

    Result<State> remove(std::size_t index, std::vector<Bookmark>& marks) {
        if (index >= marks.size()) return Error{"There is no such bookmark."};
        marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(index));
        return state;
    }

    Result<State> set_map(const MapChoice& map, MapChoice& of) {
        if (!(map.least >= 0 && map.least <= 1))
            return Error{"The least share of the colour scale lies between 0 and 1."};
        of = map;
        return state;
    }

    Result<State> set_heads(const HeadsChoice& heads, HeadsChoice& of) {
        if (heads.against && !heads.by)
            return Error{"Heads are scattered over two scores; the one across is missing."};
        of = heads;
        return state;
    }

    Result<State> set_flow(const FlowChoice& flow, FlowChoice& of) {
        const std::vector<HeadIndex>& heads = flow.heads;
        if (!(flow.mass >= 0 && flow.mass <= 1)) return Error{"The share of a row lies between 0 and 1."};
        if (heads.size() >= flow_heads_limit)
            return Error{"The flow shows at most " + std::to_string(flow_heads_limit) + " heads at once."};
        for (auto head = heads.begin(); head != heads.end(); ++head)
            if (!may_select(state, {head->layer, head->head, {}, {}}) ||
                std::find(heads.begin(), head, *head) != head)
                return Error{"There is no such head to show."};
        of = flow;
        return state;
    }

    // A run in motion is shown as it grows, another from where it begins.
    Result<State> train(const TrainingPlan& plan, std::int64_t begins) {
        if (const Status sound = check(plan); !sound) return sound.error();
        TrainingState& t = state.training;
        t.plan = normalised(plan);
        if (t.running)
            t.step.reset();
        else if (t.step)
            t.step = begins;
        return state;
    }
};

}  // namespace

bool is_label(std::string_view text) { return text.size() <= 64 && is_utf8(text); }
bool is_model_name(std::string_view text) { return text.size() <= 200 && is_utf8(text); }
bool are_file_names(const std::vector<std::string>& names) {
    return names.size() <= tensor_file_limit &&
           std::ranges::all_of(names, [](const auto& name) { return !name.empty() && is_model_name(name); });
}

Result<State> apply(const State& state, const Command& command) {
    auto next = std::visit(Applier{state}, command);
    if (!next) return next;
    // What a smaller or another example no longer has is no longer chosen.
    if (!may_select(*next, next->selection)) next->selection.forget_tokens();
    if (next->pin && !may_pin(*next, *next->pin)) next->pin.reset();
    return next;
}

namespace {

std::string describe_heads(const HeadsChoice& heads) {
    const auto& [by, against] = heads;
    return !by ? "heads by layer"
               : std::string("heads by ") + info(*by).name +
                     (against ? std::string(" and ") + info(*against).name : "");
}

std::string describe_flow(const FlowChoice& before, const FlowChoice& flow) {
    if (flow.heads != before.heads) return "heads of the flow";
    if (flow.form != before.form) return "form of the flow";
    return "edges for " + shortest(flow.mass) + " of each row";
}

}  // namespace

std::string describe(const State& before, const Command& command) {
    const WorkedState& w = before.worked;
    const auto axis_name = [&](Axis axis) -> std::string {
        switch (axis) {
            case Axis::queries: return w.source == Source::projections ? "tokens" : "queries";
            case Axis::keys: return w.source == Source::projections ? "tokens" : "keys";
            case Axis::d_k: return "d_k";
            case Axis::d_v: return "d_v";
            case Axis::d_model: return "d_model";
        }
        return "";
    };
    return std::visit(
        Overloaded{
            [&](const SetCell& c) {
                const Matrix* m = w.input(c.cell.matrix);
                if (!m || !m->holds(c.cell.row, c.cell.col)) return std::string();
                return cell_name(w, c.cell) + " " + shortest(m->at(c.cell.row, c.cell.col)) + " → " +
                       shortest(c.value);
            },
            [](const OpenLens& c) {
                static constexpr std::array names{"Worked example", "Sentence", "Training", "Tensors"};
                return std::string("opened ") + names[static_cast<std::size_t>(c.lens)];
            },
            [](const OpenPreset& c) { return "example " + std::string(info(c.preset).letter); },
            [](const PasteCells& c) {
                return "pasted " + std::to_string(c.cells.rows) + "×" + std::to_string(c.cells.cols) +
                       " into " + std::string(symbol(c.at.matrix));
            },
            [&](const Resize& c) {
                return axis_name(c.axis) + " " + std::to_string(size_of(w, c.axis)) + " → " +
                       std::to_string(c.size);
            },
            [&](const RemoveAt& c) {
                return "removed " + std::to_string(c.index) + " of " + axis_name(c.axis);
            },
            [](const SetSource& c) {
                switch (c.source) {
                    case Source::projections: return std::string("from X and projections");
                    case Source::qkv: return std::string("from Q, K, V");
                    case Source::scores: break;
                }
                return std::string("from scores");
            },
            [](const Generate& c) { return "generated with seed " + std::to_string(c.seed); },
            [](const SetScaling& c) { return std::string(c.by_sqrt_d ? "scale 1/√d_k" : "no scale"); },
            [](const SetTemperature& c) { return "temperature " + shortest(c.temperature); },
            [](const SetSoftcap& c) {
                return c.softcap == 0 ? std::string("no soft cap") : "soft cap " + shortest(c.softcap);
            },
            [](const SetMask& c) {
                switch (c.kind) {
                    case WorkedMask::Kind::none: return std::string("no mask");
                    case WorkedMask::Kind::causal: return "causal mask, offset " + std::to_string(c.offset);
                    case WorkedMask::Kind::window:
                        return "window of " + std::to_string(c.before) + " before, " +
                               std::to_string(c.after) + " after";
                    case WorkedMask::Kind::painted: break;
                }
                return std::string("painted mask");
            },
            [&](const PaintMask& c) {
                return (c.allowed ? "allowed " : "hid ") + cell_name(w, {MatrixId::masked, c.query, c.key});
            },
            [](const SetLabel& c) { return "renamed to " + c.text; },
            [](const SetText&) { return std::string("text"); },
            [&](const Compare& c) {
                if (!c.with) return std::string("one text alone");
                const auto& now = before.sentence.compared;
                return std::string(!now                        ? "compared with a second text"
                                   : now->text != c.with->text ? "second text"
                                                               : "comparison");
            },
            [](const SetModel& c) { return "model " + c.name; },
            [](const OpenTrained& c) {
                return "opened the network of step " + std::to_string(c.network.step);
            },
            [](const SetMap&) { return std::string("map"); },
            [](const AddBookmark&) { return std::string("bookmark"); },
            [](const RemoveBookmark&) { return std::string("bookmark removed"); },
            [](const SetHeads& c) { return describe_heads(c.heads); },
            [&](const SetFlow& c) { return describe_flow(before.sentence.flow, c.flow); },
            [](const SetSampling&) { return std::string("sampling"); },
            [](const SetTrainingPlan&) { return std::string("training plan"); },
            [](const ForkTraining& c) { return "training forked at step " + std::to_string(c.step); },
            [](const CompareTraining& c) {
                return std::string(c.plan ? "training compared" : "training on its own");
            },
            [](const ShowTrainingStep&) { return std::string("training step"); },
            [](const RunTraining& c) { return std::string(c.on ? "training" : "training paused"); },
            [](const SetTrainingMaps& c) {
                return std::string(c.maps == TrainingMaps::gradient ? "maps of the gradient"
                                                                    : "maps of weights");
            },
            [](const OpenTensors& c) {
                return c.files.empty() ? std::string("closed the tensors") : "opened " + c.files.front();
            },
            [](const SetTensorMap&) { return std::string("map"); },
            [](const SetTensorRule& c) {
                return std::string(c.rule.causal == TensorRule::Causal::none ? "no mask" : "causal mask") +
                       (c.rule.scale_by_sqrt_d ? "" : ", no scale");
            },
            [](const SetTensorHeads& c) { return describe_heads(c.heads); },
            [&](const SetTensorFlow& c) { return describe_flow(before.tensors.flow, c.flow); },
            [](const AddTensorBookmark&) { return std::string("bookmark"); },
            [](const RemoveTensorBookmark&) { return std::string("bookmark removed"); },
            [](const Select&) { return std::string("selection"); },
            [](const Pin&) { return std::string("pin"); },
        },
        command);
}

bool is_navigation(const Command& command) {
    return std::holds_alternative<Select>(command) || std::holds_alternative<Pin>(command) ||
           std::holds_alternative<ShowTrainingStep>(command) || std::holds_alternative<RunTraining>(command);
}

}  // namespace attn::app
