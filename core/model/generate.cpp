#include "model/generate.hpp"

#include <algorithm>

#include "model/block.hpp"
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

    void enter();
    void run_layer(std::size_t layer);
    void run_head();  // for a part of the vocabulary

    std::shared_ptr<const Model> model;
    const Kernels* kernels;
    Sampler sampler;
    std::vector<std::int32_t> ids;
    std::vector<float> logits;         // [vocabulary]
    std::vector<Tensor> keys, values;  // per layer, [kv_heads, capacity, head_dim]

    Index position;
    std::size_t layers_done = 0;
    Index logits_done = 0;
    RotaryTable rotary;  // [1, pairs]
    Tensor residual;     // [1, d_model]
};

Generator::State::State(const Trace& prompt, Sampler draws)
    : model(prompt.model()),
      kernels(&prompt.kernels()),
      sampler(std::move(draws)),
      ids(prompt.ids().begin(), prompt.ids().end()),
      position(prompt.tokens()) {
    const Tensor last = prompt.logits({position - 1, position});
    logits.assign(last.values().begin(), last.values().end());
    const Shape one_position{1, std::ssize(model->network().rotary)};
    rotary = {Tensor(one_position), Tensor(one_position)};
    for (const LayerTrace& layer : prompt.layers()) {
        keys.push_back(layer.attention.k());
        values.push_back(layer.attention.v());
    }
}

void Generator::State::enter() {
    const Network& network = model->network();
    const auto token = std::span(ids).subspan(static_cast<std::size_t>(position), 1);
    residual = Tensor({1, model->config().d_model});
    look_up(network.token_embedding, token, residual.matrix());
    if (network.position_embedding) {
        Tensor embedding(residual.shape());
        const auto at = static_cast<std::int32_t>(position);
        look_up(*network.position_embedding, {&at, 1}, embedding.matrix());
        add(embedding.matrix(), residual.matrix());
    }
    fill_rotary(network.rotary, position, rotary.cosine.matrix(), rotary.sine.matrix());
    const Index capacity = keys.front().dim(1);
    if (position < capacity) return;
    for (std::vector<Tensor>* caches : {&keys, &values})
        for (Tensor& cache : *caches)
            cache = with_capacity(cache, position, std::min(context(), std::max<Index>(16, 2 * capacity)));
}

void Generator::State::run_layer(std::size_t l) {
    const ModelConfig& config = model->config();
    const Block& block = model->network().blocks[l];
    const Range here{position, position + 1};

    Tensor normalised({1, config.d_model});
    normalise(*kernels, block.attention_norm, residual.matrix(), normalised.matrix());
    Tensor q({config.heads, 1, config.head_dim});
    project_qkv(*kernels, block, normalised.matrix(), rows(rotary, {0, 1}),
                {q.heads(), rows(keys[l].heads(), here), rows(values[l].heads(), here)});

    // The newest query may attend to every key that it is given, so there is no mask.
    const Index first = block.window > 0 ? std::max<Index>(0, here.end - block.window) : 0;
    Tensor attended({config.heads, 1, config.head_dim}), row_max({config.heads, 1}),
        row_log_sum({config.heads, 1});
    AttentionCall call;
    call.q = q.heads();
    call.k = rows(keys[l].heads(), {first, here.end});
    call.v = rows(values[l].heads(), {first, here.end});
    call.scale = block.scale;
    call.output = attended.heads();
    call.row_max = row_max.matrix();
    call.row_log_sum = row_log_sum.matrix();
    kernels->attention(call);

    Tensor output({1, config.d_model}), hidden({1, config.d_ff});
    merge_heads(*kernels, block, attended.heads(), output.matrix());
    add(output.matrix(), residual.matrix());
    normalise(*kernels, block.mlp_norm, residual.matrix(), normalised.matrix());
    mlp_hidden(*kernels, block, config.activation, normalised.matrix(), hidden.matrix());
    apply(*kernels, block.down, hidden.matrix(), output.matrix());
    add(output.matrix(), residual.matrix());
}

void Generator::State::run_head() {
    const Network& network = model->network();
    Tensor normalised(residual.shape());
    normalise(*kernels, network.final_norm, residual.matrix(), normalised.matrix());
    WeightView part = network.head.weight;  // [vocabulary, d_model]
    part.data += logits_done * part.in * static_cast<Index>(byte_size(part.dtype));
    part.out = std::min(part.out - logits_done, std::max<Index>(1, operations_per_slice / (2 * part.in)));
    kernels->linear(normalised.matrix(), part, {}, Activation::none,
                    {logits.data() + logits_done, 1, part.out, part.out});
    logits_done += part.out;
}

Generator::Generator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

Result<Generator> Generator::start(const Trace& prompt, const Sampling& sampling) {
    auto sampler = Sampler::start(sampling);
    if (!sampler) return sampler.error();
    return Generator(std::make_unique<State>(prompt, *std::move(sampler)));
}

Result<Generator> Generator::start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                   const Sampling& sampling) {
    auto prompt = run_forward(std::move(model), std::move(ids));
    if (!prompt) return prompt.error();
    return start(**prompt, sampling);
}

bool Generator::step() {
    State& s = *state_;
    if (!s.waits() || s.position >= s.context()) return false;
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
