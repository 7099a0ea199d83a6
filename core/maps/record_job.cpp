#include "maps/record_job.hpp"

#include <algorithm>

namespace attn {

namespace {

constexpr Index cells_a_step = Index{1} << 18;
constexpr Index least_rows = 8, most_rows = 256;
// Pictures of this many rows are sampled first, the small ones of all heads before the others, unless one
// would take an eighth of the work.
constexpr Index sample_sides[] = {64, tile_side};
constexpr Index least_step = 8;
// So many scores are kept to become cells, 16 MiB. Larger maps compute them a second time.
constexpr Index most_scores = Index{1} << 22;
// So many keys of some rows are left out where they are masked, as in BlockJob.
constexpr Index part_keys = 256;
// The output doubles the work; a record that would take more multiplications for it goes without.
constexpr double most_for_output = 1 << 26;

}  // namespace

RecordJob::RecordJob(Record prepared) : record_(std::make_shared<Record>(std::move(prepared))) {
    for (const Index side : sample_sides)
        if (const MapWindow some = sample_window(record_->queries(), record_->keys(), side);
            some.step >= least_step)
            passes_.push_back(some);
    passes_.push_back({{0, record_->queries()}, {0, record_->keys()}});
    const auto size = [](Index n) { return static_cast<double>(n); };
    with_output_ = record_->d_v() > 0 && size(record_->heads()) * size(record_->queries()) *
                                                 size(record_->keys()) * size(record_->d_v()) <=
                                             most_for_output;
    if (record_->queries() == 0) pass_ = passes_.size();
}

Index RecordJob::cells(Index rows) const {
    constexpr Index side = 256;
    const MapWindow& window = passes_[pass_];
    const Range queries{window.query(next_row_),
                        std::min(window.query(next_row_ + rows - 1) + 1, window.queries.end)};
    Index met = 0;
    for (Index key = 0; key < record_->keys(); key += side)
        if (record_->spec().mask.tile(0, queries, {key, std::min(key + side, record_->keys())}) !=
            Coverage::none)
            met += side;
    return met * rows;
}

// Takes as many rows as it can, since every slice packs the keys that it meets anew.
Index RecordJob::slice() const {
    Index rows = least_rows;
    while (rows < most_rows && cells(2 * rows) <= cells_a_step) rows *= 2;
    return std::min(rows, passes_[pass_].rows() - next_row_);
}

bool RecordJob::step() {
    if (done()) return false;
    if (const auto pyramid = pyramid_.lock(); !pyramid) {
        band_ = {};
    } else if (in_last_pass()) {
        step_for(*pyramid);
        return !done();
    }
    const MapWindow& window = passes_[pass_];
    const bool with_output = with_output_ && in_last_pass();
    const Index rows = with_output ? std::max<Index>(slice() / record_->heads(), 1) : slice();
    const Index end = next_row_ + rows, group = record_->heads() / record_->kv_heads();
    const Index kv_heads = std::max<Index>(cells_a_step / std::max<Index>(group * cells(rows), 1), 1);
    const Index last = std::min(next_kv_head_ + kv_heads, record_->kv_heads());
    const Range queries{window.query(next_row_), window.query(end - 1) + 1};
    if (with_output) {
        record_->compute(queries, window.step);
    } else {
        record_->measure(queries, window.step, {next_kv_head_, last});
        next_kv_head_ = last;
        if (last < record_->kv_heads()) return true;
    }
    next_kv_head_ = 0;
    next_row_ = end;
    if (end == window.rows()) {
        ++pass_;
        next_row_ = 0;
    }
    return !done();
}

bool RecordJob::can_give_scores(const Pyramid& pyramid) const {
    const AttentionSpec& spec = record_->spec();
    return pyramid.takes_scores() && pyramid.map().scored_record() == record_.get() &&
           record_->heads() == 1 && !with_output_ && !spec.edits &&
           spec.softmax_precision == SoftmaxPrecision::f32 &&
           pyramid.band_rows() * record_->keys() <= most_scores;
}

void RecordJob::give_scores(const std::shared_ptr<Pyramid>& pyramid) {
    if (pyramid_.lock() == pyramid) return;
    pyramid_.reset();
    band_ = {};
    if (done() || !pyramid || !can_give_scores(*pyramid)) return;
    pyramid_ = pyramid;
    if (in_last_pass()) next_row_ = next_row_ / pyramid->rows_of_tile() * pyramid->rows_of_tile();
}

void RecordJob::step_for(Pyramid& pyramid) {
    const Index stride = (record_->keys() + 63) / 64 * 64;
    if (band_.queries.size() == 0) {
        band_.queries = {next_row_, std::min(next_row_ + pyramid.band_rows(), record_->queries())};
        band_.next_key = 0;
        band_.sums.assign(static_cast<std::size_t>(band_.queries.size()), {});
        if (!band_.scores)
            band_.scores.reset(
                AlignedAllocator<float>().allocate(static_cast<std::size_t>(pyramid.band_rows() * stride)));
    }
    if (band_.next_key < record_->keys()) return measure_some(stride);
    const MatrixView<float> scores{band_.scores.get(), band_.queries.size(), record_->keys(), stride};
    if (pyramid.take({band_.queries, scores})) return;
    next_row_ = band_.queries.end;
    band_.queries = {};
    if (next_row_ < record_->queries()) return;
    ++pass_;
    next_row_ = 0;
}

// Some parts of the band's rows that are not masked, side by side.
void RecordJob::measure_some(Index stride) {
    const Index all = record_->keys(), at_once = std::max(part_keys, cells_a_step / band_.queries.size());
    const auto masked = [&](Index key) {
        return record_->spec().mask.tile(0, band_.queries, {key, std::min(key + part_keys, all)}) ==
               Coverage::none;
    };
    Range keys{band_.next_key, band_.next_key};
    while (keys.begin < all && masked(keys.begin)) keys.begin += part_keys;
    keys.begin = keys.end = std::min(keys.begin, all);
    while (keys.end < all && keys.size() < at_once && !masked(keys.end)) keys.end += part_keys;
    keys.end = band_.next_key = std::min(keys.end, all);
    record_->measure(band_.queries, {.keys = keys,
                                     .last = keys.end == all,
                                     .rows = band_.sums,
                                     .scores = {band_.scores.get(), band_.queries.size(), stride, stride}});
}

bool RecordJob::sampled(Index side) const {
    const Index step = sample_window(record_->queries(), record_->keys(), side).step;
    return std::any_of(passes_.begin(), passes_.begin() + static_cast<std::ptrdiff_t>(pass_),
                       [&](const MapWindow& pass) { return pass.step <= step; });
}

double RecordJob::progress() const {
    if (done()) return 1;
    if (pass_ + 1 < passes_.size()) return 0;
    const double heads = static_cast<double>(next_kv_head_) / static_cast<double>(record_->kv_heads()),
                 rows = static_cast<double>(passes_.back().rows());
    return (static_cast<double>(next_row_) + heads * static_cast<double>(slice())) / rows;
}

}  // namespace attn
