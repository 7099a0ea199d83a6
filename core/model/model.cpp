#include "model/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "io/gguf_model.hpp"
#include "io/quote.hpp"
#include "kernels/workers.hpp"
#include "model/families.hpp"
#include "model/network.hpp"
#include "model/stored_model.hpp"
#include "tensor/blocks.hpp"

namespace attn {

namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
    return text;
}

// A name that the family's table has is written whole, however long.
std::string quote_whole(const std::string& name) { return quote(name, name.npos); }

std::vector<std::string> quoted_all(const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    for (const std::string& word : words) quoted.push_back(quote(word));
    return quoted;
}

Result<Weight> check(const DeclaredWeight& declared, const StoredTensor& stored,
                     const std::string& asked_by) {
    const std::string tensor = *stored.file + ": tensor " + quote_whole(stored.name);
    const auto dtype = stored.dtype;
    if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16 &&
        (!dtype || block_elements(*dtype) == 1))
        return Error{tensor + " holds " + std::string(stored.dtype_name) +
                     " values, which are not supported as weights; F32, F16 and BF16 are"};
    if (stored.shape != declared.shape)
        return Error{tensor + " has shape " + to_string(stored.shape) + ", expected " +
                     to_string(declared.shape) + " (" + joined(declared.axes, " × ") + ") by " + asked_by};
    return Weight{.name = declared.name,
                  .axes = declared.axes,
                  .shape = declared.shape,
                  .dtype = *stored.dtype,
                  .file = *stored.file,
                  .offset = stored.offset,
                  .bytes = stored.bytes,
                  .paired_rows = declared.paired_rows,
                  .rounded_from = stored.rounded_from,
                  .transposed = stored.transposed};
}

// Counts values whose bits, without the sign, are above these.
template <class Bits>
std::int64_t count_above(std::span<const std::byte> bytes, Bits least) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(Bits)) {
        Bits value;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        count += (value & (std::numeric_limits<Bits>::max() >> 1)) > least;
    }
    return count;
}

// NaN values are above infinity, which is above all that are finite.
template <class Bits>
void check_elements(Weight& weight, Bits infinity) {
    weight.finite = count_above<Bits>(weight.bytes, static_cast<Bits>(infinity - 1)) == 0;
    if (!weight.finite) weight.nan_count = count_above<Bits>(weight.bytes, infinity);
}

void check_elements(Weight& weight) {
    switch (weight.dtype) {
        case DType::f16: return check_elements<std::uint16_t>(weight, 0x7c00);
        case DType::bf16: return check_elements<std::uint16_t>(weight, 0x7f80);
        default: return check_elements<std::uint32_t>(weight, 0x7f800000);
    }
}

// Notes what is no number. In blocks, only scales can be none.
void check_numbers(Weight& weight, std::vector<std::string>& notes) {
    const std::string tensor = "tensor " + quote(weight.name) + " holds ";
    if (block_elements(weight.dtype) == 1) {
        check_elements(weight);
        if (weight.nan_count > 0)
            notes.push_back(tensor + std::to_string(weight.nan_count) +
                            (weight.nan_count == 1 ? " NaN value" : " NaN values"));
        return;
    }
    const std::size_t size = byte_size(weight.dtype);
    std::int64_t blocks = 0;
    for (std::size_t at = 0; at < weight.bytes.size(); at += size) {
        const auto bytes = weight.bytes.subspan(at, size);
        if (has_finite_scales(weight.dtype, bytes)) continue;
        ++blocks;
        const WeightBlock block = take_apart(weight.dtype, bytes);
        for (std::size_t i = 0; i < block.elements; ++i) weight.nan_count += std::isnan(block.value(i));
    }
    weight.finite = blocks == 0;
    if (blocks > 0)
        notes.push_back(tensor + std::to_string(blocks) +
                        (blocks == 1 ? " block whose scale is" : " blocks whose scales are") + " not finite");
}

// Puts the rows of each head from pairs into halves; `bytes` are those of `weight`.
void put_back_rows(const Weight& weight, std::span<std::byte> bytes) {
    const Index rows = weight.shape.front();
    const std::size_t row = bytes.size() / static_cast<std::size_t>(rows);
    const std::size_t head = row * static_cast<std::size_t>(weight.paired_rows);
    Bytes as_stored;
    for (; !bytes.empty(); bytes = bytes.subspan(head)) {
        as_stored.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(head));
        for (Index i = 0; i < weight.paired_rows; ++i)
            std::memcpy(bytes.data() + static_cast<std::size_t>(i) * row,
                        as_stored.data() + static_cast<std::size_t>(weight.stored_row(i)) * row, row);
    }
}

// Puts a matrix [out, in] into panels; `bytes` are those of `weight`.
void put_into_panels(Weight& weight, std::span<std::byte> bytes) {
    constexpr Index panels_at_once = 32;
    const Index rows = stored_rows(weight).out, panels = rows / panel_rows;
    const std::size_t row = bytes.size() / static_cast<std::size_t>(rows);
    for_each_block(panels, panels_at_once, [&](Range some) {
        put_into_panels(weight.dtype, some.size() * panel_rows,
                        bytes.subspan(static_cast<std::size_t>(some.begin * panel_rows) * row,
                                      static_cast<std::size_t>(some.size() * panel_rows) * row));
    });
    weight.rows_in_panels = panels * panel_rows;
}

// Others than a family's own prefix are names of a program that wrapped the model.
std::string prefixed(const StoredTensors& stored, const std::string& name) {
    for (const auto& [other, tensor] : stored)
        if (other.ends_with("." + name)) return quote(tensor.name);
    return "";
}

Error missing(const std::vector<DeclaredWeight>& absent, const StoredModel& stored) {
    constexpr std::size_t shown = 3;
    std::vector<std::string> names;
    for (const DeclaredWeight& weight : absent)
        if (names.size() < shown)
            names.push_back(quote_whole(weight.name) + " (" + to_string(weight.shape) + ")");
    std::string text =
        "the weights lack tensor" + std::string(absent.size() > 1 ? "s " : " ") + joined(names, ", ");
    if (absent.size() > shown) text += " and " + std::to_string(absent.size() - shown) + " more";
    text += ", for which " + stored.asked_by + " asks";
    const std::string other = prefixed(stored.tensors, absent.front().name);
    return Error{other.empty() ? text
                               : text + "; there is " + other + ": leave out what stands before the name"};
}

// The name with 0 in place of its first number: what the tensor is called in the first layer.
std::string in_first_layer(std::string_view name) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto number = std::ranges::find_if(name, is_digit),
               end = std::ranges::find_if_not(number, name.end(), is_digit);
    return std::string(name.begin(), number) + '0' + std::string(end, name.end());
}

struct Unused {
    std::vector<std::string> unknown, of_further_layers;
};

// Lists the names of stored tensors that are neither declared nor known to be unnecessary.
Unused unused(const StoredTensors& stored, const std::vector<DeclaredWeight>& declared,
              const FamilyRules& rules) {
    const auto is_declared = [&](std::string_view name) {
        return std::ranges::find(declared, name, &DeclaredWeight::name) != declared.end();
    };
    Unused names;
    for (const auto& [name, tensor] : stored) {
        const bool is_tied_head = std::ranges::any_of(rules.weights, [&](const WeightRule& rule) {
            return rule.part == Part::head && name == std::string(rule.name) + ".weight";
        });
        const bool is_buffer = std::ranges::any_of(
            rules.buffers, [&](std::string_view pattern) { return matches(pattern, name); });
        if (is_declared(name) || is_tied_head || is_buffer) continue;
        (is_declared(in_first_layer(name)) ? names.of_further_layers : names.unknown)
            .push_back(quote(tensor.name));
    }
    return names;
}

}  // namespace

Model::~Model() = default;

bool is_gguf_name(std::string_view file) { return file.ends_with(".gguf") || file.ends_with(".GGUF"); }

Index Weight::stored_row(Index row) const {
    if (paired_rows == 0) return row;
    const Index half = paired_rows / 2, in_head = row % paired_rows;
    return row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
}

Result<std::shared_ptr<const Model>> Model::load(ModelFiles&& files) {
    std::shared_ptr<Model> model(new Model);
    model->files_ = std::move(files.weights);
    model->held_ = std::move(files.held);
    const bool in_gguf =
        std::ranges::any_of(model->files_, [](const auto& file) { return is_gguf_name(file.first); });
    auto stored = in_gguf ? read_gguf_model(model->files_)
                          : read_safetensors_model(files.config, files.index, model->files_, model->held_);
    if (!stored) return stored.error();
    settle_tied(*stored);
    model->config_ = std::move(stored->config);
    model->notes_ = std::move(stored->notes);
    model->gguf_ = std::move(stored->gguf);
    const FamilyRules& rules = *stored->rules;

    const std::vector<DeclaredWeight> declared = declared_weights(rules, model->config_);
    if (auto status = check_index(*stored, declared); !status) return status.error();
    std::vector<DeclaredWeight> absent;
    for (const DeclaredWeight& weight : declared) {
        const auto place = stored->tensors.find(weight.name);
        if (place == stored->tensors.end()) {
            absent.push_back(weight);
            continue;
        }
        auto checked = check(weight, place->second, stored->asked_by);
        if (!checked) return checked.error();
        check_numbers(*checked, model->notes_);
        model->weights_.push_back(std::move(*checked));
    }
    if (!absent.empty()) return missing(absent, *stored);
    for (Weight& weight : model->weights_) {
        // The model owns them.
        const std::span bytes(const_cast<std::byte*>(weight.bytes.data()), weight.bytes.size());
        if (weight.paired_rows > 0) put_back_rows(weight, bytes);
        const bool by_output = weight.transposed || !lies_in_out(rules, weight.name);
        if (weight.shape.size() == 2 && by_output) put_into_panels(weight, bytes);
    }
    const Unused left = unused(stored->tensors, declared, rules);
    if (!left.unknown.empty())
        model->notes_.push_back("not used by this architecture: " + joined(left.unknown, ", "));
    if (!left.of_further_layers.empty())
        model->notes_.push_back(stored->asked_by +
                                " asks for fewer layers than the weights have, which leaves " +
                                joined(left.of_further_layers, ", ") + " unused");
    if (!model->config_.unknown_keys.empty())
        model->notes_.push_back(stored->asked_by + " has keys that " + quote(model->config_.model_type) +
                                " models do not have, so they change nothing: " +
                                joined(quoted_all(model->config_.unknown_keys), ", "));
    if (model->in_eight_bits())
        model->notes_.push_back("its matrices are held in 8 bits, rounded as they arrived");
    if (model->gguf_)
        for (std::string& note : gguf_token_notes(*model->gguf_, model->config_.vocab_size))
            model->notes_.push_back(std::move(note));
    model->network_ = std::make_unique<const Network>(assemble(rules, *model));
    return std::shared_ptr<const Model>(std::move(model));
}

std::shared_ptr<const Model> Model::changed(std::shared_ptr<const Model> of, Network network,
                                            std::vector<Tensor> numbers) {
    std::shared_ptr<Model> model(new Model);
    model->config_ = of->config_;
    model->weights_ = of->weights_;
    model->notes_ = of->notes_;
    model->network_ = std::make_unique<const Network>(std::move(network));
    model->numbers_ = std::move(numbers);
    model->of_ = std::move(of);
    return model;
}

std::int64_t Model::parameter_count() const {
    std::int64_t count = 0;
    for (const Weight& weight : weights_) count += *element_count(weight.shape);
    return count;
}

std::int64_t Model::memory_bytes() const {
    std::int64_t count = 0;
    for (const auto& [name, bytes] : files_) count += std::ssize(bytes);
    for (const auto& [name, file] : held_)
        for (const HeldTensor& tensor : file.tensors) count += std::ssize(tensor.bytes);
    return count;
}

const Weight* Model::weight(std::string_view name) const {
    const auto place = std::ranges::find(weights_, name, &Weight::name);
    return place == weights_.end() ? nullptr : &*place;
}

Tensor to_tensor(const Weight& weight) {
    Tensor tensor(weight.shape);
    const WeightView stored = stored_rows(weight);
    const auto width = static_cast<std::size_t>(stored.in);
    for (Index row = 0; row < stored.out; ++row)
        read_row(stored, row, 0, tensor.values().subspan(static_cast<std::size_t>(row) * width, width));
    return tensor;
}

Bytes bytes_in_rows(const Weight& weight) {
    Bytes bytes(weight.bytes.begin(), weight.bytes.end());
    if (weight.rows_in_panels == 0) return bytes;
    put_into_rows(weight.dtype, stored_rows(weight).out, bytes);
    return bytes;
}

WeightView stored_rows(const Weight& weight) {
    const Index rows = weight.transposed ? weight.shape.back() : weight.shape.front();
    return {.data = weight.bytes.data(),
            .dtype = weight.dtype,
            .in = *element_count(weight.shape) / rows,
            .out = rows,
            .rows_in_panels = weight.rows_in_panels,
            .finite = weight.finite};
}

}  // namespace attn
