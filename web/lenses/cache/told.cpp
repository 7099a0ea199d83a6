// What lens Cache says: its sentence, its tables, its guide.
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
    // The last step without a cache takes the keys and values of cross-attention anew, too.
    const double cross = cross_numbers_kept(all.own) * static_cast<double>(all.own_kept.bits) / 8;
    return "Reading " + many(all.prompt, "token") + " takes " + cache_words::operations(first) +
           ", and each further one at most " + cache_words::operations(kept) + ", because " +
           cache_words::bytes(bytes_kept(all.own, all.prompt, all.own_kept) + cross) +
           " of keys and values are kept; without them, the last of " + many(all.after(last), "token") +
           " would take " + times_text(anew / kept) + " as much.";
}

std::string CacheLens::bits_spoken(Subject& subject) const {
    const CacheRounding& to = rounding();
    const CacheShape shape = variant(subject, 0);
    const Index n = shown_->tokens(), changed = changed_tokens();
    const double share = bytes_kept(shape, n, {to.bits, to.group}) / bytes_kept(shape, n, {});
    const Index waiting = n - to.rounded_before(n);
    std::string said = "In " + std::to_string(to.bits) + " bits" +
                       (waiting == 0   ? ","
                        : waiting == 1 ? ", the newest token in 16,"
                                       : ", the newest " + many(waiting, "token") + " in 16,") +
                       " the cache takes " + percent(share) +
                       " of its memory in 32; the likeliest next token is another at " +
                       std::to_string(changed) + " of " + many(n - shown_->prompt(), "step");
    if (const double loss = mean_loss(false); std::isfinite(loss))
        said += ", and the loss goes from " + fixed(mean_loss(true), 3) + " to " + fixed(loss, 3) +
                " nats a token";
    return said + ".";
}

std::string CacheLens::eviction_spoken(Subject& subject) const {
    const Attention& words = text(subject);
    const Index n = shown_->tokens(), changed = changed_tokens(), far = farthest();
    const CachedDecoding::Step& step = shown_->at(far);
    std::string said = "With " + cache_words::policy(eviction()) + ", " + head_name(subject) + " loses " +
                       percent(shown_->mean_lost(head(subject))) +
                       " of its weight; the likeliest next token is another at " + std::to_string(changed) +
                       " of " + many(n - shown_->prompt(), "step");
    if (!(step.divergence > 0)) return said + ".";
    said += "; most changes after " + query_in_words(words, far) + " (KL " + fixed(step.divergence, 2) + ")";
    if (step.likeliest != step.likeliest_before)
        said += ", from " + vocabulary_.name(subject, step.likeliest_before) + " to " +
                vocabulary_.name(subject, step.likeliest);
    return said + ".";
}

std::string CacheLens::head_name(Subject& subject) const {
    return head_text(run_cell(subject, head(subject), Stage::weight, 0, 0).head,
                     subject.attention()->numbering());
}

// ---- Tables -----------------------------------------------------------------------------------------------

std::vector<Table> CacheLens::tables(Subject& subject) {
    update(subject);
    if (now().part == CachePart::cost) return cost_tables(subject);
    if (!shown_) return {};
    return decoded_tables(subject);
}

std::vector<Table> CacheLens::cost_tables(Subject& subject) const {
    const Cost all = cost(subject);
    const Index last = all.after(all.written);
    Table steps{"What each step takes",
                {"tokens", "bytes kept", "bytes compared", "operations", "without a cache"},
                {},
                Matrix(std::min(all.steps(), table_row_limit), 5)};
    for (Index i = 0; i < steps.values.rows; ++i) {
        const Index after = all.after(i);
        const std::array values{static_cast<double>(after), bytes_kept(all.own, after, all.own_kept),
                                bytes_kept(all.other, after, all.other_kept),
                                step_cost(all.own, all.tokens_of(i)).total(),
                                step_cost(all.own, {0, after}).total()};
        steps.row_labels.push_back(i == 0 ? "prompt" : "step " + std::to_string(i));
        for (std::size_t c = 0; c < values.size(); ++c) steps.values.at(i, static_cast<Index>(c)) = values[c];
    }
    const std::vector<Index> offered = kv_heads_offered(subject);
    Table variants{
        "Bytes after " + many(last, "token"), {}, {}, Matrix(std::ssize(offered), std::ssize(cache_bits))};
    for (const Index bits : cache_bits) variants.columns.push_back(std::to_string(bits) + " bits");
    for (Index r = 0; r < variants.values.rows; ++r) {
        const Index heads = offered[static_cast<std::size_t>(r)];
        variants.row_labels.push_back(many(heads, "KV head"));
        for (Index c = 0; c < variants.values.cols; ++c)
            variants.values.at(r, c) =
                bytes_kept(variant(subject, heads), last,
                           {cache_bits[static_cast<std::size_t>(c)], now().rounding.group});
    }
    return {std::move(variants), std::move(steps)};
}

std::vector<Table> CacheLens::decoded_tables(Subject& subject) const {
    const Attention& words = text(subject);
    const HeadIndex of = head(subject);
    const Index count = std::min(shown_->decoded().size(), table_row_limit);
    Table steps{"Each decoded step",
                {"KL", "loss as it is", "loss", evicts() ? "weight lost" : "output moved"},
                {},
                Matrix(count, 4)};
    for (Index i = 0; i < count; ++i) {
        const Index at = shown_->prompt() + i;
        const CachedDecoding::Step& step = shown_->at(at);
        const std::array values{step.divergence, step.loss_before, step.loss,
                                evicts() ? shown_->lost(of, at) : shown_->moved(of, at)};
        steps.row_labels.push_back(label_at(words.query_names(), at));
        for (std::size_t c = 0; c < values.size(); ++c) steps.values.at(i, static_cast<Index>(c)) = values[c];
    }
    const Index layers = std::ssize(trace_->layers()), heads = trace_->model()->config().heads;
    Table of_heads{evicts() ? "Weight lost, mean over the steps" : "Output moved, mean over the steps",
                   {},
                   {},
                   Matrix(layers, heads)};
    for (Index h = 0; h < heads; ++h) of_heads.columns.push_back("h" + std::to_string(h));
    for (Index l = 0; l < layers; ++l) {
        of_heads.row_labels.push_back("layer " + std::to_string(l));
        for (Index h = 0; h < heads; ++h) of_heads.values.at(l, h) = mean_of({l, h});
    }
    std::vector<Table> all;
    all.push_back(std::move(steps));
    all.push_back(std::move(of_heads));
    if (!kept_head()) return all;
    const std::string name = "Weights of " + head_name(subject) + " with the cache";
    all.push_back(
        table_of(name, *kept_head()->map(of.head), words.query_names(), words.key_names(), Stage::weight));
    return all;
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
