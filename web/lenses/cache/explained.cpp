// Explains the numbers of lens Cache: its cost, and what is decoded with fewer bits or fewer keys.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "attention/explain.hpp"
#include "lenses/cache/cache.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::cache {

namespace {

std::string counted_from(Subject& subject) {
    return "counted from the shape of " + subject.attention()->title();
}

CellPlace weight_at(const Model& model, Index query, Index key) {
    return Places{model.on_page(model.head)}(Stage::weight, query, key);
}

// ---- Cost -------------------------------------------------------------------------------------------------

std::optional<Explained> bytes_after(Subject& subject, const Cost::Cache& cache, Index tokens) {
    if (tokens > most_tokens) return std::nullopt;
    const auto& [shape, precision] = cache;
    const CacheShape::Layer& first = shape.layers.front();
    const double all = cache.bytes(tokens);
    const Range kept = range_kept(first, tokens);
    const std::string bits = std::to_string(precision.bits) + " bits";
    const bool whole = precision.bits >= 16;
    Explained out{
        .title = "Bytes kept after " + many(tokens, "token"),
        .provenance = counted_from(subject),
        .f32 = single(all),
        .unit = "bytes",
        .formula = "Σ_layers KV heads · bytes of a head’s K and V",
        .operands_title = "KV heads × bytes of one",
        .steps = {{"tokens in layer 0",
                   first.window > 0 ? "a window of " + with_commas(first.window) : "all of them",
                   with_commas(kept.size())},
                  {"one head there",
                   whole ? "2 · " + std::to_string(first.head_dim) + " · " + with_commas(kept.size()) +
                               " · " + std::to_string(precision.bits / 8)
                         : bits + ", groups of " + std::to_string(precision.group),
                   bytes_text(bytes_of_head(kept, first.head_dim, precision))},
                  {"all", many(std::ssize(shape.layers), "layer"), bytes_text(all), true}},
        .note = whole ? "Keys and values, of " + bits + " each."
                      : "Each group adds its least number and its step, 16 bits each; tokens wait in 16 "
                        "bits until their group is complete. Groups begin with the text, not with a window."};
    for (std::size_t l = 0; l < shape.layers.size(); ++l) {
        const CacheShape::Layer& layer = shape.layers[l];
        out.term("layer " + std::to_string(l), static_cast<double>(layer.kv_heads),
                 bytes_of_head(range_kept(layer, tokens), layer.head_dim, precision));
    }
    out.line("bytes", out.dot("kv_heads", "bytes_of_one"));
    if (const double cross = cross_numbers_kept(shape); cross > 0)
        out.note += " Cross-attention keeps " + bytes_text(cross * static_cast<double>(precision.bits) / 8) +
                    " besides, of the " + many(shape.encoded, "token") +
                    " that the encoder reads; they do not grow.";
    return out;
}

std::optional<Explained> explain_bytes(Model& model, Subject& subject, const LensCell& cell) {
    return bytes_after(subject, cell.at[0] == 0 ? model.cost.own : model.cost.other, cell.at[1]);
}

std::optional<Explained> explain_variant(Model& model, Subject& subject, const LensCell& cell) {
    const std::vector<Index> offered = model.kv_heads_offered();
    if (cell.at[0] >= std::ssize(offered)) return std::nullopt;
    return bytes_after(subject,
                       {model.variant(offered[static_cast<std::size_t>(cell.at[0])]),
                        {bits_offered[static_cast<std::size_t>(cell.at[1])], model.state.rounding.group}},
                       model.cost.after(model.cost.written));
}

std::optional<Explained> explain_operations(Model& model, Subject& subject, const LensCell& cell) {
    const bool recomputed = cell.at[0] == 1;
    const Index step = cell.at[1];
    if (step >= model.cost.steps()) return std::nullopt;
    const Range tokens = model.cost.tokens_read(step, recomputed);
    const StepCost cost = model.cost.of_step(step, recomputed);
    Explained out{
        .title = recomputed  ? "Step " + std::to_string(step) + " without a cache"
                 : step == 0 ? "Reading the prompt"
                             : "Step " + std::to_string(step),
        .provenance = counted_from(subject),
        .f32 = single(cost.total()),
        .formula = "2 · tokens · weights + attention + 2 · weights of the head",
        .steps = {{"tokens read", "", with_commas(tokens.size())},
                  {"their matrices", "2 a weight", operations_text(cost.matrices)},
                  {"attention", "4 · head_dim · keys, each head and query", operations_text(cost.attention)},
                  {"logits", "of the last token", operations_text(cost.logits)},
                  {"together", "", operations_text(cost.total()), true}},
        .note = recomputed ? "With nothing kept, all " + with_commas(tokens.end) + " tokens are read again."
                           : "A multiplication and an addition are two operations. Norms, softmax and "
                             "activations are not counted."};
    out.line("operations", Expression(cost.matrices) + cost.attention + cost.logits);
    if (model.cost.own.shape.encoded > 0) out.note += " The encoder’s own pass is not in it.";
    return out;
}

std::optional<Explained> explain_time(Model& model, Subject&, const LensCell&) {
    if (!model.race || !model.race->done()) return std::nullopt;
    const DecodeRace& race = *model.race;
    const auto ms = [](double time) { return rounded(time, 3) + " ms"; };
    Explained out{
        .title = "A whole pass, in steps of decoding",
        .provenance = "measured in this page",
        .f32 = single(race.ratio()),
        .recomputed = false,
        .formula = "time of a pass / time of a step",
        .steps = {{"a pass", many(model.trace->tokens(), "token"), ms(race.whole_ms())},
                  {"a step", "the last of them, with a cache", ms(race.step_ms())},
                  {"passes", "of both, in turn", std::to_string(race.passes())},
                  {"ratio", "", fixed(race.ratio(), 2), true}},
        .note =
            "A step has as many weights to fetch as a pass, and fewer operations to do with them, so it "
            "saves less time than operations. The next measurement differs a little."};
    out.line("ratio", Expression(race.whole_ms()) / race.step_ms());
    return out;
}

// ---- The next token ---------------------------------------------------------------------------------------

std::optional<Explained> explain_divergence(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    if (!model.is_decoded(query)) return std::nullopt;
    const CachedDecoding::Step& step = model.shown->at(query);
    Explained out{.title = "How far the next token moves after " + query_in_words(model.text(subject), query),
                  .f32 = single(step.divergence),
                  .unit = "nats",
                  .recomputed = false,
                  .formula = "KL = Σ p · ln(p / p′), over the vocabulary",
                  .note = std::string("p is the model’s own distribution, p′ that with the cache, both ") +
                          at_temperature + "."};
    double rest = step.divergence;
    for (const CachedDecoding::Choice& each : step.choices) {
        const double part = each.before > 0 ? each.before * std::log(each.before / each.after) : 0;
        rest -= part;
        out.beside(model.vocabulary.name(subject, each.id), part,
                   four(each.before) + " → " + four(each.after));
    }
    out.beside("all other tokens", rest);
    out.step("KL, in nats", step.divergence);
    return out;
}

std::optional<Explained> explain_probability(Model& model, Subject& subject, const LensCell& cell) {
    const std::vector<CachedDecoding::Choice>& choices = model.shown->at(model.query).choices;
    if (cell.at[0] >= std::ssize(choices)) return std::nullopt;
    const CachedDecoding::Choice& each = choices[static_cast<std::size_t>(cell.at[0])];
    Explained out{.title = "Probability of " + model.vocabulary.name(subject, each.id) + " after " +
                           query_in_words(model.text(subject), model.query) + ", " + at_temperature,
                  .f32 = single(each.after),
                  .recomputed = false,
                  .formula = "softmax of the logits with the cache"};
    out.beside("as it is", each.before);
    out.step("with the cache", each.after);
    return out;
}

std::optional<Explained> explain_loss(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    if (!model.is_decoded(query)) return std::nullopt;
    const CachedDecoding::Step& step = model.shown->at(query);
    if (!std::isfinite(step.loss)) return std::nullopt;
    Explained out{.title = "Loss after " + query_in_words(model.text(subject), query),
                  .f32 = single(step.loss - step.loss_before),
                  .unit = "nats",
                  .recomputed = false,
                  .formula = "−ln p′(next) + ln p(next)"};
    const Expression before = out.step("as it is", step.loss_before, "−ln p of the text’s next token"),
                     after = out.step("with the cache", step.loss);
    out.step("rises by", after - before);
    return out;
}

// ---- Heads ------------------------------------------------------------------------------------------------

std::optional<Explained> explain_lost_weight(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    if (!model.evicts() || !model.is_decoded(query)) return std::nullopt;
    const Attention& words = model.text(subject);
    const std::span<const Index> gone = model.shown->gone(model.head.layer, model.kv_head);
    Explained out{.title = "Weight that " + query_in_words(words, query) + " loses",
                  .f32 = single(model.shown->lost(model.head, query)),
                  .formula = "Σ weight as it is, over the keys that are gone",
                  .operands_title = "Weights · 1 for each key that is gone"};
    const RowChain row = row_chain(model.record(), model.head.head, query);
    for (Index key = 0; key < query; ++key)
        if (const double weight = row.at(key).weight;
            gone[static_cast<std::size_t>(key)] <= query && weight != 0)
            out.summand(label_at(words.key_names(), key), weight, weight_at(model, query, key));
    const bool none = out.operands.empty();
    out.line("lost", none ? Expression(0) : out.dot("weights", "gone"));
    out.note = none ? "All that it looked at is still there." : "Softmax gives it to the keys that are left.";
    return out;
}

std::optional<Explained> explain_output_error(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[0];
    if (!model.is_decoded(query)) return std::nullopt;
    const double moved = model.shown->moved(model.head, query);
    Explained out{.title = "How far the head’s output moves at " + query_in_words(model.text(subject), query),
                  .f32 = single(moved),
                  .recomputed = false,
                  .formula = "‖o′ − o‖ / ‖o‖",
                  .note =
                      "o is the output of the run as it is, o′ that with the cache, whose earlier layers may "
                      "differ, too."};
    out.step("moves by", moved, "of its own length");
    return out;
}

std::optional<Explained> explain_head(Model& model, Subject& subject, const LensCell& cell) {
    const HeadIndex of{cell.at[0], cell.at[1]};
    if (of.layer >= std::ssize(model.trace->layers()) || of.head >= model.trace->model()->config().heads)
        return std::nullopt;
    const std::string name = head_text(model.on_page(of), subject.attention()->numbering());
    const bool evicts = model.evicts();
    Explained out{.title = evicts ? "Weight that " + name + " loses" : "How far the output moves of " + name,
                  .f32 = single(model.mean_effect(of)),
                  .recomputed = false,
                  .formula = evicts ? "mean over the steps of the weight lost"
                                    : "mean over the steps of ‖o′ − o‖ / ‖o‖",
                  .operands_title = "Each step × its share"};
    const double share = 1 / static_cast<double>(model.shown->decoded().size());
    for (Index query = model.shown->prompt(); query < model.shown->tokens(); ++query)
        out.term(label_at(model.text(subject).query_names(), query), model.effect(of, query), share);
    out.line("mean", out.dot("of_steps", "share"));
    return out;
}

std::optional<Explained> explain_score(Model& model, Subject& subject, const LensCell& cell) {
    const Index at = model.query, key = cell.at[0];
    const auto score = model.score(key);
    if (!score) return std::nullopt;
    const Attention& words = model.text(subject);
    const KeptWeights& kept = *model.kept_weights();
    const bool snaps = model.eviction().policy == EvictionPolicy::snapkv;
    const Index gone = kept.gone(key);
    Explained out{.title = "What speaks for " + key_in_words(words, key),
                  .f32 = single(*score),
                  .recomputed = !snaps,
                  .formula = snaps ? "max over neighbours of Σ weight, over the last queries of the prompt"
                                   : "Σ weight that the queries before gave it",
                  .note = gone >= model.shown->tokens() ? "It is kept to the end."
                          : gone <= at ? "It is gone from " + query_in_words(words, gone) + " on."
                                       : "It will be gone from " + query_in_words(words, gone) + " on."};
    if (snaps) {
        out.beside("queries observed", static_cast<double>(model.eviction().observes(model.shown->prompt())));
        out.beside("keys pooled", static_cast<double>(model.eviction().pooling));
        out.step("score", *score);
        return out;
    }
    out.operands_title = "Weights of the heads that share it · 1";
    for (Index i = key; i < at && kept.sees(i, key); ++i)
        out.term(label_at(words.query_names(), i), kept.given(i, key), 1, {}, {},
                 CellPlace{model.on_page(model.head), cells::weight(i, key)});
    out.line("score", out.dot("weights", "counted"));
    return out;
}

std::optional<Explained> explain_full_weight(Model& model, Subject& subject, const LensCell& cell) {
    return subject.explain_at(weight_at(model, cell.at[0], cell.at[1]));
}

std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& pair) {
    const Index query = pair.at[0], key = pair.at[1];
    const KeptWeights* kept = model.kept_weights();
    if (!kept || query >= model.shown->tokens() || key >= model.shown->tokens()) return std::nullopt;
    const Attention& words = model.text(subject);
    const CellExplanation cell = attn::explain(kept->record(), Stage::weight, model.head.head, query, key);
    Explained out{.title = "Weight of " + query_in_words(words, query) + " on " + key_in_words(words, key) +
                           " with the cache",
                  .masked = !cell.allowed,
                  .formula = "exp(score − max) / Σ over the keys that are left"};
    const CellPlace whole = weight_at(model, query, key);
    const auto why = subject.explain_at(whole);
    if (!cell.allowed) {
        if (why && key <= query) out.beside("weight as it is", why->f64, "lost here", whole);
        out.note = key > query ? "This key comes after the query."
                               : "This key is gone from " + query_in_words(words, kept->gone(key)) + " on.";
        out.line("weight", 0);
        return out;
    }
    out.f32 = static_cast<double>(cell.f32);
    const Expression score = out.step("score", cell.masked),
                     most = out.step("largest of the row", cell.row_max),
                     sum = out.step("Σ exp(score − max)", cell.row_sum, "over the keys that are left");
    out.step(cell.weight_before ? "as the softmax gives it" : "weight", exp(score - most) / sum);
    if (cell.weight_before) out.step("weight", cell.weight, "changed in this run");
    if (why) out.beside("weight as it is", why->f64, "over all keys", whole);
    if (query < model.shown->prompt()) out.note = "The prompt is read with all of its keys.";
    return out;
}

// ---- Keys and values in few bits --------------------------------------------------------------------------

std::optional<Explained> explain_code(Model& model, Subject& subject, const LensCell& cell) {
    const bool of_keys = cell.kind == &cells::key;
    const Index token = cell.at[0], channel = cell.at[1];
    if (model.evicts()) return std::nullopt;
    const CacheRounding& to = model.rounding();
    const ConstMatrix numbers = model.vectors(of_keys);
    if (token >= to.rounded_before(model.shown->tokens()) || channel >= numbers.cols) return std::nullopt;
    const float number = numbers(token, channel);
    const auto value = static_cast<double>(number);
    Explained out{.title = std::string(of_keys ? "Key" : "Value") + " of " +
                           key_in_words(model.text(subject), token) + ", channel " + std::to_string(channel)};
    if (to.bits == 16) {
        Tensor copy({1, 1}, std::span(&number, 1));
        round_values(to, copy.matrix());
        out.f32 = static_cast<double>(copy.values()[0]);
        out.recomputed = false;
        out.formula = "the nearest f16";
        out.beside("as it is", value, "f32");
        out.step("in the cache", out.f32, "f16");
        out.beside("off by", out.f64 - value);
        return out;
    }
    const RoundedGroup group = (of_keys ? group_of_key : group_of_value)(to, numbers, token, channel);
    const Index code = group.code(number, to.bits);
    out.f32 = static_cast<double>(group.read(code));
    out.formula = "least + step · code";
    out.beside("as it is", value);
    const Expression least = out.step("least of its group", static_cast<double>(group.least),
                                      of_keys ? "this channel, f16" : "this token, f16"),
                     step = out.step(
                         "step", static_cast<double>(group.step),
                         "(largest − least) / " + std::to_string((Index{1} << to.bits) - 1) + ", f16"),
                     taken = out.step("code", static_cast<double>(code), "round((x − least) / step)");
    out.step("in the cache", least + step * taken);
    out.beside("off by", out.f64 - value);
    out.note = of_keys ? "Keys are grouped by channel: some of their channels are large in every token."
                       : "Values are grouped by token.";
    return out;
}

constexpr std::ptrdiff_t cost_kinds = 4;  // the cost's kinds come first
constexpr std::array<ModelNumber<Model>, 15> declared{{
    {&cells::bytes, explain_bytes},
    {&cells::operations, explain_operations},
    {&cells::variant, explain_variant},
    {&cells::time, explain_time},
    {&cells::divergence, explain_divergence},
    {&cells::loss, explain_loss},
    {&cells::lost_weight, explain_lost_weight},
    {&cells::output_error, explain_output_error},
    {&cells::head, explain_head},
    {&cells::score, explain_score},
    {&cells::probability, explain_probability},
    {&cells::key, explain_code},
    {&cells::value, explain_code},
    {&cells::weight, explain_weight},
    {&cells::full_weight, explain_full_weight},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    const bool of_cost =
        std::ranges::find(declared, cell.kind, &ModelNumber<Model>::kind) < declared.begin() + cost_kinds;
    if (of_cost != (state.part == Part::cost) || (!of_cost && !shown)) return std::nullopt;
    auto out = explain_by(declared, *this, subject, cell);
    if (out && out->provenance.empty()) out->provenance = "computed by " + subject.attention()->title();
    return out;
}

}  // namespace attn::app::cache
