// Time, as budgets of frames are measured.
#pragma once

#include <chrono>

namespace attn::app {

inline double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace attn::app
