// Of lens Training: what is to be trained.
#pragma once

#include "lenses/lens.hpp"

namespace attn::lenses {

void training_settings(app::Session& session);

}  // namespace attn::lenses
