// The tables of each instruction set that this build has. Each is defined in the file of that name, compiled
// with its own flags, and may only be called if the machine has the instructions.
#pragma once

#include "kernels/backward.hpp"
#include "kernels/table.hpp"

namespace attn::simd {

const Kernels& kernels128();
const Kernels& kernels_relaxed();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

const BackwardKernels& backward128();
const BackwardKernels& backward_relaxed();
const BackwardKernels& backward_avx2();
const BackwardKernels& backward_avx512();

}  // namespace attn::simd
