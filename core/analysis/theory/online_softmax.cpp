#include "analysis/theory/online_softmax.hpp"

#include <algorithm>
#include <cmath>

#include "attention/explain.hpp"
#include "kernels/exp.hpp"

namespace attn {

namespace {

template <class Real>
constexpr Real infinite = std::numeric_limits<Real>::infinity();

template <class Real>
Real largest(std::span<const Real> scores, Real most) {
    for (const Real score : scores) most = score > most ? score : most;
    return most;
}

float exponential(float x) { return exp_f32(x); }
double exponential(double x) { return std::exp(x); }

// exp(score − max). Scores of +∞ share their row's weight, and next to an infinite maximum all others have
// none.
template <class Real>
Real weight_of(Real score, Real max) {
    if (std::isinf(max) && !std::isnan(score)) return max > 0 && score == max ? 1 : 0;
    return exponential(score - max);
}

// A weight of 0 takes nothing, not even from an infinite value.
template <class Real>
void add_weighted(std::vector<Real>& output, Real weight, const float* values) {
    if (weight == 0) return;
    for (std::size_t b = 0; b < output.size(); ++b) output[b] += weight * static_cast<Real>(values[b]);
}

}  // namespace

template <class Real>
void OnlineRow<Real>::add(std::span<const Real> scores, ConstMatrix values) {
    const RunningRow<Real>& before = this->before(tiles());
    RowStep<Real> step{.scores = {scores.begin(), scores.end()}, .weights = {}, .after = before};
    RunningRow<Real>& after = step.after;
    after.max = largest(scores, before.max);
    if (after.max != before.max)
        step.factor = std::isinf(after.max) ? 0 : exponential(before.max - after.max);
    // Nor does a factor of 0 leave anything of what was there before.
    for (Real& component : after.output) component = step.factor == 0 ? 0 : component * step.factor;
    for (Index j = 0; j < std::ssize(scores); ++j) {
        const Real weight = weight_of(scores[static_cast<std::size_t>(j)], after.max);
        step.weights.push_back(weight);
        step.weight_sum += weight;
        add_weighted(after.output, weight, values.row(j));
    }
    after.sum = before.sum * step.factor + step.weight_sum;
    steps_.push_back(std::move(step));
}

template <class Real>
void OnlineRow<Real>::skip(Index keys) {
    const auto count = static_cast<std::size_t>(keys);
    steps_.push_back({.scores = std::vector<Real>(count, -infinite<Real>),
                      .weights = std::vector<Real>(count, 0),
                      .after = before(tiles())});
}

template <class Real>
std::vector<Real> OnlineRow<Real>::result(Index tile) const {
    const RunningRow<Real>& row = before(tile + 1);
    std::vector<Real> result = row.output;
    for (Real& component : result) component = row.sum == 0 ? 0 : component / row.sum;
    return result;
}

template <class Real>
std::vector<Real> OnlineRow<Real>::scores() const {
    std::vector<Real> all;
    for (const RowStep<Real>& step : steps_) all.insert(all.end(), step.scores.begin(), step.scores.end());
    return all;
}

template <class Real>
std::pair<Index, Real> OnlineRow<Real>::largest_score(Range keys) const {
    const std::vector<Real> all = scores();
    Index found = keys.begin;
    Real most = -infinite<Real>;
    for (Index key = keys.begin; key < keys.end; ++key)
        if (const Real score = all[static_cast<std::size_t>(key)]; score > most) {
            most = score;
            found = key;
        }
    return {found, all[static_cast<std::size_t>(found)]};
}

template <class Real>
Real OnlineRow<Real>::number(Index tile, RunningNumber number) const {
    switch (number) {
        case RunningNumber::max_before: return before(tile).max;
        case RunningNumber::max: return step(tile).after.max;
        case RunningNumber::factor: return step(tile).factor;
        case RunningNumber::sum_before: return before(tile).sum;
        case RunningNumber::weight_sum: return step(tile).weight_sum;
        case RunningNumber::sum: break;
    }
    return step(tile).after.sum;
}

template <class Real>
Real OnlineRow<Real>::output(Index tile, TileOutput output, const NaiveRow<Real>& naive,
                             Index component) const {
    const auto b = static_cast<std::size_t>(component);
    switch (output) {
        case TileOutput::before: return before(tile).output[b];
        case TileOutput::after: return step(tile).after.output[b];
        case TileOutput::result: return result(tile)[b];
        case TileOutput::naive: return naive.output[b];
        case TileOutput::difference: break;
    }
    return result(tile)[b] - naive.output[b];
}

template <class Real>
NaiveRow<Real>::NaiveRow(std::span<const Real> scores, ConstMatrix values)
    : output(static_cast<std::size_t>(values.cols)) {
    const Real max = largest(scores, -infinite<Real>);
    Real sum = 0;
    for (const Real score : scores) sum += weights.emplace_back(weight_of(score, max));
    for (Index j = 0; j < std::ssize(scores); ++j) {
        Real& weight = weights[static_cast<std::size_t>(j)];
        weight = sum == 0 ? 0 : weight / sum;
        add_weighted(output, weight, values.row(j));
    }
}

template class OnlineRow<float>;
template class OnlineRow<double>;
template struct NaiveRow<float>;
template struct NaiveRow<double>;

OnlineWalk::OnlineWalk(std::shared_ptr<const Record> record, Index head, Range queries, Index keys_a_tile)
    : record_(std::move(record)),
      head_(head),
      queries_(queries),
      keys_a_tile_(keys_a_tile),
      rows_(static_cast<std::size_t>(queries.size()), OnlineRow<float>(record_->d_v())) {}

ConstMatrix OnlineWalk::values() const { return record_->v().heads().head(record_->kv_head(head_)); }

bool OnlineWalk::step() {
    const Range keys{next_, std::min(next_ + keys_a_tile_, record_->keys())};
    next_ = keys.end;
    if (record_->spec().mask.tile(head_, queries_, keys) == Coverage::none) {
        for (OnlineRow<float>& row : rows_) row.skip(keys.size());
        return !done();
    }
    const auto width = static_cast<std::size_t>(keys.size());
    std::vector<float> scores(width * rows_.size());
    record_->stage(Stage::masked, head_, queries_, keys, scores);
    for (std::size_t i = 0; i < rows_.size(); ++i)
        rows_[i].add(std::span<const float>(scores).subspan(i * width, width), attn::rows(values(), keys));
    return !done();
}

Index OnlineWalk::most_rescaled(Index tile) const {
    Index found = queries_.begin;
    float least = 1;
    for (Index query = queries_.begin; query < queries_.end; ++query) {
        const float factor = row(query).step(tile).factor;
        if (row(query).before(tile).sum == 0 || !(factor < least)) continue;
        found = query;
        least = factor;
    }
    return found;
}

const NaiveRow<float>& OnlineWalk::naive(Index query) {
    if (naive_.empty())
        for (const OnlineRow<float>& each : rows_) naive_.emplace_back(each.scores(), values());
    return naive_[static_cast<std::size_t>(query - queries_.begin)];
}

OnlineWalk::Difference OnlineWalk::difference(Index tile) {
    Difference found;
    for (Index query = queries_.begin; query < queries_.end; ++query) {
        const std::vector<float> result = row(query).result(tile);
        for (std::size_t b = 0; b < result.size(); ++b) {
            const double off = std::abs(static_cast<double>(result[b] - naive(query).output[b]));
            found.finite = found.finite && std::isfinite(off);
            found.largest = std::fmax(found.largest, std::isinf(off) ? 0 : off);
        }
    }
    return found;
}

OnlineRow<double> exact_walk(const Record& record, Index head, Index query, Index keys_a_tile) {
    const RowChain chain = row_chain(record, head, query);
    const ConstMatrix values = record.v().heads().head(record.kv_head(head));
    OnlineRow<double> row(record.d_v());
    std::vector<double> scores;
    for (Index begin = 0; begin < record.keys(); begin += keys_a_tile) {
        const Range keys{begin, std::min(begin + keys_a_tile, record.keys())};
        scores.clear();
        for (Index key = keys.begin; key < keys.end; ++key) scores.push_back(chain.at(key).masked);
        row.add(scores, rows(values, keys));
    }
    return row;
}

RowBothWays row_both_ways(const std::shared_ptr<const Record>& record, Index head, Index query,
                          Index keys_a_tile) {
    OnlineWalk walk(record, head, {query, query + 1}, keys_a_tile);
    while (walk.step()) continue;
    const OnlineRow<double> f64 = exact_walk(*record, head, query, keys_a_tile);
    return {walk.row(query), f64, walk.naive(query), {f64.scores(), walk.values()}};
}

}  // namespace attn
