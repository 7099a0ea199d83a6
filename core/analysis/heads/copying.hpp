// Whether a head that attends to a token makes that same token likelier: the copying score (Elhage et al.
// 2021, "A Mathematical Framework for Transformer Circuits", section "Copying / primitive in-context
// learning").
//
// A head's OV circuit E W_V W_O U, [tokens, tokens], says what attending to each token adds to each logit. A
// positive eigenvalue is a set of tokens that raises its own logits. Its rank is at most head_dim, and its
// nonzero eigenvalues are those of the small matrix W_O U E W_V [head_dim, head_dim], where U E = Σ_t u_t e_t
// is summed over the vocabulary once for all heads. The score is Σ λ / Σ |λ|, between −1 and 1; Σ λ is the
// trace, the sum over all tokens of what attending to each adds to its own logit.
//
// e_t is what the attention reads of a row of the embedding, through its norm, with that row's own
// statistics; u_t is the token's row of the head; what comes between W_O and the head is in
// analysis/heads/circuit_ends.hpp. The score does not depend on what is held at 1 there. Biases of V and W_O
// are left out.
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <vector>

#include "analysis/heads/circuit_ends.hpp"
#include "analysis/linalg/eigenvalues.hpp"
#include "attention/head_index.hpp"

namespace attn {

struct Copying {
    std::vector<std::complex<double>> eigenvalues;  // [head_dim], the largest modulus first
    double score = 0;                               // NaN where all are 0 or some number is not finite
};
Copying copying_of(std::vector<std::complex<double>> eigenvalues);
Copying copying_of(Index size, std::span<const double> matrix);

// Σ_t u_t e_t over the vocabulary, for every norm that attentions read through, in slices.
class TokenProducts {
  public:
    explicit TokenProducts(const CircuitEnds& ends);
    bool step();  // about a millisecond; true while there is more to do
    bool done() const { return next_ == ends_.tokens(); }
    double progress() const { return static_cast<double>(next_) / static_cast<double>(ends_.tokens()); }
    const CircuitEnds& ends() const { return ends_; }

    // Once done. W_O U E W_V of two heads, the one that writes for the logits and the one that reads the
    // embedding, [head_dim, head_dim]. They are one head, but for virtual heads.
    Tensor between(HeadIndex writes, HeadIndex reads) const;

  private:
    // What an attention reads of the stream but for a norm's gain and bias.
    struct Standard {
        std::optional<Norm::Kind> kind;  // none: the stream as it is
        double epsilon = 0;
        std::vector<float> ones;
        Tensor sum;    // [d_model, width], Σ_t x_t u_t
        Tensor chunk;  // [d_model, chunk], of the tokens that are being added
    };
    std::size_t standard_of(Index attention) const;
    void take_chunk();

    CircuitEnds ends_;
    std::vector<Standard> standards_;
    Tensor unembedding_sum_;  // [1, width], Σ_t u_t
    Tensor chunk_;            // [width, chunk]
    Index next_ = 0;          // the first token of the chunk
    Index row_ = 0;           // a row of d_model, for the first standard, then for the second
};

// Scores every head of a model, layer by layer, in slices: first the sum over the vocabulary, then one head
// after the other.
class CopyingJob {
  public:
    // Fails where CircuitEnds does.
    static Result<CopyingJob> start(std::shared_ptr<const Model> model,
                                    const Kernels& kernels = default_kernels());

    bool step();  // true while there is more to do
    bool done() const { return std::ssize(heads_) == count_; }
    double progress() const;
    const TokenProducts& products() const { return products_; }
    // [layers · heads], those that have been found.
    const std::vector<Copying>& heads() const { return heads_; }
    const Copying& of(HeadIndex head) const;  // once done
    HeadIndex best() const;                   // once done: the head with the highest score

  private:
    explicit CopyingJob(const CircuitEnds& ends);
    TokenProducts products_;
    Index count_, heads_of_layer_;
    std::vector<Copying> heads_;
    std::optional<EigenvalueSearch> search_;  // for the next head
};

}  // namespace attn
