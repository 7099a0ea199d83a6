#include "analysis/heads/named_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {

namespace {

constexpr std::int64_t multiply_adds_a_step = 50'000;  // about half a millisecond
constexpr double same_within = 1e-5;  // relative to the largest number: f32 sums of some hundred terms

constexpr std::array all_named{
    NamedInfo{"X", "inputs", Stage::x},       NamedInfo{"W_Q", "weights", Stage::w_q},
    NamedInfo{"W_K", "weights", Stage::w_k},  NamedInfo{"W_V", "weights", Stage::w_v},
    NamedInfo{"W_O", "weights", Stage::w_o},  NamedInfo{"Q", "queries", Stage::q},
    NamedInfo{"K", "keys", Stage::k},         NamedInfo{"V", "values", Stage::v},
    NamedInfo{"R", "raw scores", Stage::raw}, NamedInfo{"S", "scaled scores", Stage::scaled},
    NamedInfo{"A", "weights", Stage::weight}, NamedInfo{"O", "output", Stage::output},
    NamedInfo{"x", "input row", Stage::x},    NamedInfo{"q", "query", Stage::q},
    NamedInfo{"k", "key", Stage::k},          NamedInfo{"v", "value", Stage::v},
};

bool is_row(const NamedInfo& info) { return info.name[1] == '\0' && info.name[0] >= 'a'; }

// Q, R, S, A and O have all heads of the layer; K and V have key-value heads.
struct Vectors {
    const Tensor* tensor;
    Index heads, rows, cols;
};
std::optional<Vectors> vectors_of(const Record& record, Stage stage) {
    const auto of = [](const Tensor& tensor) {
        return Vectors{&tensor, tensor.dim(0), tensor.dim(1), tensor.dim(2)};
    };
    switch (stage) {
        case Stage::q: return of(record.q());
        case Stage::k: return of(record.k());
        case Stage::v: return of(record.v());
        case Stage::output: return of(record.output());
        case Stage::raw:
        case Stage::scaled:
        case Stage::weight: return Vectors{nullptr, record.heads(), record.queries(), record.keys()};
        default: return std::nullopt;
    }
}

const DenseMatrix& weights_at(const HeadWeights& weights, Stage stage) {
    switch (stage) {
        case Stage::w_q: return weights.w_q;
        case Stage::w_k: return weights.w_k;
        case Stage::w_v: return weights.w_v;
        default: return weights.w_o;
    }
}

// Refuses a shape of more numbers than an operand may have.
Status check_size(const NamedMatrix& matrix) {
    double count = 1;
    for (const Index size : matrix.shape) count *= static_cast<double>(size);
    if (count <= static_cast<double>(named_size_limit)) return ok();
    return Error{matrix.name + " is " + to_string(matrix.shape) +
                 "; an einsum here takes matrices of at most 1,000,000 numbers."};
}

// Reads q, k, v, the output, or a stage of pairs.
Result<NamedMatrix> from_record(const Record& record, const Vectors& vectors, NamedMatrix made,
                                std::size_t indices) {
    const auto [tensor, heads, rows, cols] = vectors;
    if (cols == 0) return Error{"There are no values here, so there is no " + made.name + "."};
    made.heads_each = record.heads() / heads;
    made.shape = indices == 1 ? Shape{cols} : indices == 2 ? Shape{rows, cols} : Shape{heads, rows, cols};
    if (Status fits = check_size(made); !fits) return fits.error();
    const Index first = indices == 3 ? 0 : made.head.head / made.heads_each;
    const Range in_rows = indices == 1 ? Range{made.row, made.row + 1} : Range{0, rows};
    for (Index head = first; head < (indices == 3 ? heads : first + 1); ++head) {
        const std::size_t before = made.values.size();
        made.values.resize(before + static_cast<std::size_t>(in_rows.size() * cols));
        const std::span<float> to = std::span(made.values).subspan(before);
        if (!tensor) {
            record.stage(made.stage, head, in_rows, {0, cols}, to);
            continue;
        }
        for (Index r = in_rows.begin; r < in_rows.end; ++r)
            std::copy_n(tensor->heads().head(head).row(r), cols, to.begin() + (r - in_rows.begin) * cols);
    }
    return made;
}

// Reads the inputs, or weights.
Result<NamedMatrix> from_weights(const NamedHead& of, NamedMatrix made, std::size_t indices) {
    const HeadWeights* weights = of.weights.get();
    if (!weights || (made.stage == Stage::w_o && weights->w_o.empty()))
        return Error{"There is no " + made.name + " here: only what was made of it is known."};
    if (made.stage == Stage::x) {
        if (indices == 3) return Error{made.name + " is the same for all heads; it has two indices."};
        if (weights->trace) made.stage = Stage::attention_input;
        made.shape = indices == 1 ? Shape{weights->width()} : Shape{weights->tokens, weights->width()};
        if (Status fits = check_size(made); !fits) return fits.error();
        const Range rows = indices == 1 ? Range{made.row, made.row + 1} : Range{0, weights->tokens};
        for (Index token = rows.begin; token < rows.end; ++token)
            for (Index b = 0; b < weights->width(); ++b)
                made.values.push_back(static_cast<float>(weights->input(token, b)));
        return made;
    }
    const DenseMatrix& own = weights_at(*weights, made.stage);
    made.shape = {own.rows, own.cols};
    if (indices == 3) made.shape.insert(made.shape.begin(), of.record->heads());
    if (Status fits = check_size(made); !fits) return fits.error();
    const auto add = [&](const HeadWeights& each) {
        for (const double value : weights_at(each, made.stage).values)
            made.values.push_back(static_cast<float>(value));
    };
    for (Index head = 0; head < (indices == 3 ? made.shape[0] : 1); ++head)
        indices == 3 && weights->trace ? add(head_weights(weights->trace, {of.head.layer, head}))
                                       : add(*weights);
    return made;
}

}  // namespace

std::span<const NamedInfo> named_matrices() { return all_named; }

NamedMatrix::Place NamedMatrix::place(Index offset) const {
    if (shape.size() == 1) return {head, stage, row, offset};
    const Index cols = shape.back(), rows = shape[shape.size() - 2];
    HeadIndex at = head;
    if (shape.size() == 3) at.head = offset / (rows * cols) * heads_each;
    return {at, stage, offset / cols % rows, offset % cols};
}

Result<NamedMatrix> named_matrix(const NamedHead& of, const std::string& name, std::size_t indices) {
    const auto info =
        std::ranges::find(all_named, name, [](const NamedInfo& n) { return std::string(n.name); });
    if (info == all_named.end()) {
        std::string all;
        for (const NamedInfo& each : all_named) all += (all.empty() ? "" : ", ") + std::string(each.name);
        return Error{"There is no matrix “" + name.substr(0, 24) + "” here; there are " + all + "."};
    }
    const bool row = is_row(*info);
    if (row && indices != 1)
        return Error{name + " is one row, with one index; write a capital letter for all of them."};
    if (!row && indices == 1)
        return Error{name + " is a matrix, with two indices, or with three for all heads of the layer."};
    NamedMatrix made{.name = name, .shape = {}, .values = {}, .stage = info->stage, .head = of.head};
    if (row) made.row = made.stage == Stage::k || made.stage == Stage::v ? of.key : of.query;
    if (const auto vectors = vectors_of(*of.record, made.stage))
        return from_record(*of.record, *vectors, std::move(made), indices);
    return from_weights(of, std::move(made), indices);
}

Result<NamedSum> NamedSum::of(NamedHead head, const std::string& text) {
    auto parsed = EinsumText::parse(text);
    if (!parsed) return parsed.error();
    NamedSum made;
    made.text_ = *std::move(parsed);
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < made.text_.names.size(); ++i) {
        auto matrix = named_matrix(head, made.text_.names[i], made.text_.operands[i].size());
        if (!matrix) return matrix.error();
        shapes.push_back(matrix->shape);
        made.operands_.push_back(*std::move(matrix));
    }
    auto loops = EinsumLoops::of(made.text_, shapes);
    if (!loops) return loops.error();
    std::vector<std::span<const float>> values;
    for (const NamedMatrix& each : made.operands_) values.emplace_back(each.values);
    made.sum_.emplace(made.text_, *std::move(loops), std::move(values));
    made.head_ = std::move(head);
    return made;
}

bool NamedSum::step() {
    if (done()) return false;
    if (sum_->step(multiply_adds_a_step)) return true;
    const NamedInfo& info = all_named[compared_++];
    const std::size_t rank = sum_->loops().shape.size();
    const bool own = std::ranges::find(text_.names, info.name) != text_.names.end();
    if (own || rank == 0 || (rank == 1) != is_row(info)) return !done();
    const auto matrix = named_matrix(head_, info.name, rank);
    if (!matrix || matrix->shape != sum_->loops().shape) return !done();
    Same same{&info, 0};
    double largest = 0;
    for (std::size_t i = 0; i < matrix->values.size(); ++i) {
        const auto value = static_cast<double>(matrix->values[i]);
        const double off = std::abs(value - sum_->f64()[i]);
        if (!std::isfinite(off)) return !done();
        same.off = std::max(same.off, off);
        largest = std::max(largest, std::abs(value));
    }
    if (same.off <= same_within * largest) same_ = same;
    return !done();
}

Index NamedSum::last() const { return sum_->loops().shape.empty() ? 1 : sum_->loops().shape.back(); }
Index NamedSum::leading() const { return last() == 0 ? 0 : std::ssize(sum_->f64()) / last(); }

}  // namespace attn
