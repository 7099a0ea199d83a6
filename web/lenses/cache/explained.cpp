// Explains the numbers of decoding: bits and eviction.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "attention/explain.hpp"
#include "lenses/cache/cache.hpp"
#include "lenses/cache/words.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

void add_step(Explained& out, std::string name, std::string arithmetic, double value, bool current = false,
              std::optional<CellPlace> at = {}) {
    out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, at});
}

}  // namespace

std::optional<Explained> CacheLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention() || missing(subject)) return std::nullopt;
    update(subject);
    const LensCell& cell = place.cell.own;
    const bool of_cost =
        std::ranges::find(declared, cell.kind, &LensNumber<CacheLens>::kind) < declared.begin() + cost_kinds;
    if (of_cost != (now().part == CachePart::cost) || (!of_cost && !shown_)) return std::nullopt;
    return explain_by(declared, *this, subject, cell);
}

const std::array<LensNumber<CacheLens>, 15> CacheLens::declared{{
    {&cache_cells::bytes, &CacheLens::explain_bytes},
    {&cache_cells::operations, &CacheLens::explain_operations},
    {&cache_cells::variant, &CacheLens::explain_variant},
    {&cache_cells::time, &CacheLens::explain_time},
    {&cache_cells::divergence, &CacheLens::explain_divergence},
    {&cache_cells::loss, &CacheLens::explain_loss},
    {&cache_cells::lost_weight, &CacheLens::explain_lost_weight},
    {&cache_cells::output_error, &CacheLens::explain_output_error},
    {&cache_cells::head, &CacheLens::explain_head},
    {&cache_cells::score, &CacheLens::explain_score},
    {&cache_cells::probability, &CacheLens::explain_probability},
    {&cache_cells::key, &CacheLens::explain_code},
    {&cache_cells::value, &CacheLens::explain_code},
    {&cache_cells::weight, &CacheLens::explain_weight},
    {&cache_cells::full_weight, &CacheLens::explain_full_weight},
}};

CellKinds cache_numbers() { return kinds_of(CacheLens::declared); }

std::optional<CellRef> packed_cache_cell(Index row, Index col) {
    using namespace cache_cells;
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

std::optional<Explained> CacheLens::explain_divergence(Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    if (!is_decoded(query)) return std::nullopt;
    const CachedDecoding::Step& step = shown_->at(query);
    Explained out =
        begin(subject, "How far the next token moves after " + query_in_words(text(subject), query));
    out.recomputed = false;
    out.f64 = step.divergence;
    out.unit = "nats";
    out.f32 = single(out.f64);
    out.formula = "KL = Σ p · ln(p / p′), over the vocabulary";
    double rest = step.divergence;
    for (const CachedDecoding::Choice& each : step.choices) {
        const double part = each.before > 0 ? each.before * std::log(each.before / each.after) : 0;
        rest -= part;
        add_step(out, vocabulary_.name(subject, each.id), four(each.before) + " → " + four(each.after), part);
    }
    add_step(out, "all other tokens", "", rest);
    add_step(out, "KL, in nats", "", out.f64, true);
    out.line("kl", out.f64);
    out.note = std::string("p is the model’s own distribution, p′ that with the cache, both ") +
               at_temperature + ".";
    return out;
}

std::optional<Explained> CacheLens::explain_probability(Subject& subject, const LensCell& cell) {
    const Index at = query(subject);
    const std::vector<CachedDecoding::Choice>& choices = shown_->at(at).choices;
    if (cell.at[0] >= std::ssize(choices)) return std::nullopt;
    const CachedDecoding::Choice& each = choices[static_cast<std::size_t>(cell.at[0])];
    Explained out = begin(subject, "Probability of " + vocabulary_.name(subject, each.id) + " after " +
                                       query_in_words(text(subject), at) + ", " + at_temperature);
    out.recomputed = false;
    out.f64 = each.after;
    out.f32 = single(out.f64);
    out.formula = "softmax of the logits with the cache";
    add_step(out, "as it is", "", each.before);
    add_step(out, "with the cache", "", each.after, true);
    out.line("p", out.f64);
    return out;
}

std::optional<Explained> CacheLens::explain_loss(Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    if (!is_decoded(query)) return std::nullopt;
    const CachedDecoding::Step& step = shown_->at(query);
    if (!std::isfinite(step.loss)) return std::nullopt;
    Explained out = begin(subject, "Loss after " + query_in_words(text(subject), query));
    out.recomputed = false;
    out.f64 = step.loss - step.loss_before;
    out.unit = "nats";
    out.f32 = single(out.f64);
    out.formula = "−ln p′(next) + ln p(next)";
    add_step(out, "as it is", "−ln p of the text’s next token", step.loss_before);
    add_step(out, "with the cache", "", step.loss);
    add_step(out, "rises by", "", out.f64, true);
    out.line("rise", Expression(step.loss) - step.loss_before);
    return out;
}

std::optional<Explained> CacheLens::explain_lost_weight(Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    const HeadIndex of = head(subject);
    if (!evicts() || !is_decoded(query)) return std::nullopt;
    const Attention& words = text(subject);
    const Record& before = trace_->layers()[static_cast<std::size_t>(of.layer)].attention;
    const std::span<const Index> gone = shown_->gone(of.layer, kv_head(of));
    Explained out = begin(subject, "Weight that " + query_in_words(words, query) + " loses");
    out.formula = "Σ weight as it is, over the keys that are gone";
    out.operands_title = "Weights · 1 for each key that is gone";
    out.left_name = "weights";
    out.right_name = "gone";
    const RowChain row = row_chain(before, of.head, query);
    for (Index key = 0; key < query; ++key) {
        const double weight = row.at(key).weight;
        if (gone[static_cast<std::size_t>(key)] > query || weight == 0) continue;
        out.operands.push_back({label_at(words.key_names(), key), weight, 1, weight,
                                run_cell(subject, of, Stage::weight, query, key)});
        out.f64 += weight;
    }
    out.f32 = single(shown_->lost(of, query));
    out.line("lost", out.operands.empty() ? Expression(0) : out.dot());
    out.note = out.operands.empty() ? "All that it looked at is still there."
                                    : "Softmax gives it to the keys that are left.";
    return out;
}

std::optional<Explained> CacheLens::explain_output_error(Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    if (!is_decoded(query)) return std::nullopt;
    const HeadIndex of = head(subject);
    Explained out =
        begin(subject, "How far the head’s output moves at " + query_in_words(text(subject), query));
    out.recomputed = false;
    out.f64 = shown_->moved(of, query);
    out.f32 = single(out.f64);
    out.formula = "‖o′ − o‖ / ‖o‖";
    add_step(out, "moves by", "of its own length", out.f64, true);
    out.line("moved", out.f64);
    out.note =
        "o is the output of the run as it is, o′ that with the cache, whose earlier layers may differ, too.";
    return out;
}

std::optional<Explained> CacheLens::explain_head(Subject& subject, const LensCell& cell) {
    const HeadIndex of{cell.at[0], cell.at[1]};
    if (of.layer >= std::ssize(trace_->layers()) || of.head >= trace_->model()->config().heads)
        return std::nullopt;
    const std::string name =
        head_text(run_cell(subject, of, Stage::weight, 0, 0).head, subject.attention()->numbering());
    Explained out = begin(subject, (evicts() ? "Weight that " : "How far the output moves of ") + name +
                                       (evicts() ? " loses" : ""));
    out.recomputed = false;
    out.f64 = mean_of(of);
    out.f32 = single(out.f64);
    out.formula =
        evicts() ? "mean over the steps of the weight lost" : "mean over the steps of ‖o′ − o‖ / ‖o‖";
    out.left_name = "of_steps";
    out.right_name = "share";
    out.operands_title = "Each step × its share";
    const double share = 1 / static_cast<double>(shown_->decoded().size());
    for (Index query = shown_->prompt(); query < shown_->tokens(); ++query) {
        const double value = evicts() ? shown_->lost(of, query) : shown_->moved(of, query);
        out.operands.push_back({label_at(text(subject).query_names(), query), value, share, value * share});
    }
    out.line("mean", out.dot());
    return out;
}

std::optional<Explained> CacheLens::explain_score(Subject& subject, const LensCell& cell) {
    const Index at = query(subject), key = cell.at[0];
    if (!evicts() || !score_of(subject, key)) return std::nullopt;
    const Attention& words = text(subject);
    const HeadIndex of = head(subject);
    const bool snaps = eviction().policy == EvictionPolicy::snapkv;
    Explained out = begin(subject, "What speaks for " + key_in_words(words, key));
    out.f64 = *score_of(subject, key);
    out.f32 = single(out.f64);
    if (snaps) {
        out.recomputed = false;
        out.formula = "max over neighbours of Σ weight, over the last queries of the prompt";
        add_step(out, "queries observed", "", static_cast<double>(eviction().observes(shown_->prompt())));
        add_step(out, "keys pooled", "", static_cast<double>(eviction().pooling));
        add_step(out, "score", "", out.f64, true);
        out.line("score", out.f64);
    } else {
        out.formula = "Σ weight that the queries before gave it";
        out.operands_title = "Weights of the heads that share it · 1";
        out.left_name = "weights";
        out.right_name = "counted";
        for (Index i = key; i < at; ++i) {
            if (!kept_head()->sees(i, key)) break;
            const double given = kept_head()->given(i, key);
            const CellPlace at_weight{run_cell(subject, of, Stage::weight, i, key).head,
                                      cache_cells::weight(i, key)};
            out.operands.push_back({label_at(words.query_names(), i), given, 1, given, {}, {}, at_weight});
        }
        out.line("score", out.dot());
    }
    const Index gone = kept_head()->gone(key);
    out.note = gone >= shown_->tokens() ? "It is kept to the end."
               : gone <= at             ? "It is gone from " + query_in_words(words, gone) + " on."
                                        : "It will be gone from " + query_in_words(words, gone) + " on.";
    return out;
}

std::optional<Explained> CacheLens::explain_full_weight(Subject& subject, const LensCell& cell) {
    return subject.explain_at(run_cell(subject, head(subject), Stage::weight, cell.at[0], cell.at[1]));
}

std::optional<Explained> CacheLens::explain_weight(Subject& subject, const LensCell& pair) {
    const Index query = pair.at[0], key = pair.at[1];
    if (!evicts() || !kept_head() || query >= shown_->tokens() || key >= shown_->tokens())
        return std::nullopt;
    const Attention& words = text(subject);
    const HeadIndex of = head(subject);
    const Record& record = kept_head()->record();
    const CellExplanation cell = attn::explain(record, Stage::weight, of.head, query, key);
    Explained out = begin(subject, "Weight of " + query_in_words(words, query) + " on " +
                                       key_in_words(words, key) + " with the cache");
    out.masked = !cell.allowed;
    out.formula = "exp(score − max) / Σ over the keys that are left";
    const CellPlace whole = run_cell(subject, of, Stage::weight, query, key);
    const auto why = subject.explain_at(whole);
    if (!cell.allowed) {
        const Index gone = kept_head()->gone(key);
        if (why && key <= query) add_step(out, "weight as it is", "lost here", why->f64, false, whole);
        out.note = key > query ? "This key comes after the query."
                               : "This key is gone from " + query_in_words(words, gone) + " on.";
        out.line("weight", 0);
        return out;
    }
    out.f64 = cell.weight;
    out.f32 = static_cast<double>(cell.f32);
    add_step(out, "score", "", cell.masked);
    add_step(out, "largest of the row", "", cell.row_max);
    add_step(out, "Σ exp(score − max)", "over the keys that are left", cell.row_sum);
    if (cell.weight_before) add_step(out, "as the softmax gives it", "", *cell.weight_before);
    add_step(out, "weight", cell.weight_before ? "changed in this run" : "", cell.weight, true);
    if (why) add_step(out, "weight as it is", "over all keys", why->f64, false, whole);
    const Expression exponential = out.line("exponential", exp(Expression(cell.masked) - cell.row_max));
    out.line(cell.weight_before ? "softmax" : "weight", exponential / cell.row_sum);
    if (cell.weight_before) out.line("weight", out.f64);
    if (query < shown_->prompt()) out.note = "The prompt is read with all of its keys.";
    return out;
}

std::optional<Explained> CacheLens::explain_code(Subject& subject, const LensCell& cell) {
    const bool of_keys = cell.kind == &cache_cells::key;
    const Index token = cell.at[0], channel = cell.at[1];
    if (evicts()) return std::nullopt;
    const HeadIndex of = head(subject);
    const CacheRounding& to = rounding();
    const ConstMatrix numbers =
        (of_keys ? shown_->k(of.layer) : shown_->v(of.layer)).heads().head(kv_head(of));
    if (token >= to.rounded_before(shown_->tokens()) || channel >= numbers.cols) return std::nullopt;
    const float number = numbers(token, channel);
    Explained out =
        begin(subject, std::string(of_keys ? "Key" : "Value") + " of " + key_in_words(text(subject), token) +
                           ", channel " + std::to_string(channel));
    const auto value = static_cast<double>(number);
    if (to.bits == 16) {
        Tensor copy({1, 1}, std::span(&number, 1));
        round_values(to, copy.matrix());
        out.f32 = out.f64 = static_cast<double>(copy.values()[0]);
        out.recomputed = false;
        out.formula = "the nearest f16";
        add_step(out, "as it is", "f32", value);
        add_step(out, "in the cache", "f16", out.f64, true);
        add_step(out, "off by", "", out.f64 - value);
        out.line("kept", out.f64);
        return out;
    }
    const RoundedGroup group =
        of_keys ? group_of_key(to, numbers, token, channel) : group_of_value(to, numbers, token, channel);
    const Index code = group.code(number, to.bits);
    const auto least = static_cast<double>(group.least), step = static_cast<double>(group.step);
    out.f32 = static_cast<double>(group.read(code));
    out.f64 = least + step * static_cast<double>(code);
    out.formula = "least + step · code";
    add_step(out, "as it is", "", value);
    add_step(out, "least of its group", of_keys ? "this channel, f16" : "this token, f16", least);
    add_step(out, "step", "(largest − least) / " + std::to_string((Index{1} << to.bits) - 1) + ", f16", step);
    add_step(out, "code", "round((x − least) / step)", static_cast<double>(code));
    add_step(out, "in the cache", "", out.f64, true);
    add_step(out, "off by", "", out.f64 - value);
    out.line("kept", least + Expression(step) * static_cast<double>(code));
    out.note = of_keys ? "Keys are grouped by channel: some of their channels are large in every token."
                       : "Values are grouped by token.";
    return out;
}

}  // namespace attn::app
