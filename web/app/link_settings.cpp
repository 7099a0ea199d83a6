#include "app/link_settings.hpp"

#include <algorithm>
#include <array>

#include "app/format.hpp"
#include "app/link_choices.hpp"
#include "app/link_text.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

constexpr std::ptrdiff_t text_limit = 2000;  // characters

constexpr std::array<std::string_view, 3> comparison_names{"sides", "blink", "difference"};

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

bool fits_into_a_link(std::string_view text) { return count_code_points(text) <= text_limit; }

// Null where there is none, or none that a link can hold.
const Comparison* linked_comparison(const State& s) {
    const auto& second = s.sentence.compared;
    return second && fits_into_a_link(second->text) ? &*second : nullptr;
}

bool read_chosen(State& state, std::string_view text, void (*choose)(Selection&, Index)) {
    const auto index = read_integer<Index>(text);
    if (!index) return false;
    Selection selection = state.selection;
    choose(selection, *index);
    return take(state, Select{selection});
}

template <class Value, class Write>
std::optional<std::string> unless_usual(const Value& value, const Value& usual, Write write) {
    if (value == usual) return std::nullopt;
    return write(value);
}

std::optional<std::string> write_index(const std::optional<Index>& index) {
    return index ? std::optional(std::to_string(*index)) : std::nullopt;
}

constexpr std::string_view expected_bookmarks =
    "parts of maps, as 4.7.0-12.3-9: layer, head, first and last query, first and last key";

template <class Add>
bool take_bookmarks(State& state, std::string_view text) {
    const auto bookmarks = read_bookmarks(text);
    return bookmarks &&
           std::ranges::all_of(*bookmarks, [&](const Bookmark& each) { return take(state, Add{each}); });
}

constexpr LinkSetting settings[] = {
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
     [](State& s, const std::string& value) {
         const auto cell = read_pin(value);
         return cell && take(s, Pin{cell});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         if (!s.pin || (s.pin->second && !linked_comparison(s))) return std::nullopt;
         return write_pin(*s.pin);
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
    {"places", expected_bookmarks,
     [](State& s, const std::string& value) { return take_bookmarks<AddBookmark>(s, value); },
     [](const State& s, const State& usual) {
         return unless_usual(s.sentence.bookmarks, usual.sentence.bookmarks, write_bookmarks);
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
     [](State& s, const std::string& value) {
         const auto sampling = read_sampling(value);
         return sampling && take(s, SetSampling{*sampling});
     },
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
    {"marks", expected_bookmarks,
     [](State& s, const std::string& value) { return take_bookmarks<AddTensorBookmark>(s, value); },
     [](const State& s, const State& usual) {
         return unless_usual(s.tensors.bookmarks, usual.tensors.bookmarks, write_bookmarks);
     }},
    {"training", "on",
     [](State& s, const std::string& value) { return value == "on" && take(s, RunTraining{true}); },
     [](const State& s, const State&) {
         return s.training.running ? std::optional<std::string>("on") : std::nullopt;
     }},
};

}  // namespace

std::span<const LinkSetting> link_settings() { return settings; }

bool take(State& state, const Command& command) {
    auto next = app::apply(state, command);
    if (!next) return false;
    state = *std::move(next);
    return true;
}

}  // namespace attn::app
