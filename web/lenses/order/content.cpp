#include "lenses/order/content.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/block.hpp"
#include "model/rope_scaling.hpp"

namespace attn::app {

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

OrderContent::OrderContent(const Attention& attention, std::shared_ptr<const Record> record, HeadIndex head,
                           Range queries, Range keys)
    : record_(std::move(record)),
      trace_(attention.trace()),
      head_(head),
      queries_(queries),
      keys_(keys),
      one_line_(attention.one_line() && record_->queries() == record_->keys()) {
    const auto part = [](const std::vector<std::string>& names, Range of) {
        return std::vector(names.begin() + of.begin, names.begin() + of.end);
    };
    query_names_ = part(attention.query_names(), queries);
    key_names_ = part(attention.key_names(), keys);
    if (!one_line_ && !trace_)
        if (const auto offset =
                diagonal_of(record_->spec().mask, head.head, record_->queries(), record_->keys()))
            has_diagonal_ = true, offset_ = *offset;
    const Index kv_head = record_->kv_head(head.head);
    rows_ = {part_of(record_->q().heads().head(head.head), queries),
             part_of(record_->k().heads().head(kv_head), keys),
             part_of(record_->v().heads().head(kv_head), keys)};
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
        rows_.k = rows_pre_rope(*trace_, Stage::k, head.layer, kv_head, keys);
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

bool OrderContent::finite() const {
    return std::ranges::all_of(std::array{&rows_.q, &rows_.k, &rows_.v}, [](const Tensor* tensor) {
        return std::ranges::all_of(tensor->values(), [](float x) { return std::isfinite(x); });
    });
}

AttentionSpec OrderContent::spec(bool masked) const {
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

bool OrderContent::has_mask() const { return !record_->spec().mask.is_everything(); }

bool OrderContent::is_padding(Index token) const {
    return trace_->ids()[static_cast<std::size_t>(queries_.begin + token)] ==
           trace_->model()->network().padding_id;
}

bool OrderContent::has_padding() const {
    return std::ranges::count(trace_->ids(), trace_->model()->network().padding_id) > 0;
}

std::vector<Index> OrderContent::counted(std::span<const Index> tokens,
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

Tensor OrderContent::own_inputs(std::span<const Index> tokens, std::span<const Index> positions) const {
    const Network& network = trace_->model()->network();
    const Tensor& embedding = trace_->token_embedding();
    Tensor rows({std::ssize(tokens), embedding.dim(1)});
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        ids.push_back(is_padding(tokens[i])
                          ? network.padding_id
                          : static_cast<std::int32_t>(network.first_position + positions[i]));
    look_up(*network.position_embedding, ids, rows.matrix());
    for (Index i = 0; i < std::ssize(tokens); ++i)
        add(attn::rows(embedding.matrix(), {queries_.begin + tokens[static_cast<std::size_t>(i)],
                                            queries_.begin + tokens[static_cast<std::size_t>(i)] + 1}),
            attn::rows(rows.matrix(), {i, i + 1}));
    if (trace_->segment_embedding().size() > 0)
        for (Index i = 0; i < std::ssize(tokens); ++i) {
            const Index token = queries_.begin + tokens[static_cast<std::size_t>(i)];
            add(attn::rows(trace_->segment_embedding().matrix(), {token, token + 1}),
                attn::rows(rows.matrix(), {i, i + 1}));
        }
    return first_inputs(std::move(rows));
}

Tensor OrderContent::first_inputs(Tensor sums) const {
    const Network& network = trace_->model()->network();
    if (network.embedding_norm)
        normalise(trace_->kernels(), *network.embedding_norm, sums.matrix(), sums.matrix());
    if (const auto& norm = network.blocks.front().attention_norm)
        normalise(trace_->kernels(), *norm, sums.matrix(), sums.matrix());
    return sums;
}

Tensor OrderContent::projected(const HeadProjection::Part& part, ConstMatrix inputs) const {
    const LinearView view = part.view();
    Tensor rows({1, inputs.rows, view.weight.out});
    apply(trace_->kernels(), view, inputs, rows.heads().head(0));
    return rows;
}

HeadRows OrderContent::at_own_positions(std::span<const Index> tokens,
                                        std::span<const Index> positions) const {
    const Tensor inputs = own_inputs(tokens, counted(tokens, positions));
    return {projected(projection_->q, inputs.matrix()), projected(projection_->k, inputs.matrix()),
            projected(projection_->v, inputs.matrix())};
}

std::vector<double> OrderContent::at_own_position(Stage stage, std::optional<Index> token,
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

}  // namespace attn::app
