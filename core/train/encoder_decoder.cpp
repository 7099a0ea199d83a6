#include "train/encoder_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/block.hpp"

namespace attn {

// One half of a block; rows are the tokens of all sequences.
struct EncoderDecoder::HalfRows {
    Tensor resid_pre, input;      // [n, d]
    Tensor q, attended;           // [n, heads · head_dim], the heads side by side
    Tensor k, v;                  // [n or source tokens, heads · head_dim]
    Tensor row_max, row_log_sum;  // [heads, n]
};

struct EncoderDecoder::BlockRows {
    HalfRows self;
    std::optional<HalfRows> cross;
    Tensor resid_mid, mlp_input;  // [n, d]
    Tensor up, gate, hidden;      // [n, d_ff]

    TrainedMlp::Rows mlp(Index n) { return {first_rows(up, n), first_rows(gate, n), first_rows(hidden, n)}; }
};

struct EncoderDecoder::StackRows {
    Sequences sequences;
    std::vector<BlockRows> blocks;
    Tensor residual, output;      // [n, d]: of the last block; normalised
    Tensor branch, room;          // [n, d]
    Tensor memory_room;           // [source tokens, d]
    Tensor biases, d_biases;      // [heads, longest, longest]
    Tensor d_residual, d_output;  // [n, d]
    Tensor d_q, d_k, d_v, d_attended, d_hidden, d_gate;

    Index tokens() const { return sequences.tokens(); }
};

struct EncoderDecoder::Activations {
    StackRows encoder, decoder;
    Tensor logits;              // [n, vocabulary], then their gradient
    std::vector<float> losses;  // [n]
};

void Sequences::add(std::span<const std::int32_t> sequence) {
    parts.push_back({tokens(), tokens() + std::ssize(sequence)});
    ids.insert(ids.end(), sequence.begin(), sequence.end());
}

void SequencePairs::add(std::span<const std::int32_t> from, std::span<const std::int32_t> to,
                        std::int32_t start) {
    source.add(from);
    std::vector<std::int32_t> read{start};
    read.insert(read.end(), to.begin(), to.end() - 1);
    decoder.add(read);
    targets.insert(targets.end(), to.begin(), to.end());
}

EncoderDecoder::EncoderDecoder(const ModelConfig& config, const ParameterLayout& layout,
                               const TrainedKernels& kernels)
    : kernels_(kernels),
      config_(config),
      embedding_(layout.find("shared.weight")->offset),
      encoder_(stack(layout, false)),
      decoder_(stack(layout, true)),
      head_(trained_linear(layout, config.tie_word_embeddings ? "shared" : "lm_head",
                           WeightView::Layout::out_in)),
      head_scale_(static_cast<float>(config.head_scale)) {}

EncoderDecoder::Half EncoderDecoder::half(const ParameterLayout& layout, const std::string& name,
                                          const char* kind) const {
    const auto linear = [&](const char* matrix) {
        return trained_linear(layout, name + kind + matrix, WeightView::Layout::out_in);
    };
    return {trained_norm(layout, name + "layer_norm", Norm::Kind::rms, config_.norm_epsilon), linear(".q"),
            linear(".k"), linear(".v"), linear(".o")};
}

EncoderDecoder::Stack EncoderDecoder::stack(const ParameterLayout& layout, bool decoder) const {
    const char* name = decoder ? "decoder" : "encoder";
    const auto norm = [&](const std::string& of) {
        return trained_norm(layout, of, Norm::Kind::rms, config_.norm_epsilon);
    };
    Stack made{.decoder = decoder,
               .bias_table =
                   layout.find(t5_half(name, 0, 0) + "SelfAttention.relative_attention_bias.weight")->offset,
               .mask = decoder ? Mask::causal() : Mask::everything(),
               .blocks = {},
               .final_norm = norm(std::string(name) + ".final_layer_norm")};
    for (Index block = 0; block < (decoder ? config_.decoder_layers : config_.layers); ++block) {
        const std::string mlp = t5_half(name, block, decoder ? 2 : 1);
        const auto linear = [&](const char* matrix) {
            return trained_linear(layout, mlp + "DenseReluDense." + matrix, WeightView::Layout::out_in);
        };
        made.blocks.push_back(
            {.self = half(layout, t5_half(name, block, 0), "SelfAttention"),
             .cross = decoder ? std::optional(half(layout, t5_half(name, block, 1), "EncDecAttention"))
                              : std::nullopt,
             .mlp_norm = norm(mlp + "layer_norm"),
             .mlp = {.activation = config_.activation,
                     .gate = config_.gated_mlp ? std::optional(linear("wi_0")) : std::nullopt,
                     .up = linear(config_.gated_mlp ? "wi_1" : "wi"),
                     .down = linear("wo")}});
    }
    return made;
}

EncoderDecoder::Kept EncoderDecoder::activations(Index n, Index longest) const {
    const Index d = config_.d_model, inner = config_.heads * config_.head_dim, ff = config_.d_ff,
                gate = config_.gated_mlp ? ff : 0, heads = config_.heads;
    const auto half = [&] {
        return HalfRows{Tensor({n, d}),     Tensor({n, d}),     Tensor({n, inner}), Tensor({n, inner}),
                        Tensor({n, inner}), Tensor({n, inner}), Tensor({heads, n}), Tensor({heads, n})};
    };
    const auto rows = [&](const Stack& stack) {
        StackRows made;
        for (const Block& block : stack.blocks)
            made.blocks.push_back({half(), block.cross ? std::optional(half()) : std::nullopt, Tensor({n, d}),
                                   Tensor({n, d}), Tensor({n, ff}), Tensor({n, gate}), Tensor({n, ff})});
        for (Tensor* tensor : {&made.residual, &made.output, &made.branch, &made.room, &made.memory_room,
                               &made.d_residual, &made.d_output})
            *tensor = Tensor({n, d});
        for (Tensor* tensor : {&made.d_q, &made.d_k, &made.d_v, &made.d_attended})
            *tensor = Tensor({n, inner});
        made.biases = Tensor({heads, longest, longest});
        made.d_biases = Tensor({heads, longest, longest});
        made.d_hidden = Tensor({n, ff});
        made.d_gate = Tensor({n, gate});
        return made;
    };
    auto kept = std::make_unique<Activations>(Activations{rows(encoder_), rows(decoder_),
                                                          Tensor({n, config_.vocab_size}),
                                                          std::vector<float>(static_cast<std::size_t>(n))});
    return {kept.release(), [](Activations* a) { delete a; }};
}

void EncoderDecoder::encode(std::span<const float> parameters, const Sequences& source,
                            Activations& kept) const {
    forward(encoder_, parameters, source, kept.encoder, nullptr);
}

ConstMatrix EncoderDecoder::decode(std::span<const float> parameters, const Sequences& decoder,
                                   Activations& kept) const {
    forward(decoder_, parameters, decoder, kept.decoder, &kept.encoder);
    const Index n = decoder.tokens();
    const MatrixView<float> read = first_rows(kept.decoder.output, n), logits = first_rows(kept.logits, n);
    for (float& value : values_of(read)) value *= head_scale_;
    apply(*kernels_.forward, head_.view(parameters), read, logits);
    return logits;
}

EncoderDecoder::Loss EncoderDecoder::loss(std::span<const float> parameters, const SequencePairs& pairs,
                                          Activations& kept) const {
    encode(parameters, pairs.source, kept);
    decode(parameters, pairs.decoder, kept);
    const MatrixView<float> logits = first_rows(kept.logits, pairs.decoder.tokens());
    Loss loss;
    for (Index i = 0; i < logits.rows; ++i) {
        const std::span<const float> row{logits.row(i), static_cast<std::size_t>(logits.cols)};
        loss.right +=
            std::ranges::max_element(row) - row.begin() == pairs.targets[static_cast<std::size_t>(i)];
    }
    const std::span<float> losses = std::span(kept.losses).first(pairs.targets.size());
    kernels_.backward->cross_entropy(logits, pairs.targets, 0, losses);
    for (const float each : losses) loss.sum += static_cast<double>(each);
    return loss;
}

double EncoderDecoder::gradient(std::span<const float> parameters, const SequencePairs& pairs, float weight,
                                Activations& kept, std::span<float> gradients) const {
    encode(parameters, pairs.source, kept);
    decode(parameters, pairs.decoder, kept);
    const Index n = pairs.decoder.tokens();
    const MatrixView<float> d_logits = first_rows(kept.logits, n),
                            d_read = first_rows(kept.decoder.d_output, n),
                            d_memory = first_rows(kept.encoder.d_output, pairs.source.tokens());
    const std::span<float> losses = std::span(kept.losses).first(pairs.targets.size());
    kernels_.backward->cross_entropy(d_logits, pairs.targets, weight, losses);
    head_.input_gradient(kernels_, parameters, d_logits, d_read);
    head_.weight_gradient(kernels_, first_rows(kept.decoder.output, n), d_logits, gradients);
    for (float& value : values_of(d_read)) value *= head_scale_;
    std::ranges::fill(values_of(d_memory), 0.0f);
    backward(decoder_, parameters, kept.decoder, &kept.encoder, d_memory, gradients);
    backward(encoder_, parameters, kept.encoder, nullptr, {}, gradients);
    double sum = 0;
    for (const float loss : losses) sum += static_cast<double>(loss);
    return sum;
}

RelativeBuckets EncoderDecoder::buckets_of(const Stack& stack) const {
    return {config_.buckets, config_.most_distance, !stack.decoder};
}

void EncoderDecoder::fill_biases(const Stack& stack, std::span<const float> parameters,
                                 StackRows& rows) const {
    const float* table = parameters.data() + stack.bias_table;
    const RelativeBuckets buckets = buckets_of(stack);
    const HeadsView<float> biases = rows.biases.heads();
    for (Index query = 0; query < biases.rows; ++query)
        for (Index key = 0; key < biases.cols; ++key) {
            const Index bucket = relative_bucket(buckets, query, key);
            for (Index head = 0; head < config_.heads; ++head)
                biases.head(head)(query, key) = table[bucket * config_.heads + head];
        }
}

void EncoderDecoder::add_bias_gradient(const Stack& stack, const StackRows& rows,
                                       std::span<float> gradients) const {
    float* table = gradients.data() + stack.bias_table;
    const RelativeBuckets buckets = buckets_of(stack);
    const ConstHeads d_biases = rows.d_biases.heads();
    for (Index query = 0; query < d_biases.rows; ++query)
        for (Index key = 0; key < d_biases.cols; ++key) {
            const Index bucket = relative_bucket(buckets, query, key);
            for (Index head = 0; head < config_.heads; ++head)
                table[bucket * config_.heads + head] += d_biases.head(head)(query, key);
        }
}

void EncoderDecoder::forward(const Stack& stack, std::span<const float> parameters,
                             const Sequences& sequences, StackRows& rows, const StackRows* memory) const {
    const Index n = sequences.tokens(), d = config_.d_model;
    rows.sequences = sequences;
    const MatrixView<float> x = first_rows(rows.residual, n), branch = first_rows(rows.branch, n);
    const std::span<const float> table = parameters.subspan(static_cast<std::size_t>(embedding_));
    look_up({std::as_bytes(table).data(), DType::f32, d, config_.vocab_size}, sequences.ids, x);
    fill_biases(stack, parameters, rows);
    for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
        const Block& block = stack.blocks[i];
        BlockRows& at = rows.blocks[i];
        forward(block.self, parameters, at.self, rows, nullptr, stack);
        if (block.cross) forward(*block.cross, parameters, *at.cross, rows, memory, stack);
        std::ranges::copy(values_of(x), at.resid_mid.data());
        const MatrixView<float> input = first_rows(at.mlp_input, n);
        normalise(*kernels_.forward, block.mlp_norm.view(parameters), x, input);
        block.mlp.forward(kernels_, parameters, input, at.mlp(n), branch);
        add(branch, x);
    }
    normalise(*kernels_.forward, stack.final_norm.view(parameters), x, first_rows(rows.output, n));
}

void EncoderDecoder::forward(const Half& half, std::span<const float> parameters, HalfRows& at,
                             StackRows& rows, const StackRows* memory, const Stack& stack) const {
    const Kernels& kernels = *kernels_.forward;
    const Index n = rows.tokens(), keys = memory ? memory->tokens() : n;
    const MatrixView<float> x = first_rows(rows.residual, n), branch = first_rows(rows.branch, n),
                            input = first_rows(at.input, n), attended = first_rows(at.attended, n);
    std::ranges::copy(values_of(x), at.resid_pre.data());
    normalise(kernels, half.norm.view(parameters), x, input);
    const ConstMatrix read =
        memory ? attn::rows(memory->output.matrix(), {0, keys}) : static_cast<ConstMatrix>(input);
    apply(kernels, half.q.view(parameters), input, first_rows(at.q, n));
    apply(kernels, half.k.view(parameters), read, first_rows(at.k, keys));
    apply(kernels, half.v.view(parameters), read, first_rows(at.v, keys));
    for (Index pair = 0; pair < std::ssize(rows.sequences.parts); ++pair)
        kernels.attention(call(at, rows, memory, stack, pair));
    apply(kernels, half.o.view(parameters), attended, branch);
    add(branch, x);
}

AttentionCall EncoderDecoder::call(HalfRows& at, const StackRows& rows, const StackRows* memory,
                                   const Stack& stack, Index pair) const {
    const Index heads = config_.heads;
    const Range queries = rows.sequences.parts[static_cast<std::size_t>(pair)],
                keys = memory ? memory->sequences.parts[static_cast<std::size_t>(pair)] : queries;
    const auto part = [&](Tensor& all, Range range) {
        return attn::rows(heads_of(all.matrix(), heads), range);
    };
    AttentionCall made{.q = part(at.q, queries),
                       .k = part(at.k, keys),
                       .v = part(at.v, keys),
                       .scale = 1,
                       .output = part(at.attended, queries),
                       .row_max = columns(at.row_max.matrix(), queries.begin, queries.size()),
                       .row_log_sum = columns(at.row_log_sum.matrix(), queries.begin, queries.size())};
    if (memory) return made;
    made.rule = stack.mask.rule();
    made.bias = rows.biases.heads();
    made.bias.rows = queries.size();
    made.bias.cols = keys.size();
    return made;
}

void EncoderDecoder::backward(const Stack& stack, std::span<const float> parameters, StackRows& rows,
                              const StackRows* memory, MatrixView<float> d_memory,
                              std::span<float> gradients) const {
    const Index n = rows.tokens(), d = config_.d_model;
    const MatrixView<float> d_x = first_rows(rows.d_residual, n), d_branch = first_rows(rows.branch, n),
                            d_input = first_rows(rows.room, n);
    std::ranges::fill(rows.d_biases.values(), 0.0f);
    stack.final_norm.backward(kernels_, parameters, first_rows(rows.residual, n),
                              first_rows(rows.d_output, n), d_x, gradients);
    for (std::size_t i = stack.blocks.size(); i-- > 0;) {
        const Block& block = stack.blocks[i];
        BlockRows& at = rows.blocks[i];
        std::ranges::copy(values_of(d_x), d_branch.data);
        block.mlp.backward(kernels_, parameters, first_rows(at.mlp_input, n), d_branch, at.mlp(n),
                           first_rows(rows.d_hidden, n), first_rows(rows.d_gate, n), d_input, gradients);
        block.mlp_norm.backward(kernels_, parameters, first_rows(at.resid_mid, n), d_input, d_input,
                                gradients);
        add(d_input, d_x);
        if (block.cross)
            backward(*block.cross, parameters, *at.cross, rows, memory, d_memory, stack, gradients);
        backward(block.self, parameters, at.self, rows, nullptr, {}, stack, gradients);
    }
    add_bias_gradient(stack, rows, gradients);
    embedding_backward(rows.sequences.ids, d_x, {gradients.data() + embedding_, config_.vocab_size, d, d});
}

void EncoderDecoder::backward(const Half& half, std::span<const float> parameters, HalfRows& at,
                              StackRows& rows, const StackRows* memory, MatrixView<float> d_memory,
                              const Stack& stack, std::span<float> gradients) const {
    const Index n = rows.tokens(), keys = memory ? memory->tokens() : n, heads = config_.heads;
    const MatrixView<float> d_x = first_rows(rows.d_residual, n), d_attended = first_rows(rows.d_attended, n),
                            d_input = first_rows(rows.room, n), d_q = first_rows(rows.d_q, n),
                            d_k = first_rows(rows.d_k, keys), d_v = first_rows(rows.d_v, keys);
    half.o.input_gradient(kernels_, parameters, d_x, d_attended);
    half.o.weight_gradient(kernels_, first_rows(at.attended, n), d_x, gradients);
    for (Index pair = 0; pair < std::ssize(rows.sequences.parts); ++pair) {
        const Range queries = rows.sequences.parts[static_cast<std::size_t>(pair)],
                    read = memory ? memory->sequences.parts[static_cast<std::size_t>(pair)] : queries;
        const auto part = [&](MatrixView<float> all, Range range) {
            return attn::rows(heads_of(all, heads), range);
        };
        kernels_.backward->attention({.forward = call(at, rows, memory, stack, pair),
                                      .d_output = part(d_attended, queries),
                                      .d_q = part(d_q, queries),
                                      .d_k = part(d_k, read),
                                      .d_v = part(d_v, read),
                                      .d_bias = memory ? HeadsView<float>{} : rows.d_biases.heads()});
    }
    const ConstMatrix input = first_rows(at.input, n);
    half.q.input_gradient(kernels_, parameters, d_q, d_input);
    half.q.weight_gradient(kernels_, input, d_q, gradients);
    const ConstMatrix read = memory ? attn::rows(memory->output.matrix(), {0, keys}) : input;
    const MatrixView<float> d_read = memory ? d_memory : d_input,
                            part = first_rows(memory ? rows.memory_room : rows.branch, keys);
    for (const auto& [linear, d] : {std::pair{&half.k, d_k}, std::pair{&half.v, d_v}}) {
        linear->input_gradient(kernels_, parameters, d, part);
        linear->weight_gradient(kernels_, read, d, gradients);
        add(part, d_read);
    }
    half.norm.backward(kernels_, parameters, first_rows(at.resid_pre, n), d_input, d_input, gradients);
    add(d_input, d_x);
}

Tensor EncoderDecoder::weights(Attention which, Index layer, Index pair, Activations& kept) const {
    const bool encoder = which == Attention::encoder, cross = which == Attention::cross;
    const Stack& stack = encoder ? encoder_ : decoder_;
    StackRows& rows = encoder ? kept.encoder : kept.decoder;
    BlockRows& block = rows.blocks[static_cast<std::size_t>(layer)];
    const AttentionCall made =
        call(cross ? *block.cross : block.self, rows, cross ? &kept.encoder : nullptr, stack, pair);
    Tensor all({made.q.heads, made.q.rows, made.k.rows});
    for (Index head = 0; head < made.q.heads; ++head) {
        const MatrixView<float> weights = all.heads().head(head);
        kernels_.forward->dot_products(made.q.head(head), made.k.head(head), weights);
        if (!cross) add(made.bias.head(head), weights);
        for (Index query = 0; query < weights.rows; ++query) {
            for (Index key = 0; key < weights.cols; ++key)
                if (!cross && !stack.mask.allows(head, query, key))
                    weights(query, key) = -std::numeric_limits<float>::infinity();
            kernels_.forward->weights({weights.row(query), static_cast<std::size_t>(weights.cols)},
                                      made.row_max(head, query), made.row_log_sum(head, query));
        }
    }
    return all;
}

}  // namespace attn
