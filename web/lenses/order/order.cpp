#include "lenses/order/order.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "model/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr Index usual_trained = 2048;  // of what is no model

// The scores that are given, not made of q and k, have no raw stage.
bool has_vectors(const Attention& attention) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, Stage::raw) != stages.end();
}

std::vector<std::string> component_names(Index count) {
    std::vector<std::string> names;
    for (Index b = 0; b < count; ++b) names.push_back(std::to_string(b));
    return names;
}

}  // namespace

CellRef cell_of(OrderNumber number, Index column) {
    return {.stage = Stage::lens, .row = static_cast<Index>(number), .col = column};
}

std::optional<Missing> OrderLens::missing(Subject& subject) const {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{"These weights came finished. Positions act on the q and k that weights are made of."};
    if (!has_vectors(attention))
        return Missing{"Here the scores are given. Positions act on the q and k that scores are made of."};
    if (attention.trace() && !attention.one_line())
        return Missing{
            "An order is of tokens that are query and key at once; in cross-attention, queries are what "
            "is written and keys what was read.",
            own_attention_of(attention, subject.chosen())};
    if (attention.queries() != attention.keys())
        return Missing{"An order is of tokens that are query and key at once; here there are " +
                       std::to_string(attention.queries()) + " queries and " +
                       std::to_string(attention.keys()) + " keys."};
    return std::nullopt;
}

// ---- What is looked at ------------------------------------------------------------------------------------

// The content keeps the whole run that it is of.
void OrderLens::follow(const State&, Change) {
    if (content_ && &lens_in(visit()) != this) forget();
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
    const Index tokens = std::min(attention.queries(), attention.keys());
    const Index count = std::min(tokens, order_tokens_limit),
                first = std::clamp(now().first, Index{0}, tokens - count);
    const Seen seen{attention.version(), head, {first, first + count}};
    if (!record || count < 1) {
        forget();
        refused_ = record ? "There are no tokens here to put in order."
                          : "The q and k of this head are being computed.";
        return;
    }
    const bool anew = !content_ || seen != seen_;
    if (anew) {
        forget();
        seen_ = seen;
        content_ = std::make_shared<const OrderContent>(attention, std::move(record), head, seen.tokens);
        refused_ = content_->finite() ? ""
                                      : "A q, k or v of these tokens is NaN or infinite, so their outputs "
                                        "cannot be compared. Choose other tokens.";
    }
    const OrderState& o = now();
    RunsOf of{order_of(o, count), o.masked, o.interleaved, o.shift, o.seed};
    if (anew || of != runs_of_) {
        runs_of_ = std::move(of);
        order_ = runs_of_.order;
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

std::vector<Index> OrderLens::positions(Index shift) const {
    std::vector<Index> all;
    for (Index place = 0; place < content_->count(); ++place)
        all.push_back(content_->tokens().begin + place + shift);
    return all;
}

Index OrderLens::place_of(Index token) const { return std::ranges::find(order_, token) - order_.begin(); }

Index OrderLens::query() const {
    const Index at = state().selection.query.value_or(-1) - content_->tokens().begin;
    return at >= 0 && at < content_->count() ? at : content_->count() - 1;
}
Index OrderLens::key() const {
    const Index at = state().selection.key.value_or(-1) - content_->tokens().begin;
    return at >= 0 && at < content_->count() ? at : 0;
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
    const std::vector<Index> own = order_of({}, content.count()), here = positions(),
                             there = positions(now().shift);
    for (std::size_t s = 0; s < position_schemes; ++s) {
        const PositionRule rule = rule_of(static_cast<PositionScheme>(s));
        const auto run = [&](const std::vector<Index>& order,
                             const std::vector<Index>& at) -> std::optional<PlacedRun> {
            if (!reaches(content, rule, at.back())) return std::nullopt;
            const bool table = is_own_table(content, rule);
            auto made = run_placed(kernels, table ? PositionRule{} : rule,
                                   table ? content.at_own_positions(order, at) : content.rows().taken(order),
                                   at, spec);
            return made ? std::optional(*std::move(made)) : std::nullopt;
        };
        auto before = run(own, here), after = run(order_, here);
        if (!before || !after) continue;
        CarriedError carried = carried_error(*before, *after, order_);
        Runs& runs = runs_[s].emplace(Runs{*std::move(before), *std::move(after), std::move(carried)});
        runs.shifted = run(order_, there);
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

// ---- What it says -----------------------------------------------------------------------------------------

std::string OrderLens::name(Index token) const { return content_->names()[static_cast<std::size_t>(token)]; }

std::string OrderLens::spoken(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return refused_;
    const PositionScheme scheme = now().scheme;
    const Runs* shown = runs(scheme);
    const std::string called(scheme_name(scheme));
    if (!shown) return lacking();
    // In some layers positions are inside q and k, whatever is left out here.
    const bool inside = content_->from() == OrderContent::From::inside;
    const std::string without = inside ? "Without adding positions" : "Without positions";
    const std::string with = scheme == PositionScheme::none ? without : "With " + called + " positions";
    if (std::ranges::is_sorted(order_))
        return with + ", " + many(content_->count(), "token") + " in their own order: nothing has moved yet.";
    const std::string off = fixed(shown->carried.most_f32(), 2);
    if (shown->along())
        return with + ", every output moved along with its token; the largest difference is " + off + ".";
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
    if (!shown || std::ranges::is_sorted(order_)) return "";
    const std::string exact = "In double precision it is " + fixed(shown->carried.most_f64(), 1) + ".";
    if (shown->along())
        return "The same products are added up in another order, so the sums may differ by rounding alone. " +
               exact;
    if (now().scheme == PositionScheme::none)
        return "The mask stays where it is, so in another order a token sees other tokens.";
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
        case From::inside: break;
    }
    return "This model adds its positions to the embedding, so in this layer they are inside q and k "
           "already.";
}

std::vector<Table> OrderLens::tables(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return {};
    std::vector<Table> all;
    const OrderContent& content = *content_;
    const Index n = content.count(), d_v = content.d_v();
    std::vector<std::string> in_order;
    for (const Index token : order_) in_order.push_back(name(token));
    if (const Runs* shown = runs(now().scheme)) {
        const std::string called = ", " + std::string(scheme_name(now().scheme));
        if (d_v > 0) {
            const auto outputs = [&](std::string title, const PlacedRun& run, std::vector<std::string> rows) {
                all.push_back({std::move(title) + called, component_names(d_v), std::move(rows),
                               Matrix(n, d_v, run.outputs)});
            };
            outputs("Outputs in this order", shown->after, in_order);
            outputs("Outputs before", shown->before, content.names());
        }
        all.push_back(
            {"Scores in this order" + called, in_order, in_order, Matrix(n, n, shown->after.scores)});
    }
    Table schemes{"Every scheme",
                  {"outputs off", "equal scores", "off in f32", "off in f64"},
                  {},
                  Matrix(std::ssize(offered()), 4)};
    for (const PositionScheme scheme : offered()) {
        const auto row = static_cast<Index>(scheme);
        const Runs* each = runs(scheme);
        schemes.row_labels.emplace_back(scheme_name(scheme));
        schemes.values.at(row, 0) = each ? each->carried.most_f32() : std::nan("");
        const auto of_shift = [&](auto&& number) {
            return each && each->change ? static_cast<double>(number(*each->change)) : std::nan("");
        };
        schemes.values.at(row, 1) = of_shift([](const ScoreChange& c) { return c.equal; });
        schemes.values.at(row, 2) = of_shift([](const ScoreChange& c) { return c.f32; });
        schemes.values.at(row, 3) = of_shift([](const ScoreChange& c) { return c.f64; });
    }
    all.push_back(std::move(schemes));

    (void)lengths();
    while (distances_->step()) continue;
    while (lengths_->step()) continue;
    const Index distances = std::min(now().reach + 1, table_row_limit);
    Table scores{
        "Score over distance", {}, component_names(distances), Matrix(distances, std::ssize(offered()))};
    for (const PositionScheme scheme : offered()) {
        scores.columns.emplace_back(scheme_name(scheme));
        for (Index d = 0; d < distances; ++d)
            scores.values.at(d, static_cast<Index>(scheme)) =
                distances_->scores(scheme)[static_cast<std::size_t>(d)];
    }
    all.push_back(std::move(scores));
    const Index pairs = std::min(std::ssize(lengths_->frequencies(0)), table_row_limit);
    Table stretched{"Score beyond the trained length", {}, {}, Matrix(LengthCurves::bins, length_scalings)},
        waves{"Wavelengths, positions", {}, component_names(pairs), Matrix(pairs, length_scalings)};
    for (Index bin = 0; bin < LengthCurves::bins; ++bin)
        stretched.row_labels.push_back("from " + with_commas(lengths_->first_distance(bin)));
    for (std::size_t kind = 0; kind < length_scalings; ++kind) {
        const auto column = static_cast<Index>(kind);
        for (Table* table : {&stretched, &waves}) table->columns.emplace_back(length_scaling_names[kind]);
        for (Index bin = 0; bin < LengthCurves::bins; ++bin)
            stretched.values.at(bin, column) = lengths_->bin(kind, bin).mean;
        for (Index a = 0; a < pairs; ++a)
            waves.values.at(a, column) = wavelength(lengths_->frequencies(kind)[static_cast<std::size_t>(a)]);
    }
    all.push_back(std::move(stretched));
    if (pairs > 0) all.push_back(std::move(waves));
    return all;
}

Guide OrderLens::guide(Subject&) const {
    return {"Order",
            "By itself attention is blind to order: put the tokens in another order and the outputs come in "
            "that order, unchanged. Positions have to be told.\n\n"
            "Learned and sinusoidal positions are added to q and k, RoPE turns them, ALiBi and T5 add a "
            "number to the score that depends on the distance.\n\n"
            "Where only the distance counts, shifting all positions changes nothing but the rounding.\n\n"
            "Hover over a number, a dial or a curve to see where it comes from; click to keep it."};
}

}  // namespace attn::app
