// Time, as budgets of frames are measured.
#pragma once

#include <chrono>

namespace attn::app {

inline double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// How long a frame may compute. The first step always has time, so that every job ends.
class Deadline {
  public:
    explicit Deadline(double ms) : until_ms_(now_ms() + ms) {}
    bool passed() const { return now_ms() >= until_ms_; }

  private:
    double until_ms_;
};

}  // namespace attn::app
