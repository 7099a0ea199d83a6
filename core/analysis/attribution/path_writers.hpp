// What the nodes of a run write into its residual streams (path_layout.hpp), and what interventions make of
// it.
#pragma once

#include <vector>

#include "analysis/attribution/path_layout.hpp"
#include "model/block.hpp"

namespace attn {

// The run's interventions at a site of vectors. Each is x ↦ slope · x + constant, component by component:
// here of rows from that one on, and below without the constant, which is its gradient as well.
void change_rows(const Trace& trace, Index number, Site site, HeadsView<float> rows, Index first_row);
void scale_rows(const Trace& trace, Index number, Site site, HeadsView<float> rows, Index first_row);
bool is_changed(const Trace& trace, Index number, Site site);

// The sites of the stream behind a part, each with the number of the attention that it belongs to. Two lie
// behind an MLP that another block follows.
struct StreamSite {
    Index number;
    Site site;
};
std::vector<StreamSite> sites_after(const PathLayout& layout, const PathPart& part);
// The site of what a sublayer adds.
constexpr Site site_of(const PathPart& part) {
    return part.kind == PathNode::Kind::mlp ? Site::mlp_output : Site::attention_output;
}

// The norms behind a sublayer, and the rows of the run that these read.
struct SublayerRows {
    SublayerNorms norms;
    const Tensor &output, &between;
};
SublayerRows sublayer_of(const Trace& trace, const PathPart& part);

// What an MLP gives for these tokens, before interventions on that, [tokens, d_model].
Tensor computed_mlp(const Trace& stack, Index layer, Range tokens);
// What each node of a part writes, before the norm behind the part, [heads, n, d_model]: embeddings with
// their norm; heads through W_O, as interventions scale them; MLPs with their biases. `trace` is that of the
// model.
Tensor written_by(const Trace& trace, const PathPart& part);
// What the part adds beside its nodes, [n, d_model]: the bias of W_O or of the embeddings' norm, and what
// heads are set to.
Tensor written_beside(const Trace& trace, const PathPart& part);

}  // namespace attn
