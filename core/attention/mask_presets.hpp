// Instructive masks, and terms to compose masks from.
#pragma once

#include <span>

#include "attention/mask.hpp"

namespace attn {

// A mask for this many queries and keys.
struct MaskPreset {
    const char* name;
    Mask (*make)(Index size);
};
std::span<const MaskPreset> mask_presets();
// Terms that can be added, with their initial numbers.
std::span<const MaskPreset> mask_atoms();

}  // namespace attn
