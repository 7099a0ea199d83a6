// Measures maps of one head, of any size, and of all heads: the time until the first and the last picture,
// the longest slice, and the memory, next to one fused attention call over the same cells in the same
// process. Prints tables for bench/results/maps.md.
//
// bench_maps [n]  measures one head of n tokens on one thread; without n, one of 16384 and everything else.

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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

// Runs a job to its end, and notes when `reached` first held.
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

void title(const Kernels& kernels, const std::string& what) {
    std::printf("\n| %s: %s | ms | × fused |\n| --- | --- | --- |\n", std::string(kernels.name).c_str(),
                what.c_str());
}

void tell(const std::string& what, double seconds, double beside) {
    std::printf("| %s | %.1f | %.3f |\n", what.c_str(), seconds * 1e3, seconds / beside);
    std::fflush(stdout);
}

Record prepared_record(Index heads, Index n, const Mask& mask, const Kernels& kernels) {
    AttentionSpec spec;
    spec.mask = mask;
    auto record = Record::prepare(uniform({heads, n, 64}, 1), uniform({heads, n, 64}, 2),
                                  uniform({heads, n, 64}, 3), spec, kernels);
    if (!record) std::exit(1);
    return *std::move(record);
}

std::shared_ptr<const Record> computed(Index heads, Index n, const Mask& mask, const Kernels& kernels,
                                       Run* prepared = nullptr) {
    RecordJob job(prepared_record(heads, n, mask, kernels));
    const Run r = run([&] { return job.step(); }, [&] { return job.sampled(tile_side); });
    if (prepared) *prepared = r;
    return job.record();
}

double fused(const Record& record, const Kernels& kernels) {
    const double start = now();
    const auto again = Record::run(record.q(), record.k(), record.v(), record.spec(), kernels);
    return again ? now() - start : 0;
}

// Does what the page does with dropped tensors: measures the sampled rows, makes the first picture, then the
// rest of the record and the tiles of its weights together.
Run together(Index n, const Mask& mask, const Kernels& kernels) {
    RecordJob job(prepared_record(1, n, mask, kernels));
    std::shared_ptr<Pyramid> pyramid;
    return run(
        [&] {
            if (!job.sampled(tile_side)) return job.step();
            if (!pyramid) {
                pyramid = std::make_shared<Pyramid>(stage_map(job.record(), 0, Stage::weight),
                                                    Pyramid::usual_bytes, kernels);
                job.give_scores(pyramid);
            }
            return !pyramid->sample() || job.done() ? pyramid->step() : job.step() || !pyramid->done();
        },
        [&] { return pyramid && pyramid->sample(); });
}

void one_map(Index n, const std::string& name, const Mask& mask, const Kernels& kernels) {
    Run records;
    const auto record = computed(1, n, mask, kernels, &records);
    const double beside = std::min(fused(*record, kernels), fused(*record, kernels));
    title(kernels, std::to_string(n) + " tokens, d = 64, " + name);
    tell("one fused call", beside, beside);
    tell("record in slices, sampled rows", records.first, beside);
    tell("record in slices, all rows", records.all, beside);
    tell("its longest slice", records.longest_slice, beside);
    const Run both = together(n, mask, kernels);
    tell("record and weights together, first picture", both.first, beside);
    tell("record and weights together, complete, " + std::to_string(both.most_memory >> 20) + " MiB at most",
         both.all, beside);
    tell("their longest slice", both.longest_slice, beside);
    for (const Stage stage : {Stage::weight, Stage::scaled, Stage::contribution}) {
        const MapPointer map = stage_map(record, 0, stage);
        const std::string of = std::string(info(stage).key) + ", ";
        Pyramid pyramid(map, Pyramid::usual_bytes, kernels);
        const Run r = run([&] { return pyramid.step(); }, [&] { return pyramid.sample() != nullptr; });
        tell(of + "first picture", r.first, beside);
        tell(of + "levels " + std::to_string(pyramid.finest()) + " to " + std::to_string(pyramid.coarsest()) +
                 " complete, " + std::to_string(r.most_memory >> 20) + " MiB at most",
             r.all, beside);
        tell(of + "longest slice", r.longest_slice, beside);
        const Index rows = std::min<Index>(900, n), cols = std::min<Index>(1440, n);
        Tensor window({rows, cols});
        double best = HUGE_VAL;
        for (int i = 0; i < 5; ++i) {
            const double start = now();
            map->cells({{n - rows, n}, {0, cols}}, window.matrix());
            best = std::min(best, now() - start);
        }
        tell(of + "1,440 × 900 cells", best, beside);
        for (Index level = 0; level < pyramid.finest(); ++level) {
            BlockJob job = tile_job(map, {level, (n - 1) / (tile_side << level), 0}, kernels);
            const Run tile = run([&] { return job.step(); }, [] { return true; });
            tell(of + "a tile of level " + std::to_string(level), tile.all, beside);
        }
    }
}

void all_heads(Index layers, Index heads, Index n, const std::string& name, const Mask& mask,
               const Kernels& kernels) {
    std::vector<MapPointer> maps;
    double beside = 0;
    for (Index l = 0; l < layers; ++l) {
        const auto record = computed(heads, n, mask, kernels);
        beside += fused(*record, kernels);
        for (Index h = 0; h < heads; ++h) maps.push_back(stage_map(record, h, Stage::weight));
    }
    const std::size_t count = maps.size();
    auto thumbnails = Thumbnails::start(std::move(maps), heads, 64, kernels);
    if (!thumbnails) std::exit(1);
    const Run r = run([&] { return thumbnails->step(); }, [&] { return thumbnails->sampled() == count; });
    title(kernels, std::to_string(layers) + " × " + std::to_string(heads) + " heads, " + std::to_string(n) +
                       " tokens, " + name);
    tell("one fused call for each layer", beside, beside);
    tell("every thumbnail sampled", r.first, beside);
    tell("every thumbnail exact, " + std::to_string(r.most_memory >> 20) + " MiB at most", r.all, beside);
    tell("longest slice", r.longest_slice, beside);
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
    const Kernels& fastest = default_kernels();
    if (count > 1) {
        one_map(std::atol(arguments[1]), "causal", Mask::causal(), fastest);
        return 0;
    }
    one_map(16384, "causal", Mask::causal(), fastest);
    one_map(16384, "full", {}, fastest);
    all_heads(12, 12, 1024, "causal", Mask::causal(), fastest);
    all_heads(12, 12, 1024, "full", {}, fastest);
    all_heads(24, 16, 512, "causal", Mask::causal(), fastest);
    one_map(16384, "causal", Mask::causal(), portable_kernels());
}
