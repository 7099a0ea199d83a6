// Which build this is.
#pragma once

#include <string_view>

namespace attn {

// "0.9.0 · 9b27b514": the version, and the commit where it was built in a checkout.
std::string_view version();

}  // namespace attn
