#include "analysis/numerics/rounded_row.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

constexpr Index products_a_step = 16'384;

}  // namespace

std::vector<ChainStage> chain_stages(const Record& record, bool is_shifted, bool with_values) {
    std::vector<ChainStage> stages;
    for (std::size_t i = 0; i < chain_stage_count; ++i) {
        const auto stage = static_cast<ChainStage>(i);
        const bool is_left_out = (stage == ChainStage::capped && record.spec().softcap == 0) ||
                                 (stage == ChainStage::masked && record.spec().bias.empty()) ||
                                 (stage == ChainStage::shifted && !is_shifted) ||
                                 (!with_values && (stage == ChainStage::v || stage == ChainStage::output));
        if (!is_left_out) stages.push_back(stage);
    }
    return stages;
}

double rounded_input(const Record& record, Index head, ChainStage stage, Index row, Index component,
                     NumberFormat format) {
    const bool of_query = stage == ChainStage::q;
    const Tensor& tensor = of_query ? record.q() : stage == ChainStage::k ? record.k() : record.v();
    return rounded(format, static_cast<double>(
                               tensor.heads().head(of_query ? head : record.kv_head(head))(row, component)));
}

RoundedRow::RoundedRow(std::shared_ptr<const Record> record, Index head, Index query,
                       const Arithmetic& arithmetic)
    : record_(std::move(record)),
      head_(head),
      query_(query),
      arithmetic_(arithmetic),
      allowed_(static_cast<std::size_t>(record_->keys())),
      components_(allowed_.size()) {
    record_->spec().mask.row(head, query, 0, allowed_);
    if (const Bias& bias = record_->spec().bias; !bias.empty())
        for (std::size_t j = 0; j < allowed_.size(); ++j)
            if (bias.at(head, query, static_cast<Index>(j)) == -HUGE_VALF) allowed_[j] = 0;
    for (std::size_t i = 0; i < chain_stage_count; ++i)
        if (is_of_pairs(static_cast<ChainStage>(i))) stages_[i].resize(allowed_.size());
    numbers(ChainStage::output).resize(static_cast<std::size_t>(record_->d_v()));
    for (Index a = 0; a < record_->d_k(); ++a)
        numbers(ChainStage::q)
            .push_back(rounded_input(*record_, head, ChainStage::q, query, a, arithmetic.format));
}

double RoundedRow::at(ChainStage stage, Index column) const {
    return stages_[number_of(stage)][static_cast<std::size_t>(column)];
}

void RoundedRow::score(Index key) {
    const auto j = static_cast<std::size_t>(key);
    const NumberFormat sums = arithmetic_.of_sums(), scores = arithmetic_.of_scores();
    const float *q = record_->q().heads().head(head_).row(query_),
                *k = record_->k().heads().head(record_->kv_head(head_)).row(key);
    const std::vector<double>& rounded_q = numbers(ChainStage::q);
    terms_.resize(rounded_q.size());
    double farthest = -1;
    for (std::size_t a = 0; a < terms_.size(); ++a) {
        terms_[a] = rounded(sums, rounded_q[a] * rounded(arithmetic_.format, static_cast<double>(k[a])));
        const double off = std::abs(terms_[a] - static_cast<double>(q[a]) * static_cast<double>(k[a]));
        // A product that is not finite is the farthest of all.
        if (!(off <= farthest) && std::isfinite(farthest)) {
            farthest = off;
            components_[j] = static_cast<Index>(a);
        }
    }
    if (!terms_.empty()) numbers(ChainStage::product)[j] = terms_[static_cast<std::size_t>(components_[j])];
    const double raw = rounded(scores, rounded_sum(sums, arithmetic_.order, terms_));
    const auto constant = [&](double value) {
        return scores == NumberFormat::f64 ? value : rounded(NumberFormat::f32, value);
    };
    const double scaled = rounded(scores, constant(record_->scale()) * raw);
    const double cap = constant(record_->spec().softcap);
    const double capped =
        cap == 0 ? scaled : rounded(scores, cap * rounded(scores, std::tanh(rounded(scores, scaled / cap))));
    const Bias& bias = record_->spec().bias;
    const double masked =
        bias.empty()
            ? capped
            : rounded(scores, capped + rounded(scores, static_cast<double>(bias.at(head_, query_, key))));
    numbers(ChainStage::raw)[j] = raw;
    numbers(ChainStage::scaled)[j] = scaled;
    numbers(ChainStage::capped)[j] = capped;
    numbers(ChainStage::masked)[j] = masked;
    // A NaN is the largest, as in PyTorch.
    if (max_key_ < 0 || masked > max_ || (std::isnan(masked) && !std::isnan(max_))) {
        max_ = masked;
        max_key_ = key;
    }
}

void RoundedRow::weigh_online() {
    const NumberFormat scores = arithmetic_.of_scores(), sums = arithmetic_.of_sums();
    double max = -HUGE_VAL, sum = 0;
    for (std::size_t j = 0; j < allowed_.size(); ++j) {
        if (!allowed_[j]) continue;
        const double score = numbers(ChainStage::masked)[j];
        double factor = 1;
        if (!(score <= max)) {
            factor = std::isinf(max) && max < 0 ? 0 : rounded(scores, std::exp(rounded(scores, max - score)));
            max = score;
        }
        const double part = rounded(scores, std::exp(rounded(scores, score - max)));
        sum = rounded(sums, rounded(sums, sum * factor) + part);
        factors_.push_back(factor);
        taken_.push_back(part);
    }
    numbers(ChainStage::sum) = {rounded(scores, sum)};
}

void RoundedRow::weigh() {
    const NumberFormat scores = arithmetic_.of_scores();
    std::vector<double> seen;
    for (std::size_t j = 0; j < allowed_.size(); ++j) {
        if (!allowed_[j]) continue;
        const double masked = numbers(ChainStage::masked)[j];
        const double shifted = arithmetic_.is_shifted() ? rounded(scores, masked - max_) : masked;
        numbers(ChainStage::shifted)[j] = shifted;
        seen.push_back(numbers(ChainStage::exponential)[j] = rounded(scores, std::exp(shifted)));
    }
    if (arithmetic_.is_online())
        weigh_online();
    else
        numbers(ChainStage::sum) = {
            rounded(scores, rounded_sum(arithmetic_.of_sums(), arithmetic_.order, seen))};
    const double sum = numbers(ChainStage::sum).front();
    for (std::size_t j = 0; j < allowed_.size(); ++j)
        if (allowed_[j])
            numbers(ChainStage::weight)[j] =
                rounded(arithmetic_.format, numbers(ChainStage::exponential)[j] / sum);
    weighed_ = true;
}

double RoundedRow::output(Index component) {
    const NumberFormat sums = arithmetic_.of_sums();
    const ConstMatrix v = record_->v().heads().head(record_->kv_head(head_));
    const auto value = [&](std::size_t j) {
        return rounded(arithmetic_.format, static_cast<double>(v(static_cast<Index>(j), component)));
    };
    terms_.clear();
    if (!arithmetic_.is_online()) {
        for (std::size_t j = 0; j < allowed_.size(); ++j)
            if (allowed_[j]) terms_.push_back(rounded(sums, numbers(ChainStage::weight)[j] * value(j)));
        return rounded(arithmetic_.format, rounded_sum(sums, arithmetic_.order, terms_));
    }
    double sum = 0;
    for (std::size_t j = 0, seen = 0; j < allowed_.size(); ++j) {
        if (!allowed_[j]) continue;
        // Fused kernels hand the exponentials to the second product in the format of V.
        const double part = rounded(arithmetic_.format, taken_[seen]);
        sum = rounded(sums, rounded(sums, sum * factors_[seen]) + rounded(sums, part * value(j)));
        ++seen;
    }
    return max_key_ < 0 ? 0 : rounded(arithmetic_.format, sum / numbers(ChainStage::sum).front());
}

bool RoundedRow::step() {
    const Index keys = record_->keys(), components = record_->d_v();
    if (next_key_ < keys) {
        const Index end = std::min(
            keys, next_key_ + std::max<Index>(1, products_a_step / std::max<Index>(1, record_->d_k())));
        for (; next_key_ < end; ++next_key_)
            if (sees(next_key_)) score(next_key_);
        return true;
    }
    if (!weighed_) {
        weigh();
        return true;
    }
    const Index end = std::min(
        components, next_component_ + std::max<Index>(1, products_a_step / std::max<Index>(1, keys)));
    for (; next_component_ < end; ++next_component_)
        numbers(ChainStage::output)[static_cast<std::size_t>(next_component_)] = output(next_component_);
    done_ = next_component_ >= components;
    return !done_;
}

}  // namespace attn
