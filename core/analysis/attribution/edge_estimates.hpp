// What cutting each edge of a head would do to a logit, or to the difference of two, to first order: all
// edges at once, by one backward pass (attribution patching: Nanda 2023,
// neelnanda.io/mechanistic-interpretability/attribution-patching; of edges: Syed, Rager & Conmy 2023, arXiv
// 2310.10348). A query that sees key k no more shares its weight w_k among the other keys in proportion to
// theirs, which changes its output by w_k (Σ_j≠k w_j v_j / Σ_j≠k w_j − v_k), exactly. What comes after that
// output is taken by its slope.
#pragma once

#include <memory>
#include <vector>

#include "analysis/attribution/logit_gradient.hpp"
#include "attention/head_index.hpp"

namespace attn {

struct EdgeTerms {
    bool seen = false;  // whether the query sees the key; if not, the others are 0
    double weight = 0;
    double worth = 0;   // ∂L/∂O · V[key]: what the target gains by the key's value, as far as its weight goes
    double others = 0;  // the same of the other keys together, as they would share the weight
    double effect() const {
        return weight * (others - worth);
    }  // how far the target would be above its value
};

class EdgeEstimates {
  public:
    struct Edge {
        Index query = 0, key = 0;
        double effect = 0;
    };
    // Fails as LogitGradient does, if there is no such head, or if its weights do not follow from its scores
    // one by one, because interventions changed them behind the softmax or by a mean.
    static Result<EdgeEstimates> start(std::shared_ptr<const Trace> trace, const LogitLoss& target,
                                       const HeadIndex& head, double slice_operations = 60e6);

    bool step();  // one slice of the backward pass to the head, then a row; true while there is more to do
    bool done() const { return next_ == record().queries(); }
    float progress() const;  // half of it is the way back
    const HeadIndex& head() const { return head_; }

    // True once step() has come to the head. Below are the keys of a query.
    bool at_head() const { return gradient_.heads(head_.layer) != nullptr; }
    std::vector<EdgeTerms> row(Index query) const;
    // The hundred edges whose estimates are the largest in magnitude, or all if there are fewer, the largest
    // first. Complete once done.
    const std::vector<Edge>& strongest() const { return strongest_; }

  private:
    EdgeEstimates(LogitGradient gradient, const HeadIndex& head)
        : gradient_(std::move(gradient)), head_(head) {}
    const Record& record() const { return gradient_.trace().attention(head_.layer).record(); }
    void keep(const Edge& edge);

    LogitGradient gradient_;
    HeadIndex head_;
    Index next_ = 0;  // query
    std::vector<Edge> strongest_;
};

}  // namespace attn
