#include "analysis/attribution/path_run.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"
#include "model/experts.hpp"
#include "model/forward.hpp"

namespace attn {

using Kind = PathNode::Kind;

PathRun::PathRun(std::shared_ptr<const PathBase> base, const PathSubgraph& graph)
    : base_(std::move(base)),
      graph_(graph),
      rows_(static_cast<std::size_t>(base_->layout().nodes())),
      differences_({std::ssize(graph_.nodes), base_->trace().final_residual().dim(1)}) {
    const PathLayout& layout = base_->layout();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
        rows_[static_cast<std::size_t>(graph_.nodes[i])] = static_cast<Index>(i);
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
        const PathEdge& edge = graph_.edges[i];
        const Index token = layout.token_of(edge.from);
        if (readers_.empty() || readers_.back().node != edge.to || readers_.back().token != token)
            readers_.push_back({edge.to, token, i, i});
        readers_.back().end = i + 1;
    }
    if (readers_.empty()) readers_.push_back({layout.target(), layout.token_of(layout.target()), 0, 0});
    for (const PathPart& part : layout.parts()) {
        if (part.kind != Kind::embedding) continue;
        const Tensor written = written_by(base_->trace(), part);
        for (const Index node : graph_.nodes)
            if (node >= part.first_node && node < part.first_node + part.nodes())
                leave(node, written.heads().head(0).row(node - part.first_node));
    }
    plan();
}

Index PathRun::kv_head_of(const PathPart& part, Index node) const {
    if (part.kind != Kind::head) return 0;
    return base_->trace().attention(part.number).record().kv_head((node - part.first_node) / part.tokens);
}

void PathRun::plan() {
    const PathLayout& layout = base_->layout();
    const ModelConfig& config = base_->trace().model()->config();
    const auto rows_of = [](Index columns, double matrices) {
        return static_cast<std::size_t>(
            std::max(1.0, operations_of_a_frame / (2 * matrices * static_cast<double>(columns))));
    };
    const std::size_t of_heads = rows_of(config.d_model * config.head_dim, 1),
                      of_mlps = rows_of(config.d_model * config.d_ff, 3);
    for (std::size_t i = 0; i < readers_.size(); ++i) {
        const Index node = readers_[i].node;
        const PathPart& part = layout.part_of(node);
        const auto which = static_cast<std::size_t>(&part - layout.parts().data());
        const Index kv_head = kv_head_of(part, node);
        const bool begins = i == 0 || readers_[i - 1].node != node,
                   is_full = !slices_.empty() && slices_.back().end - slices_.back().first >=
                                                     (part.kind == Kind::head ? of_heads : of_mlps);
        if (slices_.empty() || slices_.back().part != which || slices_.back().kv_head != kv_head ||
            (begins && is_full))
            slices_.push_back({which, kv_head, i, i});
        slices_.back().end = i + 1;
    }
}

bool PathRun::step() {
    if (done()) return false;
    const Slice& slice = slices_[next_++];
    switch (base_->layout().parts()[slice.part].kind) {
        case Kind::head: attend(slice); break;
        case Kind::mlp: feed_forward(slice); break;
        case Kind::target: read_target(slice); break;
        case Kind::embedding: break;
    }
    return !done();
}

void PathRun::leave(Index node, const float* written) {
    float* const row = differences_.matrix().row(rows_[static_cast<std::size_t>(node)]);
    const std::span<const float> replaced = base_->replaced(node);
    std::copy_n(written, differences_.dim(1), row);
    for (std::size_t i = 0; i < replaced.size(); ++i) row[i] -= replaced[i];
}

Tensor PathRun::read(const Slice& slice) const {
    const PathLayout& layout = base_->layout();
    const PathPart& part = layout.parts()[slice.part];
    const auto width = static_cast<std::size_t>(differences_.dim(1));
    Tensor all({static_cast<Index>(slice.end - slice.first), differences_.dim(1)});
    std::vector<PathBase::Difference> kept;
    for (std::size_t i = slice.first; i < slice.end; ++i) {
        const Reader& reader = readers_[i];
        kept.clear();
        for (std::size_t edge = reader.first; edge < reader.end; ++edge) {
            const Index from = graph_.edges[edge].from;
            kept.push_back(
                {from, std::as_const(differences_).matrix().row(rows_[static_cast<std::size_t>(from)])});
        }
        const std::span row(all.matrix().row(static_cast<Index>(i - slice.first)), width);
        base_->read_stream(layout.parts()[part.reads_after], reader.token, kept, row);
        // The target's held norm is a part of its direction.
        if (part.kind != Kind::target || base_->is_live()) base_->normalise_row(part, reader.token, row);
    }
    return all;
}

// ---- What nodes give --------------------------------------------------------------------------------------

void PathRun::attend(const Slice& slice) {
    const PathPart& part = base_->layout().parts()[slice.part];
    const Trace& trace = base_->trace();
    const FrozenPart& held = base_->graph().frozen().part(part);
    const Index d_v = held.own_values.dim(2), n_k = held.own_values.dim(1);
    std::vector<Index> nodes;
    for (std::size_t i = slice.first; i < slice.end; ++i)
        if (nodes.empty() || nodes.back() != readers_[i].node) nodes.push_back(readers_[i].node);
    Tensor outputs({std::ssize(nodes), d_v}), all({part.heads, 1, d_v});
    add_values(slice, nodes, outputs);
    for (Index first = 0; first < std::ssize(nodes);) {
        const Index head = (nodes[static_cast<std::size_t>(first)] - part.first_node) / part.tokens;
        Index end = first;
        for (; end < std::ssize(nodes) && nodes[static_cast<std::size_t>(end)] < part.node(head, part.tokens);
             ++end) {
            const Index query = nodes[static_cast<std::size_t>(end)] - part.node(head, 0);
            float* const output = outputs.matrix().row(end);
            for (Index key = 0; key < n_k; ++key) {
                const float weight = held.patterns.heads().head(head)(query, key),
                            *value = base_->values(part, slice.kv_head, key);
                for (Index b = 0; weight != 0 && b < d_v; ++b) output[b] += weight * value[b];
            }
            if (!is_changed(trace, part.number, Site::head_output)) continue;
            std::copy_n(output, d_v, all.heads().head(head).row(0));
            scale_rows(trace, part.number, Site::head_output, all.heads(), query);
            std::copy_n(all.heads().head(head).row(0), d_v, output);
        }
        const Tensor written =
            trace.head_contribution(part.number, head, rows(std::as_const(outputs).matrix(), {first, end}));
        for (Index i = first; i < end; ++i)
            leave(nodes[static_cast<std::size_t>(i)], written.matrix().row(i - first));
        first = end;
    }
}

// Adds to the outputs of the nodes, [nodes, d_v], by how much the values that they read differ from the
// base's.
void PathRun::add_values(const Slice& slice, std::span<const Index> nodes, Tensor& outputs) const {
    const PathPart& part = base_->layout().parts()[slice.part];
    const FrozenPart& held = base_->graph().frozen().part(part);
    const Trace& trace = base_->trace();
    const Index d_v = outputs.dim(1);
    const Tensor inputs = read(slice);
    Tensor values({inputs.dim(0), d_v}), all({held.own_values.dim(0), 1, d_v});
    apply(trace.kernels(), held.values[static_cast<std::size_t>(slice.kv_head)].view(), inputs.matrix(),
          values.matrix());
    const bool changed = is_changed(trace, part.number, Site::v);
    Index at = 0;
    for (std::size_t i = slice.first; i < slice.end; ++i) {
        const auto [node, key, first, end] = readers_[i];
        while (nodes[static_cast<std::size_t>(at)] != node) ++at;
        float* const value = values.matrix().row(static_cast<Index>(i - slice.first));
        if (changed) {
            std::copy_n(value, d_v, all.heads().head(slice.kv_head).row(0));
            change_rows(trace, part.number, Site::v, all.heads(), key);
            std::copy_n(all.heads().head(slice.kv_head).row(0), d_v, value);
        }
        const Index place = node - part.first_node;
        const float weight = held.patterns.heads().head(place / part.tokens)(place % part.tokens, key),
                    *base = base_->values(part, slice.kv_head, key);
        float* const output = outputs.matrix().row(at);
        for (Index b = 0; b < d_v; ++b) output[b] += weight * (value[b] - base[b]);
    }
}

Tensor PathRun::mlp_outputs(const PathPart& part, ConstMatrix inputs, std::span<const Index> tokens) const {
    const Trace& stack = base_->layout().stack(part.stack);
    const Block& block = stack.network().blocks[static_cast<std::size_t>(part.layer)];
    const Activation activation = stack.model()->config().activation;
    Tensor outputs({inputs.rows, inputs.cols});
    if (!base_->is_live()) {
        base_->graph().frozen().part(part).mlp.apply(inputs, tokens, outputs.matrix());
    } else if (block.experts) {
        const Index count = block.experts->per_token;
        Tensor chosen({inputs.rows, count}), weights(chosen.shape()),
            hidden({inputs.rows, stack.layers()[static_cast<std::size_t>(part.layer)].mlp_hidden.dim(1)});
        const ExpertRows experts{chosen.matrix(), weights.matrix()};
        choose_experts(stack.kernels(), *block.experts, inputs, experts);
        run_experts(stack.kernels(), *block.experts, activation, inputs, experts, hidden.matrix(),
                    outputs.matrix());
    } else {
        Tensor hidden({inputs.rows, block.mlp.up.weight.out});
        mlp_hidden(stack.kernels(), block.mlp, activation, inputs, hidden.matrix());
        apply(stack.kernels(), block.mlp.down, std::as_const(hidden).matrix(), outputs.matrix());
    }
    return outputs;
}

void PathRun::feed_forward(const Slice& slice) {
    const Tensor inputs = read(slice);
    std::vector<Index> tokens;
    for (std::size_t i = slice.first; i < slice.end; ++i) tokens.push_back(readers_[i].token);
    const Tensor outputs = mlp_outputs(base_->layout().parts()[slice.part], inputs.matrix(), tokens);
    for (std::size_t i = slice.first; i < slice.end; ++i)
        leave(readers_[i].node, outputs.matrix().row(static_cast<Index>(i - slice.first)));
}

void PathRun::read_target(const Slice& slice) {
    const FrozenGradient& frozen = base_->graph().frozen();
    const Trace& trace = base_->trace();
    Tensor read = this->read(slice);
    if (!base_->is_live()) {
        const PathPart& target = base_->layout().parts().back();
        const std::span<const float> direction = row_of(frozen.part(target).reads, 0);
        value_ = dot(std::vector<double>(direction.begin(), direction.end()), row_of(read, 0)) +
                 frozen.own_constant(base_->layout().target());
        return;
    }
    if (has_head_input(trace.network()))
        read = head_input(trace.kernels(), trace.network(), std::as_const(read).matrix());
    const auto logit = [&](std::int32_t token) {
        float of = 0;
        head_logits(trace.kernels(), trace.network(), {token, token + 1}, std::as_const(read).matrix(),
                    {&of, 1, 1, 1});
        return static_cast<double>(of);
    };
    const LogitLoss& loss = frozen.loss();
    value_ = logit(loss.raise) - (loss.over ? logit(*loss.over) : 0);
}

}  // namespace attn
