// The threads that share the work of a kernel: one pool for the whole program, created when it is first
// needed.
//
// Which thread computes what never changes a result: a task is a part of the output, and its arithmetic does
// not depend on the other parts.
#pragma once

#include "tensor/tensor.hpp"

namespace attn {

// How many threads take part in a call, including the caller's. Initially this is the number of cores, or 1
// in builds without threads.
int thread_count();
void set_thread_count(int count);  // at least 1; not during a call

// Runs task(context, i) for every i in [0, tasks), on any thread and in any order, and returns when all are
// done. A call from within a task, or during a call of another thread, runs on its caller alone.
void run_tasks(Index tasks, void (*task)(void* context, Index i), void* context);

template <class F>
void for_each_task(Index tasks, F f) {
    run_tasks(tasks, [](void* context, Index i) { (*static_cast<F*>(context))(i); }, &f);
}

// Splits [0, n) into ranges of `size`, the last one possibly shorter, and runs f(range) for each as a task.
template <class F>
void for_each_block(Index n, Index size, F f) {
    for_each_task((n + size - 1) / size, [&](Index i) {
        const Index begin = i * size, end = begin + size;
        f(Range{begin, end < n ? end : n});
    });
}

}  // namespace attn
