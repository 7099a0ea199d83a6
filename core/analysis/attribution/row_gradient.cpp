#include "analysis/attribution/row_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attn {

namespace {

constexpr Index row_products_a_slice = 100'000;

template <typename Real>
Real capped(Real score, Real cap) {
    return cap != 0 ? cap * std::tanh(score / cap) : score;
}

// Softmax of masked scores; zeros where all are −∞.
template <typename Real>
std::vector<Real> softmax_of(std::span<const Real> masked) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    std::vector<Real> weights(masked.size(), Real{0});
    Real most = -infinity, sum = 0;
    for (const Real each : masked) most = std::max(most, each);
    if (most == -infinity) return weights;
    for (std::size_t j = 0; j < masked.size(); ++j)
        if (masked[j] != -infinity) sum += weights[j] = std::exp(masked[j] - most);
    for (Real& weight : weights) weight /= sum;
    return weights;
}

// What the edits of the record leave of a row.
template <typename Real>
void change_row(const Record& record, CellEdit::Of of, Index head, Index query, std::vector<Real>& row,
                std::span<const std::uint8_t> seen) {
    if (record.spec().edits)
        change_cells(*record.spec().edits, of, head, query, 0, std::span<Real>(row), seen);
}
template <typename Real>
void change_row_back(const Record& record, CellEdit::Of of, Index head, Index query, std::vector<Real>& row,
                     std::span<const std::uint8_t> seen) {
    if (record.spec().edits)
        change_cells_back(*record.spec().edits, of, head, query, std::span<Real>(row), seen);
}
// The loss's derivative by one number of the output.
template <typename Real>
Real left_of(const RowLoss& loss, Real output, Index head, Index query, Index column) {
    for (const Edit& each : loss.edits)
        if (const auto left = changed(each, static_cast<double>(output), head, query, column))
            output = static_cast<Real>(*left);
    return output;
}

}  // namespace

template <typename Real>
RowGradientJob<Real>::RowGradientJob(std::shared_ptr<const Record> record, Index head, Index query,
                                     RowLoss loss)
    : record_(std::move(record)),
      head_(head),
      query_(query),
      loss_(std::move(loss)),
      k_(record_->k().heads().head(record_->kv_head(head))),
      v_(record_->v().heads().head(record_->kv_head(head))) {
    const auto n = static_cast<std::size_t>(record_->keys()), d_v = static_cast<std::size_t>(record_->d_v());
    pass_.allowed.resize(n);
    pass_.scaled.resize(n);
    pass_.masked.assign(n, -std::numeric_limits<Real>::infinity());
    pass_.output.assign(d_v, Real{0}), pass_.d_output = pass_.d_summed = pass_.output;
    pass_.d_weight.assign(n, Real{0}), pass_.d_masked = pass_.d_raw = pass_.d_weight;
    pass_.d_q.assign(static_cast<std::size_t>(record_->d_k()), Real{0});
}

template <typename Real>
Range RowGradientJob<Real>::next_keys(Phase then) {
    const Index width = std::max<Index>(1, std::max(record_->d_k(), record_->d_v()));
    const Range keys{next_,
                     std::min(record_->keys(), next_ + std::max<Index>(1, row_products_a_slice / width))};
    next_ = keys.end;
    if (next_ == record_->keys()) {
        next_ = 0;
        phase_ = then;
    }
    return keys;
}

template <typename Real>
bool RowGradientJob<Real>::step() {
    switch (phase_) {
        case Phase::scores: score(next_keys(Phase::weights)); break;
        case Phase::weights: weigh(); break;
        case Phase::output: add_output(next_keys(Phase::loss)); break;
        case Phase::loss: finish_output(); break;
        case Phase::weight_slopes: add_weight_slopes(next_keys(Phase::softmax)); break;
        case Phase::softmax: leave_softmax(); break;
        case Phase::score_slopes: add_score_slopes(next_keys(Phase::done)); break;
        case Phase::done: break;
    }
    return !done();
}

template <typename Real>
void RowGradientJob<Real>::score(Range keys) {
    const AttentionSpec& spec = record_->spec();
    const auto begin = static_cast<std::size_t>(keys.begin), count = static_cast<std::size_t>(keys.size());
    spec.mask.row(head_, query_, keys.begin, std::span(pass_.allowed).subspan(begin, count));
    const float* q = record_->q().heads().head(head_).row(query_);
    const auto scale = static_cast<Real>(record_->scale()), cap = static_cast<Real>(spec.softcap);
    for (Index key = keys.begin; key < keys.end; ++key) {
        const auto j = static_cast<std::size_t>(key);
        Real raw = 0;
        for (Index a = 0; a < record_->d_k(); ++a)
            raw += static_cast<Real>(q[a]) * static_cast<Real>(k_(key, a));
        pass_.scaled[j] = scale * raw;
        if (!pass_.allowed[j]) continue;
        pass_.masked[j] = capped(pass_.scaled[j], cap);
        if (!spec.bias.empty()) pass_.masked[j] += static_cast<Real>(spec.bias.at(head_, query_, key));
    }
}

template <typename Real>
void RowGradientJob<Real>::weigh() {
    pass_.score = pass_.masked;
    change_row(*record_, CellEdit::Of::score, head_, query_, pass_.masked, pass_.allowed);
    for (std::size_t j = 0; j < pass_.masked.size(); ++j)
        if (!pass_.allowed[j]) pass_.masked[j] = -std::numeric_limits<Real>::infinity();
    pass_.softmax = pass_.weight = softmax_of<Real>(pass_.masked);
    change_row(*record_, CellEdit::Of::weight, head_, query_, pass_.weight, pass_.allowed);
    phase_ = Phase::output;
}

// A key of weight 0 gives and takes nothing, whatever its value is.
template <typename Real>
void RowGradientJob<Real>::add_output(Range keys) {
    for (Index key = keys.begin; key < keys.end; ++key) {
        const Real weight = pass_.weight[static_cast<std::size_t>(key)];
        if (weight == 0) continue;
        for (std::size_t b = 0; b < pass_.output.size(); ++b)
            pass_.output[b] += weight * static_cast<Real>(v_(key, static_cast<Index>(b)));
    }
}

template <typename Real>
void RowGradientJob<Real>::finish_output() {
    for (std::size_t b = 0; b < pass_.output.size(); ++b) {
        const auto column = static_cast<Index>(b);
        pass_.output[b] = left_of(loss_, pass_.output[b], head_, query_, column);
        if (!loss_.along.empty()) {
            pass_.d_output[b] = static_cast<Real>(loss_.along[b]);
            pass_.loss += pass_.d_output[b] * pass_.output[b];
        } else if (loss_.target) {
            pass_.d_output[b] = pass_.output[b] - static_cast<Real>(v_(*loss_.target, column));
            pass_.loss += pass_.d_output[b] * pass_.d_output[b] / 2;
        } else if (column == loss_.component) {
            pass_.d_output[b] = 1;
            pass_.loss = pass_.output[b];
        }
        pass_.d_summed[b] = pass_.d_output[b];
        for (const Edit& each : loss_.edits)
            pass_.d_summed[b] *= static_cast<Real>(slope_of(each, head_, query_, column));
    }
    phase_ = Phase::weight_slopes;
}

template <typename Real>
void RowGradientJob<Real>::add_weight_slopes(Range keys) {
    for (Index key = keys.begin; key < keys.end; ++key) {
        const auto j = static_cast<std::size_t>(key);
        if (!pass_.allowed[j]) continue;
        for (std::size_t b = 0; b < pass_.output.size(); ++b)
            pass_.d_weight[j] += pass_.d_summed[b] * static_cast<Real>(v_(key, static_cast<Index>(b)));
    }
}

template <typename Real>
void RowGradientJob<Real>::leave_softmax() {
    pass_.d_softmax = pass_.d_weight;
    change_row_back(*record_, CellEdit::Of::weight, head_, query_, pass_.d_softmax, pass_.allowed);
    for (std::size_t j = 0; j < pass_.softmax.size(); ++j)
        if (pass_.softmax[j] != 0) pass_.mean += pass_.softmax[j] * pass_.d_softmax[j];
    for (std::size_t j = 0; j < pass_.softmax.size(); ++j)
        if (pass_.softmax[j] != 0) pass_.d_masked[j] = pass_.softmax[j] * (pass_.d_softmax[j] - pass_.mean);
    pass_.d_score = pass_.d_masked;
    change_row_back(*record_, CellEdit::Of::score, head_, query_, pass_.d_score, pass_.allowed);
    phase_ = Phase::score_slopes;
}

template <typename Real>
void RowGradientJob<Real>::add_score_slopes(Range keys) {
    const auto scale = static_cast<Real>(record_->scale()), cap = static_cast<Real>(record_->spec().softcap);
    for (Index key = keys.begin; key < keys.end; ++key) {
        const auto j = static_cast<std::size_t>(key);
        if (pass_.d_score[j] == 0) continue;
        const Real bent = cap != 0 ? std::tanh(pass_.scaled[j] / cap) : Real{0};
        pass_.d_raw[j] = scale * (1 - bent * bent) * pass_.d_score[j];
        for (std::size_t a = 0; a < pass_.d_q.size(); ++a)
            pass_.d_q[a] += pass_.d_raw[j] * static_cast<Real>(k_(key, static_cast<Index>(a)));
    }
}

template class RowGradientJob<float>;
template class RowGradientJob<double>;

template <typename Real>
RowGradient<Real> row_gradient(std::shared_ptr<const Record> record, Index head, Index query,
                               const RowLoss& loss) {
    RowGradientJob<Real> passing(std::move(record), head, query, loss);
    while (passing.step()) continue;
    return passing.pass();
}

template RowGradient<float> row_gradient<float>(std::shared_ptr<const Record>, Index, Index, const RowLoss&);
template RowGradient<double> row_gradient<double>(std::shared_ptr<const Record>, Index, Index,
                                                  const RowLoss&);

double moved_loss(const Record& record, Index head, Index query, const RowLoss& loss,
                  const RowGradient<double>& pass, std::span<const Moved> moved) {
    const AttentionSpec& spec = record.spec();
    const ConstMatrix k = record.k().heads().head(record.kv_head(head)),
                      v = record.v().heads().head(record.kv_head(head));
    const Index n = record.keys(), d_k = record.d_k(), d_v = record.d_v();
    const auto at = [](Index i) { return static_cast<std::size_t>(i); };
    std::vector<double> q(at(d_k)), d_q(at(d_k)), d_raw(at(n)), d_masked(at(n)), d_weight(at(n));
    for (Index a = 0; a < d_k; ++a) q[at(a)] = static_cast<double>(record.q().heads().head(head)(query, a));
    for (const Moved& each : moved)
        if (each.stage == Stage::q) d_q[at(each.col)] += each.by;
    for (Index a = 0; a < d_k; ++a) {
        if (d_q[at(a)] == 0) continue;
        for (Index j = 0; j < n; ++j) d_raw[at(j)] += d_q[at(a)] * static_cast<double>(k(j, a));
    }
    for (const Moved& each : moved) {
        if (each.stage == Stage::k) d_raw[at(each.row)] += each.by * (q[at(each.col)] + d_q[at(each.col)]);
        if (each.stage == Stage::raw) d_raw[at(each.col)] += each.by;
        if (each.stage == Stage::masked) d_masked[at(each.col)] += each.by;
        if (each.stage == Stage::weight) d_weight[at(each.col)] += each.by;
    }
    const double scale = record.scale(), cap = spec.softcap;
    std::vector<double> weights = pass.score;
    for (Index j = 0; j < n; ++j) {
        if (!pass.allowed[at(j)] || d_raw[at(j)] == 0) continue;
        weights[at(j)] = capped(pass.scaled[at(j)] + scale * d_raw[at(j)], cap);
        if (!spec.bias.empty()) weights[at(j)] += static_cast<double>(spec.bias.at(head, query, j));
    }
    change_row(record, CellEdit::Of::score, head, query, weights, pass.allowed);
    for (Index j = 0; j < n; ++j)
        if (pass.allowed[at(j)])
            weights[at(j)] += d_masked[at(j)];
        else
            weights[at(j)] = -std::numeric_limits<double>::infinity();
    weights = softmax_of<double>(weights);
    change_row(record, CellEdit::Of::weight, head, query, weights, pass.allowed);
    for (Index j = 0; j < n; ++j) weights[at(j)] += d_weight[at(j)];

    std::vector<Moved> values;
    for (const Moved& each : moved)
        if (each.stage == Stage::v) values.push_back(each);
    const auto moved_value = [&](Index j, Index b) {
        double value = static_cast<double>(v(j, b));
        for (const Moved& each : values)
            if (each.row == j && each.col == b) value += each.by;
        return value;
    };
    const auto output = [&](Index b) {
        double sum = 0;
        for (Index j = 0; j < n; ++j)
            if (weights[at(j)] != 0) sum += weights[at(j)] * static_cast<double>(v(j, b));
        for (const Moved& each : values)
            if (each.col == b) sum += weights[at(each.row)] * each.by;
        return left_of(loss, sum, head, query, b);
    };
    if (loss.along.empty() && !loss.target) return output(loss.component);
    double all = 0;
    for (Index b = 0; b < d_v; ++b) {
        if (!loss.along.empty()) {
            all += loss.along[at(b)] * output(b);
        } else {
            const double off = output(b) - moved_value(*loss.target, b);
            all += off * off / 2;
        }
    }
    return all;
}

double central_difference(const Record& record, Index head, Index query, const RowLoss& loss,
                          const RowGradient<double>& pass,
                          const std::function<std::vector<Moved>(double)>& moved_by, double h) {
    const auto at = [&](double step) { return moved_loss(record, head, query, loss, pass, moved_by(step)); };
    return (at(h) - at(-h)) / (2 * h);
}

double weight_slope(std::span<const double> weights, Index j, Index k) {
    const auto at = [&](Index i) { return weights[static_cast<std::size_t>(i)]; };
    return at(j) * ((j == k ? 1 : 0) - at(k));
}

}  // namespace attn
