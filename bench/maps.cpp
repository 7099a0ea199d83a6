// Maps of one head, of any size, and of all heads: when the first picture is there, when the last, the longest slice, the
// memory; beside one fused attention call of the same cells in the same process.
//
// bench_maps [n [table]]  `n` 16384 when absent; with 65536 its last part takes some minutes.

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "cases.hpp"
#include "kernels/workers.hpp"
#include "maps/record_job.hpp"
#include "maps/thumbnails.hpp"

using namespace attn;
using namespace attn::bench;

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / 0x1p20; }
std::size_t allocated = 0, most_allocated = 0;

void* allocate(std::size_t size, std::size_t alignment) {
    void* p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (!p) std::abort();
    allocated += malloc_usable_size(p);
    most_allocated = std::max(most_allocated, allocated);
    return p;
}

void release(void* p) {
    allocated -= malloc_usable_size(p);
    std::free(p);
}

// Runs a job to its end, telling when what `reached` asks for was first there.
struct Run {
    double first = 0, all = 0, longest_slice = 0;
    std::size_t most_memory = 0;
};
template <class Step, class Reached>
Run run(Step step, Reached reached) {
    Run r;
    const double start = now();
    const std::size_t before = most_allocated = allocated;
    for (bool more = true; more;) {
        const double begin = now();
        more = step();
        const double end = now();
        r.longest_slice = std::max(r.longest_slice, end - begin);
        if (r.first == 0 && reached()) r.first = end - start;
    }
    r.all = now() - start;
    r.most_memory = most_allocated - before;
    return r;
}

void tell(const char* what, double seconds, double beside) {
    std::printf("  %-52s %9.1f ms   %6.2fx\n", what, seconds * 1e3, seconds / beside);
    std::fflush(stdout);
}

std::shared_ptr<const Record> computed(Index heads, Index n, const Mask& mask, const Kernels& kernels,
                                       Run* prepared = nullptr) {
    AttentionSpec spec;
    spec.mask = mask;
    auto record = Record::prepare(uniform({heads, n, 64}, 1), uniform({heads, n, 64}, 2),
                                  uniform({heads, n, 64}, 3), spec, kernels);
    if (!record) std::exit(1);
    RecordJob job(*std::move(record));
    const Run r = run([&] { return job.step(); }, [&] { return job.sampled(); });
    if (prepared) *prepared = r;
    return job.record();
}

double fused(const Record& record, const Kernels& kernels) {
    const double start = now();
    const auto again = Record::run(record.q(), record.k(), record.v(), record.spec(), kernels);
    return again ? now() - start : 0;
}

void one_map(const std::string& name, Index n, const Mask& mask, const Kernels& kernels) {
    Run records;
    const auto record = computed(1, n, mask, kernels, &records);
    const double beside = std::min(fused(*record, kernels), fused(*record, kernels));
    std::printf("%s, n = %td, d = 64, %s\n", std::string(kernels.name).c_str(), n, name.c_str());
    tell("fused attention, one call", beside, beside);
    tell("record in slices: the sampled rows", records.first, beside);
    tell("record in slices: all rows", records.all, beside);
    tell("record in slices: the longest slice", records.longest_slice, beside);
    for (const Stage stage : {Stage::weight, Stage::scaled, Stage::contribution}) {
        Pyramid pyramid(stage_map(record, 0, stage), Pyramid::usual_bytes, kernels);
        const Run r = run([&] { return pyramid.step(); }, [&] { return pyramid.sample() != nullptr; });
        const std::string of = std::string(attn::name(stage)) + ": ";
        tell((of + "first picture").c_str(), r.first, beside);
        tell((of + "complete pyramid").c_str(), r.all, beside);
        tell((of + "longest slice").c_str(), r.longest_slice, beside);
        std::printf("  %-52s %9.1f MiB, levels %td … %td\n", (of + "memory at most").c_str(),
                    mebibytes(r.most_memory), pyramid.finest(), pyramid.coarsest());
        if (stage == Stage::contribution) break;
        const Map& map = pyramid.map();
        const Index rows = std::min<Index>(900, n), cols = std::min<Index>(1440, n);
        Tensor window({rows, cols});
        double best = 1e9;
        for (int i = 0; i < 5; ++i) {
            const double start = now();
            map.cells({{n - rows, n}, {0, cols}}, window.matrix());
            best = std::min(best, now() - start);
        }
        tell((of + "1,440 × 900 exact cells").c_str(), best, beside);
        for (Index level = 0; level < pyramid.finest(); ++level) {
            const Index side = tile_side << level, last = (n - 1) / side;
            BlockJob job = tile_job(stage_map(record, 0, stage), {level, last, 0}, kernels);
            const Run tile = run([&] { return job.step(); }, [] { return true; });
            tell((of + "a tile of level " + std::to_string(level)).c_str(), tile.all, beside);
        }
    }
}

void all_heads(Index layers, Index heads, Index n, const Mask& mask, const Kernels& kernels) {
    std::vector<std::shared_ptr<const Record>> records;
    std::vector<MapPointer> maps;
    double beside = 0;
    for (Index l = 0; l < layers; ++l) {
        records.push_back(computed(heads, n, mask, kernels));
        beside += fused(*records.back(), kernels);
        for (Index h = 0; h < heads; ++h) maps.push_back(stage_map(records.back(), h, Stage::weight));
    }
    auto thumbnails = Thumbnails::start(std::move(maps), heads, 64, kernels);
    if (!thumbnails) std::exit(1);
    const auto count = static_cast<std::size_t>(layers * heads);
    const Run r = run([&] { return thumbnails->step(); }, [&] { return thumbnails->sampled() == count; });
    std::printf("%s, %td × %td heads, n = %td, %s\n", std::string(kernels.name).c_str(), layers, heads, n,
                mask.text().c_str());
    tell("fused attention of all heads", beside, beside);
    tell("every thumbnail sampled", r.first, beside);
    tell("every thumbnail exact", r.all, beside);
    tell("longest slice", r.longest_slice, beside);
    std::printf("  %-52s %9.1f MiB\n", "memory at most", mebibytes(r.most_memory));
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }

int main(int count, char** arguments) {
    set_thread_count(1);
    const Index n = count > 1 ? std::atol(arguments[1]) : 16384;
    const std::string_view table = count > 2 ? arguments[2] : "";
    for (const Kernels* kernels : all_kernels()) {
        if (kernels->name.find(table) == std::string_view::npos) continue;
        one_map("causal", n, Mask::causal(), *kernels);
        if (n > 16384) continue;
        one_map("full", n, {}, *kernels);
        all_heads(12, 12, 1024, Mask::causal(), *kernels);
        all_heads(12, 12, 1024, {}, *kernels);
        all_heads(24, 16, 512, Mask::causal(), *kernels);
    }
}
