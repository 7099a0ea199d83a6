#include "analysis/properties/paired_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "analysis/properties/rounding_bounds.hpp"

namespace attn {

namespace {

// The attention without the run's changes to single scores and weights, which have places of their own.
AttentionSpec without_edits(AttentionSpec spec) {
    spec.edits = {};
    return spec;
}

Record prepared(Tensor q, Tensor k, Tensor v, AttentionSpec spec, const Kernels& kernels) {
    return *Record::prepare(std::move(q), std::move(k), std::move(v), std::move(spec), kernels);
}
Record same(const Record& record) { return *record.prepare_under(without_edits(record.spec())); }

// ---- The same bits -----------------------------------------------------------------------------------

Range kv_heads_of(const CheckedHeads& heads) {
    return {heads.record->kv_head(heads.heads.begin), heads.record->kv_head(heads.heads.end - 1) + 1};
}

// Two runs whose outputs have to be the same bits, each row computed alone.
struct TwoRuns : RowCheck {
    const CheckedHeads& of;
    std::optional<Record> base, other;
    explicit TwoRuns(const CheckedHeads& heads) : of(heads) {}
    void compute(Index query) override {
        if (base) base->compute({query, query + 1}, 1, kv_heads_of(of));
        if (other) other->compute({query, query + 1}, 1, kv_heads_of(of));
    }
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        return compared_outputs(base ? *base : *of.record, query, *other, query, of.layer, head);
    }
};

// The rows once more, with some before and behind in the same call.
struct Again : TwoRuns {
    explicit Again(const CheckedHeads& heads) : TwoRuns(heads) {
        other = *heads.record->prepare_under(heads.record->spec());
    }
    void compute(Index query) override {
        other->compute({query < 2 ? query : query - 2, std::min(query + 3, of.record->queries())}, 2,
                       kv_heads_of(of));
    }
};

Tensor first_rows(const Tensor& from, Index rows) {
    Tensor to({from.dim(0), rows, from.dim(2)});
    for (Index h = 0; h < from.dim(0); ++h)
        for (Index i = 0; i < rows; ++i)
            std::copy_n(from.heads().head(h).row(i), from.dim(2), to.heads().head(h).row(i));
    return to;
}

Bias cut_bias(Bias bias, Index queries, Index keys) {
    if (bias.empty() || bias.zero) return bias;
    const ConstHeads all = bias.values->heads();
    Tensor cut({all.heads, all.rows == 1 ? 1 : queries, all.cols == 1 ? 1 : keys});
    for (Index h = 0; h < all.heads; ++h)
        for (Index i = 0; i < cut.dim(1); ++i)
            std::copy_n(all.head(h).row(i), cut.dim(2), cut.heads().head(h).row(i));
    bias.values = std::make_shared<const Tensor>(std::move(cut));
    return bias;
}

struct CutShort : TwoRuns {
    explicit CutShort(const CheckedHeads& heads) : TwoRuns(heads) {
        const Record& record = *heads.record;
        const Index queries = half_of(record.queries()), keys = keys_with(record, queries);
        base = same(record);
        AttentionSpec spec = without_edits(record.spec());
        spec.scale = record.scale();
        spec.bias = cut_bias(spec.bias, queries, keys);
        other = prepared(first_rows(record.q(), queries), first_rows(record.k(), keys),
                         first_rows(record.v(), keys), spec, record.kernels());
    }
};

struct OtherFuture : TwoRuns {
    explicit OtherFuture(const CheckedHeads& heads) : TwoRuns(heads) {
        const Record& record = *heads.record;
        const Index queries = half_of(record.queries());
        const auto changed = [](Tensor vectors, Index first) {
            for (Index h = 0; h < vectors.dim(0); ++h)
                for (Index i = first; i < vectors.dim(1); ++i)
                    for (Index a = 0; a < vectors.dim(2); ++a) {
                        float& x = vectors.heads().head(h)(i, a);
                        x = 1 - 2 * x;
                    }
            return vectors;
        };
        base = same(record);
        const Index keys = keys_with(record, queries);
        other = prepared(changed(record.q(), queries), changed(record.k(), keys), changed(record.v(), keys),
                         base->spec(), record.kernels());
    }
};

// ---- Masked keys ------------------------------------------------------------------------------------------

// Weights of masked cells, and what poison in these keys and values does to the row.
struct Masked : TwoRuns {
    explicit Masked(const CheckedHeads& heads) : TwoRuns(heads) { base = same(*heads.record); }
    void compute(Index query) override {
        const Record& record = *of.record;
        Tensor k = record.k(), v = record.v();
        const Index group = record.heads() / record.kv_heads();
        std::vector<std::uint8_t> seen(static_cast<std::size_t>(record.keys()));
        for (Index g = 0; g < record.kv_heads(); ++g) {
            std::vector<std::uint8_t> by_any(seen.size());
            for (Index head = g * group; head < (g + 1) * group; ++head) {
                record.spec().mask.row(head, query, 0, seen);
                std::ranges::transform(by_any, seen, by_any.begin(),
                                       [](auto a, auto b) { return static_cast<std::uint8_t>(a | b); });
            }
            for (Index j = 0; j < record.keys(); ++j) {
                if (by_any[static_cast<std::size_t>(j)]) continue;
                std::fill_n(k.heads().head(g).row(j), record.d_k(), std::nanf(""));
                std::fill_n(v.heads().head(g).row(j), record.d_v(),
                            j % 2 ? std::nanf("") : std::numeric_limits<float>::infinity());
            }
        }
        other = prepared(record.q(), std::move(k), std::move(v), base->spec(), record.kernels());
        TwoRuns::compute(query);
    }
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        std::vector<std::uint8_t> seen(static_cast<std::size_t>(of.record->keys()));
        of.record->spec().mask.row(head, query, 0, seen);
        std::vector<CheckedCell> cells;
        if (std::ranges::count(seen, 0) == 0) return cells;
        // What the poison did to the row belongs to its first masked key.
        double changed = difference(static_cast<double>(base->row_max().matrix()(head, query)),
                                    static_cast<double>(other->row_max().matrix()(head, query)));
        changed =
            std::max(changed, difference(static_cast<double>(base->row_log_sum().matrix()(head, query)),
                                         static_cast<double>(other->row_log_sum().matrix()(head, query))));
        for (const CheckedCell& each : TwoRuns::cells(head, query)) changed = std::max(changed, each.error);
        const std::vector<float> weights = of.record->weights(head, query);
        for (std::size_t j = 0; j < seen.size(); ++j) {
            if (seen[j]) continue;
            const double w = static_cast<double>(weights[j]);
            cells.push_back({std::max(difference(w, 0), cells.empty() ? changed : 0), 0, w, 0, of.layer, head,
                             query, static_cast<Index>(j)});
        }
        return cells;
    }
};

// ---- Shifted scores ---------------------------------------------------------------------------------------

// Compares two runs whose scores are rounded apart: each is within its bound of the exact row.
std::vector<CheckedCell> within_both(std::vector<CheckedCell> cells, const RowBounds& bounds,
                                     double largest) {
    for (CheckedCell& each : cells) each.bound = bounds.output(each.at).shifted(largest);
    return cells;
}

struct Shifted : TwoRuns {
    double constant;
    Shifted(const CheckedHeads& heads, double added) : TwoRuns(heads), constant(added) {
        base = same(*heads.record);
        AttentionSpec spec = base->spec();
        Tensor bias = spec.bias.empty() ? Tensor({1, 1, 1}) : *spec.bias.values;
        for (float& each : bias.values()) each += static_cast<float>(constant);
        spec.bias.values = std::make_shared<const Tensor>(std::move(bias));
        other = *heads.record->prepare_under(spec);
    }
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        const RowBounds bounds(*base, head, query);
        return within_both(TwoRuns::cells(head, query), bounds, largest_shifted(*base, bounds, constant));
    }
};

// ---- Another order ----------------------------------------------------------------------------------------

// The checked queries and all keys of each head, in an order drawn from the seed, with the mask and the bias
// that these places have: what comes out has to be the outputs in this order.
struct Permuted : TwoRuns {
    std::vector<Record> heads;
    std::vector<Index> rows, keys;  // in the new order
    Permuted(const CheckedHeads& all, std::span<const Index> checked, std::uint64_t seed) : TwoRuns(all) {
        const Record& record = *all.record;
        base = same(record);
        keys = shuffled(record.keys(), seed);
        // Where queries and keys are the same tokens, they have one order.
        const std::vector<Index> order =
            record.queries() == record.keys() ? keys : shuffled(record.queries(), seed + 1);
        for (const Index each : order)
            if (std::ranges::binary_search(checked, each)) rows.push_back(each);
        for (Index head = all.heads.begin; head < all.heads.end; ++head) heads.push_back(permuted(head));
    }
    Record permuted(Index head) const {
        const Record& record = *of.record;
        const auto n = std::ssize(rows), m = std::ssize(keys);
        const auto taken = [](ConstMatrix from, std::span<const Index> order) {
            Tensor to({1, std::ssize(order), from.cols});
            for (Index i = 0; i < std::ssize(order); ++i)
                std::copy_n(from.row(order[static_cast<std::size_t>(i)]), from.cols,
                            to.heads().head(0).row(i));
            return to;
        };
        AttentionSpec spec = base->spec();
        spec.scale = record.scale();
        spec.mask = {};
        spec.bias = {};
        PaintedBits bits{1, n, m, {}};
        Tensor bias({1, n, record.spec().bias.empty() ? 0 : m});
        for (Index i = 0; i < n; ++i) {
            const Index query = rows[static_cast<std::size_t>(i)];
            std::vector<std::uint8_t> seen(keys.size());
            record.spec().mask.row(head, query, 0, seen);
            for (std::size_t j = 0; j < keys.size(); ++j) {
                bits.allowed.push_back(seen[static_cast<std::size_t>(keys[j])]);
                if (bias.dim(2) > 0)
                    bias.heads().head(0)(i, static_cast<Index>(j)) =
                        record.spec().bias.at(head, query, keys[j]);
            }
        }
        if (!record.spec().mask.is_everything()) spec.mask = Mask::painted(std::move(bits));
        if (bias.dim(2) > 0) spec.bias.values = std::make_shared<const Tensor>(std::move(bias));
        const Index kv = record.kv_head(head);
        return prepared(taken(record.q().heads().head(head), rows), taken(record.k().heads().head(kv), keys),
                        taken(record.v().heads().head(kv), keys), std::move(spec), record.kernels());
    }
    Index place(Index query) const { return std::ranges::find(rows, query) - rows.begin(); }
    void compute(Index query) override {
        TwoRuns::compute(query);
        for (Record& each : heads) each.compute({place(query), place(query) + 1});
    }
    std::vector<CheckedCell> cells(Index head, Index query) const override {
        const Record& there = heads[static_cast<std::size_t>(head - of.heads.begin)];
        std::vector<CheckedCell> cells;
        for (Index b = 0; b < base->d_v(); ++b) {
            const double a = static_cast<double>(base->output().heads().head(head)(query, b)),
                         c = static_cast<double>(there.output().heads().head(0)(place(query), b));
            cells.push_back({difference(a, c), 0, a, c, of.layer, head, query, b});
        }
        return within_both(std::move(cells), RowBounds(*base, head, query), 0);
    }
};

}  // namespace

std::vector<CheckedCell> compared_outputs(const Record& here, Index query, const Record& there,
                                          Index query_there, Index layer, Index head) {
    std::vector<CheckedCell> cells;
    const float *a = here.output().heads().head(head).row(query),
                *b = there.output().heads().head(head).row(query_there);
    for (Index c = 0; c < here.d_v(); ++c)
        cells.push_back({difference(static_cast<double>(a[c]), static_cast<double>(b[c])), 0,
                         static_cast<double>(a[c]), static_cast<double>(b[c]), layer, head, query, c});
    return cells;
}

double largest_shifted(const Record& record, const RowBounds& bounds, double constant) {
    double largest_bias = 0;
    if (const Bias& bias = record.spec().bias; !bias.empty())
        for (const float each : bias.values->values())
            if (std::isfinite(each))
                largest_bias = std::max(largest_bias, std::abs(static_cast<double>(each)));
    return bounds.largest_score() + 2 * std::abs(constant) + largest_bias;
}

Index half_of(Index queries) { return std::max<Index>(1, queries / 2); }

Index keys_with(const Record& record, Index queries) {
    const Index past = std::max<Index>(0, record.keys() - record.queries());
    return std::min(record.keys(), past + queries);
}

std::unique_ptr<RowCheck> paired_runs(Property property, const CheckedHeads& heads,
                                      std::span<const Index> rows, const CheckOptions& options) {
    switch (property) {
        case Property::masked: return std::make_unique<Masked>(heads);
        case Property::permutation: return std::make_unique<Permuted>(heads, rows, options.seed);
        case Property::shift: return std::make_unique<Shifted>(heads, options.constant);
        case Property::bits: return std::make_unique<Again>(heads);
        case Property::lengths: return std::make_unique<CutShort>(heads);
        case Property::past: return std::make_unique<OtherFuture>(heads);
        default: {
            auto alone = std::make_unique<TwoRuns>(heads);
            alone->other = *heads.record->prepare_under(heads.record->spec());
            return alone;
        }
    }
}

}  // namespace attn
