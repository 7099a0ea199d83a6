// What the pictures of the lens share.
#pragma once

namespace attn::app {

inline constexpr float least_column = 330;

}  // namespace attn::app
