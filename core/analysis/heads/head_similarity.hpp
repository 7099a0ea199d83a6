// How alike heads are, in where they look and in what they write, over the queries of one text.
//
// Where they look: 1 − the mean Jensen–Shannon distance of their rows of weights, √JSD with JSD in bits,
// which is a metric between 0 and 1 (Endres & Schindelin 2003) and with which heads have been clustered
// before (Clark et al. 2019, arXiv 1906.04341, by JSD). A cosine of weights would be ruled by the first
// token, where most heads rest. What they write: the mean cosine of what they add to the residual, −1 … 1 (Li
// et al. 2018, arXiv 1810.10183: the disagreement of outputs). Linear CKA (Kornblith et al. 2019, arXiv
// 1905.00414) would not tell apart heads that a rotation makes alike, and needs more tokens than a head has
// components.
//
// A row counts where its query sees two keys or more in each of the heads: with one alone, all heads are
// alike.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analysis/linalg/average_linkage.hpp"
#include "attention/head_index.hpp"
#include "model/trace.hpp"

namespace attn {

inline constexpr Index near_tokens = 2;  // so far from its query is a key that a local head looks at

// √JSD of two rows that each add up to 1, JSD = H((p + q) / 2) − (H(p) + H(q)) / 2 in bits.
double jensen_shannon_distance(std::span<const float> p, std::span<const float> q);

class HeadSimilarity {
  public:
    // Compares all heads of these attentions, which share queries and keys. In long texts it takes every so
    // many'th query, 128 at most.
    HeadSimilarity(std::shared_ptr<const Trace> trace, Range attentions);

    bool step();  // one query, of one head against those behind it; true while there is more to do
    bool done() const { return next_ >= trace_->attention(attentions_.begin).record().queries(); }
    double progress() const;
    Range attentions() const { return attentions_; }
    Index heads() const { return attentions_.size() * per_attention_; }  // in all attentions together
    HeadIndex head(Index i) const { return {attentions_.begin + i / per_attention_, i % per_attention_}; }
    Index rows() const { return counted_; }  // the queries that count

    // Once done; NaN where no row counts.
    double of_maps(Index a, Index b) const { return 1 - mean(maps_, a, b); }
    double of_outputs(Index a, Index b) const { return mean(outputs_, a, b); }
    // The same of single rows, computed again: √JSD, or the cosine of what the heads write.
    std::vector<double> map_distances(Index a, Index b) const;
    std::vector<double> output_cosines(Index a, Index b) const;
    // The share of a head's weight on keys at most near_tokens away; NaN where queries and keys are of two
    // texts.
    double local(Index i) const;
    // The entropy of its rows as a share of the most it could be, 0 … 1: 1 looks at all keys alike.
    double uniform(Index i) const {
        return uniform_[static_cast<std::size_t>(i)] / static_cast<double>(counted_);
    }

    const std::vector<Index>& taken() const { return taken_; }  // the queries whose rows count

  private:
    double mean(const std::vector<double>& sums, Index a, Index b) const {
        return sums[static_cast<std::size_t>(a * heads() + b)] / static_cast<double>(counted_);
    }
    bool begin_row();  // false: it does not count
    void compare(Index head);

    std::shared_ptr<const Trace> trace_;
    Range attentions_;
    Index per_attention_, stride_, next_ = 0, at_ = -1, counted_ = 0;  // at_ is the head at work; −1: none
    std::vector<Index> taken_;
    std::vector<std::vector<float>> weights_;  // the query's weights, [heads][keys]
    std::vector<double> entropies_;            // entropies of these rows, in bits
    std::vector<std::vector<float>> written_;  // [heads][d_model]
    std::vector<double> lengths_;
    std::vector<double> maps_, outputs_;  // sums over rows, [heads, heads]
    std::vector<double> local_, uniform_;
};

// Average linkage of heads that are compared, by 1 − how alike they look or write. Where no row counts, no
// heads are merged.
struct HeadClusters {
    std::vector<ClusterMerge> merges;
    std::vector<Index> order;  // heads in the order of the dendrogram's leaves
};
HeadClusters clusters_of(const HeadSimilarity& heads, bool by_outputs);

}  // namespace attn
