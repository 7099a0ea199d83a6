#include "cli/onnx_operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/onnx.hpp"
#include "io/quote.hpp"

namespace attn {

namespace {

using Outputs = Result<std::vector<OnnxTensor>>;

constexpr std::int64_t onnx_float = 1;

// Converts a float type from ONNX's enumeration TensorProto.DataType.
std::optional<DType> float_type(std::int64_t type) {
    switch (type) {
        case onnx_float: return DType::f32;
        case 10: return DType::f16;
        case 11: return DType::f64;
        case 16: return DType::bf16;
        default: return std::nullopt;
    }
}

// Attributes by name. One that has the wrong type, or that is never asked for, becomes an error in the end.
class Attributes {
  public:
    explicit Attributes(const nlohmann::json& values) : values_(values) {}

    std::optional<std::int64_t> integer(const std::string& name) {
        const auto* value = find(name);
        if (!value) return std::nullopt;
        if (value->is_number_integer()) return value->get<std::int64_t>();
        if (wrong_.empty()) wrong_ = "attribute " + name + " must be an integer";
        return std::nullopt;
    }
    std::optional<float> number(const std::string& name) {
        const auto* value = find(name);
        if (!value) return std::nullopt;
        if (value->is_number()) return value->get<float>();
        if (wrong_.empty()) wrong_ = "attribute " + name + " must be a number";
        return std::nullopt;
    }
    std::string text(const std::string& name, const std::string& fallback) {
        const auto* value = find(name);
        if (!value) return fallback;
        if (value->is_string()) return value->get<std::string>();
        if (wrong_.empty()) wrong_ = "attribute " + name + " must be a string";
        return fallback;
    }

    Status check() const {
        if (!wrong_.empty()) return Error{wrong_};
        for (const auto& [name, value] : values_.items())
            if (std::ranges::find(known_, name) == known_.end())
                return Error{"attribute " + quote(name) + " is not known here"};
        return ok();
    }

  private:
    const nlohmann::json* find(const std::string& name) {
        known_.push_back(name);
        const auto at = values_.find(name);
        return at == values_.end() ? nullptr : &*at;
    }

    const nlohmann::json& values_;
    std::vector<std::string> known_;
    std::string wrong_;
};

// Everything that an operator's function sees of its node.
struct Call {
    const OnnxNode& node;
    const Kernels& kernels;
    Attributes attributes{node.attributes};

    const OnnxTensor* input(std::size_t i) const {
        return i < node.inputs.size() && node.inputs[i] ? &*node.inputs[i] : nullptr;
    }
    bool wants(std::size_t i) const { return i < node.outputs.size() && node.outputs[i]; }
};

Index product(std::span<const Index> dims) {
    Index n = 1;
    for (Index d : dims) n *= d;
    return n;
}

MatrixView<float> as_rows(Tensor& t, Index rows, Index cols) { return {t.data(), rows, cols, cols}; }

// Negative axes count from the end.
Result<std::size_t> axis_of(std::int64_t axis, const Tensor& x) {
    if (axis < -x.rank() || axis >= x.rank())
        return Error{"axis " + std::to_string(axis) + " is not one of " + to_string(x.shape())};
    return static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis);
}

// --- Attention ------------------------------------------------------------------------------------------

SoftmaxPrecision precision_of(DType dtype) {
    switch (dtype) {
        case DType::f16: return SoftmaxPrecision::f16;
        case DType::bf16: return SoftmaxPrecision::bf16;
        case DType::f64: return SoftmaxPrecision::f64;
        default: return SoftmaxPrecision::f32;
    }
}

std::optional<Index> as_index(std::optional<std::int64_t> n) {
    return n ? std::optional(static_cast<Index>(*n)) : std::nullopt;
}

Outputs attention(Call& call) {
    for (std::size_t i = 0; i < 3; ++i)
        if (!call.input(i)) return Error{"Q, K and V are needed"};
    onnx::AttentionInputs in;
    in.q = call.input(0)->values;
    in.k = call.input(1)->values;
    in.v = call.input(2)->values;
    in.dtype = call.input(0)->dtype;
    if (const auto* mask = call.input(3))
        in.mask = onnx::AttentionMask{mask->values, mask->dtype == DType::boolean};
    if (const auto* past = call.input(4)) in.past_key = past->values;
    if (const auto* past = call.input(5)) in.past_value = past->values;
    if (const auto* lengths = call.input(6)) in.nonpad_kv_seqlen = lengths->integers;

    in.causal = call.attributes.integer("is_causal").value_or(0) != 0;
    in.heads = as_index(call.attributes.integer("q_num_heads"));
    in.kv_heads = as_index(call.attributes.integer("kv_num_heads"));
    in.scale = call.attributes.number("scale");
    in.softcap = call.attributes.number("softcap").value_or(0);
    const auto mode = call.attributes.integer("qk_matmul_output_mode").value_or(0);
    const std::int64_t softmax = call.attributes.integer("softmax_precision").value_or(onnx_float);
    if (auto status = call.attributes.check(); !status) return status.error();
    const auto softmax_type = float_type(softmax);
    if (!softmax_type) return Error{"softmax_precision " + std::to_string(softmax) + " is no float type"};
    in.softmax_precision = precision_of(*softmax_type);

    auto result = onnx::attention(in, call.kernels);
    if (!result) return result.error();
    std::vector<OnnxTensor> outputs(3);
    if (call.wants(3)) {
        auto scores = onnx::qk_matmul_output(*result, mode);
        if (!scores) return scores.error();
        outputs.push_back({in.dtype, *std::move(scores), {}});
    }
    outputs[0] = {in.dtype, std::move(result->y), {}};
    outputs[1] = {in.dtype, std::move(result->present_key), {}};
    outputs[2] = {call.input(2)->dtype, std::move(result->present_value), {}};
    return outputs;
}

// --- RotaryEmbedding --------------------------------------------------------------------------------------

// The cosines and sines of one batch entry, [n, rotary_dim / 2].
struct Angles {
    Tensor cosine, sine;
};

Result<Angles> angles_of(const Call& call, Index b, Index batch, Index n, Index half) {
    const Tensor& cosine = call.input(1)->values;
    const Tensor& sine = call.input(2)->values;
    const auto* positions = call.input(3);
    const Shape expected = positions ? Shape{cosine.rank() ? cosine.dim(0) : 0, half} : Shape{batch, n, half};
    if (cosine.shape() != expected || sine.shape() != expected)
        return Error{"cos_cache is " + to_string(cosine.shape()) + " and sin_cache " +
                     to_string(sine.shape()) + "; both must be " + to_string(expected)};
    if (positions && positions->values.shape() != Shape{batch, n})
        return Error{"position_ids is " + to_string(positions->values.shape()) + "; it must be " +
                     to_string(Shape{batch, n})};

    Angles angles{Tensor({n, half}), Tensor({n, half})};
    for (Index i = 0; i < n; ++i) {
        std::int64_t row = b * n + i;
        if (positions) {
            row = positions->integers[static_cast<std::size_t>(row)];
            if (row < 0 || row >= cosine.dim(0))
                return Error{"position " + std::to_string(row) + " is beyond the caches of " +
                             std::to_string(cosine.dim(0)) + " rows"};
        }
        const auto from = static_cast<Index>(row) * half;
        std::copy_n(cosine.data() + from, half, angles.cosine.data() + i * half);
        std::copy_n(sine.data() + from, half, angles.sine.data() + i * half);
    }
    return angles;
}

Outputs rotary_embedding(Call& call) {
    const bool interleaved = call.attributes.integer("interleaved").value_or(0) != 0;
    const std::int64_t rotary_dim = call.attributes.integer("rotary_embedding_dim").value_or(0);
    const std::int64_t heads_given = call.attributes.integer("num_heads").value_or(0);
    if (auto status = call.attributes.check(); !status) return status.error();
    for (std::size_t i = 0; i < 3; ++i)
        if (!call.input(i)) return Error{"X, cos_cache and sin_cache are needed"};

    // x is [batch, heads, n, width], or [batch, n, heads · width] with num_heads.
    Tensor x = call.input(0)->values;
    const bool split = x.rank() == 4;
    if (!split && (x.rank() != 3 || heads_given < 1 || x.dim(2) % heads_given != 0))
        return Error{"X is " + to_string(x.shape()) +
                     "; give rank 4, or rank 3 and a num_heads that divides it"};
    const Index batch = x.dim(0), heads = split ? x.dim(1) : static_cast<Index>(heads_given);
    const Index n = split ? x.dim(2) : x.dim(1), width = split ? x.dim(3) : x.dim(2) / heads;
    const Index rotary = rotary_dim == 0 ? width : static_cast<Index>(rotary_dim);
    if (rotary < 0 || rotary > width || rotary % 2 != 0)
        return Error{"rotary_embedding_dim " + std::to_string(rotary) + " must be even and at most " +
                     std::to_string(width)};

    for (Index b = 0; b < batch; ++b) {
        const auto angles = angles_of(call, b, batch, n, rotary / 2);
        if (!angles) return angles.error();
        for (Index h = 0; h < heads; ++h) {
            float* first =
                x.data() + (split ? (b * heads + h) * n * width : b * n * heads * width + h * width);
            call.kernels.rope({first, n, width, split ? width : heads * width}, angles->cosine.matrix(),
                              angles->sine.matrix(), interleaved);
        }
    }
    return std::vector<OnnxTensor>{{call.input(0)->dtype, std::move(x), {}}};
}

// --- Normalisations
// -----------------------------------------------------------------------------------------

// Broadcasts `t` to the axes of x from `axis` on, as one row.
Result<std::vector<float>> broadcast_row(const Tensor& t, const Tensor& x, std::size_t axis) {
    const auto target = std::span(x.shape()).subspan(axis);
    const std::size_t lead = t.shape().size() > target.size() ? t.shape().size() - target.size() : 0;
    const auto from = std::span(t.shape()).subspan(lead);
    const std::size_t missing = target.size() - from.size();
    bool fits = product(std::span(t.shape()).first(lead)) == 1;
    for (std::size_t i = 0; i < from.size(); ++i)
        fits = fits && (from[i] == 1 || from[i] == target[missing + i]);
    if (!fits)
        return Error{"a scale or bias of " + to_string(t.shape()) +
                     " does not broadcast to the normalised axes of " + to_string(x.shape())};

    std::vector<float> row(static_cast<std::size_t>(product(target)));
    for (std::size_t i = 0; i < row.size(); ++i) {
        Index rest = static_cast<Index>(i), at = 0, stride = 1;
        for (std::size_t a = target.size(); a-- > missing; rest /= target[a]) {
            if (from[a - missing] != 1) at += rest % target[a] * stride;
            stride *= from[a - missing];
        }
        row[i] = t.data()[at];
    }
    return row;
}

struct Normalisation {
    std::size_t axis = 0;
    Index rows = 0, cols = 0;
    float epsilon = 0;
    DType stash_type = DType::f32;
    std::vector<float> scale, bias;
};

Result<Normalisation> normalisation_of(Call& call) {
    const std::int64_t axis = call.attributes.integer("axis").value_or(-1);
    const float epsilon = call.attributes.number("epsilon").value_or(1e-5f);
    const std::int64_t stash = call.attributes.integer("stash_type").value_or(onnx_float);
    if (auto status = call.attributes.check(); !status) return status.error();
    const auto stash_type = float_type(stash);
    if (!stash_type) return Error{"stash_type " + std::to_string(stash) + " is no float type"};
    if (!call.input(0) || !call.input(1)) return Error{"X and Scale are needed"};

    const Tensor& x = call.input(0)->values;
    Normalisation result;
    const auto first = axis_of(axis, x);
    if (!first) return first.error();
    result.axis = *first;
    result.epsilon = epsilon;
    result.stash_type = *stash_type;
    result.rows = product(std::span(x.shape()).first(*first));
    result.cols = product(std::span(x.shape()).subspan(*first));
    auto scale = broadcast_row(call.input(1)->values, x, *first);
    if (!scale) return scale.error();
    result.scale = *std::move(scale);
    if (const auto* bias = call.input(2)) {
        auto row = broadcast_row(bias->values, x, *first);
        if (!row) return row.error();
        result.bias = *std::move(row);
    }
    return result;
}

Outputs layer_normalization(Call& call) {
    const auto n = normalisation_of(call);
    if (!n) return n.error();
    const OnnxTensor& x = *call.input(0);
    Tensor in = x.values, y(in.shape());
    const auto rows = as_rows(in, n->rows, n->cols);
    call.kernels.layer_norm(rows, n->scale, n->bias, n->epsilon, as_rows(y, n->rows, n->cols));

    Shape shape = in.shape();
    std::fill(shape.begin() + static_cast<Index>(n->axis), shape.end(), 1);
    Tensor means(shape), inverse_deviations(shape);
    for (Index r = 0; r < n->rows; ++r) {
        double mean = 0, variance = 0;
        for (Index c = 0; c < n->cols; ++c)
            mean += static_cast<double>(rows(r, c)) / static_cast<double>(n->cols);
        for (Index c = 0; c < n->cols; ++c)
            variance += std::pow(static_cast<double>(rows(r, c)) - mean, 2) / static_cast<double>(n->cols);
        means.data()[r] = static_cast<float>(mean);
        inverse_deviations.data()[r] =
            static_cast<float>(1 / std::sqrt(variance + static_cast<double>(n->epsilon)));
    }
    return std::vector<OnnxTensor>{{x.dtype, std::move(y), {}},
                                   {n->stash_type, std::move(means), {}},
                                   {n->stash_type, std::move(inverse_deviations), {}}};
}

Outputs rms_normalization(Call& call) {
    const auto n = normalisation_of(call);
    if (!n) return n.error();
    const OnnxTensor& x = *call.input(0);
    Tensor in = x.values, y(in.shape());
    call.kernels.rms_norm(as_rows(in, n->rows, n->cols), n->scale, n->epsilon, as_rows(y, n->rows, n->cols));
    return std::vector<OnnxTensor>{{x.dtype, std::move(y), {}}};
}

// --- Softmax and activations
// --------------------------------------------------------------------------------

// Since opset 13, this goes along one axis; before, it went over all axes from `axis` on as if they were one.
Outputs softmax(Call& call) {
    const bool one_axis = call.node.opset >= 13;
    const std::int64_t given = call.attributes.integer("axis").value_or(one_axis ? -1 : 1);
    if (auto status = call.attributes.check(); !status) return status.error();
    if (!call.input(0)) return Error{"an input is needed"};
    const Tensor& x = call.input(0)->values;
    const auto axis = axis_of(given, x);
    if (!axis) return axis.error();

    const auto dims = std::span(x.shape());
    const Index length = one_axis ? dims[*axis] : product(dims.subspan(*axis));
    const Index inner = one_axis ? product(dims.subspan(*axis + 1)) : 1;
    Tensor y(x.shape()), row({1, length});
    for (Index outer = 0; outer < product(dims.first(*axis)); ++outer)
        for (Index i = 0; i < inner; ++i) {
            const Index first = outer * length * inner + i;
            for (Index j = 0; j < length; ++j) row.data()[j] = x.data()[first + j * inner];
            call.kernels.softmax(row.matrix());
            for (Index j = 0; j < length; ++j) y.data()[first + j * inner] = row.data()[j];
        }
    return std::vector<OnnxTensor>{{call.input(0)->dtype, std::move(y), {}}};
}

Outputs gelu(Call& call) {
    const std::string approximate = call.attributes.text("approximate", "none");
    if (auto status = call.attributes.check(); !status) return status.error();
    if (approximate != "none" && approximate != "tanh")
        return Error{"approximate " + quote(approximate) + " is neither none nor tanh"};
    if (!call.input(0)) return Error{"an input is needed"};
    Tensor x = call.input(0)->values;
    call.kernels.activate(approximate == "tanh" ? Activation::gelu_tanh : Activation::gelu, x.values());
    return std::vector<OnnxTensor>{{call.input(0)->dtype, std::move(x), {}}};
}

// Computes x σ(alpha x) with the kernel for alpha = 1, as silu(alpha x) / alpha.
Tensor swish_of(const Call& call, Tensor x, float alpha) {
    if (alpha == 0) {
        for (float& v : x.values()) v /= 2;
        return x;
    }
    for (float& v : x.values()) v *= alpha;
    call.kernels.activate(Activation::silu, x.values());
    for (float& v : x.values()) v /= alpha;
    return x;
}

Outputs swish(Call& call) {
    const float alpha = call.attributes.number("alpha").value_or(1);
    if (auto status = call.attributes.check(); !status) return status.error();
    if (!call.input(0)) return Error{"an input is needed"};
    return std::vector<OnnxTensor>{{call.input(0)->dtype, swish_of(call, call.input(0)->values, alpha), {}}};
}

Outputs swiglu(Call& call) {
    const float alpha = call.attributes.number("alpha").value_or(1);
    if (auto status = call.attributes.check(); !status) return status.error();
    if (!call.input(0) || !call.input(1) || call.input(0)->values.shape() != call.input(1)->values.shape())
        return Error{"two inputs of the same shape are needed"};
    Tensor y = swish_of(call, call.input(0)->values, alpha);
    for (Index i = 0; i < y.size(); ++i) y.data()[i] *= call.input(1)->values.data()[i];
    return std::vector<OnnxTensor>{{call.input(0)->dtype, std::move(y), {}}};
}

struct Operator {
    std::string_view name;
    Outputs (*evaluate)(Call&);
};

constexpr std::array operators{
    Operator{"Attention", attention},
    Operator{"Gelu", gelu},
    Operator{"LayerNormalization", layer_normalization},
    Operator{"RMSNormalization", rms_normalization},
    Operator{"RotaryEmbedding", rotary_embedding},
    Operator{"Softmax", softmax},
    Operator{"SwiGLU", swiglu},
    Operator{"Swish", swish},
};

}  // namespace

Result<std::vector<OnnxTensor>> evaluate(const OnnxNode& node, const Kernels& kernels) {
    const auto known = std::ranges::find(operators, node.op, &Operator::name);
    if (known == operators.end()) return Error{"operator " + quote(node.op) + " is not known here"};
    Call call{node, kernels};
    auto outputs = known->evaluate(call);
    if (!outputs) return outputs;
    for (OnnxTensor& output : *outputs) round_to(output.dtype, output.values.values());
    return outputs;
}

}  // namespace attn
