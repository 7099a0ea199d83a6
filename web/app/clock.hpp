// Measures time, for the budgets of frames.
#pragma once

#include <chrono>

namespace attn::app {

inline double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// Limits how long a frame may compute. A first step is always allowed, so that every job ends.
class Deadline {
  public:
    explicit Deadline(double ms) : until_ms_(now_ms() + ms) {}
    bool passed() const { return now_ms() >= until_ms_; }

  private:
    double until_ms_;
};

}  // namespace attn::app
