#include "model/forward.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "model/block.hpp"

namespace attn {

// This is not the walk of train/network.cpp, because it goes in slices, and because it keeps only what a Trace shows: the
// MLP is activated within its product. To keep it unactivated as well, as training does, takes a quarter more memory at
// least, and for 1,024 tokens 7 % more time.
struct Forward::Run {
    Run(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids, const Kernels& kernels,
        double slice_operations);

    struct Slice {
        void (Run::*work)(const Slice&);
        Index layer = 0;
        Range tokens;
        double operations = 0;
    };

    // Cuts work on all tokens, at so many operations each, into slices of about slice_operations.
    void plan(void (Run::*work)(const Slice&), Index layer, double operations_per_token);
    void plan_layer(Index layer);

    void embed(const Slice&);
    void project(const Slice&);
    void prepare(const Slice&);
    void attend(const Slice&);
    void leave_attention(const Slice&);
    void fill_hidden(const Slice&);
    void leave_mlp(const Slice&);
    void finish(const Slice&);

    const Block& block(const Slice& slice) const {
        return trace->model_->network().blocks[static_cast<std::size_t>(slice.layer)];
    }
    LayerTrace& layer(const Slice& slice) { return trace->layers_[static_cast<std::size_t>(slice.layer)]; }

    std::shared_ptr<Trace> trace;
    RotaryTable rotary;
    // Of the layer that is being computed, until its LayerTrace holds them.
    Tensor residual, normalised, q, k, v;
    double slice_operations;
    std::vector<Slice> slices;
    std::size_t next = 0;
    double operations_done = 0, operations = 0;
    std::optional<Error> failure;
};

namespace {

constexpr Index operations_per_angle = 200;  // that a sine and a cosine take as long as

Shape tokens_by(Index tokens, Index width) { return {tokens, width}; }

}  // namespace

Forward::Run::Run(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids, const Kernels& kernels,
                  double operations_a_slice)
    : trace(new Trace), slice_operations(operations_a_slice) {
    const ModelConfig& config = model->config();
    const Network& network = model->network();
    const Index n = std::ssize(ids);

    const Shape pairs = tokens_by(n, std::ssize(network.rotary));
    rotary = {Tensor(pairs), Tensor(pairs)};
    residual = Tensor(tokens_by(n, config.d_model));
    trace->token_embedding_ = residual;
    if (network.position_embedding) trace->position_embedding_ = residual;

    trace->ids_ = std::move(ids);
    trace->kernels_ = &kernels;
    trace->model_ = std::move(model);
    plan(&Run::embed, 0, static_cast<double>(config.d_model + operations_per_angle * pairs[1]));
    for (Index l = 0; l < config.layers; ++l) plan_layer(l);
    plan(&Run::finish, 0, static_cast<double>(config.d_model));
}

void Forward::Run::plan(void (Run::*work)(const Slice&), Index l, double operations_per_token) {
    const Index n = trace->tokens();
    const double most = std::max(1.0, slice_operations / operations_per_token);
    const Index step = most < static_cast<double>(n) ? static_cast<Index>(most) : n;
    for (Index begin = 0; begin < n; begin += step) {
        const Range tokens{begin, std::min(n, begin + step)};
        slices.push_back({work, l, tokens, operations_per_token * static_cast<double>(tokens.size())});
        operations += slices.back().operations;
    }
}

void Forward::Run::plan_layer(Index l) {
    const ModelConfig& config = trace->model_->config();
    const auto d = static_cast<double>(config.d_model), d_ff = static_cast<double>(config.d_ff);
    const auto q_width = static_cast<double>(config.heads * config.head_dim);
    const auto kv_width = static_cast<double>(config.kv_heads * config.head_dim);
    const double gated = trace->model_->network().blocks[static_cast<std::size_t>(l)].gate ? 2 : 1;

    plan(&Run::project, l, 2 * d * (q_width + 2 * kv_width));
    slices.push_back({&Run::prepare, l, {}, 0});
    plan(&Run::attend, l, 4 * q_width * static_cast<double>(trace->tokens()));
    plan(&Run::leave_attention, l, 2 * q_width * d);
    plan(&Run::fill_hidden, l, 2 * gated * d * d_ff);
    plan(&Run::leave_mlp, l, 2 * d_ff * d);
}

void Forward::Run::embed(const Slice& slice) {
    const Network& network = trace->model_->network();
    const auto to = [&](Tensor& tensor) { return rows(tensor.matrix(), slice.tokens); };
    const auto begin = static_cast<std::size_t>(slice.tokens.begin);
    const auto count = static_cast<std::size_t>(slice.tokens.size());
    fill_rotary(network.rotary, slice.tokens.begin, to(rotary.cosine), to(rotary.sine));
    const auto ids = std::span(trace->ids_).subspan(begin, count);
    look_up(network.token_embedding, ids, to(trace->token_embedding_));
    look_up(network.token_embedding, ids, to(residual));
    if (!network.position_embedding) return;
    std::vector<std::int32_t> positions(count);
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(begin));
    look_up(*network.position_embedding, positions, to(trace->position_embedding_));
    add(to(trace->position_embedding_), to(residual));
}

void Forward::Run::project(const Slice& slice) {
    const ModelConfig& config = trace->model_->config();
    const Index n = trace->tokens();
    if (slice.tokens.begin == 0) {
        normalised = Tensor(tokens_by(n, config.d_model));
        q = Tensor({config.heads, n, config.head_dim});
        k = Tensor({config.kv_heads, n, config.head_dim});
        v = Tensor({config.kv_heads, n, config.head_dim});
    }
    const MatrixView<float> input = rows(normalised.matrix(), slice.tokens);
    normalise(*trace->kernels_, block(slice).attention_norm, rows(residual.matrix(), slice.tokens), input);
    project_qkv(
        *trace->kernels_, block(slice), input, rows(rotary, slice.tokens),
        {rows(q.heads(), slice.tokens), rows(k.heads(), slice.tokens), rows(v.heads(), slice.tokens)});
}

void Forward::Run::prepare(const Slice& slice) {
    AttentionSpec spec;
    spec.scale = block(slice).scale;
    spec.mask = mask_of(block(slice));
    auto attention =
        Record::prepare(std::move(q), std::move(k), std::move(v), std::move(spec), *trace->kernels_);
    if (!attention) {
        failure = attention.error();
        return;
    }
    const ModelConfig& config = trace->model_->config();
    const Index n = trace->tokens();
    const Tensor blank(tokens_by(n, config.d_model));
    trace->layers_.push_back({.residual_in = std::move(residual),
                              .attention_input = std::move(normalised),
                              .attention = std::move(*attention),
                              .attention_output = blank,
                              .residual_middle = blank,
                              .mlp_input = blank,
                              .mlp_hidden = Tensor(tokens_by(n, config.d_ff)),
                              .mlp_output = blank});
    residual = blank;
}

void Forward::Run::attend(const Slice& slice) { layer(slice).attention.compute(slice.tokens); }

void Forward::Run::leave_attention(const Slice& slice) {
    LayerTrace& l = layer(slice);
    const auto output = rows(l.attention_output.matrix(), slice.tokens);
    const auto middle = rows(l.residual_middle.matrix(), slice.tokens);
    merge_heads(*trace->kernels_, block(slice), rows(l.attention.output().heads(), slice.tokens), output);
    add(rows(l.residual_in.matrix(), slice.tokens), output, middle);
    normalise(*trace->kernels_, block(slice).mlp_norm, middle, rows(l.mlp_input.matrix(), slice.tokens));
}

void Forward::Run::fill_hidden(const Slice& slice) {
    LayerTrace& l = layer(slice);
    mlp_hidden(*trace->kernels_, block(slice), trace->model_->config().activation,
               rows(l.mlp_input.matrix(), slice.tokens), rows(l.mlp_hidden.matrix(), slice.tokens));
}

void Forward::Run::leave_mlp(const Slice& slice) {
    LayerTrace& l = layer(slice);
    const auto output = rows(l.mlp_output.matrix(), slice.tokens);
    apply(*trace->kernels_, block(slice).down, rows(l.mlp_hidden.matrix(), slice.tokens), output);
    add(rows(l.residual_middle.matrix(), slice.tokens), output, rows(residual.matrix(), slice.tokens));
}

void Forward::Run::finish(const Slice& slice) {
    if (slice.tokens.begin == 0) {
        trace->final_residual_ = std::move(residual);
        trace->final_norm_ = Tensor(trace->final_residual_.shape());
    }
    normalise(*trace->kernels_, trace->model_->network().final_norm,
              rows(trace->final_residual_.matrix(), slice.tokens),
              rows(trace->final_norm_.matrix(), slice.tokens));
}

Forward::Forward(std::unique_ptr<Run> run) : run_(std::move(run)) {}
Forward::Forward(Forward&&) noexcept = default;
Forward& Forward::operator=(Forward&&) noexcept = default;
Forward::~Forward() = default;

Result<Forward> Forward::start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                               const Kernels& kernels, double slice_operations) {
    const ModelConfig& config = model->config();
    if (ids.empty()) return Error{"there are no token ids to run"};
    if (std::ssize(ids) > config.context)
        return Error{std::to_string(ids.size()) + " tokens are more than the context of " +
                     std::to_string(config.context) + " that this model was made for"};
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || ids[i] >= config.vocab_size)
            return Error{"token id " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                         " is outside the vocabulary of " + std::to_string(config.vocab_size)};
    const std::int64_t bytes = trace_bytes(config, std::ssize(ids));
    if (bytes > std::numeric_limits<Index>::max())
        return Error{"a run of " + std::to_string(ids.size()) + " tokens would keep " +
                     std::to_string(bytes >> 20) + " MiB, more than can be addressed here"};
    return Forward(std::make_unique<Run>(std::move(model), std::move(ids), kernels, slice_operations));
}

bool Forward::step() {
    Run& run = *run_;
    if (run.failure || run.next == run.slices.size()) return false;
    const Run::Slice& slice = run.slices[run.next++];
    (run.*slice.work)(slice);
    run.operations_done += slice.operations;
    return !run.failure && run.next < run.slices.size();
}

float Forward::progress() const { return static_cast<float>(run_->operations_done / run_->operations); }

Result<std::shared_ptr<const Trace>> Forward::finish() {
    while (step()) {
    }
    if (run_->failure) return *run_->failure;
    return std::shared_ptr<const Trace>(std::move(run_->trace));
}

Result<std::shared_ptr<const Trace>> run_forward(std::shared_ptr<const Model> model,
                                                 std::vector<std::int32_t> ids, const Kernels& kernels) {
    auto forward =
        Forward::start(std::move(model), std::move(ids), kernels, std::numeric_limits<double>::infinity());
    if (!forward) return forward.error();
    return forward->finish();
}

}  // namespace attn
