#include "attention/record.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/shifted_rule.hpp"
#include "kernels/exponentials.hpp"
#include "kernels/workers.hpp"

namespace attn {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

Status check(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec) {
    const auto wrong = [](const std::string& what) { return Error{"attention: " + what}; };
    const auto axes = [&](const char* name, const Tensor& t, const char* expected) {
        return wrong(std::string(name) + " is " + to_string(t.shape()) + "; give it the three axes " +
                     expected);
    };
    if (q.rank() != 3) return axes("q", q, "[heads, n_q, d_k]");
    if (k.rank() != 3) return axes("k", k, "[kv_heads, n_k, d_k]");
    if (v.rank() != 3) return axes("v", v, "[kv_heads, n_k, d_v]");

    const Index heads = q.dim(0), kv_heads = k.dim(0);
    if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
        return wrong("q has " + std::to_string(heads) + " heads and k has " + std::to_string(kv_heads) +
                     "; the first must be a multiple of the second");
    if (v.dim(0) != kv_heads || v.dim(1) != k.dim(1))
        return wrong("k is " + to_string(k.shape()) + " and v is " + to_string(v.shape()) +
                     "; their heads and keys must be the same");
    if (q.dim(2) != k.dim(2) || q.dim(2) < 1)
        return wrong("q is " + to_string(q.shape()) + " and k is " + to_string(k.shape()) +
                     "; their last axes must be the same and not empty");
    if (const auto size = element_count({heads, q.dim(1), v.dim(2)}, sizeof(float)); !size)
        return wrong("the output does not fit into memory: " + size.error().message);

    if (spec.bias.empty()) return ok();
    const Tensor& bias = *spec.bias.values;
    const Shape scores{heads, q.dim(1), k.dim(1)};
    if (const auto zero = spec.bias.zero) {
        if (bias.rank() != 3 || (bias.dim(0) != 1 && bias.dim(0) != heads) || bias.dim(1) != 1 ||
            *zero < q.dim(1) - 1 || bias.dim(2) - *zero < k.dim(1))
            return wrong("the bias by offsets is " + to_string(bias.shape()) + " and the scores are " +
                         to_string(scores) + "; it has to have every offset of a key from a query");
        return ok();
    }
    bool fits = bias.rank() == 3;
    for (Index axis = 0; fits && axis < 3; ++axis)
        fits = bias.dim(axis) == 1 || bias.dim(axis) == scores[static_cast<std::size_t>(axis)];
    if (!fits)
        return wrong("the bias is " + to_string(bias.shape()) + " and the scores are " + to_string(scores) +
                     "; each axis of the bias must be 1 or that of the scores");
    return ok();
}

}  // namespace

Record::Record(SharedTensor q, SharedTensor k, SharedTensor v, AttentionSpec spec, const Kernels& kernels)
    : spec_(std::move(spec)),
      scale_(spec_.scale.value_or(1 / std::sqrt(static_cast<double>(q->dim(2))))),
      kernels_(&kernels),
      q_(std::move(q)),
      k_(std::move(k)),
      v_(std::move(v)),
      output_({heads(), queries(), 0}),
      row_max_({heads(), queries()}),
      row_log_sum_({heads(), queries()}) {}

Result<Record> Record::prepare(Tensor q, Tensor k, Tensor v, AttentionSpec spec, const Kernels& kernels) {
    if (auto status = check(q, k, v, spec); !status) return status.error();
    const auto shared = [](Tensor& tensor) { return std::make_shared<const Tensor>(std::move(tensor)); };
    return Record(shared(q), shared(k), shared(v), std::move(spec), kernels);
}

Result<Record> Record::prepare_under(AttentionSpec spec) const {
    if (auto status = check(*q_, *k_, *v_, spec); !status) return status.error();
    return Record(q_, k_, v_, std::move(spec), *kernels_);
}

Result<Record> Record::run(Tensor q, Tensor k, Tensor v, AttentionSpec spec, const Kernels& kernels) {
    auto record = prepare(std::move(q), std::move(k), std::move(v), std::move(spec), kernels);
    if (record) {
        record->allocate_output();
        kernels.attention(record->call());
        for (Index head = 0; head < record->heads(); ++head)
            record->compute_changed(head, {0, record->queries()}, true);
    }
    return record;
}

void Record::allocate_output() {
    if (output_.dim(2) != d_v()) output_ = Tensor({heads(), queries(), d_v()});
}

void Record::take_rows(const Record& before, Index kept, Index room) {
    for (const auto rows : {&Record::output_, &Record::row_max_, &Record::row_log_sum_})
        this->*rows = (before.*rows).continued(1, kept, queries(), room);
}

AttentionCall Record::call() {
    AttentionCall call{.q = q_->heads(),
                       .k = k_->heads(),
                       .v = v_->heads(),
                       .scale = static_cast<float>(scale_),
                       .softcap = static_cast<float>(spec_.softcap),
                       .rule = spec_.mask.rule(),
                       .softmax_precision = spec_.softmax_precision,
                       .output = output_.heads(),
                       .row_max = row_max_.matrix(),
                       .row_log_sum = row_log_sum_.matrix()};
    if (!spec_.bias.empty()) {
        call.bias = spec_.bias.view(heads(), queries(), keys());
        call.bias_one_column = spec_.bias.one_column();
    }
    return call;
}

namespace {

// Counts every `step`-th element of a range, from the first on.
Index count_of(Range range, Index step) { return (range.size() + step - 1) / step; }

template <class T>
MatrixView<T> every(Index step, MatrixView<T> m, Range range) {
    return {m.row(range.begin), count_of(range, step), m.cols, m.row_stride * step};
}
template <class T>
HeadsView<T> every(Index step, HeadsView<T> m, Range range) {
    return {m.data + range.begin * m.row_stride,
            m.heads,
            count_of(range, step),
            m.cols,
            m.head_stride,
            m.row_stride * step};
}

template <class T>
HeadsView<T> part(HeadsView<T> m, Range heads) {
    m.data += heads.begin * m.head_stride;
    m.heads = heads.size();
    return m;
}

// Narrows a call to some heads, those of K and V that serve them, and every `step`-th of some queries; its
// rule and the row numbers stay.
AttentionCall narrowed(AttentionCall call, Range heads, Range kv_heads, Range queries, Index step) {
    call.q = every(step, part(call.q, heads), queries);
    call.k = part(call.k, kv_heads);
    call.v = part(call.v, kv_heads);
    if (call.bias.data) call.bias = every(step, part(call.bias, heads), queries);
    call.output = every(step, part(call.output, heads), queries);
    return call;
}

}  // namespace

void Record::compute(Range queries, Index step) { compute(queries, step, {0, kv_heads()}); }

void Record::compute(Range queries, Index step, Range kv_heads) {
    allocate_output();
    compute(call(), queries, step, kv_heads);
}

void Record::measure(Range queries, Index step) { measure(queries, step, {0, kv_heads()}); }

void Record::measure(Range queries, Index step, Range kv_heads) {
    AttentionCall call = this->call();
    call.v.cols = call.output.cols = 0;
    compute(call, queries, step, kv_heads);
}

void Record::measure(Range queries, const KeyPart& part) {
    AttentionCall call = this->call();
    call.v.cols = call.output.cols = 0;
    call.part = &part;
    const ShiftedRule rule{call.rule, 0, queries.begin, 1};
    call = narrowed(call, {0, 1}, {0, 1}, queries, 1);
    call.rule = rule.shifted();
    for (MatrixView<float>* const numbers : {&call.row_max, &call.row_log_sum})
        *numbers = {numbers->row(0) + queries.begin, 1, queries.size(), numbers->row_stride};
    kernels_->attention(call);
}

void Record::compute(AttentionCall call, Range queries, Index step, Range kv_heads) {
    const Index count = count_of(queries, step), group = heads() / this->kv_heads();
    if (count <= 0) return;
    const Range heads{kv_heads.begin * group, kv_heads.end * group};
    const ShiftedRule rule{call.rule, heads.begin, queries.begin, step};
    call = narrowed(call, heads, kv_heads, queries, step);
    call.rule = rule.shifted();
    Tensor max({heads.size(), count}), log_sum({heads.size(), count});
    call.row_max = max.matrix();
    call.row_log_sum = log_sum.matrix();
    kernels_->attention(call);
    for (Index head = 0; head < heads.size(); ++head)
        for (Index i = 0; i < count; ++i) {
            row_max_.matrix()(heads.begin + head, queries.begin + i * step) = max.matrix()(head, i);
            row_log_sum_.matrix()(heads.begin + head, queries.begin + i * step) = log_sum.matrix()(head, i);
        }
    if (!spec_.edits) return;
    const bool output = call.output.cols > 0;
    for (Index head = heads.begin; head < heads.end; ++head) {
        if (step == 1) compute_changed(head, queries, output);
        for (Index i = 0; step > 1 && i < count; ++i)
            compute_changed(head, {queries.begin + i * step, queries.begin + i * step + 1}, output);
    }
}

void Record::compute_changed(Index head, Range queries, bool output) {
    if (!spec_.edits) return;
    const auto is_changed = [&](Index query) {
        return changes(CellEdit::Of::score, head, query) || changes(CellEdit::Of::weight, head, query);
    };
    constexpr Index at_once = 64;
    AlignedVector<float> scores;  // the scores of neighbours together: [queries, keys]
    for (Index begin = queries.begin; begin < queries.end;) {
        Index end = begin;
        while (end < queries.end && end < begin + at_once && is_changed(end)) ++end;
        const Range changed{begin, end};
        const auto width = static_cast<std::size_t>(keys());
        scores.resize(static_cast<std::size_t>(changed.size()) * width);
        stage(Stage::masked, head, changed, {0, keys()}, scores);
        for (Index r = 0; r < changed.size(); ++r)
            compute_changed(head, begin + r,
                            std::span(scores).subspan(static_cast<std::size_t>(r) * width, width), output);
        begin = std::max(end, begin + 1);
    }
}

// Keys of weight 0 take no part in the sums, so that those behind a causal row change no bit of it.
void Record::compute_changed(Index head, Index query, std::span<float> row, bool output) {
    round_to(spec_.softmax_precision, row);
    const float max = largest(row);
    std::vector<float> exponentials(row.begin(), row.end());
    float total = static_cast<float>(exponentiate(exponentials, max, spec_.softmax_precision));
    round_to(spec_.softmax_precision, {&total, 1});
    row_max_.matrix()(head, query) = max;
    row_log_sum_.matrix()(head, query) = std::log(total);
    if (!output) return;
    weigh(head, query, 0, row);
    const ConstMatrix v = v_->heads().head(kv_head(head));
    std::vector<double> sums(static_cast<std::size_t>(d_v()));
    for (Index j = 0; j < keys(); ++j) {
        const double weight = static_cast<double>(row[static_cast<std::size_t>(j)]);
        if (weight == 0) continue;
        for (Index b = 0; b < v.cols; ++b)
            sums[static_cast<std::size_t>(b)] += weight * static_cast<double>(v(j, b));
    }
    std::ranges::transform(sums, output_.heads().head(head).row(query),
                           [](double sum) { return static_cast<float>(sum); });
}

void Record::stage(Stage stage, Index head, Range rows, Range cols, std::span<float> out) const {
    this->stage(stage, head, rows, 1, cols, {out.data(), rows.size(), cols.size(), cols.size()});
}

void Record::stage(Stage stage, Index head, Range rows, Index step, Range cols, MatrixView<float> out) const {
    if (rows.size() <= 0 || cols.size() <= 0) return;
    const bool whole_row = cols == Range{0, keys()};
    const ConstMatrix q = q_->heads().head(head), k = k_->heads().head(kv_head(head)),
                      v = v_->heads().head(kv_head(head));
    const std::size_t width = static_cast<std::size_t>(cols.size());
    kernels_->dot_products(every(step, q, rows), attn::rows(k, cols), out);
    if (stage == Stage::raw) return;

    std::vector<float> norms;  // ‖V[j]‖ for each column
    if (stage == Stage::contribution) norms = row_norms(attn::rows(v, cols));

    // This goes row by row, so that a row stays in the first-level cache on its way.
    for_each_block(out.rows, 64, [&](Range part) {
        const Range queries{rows.begin + part.begin * step, rows.begin + (part.end - 1) * step + 1};
        const bool whole = spec_.mask.tile(head, queries, cols) == Coverage::all;
        std::vector<std::uint8_t> allowed(whole ? 0 : width);
        for (Index r = part.begin; r < part.end; ++r) {
            const Index i = rows.begin + r * step;
            const std::span<float> row(out.row(r), width);
            if (stage >= Stage::masked && !whole_row && spec_.edits &&
                needs_whole_row(*spec_.edits, head, i)) {
                AlignedVector<float> all(static_cast<std::size_t>(keys()));
                this->stage(stage, head, {i, i + 1}, {0, keys()}, all);
                std::copy_n(all.begin() + cols.begin, width, row.begin());
                continue;
            }
            if (!whole) spec_.mask.row(head, i, cols.begin, allowed);
            finish_row(stage, head, i, cols, allowed, norms, row);
        }
    });
}

namespace {

// Which keys a query sees, by its scores and its mask.
std::vector<std::uint8_t> seen_in(std::span<const float> scores, std::span<const std::uint8_t> allowed) {
    std::vector<std::uint8_t> seen(scores.size());
    for (std::size_t j = 0; j < seen.size(); ++j)
        seen[j] = scores[j] != -infinity && (allowed.empty() || allowed[j]);
    return seen;
}

}  // namespace

float Record::weigh(Index head, Index query, Index first_key, std::span<float> row) const {
    if (!changes(CellEdit::Of::weight, head, query)) return weigh_unchanged(head, query, row);
    if (std::ssize(row) < keys() && needs_whole_row(*spec_.edits, head, query)) {
        stage(Stage::weight, head, {query, query + 1}, {first_key, first_key + std::ssize(row)}, row);
    } else {
        const std::vector<std::uint8_t> seen = seen_in(row, {});
        weigh_unchanged(head, query, row);
        change_cells(*spec_.edits, CellEdit::Of::weight, head, query, first_key, row, seen);
    }
    double entropy = 0;
    for (const float w : row)
        if (w > 0 || std::isnan(w)) entropy -= static_cast<double>(w) * std::log(static_cast<double>(w));
    return static_cast<float>(entropy);
}

float Record::weigh_unchanged(Index head, Index query, std::span<float> row) const {
    const float max = row_max_.matrix()(head, query), log_sum = row_log_sum_.matrix()(head, query);
    if (spec_.softmax_precision == SoftmaxPrecision::f32) return kernels_->weights(row, max, log_sum);
    round_to(spec_.softmax_precision, row);
    exponentiate(row, max, spec_.softmax_precision);
    const float sum = std::exp(log_sum);
    double entropy = 0;
    for (float& w : row) {
        if (sum != 0) w /= sum;
        if (w != 0) entropy -= static_cast<double>(w) * std::log(static_cast<double>(w));
    }
    return static_cast<float>(entropy);
}

void Record::finish_row(Stage stage, Index head, Index query, Range cols,
                        std::span<const std::uint8_t> allowed, std::span<const float> norms,
                        std::span<float> row) const {
    const auto scale = static_cast<float>(scale_);
    for (float& s : row) s *= scale;
    if (stage == Stage::scaled) return;
    if (spec_.softcap != 0) kernels_->soft_cap(row, static_cast<float>(spec_.softcap));
    if (stage == Stage::capped) return;

    const bool weighted = stage == Stage::weight || stage == Stage::contribution;
    if (!spec_.bias.empty()) {
        const float* bias = spec_.bias.view(heads(), queries(), keys()).head(head).row(query);
        const bool one = spec_.bias.one_column();
        for (std::size_t j = 0; j < row.size(); ++j)
            row[j] += one ? *bias : bias[static_cast<std::size_t>(cols.begin) + j];
    }
    if (changes(CellEdit::Of::score, head, query))
        change_cells(*spec_.edits, CellEdit::Of::score, head, query, cols.begin, row, seen_in(row, allowed));
    if (weighted) {
        // What an edit leaves of a weight depends on which keys the query sees.
        if (changes(CellEdit::Of::weight, head, query))
            for (std::size_t j = 0; j < allowed.size(); ++j) row[j] = allowed[j] ? row[j] : -infinity;
        weigh(head, query, cols.begin, row);
    }
    for (std::size_t j = 0; j < allowed.size(); ++j) row[j] = allowed[j] ? row[j] : weighted ? 0 : -infinity;
    // A weight of 0 must not be multiplied: it takes nothing, not even from an infinite value.
    for (std::size_t j = 0; j < norms.size(); ++j) row[j] = row[j] != 0 ? row[j] * norms[j] : row[j];
}

std::vector<float> Record::weights(Index head, Index query) const {
    std::vector<float> row(static_cast<std::size_t>(keys()));
    stage(Stage::weight, head, {query, query + 1}, {0, keys()}, row);
    return row;
}

float Record::cell(Stage stage, Index head, Index query, Index key) const {
    float value = 0;
    this->stage(stage, head, {query, query + 1}, {key, key + 1}, {&value, 1});
    return value;
}

}  // namespace attn
