#include "model/generate.hpp"

#include <algorithm>
#include <optional>

#include "model/forward.hpp"
#include "model/token_rows.hpp"

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
    State(const std::shared_ptr<const Trace>& prompt, Sampler draws);

    Index context() const { return model->config().context; }
    bool waits() const { return position < std::ssize(ids); }  // for the logits of a token

    void take_cache(const Trace& run);
    // A slice of the newest token as a run that continues the one before; true while there is more to do.
    bool continue_run();
    void take_logits(const Trace& run);
    // The whole text anew, where its length changes how all its positions turn.
    void run_again();
    void enter();
    void run_layer(std::size_t layer);
    void run_head();  // for a part of the vocabulary

    std::shared_ptr<const Model> model;
    const Kernels* kernels;
    Sampler sampler;
    std::vector<std::int32_t> ids;
    std::vector<float> logits;                     // [vocabulary]
    std::vector<Tensor> keys, values;              // per layer, [kv_heads, capacity, head_dim]
    std::vector<Tensor> cross_keys, cross_values;  // per layer, of the encoder's text, if there is one

    std::shared_ptr<const Trace> changed;  // a run that is not the model's own; null: it is
    std::optional<ForwardPass> continued;  // while it runs

    Index position;
    std::size_t layers_done = 0;
    Index logits_done = 0;
    TokenRows token;
};

Generator::State::State(const std::shared_ptr<const Trace>& prompt, Sampler draws)
    : model(prompt->model()),
      kernels(&prompt->kernels()),
      sampler(std::move(draws)),
      ids(prompt->ids().begin(), prompt->ids().end()),
      position(prompt->tokens()) {
    take_logits(*prompt);
    if (prompt->mask() || !prompt->interventions().empty())
        changed = prompt;
    else
        take_cache(*prompt);
}

void Generator::State::take_logits(const Trace& run) {
    const Tensor last = run.logits({run.tokens() - 1, run.tokens()});
    logits.assign(last.values().begin(), last.values().end());
}

bool Generator::State::continue_run() {
    if (!continued) {
        // The only way this can fail is a full context.
        auto begun = changed->encoder()
                         ? ForwardPass::start(
                               changed, {changed->encoder()->ids().begin(), changed->encoder()->ids().end()},
                               operations_per_slice, ids)
                         : ForwardPass::start(changed, ids, operations_per_slice);
        if (!begun) return false;
        continued = *std::move(begun);
    }
    if (continued->step()) return true;
    const auto run = continued->finish();
    continued.reset();
    if (!run) return false;
    changed = *run;
    take_logits(*changed);
    ++position;
    return false;
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
    // It was checked when the generator was started that the model can run, and step() that the context is
    // not full.
    const auto run = run_forward(model, ids, *kernels);
    if (!run) return;
    take_cache(**run);
    take_logits(**run);
}

void Generator::State::enter() {
    token = TokenRows(model, *kernels, position, 1);
    const Shape row{1, model->config().d_model};
    Tensor token_row(row), position_row(row), segment_row(row), sum(row);
    const auto at = static_cast<std::size_t>(position);
    const std::vector<std::int32_t> positions = position_rows(model->network(), ids);
    embed(*kernels, model->network(), std::span(ids).subspan(at, 1), {}, std::span(positions).subspan(at, 1),
          {.token = token_row.matrix(),
           .position = position_row.matrix(),
           .segment = segment_row.matrix(),
           .sum = sum.matrix(),
           .residual = token.residual()});
    const Index capacity = keys.front().dim(1);
    if (position < capacity) return;
    for (std::vector<Tensor>* caches : {&keys, &values})
        for (Tensor& cache : *caches)
            cache = with_capacity(cache, position, std::min(context(), std::max<Index>(16, 2 * capacity)));
}

void Generator::State::run_layer(std::size_t l) {
    SeenKeys seen{keys[l], values[l]};
    if (!cross_keys.empty()) {
        seen.cross_k = &cross_keys[l];
        seen.cross_v = &cross_values[l];
    }
    const Tensor heads = token.attend(l, seen);
    token.leave(l, heads, seen);
}

void Generator::State::run_head() {
    const Network& network = model->network();
    const Index begin = logits_done,
                count = std::max<Index>(1, operations_per_slice / (2 * network.head.weight.in));
    logits_done = std::min(network.head.weight.out, begin + count);
    token.logits({begin, logits_done}, {logits.data() + begin, 1, logits_done - begin, logits_done - begin});
}

Generator::Generator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

Result<Generator> Generator::start(const std::shared_ptr<const Trace>& prompt, const Sampling& sampling) {
    if (!prompt->model()->network().causal)
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
    return start(*prompt, sampling);
}

bool Generator::step() {
    State& s = *state_;
    if (!s.waits() || s.position >= s.context()) return false;
    if (s.changed) return s.continue_run();
    if (s.layers_done == 0 && !same_rope_frequencies(s.model->network(), s.position, s.position + 1)) {
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
