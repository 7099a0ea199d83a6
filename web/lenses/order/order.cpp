#include "lenses/order/order.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "model/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr Index usual_trained = 2048;  // if there is no model

// Scores that are given, rather than computed from q and k, have no raw stage.
bool has_vectors(const Attention& attention) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, Stage::raw) != stages.end();
}

}  // namespace

std::optional<Missing> OrderLens::missing(Subject& subject) const {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{"These weights came finished. Positions act on the q and k that weights are made of."};
    if (!has_vectors(attention))
        return Missing{"Here the scores are given. Positions act on the q and k that scores are made of."};
    return std::nullopt;
}

// ---- Inputs -----------------------------------------------------------------------------------------------

// The content keeps its whole run in memory, so it is released.
void OrderLens::follow(const State&, Change) {
    if (content_ && &visit().lens() != this) forget();
}

void OrderLens::forget() {
    content_.reset();
    seen_ = {};
    for (auto& runs : runs_) runs.reset();
    distances_.reset();
    lengths_.reset();
}

void OrderLens::update(Subject& subject) {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    auto record = attention.record(head.layer);
    const OrderState& o = now();
    // Positions are consecutive, and so are the tokens in view: the last ones, if the chosen one is among
    // them. A reordering starts at the first token, unless it names another.
    const auto in_view = [](Index tokens, std::optional<Index> wanted, bool ordered,
                            std::optional<Index> chosen) {
        const Index count = std::min(tokens, order_tokens_limit), last_first = tokens - count,
                    token = ordered ? 0 : std::min(chosen.value_or(0), tokens - 1),
                    with_token = token >= last_first ? last_first : std::max(token + 1 - count, Index{0}),
                    first = std::clamp(wanted.value_or(with_token), Index{0}, last_first);
        return Range{first, first + count};
    };
    const bool one_line = attention.one_line() && attention.queries() == attention.keys();
    const Selection chosen = subject.chosen();
    const auto query = chosen.query        ? chosen.query
                       : attention.trace() ? std::optional(attention.predicted())
                                           : std::nullopt;
    const Range queries = in_view(attention.queries(), o.first, !o.order.empty(), query);
    const Seen seen{
        attention.version(), head, queries,
        one_line ? queries : in_view(attention.keys(), o.first_key, !o.key_order.empty(), chosen.key)};
    if (!record || seen.queries.size() < 1 || seen.keys.size() < 1) {
        forget();
        refused_ = record ? "There are no tokens here to put in order."
                          : "The q and k of this head are being computed.";
        return;
    }
    const bool anew = !content_ || seen != seen_;
    if (anew) {
        forget();
        seen_ = seen;
        content_ =
            std::make_shared<const OrderContent>(attention, std::move(record), head, seen.queries, seen.keys);
        refused_ = content_->finite() ? ""
                                      : "A q, k or v of these tokens is NaN or infinite, so their outputs "
                                        "cannot be compared. Choose other tokens.";
    }
    std::vector<Index> order = order_of(o.order, seen.queries.size()),
                       key_order = one_line ? order : order_of(o.key_order, seen.keys.size());
    RunsOf of{std::move(order), std::move(key_order), o.masked, o.interleaved, o.shift, o.seed};
    if (anew || of != runs_of_) {
        runs_of_ = std::move(of);
        order_ = runs_of_.order;
        key_order_ = runs_of_.key_order;
        compute();
    }
}

const OrderContent* OrderLens::content(Subject& subject) {
    update(subject);
    return refused_.empty() ? content_.get() : nullptr;
}

const OrderLens::Runs* OrderLens::runs(PositionScheme scheme) const {
    const auto& runs = runs_[static_cast<std::size_t>(scheme)];
    return runs ? &*runs : nullptr;
}

PositionRule OrderLens::rule_of(PositionScheme scheme) const {
    const HeadIndex head = content_->head();
    PositionRule rule{.scheme = scheme, .seed = now().seed, .interleaved = now().interleaved};
    rule.frequencies = content_->frequencies();
    rule.magnitude = content_->magnitude();
    rule.slope = alibi_slopes(content_->record()->heads())[static_cast<std::size_t>(head.head)];
    rule.buckets.both_ways = !now().masked;
    rule.bucket_biases = drawn_bucket_biases(now().seed, rule.buckets.count);
    if (const RelativeBias* own = content_->own_bias(); own && scheme == PositionScheme::own_buckets) {
        rule.buckets = own->buckets;
        rule.bucket_biases.clear();
        for (Index bucket = 0; bucket < own->buckets.count; ++bucket)
            rule.bucket_biases.push_back(element(own->table, head.head, bucket));
    }
    return rule;
}

std::span<const PositionScheme> OrderLens::offered() const {
    using enum PositionScheme;
    static constexpr std::array all{none, learned, sinusoidal, rotary, alibi, buckets, own_buckets};
    static_assert(all.size() == position_schemes && all.back() == own_buckets);
    return std::span(all).first(content_->own_bias() ? all.size() : all.size() - 1);
}

std::vector<Index> OrderLens::query_positions(Index shift) const {
    std::vector<Index> all;
    for (Index place = 0; place < content_->queries().size(); ++place)
        all.push_back(content_->query_position(place) + shift);
    return all;
}
std::vector<Index> OrderLens::key_positions(Index shift) const {
    std::vector<Index> all;
    for (Index place = 0; place < content_->keys().size(); ++place)
        all.push_back(content_->key_position(place) + shift);
    return all;
}

bool OrderLens::in_own_order() const {
    return std::ranges::is_sorted(order_) && std::ranges::is_sorted(key_order_);
}
Index OrderLens::place_of(Index query) const { return std::ranges::find(order_, query) - order_.begin(); }
Index OrderLens::key_place_of(Index key) const {
    return std::ranges::find(key_order_, key) - key_order_.begin();
}

Index OrderLens::query() const {
    const Range in_view = content_->queries();
    const Index at = state().selection.query.value_or(-1) - in_view.begin;
    return at >= 0 && at < in_view.size() ? at : in_view.size() - 1;
}
Index OrderLens::key() const {
    const Range in_view = content_->keys();
    const Index at = state().selection.key.value_or(-1) - in_view.begin;
    return at >= 0 && at < in_view.size() ? at : 0;
}

Index OrderLens::trained() const {
    if (now().trained > 0) return now().trained;
    return content_->context() > 0 ? content_->context() : usual_trained;
}

void OrderLens::compute() {
    for (auto& runs : runs_) runs.reset();
    if (!refused_.empty()) return;
    const OrderContent& content = *content_;
    const AttentionSpec spec = content.spec(now().masked);
    const Kernels& kernels = content.record()->kernels();
    const std::vector<Index> own = order_of({}, content.queries().size()),
                             own_keys = order_of({}, content.keys().size());
    for (std::size_t s = 0; s < position_schemes; ++s) {
        const PositionRule rule = rule_of(static_cast<PositionScheme>(s));
        const auto run = [&](const std::vector<Index>& order, const std::vector<Index>& key_order,
                             Index shift) -> std::optional<PlacedRun> {
            const std::vector<Index> of_queries = query_positions(shift), of_keys = key_positions(shift);
            if (!reaches(content, rule, std::max(of_queries.back(), of_keys.back()))) return std::nullopt;
            const bool table = is_own_table(content, rule);
            auto made = run_placed(
                kernels, table ? PositionRule{} : rule,
                table ? content.at_own_positions(order, of_queries) : content.rows().taken(order, key_order),
                of_queries, of_keys, spec);
            return made ? std::optional(*std::move(made)) : std::nullopt;
        };
        auto before = run(own, own_keys, 0), after = run(order_, key_order_, 0);
        if (!before || !after) continue;
        CarriedError carried = carried_error(*before, *after, order_);
        Runs& runs = runs_[s].emplace(Runs{*std::move(before), *std::move(after), std::move(carried)});
        runs.shifted = run(order_, key_order_, now().shift);
        if (runs.shifted) runs.change = score_change(runs.after, *runs.shifted);
    }
}

const DistanceCurves& OrderLens::distances() {
    (void)lengths();
    return *distances_;
}

const LengthCurves& OrderLens::lengths() {
    const OrderState& o = now();
    const CurvesOf of{o.mean ? CurvePair{} : CurvePair{query(), key()},
                      o.interleaved,
                      o.masked,
                      o.seed,
                      o.reach,
                      trained(),
                      o.factor};
    if (!distances_ || of != curves_of_) {
        curves_of_ = of;
        PositionRules rules;
        for (std::size_t s = 0; s < position_schemes; ++s) rules[s] = rule_of(static_cast<PositionScheme>(s));
        distances_.emplace(content_, of.pair, rules, of.reach);
        lengths_.emplace(content_, of.pair, of.interleaved, of.trained, of.factor);
    }
    return *lengths_;
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string OrderLens::name(Index query) const {
    return content_->query_names()[static_cast<std::size_t>(query)];
}
std::string OrderLens::key_name(Index key) const {
    return content_->key_names()[static_cast<std::size_t>(key)];
}

std::string OrderLens::spoken(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return refused_;
    const PositionScheme scheme = now().scheme;
    const Runs* shown = runs(scheme);
    const std::string called(scheme_name(scheme));
    if (!shown) return lacking();
    // In some layers q and k contain positions, whatever is left out here.
    const bool inside =
        content_->from() == OrderContent::From::inside || content_->from() == OrderContent::From::crossed;
    const std::string without = inside ? "Without adding positions" : "Without positions";
    const std::string with = scheme == PositionScheme::none ? without : "With " + called + " positions";
    if (in_own_order())
        return "Drag a word to see what the order changes " +
               (scheme == PositionScheme::none
                    ? std::string(inside ? "without adding positions" : "without positions")
                    : "with " + called + " positions") +
               ".\n" +
               (content_->one_line() ? many(content_->queries().size(), "token")
                                     : with_commas(content_->queries().size()) +
                                           (content_->queries().size() == 1 ? " query" : " queries") +
                                           " and " + many(content_->keys().size(), "key")) +
               " stand in their own order.";
    const std::string off = fixed(shown->carried.most_f32(), 2);
    if (shown->along() && std::ranges::is_sorted(order_))
        return with +
               ", every output stayed, and the keys took their weights along.\nThe largest difference is " +
               off + ".";
    if (shown->along())
        return with + ", every output moved along with its token.\nThe largest difference is " + off + ".";
    const bool by_mask = scheme == PositionScheme::none;
    return (by_mask ? without + ", but under the head’s mask," : with + ",") +
           " the new order changes the outputs by up to " + off + ".";
}

std::string OrderLens::lacking() const {
    return now().scheme == PositionScheme::own_buckets
               ? "This head has no biases of its own; choose another scheme."
               : "The learned table has no row for these positions.";
}

std::string OrderLens::why() const {
    const Runs* shown = runs(now().scheme);
    if (!shown || in_own_order()) return "";
    const std::string exact = "In double precision it is " + fixed(shown->carried.most_f64(), 1) + ".";
    if (shown->along())
        return "The same products are added up in another order, so the sums may differ by rounding alone. " +
               exact;
    if (now().scheme == PositionScheme::none)
        return content_->one_line()
                   ? "The mask stays where it is, so in another order a token sees other tokens."
                   : "The mask stays where it is, so in another order a query sees other keys.";
    if (now().masked) return "Both the mask and the scheme say where a token stands.";
    return "The scores depend on where the tokens stand, and so do the weights.";
}

std::string OrderLens::told() const {
    using From = OrderContent::From;
    switch (content_->from()) {
        case From::given: return "q and k are taken as they are, with whatever positions are in them.";
        case From::unturned: return "q and k are taken before this model’s RoPE turns them.";
        case From::embedding:
            return "Positions are really left out: q, k and v are made of the token embeddings alone. "
                   "“Learned” is the model’s own table.";
        case From::biased:
            return "This model adds its positions to the scores, by biases that are left out here; “T5’s "
                   "own” puts them back.";
        case From::crossed:
            return "q is of what is written and k of what was read; whatever positions are in them were told "
                   "before this attention.";
        case From::inside: break;
    }
    return "This model adds its positions to the embedding, so in this layer they are inside q and k "
           "already.";
}

std::string OrderLens::standing() const {
    if (content_->one_line()) return "";
    if (!content_->has_diagonal())
        return content_->from() == OrderContent::From::crossed
                   ? " Both texts begin at position 0, so a distance is one between places in two texts."
                   : " Queries and keys both begin at position 0, since no mask says how they stand to each "
                     "other.";
    const Index offset = content_->offset();
    if (offset == 0) return " Queries and keys both begin at position 0, as the mask has them.";
    return offset > 0 ? " The mask sees " + many(offset, "key") +
                            " before the first query, as a past in a KV cache: queries begin at position " +
                            with_commas(offset) + ", keys at 0."
                      : " The mask lets key 0 be seen from query " + with_commas(-offset) +
                            " on: keys begin at position " + with_commas(-offset) + ", queries at 0.";
}

Guide OrderLens::guide(Subject&) const {
    return {"Order",
            "By itself attention is blind to order: put the tokens in another order and the outputs come in "
            "that order, unchanged. Where the keys are other tokens, their order leaves the outputs as they "
            "are. Positions have to be told.\n\n"
            "Learned and sinusoidal positions are added to q and k, RoPE turns them, ALiBi and T5 add a "
            "number to the score that depends on the distance.\n\n"
            "Where only the distance counts, shifting all positions changes nothing but the rounding.\n\n"
            "Hover over a number, a dial or a curve to see where it comes from; click to keep it."};
}

}  // namespace attn::app
