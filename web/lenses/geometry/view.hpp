// Declares what the files that draw lens Geometry share.
#pragma once

namespace attn::app {

inline constexpr float least_column = 330;

}  // namespace attn::app
