// One table for each instruction set that this build has; defined in the file of that name, compiled with its own
// flags, and to be called only where the machine has the instructions.
#pragma once

#include "kernels/table.hpp"

namespace attn::simd {

const Kernels& kernels128();
const Kernels& kernels_relaxed();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

}  // namespace attn::simd
