#include "analysis/properties/model_checks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/properties/rounding_bounds.hpp"
#include "model/explain.hpp"

namespace attn {

namespace {

constexpr double most_products = 2e7;  // in all rows whose heads are added up
constexpr double operations_a_slice = 100e6;

double bias_of(const Linear& linear, Index component) {
    return linear.bias.size() == 0
               ? 0
               : static_cast<double>(linear.bias.values()[static_cast<std::size_t>(component)]);
}

}  // namespace

// ---- Heads that add up ------------------------------------------------------------------------------------

HeadSums::HeadSums(std::shared_ptr<const Trace> trace, Index attention)
    : trace_(std::move(trace)), attention_(attention) {
    const LayerAttention at = trace_->attention(attention);
    const WeightView& w = at.half.attention_out.weight;
    const double products = static_cast<double>(w.in) * static_cast<double>(w.out);
    magnitudes_ = Tensor({w.in, w.out});
    for (Index i = 0; i < w.in; ++i)
        for (Index o = 0; o < w.out; ++o)
            magnitudes_.matrix()(i, o) = static_cast<float>(std::abs(element(w, i, o)));
    rows_ = even_rows(at.record().queries(), std::clamp(static_cast<Index>(most_products / products),
                                                        Index{1}, most_checked_queries));
}

bool HeadSums::step(PropertyResult& into) {
    const Index query = rows_[next_++];
    const LayerAttention at = trace_->attention(attention_);
    const Record& record = at.record();
    const Linear& w_o = at.half.attention_out;
    const auto width = static_cast<std::size_t>(w_o.weight.out);
    std::vector<double> sums(width), magnitudes(width);
    for (Index head = 0; head < record.heads(); ++head) {
        const Tensor added = trace_->head_contribution(attention_, head, {query, query + 1});
        const float* outputs = record.output().heads().head(head).row(query);
        for (std::size_t c = 0; c < width; ++c) sums[c] += static_cast<double>(added.values()[c]);
        for (Index b = 0; b < record.d_v(); ++b)
            for (std::size_t c = 0; c < width; ++c)
                magnitudes[c] +=
                    static_cast<double>(std::abs(outputs[b])) *
                    static_cast<double>(magnitudes_.matrix()(head * record.d_v() + b, static_cast<Index>(c)));
    }
    // A sum over one head and the sum over all of them, whose weights may have been widened from blocks.
    const double roundings = rounding_of_sum(static_cast<double>(record.d_v() + 4)) +
                             rounding_of_sum(static_cast<double>(w_o.weight.in + 5));
    std::vector<CheckedCell> cells;
    for (std::size_t c = 0; c < width; ++c) {
        const auto component = static_cast<Index>(c);
        const double bias = bias_of(w_o, component),
                     whole = static_cast<double>(at.run.attention_output.matrix()(query, component));
        cells.push_back({difference(sums[c] + bias, whole), roundings * (magnitudes[c] + std::abs(bias)),
                         sums[c] + bias, whole, attention_, 0, query, component});
    }
    into.add(cells);
    return next_ < rows_.size();
}

float HeadSums::progress() const { return static_cast<float>(next_) / static_cast<float>(rows_.size()); }

std::vector<double> head_summands(const Trace& trace, Index attention, Index query, Index component) {
    const LayerAttention at = trace.attention(attention);
    std::vector<double> summands;
    for (Index head = 0; head < at.record().heads(); ++head)
        summands.push_back(static_cast<double>(
            trace.head_contribution(attention, head, {query, query + 1}).matrix()(0, component)));
    summands.push_back(bias_of(at.half.attention_out, component));
    return summands;
}

// ---- The model once more ----------------------------------------------------------------------------------

Rerun::Rerun(Property property, std::shared_ptr<const Trace> trace, std::vector<CheckedHeads> heads,
             const CheckOptions& options)
    : property_(property), trace_(std::move(trace)), heads_(std::move(heads)) {
    const LayerAttention at = trace_->attention(heads_.front().layer);
    const bool of_encoder = at.place.kind == AttentionKind::encoder;
    std::vector<std::int32_t> ids(at.queries.ids().begin(), at.queries.ids().end());
    const Index tokens = std::ssize(ids);
    order_.resize(ids.size());
    std::iota(order_.begin(), order_.end(), Index{0});
    if (property != Property::bits && tokens < 2) {
        lacking_ = Lacking::tokens;
        return;
    }
    if (property == Property::past) {
        const auto vocabulary = static_cast<std::int32_t>(trace_->model()->config().vocab_size);
        ids.back() = (ids.back() + 1) % vocabulary;
        // Whether any query of the changed text's own attention sees a later token.
        const Record& own = at.queries.layers().front().attention;
        std::vector<std::uint8_t> seen(1);
        for (Index head = 0; head < own.heads(); ++head)
            for (Index query = 0; query + 1 < tokens; ++query) {
                own.spec().mask.row(head, query, tokens - 1, seen);
                is_meant_ = is_meant_ && !seen.front();
            }
        if (!at.queries.network().causal) is_meant_ = false;
    }
    if (property == Property::positions) {
        order_ = shuffled(tokens, options.seed);
        // A decoder's text begins with its start token.
        if (trace_->encoder() && !of_encoder) std::swap(order_.front(), *std::ranges::find(order_, 0));
        for (Index i = 0; i < tokens; ++i)
            ids[static_cast<std::size_t>(i)] =
                at.queries.ids()[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])];
        is_meant_ = false;
    }
    begin(std::move(ids), of_encoder);
}

void Rerun::begin(std::vector<std::int32_t> ids, bool of_encoder) {
    const Trace* encoder = trace_->encoder().get();
    const Trace& reads = encoder ? *encoder : *trace_;
    std::vector<std::int32_t> first(reads.ids().begin(), reads.ids().end()), second;
    if (encoder) second.assign(trace_->ids().begin(), trace_->ids().end());
    (encoder && !of_encoder ? second : first) = std::move(ids);
    std::vector<std::int32_t> segments(reads.segments().begin(), reads.segments().end());
    const auto& mask = trace_->mask() ? trace_->mask() : reads.mask();
    auto begun = mask ? ForwardPass::start_under(mask->mask, trace_->model(), std::move(first),
                                                 trace_->kernels(), operations_a_slice, std::move(segments),
                                                 std::move(second), mask->kind)
                      : ForwardPass::start(trace_->model(), std::move(first), trace_->kernels(),
                                           operations_a_slice, std::move(segments), std::move(second));
    if (begun)
        pass_ = *std::move(begun);
    else
        lacking_ = Lacking::rerun;
    is_changed_ = trace_->interventions().empty();
}

bool Rerun::step(PropertyResult& into) {
    if (!pass_ || lacking_ != Lacking::nothing) return false;
    if (pass_->step()) return true;
    auto run = pass_->finish();
    pass_.reset();
    if (!run) {
        lacking_ = Lacking::rerun;
        return false;
    }
    if (!is_changed_) {
        is_changed_ = true;
        auto changed = ForwardPass::start_with(trace_->interventions(), *run, operations_a_slice);
        if (changed)
            pass_ = *std::move(changed);
        else
            lacking_ = Lacking::rerun;
        return pass_.has_value();
    }
    compare(**run, into);
    return false;
}

void Rerun::compare(const Trace& other, PropertyResult& into) const {
    for (const CheckedHeads& heads : heads_) {
        const Record &here = *heads.record, &there = other.attention(heads.layer).record();
        const Index queries = here.queries() - (property_ == Property::past ? 1 : 0);
        for (Index head = heads.heads.begin; head < heads.heads.end; ++head)
            for (Index query = 0; query < queries; ++query) {
                const Index now = property_ == Property::positions
                                      ? std::ranges::find(order_, query) - order_.begin()
                                      : query;
                into.add(compared_outputs(here, query, there, now, heads.layer, head));
            }
    }
}

float Rerun::progress() const { return pass_ ? pass_->progress() : 1; }

}  // namespace attn
