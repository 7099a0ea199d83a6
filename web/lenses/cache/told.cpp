// Writes the amounts, the sentence and the guide of lens Cache.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "subjects/reading.hpp"

namespace attn::app::cache {

namespace {

constexpr std::array<const char*, 5> byte_units{" B", " KB", " MB", " GB", " TB"};
constexpr std::array<const char*, 5> operation_units{" FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP"};

std::string cost_headline(const Model& model) {
    const Cost& all = model.cost;
    const Index last = all.written;
    const double kept = all.of_step(last, false).total(), ratio = all.of_step(last, true).total() / kept;
    // Without a cache, the last step also recomputes the keys and values of cross-attention.
    const double cross = cross_numbers_kept(all.own.shape) * static_cast<double>(all.own.precision.bits) / 8;
    return "Because " + bytes_text(all.own.bytes(all.prompt) + cross) +
           " of keys and values are kept, a token takes at most " + operations_text(kept) + ".\nReading " +
           many(all.prompt, "token") + " takes " + operations_text(all.of_step(0, false).total()) +
           ". Without the cache, the last of " + many(all.after(last), "token") + " would take " +
           fixed(ratio, ratio < 10 ? 1 : 0) + " times as much as with it.";
}

// Says at how many steps the most likely token changes.
std::string changed_of_all(const CachedDecoding& shown) {
    Index changed = 0;
    for (Index query = shown.prompt(); query < shown.tokens(); ++query)
        changed += shown.at(query).likeliest != shown.at(query).likeliest_before;
    return std::to_string(changed) + " of " + many(shown.tokens() - shown.prompt(), "step");
}

// Averages over the decoded tokens that have a successor in the text; NaN if there are none.
double mean_loss(const CachedDecoding& shown, double CachedDecoding::Step::* loss) {
    double sum = 0;
    for (Index query = shown.prompt(); query + 1 < shown.tokens(); ++query) sum += shown.at(query).*loss;
    return sum / static_cast<double>(shown.tokens() - 1 - shown.prompt());
}

std::string bits_headline(const Model& model) {
    const CacheRounding& to = model.rounding();
    const CacheShape shape = model.variant(0);
    const Index n = model.shown->tokens(), waiting = n - to.rounded_before(n);
    const double share = bytes_kept(shape, n, {to.bits, to.group}) / bytes_kept(shape, n, {});
    std::string said = "In " + std::to_string(to.bits) + " bits the cache takes " + percent(share) +
                       " of its memory in 32; the next token changes at " + changed_of_all(*model.shown) +
                       ".";
    if (waiting > 0)
        said += waiting == 1 ? "\nThe newest token stays in 16 bits."
                             : "\nThe newest " + many(waiting, "token") + " stay in 16 bits.";
    using Step = CachedDecoding::Step;
    if (const double loss = mean_loss(*model.shown, &Step::loss); std::isfinite(loss))
        said += (waiting > 0 ? " The loss goes from " : "\nThe loss goes from ") +
                fixed(mean_loss(*model.shown, &Step::loss_before), 3) + " to " + fixed(loss, 3) +
                " nats a token.";
    return said;
}

std::string eviction_headline(const Model& model, Subject& subject) {
    const CachedDecoding& shown = *model.shown;
    Index far = shown.prompt();  // the query with the largest divergence
    for (Index query = far; query < shown.tokens(); ++query)
        if (shown.at(query).divergence > shown.at(far).divergence) far = query;
    const CachedDecoding::Step& step = shown.at(far);
    std::string said = "With " + policy_text(model.eviction()) + ", " + model.head_name(subject) + " loses " +
                       percent(shown.mean_lost(model.head)) +
                       " of its weight.\nThe likeliest next token is another at " + changed_of_all(shown);
    if (!(step.divergence > 0)) return said + ".";
    said += "; it changes most after " + query_in_words(model.text(subject), far) + " (KL " +
            fixed(step.divergence, 2) + ")";
    if (step.likeliest != step.likeliest_before)
        said += ", from " + model.vocabulary.name(subject, step.likeliest_before) + " to " +
                model.vocabulary.name(subject, step.likeliest);
    return said + ".";
}

}  // namespace

std::string bytes_text(double bytes) { return in_thousands(bytes, byte_units); }
std::string operations_text(double operations) { return in_thousands(operations, operation_units); }

std::string policy_text(const EvictionRule& rule) {
    const std::string keys =
        rule.budget == 1 ? "one key" : "at most " + std::to_string(rule.budget) + " keys";
    switch (rule.policy) {
        case EvictionPolicy::window: return keys + ", the newest";
        case EvictionPolicy::sinks: {
            // One place belongs to the query itself.
            const Index first = std::min(rule.sinks, rule.budget - 1);
            if (first == 0) return keys + ", the newest";
            return keys + ", the first " + std::to_string(first) +
                   (first + 1 == rule.budget ? " and the query’s own" : " and the newest");
        }
        case EvictionPolicy::heavy_hitters:
            return keys + (rule.newest() == rule.budget ? ", the newest" : ", heavy hitters and the newest");
        case EvictionPolicy::snapkv: break;
    }
    return many(rule.budget, "key") + " of the prompt, as SnapKV chooses them";
}

std::string Model::headline(Subject& subject) {
    if (state.part == Part::cost) return cost_headline(*this);
    if (!refused.empty()) return refused;
    if (!shown) return "The text is decoded again, token by token.";
    return evicts() ? eviction_headline(*this, subject) : bits_headline(*this);
}

Guide Model::guide(Subject&) {
    return {
        "What a decoder remembers",
        "A model that writes reads its own text again for every token, unless it keeps the keys and values "
        "of all tokens before: the KV cache. A prompt is read at once (prefill); then each token costs one "
        "row.\n\n"
        "The cache grows with layers, heads of keys and values, head_dim and tokens. Grouped heads share it "
        "(Ainslie et al. 2023), windows cap it, and fewer bits shrink it (KIVI: Liu et al. 2024).\n\n"
        "Eviction keeps a part of it: the newest tokens, the first ones too (StreamingLLM: Xiao et al. "
        "2023), those that got most weight so far (H2O: Zhang et al. 2023), or those that the end of the "
        "prompt looks at (SnapKV: Li et al. 2024). A query’s own key counts.\n\n"
        "Bits and eviction are decoded with this model and this text, each step from what is left. Positions "
        "stay those of the text; StreamingLLM counts them within the cache."};
}

}  // namespace attn::app::cache
