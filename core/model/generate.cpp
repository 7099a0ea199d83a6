#include "model/generate.hpp"

#include <algorithm>

#include "model/block.hpp"
#include "model/experts.hpp"
#include "model/forward.hpp"

namespace attn {

namespace {

constexpr Index operations_per_slice = 40'000'000;

// Returns a cache [kv_heads, capacity, head_dim] with more rows and the first `filled` rows of the old one.
Tensor with_capacity(const Tensor& cache, Index filled, Index capacity) {
    Tensor grown({cache.dim(0), capacity, cache.dim(2)});
    for (Index head = 0; head < cache.dim(0); ++head)
        std::copy_n(cache.heads().head(head).data, filled * cache.dim(2), grown.heads().head(head).data);
    return grown;
}

}  // namespace

// Runs the token at `position` through the layers, as one row of everything; the cache holds those before it.
struct Generator::State {
    State(const Trace& prompt, Sampler draws);

    Index context() const { return model->config().context; }
    bool waits() const { return position < std::ssize(ids); }  // for the logits of a token

    void take_cache(const Trace& run);
    // The whole text anew, where its length changes how all its positions turn.
    void run_again();
    void enter();
    void run_layer(std::size_t layer);
    void run_cross(std::size_t layer);
    // Adds what a half's heads give to the residual.
    void attend(const AttentionHalf& half, AttentionCall call);
    void run_head();  // for a part of the vocabulary

    std::shared_ptr<const Model> model;
    const Kernels* kernels;
    Sampler sampler;
    std::vector<std::int32_t> ids;
    std::vector<float> logits;                     // [vocabulary]
    std::vector<Tensor> keys, values;              // per layer, [kv_heads, capacity, head_dim]
    std::vector<Tensor> cross_keys, cross_values;  // per layer, of the encoder's text, if there is one

    Index position;
    std::size_t layers_done = 0;
    Index logits_done = 0;
    RotaryTables rotary;  // of the position
    Tensor biases;        // [heads, 1, position + 1], of the distances, if the network has such
    Tensor residual;      // [1, d_model]
};

Generator::State::State(const Trace& prompt, Sampler draws)
    : model(prompt.model()),
      kernels(&prompt.kernels()),
      sampler(std::move(draws)),
      ids(prompt.ids().begin(), prompt.ids().end()),
      position(prompt.tokens()) {
    const Tensor last = prompt.logits({position - 1, position});
    logits.assign(last.values().begin(), last.values().end());
    take_cache(prompt);
}

void Generator::State::take_cache(const Trace& run) {
    keys.clear();
    values.clear();
    for (const LayerTrace& layer : run.layers()) {
        keys.push_back(layer.attention.k());
        values.push_back(layer.attention.v());
        if (!layer.cross) continue;
        cross_keys.push_back(layer.cross->attention.k());
        cross_values.push_back(layer.cross->attention.v());
    }
}

void Generator::State::run_again() {
    // It was checked when the generator was started that the model can run, and step() that the context is not full.
    const auto run = run_forward(model, ids, *kernels);
    if (!run) return;
    take_cache(**run);
    const Tensor last = (*run)->logits({position, position + 1});
    logits.assign(last.values().begin(), last.values().end());
}

void Generator::State::enter() {
    const Network& network = model->network();
    const auto token = std::span(ids).subspan(static_cast<std::size_t>(position), 1);
    residual = Tensor({1, model->config().d_model});
    Tensor token_row(residual.shape()), position_row(residual.shape()), segment_row(residual.shape()),
        sum(residual.shape());
    embed(*kernels, network, token, {}, position,
          {.token = token_row.matrix(),
           .position = position_row.matrix(),
           .segment = segment_row.matrix(),
           .sum = sum.matrix(),
           .residual = residual.matrix()});
    rotary = RotaryTables(network, {position, position + 1});
    rotary.fill(network, {position, position + 1}, position + 1);
    if (network.relative_bias) biases = relative_biases(*network.relative_bias, {-position, 1});
    const Index capacity = keys.front().dim(1);
    if (position < capacity) return;
    for (std::vector<Tensor>* caches : {&keys, &values})
        for (Tensor& cache : *caches)
            cache = with_capacity(cache, position, std::min(context(), std::max<Index>(16, 2 * capacity)));
}

void Generator::State::attend(const AttentionHalf& half, AttentionCall call) {
    const ModelConfig& config = model->config();
    Tensor attended({config.heads, 1, config.head_dim}), row_max({config.heads, 1}),
        row_log_sum({config.heads, 1});
    call.scale = half.scale;
    call.softcap = half.softcap;
    call.output = attended.heads();
    call.row_max = row_max.matrix();
    call.row_log_sum = row_log_sum.matrix();
    kernels->attention(call);

    Tensor output({1, config.d_model}), between(output.shape());
    merge_heads(*kernels, half, attended.heads(), output.matrix());
    leave_half(*kernels, after_attention(half), residual.matrix(), output.matrix(), between.matrix(),
               residual.matrix());
}

void Generator::State::run_cross(std::size_t l) {
    const ModelConfig& config = model->config();
    const AttentionHalf& half = *model->network().blocks[l].cross;
    Tensor normalised({1, config.d_model}), q({config.heads, 1, config.head_dim});
    enter_half(*kernels, half.attention_norm, residual.matrix(), normalised.matrix());
    project_cross_q(*kernels, half, normalised.matrix(), q.heads());
    AttentionCall call;
    call.q = q.heads();
    call.k = cross_keys[l].heads();
    call.v = cross_values[l].heads();
    attend(half, call);
}

void Generator::State::run_layer(std::size_t l) {
    const ModelConfig& config = model->config();
    const Block& block = model->network().blocks[l];
    const Range here{position, position + 1};

    Tensor normalised({1, config.d_model});
    enter_half(*kernels, block.attention_norm, residual.matrix(), normalised.matrix());
    Tensor q({config.heads, 1, config.head_dim});
    project_qkv(*kernels, block, normalised.matrix(), rotary.of(block, here),
                {q.heads(), rows(keys[l].heads(), here), rows(values[l].heads(), here)});

    if (block.parallel) enter_half(*kernels, block.mlp_norm, residual.matrix(), normalised.matrix());
    // The newest query may attend to every key that it is given, so there is no mask.
    const Index first = block.window > 0 ? std::max<Index>(0, here.end - block.window) : 0;
    AttentionCall call;
    call.q = q.heads();
    call.k = rows(keys[l].heads(), {first, here.end});
    call.v = rows(values[l].heads(), {first, here.end});
    if (biases.size() > 0) {
        call.bias = biases.heads();
        call.bias.data += first;
    }
    attend(block, call);
    if (block.cross) run_cross(l);
    if (!block.parallel) enter_half(*kernels, block.mlp_norm, residual.matrix(), normalised.matrix());
    Tensor output({1, config.d_model}), between(output.shape());
    if (block.experts) {
        const Index per_token = block.experts->per_token;
        Tensor chosen({1, per_token}), weights({1, per_token}), hidden({1, per_token * config.d_ff});
        const ExpertRows experts{chosen.matrix(), weights.matrix()};
        choose_experts(*kernels, *block.experts, normalised.matrix(), experts);
        run_experts(*kernels, *block.experts, config.activation, normalised.matrix(), experts,
                    hidden.matrix(), output.matrix());
    } else {
        Tensor hidden({1, config.d_ff});
        mlp_hidden(*kernels, block.mlp, config.activation, normalised.matrix(), hidden.matrix());
        apply(*kernels, block.mlp.down, hidden.matrix(), output.matrix());
    }
    leave_half(*kernels, after_mlp(block), residual.matrix(), output.matrix(), between.matrix(),
               residual.matrix());
}

void Generator::State::run_head() {
    const Network& network = model->network();
    Tensor input(residual.shape());
    enter_half(*kernels, network.final_norm, residual.matrix(), input.matrix());
    if (has_head_input(network)) input = head_input(*kernels, network, input.matrix());
    const Index begin = logits_done,
                count = std::max<Index>(1, operations_per_slice / (2 * network.head.weight.in));
    logits_done = std::min(network.head.weight.out, begin + count);
    head_logits(*kernels, network, {begin, logits_done}, input.matrix(),
                {logits.data() + begin, 1, logits_done - begin, logits_done - begin});
}

Generator::Generator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

Result<Generator> Generator::start(const Trace& prompt, const Sampling& sampling) {
    if (!prompt.model()->network().causal)
        return Error{"this model reads in both directions and fills in tokens; it cannot continue a text"};
    auto sampler = Sampler::start(sampling);
    if (!sampler) return sampler.error();
    return Generator(std::make_unique<State>(prompt, *std::move(sampler)));
}

Result<Generator> Generator::start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                   const Sampling& sampling, std::vector<std::int32_t> decoder_ids) {
    auto prompt =
        run_forward(std::move(model), std::move(ids), default_kernels(), {}, std::move(decoder_ids));
    if (!prompt) return prompt.error();
    return start(**prompt, sampling);
}

bool Generator::step() {
    State& s = *state_;
    if (!s.waits() || s.position >= s.context()) return false;
    if (s.layers_done == 0 && !turns_alike(s.model->network(), s.position, s.position + 1)) {
        s.run_again();
        ++s.position;
        return false;
    }
    if (s.layers_done == 0) s.enter();
    if (s.layers_done < s.keys.size()) {
        s.run_layer(s.layers_done++);
        return true;
    }
    s.run_head();
    if (s.logits_done < std::ssize(s.logits)) return true;
    ++s.position;
    s.layers_done = 0;
    s.logits_done = 0;
    return false;
}

Result<std::int32_t> Generator::next() {
    State& s = *state_;
    while (step()) {
    }
    if (s.waits()) return Error{"the context of " + std::to_string(s.context()) + " tokens is full"};
    auto id = s.sampler.draw(s.logits, s.position - 1);
    if (id) s.ids.push_back(*id);
    return id;
}

std::span<const std::int32_t> Generator::ids() const { return state_->ids; }
std::span<const float> Generator::logits() const { return state_->logits; }

}  // namespace attn
