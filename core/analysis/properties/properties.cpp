#include "analysis/properties/properties.hpp"

#include <algorithm>
#include <utility>

namespace attn {

namespace {

bool runs_the_model(Property property) {
    return property == Property::past || property == Property::bits || property == Property::positions;
}

}  // namespace

PropertyChecks::PropertyChecks(std::vector<CheckedHeads> heads, std::shared_ptr<const Trace> trace,
                               const CheckOptions& options)
    : heads_(std::move(heads)), trace_(std::move(trace)), options_(options) {}

void PropertyChecks::forget(Property property) {
    const auto at = static_cast<std::size_t>(property);
    results_[at] = {};
    if (has_begun_ && property_ == at) {
        has_begun_ = false;
        record_.reset();
        rerun_.reset();
        sums_.reset();
    }
}

void PropertyChecks::follow(const CheckOptions& options) {
    const CheckOptions before = std::exchange(options_, options);
    if (before.constant != options.constant) forget(Property::shift);
    if (before.seed != options.seed) {
        forget(Property::permutation);
        forget(Property::positions);
    }
}

void PropertyChecks::begin() {
    const auto property = static_cast<Property>(property_);
    has_begun_ = true;
    at_ = 0;
    PropertyResult& result = now();
    if (property == Property::heads) {
        result.lacking = trace_ ? Lacking::nothing : Lacking::projection;
        if (trace_) sums_.emplace(trace_, heads_.front().layer);
    } else if (runs_the_model(property) && trace_) {
        rerun_.emplace(property, trace_, heads_, options_);
        result.lacking = rerun_->lacking();
        result.is_meant = rerun_->is_meant();
    } else if (property == Property::positions) {
        result.lacking = Lacking::model;
    } else {
        record_ = std::make_unique<RecordCheck>(property, heads_.front(), options_);
        result.lacking = record_->lacking();
        result.is_meant = record_->is_meant();
    }
}

void PropertyChecks::end() {
    PropertyResult& result = now();
    if (rerun_) result.lacking = rerun_->lacking();
    // Nothing says whether finished weights should be causal.
    if (!heads_.front().record && !result.holds() && static_cast<Property>(property_) == Property::past)
        result.is_meant = false;
    result.done = true;
    has_begun_ = false;
    record_.reset();
    rerun_.reset();
    sums_.reset();
}

// Goes on to the next layer; false if that was the last one.
bool PropertyChecks::step_heads() {
    PropertyResult& result = now();
    if (record_ && record_->step(result)) return true;
    if (sums_ && sums_->step(result)) return true;
    if (rerun_ || (!record_ && !sums_)) return false;
    // What heads add up to is checked once for a layer.
    const auto is_known = [&](std::size_t at) {
        return sums_ && std::any_of(heads_.begin(), heads_.begin() + static_cast<std::ptrdiff_t>(at),
                                    [&](const auto& each) { return each.layer == heads_[at].layer; });
    };
    do ++at_;
    while (at_ < heads_.size() && is_known(at_));
    if (at_ == heads_.size()) return false;
    if (sums_) {
        sums_.emplace(trace_, heads_[at_].layer);
        return true;
    }
    record_ = std::make_unique<RecordCheck>(static_cast<Property>(property_), heads_[at_], options_);
    // What one layer has is enough.
    if (record_->lacking() == Lacking::nothing) result.lacking = Lacking::nothing;
    result.is_meant = result.is_meant && record_->is_meant();
    return true;
}

bool PropertyChecks::step() {
    if (!has_begun_) {
        const auto next = std::ranges::find(results_, false, &PropertyResult::done);
        if (next == results_.end()) return false;
        property_ = static_cast<std::size_t>(next - results_.begin());
        begin();
        return true;
    }
    if (rerun_ ? !rerun_->step(now()) : !step_heads()) end();
    return has_begun_ || std::ranges::find(results_, false, &PropertyResult::done) != results_.end();
}

float PropertyChecks::progress() const {
    const auto done = static_cast<float>(std::ranges::count(results_, true, &PropertyResult::done));
    const float part = !has_begun_ ? 0
                       : rerun_    ? rerun_->progress()
                                   : (static_cast<float>(at_) + (record_ ? record_->progress()
                                                                 : sums_ ? sums_->progress()
                                                                         : 1)) /
                                      static_cast<float>(heads_.size());
    return (done + part) / static_cast<float>(property_count);
}

}  // namespace attn
