#include "runs/attention.hpp"

namespace attn::app {

std::uint64_t Attention::new_version() {
    static std::uint64_t versions = 0;
    return ++versions;
}

MapPointer Attention::map(Index layer, Index head, const MapChoice& choice) {
    const Stage stage = stage_for(choice.stage);
    const Sink sink = is_signed(stage) ? Sink::shown : choice.sink;
    const bool words = shows_words(choice);
    if (!chosen_.map || chosen_.layer != layer || chosen_.head != head || chosen_.stage != stage ||
        chosen_.sink != sink || chosen_.words != words)
        chosen_ = {layer, head, stage, sink, words, maps(choice)(layer, head)};
    return chosen_.map;
}

}  // namespace attn::app
