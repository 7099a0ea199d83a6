#include "analysis/attribution/effects.hpp"

#include <algorithm>

namespace attn {

Result<AblationEffects> AblationEffects::start(std::shared_ptr<const Trace> trace, const LogitLoss& target,
                                               std::vector<Variant> variants, double slice_operations) {
    if (Status fits = check_loss(*trace, target); !fits) return fits.error();
    const std::vector<Intervention>& own = trace->interventions();
    for (Variant& variant : variants) variant.insert(variant.begin(), own.begin(), own.end());
    const double value = loss_in(*trace, target);
    auto runs = VariantRuns::start(std::move(trace), std::move(variants), slice_operations);
    if (!runs) return runs.error();
    return AblationEffects(target, value, *std::move(runs));
}

bool AblationEffects::step() {
    if (const auto run = runs_.step()) effects_.push_back(loss_in(*run, target_) - value_);
    return !runs_.done();
}

std::vector<AblationEffects::Variant> without_heads(const Trace& trace, Operation operation,
                                                    const std::vector<std::shared_ptr<const Trace>>& from) {
    std::vector<AblationEffects::Variant> variants;
    for (Index attention = 0; attention < trace.attentions(); ++attention)
        for (Index head = 0; head < trace.attention(attention).record().heads(); ++head) {
            Intervention each{.attention = attention,
                              .site = Site::head_output,
                              .edit = {.head = head, .operation = operation}};
            if (operation == Operation::patch || operation == Operation::mean_of_texts) each.from = from;
            variants.push_back({std::move(each)});
        }
    return variants;
}

std::vector<Index> seen_keys(const Trace& trace, const HeadIndex& head, Index query) {
    const LayerAttention at = trace.attention(head.layer);
    std::vector<Index> keys;
    for (Index key = 0; key < at.record().keys(); ++key)
        if (at.record().spec().mask.allows(head.head, query, key)) keys.push_back(key);
    return keys;
}

AblationEffects::Variant without_edge(const HeadIndex& head, Index query, Index key) {
    return {{.attention = head.layer,
             .site = Site::mask,
             .edit = {.head = head.head, .rows = {query}, .columns = {key}}}};
}

std::vector<AblationEffects::Variant> without_edges(const Trace& trace, const HeadIndex& head, Index query) {
    std::vector<AblationEffects::Variant> variants;
    for (const Index key : seen_keys(trace, head, query)) variants.push_back(without_edge(head, query, key));
    return variants;
}

std::vector<AblationEffects::Variant> with_patches(Range attentions, Range tokens, Site site,
                                                   const std::shared_ptr<const Trace>& from) {
    std::vector<AblationEffects::Variant> variants;
    for (Index attention = attentions.begin; attention < attentions.end; ++attention)
        for (Index token = tokens.begin; token < tokens.end; ++token)
            variants.push_back({{.attention = attention,
                                 .site = site,
                                 .edit = {.rows = {token}, .operation = Operation::patch},
                                 .from = {from}}});
    return variants;
}

std::vector<AblationEffects::Variant> without_tokens(const Trace& trace, Index row) {
    std::vector<AblationEffects::Variant> variants;
    for (const bool encoded : {false, true}) {
        if (encoded && !trace.encoder()) continue;
        const Index tokens = encoded                  ? trace.encoder()->tokens()
                             : trace.network().causal ? row + 1
                                                      : trace.tokens();
        for (Index token = 0; token < tokens; ++token) {
            AblationEffects::Variant& variant = variants.emplace_back();
            for (Index attention = 0; attention < trace.attentions(); ++attention) {
                const AttentionKind kind = trace.attention(attention).place.kind;
                if ((kind == AttentionKind::cross || kind == AttentionKind::encoder) == encoded)
                    variant.push_back(
                        {.attention = attention, .site = Site::mask, .edit = {.columns = {token}}});
            }
        }
    }
    return variants;
}

LastEdgeEffects::LastEdgeEffects(std::shared_ptr<const Trace> trace, const LogitLoss& target,
                                 const HeadIndex& head, double slice_operations)
    : trace_(std::move(trace)),
      target_(target),
      head_(head),
      first_layer_(static_cast<std::size_t>(trace_->attention(head.layer).place.layer)),
      next_layer_(first_layer_),
      value_(loss_in(*trace_, target)),
      keys_(seen_keys(*trace_, head, trace_->tokens() - 1)) {
    const ModelConfig& config = trace_->model()->config();
    const auto d = static_cast<double>(config.d_model);
    const auto products = static_cast<double>((config.heads + config.kv_heads) * 2 * config.head_dim) +
                          static_cast<double>((config.gated_mlp ? 3 : 2) * config.d_ff *
                                              std::max<Index>(config.experts_per_token, 1));
    at_once_ = static_cast<Index>(std::clamp(slice_operations / (2 * d * products), 1.0,
                                             static_cast<double>(std::max<Index>(1, std::ssize(keys_)))));
}

Result<LastEdgeEffects> LastEdgeEffects::start(std::shared_ptr<const Trace> trace, const LogitLoss& target,
                                               const HeadIndex& head, double slice_operations) {
    if (Status fits = check_loss(*trace, target); !fits) return fits.error();
    if (head.layer < 0 || head.layer >= trace->attentions() || head.head < 0 ||
        head.head >= trace->attention(head.layer).record().heads())
        return Error{"there is no head " + std::to_string(head.head) + " in attention " +
                     std::to_string(head.layer)};
    const AttentionKind kind = trace->attention(head.layer).place.kind;
    if (kind == AttentionKind::encoder || kind == AttentionKind::cross || !trace->network().causal)
        return Error{
            "the last token is not the only one that an edge into it changes, where a text is read in both "
            "directions; run without_edges"};
    if (trace->mask() || !trace->interventions().empty())
        return Error{"this run was changed; run without_edges"};
    if (target.row.value_or(trace->tokens() - 1) != trace->tokens() - 1)
        return Error{"an edge into the last token changes no logits before it"};
    return LastEdgeEffects(std::move(trace), target, head, slice_operations);
}

namespace {

// What a query sees without one key, which is another for each variant.
struct CutRule {
    const Mask& mask;
    Index head, query;
    std::span<const Index> cut;

    CellRule rule() const { return {.self = this, .row = &row, .tile = &tile}; }
    static void row(const void* self, Index, Index variant, Index first_key,
                    std::span<std::uint8_t> allowed) {
        const auto& s = *static_cast<const CutRule*>(self);
        s.mask.row(s.head, s.query, first_key, allowed);
        const Index at = s.cut[static_cast<std::size_t>(variant)] - first_key;
        if (at >= 0 && at < std::ssize(allowed)) allowed[static_cast<std::size_t>(at)] = 0;
    }
    static Coverage tile(const void* self, Index, Range, Range keys) {
        const auto& s = *static_cast<const CutRule*>(self);
        const Coverage seen = s.mask.tile(s.head, {s.query, s.query + 1}, keys);
        const bool whole = keys.end <= s.cut.front() || keys.begin > s.cut.back();
        return whole || seen == Coverage::none ? seen : Coverage::some;
    }
};

}  // namespace

Tensor LastEdgeEffects::heads_without_edges(Range variants) const {
    const Record& record = trace_->attention(head_.layer).record();
    const AttentionSpec& spec = record.spec();
    const Index last = record.queries() - 1, count = variants.size();
    Tensor heads({record.heads(), count, record.d_v()}), row_max({1, count}), row_log_sum({1, count});
    for (Index head = 0; head < record.heads(); ++head)
        for (Index variant = 0; variant < count; ++variant)
            std::copy_n(record.output().heads().head(head).row(last), record.d_v(),
                        heads.heads().head(head).row(variant));

    // The same query in every row, and its head alone.
    const auto one_head = [](ConstMatrix m) {
        return ConstHeads{m.data, 1, m.rows, m.cols, 0, m.row_stride};
    };
    const auto repeated = [&](ConstMatrix m) { return ConstHeads{m.row(last), 1, count, m.cols, 0, 0}; };
    const CutRule cut{
        spec.mask, head_.head, last,
        std::span(keys_).subspan(static_cast<std::size_t>(variants.begin), static_cast<std::size_t>(count))};
    const Index kv_head = record.kv_head(head_.head);
    const MatrixView<float> output = heads.heads().head(head_.head);
    AttentionCall call{.q = repeated(record.q().heads().head(head_.head)),
                       .k = one_head(record.k().heads().head(kv_head)),
                       .v = one_head(record.v().heads().head(kv_head)),
                       .scale = static_cast<float>(record.scale()),
                       .softcap = static_cast<float>(spec.softcap),
                       .rule = cut.rule(),
                       .softmax_precision = spec.softmax_precision,
                       .output = {output.data, 1, output.rows, output.cols, 0, output.row_stride},
                       .row_max = row_max.matrix(),
                       .row_log_sum = row_log_sum.matrix()};
    if (!spec.bias.empty()) {
        call.bias =
            repeated(spec.bias.view(record.heads(), record.queries(), record.keys()).head(head_.head));
        call.bias_one_column = spec.bias.one_column();
    }
    record.kernels().attention(call);
    return heads;
}

void LastEdgeEffects::run_layer() {
    const Index last = trace_->tokens() - 1, done = std::ssize(effects_),
                count = std::min(at_once_, std::ssize(keys_) - done);
    const bool first = next_layer_ == first_layer_;
    if (first) {
        rows_ = TokenRows(trace_->model(), trace_->kernels(), last, count);
        for (Index variant = 0; variant < count; ++variant)
            std::copy_n(layer(first_layer_).resid_pre.matrix().row(last), rows_.residual().cols,
                        rows_.residual().row(variant));
    }
    const LayerTrace& run = layer(next_layer_);
    // Keys or values of the tokens before, with room for each variant's own.
    const auto with_room = [&](const Tensor& all) {
        Tensor roomy({all.dim(0), last + count, all.dim(2)});
        copy_heads(rows(all.heads(), {0, last}), roomy.heads());
        return roomy;
    };
    Tensor k = first ? Tensor() : with_room(run.attention.k()),
           v = first ? Tensor() : with_room(run.attention.v());
    SeenKeys seen{k, v};
    if (run.cross) {
        seen.cross_k = &run.cross->attention.k();
        seen.cross_v = &run.cross->attention.v();
    }
    const Tensor heads = first ? heads_without_edges({done, done + count}) : rows_.attend(next_layer_, seen);
    rows_.leave(next_layer_, heads, seen);
}

void LastEdgeEffects::read_logits() {
    const Index count = rows_.residual().rows;
    Tensor raise({count, 1}), over({count, 1});
    rows_.logits({target_.raise, target_.raise + 1}, raise.matrix());
    if (target_.over) rows_.logits({*target_.over, *target_.over + 1}, over.matrix());
    for (Index i = 0; i < count; ++i)
        effects_.push_back(static_cast<double>(raise.data()[i]) - static_cast<double>(over.data()[i]) -
                           value_);
}

bool LastEdgeEffects::step() {
    if (effects_.size() == keys_.size()) return false;
    run_layer();
    if (++next_layer_ == trace_->layers().size()) {
        read_logits();
        next_layer_ = first_layer_;
    }
    return effects_.size() < keys_.size();
}

float LastEdgeEffects::progress() const {
    if (keys_.empty()) return 1;
    const std::size_t layers = trace_->layers().size() - first_layer_;
    const float running = next_layer_ > first_layer_
                              ? static_cast<float>(next_layer_ - first_layer_) *
                                    static_cast<float>(at_once_) / static_cast<float>(layers)
                              : 0;
    return std::min(1.0f, (static_cast<float>(effects_.size()) + running) / static_cast<float>(keys_.size()));
}

}  // namespace attn
