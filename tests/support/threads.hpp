#pragma once

#include "kernels/workers.hpp"

namespace attn::test {

// Sets the number of threads while it lives.
class Threads {
  public:
    explicit Threads(int count) : before_(thread_count()) { set_thread_count(count); }
    ~Threads() { set_thread_count(before_); }

  private:
    int before_;
};

}  // namespace attn::test
