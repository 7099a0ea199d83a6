// Prints for each case and table: GFLOP/s, the fraction of the multiply-add ceiling, and the ratio to
// portable. The three are measured in turn, round by round, and the fastest round counts.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "cases.hpp"
#include "ceiling.hpp"
#include "kernels/workers.hpp"

using namespace attn;
using namespace attn::bench;

namespace {

constexpr int rounds = 7;
constexpr double seconds_a_round = 0.02;

// Returns operations per second for the fastest call of those that fit into a round, but at least one.
template <class F>
double fastest(F run) {
    const auto now = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    double best = 0;
    const double start = now();
    for (double begin = start; begin - start < seconds_a_round;) {
        const double operations = run(), end = now();
        best = std::max(best, operations / (end - begin));
        begin = end;
    }
    return best;
}

struct Rates {
    double rate = 0, portable = 0, ceiling = 0;
};

Rates measure(const Case& c, const Kernels& kernels) {
    float sink[3] = {1.0000001f, 1e-7f, 0};
    const auto ceiling = lanes_of(kernels.name).ceiling;
    Rates best;
    for (int round = 0; round < rounds; ++round) {
        if (ceiling) best.ceiling = std::max(best.ceiling, fastest([&] { return ceiling(sink); }));
        const auto call = [&](const Kernels& k) {
            return fastest([&] {
                c.run(k);
                return c.operations;
            });
        };
        best.rate = std::max(best.rate, call(kernels));
        if (round % 3 == 0) best.portable = std::max(best.portable, call(portable_kernels()));
    }
    return best;
}

}  // namespace

int main(int count, char** arguments) {
    set_thread_count(1);
    const std::string_view wanted = count > 1 ? arguments[1] : "", table = count > 2 ? arguments[2] : "";
    std::printf("%-44s %-16s %9s %9s %9s\n", "case", "table", "GFLOP/s", "ceiling", "portable");
    for (const Case& c : cases()) {
        if (c.name.find(wanted) == std::string::npos) continue;
        for (const Kernels* kernels : all_kernels()) {
            if (kernels == &portable_kernels() || kernels->name.find(table) == std::string_view::npos)
                continue;
            const Rates r = measure(c, *kernels);
            std::printf("%-44s %-16s %9.2f %8.2f  %8.2fx\n", c.name.c_str(),
                        std::string(kernels->name).c_str(), r.rate / 1e9,
                        r.ceiling > 0 ? r.rate / r.ceiling : 0, r.rate / r.portable);
            std::fflush(stdout);
        }
    }
}
