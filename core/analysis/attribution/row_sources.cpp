#include "analysis/attribution/row_sources.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "analysis/attribution/effects.hpp"

namespace attn {

namespace {

std::vector<double> scaled_query(const ScorePlace& place) {
    const Record& record = place.record();
    const float* row = record.q().heads().head(place.head).row(place.query);
    std::vector<double> q(row, row + record.d_k());
    for (double& each : q) each *= record.scale();
    return q;
}

std::vector<Index> visible_keys(const ScorePlace& place) {
    return seen_keys(*place.trace, {place.attention, place.head}, place.query);
}

// Takes the heads' rows anew for every few keys.
std::vector<Source> key_sources(const ScorePlace& place, Index key, std::optional<WrittenRows>& heads) {
    constexpr Index together = 8;
    const LayerAttention at = place.trace->attention(place.attention);
    if (!heads || !heads->rows().holds(key))
        heads.emplace(at.keys, Range{key, std::min(key + together, at.keys.tokens())});
    return with_biases_joined(
        vector_sources(*place.trace, Stage::k, place.attention, place.head, key, {}, &*heads));
}

}  // namespace

RowSources::RowSources(ScorePlace place) : place_(std::move(place)), keys_(visible_keys(place_)) {}

bool RowSources::step() {
    if (done_) return false;
    if (sources_.size() < keys_.size()) {
        sources_.push_back(key_sources(place_, keys_[sources_.size()], heads_));
        return true;
    }
    terms_ = row_terms(scaled_query(place_), sources_);
    deciding_ = deciding_sources(terms_);
    sources_.clear();
    heads_.reset();
    done_ = true;
    return false;
}

double RowSources::added(Index rank, Index i) const {
    if (rank >= std::ssize(deciding_)) return terms_.scores[static_cast<std::size_t>(i)];
    const Index source = same_source(terms_.sources, deciding_[static_cast<std::size_t>(rank)].source);
    return terms_.adds[static_cast<std::size_t>(source)][static_cast<std::size_t>(i)];
}

float RowSources::progress() const {
    return done_ ? 1 : static_cast<float>(sources_.size()) / static_cast<float>(keys_.size() + 1);
}

TextSources::TextSources(std::vector<std::shared_ptr<const Trace>> texts, Index attention, Index head)
    : texts_(std::move(texts)), attention_(attention), head_(head) {}

bool TextSources::step() {
    if (done()) return false;
    const ScorePlace place{texts_[static_cast<std::size_t>(text_)], attention_, head_, row_, 0};
    if (std::ssize(keys_) < place.record().keys()) {
        keys_.push_back(key_sources(place, std::ssize(keys_), heads_));
        return true;
    }
    if (row_ < place.record().queries()) {
        std::vector<std::vector<Source>> seen;
        for (const Index key : visible_keys(place)) seen.push_back(keys_[static_cast<std::size_t>(key)]);
        const RowTerms row = row_terms(scaled_query(place), seen);
        variance_ += covariation(row.scores, row.scores);
        for (std::size_t i = 0; i < row.sources.size(); ++i) {
            auto found = std::ranges::find_if(
                present_, [&](const Mean& each) { return each.source.is(row.sources[i]); });
            if (found == present_.end()) found = present_.insert(found, Mean{{row.sources[i]}});
            found->share += covariation(row.adds[i], row.scores);
        }
        ++row_;
        return true;
    }
    finish_text();
    return !done();
}

void TextSources::finish_text() {
    if (std::isfinite(variance_) && variance_ > 0) {
        for (const Mean& each : present_) {
            auto found =
                std::ranges::find_if(means_, [&](const Mean& mean) { return mean.source.is(each.source); });
            if (found == means_.end()) found = means_.insert(found, Mean{{each.source}});
            found->of_texts.resize(counted_.size());
            found->of_texts.push_back(each.share / variance_);
        }
        counted_.push_back(text_);
    }
    keys_.clear();
    heads_.reset();
    present_.clear();
    variance_ = 0;
    row_ = 0;
    if (++text_ < std::ssize(texts_)) return;
    for (Mean& each : means_) {
        each.of_texts.resize(counted_.size());
        each.share = std::accumulate(each.of_texts.begin(), each.of_texts.end(), 0.0) /
                     static_cast<double>(counted_.size());
    }
    std::ranges::sort(means_, std::greater(), &Mean::share);
}

float TextSources::progress() const {
    return texts_.empty() ? 1 : static_cast<float>(text_) / static_cast<float>(texts_.size());
}

}  // namespace attn
