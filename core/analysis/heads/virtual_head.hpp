// Two heads as one (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section "Virtual
// attention heads"): a virtual head attends to a token as the earlier head does, and writes what the later
// head makes of the earlier one's output. Its OV circuit is the product of theirs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/heads/copying.hpp"
#include "analysis/heads/token_directions.hpp"
#include "model/explain.hpp"

namespace attn {

class VirtualHead {
  public:
    // The products are complete.
    VirtualHead(const TokenProducts& products, HeadIndex from, HeadIndex to);

    HeadIndex from() const { return from_; }
    HeadIndex to() const { return to_; }
    // Finds the eigenvalues, then the logits of the attended token; true while there is more to do.
    bool step();
    const Copying* copying() const { return copying_ ? &*copying_ : nullptr; }  // null until it is known

    // Attends to another token, of which it lists so many that become likelier.
    void attend_to(std::int32_t token, std::size_t listed);
    std::int32_t token() const { return token_; }  // −1: none yet
    // [head_dim], what it carries of the token; the later head's W_O maps it to the output.
    const std::vector<float>& carried() const { return carried_; }
    // What it adds to the logit of another token, as products of carried() and W_O u.
    LinearSum explain(std::int32_t output) const;
    // Along its output; null until it attends to a token.
    const TokenDirections* outputs() const { return outputs_.get(); }

  private:
    CircuitEnds ends_;
    HeadIndex from_, to_;
    Tensor middle_;  // [head_dim, head_dim]
    EigenvalueSearch search_;
    std::optional<Copying> copying_;
    std::int32_t token_ = -1;
    std::vector<float> carried_;
    std::unique_ptr<TokenDirections> outputs_;
};

}  // namespace attn
