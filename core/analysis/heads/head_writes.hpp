// What each head of an attention writes into the residual for one token: its output times its rows of W_O.
// With the bias of W_O that is all that the attention gives (Elhage et al. 2021, "A Mathematical Framework
// for Transformer Circuits": heads are independent and additive).
#pragma once

#include <span>
#include <vector>

#include "model/trace.hpp"

namespace attn {

struct HeadWrites {
    Index heads = 0, d_model = 0;
    std::vector<double> parts = {};  // [heads + 1, d_model], the last is the bias; of products in f32
    std::vector<double> sum = {};    // [d_model], over the parts
    std::vector<double> whole = {};  // [d_model], attention_output of the run

    std::span<const double> part(Index i) const {
        return std::span(parts).subspan(static_cast<std::size_t>(i * d_model),
                                        static_cast<std::size_t>(d_model));
    }
    double norm(Index part) const;
    // What the part adds along the whole, part · whole / ‖whole‖²: over the parts it adds up to 1. NaN of a
    // whole that is 0.
    double share(Index part) const;
    double off_by() const;  // the largest |sum − whole| of a component
};
// `row` is one of the attention's queries.
HeadWrites head_writes(const Trace& trace, Index attention, Index row);

}  // namespace attn
