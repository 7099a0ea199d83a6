#include "analysis/heads/matching_heads.hpp"

#include <algorithm>

namespace attn {

MatchingHeads matching_heads(const ModelConfig& config, HeadIndex chosen) {
    const Index encoder = config.layers, decoder = config.decoder_layers;
    const Index layer = chosen.layer < encoder             ? chosen.layer
                        : chosen.layer < encoder + decoder ? chosen.layer - encoder
                                                           : chosen.layer - encoder - decoder;
    const Index own = std::min(layer, decoder - 1);
    return {{std::min(layer, encoder - 1), chosen.head},
            {encoder + own, chosen.head},
            {encoder + decoder + own, chosen.head}};
}

}  // namespace attn
