#include "app/link_choices.hpp"

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

std::string write_pin(const CellRef& cell) {
    return std::string(link_name(cell.matrix)) + "." + std::to_string(cell.row) + "." +
           std::to_string(cell.col) +
           (cell.second  ? ".second"
            : cell.words ? ".words"
                         : "");
}

std::optional<CellRef> read_pin(std::string_view text) {
    const auto parts = split(text, '.');
    const bool second = parts.size() == 4 && parts[3] == "second",
               words = parts.size() == 4 && parts[3] == "words";
    if (parts.size() != 3 && !second && !words) return std::nullopt;
    const auto matrix = index_of(matrix_link_names, parts[0]);
    const auto row = read_integer<Index>(parts[1]), col = read_integer<Index>(parts[2]);
    if (!matrix || !row || !col) return std::nullopt;
    return CellRef{static_cast<MatrixId>(*matrix), *row, *col, second, words};
}

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

std::optional<std::vector<Bookmark>> read_bookmarks(std::string_view text) {
    const auto range = [](std::string_view part) -> std::optional<Range> {
        const auto ends = split(part, '-');
        if (ends.size() != 2) return std::nullopt;
        const auto first = read_integer<Index>(ends[0]), last = read_integer<Index>(ends[1]);
        if (!first || !last || *last > position_limit) return std::nullopt;
        return Range{*first, *last + 1};
    };
    std::vector<Bookmark> bookmarks;
    for (const auto each : split(text, ',')) {
        const auto parts = split(each, '.');
        if (parts.size() != 4) return std::nullopt;
        const auto layer = read_integer<Index>(parts[0]), head = read_integer<Index>(parts[1]);
        const auto queries = range(parts[2]), keys = range(parts[3]);
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

std::string write_sampling(const SamplingState& s) {
    return shortest(s.temperature) + "," + std::to_string(s.top_k) + "," + shortest(s.top_p) + "," +
           std::to_string(s.seed);
}

std::optional<SamplingState> read_sampling(std::string_view text) {
    const auto parts = split(text, ',');
    if (parts.size() != 4) return std::nullopt;
    const auto temperature = read_number(parts[0]), top_p = read_number(parts[2]);
    const auto top_k = read_integer<Index>(parts[1]);
    const auto seed = read_integer<std::uint64_t>(parts[3]);
    if (!temperature || !top_k || !top_p || !seed) return std::nullopt;
    return SamplingState{static_cast<float>(*temperature), *top_k, static_cast<float>(*top_p), *seed};
}

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

}  // namespace attn::app
