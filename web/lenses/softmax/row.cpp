#include "lenses/softmax/row.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {

namespace {

constexpr Index cells_a_step = Index{1} << 14;  // about a millisecond of exponentials and logarithms

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
    compute(static_cast<ScoreMap>(next_++), levels);
    return next_ < rows_.size();
}

void RowMaps::compute(ScoreMap map, const EnergyLevels& levels) {
    Row& row = rows_[static_cast<std::size_t>(map)];
    if (row.mapped) return;
    const Index kv = record_->kv_head(head_);
    if (map != ScoreMap::linear) {
        row.mapped = mapped_row(map, levels, temperature_);
    } else if (with_vectors_) {
        const float* q = record_->q().heads().head(head_).row(query_);
        row.mapped =
            linear_row({q, static_cast<std::size_t>(record_->d_k())}, record_->k().heads().head(kv), levels);
    }
    if (row.mapped && with_values_)
        row.output = mapped_output(row.mapped->weights, record_->v().heads().head(kv));
}

std::optional<double> RowMaps::difference(ScoreMap map) const {
    const std::vector<double>&own = output(map), &usual = output(ScoreMap::softmax);
    if (own.empty() || own.size() != usual.size()) return std::nullopt;
    const double difference = relative_difference(own, usual);
    return std::isfinite(difference) ? std::optional(difference) : std::nullopt;
}

// ---- All heads --------------------------------------------------------------------------------------------

HeadKeys::HeadKeys(const Attention& attention, double temperature)
    : temperature_(temperature),
      heads_(attention.heads()),
      all_(static_cast<std::size_t>(attention.layers() * attention.heads())) {}

bool HeadKeys::step(const Attention& attention) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (all_[i] && all_[i]->done()) continue;
        const HeadIndex head{static_cast<Index>(i) / heads_, static_cast<Index>(i) % heads_};
        if (auto record = all_[i] ? nullptr : attention.record(head.layer))
            all_[i].emplace(std::move(record), head.head, temperature_, rows_a_head);
        if (!all_[i]) continue;
        all_[i]->step();
        return true;
    }
    return false;
}

const EffectiveKeys* HeadKeys::of(HeadIndex head) const {
    const auto at = static_cast<std::size_t>(head.layer * heads_ + head.head);
    return at < all_.size() && all_[at] && all_[at]->done() ? &*all_[at] : nullptr;
}

}  // namespace attn::app
