#include "lenses/cache/cache.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app::cache {

namespace {

constexpr double slice_operations = 60e6;  // about 2 ms at 30 GFLOP/s
constexpr Index usual_written = 32;        // at least this many tokens
constexpr std::array<std::string_view, part_names.size()> part_keys{"cost", "bits", "eviction"};
constexpr std::array<std::string_view, eviction_policy_count> policy_keys{"window", "sinks", "heavy_hitters",
                                                                          "snapkv"};

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"cache.part", "cache: {}", named<&S::part>(part_keys)},
        {"cache.prompt", [](const S& s) { return "prompt of " + many(s.prompt, "token"); },
         whole<&S::prompt>("number of tokens", 0, most_tokens)},
        {"cache.written", [](const S& s) { return many(s.written, "token") + " decoded"; },
         whole<&S::written>("number of tokens", 0, most_tokens)},
        {"cache.bits", "cache in {} bits",
         whole<[](S& s) -> auto& { return s.rounding.bits; }>("number of bits", 4, 16)},
        {"cache.group", "groups of {} tokens",
         whole<[](S& s) -> auto& { return s.rounding.group; }>("number of tokens in a group", 2, most_group)},
        {"cache.policy",
         [](const S& s) {
             return std::string("eviction: ") + policy_names[static_cast<std::size_t>(s.eviction.policy)];
         },
         named<[](S& s) -> auto& { return s.eviction.policy; }>(policy_keys)},
        {"cache.budget", [](const S& s) { return "cache of " + many(s.eviction.budget, "key"); },
         whole<[](S& s) -> auto& { return s.eviction.budget; }>("number of keys", 1, most_tokens)},
        {"cache.sinks", "{} sinks",
         whole<[](S& s) -> auto& { return s.eviction.sinks; }>("number of sinks", 0, most_tokens)},
        {"cache.observed", "{} queries observed",
         whole<[](S& s) -> auto& { return s.eviction.observed; }>("number of observed queries", 1,
                                                                  most_observed)},
        {"cache.pooling", "pooled over {} keys",
         whole<[](S& s) -> auto& { return s.eviction.pooling; }>("number of pooled keys", 1, most_pooling)},
        {"cache.kv_heads", "another cache compared", whole<&S::kv_heads>("number of heads", 0, most_tokens)},
        {"cache.window", "another cache compared", whole<&S::window>("number of tokens", 0, most_tokens)},
        {"cache.against", "another cache compared", whole<&S::bits>("number of bits", 4, 32)},
    };
    static const Fields<S> fields{
        .all = all, .check = [](const S& s) -> Status {
            const auto is_kept_in = [](Index bits) {
                return std::ranges::find(bits_offered, bits) != bits_offered.end();
            };
            if (!is_kept_in(s.bits)) return Error{"Choose 32, 16, 8 or 4 bits for a number of the cache."};
            if (!is_kept_in(s.rounding.bits))
                return Error{"Choose 16, 8 or 4 bits to round keys and values to."};
            if (s.eviction.pooling % 2 == 0) return Error{"SnapKV pools over an odd number of keys."};
            return ok();
        }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 13>()}; }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    constexpr Index million = 1'000'000;
    if (row >= 40 * million) return full_weight(row - 40 * million, col);
    if (row >= 30 * million) return weight(row - 30 * million, col);
    if (row >= 20 * million) return value(row - 20 * million, col);
    if (row >= 10 * million) return key(row - 10 * million, col);
    if (row >= 1000) return head(row - 1000, col);
    if (row >= 100) return col < 4 ? std::optional(variant(row - 100, col)) : std::nullopt;
    if (row == 4) return col == 0 ? std::optional(time()) : std::nullopt;
    if (row == 2 || row == 3) return operations(row - 2, col);
    if (row < 2) return bytes(row, col);
    static constexpr std::array kinds{&divergence, &loss, &lost_weight, &output_error, &score, &probability};
    return row < 11 ? std::optional((*kinds[static_cast<std::size_t>(row - 5)])(col)) : std::nullopt;
}

std::optional<Missing> Model::missing(Subject& subject) {
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

// Stops walking at any change but its own steps.
void CacheLens::follow(const app::State& before, Change how) {
    if (how != Change::command || before.lens != state().lens || before.subject != state().subject)
        model().walk.reset();
    if (&visit().lens() == this || !model().trace) return;
    Model empty = Model::emptied(std::move(model()));
    release();
    model() = std::move(empty);
}

Model Model::emptied(Model of) {
    Model empty;
    empty.seen = std::move(of.seen);
    if (empty.seen) forget_map(*empty.seen);
    return empty;
}

// ---- Inputs -----------------------------------------------------------------------------------------------

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    if (attention.trace() != trace) {
        *this = emptied(std::move(*this));
        trace = attention.trace();
        vocabulary.follow(trace->model());
    }
    state = visit.state().of<State>();
    version = attention.version();
    first_layer = trace->encoder() ? trace->encoder()->attentions() : 0;
    const Selection chosen = subject.chosen();
    const AttentionPlace place = trace->attention(chosen.layer).place;
    head = {std::min(place.layer, std::ssize(trace->layers()) - 1), chosen.head};
    kv_head = record().kv_head(head.head);
    count_cost();
    refused.clear();
    if (state.part != Part::cost) decode();
    // The chosen query may belong to an encoder, so it is not among the decoded ones.
    const Index last = trace->tokens() - 1,
                wanted = place.kind == AttentionKind::encoder ? last : chosen.query.value_or(last);
    query = std::clamp(wanted, std::min(shown ? shown->prompt() : prompt(), last), last);
    chosen_key = chosen.key;
}

Model::Key Model::key() const {
    return {state,
            version,
            shown,
            kept_weights() != nullptr,
            head,
            query,
            race && race->done() ? race->ratio() : 0};
}

void Model::count_cost() {
    const ModelConfig& config = trace->model()->config();
    const std::vector<Index> offered = kv_heads_offered();
    const bool known = std::ranges::find(offered, state.kv_heads) != offered.end();
    const Index most = std::max<Index>(config.context, 2);
    cost.own = {cache_shape(trace->network(), config, trace->encoder() ? trace->encoder()->tokens() : 0), {}};
    cost.other = {variant(known ? state.kv_heads : 0), {state.bits, state.rounding.group}};
    cost.prompt = std::clamp(state.prompt > 0 ? state.prompt : trace->tokens(), Index{1}, most - 1);
    cost.written = std::clamp(state.written > 0 ? state.written : std::max(cost.prompt, usual_written),
                              Index{1}, most - cost.prompt);
}

std::vector<Index> Model::kv_heads_offered() const {
    const ModelConfig& config = trace->model()->config();
    std::vector<Index> offered;
    for (const Index each : {config.heads, config.heads / 2, config.heads / 4, config.kv_heads, Index{1}})
        if (each > 0 && config.heads % each == 0 && std::ranges::find(offered, each) == offered.end())
            offered.push_back(each);
    std::ranges::sort(offered, std::greater());
    return offered;
}

CacheShape Model::variant(Index kv_heads) const {
    CacheShape shape = kv_heads > 0 ? with_kv_heads(cost.own.shape, kv_heads) : cost.own.shape;
    return state.window > 0 ? with_window(std::move(shape), state.window) : shape;
}

Index Model::prompt() const {
    const Index all = trace->tokens();
    return std::clamp(state.prompt > 0 ? state.prompt : all / 2, Index{1}, std::max<Index>(all - 1, 1));
}

// ---- Decoding ---------------------------------------------------------------------------------------------

// Starts the requested decoding, unless it is there.
void Model::decode() {
    const CacheRule rule = state.part == Part::bits ? CacheRule(state.rounding) : state.eviction;
    if (shown && shown->rule().index() != rule.index()) shown.reset();
    const auto is_asked = [&](const auto& decoding) {
        return decoding && decoding->prompt() == prompt() && decoding->rule() == rule;
    };
    if (is_asked(shown)) {
        next.reset();
    } else if (!is_asked(next)) {
        next.reset();
        auto begun =
            trace->tokens() < 2
                ? Error{"There is only one token, so that nothing is decoded after it. Write a longer text."}
                : CachedDecoding::start(trace, prompt(), rule, slice_operations);
        if (begun) {
            next = std::make_shared<CachedDecoding>(*std::move(begun));
        } else {
            refused = capitalised(begun.error().message);
            if (!refused.ends_with('.')) refused += '.';
            shown.reset();
        }
    }
    keep_weights();
}

void Model::keep_weights() {
    if (!evicts()) return kept.forget();
    kept.of({shown, head.layer, kv_head}, [&] { return KeptWeights(*shown, head.layer, kv_head); });
}

bool Model::step() {
    if (race && race->step()) return true;
    if (next) {
        if (next->step()) return true;
        shown = std::exchange(next, nullptr);
        query = std::clamp(query, shown->prompt(), shown->tokens() - 1);
        keep_weights();
        return true;
    }
    return kept.kept() && kept.kept()->step();
}

std::optional<double> Model::score(Index key) const {
    if (!kept_weights() || key >= query) return std::nullopt;
    switch (eviction().policy) {
        case EvictionPolicy::window:
        case EvictionPolicy::sinks: return std::nullopt;
        case EvictionPolicy::heavy_hitters: return kept_weights()->sum(query, key);
        case EvictionPolicy::snapkv: break;
    }
    if (key >= shown->prompt() - eviction().observes(shown->prompt())) return std::nullopt;
    return shown->eviction(head.layer, kv_head)->score(key);
}

}  // namespace attn::app::cache
