#include "app/map_source.hpp"

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

MapPointer map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head, MapStage stage) {
    const auto at = static_cast<std::size_t>(layer);
    const Record& record = trace->layers()[at].attention;
    std::shared_ptr<const Record> kept(trace, &record);  // as long as its trace
    if (stage == MapStage::contribution) return contribution_map(kept, head, value_norms(record, head));
    if (stage == MapStage::projected)
        return contribution_map(
            kept, head,
            projected_value_norms(record, head, trace->model()->network().blocks[at].attention_out.weight));
    return stage_map(kept, head, stage_of(stage));
}

}  // namespace attn::app
