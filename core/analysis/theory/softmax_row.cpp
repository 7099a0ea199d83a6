#include "analysis/theory/softmax_row.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

// Each takes about a millisecond of exponentials and logarithms.
constexpr Index cells_a_step = Index{1} << 14, features_a_step = Index{1} << 17;

Index point_at(double temperature) {
    return temperature_origin + static_cast<Index>(std::lround(std::log10(temperature) *
                                                               static_cast<double>(temperatures_a_decade)));
}

}  // namespace

double curve_temperature(Index point) {
    return std::pow(10.0, static_cast<double>(point - temperature_origin) / temperatures_a_decade);
}

// ---- One row at all temperatures --------------------------------------------------------------------------

RowCurves::RowCurves(EnergyLevels levels)
    : levels_(std::make_shared<const EnergyLevels>(std::move(levels))),
      peak_(levels_),
      first_(point_at(least_temperature)),
      last_(point_at(most_temperature)) {}

bool RowCurves::step() {
    Index left = std::max<Index>(cells_a_step / std::max<Index>(std::ssize(levels_->scores), 1), 1);
    for (; left > 0 && !peak_.done(); --left) {
        if (peak_.step()) continue;
        if (const auto peak = peak_.peak()) {
            // A quarter of a decade on either side shows that it is a peak.
            constexpr Index around = temperatures_a_decade / 4;
            first_ = std::min(first_, point_at(peak->temperature) - around);
            last_ = std::max(last_, point_at(peak->temperature) + around);
        }
    }
    const auto count = static_cast<std::size_t>(last_ - first_ + 1);
    for (; left > 0 && peak_.done() && points_.size() < count; --left)
        points_.push_back(gibbs(*levels_, curve_temperature(first_ + std::ssize(points_))));
    return !peak_.done() || points_.size() < count;
}

// ---- Through all maps -------------------------------------------------------------------------------------

RowMaps::RowMaps(std::shared_ptr<const Record> record, Index head, Index query, double temperature,
                 bool with_vectors, bool with_values)
    : record_(std::move(record)),
      head_(head),
      query_(query),
      temperature_(temperature),
      with_vectors_(with_vectors),
      with_values_(with_values) {}

bool RowMaps::step(const EnergyLevels& levels) {
    if (next_ == rows_.size()) return false;
    const auto map = static_cast<ScoreMap>(next_);
    if (map != ScoreMap::linear) {
        finish(map, mapped_row(map, levels, temperature_));
    } else if (with_vectors_) {
        const ConstMatrix q = record_->q().heads().head(head_),
                          k = record_->k().heads().head(record_->kv_head(head_));
        const Index end =
            std::min(linear_next_ + std::max<Index>(features_a_step / record_->d_k(), 1), record_->keys());
        add_linear_products(linear_, {q.row(query_), static_cast<std::size_t>(q.cols)}, k, levels,
                            {linear_next_, end});
        linear_next_ = end;
        if (end < record_->keys()) return true;
        divide_linear_products(linear_);
        finish(map, std::move(linear_));
    }
    return ++next_ < rows_.size();
}

void RowMaps::finish(ScoreMap map, MappedRow mapped) {
    Row& row = rows_[static_cast<std::size_t>(map)];
    row.mapped = std::move(mapped);
    if (with_values_)
        row.output = mapped_output(row.mapped->weights, record_->v().heads().head(record_->kv_head(head_)));
}

void RowMaps::compute(ScoreMap map, const EnergyLevels& levels, const RowMaps& run) {
    Row& row = rows_[static_cast<std::size_t>(map)];
    if (map == ScoreMap::linear)
        row = run.rows_[static_cast<std::size_t>(map)];
    else if (!row.mapped)
        finish(map, mapped_row(map, levels, temperature_));
}

std::optional<double> RowMaps::difference(ScoreMap map) const {
    const std::vector<double>&own = output(map), &usual = output(ScoreMap::softmax);
    if (own.empty() || own.size() != usual.size()) return std::nullopt;
    const double difference = relative_difference(own, usual);
    return std::isfinite(difference) ? std::optional(difference) : std::nullopt;
}

}  // namespace attn
