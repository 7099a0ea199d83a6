// Says under the candidates of a masked language model how tokens are masked, and how they are written there.
#pragma once

#include <string>

#include "tensor/tensor.hpp"

namespace attn::app {

// Of a text with so many masks; `tokens` is of the word that could be masked next, 0: none is chosen.
std::string fill_hint(Index masks, Index tokens);

}  // namespace attn::app
