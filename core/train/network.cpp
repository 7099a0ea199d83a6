#include "train/network.hpp"

#include <algorithm>

#include "model/block.hpp"

namespace attn {

// One layer; rows are the sequence's tokens.
struct TrainedNetwork::LayerActivations {
    Tensor resid_pre, attention_input;  // [n, d]
    // [n, (heads + 2 kv_heads) · head_dim], Q and K turned by RoPE unless another attention does that
    Tensor qkv;
    Tensor attended;              // [n, heads · head_dim], the heads side by side
    Tensor row_max, row_log_sum;  // [heads, n]
    Tensor resid_mid, mlp_input;  // [n, d]
    Tensor up, gate, hidden;      // [n, d_ff]

    TrainedMlp::Rows mlp_rows(Index n) {
        return {first_rows(up, n), first_rows(gate, n), first_rows(hidden, n)};
    }
};

struct TrainedNetwork::Activations {
    std::vector<LayerActivations> layers;
    Tensor residual, normalised;  // [n, d]: what the last block gives; what the head reads
    Tensor branch;                // [n, d], of a block's half: its output, or gradients of its input
    Tensor d_residual, d_branch;  // [n, d]
    Tensor d_qkv, d_attended, d_hidden, d_gate;  // gradients of the above in the layer at work
    Tensor logits;                               // [n, vocabulary], then their gradient
    RotaryTable rotary, rotary_back;             // [n, pairs]; back: with the sine negated
    std::vector<float> losses;                   // [n]
};

namespace {

// The weight that a view of a model's bytes is of.
Index offset_of(const Model& model, const ParameterLayout& layout, const WeightView& view) {
    const auto found =
        std::ranges::find(model.weights(), view.data, [](const Weight& w) { return w.bytes.data(); });
    return layout.find(found->name)->offset;
}

// Sites of dropout: the two halves of each layer, and the embedding, as the second half of a layer before
// them.
std::uint64_t site(Index layer, int half) { return static_cast<std::uint64_t>(2 * layer + half); }
const std::uint64_t embedding_site = site(-1, 1);

double summed(std::span<const float> losses) {
    double sum = 0;
    for (const float loss : losses) sum += static_cast<double>(loss);
    return sum;
}

}  // namespace

Status TrainedNetwork::check(const Model& model) {
    if (is_plain(model.network())) return ok();
    return Error{
        "a model of model_type '" + model.config().model_type +
        "' runs here, but only models that compute what GPT-2 and Llama do can be trained and evaluated"};
}

TrainedNetwork::TrainedNetwork(const Model& model, const ParameterLayout& layout, bool attention_only,
                               const TrainedKernels& kernels, std::span<const HeadIndex> ablated)
    : kernels_(kernels),
      config_(model.config()),
      attention_only_(attention_only),
      rotary_(model.network().rotary.empty() ? std::vector<double>{}
                                             : model.network().rotary.front().frequencies) {
    const Network& network = model.network();
    const auto trained = [&](const Linear& linear) {
        return trained_linear(layout, linear.name, linear.weight.layout);
    };
    const auto trained_as_norm = [&](const Norm& norm) {
        return trained_norm(layout, norm.name, norm.kind, norm.epsilon);
    };
    token_embedding_ = offset_of(model, layout, network.token_embedding);
    if (network.position_embedding)
        position_embedding_ = offset_of(model, layout, *network.position_embedding);
    for (const attn::Block& block : network.blocks) {
        std::vector<TrainedLinear> qkv;
        for (const Linear& linear : block.qkv) qkv.push_back(trained(linear));
        blocks_.push_back(
            {.attention_norm = trained_as_norm(*block.attention_norm),
             .qkv = std::move(qkv),
             .scale = static_cast<float>(block.scale),
             .mask = mask_of(block),
             .ablated = {},
             .attention_out = trained(block.attention_out),
             .mlp_norm = trained_as_norm(*block.mlp_norm),
             .mlp = {.activation = config_.activation,
                     .gate = block.mlp.gate ? std::optional(trained(*block.mlp.gate)) : std::nullopt,
                     .up = trained(block.mlp.up),
                     .down = trained(block.mlp.down)}});
    }
    for (const HeadIndex& each : ablated)
        blocks_[static_cast<std::size_t>(each.layer)].ablated.push_back(each.head);
    final_norm_ = trained_as_norm(*network.final_norm);
    head_ = trained(network.head);
}

std::unique_ptr<TrainedNetwork::Activations, void (*)(TrainedNetwork::Activations*)>
TrainedNetwork::activations(Index n) const {
    const Index d = config_.d_model, ff = attention_only_ ? 0 : config_.d_ff,
                inner = config_.heads * config_.head_dim,
                wide = inner + 2 * config_.kv_heads * config_.head_dim;
    const Index gate = blocks_.empty() || !blocks_[0].mlp.gate ? 0 : ff;
    auto kept = std::make_unique<Activations>();
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
        kept->layers.push_back({Tensor({n, d}), Tensor({n, d}), Tensor({n, wide}), Tensor({n, inner}),
                                Tensor({config_.heads, n}), Tensor({config_.heads, n}), Tensor({n, d}),
                                Tensor({n, d}), Tensor({n, ff}), Tensor({n, gate}), Tensor({n, ff})});
    for (Tensor* tensor :
         {&kept->residual, &kept->normalised, &kept->branch, &kept->d_residual, &kept->d_branch})
        *tensor = Tensor({n, d});
    kept->d_qkv = Tensor({n, wide});
    kept->d_attended = Tensor({n, inner});
    kept->d_hidden = Tensor({n, ff});
    kept->d_gate = Tensor({n, gate});
    kept->logits = Tensor({n, config_.vocab_size});
    kept->losses.resize(static_cast<std::size_t>(n));
    const Index pairs = std::ssize(rotary_);
    kept->rotary = {Tensor({n, pairs}), Tensor({n, pairs})};
    fill_rotary(rotary_, 0, kept->rotary.cosine.matrix(), kept->rotary.sine.matrix());
    kept->rotary_back = kept->rotary;
    for (float& sine : kept->rotary_back.sine.values()) sine = -sine;
    return {kept.release(), [](Activations* a) { delete a; }};
}

QkvRows TrainedNetwork::heads(MatrixView<float> qkv) const {
    return qkv_of(qkv, config_.heads, config_.kv_heads);
}

void TrainedNetwork::silence(const Block& block, MatrixView<float> attended) const {
    const HeadsView<float> heads = heads_of(attended, config_.heads);
    for (const Index head : block.ablated)
        for (Index i = 0; i < heads.rows; ++i) std::fill_n(heads.head(head).row(i), heads.cols, 0.0f);
}

TrainedNetwork::Loss TrainedNetwork::loss(std::span<const float> parameters,
                                          std::span<const std::int32_t> ids,
                                          std::span<const std::int32_t> targets, Activations& kept) const {
    forward(parameters, ids, {}, kept);
    const MatrixView<float> logits = first_rows(kept.logits, std::ssize(ids));
    Loss loss;
    for (Index i = 0; i < logits.rows; ++i) {
        const std::span<const float> row{logits.row(i), static_cast<std::size_t>(logits.cols)};
        loss.right += std::ranges::max_element(row) - row.begin() == targets[static_cast<std::size_t>(i)];
    }
    const std::span<float> losses = std::span(kept.losses).first(ids.size());
    kernels_.backward->cross_entropy(logits, targets, 0, losses);
    loss.sum = summed(losses);
    return loss;
}

void TrainedNetwork::forward(std::span<const float> parameters, std::span<const std::int32_t> ids,
                             const Dropout& dropout, Activations& kept) const {
    const Index n = std::ssize(ids), d = config_.d_model;
    const MatrixView<float> x = first_rows(kept.residual, n), normalised = first_rows(kept.normalised, n);
    const std::span<const float> tokens = parameters.subspan(static_cast<std::size_t>(token_embedding_));
    look_up({std::as_bytes(tokens).data(), DType::f32, d, config_.vocab_size}, ids, x);
    if (position_embedding_) add({parameters.data() + *position_embedding_, n, d, d}, x);
    dropout.apply(embedding_site, values_of(x));
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
        forward(blocks_[layer], parameters, n, dropout, static_cast<Index>(layer), kept);
    normalise(*kernels_.forward, final_norm_.view(parameters), x, normalised);
    apply(*kernels_.forward, head_.view(parameters), normalised, first_rows(kept.logits, n));
}

// This is not the walk of model/forward.cpp, because the backward pass reads other things than a person: up
// and gate before they are activated, and heads side by side, as the matrices that follow take them. To lay
// heads one after the other, as a Trace holds them, makes a step 2 to 3 % longer.
void TrainedNetwork::forward(const Block& block, std::span<const float> parameters, Index n,
                             const Dropout& dropout, Index layer, Activations& kept) const {
    const Kernels& kernels = *kernels_.forward;
    LayerActivations& at = kept.layers[static_cast<std::size_t>(layer)];
    const MatrixView<float> x = first_rows(kept.residual, n), branch = first_rows(kept.branch, n);
    const auto leave = [&](int half) {  // x becomes x + what the branch gives
        dropout.apply(site(layer, half), values_of(branch));
        add(branch, x);
    };

    std::ranges::copy(values_of(x), at.resid_pre.data());
    const MatrixView<float> attention_input = first_rows(at.attention_input, n), qkv = first_rows(at.qkv, n),
                            attended = first_rows(at.attended, n);
    normalise(kernels, block.attention_norm.view(parameters), x, attention_input);
    Index column = 0;
    for (const TrainedLinear& linear : block.qkv) {
        apply(kernels, linear.view(parameters), attention_input, columns(qkv, column, linear.out));
        column += linear.out;
    }
    if (kernels_.attention) {
        kernels_.attention->forward(qkv, attended);
    } else {
        const QkvRows split = heads(qkv);
        apply_rope(kernels, split, rows(kept.rotary, {0, n}));
        kernels.attention(attention_call(block, split, attended, at));
    }
    silence(block, attended);
    apply(kernels, block.attention_out.view(parameters), attended, branch);
    leave(0);

    if (attention_only_) return;
    std::ranges::copy(values_of(x), at.resid_mid.data());
    const MatrixView<float> mlp_input = first_rows(at.mlp_input, n);
    normalise(kernels, block.mlp_norm.view(parameters), x, mlp_input);
    block.mlp.forward(kernels_, parameters, mlp_input, at.mlp_rows(n), branch);
    leave(1);
}

double TrainedNetwork::gradient(std::span<const float> parameters, std::span<const std::int32_t> ids,
                                std::span<const std::int32_t> targets, float weight, const Dropout& dropout,
                                Activations& kept, std::span<float> gradients) const {
    return differentiate(parameters, ids, targets, weight, dropout, kept, gradients, {});
}

std::vector<Tensor> TrainedNetwork::attention_gradients(std::span<const float> parameters,
                                                        std::span<const std::int32_t> ids,
                                                        std::span<const std::int32_t> targets,
                                                        Activations& kept) const {
    const auto counting = std::ssize(targets) - std::ranges::count(targets, -1);
    std::vector<Tensor> d_heads(blocks_.size(), Tensor({config_.heads, std::ssize(ids), config_.head_dim}));
    ParameterBuffer unused(parameters.size());  // takes the weights' gradients
    differentiate(parameters, ids, targets, 1 / static_cast<float>(std::max<std::ptrdiff_t>(counting, 1)), {},
                  kept, unused, d_heads);
    return d_heads;
}

double TrainedNetwork::differentiate(std::span<const float> parameters, std::span<const std::int32_t> ids,
                                     std::span<const std::int32_t> targets, float weight,
                                     const Dropout& dropout, Activations& kept, std::span<float> gradients,
                                     std::span<Tensor> d_heads) const {
    const Index n = std::ssize(ids), d = config_.d_model;
    forward(parameters, ids, dropout, kept);
    const MatrixView<float> d_logits = first_rows(kept.logits, n), d_x = first_rows(kept.d_residual, n),
                            normalised = first_rows(kept.normalised, n),
                            d_branch = first_rows(kept.d_branch, n);
    const std::span<float> losses = std::span(kept.losses).first(ids.size());
    kernels_.backward->cross_entropy(d_logits, targets, weight, losses);
    head_.input_gradient(kernels_, parameters, d_logits, d_branch);
    head_.weight_gradient(kernels_, normalised, d_logits, gradients);
    final_norm_.backward(kernels_, parameters, first_rows(kept.residual, n), d_branch, d_x, gradients);
    for (Index layer = std::ssize(blocks_); layer-- > 0;) {
        backward(blocks_[static_cast<std::size_t>(layer)], parameters, n, dropout, layer, kept, gradients);
        if (!d_heads.empty())
            copy_heads(heads_of(first_rows(kept.d_attended, n), config_.heads),
                       d_heads[static_cast<std::size_t>(layer)].heads());
    }
    dropout.apply(embedding_site, values_of(d_x));
    embedding_backward(ids, d_x, {gradients.data() + token_embedding_, config_.vocab_size, d, d});
    if (position_embedding_) add(d_x, {gradients.data() + *position_embedding_, n, d, d});
    return summed(losses);
}

void TrainedNetwork::backward(const Block& block, std::span<const float> parameters, Index n,
                              const Dropout& dropout, Index layer, Activations& kept,
                              std::span<float> gradients) const {
    LayerActivations& at = kept.layers[static_cast<std::size_t>(layer)];
    const MatrixView<float> d_x = first_rows(kept.d_residual, n), d_branch = first_rows(kept.d_branch, n),
                            d_input = first_rows(kept.branch, n);
    const auto enter = [&](int half) {  // what the branch's output gets of d_x
        std::ranges::copy(values_of(d_x), d_branch.data);
        dropout.apply(site(layer, half), values_of(d_branch));
    };

    if (!attention_only_) {
        enter(1);
        block.mlp.backward(kernels_, parameters, first_rows(at.mlp_input, n), d_branch, at.mlp_rows(n),
                           first_rows(kept.d_hidden, n), first_rows(kept.d_gate, n), d_input, gradients);
        block.mlp_norm.backward(kernels_, parameters, first_rows(at.resid_mid, n), d_input, d_input,
                                gradients);
        add(d_input, d_x);
    }

    enter(0);
    const MatrixView<float> d_attended = first_rows(kept.d_attended, n),
                            attended = first_rows(at.attended, n), d_qkv = first_rows(kept.d_qkv, n);
    const ConstMatrix attention_input = first_rows(at.attention_input, n);
    block.attention_out.input_gradient(kernels_, parameters, d_branch, d_attended);
    block.attention_out.weight_gradient(kernels_, attended, d_branch, gradients);
    silence(block, d_attended);
    if (kernels_.attention) {
        kernels_.attention->backward(first_rows(at.qkv, n), d_attended, d_qkv);
    } else {
        const QkvRows d_split = heads(d_qkv);
        kernels_.backward->attention(
            {.forward = attention_call(block, heads(first_rows(at.qkv, n)), attended, at),
             .d_output = heads_of(d_attended, config_.heads),
             .d_q = d_split.q,
             .d_k = d_split.k,
             .d_v = d_split.v});
        apply_rope(*kernels_.forward, d_split, rows(kept.rotary_back, {0, n}));
    }
    Index column = 0;
    for (const TrainedLinear& linear : block.qkv) {
        const MatrixView<float> d_part = columns(d_qkv, column, linear.out);
        linear.input_gradient(kernels_, parameters, d_part, column == 0 ? d_input : d_branch);
        if (column > 0) add(d_branch, d_input);
        linear.weight_gradient(kernels_, attention_input, d_part, gradients);
        column += linear.out;
    }
    block.attention_norm.backward(kernels_, parameters, first_rows(at.resid_pre, n), d_input, d_input,
                                  gradients);
    add(d_input, d_x);
}

AttentionCall TrainedNetwork::attention_call(const Block& block, const QkvRows& qkv,
                                             MatrixView<float> attended, LayerActivations& at) const {
    const Index n = attended.rows;
    return {.q = qkv.q,
            .k = qkv.k,
            .v = qkv.v,
            .scale = block.scale,
            .rule = block.mask.rule(),
            .output = heads_of(attended, config_.heads),
            .row_max = columns(at.row_max.matrix(), 0, n),
            .row_log_sum = columns(at.row_log_sum.matrix(), 0, n)};
}

}  // namespace attn
