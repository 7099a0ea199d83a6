// Finds the matrices of the chosen head by the names that an einsum uses, and computes the sum.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/linalg/einsum.hpp"
#include "app/explained.hpp"
#include "lenses/geometry/form.hpp"

namespace attn::app {

inline constexpr Index named_size_limit = 1'000'000;  // most numbers in an operand

// An operand of an einsum. With two indices it belongs to the chosen head, with three to all heads of its
// layer, along the first; with one it is a row of the chosen query or key.
struct NamedMatrix {
    std::string name;
    Shape shape;
    std::vector<float> values;
    Stage stage = Stage::q;
    HeadIndex head;
    Index heads_each = 1;  // number of heads that share one matrix along the first index
    Index row = 0;         // if it has one index

    CellPlace place(Index offset) const;
};

struct NamedInfo {
    const char *name, *what;
    Stage stage;
};
std::span<const NamedInfo> named_matrices();

// Returns the matrix with this many indices, or one sentence that says why there is none.
Result<NamedMatrix> named_matrix(Subject& subject, const State& state,
                                 const std::optional<HeadWeights>& weights, const std::string& name,
                                 std::size_t indices);

// An einsum over the matrices in view, computed in slices and then compared with the head's own matrices.
class NamedSum {
  public:
    // One sentence if these matrices have no such sum.
    static Result<std::unique_ptr<NamedSum>> of(Subject& subject, const State& state,
                                                const std::optional<HeadWeights>& weights,
                                                const std::string& text);
    // True while there is more to do.
    bool step(Subject& subject, const State& state, const std::optional<HeadWeights>& weights);
    bool done() const { return sum_->done() && (same_ || compared_ == named_matrices().size()); }

    const EinsumText& text() const { return text_; }
    const Einsum& sum() const { return *sum_; }
    const NamedMatrix& operand(std::size_t i) const { return operands_[i]; }
    struct Same {
        const NamedInfo* matrix;
        double off;  // the largest difference
    };
    const std::optional<Same>& same() const { return same_; }

    // The result as [leading, last] numbers: a number is [1, 1], a row [1, n].
    Index leading() const;
    Index last() const;

  private:
    EinsumText text_;
    std::vector<NamedMatrix> operands_;
    std::optional<Einsum> sum_;
    std::size_t compared_ = 0;
    std::optional<Same> same_;
};

}  // namespace attn::app
