// Models of any family and shape, with weights drawn from a seed.
#pragma once

#include <memory>
#include <string_view>

#include "model/model.hpp"

namespace attn::bench {

// Takes a config.json that the core can read.
std::shared_ptr<const Model> seeded_model(std::string_view config);

}  // namespace attn::bench
