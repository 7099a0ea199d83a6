#include "app/looks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

// Spellings in links.
constexpr std::array<std::string_view, 2> pooling_keys{"strongest", "mean"};
constexpr std::array<std::string_view, 3> scaling_keys{"linear", "log", "rank"};
constexpr std::array<std::string_view, 3> sink_keys{"sink", "nosink", "renormalised"};
constexpr std::array<std::string_view, unit_count> unit_keys{"tokens", "words", "sentences", "spans"};
constexpr std::array<std::string_view, 3> mean_keys{"one_head", "layer_mean", "all_mean"};
constexpr std::array<std::string_view, 2> flow_form_keys{"arcs", "columns"};

// Maps a subject's key to its looks; a subject is absent until somebody changes its looks.
struct AllLooks {
    std::map<std::string_view, Looks> of;
    bool operator==(const AllLooks&) const = default;
};

bool lies_within_limits(Range range) {
    return range.begin >= 0 && range.begin < range.end && range.end <= position_limit;
}

bool lies_within_limits(const MapExtent::Span& span) {
    return span.begin >= 0 && span.begin < span.end && span.end <= static_cast<double>(position_limit);
}

std::string write_range(Range range) {
    return std::to_string(range.begin) + "-" + std::to_string(range.end - 1);
}

std::optional<Range> read_range(std::string_view text) {
    const auto ends = split(text, '-');
    if (ends.size() != 2) return std::nullopt;
    const auto first = read_integer<Index>(ends[0]), last = read_integer<Index>(ends[1]);
    if (!first || !last || *last > position_limit) return std::nullopt;
    return Range{*first, *last + 1};
}

bool is_head(Index layer, Index head) {
    return layer >= 0 && layer < position_limit && head >= 0 && head < position_limit;
}

// Applies change(looks) to the looks that a command refers to.
template <class Command>
Status change(State& state, const Command& command, auto how) {
    const std::string_view subject = command.subject.empty() ? state.subject : command.subject;
    Looks looks = looks_of(state, subject);
    if (const Status done = how(looks); !done) return done;
    set_looks(state, subject, std::move(looks));
    return ok();
}

}  // namespace

const Looks& looks_of(const State& state, std::string_view subject) {
    static const Looks usual;
    const auto& all = state.of<AllLooks>().of;
    const auto found = all.find(subject);
    return found == all.end() ? usual : found->second;
}

void set_looks(State& state, std::string_view subject, Looks looks) {
    if (looks == looks_of(state, subject)) return;
    auto& all = state.edit<AllLooks>().of;
    if (looks == Looks{})
        all.erase(subject);
    else
        all[subject] = std::move(looks);
}

Status SetMap::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        if (!(map.least >= 0 && map.least <= 1))
            return Error{"The threshold must be between 0 and 1 of the colour scale."};
        if (!is_of_pairs(map.stage)) return Error{"A map needs a stage that has queries and keys."};
        std::vector<TokenSpan> spans = std::move(looks.map.spans);
        looks.map = map;
        looks.map.spans = std::move(spans);
        return ok();
    });
}
std::string SetMap::describe(const State&) const { return "map"; }

Status SetSpans::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        if (spans.size() > most_spans)
            return Error{"There is room for " + std::to_string(most_spans) +
                         " named spans. Remove one first."};
        std::vector<TokenSpan> sorted = spans;
        std::ranges::sort(sorted, {},
                          [](const TokenSpan& span) { return std::pair(span.text, span.tokens.begin); });
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            const TokenSpan& span = sorted[i];
            if (!lies_within_limits(span.tokens) || span.text < 0 || span.text > 1)
                return Error{"Choose tokens of the text to name; these are outside."};
            if (span.name.empty()) return Error{"Type a name for the span first."};
            if (!is_utf8(span.name) || count_code_points(span.name) > longest_span_name)
                return Error{"Choose a shorter name: a span's has at most " +
                             std::to_string(longest_span_name) + " characters."};
            if (i > 0 && sorted[i - 1].text == span.text && sorted[i - 1].tokens.end > span.tokens.begin)
                return Error{"Choose other tokens: some of these belong to the span “" + sorted[i - 1].name +
                             "”, and spans do not overlap."};
        }
        looks.map.spans = std::move(sorted);
        return ok();
    });
}
std::string SetSpans::describe(const State& state) const {
    const auto& before = looks_of(state, subject.empty() ? state.subject : subject).map.spans;
    return spans.size() < before.size() ? "span removed" : "named span";
}

Status ShowWindow::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        looks.view = view ? std::optional(rounded(*view)) : std::nullopt;
        if (view && (!lies_within_limits(looks.view->queries) || !lies_within_limits(looks.view->keys)))
            return Error{"Choose a part of the map to show; this one is outside."};
        return ok();
    });
}
std::string ShowWindow::describe(const State&) const { return "part of the map"; }

Status MarkPart::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        if (part && (!lies_within_limits(part->queries) || !lies_within_limits(part->keys)))
            return Error{"Choose a part of the map to mark; this one is outside."};
        looks.marked = part;
        return ok();
    });
}
std::string MarkPart::describe(const State&) const { return part ? "part marked" : "part unmarked"; }

Status SetHeads::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        if (heads.against && !heads.by) return Error{"Choose a horizontal score first."};
        looks.heads = heads;
        return ok();
    });
}
std::string SetHeads::describe(const State&) const {
    const auto& [by, against] = heads;
    return !by ? "heads by layer"
               : std::string("heads by ") + info(*by).name +
                     (against ? std::string(" and ") + info(*against).name : "");
}

Status SetFlow::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        const std::vector<HeadIndex>& heads = flow.heads;
        if (!(flow.mass >= 0 && flow.mass <= 1)) return Error{"The share of a row lies between 0 and 1."};
        if (heads.size() >= flow_heads_limit)
            return Error{"The flow shows at most " + std::to_string(flow_heads_limit) + " heads at once."};
        for (auto head = heads.begin(); head != heads.end(); ++head)
            if (!is_head(head->layer, head->head) || std::find(heads.begin(), head, *head) != head)
                return Error{"Choose a head of the model; this one does not exist."};
        looks.flow = flow;
        return ok();
    });
}
std::string SetFlow::describe(const State& state) const {
    const FlowChoice& before = looks_of(state, subject.empty() ? state.subject : subject).flow;
    if (flow.heads != before.heads) return "heads of the flow";
    if (flow.form != before.form) return "form of the flow";
    return "the strongest edges of " + percent(static_cast<double>(flow.mass)) + " of each row";
}

Status AddBookmark::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        if (!lies_within_limits(place.queries) || !lies_within_limits(place.keys) ||
            !is_head(place.layer, place.head))
            return Error{"Choose a part of the map to mark; this one is outside."};
        if (std::ranges::find(looks.bookmarks, place) != looks.bookmarks.end()) return ok();
        if (looks.bookmarks.size() >= bookmark_limit)
            return Error{"There is room for " + std::to_string(bookmark_limit) +
                         " bookmarks. Remove one first."};
        looks.bookmarks.push_back(place);
        return ok();
    });
}
std::string AddBookmark::describe(const State&) const { return "bookmark"; }

Status RemoveBookmark::apply(State& state) const {
    return change(state, *this, [&](Looks& looks) -> Status {
        if (index >= looks.bookmarks.size())
            return Error{"Choose one of the bookmarks; this one does not exist."};
        looks.bookmarks.erase(looks.bookmarks.begin() + static_cast<std::ptrdiff_t>(index));
        return ok();
    });
}
std::string RemoveBookmark::describe(const State&) const { return "bookmark removed"; }

std::string_view sink_key(Sink sink) { return sink_keys[static_cast<std::size_t>(sink)]; }
std::string_view unit_key(Unit unit) { return unit_keys[static_cast<std::size_t>(unit)]; }
std::string_view mean_key(HeadMean mean) { return mean_keys[static_cast<std::size_t>(mean)]; }
std::optional<Unit> read_unit(std::string_view key) {
    const auto unit = index_of(unit_keys, key);
    return unit ? std::optional(static_cast<Unit>(*unit)) : std::nullopt;
}
std::optional<HeadMean> read_mean(std::string_view key) {
    const auto mean = index_of(mean_keys, key);
    return mean ? std::optional(static_cast<HeadMean>(*mean)) : std::nullopt;
}

std::string write_spans(const std::vector<TokenSpan>& spans) {
    std::vector<std::string> all;
    for (const TokenSpan& span : spans) {
        const bool begins_so = span.name.starts_with("0.") || span.name.starts_with("1.");
        all.push_back(write_range(span.tokens) + "." +
                      (span.text > 0 || begins_so ? std::to_string(span.text) + "." : "") + span.name);
    }
    return write_names(all);
}

std::optional<std::vector<TokenSpan>> read_spans(std::string_view text) {
    std::vector<TokenSpan> spans;
    for (const std::string& each : read_names(text)) {
        const std::size_t dot = each.find('.');
        if (dot == std::string::npos) return std::nullopt;
        const auto tokens = read_range(std::string_view(each).substr(0, dot));
        if (!tokens) return std::nullopt;
        TokenSpan span{*tokens, each.substr(dot + 1)};
        if (span.name.starts_with("0.") || span.name.starts_with("1.")) {
            span.text = span.name.front() - '0';
            span.name.erase(0, 2);
        }
        spans.push_back(std::move(span));
    }
    return spans;
}

std::string write_map(const MapChoice& map) {
    const MapChoice usual;
    std::string text(info(map.stage).key);
    const auto add = [&](bool unusual, std::string_view what) {
        if (unusual) text.append(",").append(what);
    };
    add(map.pooling != usual.pooling, pooling_keys[static_cast<std::size_t>(map.pooling)]);
    add(map.scaling != usual.scaling, scaling_keys[static_cast<std::size_t>(map.scaling)]);
    add(map.sink != usual.sink, sink_keys[static_cast<std::size_t>(map.sink)]);
    add(map.unit != usual.unit, unit_key(map.unit));
    add(map.mean != usual.mean, mean_key(map.mean));
    add(map.least != usual.least, shortest(map.least));
    return text;
}

std::optional<MapChoice> read_map(std::string_view text) {
    const auto parts = split(text, ',');
    const auto stage = stage_by_key(parts[0]);
    if (!stage || !is_of_pairs(*stage)) return std::nullopt;
    MapChoice map{*stage};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (const auto pooling = index_of(pooling_keys, parts[i]))
            map.pooling = static_cast<Pooling>(*pooling);
        else if (const auto scaling = index_of(scaling_keys, parts[i]))
            map.scaling = static_cast<Scaling>(*scaling);
        else if (const auto sink = index_of(sink_keys, parts[i]))
            map.sink = static_cast<Sink>(*sink);
        else if (const auto unit = read_unit(parts[i]))
            map.unit = *unit;
        else if (const auto mean = read_mean(parts[i]))
            map.mean = *mean;
        else if (const auto least = read_number(parts[i]))
            map.least = static_cast<float>(*least);
        else
            return std::nullopt;
    }
    return map;
}

std::string write_window(const std::optional<Window>& window) {
    return window ? write_range(window->queries) + "." + write_range(window->keys) : "";
}

std::optional<Window> read_window(std::string_view text) {
    const auto parts = split(text, '.');
    if (parts.size() != 2) return std::nullopt;
    const auto queries = read_range(parts[0]), keys = read_range(parts[1]);
    if (!queries || !keys) return std::nullopt;
    return Window{*queries, *keys};
}

MapExtent rounded(const MapExtent& view) {
    const auto span = [](const MapExtent::Span& of) {
        constexpr double parts = 1e4;
        return MapExtent::Span{std::round(of.begin * parts) / parts, std::round(of.end * parts) / parts};
    };
    return {span(view.queries), span(view.keys)};
}

std::string write_view(const std::optional<MapExtent>& view) {
    if (!view) return "";
    const auto range = [](const MapExtent::Span& span) {
        return Range{static_cast<Index>(span.begin), static_cast<Index>(span.end)};
    };
    const Range queries = range(view->queries), keys = range(view->keys);
    if (MapExtent::of(queries, keys) == *view) return write_window(Window{queries, keys});
    return shortest(view->queries.begin) + "," + shortest(view->queries.end) + "," +
           shortest(view->keys.begin) + "," + shortest(view->keys.end);
}

std::optional<MapExtent> read_view(std::string_view text) {
    if (text.find(',') == std::string_view::npos) {
        const auto window = read_window(text);
        return window ? std::optional(MapExtent::of(window->queries, window->keys)) : std::nullopt;
    }
    const auto parts = split(text, ',');
    if (parts.size() != 4) return std::nullopt;
    std::array<double, 4> ends{};
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const auto end = read_number(parts[i]);
        if (!end || !std::isfinite(*end)) return std::nullopt;
        ends[i] = *end;
    }
    return MapExtent{{ends[0], ends[1]}, {ends[2], ends[3]}};
}

std::string write_bookmarks(const std::vector<Bookmark>& bookmarks) {
    std::string text;
    for (const Bookmark& b : bookmarks)
        text += (text.empty() ? "" : ",") + std::to_string(b.layer) + "." + std::to_string(b.head) + "." +
                write_range(b.queries) + "." + write_range(b.keys);
    return text;
}

std::optional<std::vector<Bookmark>> read_bookmarks(std::string_view text) {
    std::vector<Bookmark> bookmarks;
    for (const auto each : split(text, ',')) {
        const auto parts = split(each, '.');
        if (parts.size() != 4) return std::nullopt;
        const auto layer = read_integer<Index>(parts[0]), head = read_integer<Index>(parts[1]);
        const auto queries = read_range(parts[2]), keys = read_range(parts[3]);
        if (!layer || !head || !queries || !keys) return std::nullopt;
        bookmarks.push_back({*layer, *head, *queries, *keys});
    }
    return bookmarks;
}

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

}  // namespace attn::app
