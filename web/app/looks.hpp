// Holds how a user views the heads of a subject: the map, the order of the heads, the flow, and bookmarks.
// Each subject has its own looks.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heads/head_score.hpp"
#include "app/command.hpp"
#include "app/link_rows.hpp"
#include "attention/head_index.hpp"
#include "maps/flow_shape.hpp"
#include "maps/flows.hpp"
#include "maps/sink.hpp"
#include "maps/tiles.hpp"
#include "maps/value_scale.hpp"

namespace attn::app {

inline constexpr std::size_t most_spans = 64;
inline constexpr std::ptrdiff_t longest_span_name = 40;  // characters

struct MapChoice {
    Stage stage = Stage::weight;  // a stage with a number for each pair
    Pooling pooling = Pooling::strongest;
    Scaling scaling = Scaling::linear;
    Sink sink = Sink::shown;
    float least = 0;  // 0 … 1, a fraction of the scale: weaker cells are drawn as zero
    // Larger units, and means over heads, only for weights; other stages always use tokens and one head.
    Unit unit = Unit::tokens;
    HeadMean mean = HeadMean::one;
    std::vector<TokenSpan> spans = {};  // in order, without overlaps
    bool operator==(const MapChoice&) const = default;
};

// The weights between the units, and of the heads, that a choice names, whatever else it shows.
inline MapChoice weights_of(const MapChoice& choice) {
    return {.unit = choice.unit, .mean = choice.mean, .spans = choice.spans};
}

// Without scores, heads are shown in layers; with `by` alone, from the strongest to the weakest; with both,
// as points, `by` across and `against` upwards.
struct HeadsChoice {
    std::optional<HeadScore> by, against;
    bool operator==(const HeadsChoice&) const = default;
};

struct FlowChoice {
    float mass = 0.8f;  // draw the strongest edges that make up this share of each row
    FlowForm form = FlowForm::arcs;
    // Heads shown next to the chosen one, which may be among them: each at most once, fewer than
    // flow_heads_limit.
    std::vector<HeadIndex> heads = {};
    bool operator==(const FlowChoice&) const = default;
};

// A part of a head's map that a user wants to come back to.
struct Bookmark {
    Index layer = 0, head = 0;
    Range queries, keys;
    bool operator==(const Bookmark&) const = default;
};
inline constexpr std::size_t bookmark_limit = 16;

// A marked part of the map.
struct Window {
    Range queries, keys;
    bool operator==(const Window&) const = default;
};

// The visible part of a map, in cells. Its edges may cut cells and are kept to 1/10,000 of a cell.
struct MapExtent {
    struct Span {
        double begin = 0, end = 0;
        double size() const { return end - begin; }
        bool operator==(const Span&) const = default;
    };
    Span queries, keys;

    static MapExtent of(Range queries, Range keys) {
        const auto span = [](Range range) {
            return Span{static_cast<double>(range.begin), static_cast<double>(range.end)};
        };
        return {span(queries), span(keys)};
    }
    bool operator==(const MapExtent&) const = default;
};
MapExtent rounded(const MapExtent& view);

struct Looks {
    MapChoice map;
    std::optional<MapExtent> view = {};  // none: the whole map is in view
    std::optional<Window> marked = {};   // the part that is summed up
    HeadsChoice heads;
    FlowChoice flow;
    std::vector<Bookmark> bookmarks;
    bool operator==(const Looks&) const = default;
};

const Looks& looks_of(const State& state, std::string_view subject);
inline const Looks& looks_of(const State& state) { return looks_of(state, state.subject); }
void set_looks(State& state, std::string_view subject, Looks looks);

// Without a subject, the command applies to the open one.
struct SetMap {
    MapChoice map;  // but for its spans, which stay
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Names parts of the text.
struct SetSpans {
    std::vector<TokenSpan> spans;  // in any order
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct ShowWindow {
    static constexpr bool navigation = true;
    std::optional<MapExtent> view;
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct MarkPart {
    static constexpr bool navigation = true;
    std::optional<Window> part;
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetHeads {
    HeadsChoice heads;
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetFlow {
    FlowChoice flow;
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct AddBookmark {
    Bookmark place;
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct RemoveBookmark {
    std::size_t index;
    std::string_view subject = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

// Spell the choices in links; reading returns nothing if a text is invalid. A map is "weight", or the stage
// and whatever differs from the default: "scaled,mean,log", "weight,nosink,0.25".
std::string write_map(const MapChoice& map);
std::optional<MapChoice> read_map(std::string_view text);
std::string_view sink_key(Sink sink);
std::string_view unit_key(Unit unit);
std::optional<Unit> read_unit(std::string_view key);
std::string_view mean_key(HeadMean mean);
std::optional<HeadMean> read_mean(std::string_view key);
// Spans are "0-3.subject,4-7.verb": first and last token, and the name; "0-3.1.subject" is in the second
// text.
std::string write_spans(const std::vector<TokenSpan>& spans);
std::optional<std::vector<TokenSpan>> read_spans(std::string_view text);
// A window is "0-12.3-9": first to last query, first to last key.
std::string write_window(const std::optional<Window>& window);
// A view of whole cells is written like a window; another as "0.25,12.5,3,9.75": where its queries and keys
// begin and end.
std::string write_view(const std::optional<MapExtent>& view);
std::optional<MapExtent> read_view(std::string_view text);
std::optional<Window> read_window(std::string_view text);
// Heads are "induction", or "previous,induction".
std::string write_heads(const HeadsChoice& heads);
std::optional<HeadsChoice> read_heads(std::string_view text);
// A flow is "0.8", or "0.8,columns,1.0,2.3", with heads as layer.head.
std::string write_flow(const FlowChoice& flow);
std::optional<FlowChoice> read_flow(std::string_view text);
// A bookmark is "4.7.0-12.3-9": layer, head, first to last query, first to last key.
std::string write_bookmarks(const std::vector<Bookmark>& bookmarks);
std::optional<std::vector<Bookmark>> read_bookmarks(std::string_view text);

// Writes a value for a link; nothing if it equals the initial value.
template <class Value>
std::optional<std::string> unless_initial(const Value& value, std::string (*write)(const Value&)) {
    return value == Value{} ? std::nullopt : std::optional(write(value));
}

// Makes the link rows of a subject's looks. `Keys` names the subject and its keys: struct { static constexpr
// std::string_view subject, map, spans, window, marked, heads, flow, bookmarks; }
template <class Keys>
struct LooksRows {
    static constexpr std::array<LinkRow, 7> rows{{
        {Keys::map,
         "raw, scaled, capped, masked, weight, contribution or projected, and of strongest or mean, linear, "
         "log or rank, sink, nosink or renormalised, tokens, words, sentences or spans, layer_mean or "
         "all_mean, and the least share that is shown, 0 to 1, what is unusual",
         [](State& s, const std::string& text) {
             const auto map = read_map(text);
             return map && take(s, SetMap{*map, Keys::subject});
         },
         [](const State& s, const State&) {
             MapChoice map = looks_of(s, Keys::subject).map;
             map.spans.clear();
             return unless_initial(map, write_map);
         }},
        {Keys::spans, "named parts of the text, as 0-3.subject,4-7.verb: first and last token, and the name",
         [](State& s, const std::string& text) {
             auto spans = read_spans(text);
             return spans && take(s, SetSpans{*std::move(spans), Keys::subject});
         },
         [](const State& s, const State&) {
             return unless_initial(looks_of(s, Keys::subject).map.spans, write_spans);
         }},
        {Keys::window, "the part of the map in view, as 0-12.3-9: first and last query, first and last key",
         [](State& s, const std::string& text) {
             const auto view = read_view(text);
             return view && take(s, ShowWindow{view, Keys::subject});
         },
         [](const State& s, const State&) {
             return unless_initial(looks_of(s, Keys::subject).view, write_view);
         }},
        {Keys::marked,
         "the part of the map that is summed up, as 0-12.3-9: first and last query, first and last key",
         [](State& s, const std::string& text) {
             const auto part = read_window(text);
             return part && take(s, MarkPart{part, Keys::subject});
         },
         [](const State& s, const State&) {
             return unless_initial(looks_of(s, Keys::subject).marked, write_window);
         }},
        {Keys::bookmarks,
         "parts of maps, as 4.7.0-12.3-9: layer, head, first and last query, first and last key",
         [](State& s, const std::string& text) {
             const auto places = read_bookmarks(text);
             return places && std::ranges::all_of(*places, [&](const Bookmark& each) {
                        return take(s, AddBookmark{each, Keys::subject});
                    });
         },
         [](const State& s, const State&) {
             return unless_initial(looks_of(s, Keys::subject).bookmarks, write_bookmarks);
         }},
        {Keys::heads,
         "entropy, first, previous, duplicate, induction, distance, itself or spread, or two of them",
         [](State& s, const std::string& text) {
             const auto heads = read_heads(text);
             return heads && take(s, SetHeads{*heads, Keys::subject});
         },
         [](const State& s, const State&) {
             return unless_initial(looks_of(s, Keys::subject).heads, write_heads);
         }},
        {Keys::flow, "a number from 0 to 1, arcs or columns, and heads, as 0.8,columns,1.0,2.3",
         [](State& s, const std::string& text) {
             const auto flow = read_flow(text);
             return flow && take(s, SetFlow{*flow, Keys::subject});
         },
         [](const State& s, const State&) {
             return unless_initial(looks_of(s, Keys::subject).flow, write_flow);
         }},
    }};
};

}  // namespace attn::app
