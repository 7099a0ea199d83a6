#include "maps/record_job.hpp"

#include <algorithm>

namespace attn {

namespace {

constexpr Index cells_a_step = Index{1} << 18;
constexpr Index least_rows = 8, most_rows = 256;

}  // namespace

RecordJob::RecordJob(Record prepared)
    : record_(std::make_shared<Record>(std::move(prepared))),
      sample_(sample_window(record_->queries(), record_->keys(), tile_side)),
      all_{{0, record_->queries()}, {0, record_->keys()}} {
    // Where every row is in the sample there is nothing to do first.
    if (sample_.step == 1) sampled_ = sample_.rows();
}

// As many as can be: every slice packs the keys and values that it meets anew.
Index RecordJob::slice(const MapWindow& window, Index first_row) const {
    constexpr Index side = 256;
    const auto cells = [&](Index rows) {
        const Range queries{window.query(first_row),
                            std::min(window.query(first_row + rows - 1) + 1, window.queries.end)};
        Index met = 0;
        for (Index key = 0; key < record_->keys(); key += side)
            if (record_->spec().mask.tile(0, queries, {key, std::min(key + side, record_->keys())}) !=
                Coverage::none)
                met += side;
        return met * rows;
    };
    Index rows = least_rows;
    while (rows < most_rows && cells(2 * rows) <= cells_a_step / record_->heads()) rows *= 2;
    return std::min(rows, window.rows() - first_row);
}

void RecordJob::compute(const MapWindow& window, Index& next_row) {
    const Index rows = slice(window, next_row);
    record_->compute({window.query(next_row), window.query(next_row + rows - 1) + 1}, window.step);
    next_row += rows;
}

bool RecordJob::step() {
    if (done()) return false;
    if (!sampled())
        compute(sample_, sampled_);
    else
        compute(all_, computed_);
    return !done();
}

double RecordJob::progress() const {
    return done() ? 1 : static_cast<double>(computed_) / static_cast<double>(all_.rows());
}

}  // namespace attn
