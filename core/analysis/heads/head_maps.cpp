#include "analysis/heads/head_maps.hpp"

#include "maps/merged.hpp"
#include "maps/sink.hpp"

namespace attn {

MapPointer with_sink(MapPointer map, const MapPointer& weights, Sink sink) {
    if (sink == Sink::shown) return map;
    return without_first_key(std::move(map), sink == Sink::renormalised ? weights : nullptr);
}

MapPointer map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head, Stage stage,
                  Sink sink) {
    const auto record = record_of(trace, layer);
    MapPointer map = stage_map(record, head, is_score_or_weight(stage) ? stage : Stage::weight);
    if (is_signed(stage)) return map;
    if (stage == Stage::contribution)
        return with_sink(contribution_map(record, head, value_norms(*record, head)), map, sink);
    if (stage == Stage::projected) {
        const WeightView& w_o = trace->attention(layer).half.attention_out.weight;
        return with_sink(contribution_map(record, head, projected_value_norms(*record, head, w_o)), map,
                         sink);
    }
    return with_sink(map, map, sink);
}

MapPointer merged_map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head,
                         const std::vector<Range>& queries, const std::vector<Range>& keys, Sink sink) {
    const MapPointer map = merged_map(map_of(trace, layer, head, Stage::weight, Sink::shown), queries, keys);
    return with_sink(map, map, sink);
}

}  // namespace attn
