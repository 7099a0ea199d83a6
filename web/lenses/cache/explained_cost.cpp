// Explains the numbers of the cost: bytes, operations, and the measured time.
#include <algorithm>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "lenses/cache/words.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

double in_single(double value) { return static_cast<double>(static_cast<float>(value)); }

void add_step(Explained& out, std::string name, std::string arithmetic, std::string value,
              bool current = false) {
    out.steps.push_back({std::move(name), std::move(arithmetic), std::move(value), current});
}

}  // namespace

Explained CacheLens::begin(Subject& subject, std::string title) const {
    Explained out;
    out.title = std::move(title);
    out.provenance = "computed by " + subject.attention()->title();
    return out;
}

std::optional<Explained> CacheLens::explain_bytes(Subject& subject, const LensCell& cell) {
    const Cost all = cost(subject);
    const bool own = cell.at[0] == 0;
    return bytes_after(subject, own ? all.own : all.other, own ? all.own_kept : all.other_kept, cell.at[1]);
}

std::optional<Explained> CacheLens::explain_variant(Subject& subject, const LensCell& cell) {
    const Cost all = cost(subject);
    const std::vector<Index> offered = kv_heads_offered(subject);
    if (cell.at[0] >= std::ssize(offered)) return std::nullopt;
    return bytes_after(subject, variant(subject, offered[static_cast<std::size_t>(cell.at[0])]),
                       {cache_bits[static_cast<std::size_t>(cell.at[1])], now().rounding.group},
                       all.after(all.written));
}

std::optional<Explained> CacheLens::bytes_after(Subject& subject, const CacheShape& shape,
                                                const CachePrecision& precision, Index tokens) const {
    if (tokens > cache_most_tokens) return std::nullopt;
    const CacheShape::Layer& first = shape.layers.front();
    Explained out = begin(subject, "Bytes kept after " + many(tokens, "token"));
    out.provenance = "counted from the shape of " + subject.attention()->title();
    out.f64 = bytes_kept(shape, tokens, precision);
    out.unit = "bytes";
    out.f32 = in_single(out.f64);
    out.formula = "Σ_layers KV heads · bytes of a head’s K and V";
    out.operands_title = "KV heads × bytes of one";
    out.left_name = "kv_heads";
    out.right_name = "bytes_of_one";
    for (std::size_t l = 0; l < shape.layers.size(); ++l) {
        const CacheShape::Layer& layer = shape.layers[l];
        const double heads = static_cast<double>(layer.kv_heads),
                     bytes = bytes_of_head(range_kept(layer, tokens), layer.head_dim, precision);
        out.operands.push_back({"layer " + std::to_string(l), heads, bytes, heads * bytes});
    }
    const Index kept = tokens_kept(first, tokens);
    const std::string bits = std::to_string(precision.bits) + " bits";
    add_step(out, "tokens in layer 0",
             first.window > 0 ? "a window of " + with_commas(first.window) : "all of them",
             with_commas(kept));
    if (precision.bits >= 16)
        add_step(out, "one head there",
                 "2 · " + std::to_string(first.head_dim) + " · " + with_commas(kept) + " · " +
                     std::to_string(precision.bits / 8),
                 cache_words::bytes(bytes_of_head(range_kept(first, tokens), first.head_dim, precision)));
    else
        add_step(out, "one head there", bits + ", groups of " + std::to_string(precision.group),
                 cache_words::bytes(bytes_of_head(range_kept(first, tokens), first.head_dim, precision)));
    add_step(out, "all", many(std::ssize(shape.layers), "layer"), cache_words::bytes(out.f64), true);
    out.line("bytes", out.dot());
    out.note = precision.bits >= 16
                   ? "Keys and values, of " + bits + " each."
                   : "Each group adds its least number and its step, 16 bits each; tokens wait in 16 "
                     "bits until their group is complete. Groups begin with the text, not with a window.";
    if (const double cross = cross_numbers_kept(shape); cross > 0)
        out.note +=
            " Cross-attention keeps " + cache_words::bytes(cross * static_cast<double>(precision.bits) / 8) +
            " besides, of the " + many(shape.encoded, "token") + " that the encoder reads; they do not grow.";
    return out;
}

std::optional<Explained> CacheLens::explain_operations(Subject& subject, const LensCell& cell) {
    const bool recomputed = cell.at[0] == 1;
    const Index step = cell.at[1];
    const Cost all = cost(subject);
    if (step >= all.steps()) return std::nullopt;
    const Index after = all.after(step);
    const Range tokens = recomputed ? Range{0, after} : all.tokens_of(step);
    const StepCost cost = step_cost(all.own, tokens);
    Explained out = begin(subject, recomputed  ? "Step " + std::to_string(step) + " without a cache"
                                   : step == 0 ? "Reading the prompt"
                                               : "Step " + std::to_string(step));
    out.provenance = "counted from the shape of " + subject.attention()->title();
    out.f64 = cost.total();
    out.f32 = in_single(out.f64);
    out.formula = "2 · tokens · weights + attention + 2 · weights of the head";
    add_step(out, "tokens read", "", with_commas(tokens.size()));
    add_step(out, "their matrices", "2 a weight", cache_words::operations(cost.matrices));
    add_step(out, "attention", "4 · head_dim · keys, each head and query",
             cache_words::operations(cost.attention));
    add_step(out, "logits", "of the last token", cache_words::operations(cost.logits));
    add_step(out, "together", "", cache_words::operations(out.f64), true);
    out.line("operations", Expression(cost.matrices) + cost.attention + cost.logits);
    out.note =
        recomputed
            ? "With nothing kept, all " + with_commas(after) + " tokens are read again."
            : "A multiplication and an addition are two operations. Norms, softmax and activations are "
              "not counted.";
    if (all.own.encoded > 0) out.note += " The encoder’s own pass is not in it.";
    return out;
}

std::optional<Explained> CacheLens::explain_time(Subject& subject, const LensCell&) {
    if (!race_ || !race_->done()) return std::nullopt;
    const auto ms = [](double time) { return rounded(time, 3) + " ms"; };
    Explained out = begin(subject, "A whole pass, in steps of decoding");
    out.provenance = "measured in this page";
    out.recomputed = false;
    out.f64 = race_->ratio();
    out.f32 = in_single(out.f64);
    out.formula = "time of a pass / time of a step";
    add_step(out, "a pass", many(trace_->tokens(), "token"), ms(race_->whole_ms()));
    add_step(out, "a step", "the last of them, with a cache", ms(race_->step_ms()));
    add_step(out, "passes", "of both, in turn", std::to_string(race_->passes()));
    add_step(out, "ratio", "", fixed(out.f64, 2), true);
    out.line("ratio", Expression(race_->whole_ms()) / race_->step_ms());
    out.note =
        "A step has as many weights to fetch as a pass, and fewer operations to do with them, so it saves "
        "less time "
        "than operations. The next measurement differs a little.";
    return out;
}

}  // namespace attn::app
