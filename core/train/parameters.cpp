#include "train/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/random.hpp"

namespace attn {

Result<ParameterLayout> ParameterLayout::of(const ModelConfig& config) {
    return of(declared_weights(family_rules(config.family), config));
}

Result<ParameterLayout> ParameterLayout::of(std::span<const DeclaredWeight> weights) {
    constexpr Index floats_a_line = 16;
    ParameterLayout layout;
    for (const DeclaredWeight& weight : weights) {
        const Result<Index> size = element_count(weight.shape, sizeof(float));
        if (!size || *size > std::numeric_limits<Index>::max() / 8 - layout.size_)
            return Error{"the weights of this configuration do not fit into memory: " + weight.name +
                         " alone would be " + to_string(weight.shape)};
        layout.entries_.push_back({weight.name, weight.shape, layout.size_, *size});
        layout.size_ += (*size + floats_a_line - 1) / floats_a_line * floats_a_line;
    }
    return layout;
}

Index ParameterLayout::count() const {
    Index count = 0;
    for (const Entry& entry : entries_) count += entry.size;
    return count;
}

const ParameterLayout::Entry* ParameterLayout::find(std::string_view name) const {
    const auto found = std::ranges::find(entries_, name, &Entry::name);
    return found == entries_.end() ? nullptr : &*found;
}

namespace {

// [positions, d]
void fill_with_waves(MatrixView<float> table, double amplitude) {
    for (Index position = 0; position < table.rows; ++position)
        for (Index a = 0; a < table.cols; ++a) {
            const double angle =
                static_cast<double>(position) *
                std::pow(10000.0, -static_cast<double>(a / 2 * 2) / static_cast<double>(table.cols));
            table(position, a) = static_cast<float>(amplitude * (a % 2 ? std::cos(angle) : std::sin(angle)));
        }
}

}  // namespace

ParameterBuffer initial_parameters(const ParameterLayout& layout, const ModelConfig& config,
                                   std::uint64_t seed, double deviation, double position_waves) {
    const double to_residual =
        deviation / std::sqrt(2.0 * static_cast<double>(std::max<Index>(config.layers, 1)));
    ParameterBuffer parameters(static_cast<std::size_t>(layout.size()));
    Random random(seed);
    for (const ParameterLayout::Entry& entry : layout.entries()) {
        const std::string& name = entry.name;
        const std::span<float> values = entry.in(std::span(parameters));
        const bool writes_residual = name.ends_with("c_proj.weight") || name.ends_with("o_proj.weight") ||
                                     name.ends_with("down_proj.weight");
        if (position_waves > 0 && name.ends_with("wpe.weight"))
            fill_with_waves({values.data(), entry.shape[0], entry.shape[1], entry.shape[1]}, position_waves);
        else if (entry.shape.size() == 1)
            std::ranges::fill(values, name.ends_with(".weight") ? 1.0f : 0.0f);
        else
            for (float& value : values)
                value = static_cast<float>(random.normal() * (writes_residual ? to_residual : deviation));
    }
    return parameters;
}

ParameterBuffer parameters_of(const ParameterLayout& layout, const Model& model) {
    ParameterBuffer parameters(static_cast<std::size_t>(layout.size()));
    for (const ParameterLayout::Entry& entry : layout.entries())
        std::ranges::copy(to_tensor(*model.weight(entry.name)).values(),
                          entry.in(std::span(parameters)).begin());
    return parameters;
}

std::vector<std::byte> safetensors_of(const ParameterLayout& layout, std::span<const float> parameters,
                                      DType dtype) {
    std::vector<std::uint16_t> halves;
    if (dtype == DType::f16) {
        halves.reserve(parameters.size());
        for (const float value : parameters) halves.push_back(f32_to_f16(value));
    }
    const std::span<const std::byte> bytes =
        dtype == DType::f16 ? std::as_bytes(std::span(halves)) : std::as_bytes(parameters);
    const std::size_t width = byte_size(dtype);
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, shape, offset, size] : layout.entries())
        tensors.push_back({name, dtype, shape,
                           bytes.subspan(static_cast<std::size_t>(offset) * width,
                                         static_cast<std::size_t>(size) * width)});
    return write_safetensors(tensors, {{"format", "pt"}});
}

}  // namespace attn
