#include "analysis/attribution/path_writers.hpp"

#include <algorithm>
#include <functional>
#include <ranges>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"
#include "model/experts.hpp"

namespace attn {

using Kind = PathNode::Kind;

void change_rows(const Trace& trace, Index number, Site site, HeadsView<float> rows, Index first_row) {
    for (const Intervention& each : trace.interventions())
        if (is_at(each, trace.model()->network(), number, site)) change(each.edit, rows, first_row);
}
void scale_rows(const Trace& trace, Index number, Site site, HeadsView<float> rows, Index first_row) {
    for (const Intervention& each : std::views::reverse(trace.interventions()))
        if (is_at(each, trace.model()->network(), number, site)) change_back(each.edit, rows, first_row);
}
bool is_changed(const Trace& trace, Index number, Site site) {
    return std::ranges::any_of(trace.interventions(), [&](const Intervention& each) {
        return is_at(each, trace.model()->network(), number, site);
    });
}

std::vector<StreamSite> sites_after(const PathLayout& layout, const PathPart& part) {
    const Trace& run = layout.stack(part.stack);
    const bool crosses = run.layers()[static_cast<std::size_t>(part.layer)].cross.has_value(),
               is_cross = part.reads != part.stack;
    switch (part.kind) {
        case Kind::embedding: return {{part.number, Site::resid_pre}};
        case Kind::head:
            if (crosses && !is_cross) return {{part.number + std::ssize(run.layers()), Site::resid_pre}};
            return {{part.number, Site::resid_mid}};
        case Kind::mlp:
            if (part.layer + 1 < std::ssize(run.layers()))
                return {{part.number, Site::resid_post}, {part.number + 1, Site::resid_pre}};
            return {{part.number, Site::resid_post}};
        case Kind::target: break;
    }
    return {};
}

Tensor computed_mlp(const Trace& stack, Index layer, Range tokens) {
    const Block& block = stack.network().blocks[static_cast<std::size_t>(layer)];
    const LayerTrace& run = stack.layers()[static_cast<std::size_t>(layer)];
    const auto here = [&](const Tensor& all) { return rows(all.matrix(), tokens); };
    Tensor output({tokens.size(), run.mlp_output.dim(1)});
    if (!block.experts) {
        apply(stack.kernels(), block.mlp.down, here(run.mlp_hidden), output.matrix());
        return output;
    }
    Tensor chosen = run.chosen_experts, weights = run.expert_weights, hidden = run.mlp_hidden;
    run_experts(stack.kernels(), *block.experts, stack.model()->config().activation, here(run.mlp_input),
                {rows(chosen.matrix(), tokens), rows(weights.matrix(), tokens)},
                rows(hidden.matrix(), tokens), output.matrix());
    return output;
}

namespace {

const Trace& stack_of(const Trace& trace, const PathPart& part) {
    return trace.encoder() && part.stack == 0 ? *trace.encoder() : trace;
}

Tensor written_by_heads(const Trace& trace, const PathPart& part) {
    const Record& record = trace.attention(part.number).record();
    Tensor outputs = record.output(), written({part.heads, part.tokens, trace.final_residual().dim(1)});
    if (is_changed(trace, part.number, Site::head_output)) {
        auto computed = *record.prepare_under(record.spec());
        computed.compute({0, part.tokens});
        outputs = computed.output();
        scale_rows(trace, part.number, Site::head_output, outputs.heads(), 0);
    }
    for (Index head = 0; head < part.heads; ++head)
        copy(trace.head_contribution(part.number, head, std::as_const(outputs).heads().head(head)).matrix(),
             written.heads().head(head));
    return written;
}

}  // namespace

SublayerRows sublayer_of(const Trace& trace, const PathPart& part) {
    if (part.kind == Kind::head) {
        const LayerAttention at = trace.attention(part.number);
        return {after_attention(at.half), at.run.attention_output, at.run.attention_between};
    }
    const Trace& stack = stack_of(trace, part);
    const LayerTrace& at = stack.layers()[static_cast<std::size_t>(part.layer)];
    return {after_mlp(stack.network().blocks[static_cast<std::size_t>(part.layer)]), at.mlp_output,
            at.mlp_between};
}

Tensor written_by(const Trace& trace, const PathPart& part) {
    const Trace& stack = stack_of(trace, part);
    if (part.kind == Kind::head) return written_by_heads(trace, part);
    Tensor written({1, part.tokens, stack.final_residual().dim(1)});
    const MatrixView<float> to = written.heads().head(0);
    if (part.kind == Kind::mlp) {
        const Tensor& given = stack.layers()[static_cast<std::size_t>(part.layer)].mlp_output;
        const bool changed = is_changed(trace, part.number, Site::mlp_output);
        copy((changed ? computed_mlp(stack, part.layer, {0, part.tokens}) : given).matrix(), to);
        return written;
    }
    for (const Tensor* each :
         {&stack.token_embedding(), &stack.position_embedding(), &stack.segment_embedding()})
        if (each->size() > 0) add(each->matrix(), to);
    if (const auto& norm = stack.network().embedding_norm)
        for (Index token = 0; token < part.tokens; ++token)
            FrozenNorm(*norm, row_of(stack.embedding_sum(), token))
                .hold({to.row(token), static_cast<std::size_t>(to.cols)}, false);
    return written;
}

Tensor written_beside(const Trace& trace, const PathPart& part) {
    const Trace& stack = stack_of(trace, part);
    Tensor beside({part.tokens, stack.final_residual().dim(1)});
    if (part.kind == Kind::embedding) {
        if (const auto& norm = stack.network().embedding_norm)
            for (Index token = 0; token < part.tokens; ++token)
                std::ranges::copy(norm->bias.values(), beside.matrix().row(token));
        return beside;
    }
    if (part.kind != Kind::head) return beside;
    const LayerAttention at = trace.attention(part.number);
    Tensor set({part.heads, part.tokens, at.record().d_v()});
    change_rows(trace, part.number, Site::head_output, set.heads(), 0);
    merge_heads(trace.kernels(), at.half, std::as_const(set).heads(), beside.matrix());
    return beside;
}

}  // namespace attn
