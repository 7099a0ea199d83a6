// Says under the candidates of a masked language model how tokens are masked, and how to type a mask.
#pragma once

#include <string>

#include "tensor/tensor.hpp"

namespace attn::app {

// `masks` counts the masks in the text; `tokens` is the number of tokens in the word that could be masked
// next, 0: no word is chosen.
std::string fill_hint(Index masks, Index tokens);

}  // namespace attn::app
