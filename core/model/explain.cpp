#include "model/explain.hpp"

#include <cmath>

namespace attn {

namespace {

// Where an element lies among those at `data`, row by row.
Index place_in(const WeightView& weight, Index in, Index out) {
    const bool by_output = weight.layout == WeightView::Layout::out_in;
    return (weight.first_row + (by_output ? out : in)) * weight.row_elements() + (by_output ? in : out);
}

StoredAt stored_at(const Weight& weight, Index element) {
    if (weight.rounded_from) {
        const Index inputs = weight.shape.front(),
                    in_file = weight.transposed ? element % inputs * weight.shape.back() + element / inputs
                                                : element;
        return {&weight, weight.offset + bytes_of(*weight.rounded_from, in_file), element};
    }
    const Index width = *element_count(weight.shape) / weight.shape.front();
    const Index in_file = weight.stored_row(element / width) * width + element % width;
    const Index block = block_elements(weight.dtype);
    return {&weight, weight.offset + bytes_of(weight.dtype, in_file / block * block), element};
}

std::span<const float> row_of(const Tensor& tensor, Index row) {
    return {tensor.matrix().row(row), static_cast<std::size_t>(tensor.dim(1))};
}

}  // namespace

WeightBlock StoredAt::block() const {
    const WeightView rows = stored_rows(*weight);
    return block_of(rows, element / rows.in, element % rows.in);
}

float StoredAt::value() const {
    const WeightView rows = stored_rows(*weight);
    float value = 0;
    read_row(rows, element / rows.in, element % rows.in, {&value, 1});
    return value;
}

StoredAt stored_at(const Model& model, const WeightView& view, Index in, Index out) {
    for (const Weight& weight : model.weights())
        if (const std::byte* begin = weight.bytes.data();
            view.data >= begin && view.data < begin + weight.bytes.size())
            return stored_at(weight, (view.data - begin) / static_cast<Index>(byte_size(weight.dtype)) *
                                             block_elements(weight.dtype) +
                                         place_in(view, in, out));
    return {};
}

StoredAt stored_at(const Model& model, std::string_view vector, Index i) {
    const Weight* weight = model.weight(vector);
    return weight ? stored_at(*weight, i) : StoredAt{};
}

std::vector<Term> terms_between(std::span<const float> left, std::span<const float> right) {
    std::vector<Term> terms;
    for (std::size_t a = 0; a < left.size(); ++a)
        terms.push_back({static_cast<Index>(a), static_cast<double>(left[a]), static_cast<double>(right[a])});
    return terms;
}

double LinearSum::value() const {
    double sum = bias;
    for (const Term& term : terms) sum += term.product();
    return sum;
}

float LinearSum::f32() const {
    float sum = 0;
    for (const Term& term : terms) sum += static_cast<float>(term.left) * static_cast<float>(term.right);
    return sum + static_cast<float>(bias);
}

LinearSum explain_linear(const LinearView& linear, std::span<const float> x, Index out) {
    LinearSum sum;
    sum.terms.reserve(x.size());
    for (Index i = 0; i < std::ssize(x); ++i)
        sum.terms.push_back(
            {i, static_cast<double>(x[static_cast<std::size_t>(i)]), element(linear.weight, i, out)});
    if (!linear.bias.empty()) sum.bias = static_cast<double>(linear.bias[static_cast<std::size_t>(out)]);
    return sum;
}

std::vector<double> value_out(const LayerAttention& attention, Index head, Index key) {
    const Record& record = attention.record();
    const ConstMatrix v = record.v().heads().head(record.kv_head(head));
    const WeightView& w_o = attention.half.attention_out.weight;
    std::vector<double> components;
    for (Index c = 0; c < w_o.out; ++c) {
        double sum = 0;
        for (Index b = 0; b < v.cols; ++b)
            sum += static_cast<double>(v(key, b)) * element(w_o, head * v.cols + b, c);
        components.push_back(sum);
    }
    return components;
}

double Normalised::value() const { return (x - mean) / std::sqrt(variance + epsilon) * gain + bias; }

Normalised explain_norm(const NormView& norm, std::span<const float> x, Index column) {
    const std::vector<double> in_double(x.begin(), x.end());
    return explain_norm(norm, in_double, column);
}

Normalised explain_norm(const NormView& norm, std::span<const double> x, Index column) {
    const auto n = static_cast<double>(x.size());
    const auto at = static_cast<std::size_t>(column);
    Normalised out{.x = x[at], .epsilon = norm.epsilon};
    if (norm.kind == NormView::Kind::layer) {
        for (const double each : x) out.mean += each;
        out.mean /= n;
    }
    for (const double each : x) {
        const double off = each - out.mean;
        out.variance += off * off;
    }
    out.variance /= n;
    out.gain = static_cast<double>(norm.gain[at]);
    if (!norm.bias.empty()) out.bias = static_cast<double>(norm.bias[at]);
    return out;
}

QkvColumn qkv_column(const Model& model, Stage stage, Index layer, Index head, Index component) {
    const ModelConfig& config = model.config();
    const Index first = stage == Stage::q   ? 0
                        : stage == Stage::k ? config.heads
                                            : config.heads + config.kv_heads;
    Index column = (first + head) * config.head_dim + component;
    for (const Linear& linear : model.network().attention(layer).qkv) {
        if (column < linear.weight.out) return {&linear, column};
        column -= linear.weight.out;
    }
    return {};
}

double VectorComponent::value() const {
    return partner_component < 0 ? own_value() : own_value() * cosine + partner_value() * sine;
}

VectorComponent explain_unturned(const Model& model, Stage stage, Index layer, Index head,
                                 std::span<const float> row, Index component) {
    const AttentionSublayer& half = model.network().attention(layer);
    const Index width = model.config().head_dim;
    const auto projected = [&](Index of_head, Index which) {
        const QkvColumn column = qkv_column(model, stage, layer, of_head, which);
        return explain_linear(*column.linear, row, column.out);
    };
    VectorComponent out;
    out.own = projected(head, component);
    const std::optional<Norm> none, &norm = stage == Stage::q   ? half.q_norm
                                            : stage == Stage::k ? half.k_norm
                                                                : none;
    if (!norm) return out;
    const Index heads = norm->gain.size() / width, first = heads == 1 ? head : 0;
    std::vector<double> group;  // what is normalised together
    for (Index i = 0; i < heads * width; ++i)
        group.push_back(projected(first + i / width, i % width).value());
    out.own_norm = explain_norm(*norm, group, (head - first) * width + component);
    return out;
}

void turn(VectorComponent& own, const VectorComponent& partner, const RotaryPair& pair, double angle,
          double magnitude) {
    own.partner = partner.own;
    own.partner_norm = partner.own_norm;
    own.partner_component = pair.partner;
    own.first = pair.first;
    own.cosine = std::cos(angle) * magnitude;
    own.sine = (pair.first ? -std::sin(angle) : std::sin(angle)) * magnitude;
}

VectorComponent explain_component(const Trace& trace, Stage stage, Index layer, Index head, Index token,
                                  Index component) {
    const LayerAttention at = trace.attention(layer);
    const auto x = row_of(stage == Stage::q ? at.run.attention_input : at.key_input, token);
    const auto unturned = [&](Index which) {
        return explain_unturned(*trace.model(), stage, layer, head, x, which);
    };
    VectorComponent out = unturned(component);
    const Rotary* rotary = stage == Stage::v ? nullptr : trace.network().rotary_of(layer);
    const RotaryPair pair = pair_of(rotary, component);
    if (pair.partner < 0) return out;
    out.frequency = rotary->of_text(trace.tokens())[static_cast<std::size_t>(pair.pair)];
    turn(out, unturned(pair.partner), pair, static_cast<double>(token) * out.frequency, rotary->magnitude);
    return out;
}

std::optional<Index> bias_bucket(const Trace& trace, Index layer, Index query, Index key) {
    const LayerAttention at = trace.attention(layer);
    const auto& bias = at.queries.network().relative_bias;
    if (!bias || at.record().spec().bias.empty()) return std::nullopt;
    return relative_bucket(bias->buckets, query, key);
}

}  // namespace attn
