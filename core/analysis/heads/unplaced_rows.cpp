#include "analysis/heads/unplaced_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/block.hpp"
#include "model/explain.hpp"
#include "model/rope_scaling.hpp"

namespace attn {

namespace {

// Rows of one head, [1, n, d].
Tensor part_of(ConstMatrix head, Range rows) {
    Tensor part({1, rows.size(), head.cols});
    for (Index i = 0; i < rows.size(); ++i)
        std::copy_n(head.row(rows.begin + i), head.cols, part.heads().head(0).row(i));
    return part;
}

}  // namespace

std::optional<Index> diagonal_of(const Mask& mask, Index head, Index queries, Index keys) {
    if (mask.is_everything() || queries == 0 || keys == 0) return std::nullopt;
    std::vector<std::uint8_t> row(static_cast<std::size_t>(keys));
    // Finds the first row that has a key; in earlier rows the edge has not reached the first key.
    for (Index query = 0; query < queries; ++query) {
        if (query > 0 && !mask.allows(head, query, 0)) continue;
        mask.row(head, query, 0, row);
        const auto last = std::find(row.rbegin(), row.rend(), 1);
        if (last == row.rend()) continue;
        const Index offset = row.rend() - last - 1 - query;
        if (query > 0 && offset != -query) return std::nullopt;
        if (offset >= keys - 1) return std::nullopt;  // nothing is hidden
        for (Index each = 0; each < queries; ++each)
            for (const Index key : {each + offset, each + offset + 1})
                if (key >= 0 && key < keys && mask.allows(head, each, key) != (key == each + offset))
                    return std::nullopt;
        return offset;
    }
    return std::nullopt;
}

UnplacedRows::UnplacedRows(std::shared_ptr<const Trace> trace, std::shared_ptr<const Record> record,
                           HeadIndex head, Range queries, std::optional<Range> keys)
    : record_(std::move(record)),
      trace_(std::move(trace)),
      head_(head),
      one_line_(!keys),
      queries_(queries),
      keys_(keys.value_or(queries)) {
    if (!one_line_ && !trace_)
        if (const auto offset =
                diagonal_of(record_->spec().mask, head.head, record_->queries(), record_->keys()))
            has_diagonal_ = true, offset_ = *offset;
    const Index kv_head = record_->kv_head(head.head);
    rows_ = {part_of(record_->q().heads().head(head.head), queries_),
             part_of(record_->k().heads().head(kv_head), keys_),
             part_of(record_->v().heads().head(kv_head), keys_)};
    frequencies_ = rotary_frequencies(record_->d_k() - record_->d_k() % 2, base_, {});
    if (!trace_) return;
    const Model& model = *trace_->model();
    context_ = model.config().context;
    if (!one_line_) {
        from_ = From::crossed;
        return;
    }
    if (!record_->spec().bias.empty()) {
        from_ = From::biased;
        own_bias_ = &*trace_->attention(head.layer).queries.network().relative_bias;
    } else if (const Rotary* rotary = model.network().rotary_of(head.layer)) {
        from_ = From::unturned;
        frequencies_ = rotary->of_text(trace_->tokens());
        base_ = rotary->base;
        magnitude_ = rotary->magnitude;
        interleaved_ = rotary->interleaved;
        rows_.q = rows_pre_rope(*trace_, Stage::q, head.layer, head.head, queries);
        rows_.k = rows_pre_rope(*trace_, Stage::k, head.layer, kv_head, keys_);
    } else if (head.layer == 0 && model.network().position_embedding) {
        from_ = From::embedding;
        projection_ = head_projection(model, head.layer, head.head);
        Tensor embeddings({queries.size(), model.config().d_model});
        copy(attn::rows(trace_->token_embedding().matrix(), queries), embeddings.matrix());
        const Tensor inputs = first_inputs(std::move(embeddings));
        rows_ = {projected(projection_->q, inputs.matrix()), projected(projection_->k, inputs.matrix()),
                 projected(projection_->v, inputs.matrix())};
    } else {
        from_ = From::inside;
    }
}

bool UnplacedRows::finite() const {
    return std::ranges::all_of(std::array{&rows_.q, &rows_.k, &rows_.v}, [](const Tensor* tensor) {
        return std::ranges::all_of(tensor->values(), [](float x) { return std::isfinite(x); });
    });
}

AttentionSpec UnplacedRows::spec(bool masked) const {
    AttentionSpec spec;
    spec.scale = record_->scale();
    spec.softcap = record_->spec().softcap;
    if (!masked) return spec;
    PaintedBits bits{1, queries_.size(), keys_.size(), {}};
    for (Index i = queries_.begin; i < queries_.end; ++i)
        for (Index j = keys_.begin; j < keys_.end; ++j)
            bits.allowed.push_back(record_->spec().mask.allows(head_.head, i, j));
    spec.mask = Mask::painted(std::move(bits));
    return spec;
}

PositionRule UnplacedRows::rule(PositionScheme scheme, std::uint64_t seed, bool interleaved,
                                bool both_ways) const {
    PositionRule rule{.scheme = scheme,
                      .seed = seed,
                      .frequencies = frequencies_,
                      .magnitude = magnitude_,
                      .interleaved = interleaved,
                      .slope = alibi_slopes(record_->heads())[static_cast<std::size_t>(head_.head)]};
    rule.buckets.both_ways = both_ways;
    rule.bucket_biases = drawn_bucket_biases(seed, rule.buckets.count);
    if (own_bias_ && scheme == PositionScheme::own_buckets) {
        rule.buckets = own_bias_->buckets;
        rule.bucket_biases.clear();
        for (Index bucket = 0; bucket < own_bias_->buckets.count; ++bucket)
            rule.bucket_biases.push_back(element(own_bias_->table, head_.head, bucket));
    }
    return rule;
}

bool UnplacedRows::reaches(const PositionRule& rule, Index position) const {
    if (rule.scheme == PositionScheme::own_buckets) return own_bias_;
    if (rule.scheme != PositionScheme::learned) return true;
    return position < (own_table() ? context_ : rule.table_rows);
}

double UnplacedRows::score(double dot, double bias) const {
    const double scaled = record_->scale() * dot, cap = record_->spec().softcap;
    return (cap > 0 ? cap * std::tanh(scaled / cap) : scaled) + bias;
}

std::vector<double> UnplacedRows::row(Stage stage, std::optional<Index> token) const {
    const ConstMatrix all = (stage == Stage::q ? rows_.q : rows_.k).heads().head(0);
    std::vector<double> mean(static_cast<std::size_t>(all.cols));
    const Range of = token ? Range{*token, *token + 1} : Range{0, all.rows};
    for (Index row = of.begin; row < of.end; ++row)
        for (Index a = 0; a < all.cols; ++a)
            mean[static_cast<std::size_t>(a)] +=
                static_cast<double>(all(row, a)) / static_cast<double>(of.size());
    return mean;
}

std::vector<double> UnplacedRows::row_at(const PositionRule& rule, Stage stage, std::optional<Index> token,
                                         Index position) const {
    return is_own_table(rule) ? at_own_position(stage, token, position)
                              : placed(rule, row(stage, token), position);
}

std::vector<double> UnplacedRows::row_in(const PositionRule& rule, Stage stage, std::span<const Index> order,
                                         Index place) const {
    const Index token = order[static_cast<std::size_t>(place)];
    if (!is_own_table(rule))
        return row_at(rule, stage, token, stage == Stage::q ? query_position(place) : key_position(place));
    std::vector<Index> positions;
    for (Index each = 0; each < std::ssize(order); ++each) positions.push_back(query_position(each));
    return at_own_position(stage, token, counted(order, positions)[static_cast<std::size_t>(place)]);
}

bool UnplacedRows::is_padding(Index token) const {
    return trace_->ids()[static_cast<std::size_t>(queries_.begin + token)] ==
           trace_->model()->network().padding_id;
}

bool UnplacedRows::has_padding() const {
    return std::ranges::count(trace_->ids(), trace_->model()->network().padding_id) > 0;
}

std::vector<Index> UnplacedRows::counted(std::span<const Index> tokens,
                                         std::span<const Index> positions) const {
    const auto before = trace_->ids().first(static_cast<std::size_t>(queries_.begin));
    Index padding = std::ranges::count(before, trace_->model()->network().padding_id);
    std::vector<Index> out;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        out.push_back(positions[i] - padding);
        if (is_padding(tokens[i])) ++padding;
    }
    return out;
}

Tensor UnplacedRows::own_inputs(std::span<const Index> tokens, std::span<const Index> positions) const {
    const Network& network = trace_->model()->network();
    const Tensor& embedding = trace_->token_embedding();
    Tensor rows({std::ssize(tokens), embedding.dim(1)});
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        ids.push_back(is_padding(tokens[i])
                          ? network.padding_id
                          : static_cast<std::int32_t>(network.first_position + positions[i]));
    look_up(*network.position_embedding, ids, rows.matrix());
    for (Index i = 0; i < std::ssize(tokens); ++i) {
        const Index token = queries_.begin + tokens[static_cast<std::size_t>(i)];
        for (const Tensor* added : {&embedding, &trace_->segment_embedding()})
            if (added->size() > 0)
                add(attn::rows(added->matrix(), {token, token + 1}), attn::rows(rows.matrix(), {i, i + 1}));
    }
    return first_inputs(std::move(rows));
}

Tensor UnplacedRows::first_inputs(Tensor sums) const {
    const Network& network = trace_->model()->network();
    if (network.embedding_norm)
        normalise(trace_->kernels(), *network.embedding_norm, sums.matrix(), sums.matrix());
    if (const auto& norm = network.blocks.front().attention_norm)
        normalise(trace_->kernels(), *norm, sums.matrix(), sums.matrix());
    return sums;
}

Tensor UnplacedRows::projected(const HeadProjection::Part& part, ConstMatrix inputs) const {
    const LinearView view = part.view();
    Tensor rows({1, inputs.rows, view.weight.out});
    apply(trace_->kernels(), view, inputs, rows.heads().head(0));
    return rows;
}

HeadRows UnplacedRows::at_own_positions(std::span<const Index> tokens,
                                        std::span<const Index> positions) const {
    const Tensor inputs = own_inputs(tokens, counted(tokens, positions));
    return {projected(projection_->q, inputs.matrix()), projected(projection_->k, inputs.matrix()),
            projected(projection_->v, inputs.matrix())};
}

std::vector<double> UnplacedRows::at_own_position(Stage stage, std::optional<Index> token,
                                                  Index position) const {
    std::vector<Index> tokens;
    for (Index each = 0; each < queries_.size(); ++each)
        if (!token || *token == each) tokens.push_back(each);
    const Tensor inputs = own_inputs(tokens, std::vector<Index>(tokens.size(), position));
    // A projection is linear, so the projected mean is the mean of the projections.
    Tensor mean({1, inputs.dim(1)});
    for (Index i = 0; i < inputs.dim(0); ++i) add(attn::rows(inputs.matrix(), {i, i + 1}), mean.matrix());
    for (float& each : mean.values()) each /= static_cast<float>(inputs.dim(0));
    const Tensor row = projected(stage == Stage::q ? projection_->q : projection_->k, mean.matrix());
    return {row.values().begin(), row.values().end()};
}

}  // namespace attn
