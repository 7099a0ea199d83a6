// Einstein sums over the matrices of one head, found by name: Q, K, A, W_Q and so on.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/heads/head_form.hpp"
#include "analysis/linalg/einsum.hpp"
#include "attention/stage.hpp"

namespace attn {

inline constexpr Index named_size_limit = 1'000'000;  // most numbers in an operand

// The head whose matrices have names.
struct NamedHead {
    std::shared_ptr<const Record> record;        // the layer’s
    std::shared_ptr<const HeadWeights> weights;  // null if only q, k and v are known
    HeadIndex head;
    Index query = 0, key = 0;  // each has a name of its own
};

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

    struct Place {
        HeadIndex head;
        Stage stage;
        Index row, col;
    };
    Place place(Index offset) const;
};

struct NamedInfo {
    const char *name, *what;
    Stage stage;
};
std::span<const NamedInfo> named_matrices();

// Returns the matrix with this many indices, or one sentence that says why there is none.
Result<NamedMatrix> named_matrix(const NamedHead& of, const std::string& name, std::size_t indices);

// An einsum over a head's matrices, computed in slices and then compared with the head's own matrices.
class NamedSum {
  public:
    // One sentence if these matrices have no such sum.
    static Result<NamedSum> of(NamedHead head, const std::string& text);
    bool step();  // true while there is more to do
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
    NamedHead head_;
    EinsumText text_;
    std::vector<NamedMatrix> operands_;
    std::optional<Einsum> sum_;
    std::size_t compared_ = 0;
    std::optional<Same> same_;
};

}  // namespace attn
