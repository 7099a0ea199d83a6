#include "runs/cost_results.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/workers.hpp"

namespace attn::app {

namespace {

constexpr Index quick_rounds = 3, thorough_rounds = 7, roof_rounds = 7;
constexpr Index measured_d = 64, measured_n = 384, scalar_n = 96;
// The kernels' tiles are of 48 queries and 64 keys.
constexpr std::array<Index, 6> quick_n{192, 256, 384, 512, 768, 1024};
constexpr std::array<Index, 5> quick_d{64, 128, 256, 384, 512};
constexpr std::array<Index, 11> all_n{64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048};
constexpr std::array<Index, 8> all_d{16, 32, 64, 128, 256, 384, 512, 1024};

// Series over n have even numbers, and those over d odd ones.
CostAxis axis_of(const CostCase& of) { return of.series % 2 == 0 ? CostAxis::n : CostAxis::d; }

template <std::size_t n>
void add_series(std::vector<CostCase>& cases, CostCase of, const std::array<Index, n>& sizes) {
    of.series = cases.empty() ? 0 : cases.back().series + 1;
    for (const Index size : sizes) {
        const bool over_n = axis_of(of) == CostAxis::n;
        of.n = over_n ? size : of.means == CostMeans::scalar ? scalar_n : measured_n;
        of.d = over_n ? measured_d : size;
        cases.push_back(of);
    }
}

// Operands of what a roofline shows are pieces of the model's: at most so many numbers and operations.
constexpr Index most_piece = Index{1} << 23;
constexpr double most_operations = 3e8;

CostCase matrix_case(Index rows, Index in, Index out, Index pool) {
    const Index columns = std::clamp<Index>(most_piece / in, 1, out);
    const double a_row = 2 * static_cast<double>(in) * static_cast<double>(columns);
    return {.work = CostWork::product,
            .n = std::clamp<Index>(static_cast<Index>(most_operations / a_row), 1, rows),
            .d = in,
            .out = columns,
            .pool = pool};
}

// What a token passes through, up to more than the caches hold.
Index pool_of(double bytes) {
    return static_cast<Index>(std::min(bytes / sizeof(float), static_cast<double>(longest_reading)));
}

std::array<CostCase, operation_names.size()> operations_of(const ModelShape& s, Index tokens) {
    const Index weights = pool_of(4 * weight_count(s)), cached = pool_of(cache_bytes(s, tokens, {})),
                most_n =
                    static_cast<Index>(std::sqrt(most_operations / (4 * static_cast<double>(s.head_dim))));
    return {CostCase{.n = std::clamp<Index>(tokens, 1, std::max<Index>(most_n, 1)), .d = s.head_dim},
            matrix_case(tokens, s.d_model, s.d_ff, weights),
            // The query heads that share a head of keys and values read it together.
            CostCase{.n = std::clamp<Index>(s.heads / s.kv_heads, 1, 64),
                     .d = s.head_dim,
                     .keys = std::clamp<Index>(most_piece / s.head_dim, 1, tokens),
                     .pool = cached},
            matrix_case(1, s.d_model, s.d_ff, weights), matrix_case(1, s.d_model, s.vocabulary, weights)};
}

}  // namespace

CostMeans usual_means() { return thread_count() > 1 ? CostMeans::threads : CostMeans::simd; }

double rate_of(const CostMeasuring::Timed& timed) { return timed.what.operations() / timed.least() * 1e3; }

double intensity_of(const CostCase& what) {
    const auto size = [](Index a, Index b) { return static_cast<double>(a) * static_cast<double>(b); };
    if (what.work == CostWork::product)
        return what.operations() /
               (4 * (size(what.n, what.d) + size(what.d, what.out) + size(what.n, what.out)));
    return fused_cost({.n_q = what.n, .n_k = what.n_k(), .d_k = what.d, .d_v = what.d}).intensity();
}

std::string CostSeries::name() const {
    static constexpr std::array<const char*, cost_means_count> names{", scalar", ", SIMD", ", threads"};
    return (form == CostWork::naive ? "naive" : "fused") +
           std::string(names[static_cast<std::size_t>(means)]);
}

void CostResults::measure_times(bool thoroughly) {
    std::vector<CostCase> cases;
    for (const CostMeans means : {CostMeans::scalar, CostMeans::simd, CostMeans::threads})
        for (const CostWork form : {CostWork::naive, CostWork::fused}) {
            if (means > usual_means() || (!thoroughly && means != usual_means())) continue;
            const CostCase of{.work = form, .means = means};
            if (thoroughly) {
                add_series(cases, of, all_n);
                add_series(cases, of, all_d);
            } else {
                add_series(cases, of, quick_n);
                add_series(cases, of, quick_d);
            }
        }
    times_.emplace(std::move(cases), thoroughly ? thorough_rounds : quick_rounds, sample_ms_of_clock(),
                   page_stopwatch());
    is_thorough_ = thoroughly;
    ++samples_;
}

void CostResults::measure_roof(const ModelShape& shape, Index tokens, std::string of) {
    roof_of_ = std::move(of);
    std::vector<CostCase> cases;
    for (const CostCase& each : operations_of(shape, tokens)) cases.push_back(each);
    for (const Index size : {256, 384, 512})
        cases.push_back({.work = CostWork::product, .n = size, .d = 512, .out = 512});
    cases.push_back({.work = CostWork::reading, .n = longest_reading});
    for (std::size_t i = 0; i < cases.size(); ++i) {
        cases[i].means = usual_means();
        cases[i].series = static_cast<Index>(i);  // no two are of a series
    }
    ++samples_;
    roof_.emplace(std::move(cases), roof_rounds, sample_ms_of_clock(), page_stopwatch());
}

bool CostResults::step() {
    ++samples_;
    if (times_ && times_->step()) return true;
    if (roof_) roof_->step();
    return is_busy();
}

std::vector<CostSeries> CostResults::series() const {
    std::vector<CostSeries> all;
    if (!times_) return all;
    for (const CostMeasuring::Timed& timed : times_->timed()) {
        if (!timed.is_done()) continue;
        const CostCase& what = timed.what;
        if (all.empty() || all.back().form != what.work || all.back().means != what.means)
            all.push_back({what.work, what.means});
        CostSeries::Over& over = all.back().over[static_cast<std::size_t>(axis_of(what))];
        over.timed.push_back(&timed);
        over.x.push_back(static_cast<double>(axis_of(what) == CostAxis::n ? what.n : what.d));
        over.ms.push_back(timed.least());
    }
    if (!times_->done()) return all;
    for (CostSeries& each : all)
        for (const CostAxis axis : {CostAxis::n, CostAxis::d}) {
            CostSeries::Over& over = each.over[static_cast<std::size_t>(axis)];
            over.fit = dominant_fit(over.x, over.ms, axis == CostAxis::n ? 2 : 1, dominant_share);
        }
    return all;
}

const CostMeasuring::Timed* CostResults::timed(CostOperation operation) const {
    if (!roof_ || !roof_->done()) return nullptr;
    const auto found = std::ranges::find(roof_->timed(), static_cast<Index>(operation),
                                         [](const auto& each) { return each.what.series; });
    return found == roof_->timed().end() ? nullptr : &*found;
}

std::optional<Roofline> CostResults::roofline() const {
    if (!roof_ || !roof_->done()) return std::nullopt;
    Roofline roof;
    for (const CostMeasuring::Timed& each : roof_->timed()) {
        if (each.what.work == CostWork::reading)
            roof.bandwidth = rate_of(each) * sizeof(float);
        else
            roof.peak = std::max(roof.peak, rate_of(each));
    }
    return roof;
}

}  // namespace attn::app
