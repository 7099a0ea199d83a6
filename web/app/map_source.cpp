#include "app/map_source.hpp"

#include "maps/merged.hpp"
#include "maps/sink.hpp"
#include "model/network.hpp"

namespace attn::app {

Stage stage_of(MapStage stage) {
    switch (stage) {
        case MapStage::raw: return Stage::raw;
        case MapStage::scaled: return Stage::scaled;
        case MapStage::capped: return Stage::capped;
        case MapStage::masked: return Stage::masked;
        case MapStage::weight:
        case MapStage::contribution:
        case MapStage::projected: break;
    }
    return Stage::weight;
}

MapPointer with_sink(MapPointer map, const MapPointer& weights, Sink sink) {
    if (sink == Sink::shown) return map;
    return without_first_key(std::move(map), sink == Sink::renormalised ? weights : nullptr);
}

MapPointer map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head, MapStage stage,
                  Sink sink) {
    const auto record = record_of(trace, layer);
    const MapPointer map = stage_map(record, head, stage_of(stage));
    if (is_signed(stage)) return map;
    if (stage == MapStage::contribution)
        return with_sink(contribution_map(record, head, value_norms(*record, head)), map, sink);
    if (stage == MapStage::projected) {
        const WeightView& w_o =
            trace->model()->network().blocks[static_cast<std::size_t>(layer)].attention_out.weight;
        return with_sink(contribution_map(record, head, projected_value_norms(*record, head, w_o)), map,
                         sink);
    }
    return with_sink(map, map, sink);
}

MapPointer word_map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head,
                       const std::vector<Range>& words, Sink sink) {
    const MapPointer map =
        merged_map(map_of(trace, layer, head, MapStage::weight, Sink::shown), words, words);
    return with_sink(map, map, sink);
}

}  // namespace attn::app
