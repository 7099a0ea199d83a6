#include "analysis/cached_decoding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/theory/cache_cost.hpp"
#include "model/generate.hpp"

namespace attn {

namespace {

constexpr Index most_tokens_at_once = 16, choices_of_a_run = 5, prompt_cells = Index{1} << 15;

// ln of the softmax, in double.
std::vector<double> log_softmax(std::span<const float> logits) {
    double most = -HUGE_VAL, sum = 0;
    for (const float logit : logits) most = std::max(most, static_cast<double>(logit));
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
    std::vector<double> logs;
    for (const float logit : logits) logs.push_back(static_cast<double>(logit) - most - std::log(sum));
    return logs;
}

// Whether every query behind the prompt sees only keys that have come by then, within its window.
bool holds_what_is_seen(const Record& record, Index window, Index prompt) {
    const Mask& mask = record.spec().mask;
    const Index n = record.queries();
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(n));
    for (Index head = 0; head < record.heads(); ++head)
        for (Index query = prompt; query < n; ++query) {
            mask.row(head, query, 0, allowed);
            const Index first = window > 0 ? std::max<Index>(0, query + 1 - window) : 0;
            for (Index key = 0; key < n; ++key)
                if (allowed[static_cast<std::size_t>(key)] && (key < first || key > query)) return false;
        }
    return true;
}

}  // namespace

CachedDecoding::CachedDecoding(std::shared_ptr<const Trace> trace, Index prompt, const CacheRule& rule,
                               double slice_operations)
    : trace_(std::move(trace)), prompt_(prompt), rule_(rule), slice_operations_(slice_operations) {
    const ModelConfig& config = trace_->model()->config();
    const Network& network = trace_->network();
    const Index n = tokens();
    rotary_ = RotaryTables(network, {prompt_, n});
    rotary_.fill(network, {prompt_, n}, n);
    const auto begun = [&](const Tensor& before) {
        Tensor all({before.dim(0), n, before.dim(2)});
        copy_heads(rows(before.heads(), {0, prompt_}), rows(all.heads(), {0, prompt_}));
        return all;
    };
    const auto* evicts = std::get_if<EvictionRule>(&rule_);
    for (Index l = 0; l < std::ssize(trace_->layers()); ++l) {
        Layer layer{begun(record(l).q()), begun(record(l).k()), begun(record(l).v()), {}, {}, {}};
        if (evicts) {
            const Index window = network.blocks[static_cast<std::size_t>(l)].window;
            layer.evictions.assign(static_cast<std::size_t>(config.kv_heads),
                                   Eviction(*evicts, prompt_, window, n));
        } else {
            layer.read_k = layer.k;
            layer.read_v = layer.v;
        }
        layers_.push_back(std::move(layer));
    }
    const auto numbers = static_cast<std::size_t>((n - prompt_) * std::ssize(layers_) * config.heads);
    lost_.resize(numbers);
    moved_.resize(numbers);
    const CacheShape shape = cache_shape(network, config, 0);
    most_at_once_ = static_cast<Index>(std::clamp(slice_operations_ / (2 * shape.layers.front().weights), 1.0,
                                                  static_cast<double>(most_tokens_at_once)));
}

Result<CachedDecoding> CachedDecoding::start(std::shared_ptr<const Trace> trace, Index prompt,
                                             const CacheRule& rule, double slice_operations) {
    if (!trace->network().causal)
        return Error{
            "this model reads in both directions, so there is nothing that it could keep in a cache"};
    if (prompt < 1 || prompt >= trace->tokens())
        return Error{"a prompt of " + std::to_string(prompt) + " leaves nothing of " +
                     std::to_string(trace->tokens()) + " tokens to decode"};
    const bool shows_others = trace->mask() || std::ranges::any_of(trace->interventions(), may_look_ahead);
    for (std::size_t l = 0; shows_others && l < trace->layers().size(); ++l)
        if (!holds_what_is_seen(trace->layers()[l].attention, trace->network().blocks[l].window, prompt))
            return Error{"a change of the mask in layer " + std::to_string(l) +
                         " shows a query a key that no cache holds for it, behind it or before its window; "
                         "take that change back"};
    return CachedDecoding(std::move(trace), prompt, rule, slice_operations);
}

std::size_t CachedDecoding::place(const HeadIndex& head, Index query) const {
    return static_cast<std::size_t>(
        ((query - prompt_) * std::ssize(layers_) + head.layer) * q(head.layer).dim(0) + head.head);
}

double CachedDecoding::mean(const std::vector<double>& numbers, const HeadIndex& head) const {
    double sum = 0;
    for (Index query = prompt_; query < decoded().end; ++query) sum += numbers[place(head, query)];
    return sum / static_cast<double>(decoded().size());
}

std::span<const Index> CachedDecoding::gone(Index layer, Index kv_head) const {
    const Eviction* of = eviction(layer, kv_head);
    return of ? std::span<const Index>(of->gone()) : std::span<const Index>();
}

const Eviction* CachedDecoding::eviction(Index layer, Index kv_head) const {
    const auto& all = layers_[static_cast<std::size_t>(layer)].evictions;
    return all.empty() ? nullptr : &all[static_cast<std::size_t>(kv_head)];
}

float CachedDecoding::progress() const {
    // Counts the layers that are done of the tokens at work.
    const Index waiting = std::max<Index>(at_once_.end - decoded().end, 0);
    const float begun = static_cast<float>(waiting * layer_) / static_cast<float>(std::ssize(layers_));
    return (static_cast<float>(decoded().size()) + begun) / static_cast<float>(tokens() - prompt_);
}

bool CachedDecoding::step() {
    if (done()) return false;
    if (!prompt_read_) {
        read_prompt();
        return true;
    }
    if (at_once_.end <= decoded().end) {
        enter();
        return true;
    }
    if (layer_ < std::ssize(layers_)) {
        run_layer();
        return true;
    }
    if (logits_done_ < logits_.dim(1)) {
        read_logits();
        return true;
    }
    compare(decoded().end - at_once_.begin);
    return !done();
}

// ---- The prompt -------------------------------------------------------------------------------------------

void CachedDecoding::read_prompt() {
    Layer& layer = layers_[static_cast<std::size_t>(layer_)];
    const Record& before = record(layer_);
    const Index group = before.heads() / before.kv_heads(), cells = before.heads() * prompt_;
    const Index end = std::min(prompt_, read_ + std::max<Index>(1, prompt_cells / cells));
    if (layer.evictions.empty()) {
        round(layer, {0, prompt_});
        read_ = prompt_;
    }
    for (; read_ < end; ++read_)
        for (std::size_t g = 0; g < layer.evictions.size(); ++g) {
            Eviction& of = layer.evictions[g];
            std::vector<double> summed;
            if (of.counts()) {
                summed.resize(of.seen().size());
                for (Index head = static_cast<Index>(g) * group; head < static_cast<Index>(g + 1) * group;
                     ++head) {
                    const std::vector<float> weights = before.weights(head, read_);
                    for (std::size_t i = 0; i < summed.size(); ++i)
                        summed[i] += static_cast<double>(weights[static_cast<std::size_t>(of.seen()[i])]);
                }
            }
            of.add(summed);
        }
    if (read_ < prompt_) return;
    read_ = 0;
    if (++layer_ == std::ssize(layers_)) prompt_read_ = true;
}

// Rounds the groups that end among these tokens.
void CachedDecoding::round(Layer& layer, Range among) const {
    const auto& rounding = std::get<CacheRounding>(rule_);
    const Range tokens{rounding.rounded_before(among.begin), rounding.rounded_before(among.end)};
    const Index group = rounding.bits == 16 ? 1 : rounding.group;
    for (Index begin = tokens.begin; begin < tokens.end; begin += group)
        for (Index head = 0; head < layer.k.dim(0); ++head) {
            const Range of{begin, begin + group};
            round_keys(rounding, rows(layer.read_k.heads().head(head), of));
            round_values(rounding, rows(layer.read_v.heads().head(head), of));
        }
}

// ---- Decoding ---------------------------------------------------------------------------------------------

void CachedDecoding::enter() {
    const Index begin = decoded().end;
    at_once_ = {begin, std::min(begin + most_at_once_, tokens())};
    rows_ = ResidualRows(trace_->model(), trace_->kernels(), at_once_.size());
    if (!trace_->interventions().empty()) rows_.follow(*trace_, begin);
    copy(rows(trace_->layers().front().resid_pre.matrix(), at_once_), rows_.residual());
    const Shape logits{at_once_.size(), trace_->network().head.weight.out};
    logits_before_ = Tensor(logits);
    logits_ = Tensor(logits);
    layer_ = logits_done_ = 0;
}

void CachedDecoding::run_layer() {
    const ModelConfig& config = trace_->model()->config();
    const Kernels& kernels = trace_->kernels();
    const auto l = static_cast<std::size_t>(layer_);
    const Block& block = trace_->network().blocks[l];
    Layer& layer = layers_[l];
    Tensor normalised({at_once_.size(), config.d_model}),
        heads({config.heads, at_once_.size(), config.head_dim});
    pre_norm(kernels, block.attention_norm, rows_.residual(), normalised.matrix());
    const HeadsView<float> k = rows(layer.k.heads(), at_once_), v = rows(layer.v.heads(), at_once_);
    project_qkv(kernels, block, normalised.matrix(), rotary_.of(block, at_once_),
                {rows(layer.q.heads(), at_once_), k, v});
    rows_.change(l, Site::q, rows(layer.q.heads(), at_once_));
    rows_.change(l, Site::k, k);
    rows_.change(l, Site::v, v);
    const bool evicts = !layer.evictions.empty();
    if (!evicts) {
        copy_heads(k, rows(layer.read_k.heads(), at_once_));
        copy_heads(v, rows(layer.read_v.heads(), at_once_));
    }
    // Their shapes are those of the run's.
    Record prepared = *attention(layer);
    for (Index query = at_once_.begin; query < at_once_.end; ++query) {
        const Index row = query - at_once_.begin;
        attend(query, prepared, rows(heads.heads(), {row, row + 1}));
        if (evicts) continue;
        round(layer, {query, query + 1});
        if (query + 1 < at_once_.end) prepared = *attention(layer);
    }
    rows_.change(l, Site::head_output, heads.heads());
    for (Index query = at_once_.begin; query < at_once_.end; ++query)
        measure_moved(query, rows(heads.heads(), {query - at_once_.begin, query - at_once_.begin + 1}));
    const auto& cross = trace_->layers()[l].cross;
    rows_.leave(l, heads, cross ? &cross->attention.k() : nullptr, cross ? &cross->attention.v() : nullptr);
    ++layer_;
}

Result<Record> CachedDecoding::attention(const Layer& layer) const {
    const bool evicts = !layer.evictions.empty();
    return Record::prepare(layer.q, evicts ? layer.k : layer.read_k, evicts ? layer.v : layer.read_v,
                           record(layer_).spec(), trace_->kernels());
}

AttentionSpec CachedDecoding::spec_of(const Layer& layer, Index query) const {
    AttentionSpec spec = record(layer_).spec();
    if (layer.evictions.empty()) return spec;
    const Index heads = record(layer_).heads(), n = tokens(), group = heads / std::ssize(layer.evictions);
    PaintedBits held{heads, 1, n, std::vector<std::uint8_t>(static_cast<std::size_t>(heads * n))};
    for (Index head = 0; head < heads; ++head)
        for (const Index key : layer.evictions[static_cast<std::size_t>(head / group)].seen())
            held.allowed[static_cast<std::size_t>(head * n + key)] = key <= query;
    spec.mask = spec.mask & Mask::painted(std::move(held));
    return spec;
}

void CachedDecoding::attend(Index query, const Record& prepared, HeadsView<float> to) {
    Layer& layer = layers_[static_cast<std::size_t>(layer_)];
    const Record& before = record(layer_);
    Record here = *prepared.prepare_under(spec_of(layer, query));
    here.compute({query, query + 1});
    copy_heads(rows(here.output().heads(), {query, query + 1}), to);
    const Index group = before.heads() / before.kv_heads();
    for (std::size_t g = 0; g < layer.evictions.size(); ++g) {
        Eviction& evicting = layer.evictions[g];
        const std::vector<Index>& gone = evicting.gone();
        std::vector<double> summed(evicting.counts() ? evicting.seen().size() : 0);
        for (Index head = static_cast<Index>(g) * group; head < static_cast<Index>(g + 1) * group; ++head) {
            const std::vector<float> weights_before = before.weights(head, query);
            double& lost = lost_[place({layer_, head}, query)];
            for (std::size_t key = 0; key < weights_before.size(); ++key)
                if (gone[key] <= query) lost += static_cast<double>(weights_before[key]);
            if (!evicting.counts()) continue;
            const std::vector<float> weights = here.weights(head, query);
            for (std::size_t i = 0; i < summed.size(); ++i)
                summed[i] += static_cast<double>(weights[static_cast<std::size_t>(evicting.seen()[i])]);
        }
        evicting.add(summed);
    }
}

// A head that gives nothing in both runs, because it was switched off, has not moved.
void CachedDecoding::measure_moved(Index query, ConstHeads heads) {
    for (Index head = 0; head < heads.heads; ++head) {
        const float *output = heads.head(head).row(0),
                    *was = record(layer_).output().heads().head(head).row(query);
        double apart = 0, length = 0;
        for (Index b = 0; b < heads.cols; ++b) {
            const double here = static_cast<double>(output[b]), there = static_cast<double>(was[b]);
            apart += (here - there) * (here - there);
            length += there * there;
        }
        moved_[place({layer_, head}, query)] = apart == 0 ? 0 : std::sqrt(apart / length);
    }
}

void CachedDecoding::read_logits() {
    const Index left = logits_.dim(1) - logits_done_;
    const double each = 4 * static_cast<double>(trace_->network().head.weight.in * at_once_.size());
    const auto count =
        static_cast<Index>(std::clamp(slice_operations_ / each, 1.0, static_cast<double>(left)));
    const Range part{logits_done_, logits_done_ + count};
    const auto columns_of = [&](Tensor& logits) { return columns(logits.matrix(), part.begin, part.size()); };
    rows_.logits(part, columns_of(logits_));
    copy(trace_->logits(at_once_, part).matrix(), columns_of(logits_before_));
    logits_done_ = part.end;
}

void CachedDecoding::compare(Index row) {
    const auto row_in = [&](const Tensor& logits) {
        return std::span<const float>{logits.matrix().row(row), static_cast<std::size_t>(logits.dim(1))};
    };
    const std::vector<double> before = log_softmax(row_in(logits_before_)),
                              after = log_softmax(row_in(logits_));
    Step step;
    for (std::size_t i = 0; i < before.size(); ++i)
        if (const double p = std::exp(before[i]); p > 0) step.divergence += p * (before[i] - after[i]);
    // What a run is off by can leave a sum of nothing but rounding below zero.
    step.divergence = std::max(step.divergence, 0.0);
    const auto likeliest = [](const std::vector<double>& logs) {
        return static_cast<std::int32_t>(std::ranges::max_element(logs) - logs.begin());
    };
    step.likeliest_before = likeliest(before);
    step.likeliest = likeliest(after);
    step.loss_before = step.loss = std::numeric_limits<double>::quiet_NaN();
    if (const Index next = at_once_.begin + row + 1; next < tokens()) {
        const auto said = static_cast<std::size_t>(trace_->ids()[static_cast<std::size_t>(next)]);
        step.loss_before = -before[said];
        step.loss = -after[said];
    }
    for (const Tensor* logits : {&logits_before_, &logits_})
        for (const Candidate& each :
             next_token_distribution(row_in(*logits), {.temperature = 1}, choices_of_a_run)) {
            const auto id = static_cast<std::size_t>(each.id);
            if (std::ranges::find(step.choices, each.id, &Choice::id) == step.choices.end())
                step.choices.push_back({each.id, std::exp(before[id]), std::exp(after[id])});
        }
    steps_.push_back(std::move(step));
}

}  // namespace attn
