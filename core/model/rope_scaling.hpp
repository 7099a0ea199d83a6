// How fast rotary positions rotate pairs of components, also for texts longer than a model was trained on.
#pragma once

#include <vector>

#include "io/model_config.hpp"

namespace attn {

// Returns the radians per position for each pair a of d = head_dim components, [d / 2]: base^(−2a / d) (Su et
// al. 2021, arXiv 2104.09864). With a factor s,
//   linear  divides all of them by s (position interpolation, Chen et al. 2023, arXiv 2306.15595);
//   ntk     takes base · s^(d / (d − 2)) as the base, so that the fastest pair turns as before and the
//           slowest s times slower (NTK-aware interpolation, Peng et al. 2023, arXiv 2309.00071, section
//           3.1);
//   yarn    keeps pairs that turn more than beta_fast times in the original context, divides those that turn
//           fewer than beta_slow times, and mixes the two along the pairs in between, whose ends are rounded
//           outwards (section 3.2; as in the authors' code and transformers' rope_type "yarn");
//   llama3  keeps pairs that turn more than high_freq_factor times in the original context, divides those
//           that turn fewer than low_freq_factor times, and mixes the two by the number of turns in between
//           (as in Meta's llama-models and transformers' rope_type "llama3");
//   longrope divides each by a factor of its own that was searched for (Ding et al. 2024, arXiv 2402.13753):
//           by one of short_factor, and in texts longer than the original context by one of long_factor.
std::vector<double> rotary_frequencies(Index head_dim, double base, const RopeScaling& scaling);
std::vector<double> long_rotary_frequencies(Index head_dim, double base, const RopeScaling& scaling);

// Returns the number that cosines and sines are multiplied by, and so both q and k: of YaRN, 0.1 ln s + 1,
// the root of 1 over its temperature (section 3.4); of LongRoPE, √(1 + ln s / ln original context); else 1;
// or what is given.
double rotary_magnitude(const RopeScaling& scaling);

}  // namespace attn
