#include "runs/cost_measuring.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/cost/attention_forms.hpp"
#include "app/clock.hpp"
#include "kernels/workers.hpp"
#include "tensor/random.hpp"

namespace attn::app {

namespace {

constexpr Index most_calls = 2000;
constexpr int most_tries = 3;
constexpr std::uint32_t operands_seed = 1;

const Kernels& kernels_of(CostMeans means) {
    return means == CostMeans::scalar ? reference_kernels() : default_kernels();
}

// Calls use this many threads while it lives.
class Threads {
  public:
    explicit Threads(CostMeans means) : before_(thread_count()) {
        if (means != CostMeans::threads) set_thread_count(1);
    }
    ~Threads() { set_thread_count(before_); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

  private:
    int before_;
};

// The operands of all cases, made when first needed.
class Operands {
  public:
    std::span<float> numbers(std::size_t which, Index count) {
        AlignedVector<float>& kept = kept_[which];
        if (std::ssize(kept) < count) {
            // Few are drawn, and repeated: what they are does not change the time.
            constexpr Index drawn = 1 << 16;
            kept.resize(static_cast<std::size_t>(count));
            for (Index i = 0; i < std::min(count, drawn); ++i)
                kept[static_cast<std::size_t>(i)] = static_cast<float>(random_.normal());
            for (Index i = drawn; i < count; i += drawn)
                std::copy_n(kept.begin(), std::min(drawn, count - i), kept.begin() + i);
        }
        return std::span(kept).first(static_cast<std::size_t>(count));
    }
    MatrixView<float> matrix(std::size_t which, Index rows, Index cols, Index pool = 0) {
        const Index size = rows * cols,
                    places = std::clamp(pool, size, std::max(size, longest_reading)) / size;
        return {numbers(which, places * size).data() + next_[which]++ % places * size, rows, cols, cols};
    }

    double time(const CostCase& what, Index calls) {
        const Threads threads(what.means);
        const Kernels& kernels = kernels_of(what.means);
        const MatrixView<float> q = matrix(0, what.n, what.work == CostWork::reading ? 1 : what.d);
        const auto timed = [&](auto&& call) {
            const double began = now_ms();
            for (Index i = 0; i < calls; ++i) call();
            return now_ms() - began;
        };
        switch (what.work) {
            case CostWork::reading: return timed([&] { sum_ += read_once(numbers(0, what.n)); });
            case CostWork::product: {
                const MatrixView<float> y = matrix(3, what.n, what.out);
                matrix(1, what.d, what.out, what.pool);  // makes it before the clock runs
                return timed([&] {
                    const WeightView weight{.data = reinterpret_cast<const std::byte*>(
                                                matrix(1, what.d, what.out, what.pool).data),
                                            .in = what.d,
                                            .out = what.out};
                    kernels.linear(q, weight, {}, Activation::none, y);
                });
            }
            case CostWork::naive:
            case CostWork::fused: break;
        }
        const auto keys = [&] { return matrix(1, what.n_k(), what.d, what.pool / 2); };
        const auto values = [&] { return matrix(2, what.n_k(), what.d, what.pool / 2); };
        keys();
        values();
        const MatrixView<float> output = matrix(3, what.n, what.d);
        if (what.work == CostWork::naive) {
            NaiveMemory memory(what.n, what.n_k());
            return timed([&] { naive_attention(kernels, q, keys(), values(), memory, output); });
        }
        FusedMemory memory(what.n);
        return timed([&] { fused_attention(kernels, q, keys(), values(), memory, output); });
    }

  private:
    AlignedVector<float> kept_[4];
    Random random_{operands_seed};
    Index next_[4]{};
    std::uint32_t sum_ = 0;
};

}  // namespace

double CostCase::operations() const {
    const auto real = [](Index i) { return static_cast<double>(i); };
    switch (work) {
        case CostWork::reading: return real(n);
        case CostWork::product: return 2 * real(n) * real(d) * real(out);
        case CostWork::naive:
        case CostWork::fused: break;
    }
    return 4 * real(n) * real(n_k()) * real(d);
}

double CostMeasuring::Timed::least() const { return *std::ranges::min_element(ms); }
double CostMeasuring::Timed::median() const {
    std::vector<double> sorted = ms;
    std::ranges::sort(sorted);
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

CostMeasuring::CostMeasuring(const std::vector<CostCase>& cases, Index rounds, double sample_ms,
                             Stopwatch stopwatch)
    : rounds_(rounds), sample_ms_(sample_ms), stopwatch_(std::move(stopwatch)) {
    for (const CostCase& each : cases) timed_.push_back({each});
}

double CostMeasuring::progress() const {
    if (done()) return 1;
    const auto all = static_cast<double>(timed_.size());
    return (static_cast<double>(round_) * all + static_cast<double>(next_)) /
           (static_cast<double>(rounds_ + 1) * all);
}

// Finds how many calls make a sample. Leaves out the case if the one before it says that a call would take
// too long.
void CostMeasuring::try_case(std::size_t i) {
    Timed& now = timed_[i];
    if (i > 0 && timed_[i - 1].what.series == now.what.series) {
        const Timed& before = timed_[i - 1];
        if (before.calls == 0) return;
        // A single call may have been interrupted, so that it is tried again before larger ones are left out.
        const double ratio = now.what.operations() / before.what.operations();
        double least = before.ms.front();
        for (int more = 0; more < most_tries && least * ratio > longest_call_ms; ++more)
            least = std::min(least, stopwatch_(before.what, 1));
        if (least * ratio > longest_call_ms) return;
    }
    const double ms = stopwatch_(now.what, 1);
    now.calls =
        ms > 0 ? std::clamp<Index>(std::lround(std::ceil(sample_ms_ / ms)), 1, most_calls) : most_calls;
    now.ms.push_back(ms);  // until the first round
}

bool CostMeasuring::step() {
    if (done()) return false;
    Timed& now = timed_[next_];
    if (round_ == 0) {
        try_case(next_);
    } else {
        if (round_ == 1) now.ms.clear();
        now.ms.push_back(stopwatch_(now.what, now.calls) / static_cast<double>(now.calls));
    }
    if (++next_ < timed_.size()) return true;
    next_ = 0;
    ++round_;
    if (round_ == 1) std::erase_if(timed_, [](const Timed& each) { return each.calls == 0; });
    if (done()) stopwatch_ = nullptr;  // frees the operands
    return !done();
}

Stopwatch page_stopwatch() {
    return [operands = std::make_shared<Operands>()](const CostCase& what, Index calls) {
        return operands->time(what, calls);
    };
}

double sample_ms_of_clock() {
    constexpr double least = 3, most = 30, steps_a_sample = 30;
    double finest = most;
    for (int i = 0; i < 3; ++i) {
        const double began = now_ms();
        double now = began;
        while (now == began) now = now_ms();
        finest = std::min(finest, now - began);
    }
    return std::clamp(steps_a_sample * finest, least, most);
}

std::string_view kernels_name(CostMeans means) { return kernels_of(means).name; }

}  // namespace attn::app
