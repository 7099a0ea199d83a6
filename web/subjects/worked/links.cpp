// Writes the worked example into links: the example, the matrices that differ from it, and its rules.
#include <algorithm>
#include <array>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/worked/commands.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked.hpp"
#include "subjects/worked/worked_run.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

constexpr std::array inputs{Stage::x, Stage::w_q, Stage::w_k, Stage::w_v,
                            Stage::q, Stage::k,   Stage::v,   Stage::raw};
std::string_view link_name(Stage input) { return input == Stage::raw ? "scores" : info(input).key; }

constexpr std::array<std::string_view, 3> source_names{"projections", "qkv", "scores"};

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
    if (!seed || std::ranges::any_of(sizes, [](Index size) { return size < 1 || size > matrix_size_limit; }))
        return false;
    generate_qkv(worked, {Origin::Kind::generated, *seed, sizes[0], sizes[1], sizes[2], sizes[3]});
    return true;
}

// Returns the State of a link with the same example and source, but no other key.
WorkedState usual_of(const WorkedState& worked) {
    WorkedState usual = origin_state(worked);
    resize_labels(usual.query_labels, worked.queries());
    resize_labels(usual.key_labels, worked.keys());
    if (usual.source == Source::projections) usual.key_labels = usual.query_labels;
    return usual;
}

bool knows(std::string_view key) {
    return key == "ex" || key == "source" || std::ranges::find(inputs, key, link_name) != inputs.end();
}

// Reads all of the matrices, or none if they do not fit together: half a set would be a different example.
void read(LinkReader& link, State& state) {
    link.value("ex", "one of the examples", [&](const std::string& text) {
        const auto preset = preset_by_key(text);
        return preset && take(state, OpenPreset{*preset});
    });
    WorkedState worked = worked_of(state);
    link.value("source", "projections, qkv, scores or randn,seed,queries,keys,d_k,d_v",
               [&](const std::string& text) { return read_source(worked, text); });
    const auto used = inputs_of(worked.source);
    for (const Stage id : inputs) {
        if (std::ranges::find(used, id) == used.end())
            link.value(link_name(id), "an input of this example", [](const std::string&) { return false; });
        else
            link.value(link_name(id), "rows x columns: numbers, up to 64x64 of them",
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
        link.drop("The link's matrices are left out: " + why);
        worked = preset_state(worked.preset);
    }
    const WorkedState usual = usual_of(worked);
    worked.query_labels = usual.query_labels;
    worked.key_labels = usual.key_labels;
    if (worked != worked_of(state)) state.edit<WorkedState>() = std::move(worked);
}

void write(const LinkWriter& link, const State& state, State& usual) {
    const WorkedState& worked = worked_of(state);
    if (worked.preset != initial<WorkedState>().preset) link("ex", info(worked.preset).key);
    if (worked.origin != preset_state(worked.preset).origin) link("source", write_source(worked));
    WorkedState plain = usual_of(worked);
    for (const Stage id : inputs_of(worked.source)) {
        const Matrix& matrix = *worked.stored(id);
        if (matrix != *plain.stored(id)) link(link_name(id), write_matrix(matrix));
    }
    usual.edit<WorkedState>() = std::move(plain);
}

bool read_painted(WorkedState& worked, std::string_view text) {
    auto cells = read_cells(text, static_cast<std::size_t>(worked.queries() * worked.keys()));
    if (!cells) return false;
    worked.mask = {.kind = WorkedMask::Kind::painted, .painted = *std::move(cells)};
    return true;
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
    if (kind == "painted") return read_painted(state.edit<WorkedState>(), text);
    const auto reach = read_integers(text);
    if (!reach) return false;
    if (kind == "causal" && reach->size() == 1)
        return take(state, SetMask{.kind = WorkedMask::Kind::causal, .offset = (*reach)[0]});
    if (kind == "window" && reach->size() == 2)
        return take(state,
                    SetMask{.kind = WorkedMask::Kind::window, .before = (*reach)[0], .after = (*reach)[1]});
    return false;
}

template <class Value, class Write>
std::optional<std::string> unless_usual(const Value& value, const Value& usual, Write write) {
    if (value == usual) return std::nullopt;
    return write(value);
}

constexpr LinkRow worked_rows[] = {
    {"worked.from", "where the example's Q, K and V were taken from, in at most 200 bytes of UTF-8",
     [](State& s, const std::string& value) {
         Origin origin = worked_of(s).origin;
         if (origin.kind != Origin::Kind::entered || value.size() > origin_limit || !is_utf8(value))
             return false;
         s.edit<WorkedState>().origin = {.kind = Origin::Kind::taken, .from = value};
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const Origin& origin = worked_of(s).origin;
         if (origin.kind != Origin::Kind::taken) return std::nullopt;
         return origin.from;
     }},
    {"queries", "a name of at most 64 bytes for each query",
     [](State& s, const std::string& value) {
         WorkedState& w = s.edit<WorkedState>();
         if (!read_labels(w.query_labels, value)) return false;
         if (w.source == Source::projections) w.key_labels = w.query_labels;
         return true;
     },
     [](const State& s, const State& usual) {
         return unless_usual(worked_of(s).query_labels, worked_of(usual).query_labels, write_names);
     }},
    {"keys", "a name of at most 64 bytes for each key, where keys are not the queries",
     [](State& s, const std::string& value) {
         return worked_of(s).source != Source::projections &&
                read_labels(s.edit<WorkedState>().key_labels, value);
     },
     [](const State& s, const State& usual) -> std::optional<std::string> {
         if (worked_of(s).source == Source::projections) return std::nullopt;
         return unless_usual(worked_of(s).key_labels, worked_of(usual).key_labels, write_names);
     }},
    {"scale", "sqrt (where there is a d_k) or none",
     [](State& s, const std::string& value) {
         return (value == "sqrt" || value == "none") && take(s, SetScaling{value == "sqrt"});
     },
     [](const State& s, const State& usual) {
         return unless_usual(worked_of(s).scale_by_sqrt_d, worked_of(usual).scale_by_sqrt_d,
                             [](bool by_sqrt_d) { return std::string(by_sqrt_d ? "sqrt" : "none"); });
     }},
    {"T", "a number from 0.01 to 100",
     [](State& s, const std::string& value) {
         const auto number = read_number(value);
         return number && take(s, SetTemperature{*number});
     },
     [](const State& s, const State& usual) {
         return unless_usual(worked_of(s).temperature, worked_of(usual).temperature,
                             [](double t) { return shortest(t); });
     }},
    {"cap", "0 or a number from 0.01 to 1000",
     [](State& s, const std::string& value) {
         const auto number = read_number(value);
         return number && take(s, SetSoftcap{*number});
     },
     [](const State& s, const State& usual) {
         return unless_usual(worked_of(s).softcap, worked_of(usual).softcap,
                             [](double cap) { return shortest(cap); });
     }},
    {"mask", "none, causal,offset, window,before,after or painted cells of its size",
     [](State& s, const std::string& value) { return read_mask(s, value); },
     [](const State& s, const State& usual) {
         return unless_usual(worked_of(s).mask, worked_of(usual).mask, write_mask);
     }},
};

struct LooksKeys {
    static constexpr std::string_view subject = worked_subject, map = "worked.map", heads = "worked.heads",
                                      flow = "worked.flow", bookmarks = "worked.places",
                                      window = "worked.window", marked = "worked.marked",
                                      spans = "worked.spans";
};
constexpr auto all_rows = joined(worked_rows, LooksRows<LooksKeys>::rows);

}  // namespace

LinkRows worked_links() { return {all_rows, {knows, read, write}}; }

}  // namespace attn::app
