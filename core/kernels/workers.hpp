// The threads that share the work of a kernel: one pool for the program, made when it is first needed.
//
// Which thread computes what never changes a result: a task is a part of the output, and its arithmetic does not depend
// on the other parts.
#pragma once

#include "tensor/tensor.hpp"

namespace attn {

// Threads that take part in a call, the caller's among them; at first as many as the machine has cores. 1 in builds
// without threads.
int thread_count();
void set_thread_count(int count);  // at least 1; not during a call

// task(context, i) for every i in [0, tasks), by any thread and in any order; returns when all are done. A call from
// within a task, or while another thread's call is running, is done by its caller alone.
void run_tasks(Index tasks, void (*task)(void* context, Index i), void* context);

template <class F>
void for_each_task(Index tasks, F f) {
    run_tasks(tasks, [](void* context, Index i) { (*static_cast<F*>(context))(i); }, &f);
}

// f(range) for [0, n) in ranges of `size`, the last one shorter, each a task.
template <class F>
void for_each_block(Index n, Index size, F f) {
    for_each_task((n + size - 1) / size, [&](Index i) {
        const Index begin = i * size, end = begin + size;
        f(Range{begin, end < n ? end : n});
    });
}

}  // namespace attn
