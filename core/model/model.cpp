#include "model/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "io/gguf_model.hpp"
#include "io/quote.hpp"
#include "io/safetensors.hpp"
#include "model/families.hpp"
#include "model/network.hpp"
#include "tensor/blocks.hpp"

namespace attn {

namespace {

struct StoredTensor {
    std::string name;  // as the file has it
    const std::string* file;
    std::string_view dtype_name;
    std::optional<DType> dtype;
    Shape shape;
    std::size_t offset;
    std::span<const std::byte> bytes;
    std::optional<DType> rounded_from = {};
    bool turned = false;
};

// The key is the name as the family declares it.
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

std::string declared_name(const std::string& name, const FamilyRules& rules) {
    std::string declared(without_prefix(rules, name));
    // BERT's first files, which were converted from TensorFlow, call a norm's gain and bias so.
    for (const auto& [old, now] :
         {std::pair{"LayerNorm.gamma", "LayerNorm.weight"}, std::pair{"LayerNorm.beta", "LayerNorm.bias"}})
        if (declared.ends_with(old)) declared.replace(declared.rfind(old), std::string::npos, now);
    return declared;
}

// A model as its files have it, before its tensors are looked at.
struct StoredModel {
    ModelConfig config;
    const FamilyRules* rules = nullptr;
    StoredTensors tensors = {};
    std::string asked_by = "config.json";  // what asks for tensors and their shapes
    std::optional<GgufHeader> gguf = {};
};

Status add_stored(StoredTensors& stored, StoredTensor tensor, const FamilyRules& rules) {
    const auto [place, added] = stored.try_emplace(declared_name(tensor.name, rules), tensor);
    if (added) return ok();
    return Error{"tensor " + quote(place->second.name) + " is in " + quote(*place->second.file) +
                 " and, as " + quote(tensor.name) + ", in " + quote(*tensor.file)};
}

Result<StoredTensors> held_tensors(const std::map<std::string, HeldFile>& files, const FamilyRules& rules) {
    StoredTensors stored;
    for (const auto& [file, held] : files)
        for (const HeldTensor& tensor : held.tensors) {
            const TensorEntry& entry = tensor.entry;
            StoredTensor found{.name = entry.name,
                               .file = &file,
                               .dtype_name = entry.dtype_name,
                               .dtype = entry.dtype,
                               .shape = entry.shape,
                               .offset = static_cast<std::size_t>(held.data_offset + entry.begin),
                               .bytes = tensor.bytes};
            if (tensor.dtype == DType::q8_0) {
                found.dtype = tensor.dtype;
                found.rounded_from = entry.dtype;
                found.turned = tensor.turned;
            }
            if (auto status = add_stored(stored, std::move(found), rules); !status) return status.error();
        }
    return stored;
}

Result<StoredTensors> read_safetensors_files(const std::map<std::string, Bytes>& files,
                                             const FamilyRules& rules) {
    StoredTensors stored;
    for (const auto& [file, bytes] : files) {
        auto parsed = parse_safetensors(bytes);
        if (!parsed) return Error{file + ": " + parsed.error().message};
        for (const TensorEntry& entry : parsed->header.tensors) {
            StoredTensor tensor{.name = entry.name,
                                .file = &file,
                                .dtype_name = entry.dtype_name,
                                .dtype = entry.dtype,
                                .shape = entry.shape,
                                .offset = static_cast<std::size_t>(parsed->header.data_offset + entry.begin),
                                .bytes = parsed->bytes(entry)};
            if (auto status = add_stored(stored, std::move(tensor), rules); !status) return status.error();
        }
    }
    return stored;
}

// Keeps only the files that the index names; each of them must exist.
template <class File>
Status keep_indexed(const SafetensorsIndex& index, std::map<std::string, File>& files) {
    for (const std::string& file : index.files)
        if (!files.contains(file))
            return Error{"model.safetensors.index.json names the file " + quote(file) + ", which is missing"};
    std::erase_if(files,
                  [&](const auto& entry) { return !std::ranges::binary_search(index.files, entry.first); });
    return ok();
}

Status check_index(const SafetensorsIndex& index, const StoredTensors& stored, const FamilyRules& rules) {
    for (const auto& [name, file] : index.weight_map) {
        const auto place = stored.find(declared_name(name, rules));
        if (place == stored.end() || *place->second.file != file)
            return Error{"model.safetensors.index.json says that tensor " + quote(name) + " is in " +
                         quote(file) + ", but it is not there"};
    }
    return ok();
}

Result<StoredModel> read_safetensors_model(std::span<const std::byte> config,
                                           const std::optional<Bytes>& index_json,
                                           std::map<std::string, Bytes>& weights,
                                           std::map<std::string, HeldFile>& held) {
    StoredModel stored;
    auto parsed_config = parse_model_config(config);
    if (!parsed_config) return parsed_config.error();
    stored.config = *std::move(parsed_config);
    stored.rules = &family_rules(stored.config.family);

    std::optional<SafetensorsIndex> index;
    if (index_json) {
        auto parsed = parse_safetensors_index(*index_json);
        if (!parsed) return parsed.error();
        index = std::move(*parsed);
        auto status = held.empty() ? keep_indexed(*index, weights) : keep_indexed(*index, held);
        if (!status) return status.error();
    }
    if (weights.empty() && held.empty()) return Error{"there is no .safetensors file with the weights"};
    auto tensors =
        held.empty() ? read_safetensors_files(weights, *stored.rules) : held_tensors(held, *stored.rules);
    if (!tensors) return tensors.error();
    stored.tensors = *std::move(tensors);
    if (index)
        if (auto status = check_index(*index, stored.tensors, *stored.rules); !status) return status.error();
    return stored;
}

Result<StoredModel> read_gguf_model(const std::map<std::string, Bytes>& files) {
    for (const auto& [name, bytes] : files)
        if (!is_gguf_name(name)) return Error{name + " stands beside a GGUF file: give one kind of file"};
    auto model = gather_gguf(files);
    if (!model) return model.error();
    auto config = gguf_model_config(*model);
    if (!config) return config.error();
    StoredModel stored{.config = *std::move(config),
                       .asked_by = "the header of " + *model->files.front().name};
    stored.rules = &gguf_rules(stored.config);
    for (const GgufModel::File& file : model->files)
        for (const GgufTensor& tensor : file.header.tensors) {
            std::string name(tensor.name);
            stored.tensors.emplace(name, StoredTensor{.name = name,
                                                      .file = file.name,
                                                      .dtype_name = tensor.dtype_name,
                                                      .dtype = tensor.dtype,
                                                      .shape = tensor.shape,
                                                      .offset = static_cast<std::size_t>(tensor.offset),
                                                      .bytes = GgufModel::Place{&file, &tensor}.bytes()});
        }
    stored.gguf = std::move(model->files.front().header);
    return stored;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
    return text;
}

// A name that the family's table has, and so is told whole, however long.
std::string quoted_whole(const std::string& name) { return "'" + name + "'"; }

Result<Weight> check(const DeclaredWeight& declared, const StoredTensor& stored,
                     const std::string& asked_by) {
    const std::string tensor = *stored.file + ": tensor " + quoted_whole(stored.name);
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
                  .turned = stored.turned};
}

// Counts NaN values: their bits, without the sign, are above those of infinity.
template <class Bits>
std::int64_t count_nans(std::span<const std::byte> bytes, Bits infinity) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(Bits)) {
        Bits value;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        count += (value & (std::numeric_limits<Bits>::max() >> 1)) > infinity;
    }
    return count;
}

std::int64_t count_nans(DType dtype, std::span<const std::byte> bytes) {
    switch (dtype) {
        case DType::f16: return count_nans<std::uint16_t>(bytes, 0x7c00);
        case DType::bf16: return count_nans<std::uint16_t>(bytes, 0x7f80);
        default: return count_nans<std::uint32_t>(bytes, 0x7f800000);
    }
}

// Notes what is no number. In blocks, only scales can be none.
void check_numbers(Weight& weight, std::vector<std::string>& notes) {
    const std::string tensor = "tensor " + quote(weight.name) + " holds ";
    if (block_elements(weight.dtype) == 1) {
        weight.nan_count = count_nans(weight.dtype, weight.bytes);
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

Error missing(const std::vector<DeclaredWeight>& absent, const std::string& asked_by) {
    constexpr std::size_t shown = 3;
    std::vector<std::string> names;
    for (const DeclaredWeight& weight : absent)
        if (names.size() < shown)
            names.push_back(quoted_whole(weight.name) + " (" + to_string(weight.shape) + ")");
    std::string text =
        "the weights lack tensor" + std::string(absent.size() > 1 ? "s " : " ") + joined(names, ", ");
    if (absent.size() > shown) text += " and " + std::to_string(absent.size() - shown) + " more";
    return Error{text + ", for which " + asked_by + " asks"};
}

// Lists the names of stored tensors that are neither declared nor known to be unnecessary.
std::vector<std::string> unused(const StoredTensors& stored, const std::vector<DeclaredWeight>& declared,
                                const FamilyRules& rules) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : stored) {
        const bool is_declared = std::ranges::find(declared, name, &DeclaredWeight::name) != declared.end();
        const bool is_tied_head = std::ranges::any_of(rules.weights, [&](const WeightRule& rule) {
            return rule.part == Part::head && name == std::string(rule.name) + ".weight";
        });
        const bool is_buffer = std::ranges::any_of(
            rules.buffers, [&](std::string_view pattern) { return matches(pattern, name); });
        if (!is_declared && !is_tied_head && !is_buffer) names.push_back(quote(tensor.name));
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
    model->config_ = std::move(stored->config);
    model->gguf_ = std::move(stored->gguf);
    const FamilyRules& rules = *stored->rules;

    const std::vector<DeclaredWeight> declared = declared_weights(rules, model->config_);
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
    if (!absent.empty()) return missing(absent, stored->asked_by);
    for (const Weight& weight : model->weights_)
        if (weight.paired_rows > 0)
            put_back_rows(weight, std::span(model->files_.find(weight.file)->second)
                                      .subspan(weight.offset, weight.bytes.size()));
    if (const auto names = unused(stored->tensors, declared, rules); !names.empty())
        model->notes_.push_back("not used by this architecture: " + joined(names, ", "));
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
    convert_to_f32(weight.dtype, weight.bytes, tensor.values());
    return tensor;
}

}  // namespace attn
