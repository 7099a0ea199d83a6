#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/workers.hpp"

namespace attn {

namespace {

// Waking a sleeping thread takes longer than many a call, and the calls of a model follow one another
// closely: a thread that has run out of tasks looks out for the next call for this long before it goes to
// sleep.
constexpr std::chrono::microseconds lookout(100);

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

class Pool {
  public:
    ~Pool() { resize(1); }

    // Asked again for the same number, it keeps the threads it has, even if the system granted fewer.
    void resize(int count) {
        if (count == count_) return;
        count_ = count;
        {
            const std::lock_guard lock(mutex_);
            leaving_ = true;
        }
        wake_.notify_all();
        for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
        threads_.clear();
        leaving_ = false;
        const auto work = [](void* pool) -> void* {
            static_cast<Pool*>(pool)->work();
            return nullptr;
        };
        // If the system refuses a thread, the pool does without it.
        for (pthread_t thread; static_cast<int>(threads_.size()) + 1 < count &&
                               pthread_create(&thread, nullptr, work, this) == 0;)
            threads_.push_back(thread);
    }

    void run(Index tasks, void (*task)(void*, Index), void* context) {
        {
            const std::lock_guard lock(mutex_);
            task_ = task;
            context_ = context;
            tasks_ = tasks;
            next_.store(0, std::memory_order_relaxed);
            open_ = true;
            ++call_;
        }
        wake_.notify_all();
        take_tasks();
        {
            // A thread that only wakes up now finds nothing left, and nobody waits for it.
            const std::lock_guard lock(mutex_);
            open_ = false;
        }
        while (inside_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    }

  private:
    void take_tasks() {
        for (Index i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;) task_(context_, i);
    }

    void work() {
        std::unique_lock lock(mutex_);
        for (unsigned seen = call_;;) {
            wake_.wait(lock, [&] { return leaving_ || (open_ && call_ != seen); });
            if (leaving_) return;
            seen = call_;
            inside_.fetch_add(1, std::memory_order_relaxed);
            lock.unlock();
            take_tasks();
            inside_.fetch_sub(1, std::memory_order_release);
            look_out(seen);
            lock.lock();
        }
    }

    void look_out(unsigned seen) const {
        const auto end = std::chrono::steady_clock::now() + lookout;
        while (call_.load(std::memory_order_relaxed) == seen && std::chrono::steady_clock::now() < end)
            for (int i = 0; i < 64 && call_.load(std::memory_order_relaxed) == seen; ++i) pause();
    }

    int count_ = 1;
    std::vector<pthread_t> threads_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool leaving_ = false;
    bool open_ = false;  // the current call still admits threads
    std::atomic<unsigned> call_ = 0;
    void (*task_)(void*, Index) = nullptr;
    void* context_ = nullptr;
    Index tasks_ = 0;
    std::atomic<Index> next_ = 0;
    std::atomic<int> inside_ = 0;
};

std::atomic<bool> busy = false;
int wanted = 0;  // 0: as many as there are cores

Pool& pool() {
    static Pool pool;
    return pool;
}

}  // namespace

int thread_count() {
    static const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return wanted > 0 ? wanted : cores;
}

void set_thread_count(int count) { wanted = std::max(1, count); }

void run_tasks(Index tasks, void (*task)(void* context, Index i), void* context) {
    if (tasks > 1 && thread_count() > 1 && !busy.exchange(true)) {
        pool().resize(thread_count());
        pool().run(tasks, task, context);
        busy.store(false);
        return;
    }
    for (Index i = 0; i < tasks; ++i) task(context, i);
}

}  // namespace attn
