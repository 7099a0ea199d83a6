#include "lenses/cache/cache.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "app/format.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

namespace {

constexpr double slice_operations = 60e6;  // about 2 ms at 30 GFLOP/s
constexpr Index usual_written = 32;        // at least this many tokens

}  // namespace

std::optional<Missing> CacheLens::missing(Subject& subject) const {
    const auto trace = subject.attention()->trace();
    if (!trace)
        return Missing{
            "A cache belongs to a whole model that goes on with a text; here is only a head’s attention."};
    if (!trace->network().causal)
        return Missing{
            "This model reads a text in both directions, all at once, and writes nothing: it keeps no "
            "cache."};
    return std::nullopt;
}

// ---- Inputs -----------------------------------------------------------------------------------------------

// Results kept here hold whole runs, so they are released.
void CacheLens::follow(const State& before, Change how) {
    if (how != Change::command || before.lens != state().lens || before.subject != state().subject)
        play_.reset();
    if (trace_ && &visit().lens() != this) forget();
}

void CacheLens::forget() {
    trace_.reset();
    refused_.clear();
    kept_.reset();
    kept_of_ = {};
    shown_.reset();
    next_.reset();
    race_.reset();
    play_.reset();
    map_ = nullptr;
    mapped_ = {};
    view_.forget_map();
    vocabulary_.follow(nullptr);
}

Attention& CacheLens::text(Subject& subject) {
    const auto trace = subject.attention()->trace();
    return *subject.attention_of(trace->encoder() ? trace->encoder()->attentions() : 0);
}

HeadIndex CacheLens::head(Subject& subject) const {
    const HeadIndex chosen = subject.chosen_head();
    const Trace& trace = *subject.attention()->trace();
    return {std::min(trace.attention(chosen.layer).place.layer, std::ssize(trace.layers()) - 1), chosen.head};
}

Index CacheLens::kv_head(const HeadIndex& head) const {
    const Record& record = trace_->layers()[static_cast<std::size_t>(head.layer)].attention;
    return record.kv_head(head.head);
}

CellPlace CacheLens::run_cell(Subject& subject, const HeadIndex& head, Stage stage, Index row, Index col) {
    const auto trace = subject.attention()->trace();
    const Index first = trace->encoder() ? trace->encoder()->attentions() : 0;
    return {{first + head.layer, head.head}, {.stage = stage, .row = row, .col = col}};
}

// The chosen query may belong to an encoder, so it is not among the decoded ones.
Index CacheLens::query(Subject& subject) const {
    const Trace& trace = *subject.attention()->trace();
    const Selection chosen = subject.chosen();
    const bool encoded = trace.attention(chosen.layer).place.kind == AttentionKind::encoder;
    const Index last = trace.tokens() - 1, wanted = encoded ? last : chosen.query.value_or(last);
    return std::clamp(wanted, std::min(shown_ ? shown_->prompt() : prompt(), last), last);
}

CacheRule CacheLens::rule() const {
    if (now().part == CachePart::bits) return now().rounding;
    return now().eviction;
}

Index CacheLens::prompt() const {
    const Index all = trace_ ? trace_->tokens() : 1;
    return std::clamp(now().prompt > 0 ? now().prompt : all / 2, Index{1}, std::max<Index>(all - 1, 1));
}

void CacheLens::update(Subject& subject) {
    const auto trace = subject.attention()->trace();
    if (trace != trace_) {
        forget();
        trace_ = trace;
        vocabulary_.follow(trace->model());
    }
    refused_.clear();
    if (now().part == CachePart::cost) return;
    if (shown_ && shown_->rule().index() != rule().index()) {
        shown_.reset();
        kept_.reset();
        kept_of_ = {};
    }
    const auto is_asked = [&](const auto& decoding) {
        return decoding && decoding->prompt() == prompt() && decoding->rule() == rule();
    };
    if (is_asked(shown_)) {
        next_.reset();
    } else if (!is_asked(next_)) {
        auto begun =
            trace->tokens() < 2
                ? Error{"There is only one token, so that nothing is decoded after it. Write a longer text."}
                : CachedDecoding::start(trace, prompt(), rule(), slice_operations);
        if (begun) {
            next_ = std::make_shared<CachedDecoding>(*std::move(begun));
        } else {
            next_.reset();
            refused_ = capitalised(begun.error().message);
            if (!refused_.ends_with('.')) refused_ += '.';
            shown_.reset();
        }
    }
    follow_kept(subject);
}

void CacheLens::follow_kept(Subject& subject) {
    if (!evicts()) {
        kept_.reset();
        kept_of_ = {};
        return;
    }
    const HeadIndex at = head(subject);
    const KeptOf wanted{shown_.get(), at.layer, kv_head(at)};
    if (kept_of_ == wanted) return;
    kept_of_ = wanted;
    kept_.emplace(*shown_, at.layer, wanted.kv_head);
}

bool CacheLens::step(Subject& subject) {
    update(subject);
    if (race_ && race_->step()) return true;
    if (next_) {
        if (!next_->step()) shown_ = std::exchange(next_, nullptr);
        return true;
    }
    return kept_ && !kept_->done() && kept_->step();
}

// ---- Cost -------------------------------------------------------------------------------------------------

std::vector<Index> CacheLens::kv_heads_offered(Subject& subject) const {
    const ModelConfig& config = subject.attention()->trace()->model()->config();
    std::vector<Index> offered;
    for (const Index each : {config.heads, config.heads / 2, config.heads / 4, config.kv_heads, Index{1}})
        if (each > 0 && config.heads % each == 0 && std::ranges::find(offered, each) == offered.end())
            offered.push_back(each);
    std::ranges::sort(offered, std::greater());
    return offered;
}

CacheShape CacheLens::variant(Subject& subject, Index kv_heads) const {
    const Trace& trace = *subject.attention()->trace();
    CacheShape shape = cache_shape(trace.network(), trace.model()->config(),
                                   trace.encoder() ? trace.encoder()->tokens() : 0);
    if (kv_heads > 0) shape = with_kv_heads(std::move(shape), kv_heads);
    return now().window > 0 ? with_window(std::move(shape), now().window) : shape;
}

CacheLens::Cost CacheLens::cost(Subject& subject) const {
    const Trace& trace = *subject.attention()->trace();
    const ModelConfig& config = trace.model()->config();
    const std::vector<Index> offered = kv_heads_offered(subject);
    const bool known = std::ranges::find(offered, now().kv_heads) != offered.end();
    Cost cost{.own = cache_shape(trace.network(), config, trace.encoder() ? trace.encoder()->tokens() : 0),
              .other = variant(subject, known ? now().kv_heads : 0),
              .own_kept = {},
              .other_kept = {now().bits, now().rounding.group}};
    const Index most = std::max<Index>(config.context, 2);
    cost.prompt = std::clamp(now().prompt > 0 ? now().prompt : trace.tokens(), Index{1}, most - 1);
    cost.written = std::clamp(now().written > 0 ? now().written : std::max(cost.prompt, usual_written),
                              Index{1}, most - cost.prompt);
    return cost;
}

// ---- Decoding ---------------------------------------------------------------------------------------------

Index CacheLens::changed_tokens() const {
    Index changed = 0;
    for (Index query = shown_->prompt(); query < shown_->tokens(); ++query)
        changed += shown_->at(query).likeliest != shown_->at(query).likeliest_before;
    return changed;
}

Index CacheLens::farthest() const {
    Index most = shown_->prompt();
    for (Index query = most; query < shown_->tokens(); ++query)
        if (shown_->at(query).divergence > shown_->at(most).divergence) most = query;
    return most;
}

// Averages over the decoded tokens that have a successor in the text; NaN if there are none.
double CacheLens::mean_loss(bool before) const {
    double sum = 0;
    for (Index query = shown_->prompt(); query + 1 < shown_->tokens(); ++query)
        sum += before ? shown_->at(query).loss_before : shown_->at(query).loss;
    return sum / static_cast<double>(shown_->tokens() - 1 - shown_->prompt());
}

// Returns the quantization group of the chosen key's tokens, or else the last group.
Range CacheLens::codes_shown(Subject& subject) const {
    const Index group = rounding().bits == 16 ? 8 : rounding().group,
                rounded = rounding().rounded_before(shown_->tokens());
    const Index last = rounded - 1, key = std::min(subject.chosen().key.value_or(last), last);
    if (key < 0) return {};
    const Index begin = key / group * group;
    return {begin, std::min(begin + group, rounded)};
}

// Returns the number that decided whether to keep a key, before the chosen query; nothing if the rule uses no
// number, or for the newest key.
std::optional<double> CacheLens::score_of(Subject& subject, Index key) const {
    const Index at = query(subject);
    if (!kept_head() || key >= at) return std::nullopt;
    switch (eviction().policy) {
        case EvictionPolicy::window:
        case EvictionPolicy::sinks: return std::nullopt;
        case EvictionPolicy::heavy_hitters: return kept_head()->sum(at, key);
        case EvictionPolicy::snapkv: break;
    }
    const HeadIndex of = head(subject);
    if (key >= shown_->prompt() - eviction().observes(shown_->prompt())) return std::nullopt;
    return shown_->eviction(of.layer, kv_head(of))->score(key);
}

// Lists the query's own key, the chosen and the strongest; then, in turn, the evicted key with the largest
// weight and the three newest visible ones.
std::vector<Index> CacheLens::keys_wanted(Subject& subject) const {
    const Index at = query(subject);
    const HeadIndex of = head(subject);
    std::vector<Index> seen, gone;
    for (Index key = at; key >= 0; --key) (kept_head()->sees(at, key) ? seen : gone).push_back(key);
    const std::vector<float> weights =
        shown_->trace()->layers()[static_cast<std::size_t>(of.layer)].attention.weights(of.head, at);
    std::ranges::sort(gone, std::greater(),
                      [&](Index key) { return weights[static_cast<std::size_t>(key)]; });
    const auto own = std::span(weights).first(static_cast<std::size_t>(at) + 1);
    std::vector<Index> wanted{at, std::min(subject.chosen().key.value_or(at), at),
                              std::ranges::max_element(own) - own.begin()};
    for (auto lost = gone.begin(), newest = seen.begin(); lost != gone.end() || newest != seen.end();) {
        if (lost != gone.end()) wanted.push_back(*lost++);
        for (int i = 0; i < 3 && newest != seen.end(); ++i) wanted.push_back(*newest++);
    }
    return wanted;
}

double CacheLens::mean_of(const HeadIndex& head) const {
    return evicts() ? shown_->mean_lost(head) : shown_->mean_moved(head);
}

}  // namespace attn::app
