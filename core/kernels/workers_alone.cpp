// This file serves builds without threads.

#include "kernels/workers.hpp"

namespace attn {

int thread_count() { return 1; }
void set_thread_count(int) {}

void run_tasks(Index tasks, void (*task)(void* context, Index i), void* context) {
    for (Index i = 0; i < tasks; ++i) task(context, i);
}

}  // namespace attn
