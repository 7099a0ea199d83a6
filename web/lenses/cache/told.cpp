// Writes the sentence and the guide of lens Cache.
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "lenses/cache/words.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

std::string times_text(double ratio) { return fixed(ratio, ratio < 10 ? 1 : 0) + " times"; }

}  // namespace

std::string CacheLens::spoken(Subject& subject) {
    update(subject);
    if (now().part == CachePart::cost) return cost_spoken(subject);
    if (!refused_.empty()) return refused_;
    if (!shown_) return "The text is decoded again, token by token.";
    return now().part == CachePart::bits ? bits_spoken(subject) : eviction_spoken(subject);
}

std::string CacheLens::cost_spoken(Subject& subject) const {
    const Cost all = cost(subject);
    const Index last = all.written;
    const double first = step_cost(all.own, all.tokens_of(0)).total(),
                 kept = step_cost(all.own, all.tokens_of(last)).total(),
                 anew = step_cost(all.own, {0, all.after(last)}).total();
    // Without a cache, the last step also recomputes the keys and values of cross-attention.
    const double cross = cross_numbers_kept(all.own) * static_cast<double>(all.own_kept.bits) / 8;
    return "Because " + cache_words::bytes(bytes_kept(all.own, all.prompt, all.own_kept) + cross) +
           " of keys and values are kept, a token takes at most " + cache_words::operations(kept) +
           ".\nReading " + many(all.prompt, "token") + " takes " + cache_words::operations(first) +
           ". Without the cache, the last of " + many(all.after(last), "token") + " would take " +
           times_text(anew / kept) + " as much as with it.";
}

std::string CacheLens::bits_spoken(Subject& subject) const {
    const CacheRounding& to = rounding();
    const CacheShape shape = variant(subject, 0);
    const Index n = shown_->tokens(), changed = changed_tokens();
    const double share = bytes_kept(shape, n, {to.bits, to.group}) / bytes_kept(shape, n, {});
    const Index waiting = n - to.rounded_before(n);
    std::string said = "In " + std::to_string(to.bits) + " bits the cache takes " + percent(share) +
                       " of its memory in 32; the next token changes at " + std::to_string(changed) + " of " +
                       many(n - shown_->prompt(), "step") + ".";
    std::string more = waiting == 0   ? ""
                       : waiting == 1 ? "The newest token stays in 16 bits."
                                      : "The newest " + many(waiting, "token") + " stay in 16 bits.";
    if (const double loss = mean_loss(false); std::isfinite(loss))
        more += (more.empty() ? "The loss goes from " : " The loss goes from ") + fixed(mean_loss(true), 3) +
                " to " + fixed(loss, 3) + " nats a token.";
    return more.empty() ? said : said + "\n" + more;
}

std::string CacheLens::eviction_spoken(Subject& subject) const {
    const Attention& words = text(subject);
    const Index n = shown_->tokens(), changed = changed_tokens(), far = farthest();
    const CachedDecoding::Step& step = shown_->at(far);
    std::string said = "With " + cache_words::policy(eviction()) + ", " + head_name(subject) + " loses " +
                       percent(shown_->mean_lost(head(subject))) +
                       " of its weight.\nThe likeliest next token is another at " + std::to_string(changed) +
                       " of " + many(n - shown_->prompt(), "step");
    if (!(step.divergence > 0)) return said + ".";
    said +=
        "; it changes most after " + query_in_words(words, far) + " (KL " + fixed(step.divergence, 2) + ")";
    if (step.likeliest != step.likeliest_before)
        said += ", from " + vocabulary_.name(subject, step.likeliest_before) + " to " +
                vocabulary_.name(subject, step.likeliest);
    return said + ".";
}

std::string CacheLens::head_name(Subject& subject) const {
    return head_text(run_cell(subject, head(subject), Stage::weight, 0, 0).head,
                     subject.attention()->numbering());
}

Guide CacheLens::guide(Subject&) const {
    return {
        "What a decoder remembers",
        "A model that writes reads its own text again for every token, unless it keeps the keys and values "
        "of "
        "all tokens before: the KV cache. A prompt is read at once (prefill); then each token costs one "
        "row.\n\n"
        "The cache grows with layers, heads of keys and values, head_dim and tokens. Grouped heads share it "
        "(Ainslie et al. 2023), windows cap it, and fewer bits shrink it (KIVI: Liu et al. 2024).\n\n"
        "Eviction keeps a part of it: the newest tokens, the first ones too (StreamingLLM: Xiao et al. "
        "2023), "
        "those that got most weight so far (H2O: Zhang et al. 2023), or those that the end of the prompt "
        "looks "
        "at (SnapKV: Li et al. 2024). A query’s own key counts.\n\n"
        "Bits and eviction are decoded with this model and this text, each step from what is left. Positions "
        "stay those of the text; StreamingLLM counts them within the cache."};
}

}  // namespace attn::app
