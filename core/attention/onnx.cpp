#include "attention/onnx.hpp"

#include <algorithm>
#include <limits>

namespace attn::onnx {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

Error wrong(const std::string& what) { return Error{"Attention: " + what}; }

std::string text(Index n) { return std::to_string(n); }

// Views a tensor as [batch, heads, rows, width]: one of rank 4, or one of rank 3 with the heads
// side by side in each row.
struct Heads {
    const float* data = nullptr;
    Index batch = 0, heads = 0, rows = 0, width = 0;
    Index batch_stride = 0, head_stride = 0, row_stride = 0;

    const float* row(Index b, Index h, Index r) const {
        return data + b * batch_stride + h * head_stride + r * row_stride;
    }
};

Result<Heads> heads_of(const char* name, const Tensor& t, std::optional<Index> heads) {
    if (t.rank() == 4) {
        if (heads && *heads != t.dim(1))
            return wrong(std::string(name) + " is " + to_string(t.shape()) + " but " + text(*heads) +
                         " heads are given; leave the number of heads out for inputs of rank 4");
        return Heads{t.data(),
                     t.dim(0),
                     t.dim(1),
                     t.dim(2),
                     t.dim(3),
                     t.dim(1) * t.dim(2) * t.dim(3),
                     t.dim(2) * t.dim(3),
                     t.dim(3)};
    }
    if (!heads) return wrong(std::string(name) + " has rank 3; give q_num_heads and kv_num_heads with it");
    if (*heads < 1 || t.dim(2) % *heads != 0)
        return wrong(std::string(name) + " is " + to_string(t.shape()) +
                     " and its last axis does not split into " + text(*heads) + " heads; make it a multiple");
    const Index width = t.dim(2) / *heads;
    return Heads{t.data(), t.dim(0), *heads, t.dim(1), width, t.dim(1) * t.dim(2), width, t.dim(2)};
}

struct Problem {
    Heads q, k, v;
    std::optional<Heads> past_k, past_v;
    Index past() const { return past_k ? past_k->rows : 0; }
    Index keys() const { return past() + k.rows; }
};

Status check_past(const char* name, const Heads& past, const Heads& current) {
    if (past.batch != current.batch || past.heads != current.heads || past.width != current.width)
        return wrong(std::string(name) + " is " + to_string({past.batch, past.heads, past.rows, past.width}) +
                     "; it needs " + text(current.batch) + " batch entries, " + text(current.heads) +
                     " heads and width " + text(current.width) + " as the new keys and values have");
    return ok();
}

Result<Problem> problem_of(const AttentionInputs& in) {
    Problem p;
    if (in.q.rank() != in.k.rank() || in.q.rank() != in.v.rank() || in.q.rank() < 3 || in.q.rank() > 4)
        return wrong("Q, K and V have ranks " + text(in.q.rank()) + ", " + text(in.k.rank()) + " and " +
                     text(in.v.rank()) + "; give all three rank 3 or all three rank 4");
    const auto set = [](Heads& to, Result<Heads> from) -> Status {
        if (!from) return from.error();
        to = *from;
        return ok();
    };
    if (auto s = set(p.q, heads_of("Q", in.q, in.heads)); !s) return s.error();
    if (auto s = set(p.k, heads_of("K", in.k, in.kv_heads)); !s) return s.error();
    if (auto s = set(p.v, heads_of("V", in.v, in.kv_heads)); !s) return s.error();
    if (p.q.batch != p.k.batch || p.q.batch != p.v.batch)
        return wrong("Q, K and V have " + text(p.q.batch) + ", " + text(p.k.batch) + " and " +
                     text(p.v.batch) + " batch entries; their first axes must be the same");

    if (in.past_key.has_value() != in.past_value.has_value())
        return wrong("only one of past_key and past_value is given; give both or neither");
    if (in.past_key) {
        if (in.past_key->rank() != 4 || in.past_value->rank() != 4 ||
            in.past_key->dim(2) != in.past_value->dim(2))
            return wrong("past_key is " + to_string(in.past_key->shape()) + " and past_value is " +
                         to_string(in.past_value->shape()) + "; both must be [batch, kv_heads, past, width]");
        p.past_k = *heads_of("past_key", *in.past_key, {});
        p.past_v = *heads_of("past_value", *in.past_value, {});
        if (auto s = check_past("past_key", *p.past_k, p.k); !s) return s.error();
        if (auto s = check_past("past_value", *p.past_v, p.v); !s) return s.error();
    }

    if (in.nonpad_kv_seqlen) {
        if (in.past_key) return wrong("nonpad_kv_seqlen and past_key are both given; give one of them");
        if (std::ssize(*in.nonpad_kv_seqlen) != p.q.batch)
            return wrong("nonpad_kv_seqlen has " + text(std::ssize(*in.nonpad_kv_seqlen)) +
                         " numbers; give one for each of the " + text(p.q.batch) + " batch entries");
        for (const std::int64_t n : *in.nonpad_kv_seqlen)
            if (n < 0 || n > p.keys())
                return wrong("nonpad_kv_seqlen holds " + std::to_string(n) +
                             "; give a number from 0 to the " + text(p.keys()) + " keys there are");
    }

    if (in.mask) {
        const Shape& shape = in.mask->values.shape();
        const Shape scores{p.q.batch, p.q.heads, p.q.rows, p.keys()};
        bool fits = shape.size() >= 2 && shape.size() <= 4 && shape.back() <= scores.back();
        for (std::size_t i = 2; fits && i <= shape.size(); ++i) {
            const Index d = shape[shape.size() - i];
            fits = d == 1 || d == scores[4 - i];
        }
        if (!fits)
            return wrong("attn_mask is " + to_string(shape) + " and does not broadcast to the scores, " +
                         to_string(scores) + "; give rank 2 to 4 with axes of 1 or that size");
    }
    return p;
}

// Returns batch entry b as [heads, rows before + rows, width].
Tensor joined(const std::optional<Heads>& before, const Heads& current, Index b) {
    const Index past = before ? before->rows : 0;
    Tensor all({current.heads, past + current.rows, current.width});
    float* to = all.data();
    for (Index h = 0; h < current.heads; ++h) {
        for (Index r = 0; r < past; ++r) to = std::copy_n(before->row(b, h, r), current.width, to);
        for (Index r = 0; r < current.rows; ++r) to = std::copy_n(current.row(b, h, r), current.width, to);
    }
    return all;
}

// The mask of one batch entry is [heads|1, n_q|1, keys].
template <class T>
struct MaskValues {
    Index heads, rows;
    std::vector<T> values;
};

// Fills in `beyond` for the keys that the mask is too short for.
template <class T>
MaskValues<T> mask_values(const Tensor& mask, Index b, Index keys, T beyond) {
    const auto axis_from_last = [&](Index i) { return mask.rank() > i ? mask.dim(mask.rank() - 1 - i) : 1; };
    const Index given = axis_from_last(0);
    MaskValues<T> result{axis_from_last(2), axis_from_last(1), {}};
    const Index lines = result.heads * result.rows;
    const float* from = mask.data() + (axis_from_last(3) == 1 ? 0 : b * lines * given);
    result.values.reserve(static_cast<std::size_t>(lines * keys));
    for (Index line = 0; line < lines; ++line) {
        for (Index j = 0; j < given; ++j) result.values.push_back(static_cast<T>(from[line * given + j]));
        result.values.insert(result.values.end(), static_cast<std::size_t>(keys - given), beyond);
    }
    return result;
}

AttentionSpec spec_of(const AttentionInputs& in, const Problem& p, Index b) {
    AttentionSpec spec;
    spec.scale = in.scale;
    spec.softcap = std::max(in.softcap, 0.0f);
    spec.softmax_precision = in.softmax_precision;

    Index offset = p.past();
    if (in.nonpad_kv_seqlen) {
        const auto visible = static_cast<Index>((*in.nonpad_kv_seqlen)[static_cast<std::size_t>(b)]);
        spec.mask = Mask::padding(visible);
        offset = visible - p.q.rows;
    }
    if (in.causal) spec.mask = spec.mask & Mask::causal(offset);

    if (!in.mask) return spec;
    if (in.mask->boolean) {
        auto allowed = mask_values<std::uint8_t>(in.mask->values, b, p.keys(), 0);
        spec.mask =
            spec.mask & Mask::painted({allowed.heads, allowed.rows, p.keys(), std::move(allowed.values)});
    } else {
        const auto added = mask_values<float>(in.mask->values, b, p.keys(), -infinity);
        spec.bias.values = std::make_shared<Tensor>(Shape{added.heads, added.rows, p.keys()}, added.values);
    }
    return spec;
}

void append(Tensor& to, Index b, const Tensor& from) {
    std::ranges::copy(from.values(), to.data() + b * from.size());
}

// Copies the output of one batch entry, [heads, n_q, d_v], to its place in Y.
void place(const Record& record, Index b, Tensor& y) {
    if (y.rank() == 4) return append(y, b, record.output());
    const Index width = record.d_v();
    for (Index h = 0; h < record.heads(); ++h)
        for (Index i = 0; i < record.queries(); ++i)
            std::copy_n(record.output().heads().head(h).row(i), width,
                        y.data() + ((b * record.queries() + i) * record.heads() + h) * width);
}

}  // namespace

Result<AttentionOutputs> attention(const AttentionInputs& in, const Kernels& kernels) {
    const Result<Problem> checked = problem_of(in);
    if (!checked) return checked.error();
    const Problem& p = *checked;

    AttentionOutputs out;
    out.dtype = in.dtype;
    const Index batch = p.q.batch;
    const Shape y = in.q.rank() == 4 ? Shape{batch, p.q.heads, p.q.rows, p.v.width}
                                     : Shape{batch, p.q.rows, p.q.heads * p.v.width};
    const Shape keys{batch, p.k.heads, p.keys(), p.k.width}, values{batch, p.v.heads, p.keys(), p.v.width};
    for (const Shape& shape : {y, keys, values})
        if (const auto size = element_count(shape, sizeof(float)); !size) return wrong(size.error().message);
    out.y = Tensor(y);
    out.present_key = Tensor(keys);
    out.present_value = Tensor(values);

    for (Index b = 0; b < batch; ++b) {
        auto record = Record::run(joined({}, p.q, b), joined(p.past_k, p.k, b), joined(p.past_v, p.v, b),
                                  spec_of(in, p, b), kernels);
        if (!record) return record.error();
        place(*record, b, out.y);
        append(out.present_key, b, record->k());
        append(out.present_value, b, record->v());
        out.records.push_back(*std::move(record));
    }
    round_to(in.dtype, out.y.values());
    return out;
}

Result<Tensor> qk_matmul_output(const AttentionOutputs& outputs, std::int64_t mode) {
    constexpr Stage stages[] = {Stage::scaled, Stage::capped, Stage::masked, Stage::weight};
    if (mode < 0 || mode > 3)
        return wrong("qk_matmul_output_mode is " + std::to_string(mode) + "; give 0, 1, 2 or 3");
    const Shape& y = outputs.y.shape();
    const Shape& k = outputs.present_key.shape();
    const Index batch = k[0], keys = k[2];
    const Index heads = outputs.records.empty() ? 0 : outputs.records.front().heads();
    const Index queries = y.size() == 4 ? y[2] : y[1];
    const Shape shape{batch, heads, queries, keys};
    if (const auto size = element_count(shape, sizeof(float)); !size) return wrong(size.error().message);

    Tensor scores(shape);
    const auto size = static_cast<std::size_t>(queries * keys);
    auto rest = scores.values();
    for (const Record& record : outputs.records)
        for (Index h = 0; h < heads; ++h, rest = rest.subspan(size))
            record.stage(stages[mode], h, {0, queries}, {0, keys}, rest.first(size));
    round_to(outputs.dtype, scores.values());
    return scores;
}

}  // namespace attn::onnx
