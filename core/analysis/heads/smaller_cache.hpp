// Models whose keys and values need less room in the cache, made of a model's own weights without training it
// again.
//
// Sharing: heads of K and V that stand beside each other become one, whose W_K and W_V are their mean
// (Ainslie et al. 2023, "GQA", arXiv 2305.13245, section 2.1). So are their biases, and the gains where a
// norm of K takes all heads together.
//
// Latent: each token keeps c = x W_down, r numbers, of which the keys and values of all heads are made, [K V]
// = c W_up, as in multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", arXiv 2405.04434, section
// 2.1). W_down W_up is the matrix of rank r that is nearest to [W_K W_V] by the sum of squared differences
// (Eckart & Young 1936). Biases are added behind it. Norms and rotary positions come behind it, too: of the
// keys that the latent gives. In DeepSeek-V2 positions turn a part of the key that is kept beside the latent,
// which a model that was not trained so does not have.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/linalg/symmetric_eigen.hpp"
#include "model/model.hpp"
#include "model/network.hpp"

namespace attn {

// The divisors of the model's kv_heads, from that down to 1.
std::vector<Index> shared_head_counts(const ModelConfig& config);
// How many numbers a token keeps in the cache: 2 · kv_heads · head_dim, or the rank, for each attention that
// has one. In an encoder–decoder only the decoder's own count; the encoder's tokens keep as many for
// cross-attention. Models that only encode have no cache: it is what they would keep.
Index cached_attentions(const ModelConfig& config);
inline Index cached_numbers(const ModelConfig& config, Index kv_heads) {
    return cached_attentions(config) * 2 * kv_heads * config.head_dim;
}

// [W_K W_V] of every attention of a model, Σ_a up[·, a] down[a, ·] with the largest terms first. In slices.
class LatentFactors {
  public:
    explicit LatentFactors(std::shared_ptr<const Model> model);

    bool step();  // O(width²) operations; true while there is more to do
    bool done() const { return std::ssize(all_) == attentions_; }
    double progress() const;
    const std::shared_ptr<const Model>& model() const { return model_; }
    Index most_rank() const { return rank_; }  // min(d_model, 2 · kv_heads · head_dim)

    // Results of an attention, once it is done.
    const Tensor& up(Index attention) const { return at(attention).up; }  // [2 · kv_heads · head_dim, rank]
    const Tensor& down(Index attention) const { return at(attention).down; }  // [rank, d_model]
    // The share of the squares of [W_K W_V] that a rank keeps; 1 of weights that are 0.
    double kept(Index attention, Index rank) const;

  private:
    struct Factors {
        Tensor up, down;
        std::vector<double> squares;  // Σ of the squares of the terms from each on, [rank + 1]
    };
    const Factors& at(Index attention) const { return all_[static_cast<std::size_t>(attention)]; }
    void read();
    void multiply();
    void finish_row();

    std::shared_ptr<const Model> model_;
    Index attentions_, outputs_, inputs_, rank_;
    bool tall_;  // more inputs than outputs
    std::vector<Factors> all_;
    // The attention at work: its matrix with its shorter side first, [rank, longer], and its product with
    // itself.
    std::vector<double> matrix_, square_;
    Index next_ = 0;
    std::optional<SymmetricEigen> eigen_;
    std::optional<Factors> made_;
};

// Makes such a model, in slices.
class SmallerModel {
  public:
    // `kv_heads` divides the model's.
    static SmallerModel shared(std::shared_ptr<const Model> model, Index kv_heads);
    // `factors` are done; 1 ≤ rank ≤ their most_rank.
    static SmallerModel latent(std::shared_ptr<const LatentFactors> factors, Index rank);

    bool step();  // some columns of an attention's K and V; true while there is more to do
    float progress() const;
    std::shared_ptr<const Model> finish();  // does what is left; once

  private:
    explicit SmallerModel(std::shared_ptr<const Model> model);
    Index columns() const;  // in K, and in V
    Index group() const;    // how many heads of the model become one
    void begin_attention();
    void share_column();
    void multiply_head();
    void share_gains();

    std::shared_ptr<const Model> model_;
    Index kv_heads_;                                // how many are left
    std::shared_ptr<const LatentFactors> factors_;  // null: heads are shared
    Index rank_ = 0, attention_ = 0, column_ = 0;
    std::vector<Tensor> numbers_;
    std::vector<AttentionSublayer> halves_;
};

}  // namespace attn
