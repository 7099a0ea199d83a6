#include "app/url.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "app/command.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "app/presets.hpp"
#include "app/worked_run.hpp"
#include "io/quote.hpp"

namespace attn::app {

namespace {

constexpr std::size_t fragment_limit = std::size_t{1} << 20;
constexpr std::ptrdiff_t text_limit = 2000;  // characters

constexpr std::array<std::string_view, matrix_count> matrix_names{
    "X", "W_Q", "W_K", "W_V", "Q", "K", "V", "scores", "scaled", "capped", "masked", "weight", "output"};
std::string_view name_of(MatrixId id) { return matrix_names[static_cast<std::size_t>(id)]; }

constexpr std::array<std::string_view, 3> source_names{"projections", "qkv", "scores"};
constexpr std::array<std::string_view, 3> comparison_names{"sides", "blink", "difference"};

template <std::size_t n>
std::optional<int> index_of(const std::array<std::string_view, n>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<int>(found - names.begin());
}

bool take(State& state, const Command& command) {
    auto next = app::apply(state, command);
    if (!next) return false;
    state = *std::move(next);
    return true;
}

bool read_painted(WorkedState& worked, std::string_view text) {
    auto cells = read_cells(text, static_cast<std::size_t>(worked.queries() * worked.keys()));
    if (cells) worked.mask = {.kind = WorkedMask::Kind::painted, .painted = *std::move(cells)};
    return cells.has_value();
}

std::string write_mask(const WorkedMask& mask) {
    switch (mask.kind) {
        case WorkedMask::Kind::none: return "none";
        case WorkedMask::Kind::causal: return "causal," + std::to_string(mask.offset);
        case WorkedMask::Kind::window: return "window," + write_integers(std::array{mask.before, mask.after});
        case WorkedMask::Kind::painted: break;
    }
    return "painted," + write_cells(mask.painted);
}

bool read_labels(std::vector<std::string>& labels, std::string_view text) {
    auto names = read_names(text, labels.size());
    if (!names || !std::ranges::all_of(*names, is_label)) return false;
    labels = *std::move(names);
    return true;
}

bool read_mask(State& state, std::string_view text) {
    if (text == "none") return take(state, SetMask{WorkedMask::Kind::none});
    const auto comma = text.find(',');
    if (comma == std::string_view::npos) return false;
    const auto kind = text.substr(0, comma);
    text.remove_prefix(comma + 1);
    if (kind == "painted") return read_painted(state.worked, text);
    const auto reach = read_integers(text);
    if (!reach) return false;
    if (kind == "causal" && reach->size() == 1)
        return take(state, SetMask{.kind = WorkedMask::Kind::causal, .offset = (*reach)[0]});
    if (kind == "window" && reach->size() == 2)
        return take(state,
                    SetMask{.kind = WorkedMask::Kind::window, .before = (*reach)[0], .after = (*reach)[1]});
    return false;
}

std::string write_source(const WorkedState& w) {
    const Origin& o = w.origin;
    if (o.kind != Origin::Kind::generated)
        return std::string(source_names[static_cast<std::size_t>(w.source)]);
    return "randn," + std::to_string(o.seed) + "," +
           write_integers(std::array{o.queries, o.keys, o.d_k, o.d_v});
}

bool read_source(WorkedState& worked, std::string_view text) {
    if (const auto source = index_of(source_names, text)) {
        worked.clear_matrices();
        worked.source = static_cast<Source>(*source);
        worked.origin = {.kind = Origin::Kind::entered};
        return true;
    }
    const auto parts = split(text, ',');
    if (parts.size() != 6 || parts[0] != "randn") return false;
    const auto seed = read_integer<std::uint32_t>(parts[1]);
    std::array<Index, 4> sizes{};
    for (std::size_t i = 0; i < 4; ++i) sizes[i] = read_integer<Index>(parts[i + 2]).value_or(0);
    if (!seed || std::ranges::any_of(sizes, [](Index size) { return size < 1 || size > worked_size_limit; }))
        return false;
    generate_qkv(worked, {Origin::Kind::generated, *seed, sizes[0], sizes[1], sizes[2], sizes[3]});
    return true;
}

bool read_pin(State& state, std::string_view text) {
    const auto parts = split(text, '.');
    const bool second = parts.size() == 4 && parts[3] == "second",
               words = parts.size() == 4 && parts[3] == "words";
    if (parts.size() != 3 && !second && !words) return false;
    const auto matrix = index_of(matrix_names, parts[0]);
    const auto row = read_integer<Index>(parts[1]), col = read_integer<Index>(parts[2]);
    return matrix && row && col &&
           take(state, Pin{CellRef{static_cast<MatrixId>(*matrix), *row, *col, second, words}});
}

// "weight", or the stage and what else is unusual: "scaled,mean,log", "weight,nosink,0.25".
std::string write_map(const MapChoice& map) {
    const MapChoice usual;
    std::string text(map_keys[static_cast<std::size_t>(map.stage)]);
    const auto add = [&](bool unusual, std::string_view what) {
        if (unusual) text.append(",").append(what);
    };
    add(map.pooling != usual.pooling, pooling_keys[static_cast<std::size_t>(map.pooling)]);
    add(map.scaling != usual.scaling, scaling_keys[static_cast<std::size_t>(map.scaling)]);
    add(map.sink != usual.sink, sink_keys[static_cast<std::size_t>(map.sink)]);
    add(map.unit != usual.unit, unit_keys[static_cast<std::size_t>(map.unit)]);
    add(map.least != usual.least, shortest(map.least));
    return text;
}

std::optional<MapChoice> read_map(std::string_view text) {
    const auto parts = split(text, ',');
    const auto stage = index_of(map_keys, parts[0]);
    if (!stage) return std::nullopt;
    MapChoice map{static_cast<MapStage>(*stage)};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (const auto pooling = index_of(pooling_keys, parts[i]))
            map.pooling = static_cast<Pooling>(*pooling);
        else if (const auto scaling = index_of(scaling_keys, parts[i]))
            map.scaling = static_cast<Scaling>(*scaling);
        else if (const auto sink = index_of(sink_keys, parts[i]))
            map.sink = static_cast<Sink>(*sink);
        else if (const auto unit = index_of(unit_keys, parts[i]))
            map.unit = static_cast<Unit>(*unit);
        else if (const auto least = read_number(parts[i]))
            map.least = static_cast<float>(*least);
        else
            return std::nullopt;
    }
    return map;
}

// "4.7.0-12.3-9": layer, head, queries and keys from the first to the last; one after another.
std::string write_bookmarks(const std::vector<Bookmark>& bookmarks) {
    std::string text;
    const auto part = [](Range range) {
        return "." + std::to_string(range.begin) + "-" + std::to_string(range.end - 1);
    };
    for (const Bookmark& b : bookmarks)
        text += (text.empty() ? "" : ",") + std::to_string(b.layer) + "." + std::to_string(b.head) +
                part(b.queries) + part(b.keys);
    return text;
}

bool read_bookmarks(State& state, std::string_view text) {
    const auto range = [](std::string_view part) -> std::optional<Range> {
        const auto ends = split(part, '-');
        if (ends.size() != 2) return std::nullopt;
        const auto first = read_integer<Index>(ends[0]), last = read_integer<Index>(ends[1]);
        if (!first || !last || *last > position_limit) return std::nullopt;
        return Range{*first, *last + 1};
    };
    for (const auto each : split(text, ',')) {
        const auto parts = split(each, '.');
        if (parts.size() != 4) return false;
        const auto layer = read_integer<Index>(parts[0]), head = read_integer<Index>(parts[1]);
        const auto queries = range(parts[2]), keys = range(parts[3]);
        if (!layer || !head || !queries || !keys ||
            !take(state, AddBookmark{{*layer, *head, *queries, *keys}}))
            return false;
    }
    return true;
}

// "induction", or "previous,induction".
std::string write_heads(const HeadsChoice& heads) {
    std::string text;
    if (heads.by) text += info(*heads.by).key;
    if (heads.against) text.append(",").append(info(*heads.against).key);
    return text;
}

std::optional<HeadsChoice> read_heads(std::string_view text) {
    const auto parts = split(text, ',');
    if (parts.size() > 2) return std::nullopt;
    HeadsChoice heads;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto found = std::ranges::find(head_scores, parts[i], &HeadScoreInfo::key);
        if (found == head_scores.end()) return std::nullopt;
        (i == 0 ? heads.by : heads.against) = static_cast<HeadScore>(found - head_scores.begin());
    }
    return heads;
}

// "0.8", or "0.8,columns,1.0,2.3": heads as layer.head.
std::string write_flow(const FlowChoice& flow) {
    std::string text = shortest(flow.mass);
    if (flow.form != FlowChoice{}.form)
        text.append(",").append(flow_form_keys[static_cast<std::size_t>(flow.form)]);
    for (const HeadIndex& head : flow.heads)
        text += "," + std::to_string(head.layer) + "." + std::to_string(head.head);
    return text;
}

std::optional<FlowChoice> read_flow(std::string_view text) {
    const auto parts = split(text, ',');
    FlowChoice flow;
    const auto mass = read_number(parts[0]);
    if (!mass) return std::nullopt;
    flow.mass = static_cast<float>(*mass);
    std::size_t next = 1;
    if (const auto form = next < parts.size() ? index_of(flow_form_keys, parts[next]) : std::nullopt) {
        flow.form = static_cast<FlowForm>(*form);
        ++next;
    }
    for (; next < parts.size(); ++next) {
        const auto place = split(parts[next], '.');
        const auto layer = read_integer<Index>(place[0]);
        const auto head = place.size() == 2 ? read_integer<Index>(place[1]) : std::nullopt;
        if (!layer || !head) return std::nullopt;
        flow.heads.push_back({*layer, *head});
    }
    return flow;
}

bool fits_into_a_link(std::string_view text) {
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
    return std::ssize(text) - std::ranges::count_if(text, continues) <= text_limit;
}

// Null where there is none, or none that a link can hold.
const Comparison* linked_comparison(const State& s) {
    const auto& second = s.sentence.compared;
    return second && fits_into_a_link(second->text) ? &*second : nullptr;
}

std::string write_sampling(const SamplingState& s) {
    return shortest(s.temperature) + "," + std::to_string(s.top_k) + "," + shortest(s.top_p) + "," +
           std::to_string(s.seed);
}

bool read_sampling(State& state, std::string_view text) {
    const auto parts = split(text, ',');
    if (parts.size() != 4) return false;
    const auto temperature = read_number(parts[0]), top_p = read_number(parts[2]);
    const auto top_k = read_integer<Index>(parts[1]);
    const auto seed = read_integer<std::uint64_t>(parts[3]);
    return temperature && top_k && top_p && seed &&
           take(state,
                SetSampling{{static_cast<float>(*temperature), *top_k, static_cast<float>(*top_p), *seed}});
}

// "causal", "past", "causal,unscaled"; empty: as usual.
std::string write_rule(const TensorRule& rule) {
    std::string text;
    if (rule.causal != TensorRule::Causal::none)
        text = rule.causal == TensorRule::Causal::aligned ? "causal" : "past";
    if (!rule.scale_by_sqrt_d) text += text.empty() ? "unscaled" : ",unscaled";
    return text;
}

std::optional<TensorRule> read_rule(std::string_view text) {
    using Causal = TensorRule::Causal;
    for (const Causal causal : {Causal::none, Causal::aligned, Causal::with_past})
        for (const bool scaled : {true, false})
            if (const TensorRule rule{causal, scaled}; !text.empty() && write_rule(rule) == text) return rule;
    return std::nullopt;
}

bool read_chosen(State& state, std::string_view text, void (*choose)(Selection&, Index)) {
    const auto index = read_integer<Index>(text);
    if (!index) return false;
    Selection selection = state.selection;
    choose(selection, *index);
    return take(state, Select{selection});
}

// Read in this order, after `lens`, `ex`, `source` and the matrices.
struct Setting {
    std::string_view key;
    std::string_view expected;  // "the link's value is not …"
    bool (*read)(State&, const std::string& value);
    // `usual` is what a link without this key gives; nothing where it says the same.
    std::optional<std::string> (*write)(const State& state, const State& usual);
};

template <class Value, class Write>
std::optional<std::string> unless_usual(const Value& value, const Value& usual, Write write) {
    if (value == usual) return std::nullopt;
    return write(value);
}

std::optional<std::string> write_index(const std::optional<Index>& index) {
    return index ? std::optional(std::to_string(*index)) : std::nullopt;
}

constexpr Setting settings[] = {
    {"queries", "a name of at most 64 bytes for each query",
     [](State& s, const std::string& value) {
         WorkedState& w = s.worked;
         if (!read_labels(w.query_labels, value)) return false;
         if (w.source == Source::projections) w.key_labels = w.query_labels;
         return true;
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.worked.query_labels, usual.worked.query_labels, write_names);
     }},
    {"keys", "a name of at most 64 bytes for each key, where keys are not the queries",
     [](State& s, const std::string& value) {
         return s.worked.source != Source::projections && read_labels(s.worked.key_labels, value);
     },
     [](const State& s, const State& usual) -> std::optional<std::string> {
         if (s.worked.source == Source::projections) return std::nullopt;
         return unless_usual(s.worked.key_labels, usual.worked.key_labels, write_names);
     }},
    {"scale", "sqrt (where there is a d_k) or none",
     [](State& s, const std::string& value) {
         return (value == "sqrt" || value == "none") && take(s, SetScaling{value == "sqrt"});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.worked.scale_by_sqrt_d, usual.worked.scale_by_sqrt_d,
                             [](bool by_sqrt_d) { return std::string(by_sqrt_d ? "sqrt" : "none"); });
     }},
    {"T", "a number from 0.01 to 100",
     [](State& s, const std::string& value) {
         const auto number = read_number(value);
         return number && take(s, SetTemperature{*number});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.worked.temperature, usual.worked.temperature,
                             [](double t) { return shortest(t); });
     }},
    {"cap", "0 or a number from 0.01 to 1000",
     [](State& s, const std::string& value) {
         const auto number = read_number(value);
         return number && take(s, SetSoftcap{*number});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.worked.softcap, usual.worked.softcap,
                             [](double cap) { return shortest(cap); });
     }},
    {"mask", "none, causal,offset, window,before,after or painted cells of its size",
     [](State& s, const std::string& value) { return read_mask(s, value); },
     [](const State& s, const State& usual) {
         return unless_usual(s.worked.mask, usual.worked.mask, write_mask);
     }},
    {"layer", "the number of a layer",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.layer = i; });
     },
     [](const State& s, const State&) {
         return s.selection.layer ? write_index(s.selection.layer) : std::nullopt;
     }},
    {"head", "the number of a head",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.head = i; });
     },
     [](const State& s, const State&) {
         return s.selection.head ? write_index(s.selection.head) : std::nullopt;
     }},
    {"query", "the number of a query",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.query = i; });
     },
     [](const State& s, const State&) { return write_index(s.selection.query); }},
    {"key", "the number of a key",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.key = i; });
     },
     [](const State& s, const State&) { return write_index(s.selection.key); }},
    {"counterpart", "the number of a token of the second text",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.counterpart = i; });
     },
     [](const State& s, const State&) { return write_index(s.selection.counterpart); }},
    {"with", "UTF-8 text of at most 2,000 characters",
     [](State& s, const std::string& value) {
         return fits_into_a_link(value) && take(s, Compare{Comparison{.text = value}});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const Comparison* second = linked_comparison(s);
         return second ? std::optional(second->text) : std::nullopt;
     }},
    {"compare", "sides, blink or difference, beside a second text",
     [](State& s, const std::string& value) {
         const auto view = index_of(comparison_names, value);
         if (!view || !s.sentence.compared) return false;
         return take(s, Compare{Comparison{s.sentence.compared->text, static_cast<ComparisonView>(*view)}});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const Comparison* second = linked_comparison(s);
         if (!second || second->view == Comparison{}.view) return std::nullopt;
         return std::string(comparison_names[static_cast<std::size_t>(second->view)]);
     }},
    {"pin", "a cell of this example, as weight.0.1",
     [](State& s, const std::string& value) { return read_pin(s, value); },
     [](const State& s, const State&) -> std::optional<std::string> {
         if (!s.pin || (s.pin->second && !linked_comparison(s))) return std::nullopt;
         return std::string(name_of(s.pin->matrix)) + "." + std::to_string(s.pin->row) + "." +
                std::to_string(s.pin->col) +
                (s.pin->second  ? ".second"
                 : s.pin->words ? ".words"
                                : "");
     }},
    {"text", "UTF-8 text of at most 2,000 characters",
     [](State& s, const std::string& value) { return fits_into_a_link(value) && take(s, SetText{value}); },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::string& text = s.sentence.text;
         return text.empty() || !fits_into_a_link(text) ? std::nullopt : std::optional(text);
     }},
    {"model", "the name of a model",
     [](State& s, const std::string& value) {
         if (!is_model_name(value)) return false;
         s.sentence.model = value;
         return true;
     },
     [](const State& s, const State&) {
         return s.sentence.model.empty() || s.sentence.trained ? std::nullopt
                                                               : std::optional(s.sentence.model);
     }},
    {"trained", "a step and the plan of a training run, as 640,induction",
     [](State& s, const std::string& value) {
         const std::string_view text = value;
         const auto comma = text.find(',');
         if (comma == std::string_view::npos) return false;
         const auto step = read_integer<std::int64_t>(text.substr(0, comma));
         const auto plan = parse_training_plan(text.substr(comma + 1));
         if (!step || !plan || !check(TrainedHere{*plan, *step})) return false;
         s.sentence.trained = {*plan, *step};
         s.sentence.model = name_of(*s.sentence.trained);
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& trained = s.sentence.trained;
         if (!trained) return std::nullopt;
         return std::to_string(trained->step) + "," + to_text(trained->plan);
     }},
    {"map",
     "raw, scaled, capped, masked, weight, contribution or projected, and of strongest or mean, linear, log "
     "or rank, sink, "
     "nosink or renormalised, tokens or words, and the least share that is shown, 0 to 1, what is unusual",
     [](State& s, const std::string& value) {
         const auto map = read_map(value);
         return map && take(s, SetMap{*map});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.sentence.map, usual.sentence.map, write_map);
     }},
    {"places", "parts of maps, as 4.7.0-12.3-9: layer, head, first and last query, first and last key",
     [](State& s, const std::string& value) { return read_bookmarks(s, value); },
     [](const State& s, const State&) -> std::optional<std::string> {
         if (s.sentence.bookmarks.empty()) return std::nullopt;
         return write_bookmarks(s.sentence.bookmarks);
     }},
    {"heads", "entropy, first, previous, duplicate, induction or distance, or two of them",
     [](State& s, const std::string& value) {
         const auto heads = read_heads(value);
         return heads && take(s, SetHeads{*heads});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.sentence.heads, usual.sentence.heads, write_heads);
     }},
    {"flow", "a number from 0 to 1, arcs or columns, and heads, as 0.8,columns,1.0,2.3",
     [](State& s, const std::string& value) {
         const auto flow = read_flow(value);
         return flow && take(s, SetFlow{*flow});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.sentence.flow, usual.sentence.flow, write_flow);
     }},
    {"sampling", "temperature,top-k,top-p,seed",
     [](State& s, const std::string& value) { return read_sampling(s, value); },
     [](const State& s, const State& usual) {
         return unless_usual(s.sentence.sampling, usual.sentence.sampling, write_sampling);
     }},
    {"train", "the plan of a training run, as induction,layers:3",
     [](State& s, const std::string& value) {
         const auto plan = parse_training_plan(value);
         return plan && take(s, SetTrainingPlan{*plan});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.training.plan, usual.training.plan,
                             [](const TrainingPlan& plan) { return to_text(plan); });
     }},
    {"versus", "the plan of a training run to compare with",
     [](State& s, const std::string& value) {
         const auto plan = parse_training_plan(value);
         return plan && take(s, CompareTraining{plan});
     },
     [](const State& s, const State&) {
         return s.training.compared ? std::optional(to_text(*s.training.compared)) : std::nullopt;
     }},
    {"step", "a step of the training run",
     [](State& s, const std::string& value) {
         const auto step = read_integer<std::int64_t>(value);
         return step && take(s, ShowTrainingStep{step});
     },
     [](const State& s, const State&) {
         return s.training.step ? std::optional(std::to_string(*s.training.step)) : std::nullopt;
     }},
    {"maps", "gradient",
     [](State& s, const std::string& value) {
         return value == "gradient" && take(s, SetTrainingMaps{TrainingMaps::gradient});
     },
     [](const State& s, const State&) {
         return s.training.maps == TrainingMaps::gradient ? std::optional<std::string>("gradient")
                                                          : std::nullopt;
     }},
    {"files", "names of files, separated by commas",
     [](State& s, const std::string& value) {
         const auto names = read_names(value);
         if (!fits_into_a_link(value) || !are_file_names(names)) return false;
         s.tensors.files = names;
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::string names = write_names(s.tensors.files);
         return names.empty() || !fits_into_a_link(names) ? std::nullopt : std::optional(names);
     }},
    {"shown", "a map, as weight,mean,log",
     [](State& s, const std::string& value) {
         const auto map = read_map(value);
         return map && take(s, SetTensorMap{*map});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.tensors.map, usual.tensors.map, write_map);
     }},
    {"rule", "causal or past, and unscaled",
     [](State& s, const std::string& value) {
         const auto rule = read_rule(value);
         return rule && take(s, SetTensorRule{*rule});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.tensors.rule, usual.tensors.rule, write_rule);
     }},
    {"sorted", "entropy, first, previous, duplicate, induction or distance, or two of them",
     [](State& s, const std::string& value) {
         const auto heads = read_heads(value);
         return heads && take(s, SetTensorHeads{*heads});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.tensors.heads, usual.tensors.heads, write_heads);
     }},
    {"edges", "a number from 0 to 1, arcs or columns, and heads, as 0.8,columns,1.0,2.3",
     [](State& s, const std::string& value) {
         const auto flow = read_flow(value);
         return flow && take(s, SetTensorFlow{*flow});
     },
     [](const State& s, const State& usual) {
         return unless_usual(s.tensors.flow, usual.tensors.flow, write_flow);
     }},
    {"training", "on",
     [](State& s, const std::string& value) { return value == "on" && take(s, RunTraining{true}); },
     [](const State& s, const State&) {
         return s.training.running ? std::optional<std::string>("on") : std::nullopt;
     }},
};

// The state that a link of the same example and source gives without any other key.
State usual_of(const State& state) {
    State usual = default_state();
    usual.worked = origin_state(state.worked);
    resize_labels(usual.worked.query_labels, state.worked.queries());
    resize_labels(usual.worked.key_labels, state.worked.keys());
    if (usual.worked.source == Source::projections) usual.worked.key_labels = usual.worked.query_labels;
    return usual;
}

constexpr std::string_view first_keys[] = {"v", "lens", "ex", "source"};

bool is_known(std::string_view key) {
    const auto inputs = std::span(matrix_names).first(static_cast<std::size_t>(MatrixId::raw) + 1);
    return std::ranges::find(first_keys, key) != std::end(first_keys) ||
           std::ranges::find(inputs, key) != inputs.end() ||
           std::ranges::find(settings, key, &Setting::key) != std::end(settings);
}

class Reader {
  public:
    explicit Reader(std::string_view fragment) {
        while (!fragment.empty()) {
            const auto end = std::min(fragment.find('&'), fragment.size());
            if (end > 0) add(fragment.substr(0, end));
            fragment.remove_prefix(std::min(end + 1, fragment.size()));
        }
    }

    ParsedFragment read() {
        if (const auto version = given("v"); version && *version != "1")
            return {default_state(), "The link is of version " + quote(*version) +
                                         " and this page reads version 1, so the first example is shown."};
        value("lens", "worked, sentence, training or tensors", [&](const std::string& text) {
            const auto key = std::ranges::find(lens_keys, text);
            return key != lens_keys.end() &&
                   take(state_, OpenLens{static_cast<LensId>(key - lens_keys.begin())});
        });
        value("ex", "one of the examples", [&](const std::string& text) {
            const auto preset = preset_by_key(text);
            return preset && take(state_, OpenPreset{*preset});
        });
        read_inputs();
        const State usual = usual_of(state_);
        state_.worked.query_labels = usual.worked.query_labels;
        state_.worked.key_labels = usual.worked.key_labels;
        for (const Setting& setting : settings)
            value(setting.key, setting.expected,
                  [&](const std::string& text) { return setting.read(state_, text); });
        if (dropped_ > 1)
            note_ += ", and " + std::to_string(dropped_ - 1) + " more of its values were left out";
        if (dropped_ > 0) note_ += ".";
        return {std::move(state_), std::move(note_)};
    }

  private:
    struct Given {
        std::string key;
        std::string value;
    };

    void add(std::string_view part) {
        const auto equals = part.find('=');
        const std::string_view raw_key = part.substr(0, equals);
        const std::string_view raw_value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
        const auto key = percent_decode(raw_key), value = percent_decode(raw_value);
        if (!key || !is_known(*key))
            drop("The link's key " + quote(key ? *key : raw_key) + " is not known here");
        else if (given(*key))
            drop("The link gives " + quote(*key) + " twice; the first is used");
        else if (!value)
            drop("The link's value " + quote(raw_value) + " for " + quote(*key) +
                 " is not percent-encoded text; the default is used");
        else
            given_.push_back({*key, *value});
    }

    const std::string* given(std::string_view key) const {
        const auto found = std::ranges::find(given_, key, &Given::key);
        return found == given_.end() ? nullptr : &found->value;
    }

    // The first thing dropped is named, the rest counted.
    void drop(std::string what) {
        if (dropped_++ == 0) note_ = std::move(what);
    }

    template <class Read>
    void value(std::string_view key, std::string_view expected, Read read) {
        const std::string* text = given(key);
        if (text && !read(*text))
            drop("The link's value " + quote(*text) + " for " + quote(key) + " is not " +
                 std::string(expected) + "; the default is used");
    }

    // All of them or, where they do not fit together, none: half a set of matrices is another example.
    void read_inputs() {
        WorkedState& worked = state_.worked;
        value("source", "projections, qkv, scores or randn,seed,queries,keys,d_k,d_v",
              [&](const std::string& text) { return read_source(worked, text); });
        const auto inputs = inputs_of(worked.source);
        for (int i = 0; i <= static_cast<int>(MatrixId::raw); ++i) {
            const auto id = static_cast<MatrixId>(i);
            if (std::ranges::find(inputs, id) == inputs.end())
                value(name_of(id), "an input of this example", [](const std::string&) { return false; });
            else
                value(name_of(id), "rows x columns: numbers, up to 64x64 of them",
                      [&](const std::string& text) {
                          auto matrix = read_matrix(text);
                          if (!matrix) return false;
                          *worked.stored(id) = *std::move(matrix);
                          return true;
                      });
        }
        if (const auto fits = check_inputs(worked); !fits) {
            std::string why = fits.error().message;
            why.pop_back();
            drop("The link's matrices are left out: " + why);
            worked = preset_state(worked.preset);
        }
    }

    std::vector<Given> given_;
    State state_ = default_state();
    std::string note_;
    int dropped_ = 0;
};

}  // namespace

std::string to_fragment(const State& state) {
    std::string fragment;
    const auto add = [&](std::string_view key, std::string_view value) {
        fragment.append("&").append(key).append("=").append(percent_encode(value));
    };
    if (state.lens != default_state().lens) add("lens", lens_keys[static_cast<std::size_t>(state.lens)]);
    if (state.worked.preset != default_state().worked.preset) add("ex", info(state.worked.preset).key);
    if (state.worked.origin != preset_state(state.worked.preset).origin)
        add("source", write_source(state.worked));
    const State usual = usual_of(state);
    for (const MatrixId id : inputs_of(state.worked.source)) {
        const Matrix& matrix = *state.worked.stored(id);
        if (matrix != *usual.worked.stored(id)) add(name_of(id), write_matrix(matrix));
    }
    for (const Setting& setting : settings)
        if (const auto value = setting.write(state, usual)) add(setting.key, *value);
    return fragment.empty() ? fragment : "v=1" + fragment;
}

ParsedFragment parse_fragment(std::string_view fragment) {
    if (fragment.starts_with('#')) fragment.remove_prefix(1);
    if (fragment.size() > fragment_limit)
        return {default_state(),
                "The link is longer than a million characters, so the first example is shown."};
    return Reader(fragment).read();
}

}  // namespace attn::app
