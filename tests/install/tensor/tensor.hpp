// The outside program's own header, which must not be mistaken for the core's.
#pragma once

inline constexpr int outside_tensor = 3;
