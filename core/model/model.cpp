#include "model/model.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "io/quote.hpp"
#include "io/safetensors.hpp"
#include "model/families.hpp"
#include "model/network.hpp"

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
};

// The key is the name as the family declares it.
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

std::string declared_name(const std::string& name, const FamilyRules& rules) {
    std::string declared = name;
    for (const std::string_view prefix : rules.prefixes)
        if (name.starts_with(prefix)) {
            declared.erase(0, prefix.size());
            break;
        }
    // BERT's first files, which were converted from TensorFlow, call a norm's gain and bias so.
    for (const auto& [old, now] :
         {std::pair{"LayerNorm.gamma", "LayerNorm.weight"}, std::pair{"LayerNorm.beta", "LayerNorm.bias"}})
        if (declared.ends_with(old)) declared.replace(declared.rfind(old), std::string::npos, now);
    return declared;
}

Result<StoredTensors> read_files(const std::map<std::string, Bytes>& files, const FamilyRules& rules) {
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
            const auto [place, added] = stored.emplace(declared_name(entry.name, rules), std::move(tensor));
            if (!added)
                return Error{"tensor " + quote(place->second.name) + " is in " + quote(*place->second.file) +
                             " and, as " + quote(entry.name) + ", in " + quote(file)};
        }
    }
    return stored;
}

// Keeps only the files that the index names; each of them must exist.
Status keep_indexed(const SafetensorsIndex& index, std::map<std::string, Bytes>& files) {
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

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
    return text;
}

// A name that the family's table has, and so is told whole, however long.
std::string quoted_whole(const std::string& name) { return "'" + name + "'"; }

Result<Weight> check(const DeclaredWeight& declared, const StoredTensor& stored) {
    const std::string tensor = *stored.file + ": tensor " + quoted_whole(stored.name);
    if (stored.dtype != DType::f32 && stored.dtype != DType::f16 && stored.dtype != DType::bf16)
        return Error{tensor + " holds " + std::string(stored.dtype_name) +
                     " values, which are not supported as weights; F32, F16 and BF16 are"};
    if (stored.shape != declared.shape)
        return Error{tensor + " has shape " + to_string(stored.shape) + ", expected " +
                     to_string(declared.shape) + " (" + joined(declared.axes, " × ") + ") by config.json"};
    return Weight{.name = declared.name,
                  .axes = declared.axes,
                  .shape = declared.shape,
                  .dtype = *stored.dtype,
                  .file = *stored.file,
                  .offset = stored.offset,
                  .bytes = stored.bytes};
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

Error missing(const std::vector<DeclaredWeight>& absent) {
    constexpr std::size_t shown = 3;
    std::vector<std::string> names;
    for (const DeclaredWeight& weight : absent)
        if (names.size() < shown)
            names.push_back(quoted_whole(weight.name) + " (" + to_string(weight.shape) + ")");
    std::string text =
        "the weights lack tensor" + std::string(absent.size() > 1 ? "s " : " ") + joined(names, ", ");
    if (absent.size() > shown) text += " and " + std::to_string(absent.size() - shown) + " more";
    return Error{text + ", for which config.json asks"};
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

Result<std::shared_ptr<const Model>> Model::load(ModelFiles&& files) {
    auto config = parse_model_config(files.config);
    if (!config) return config.error();
    const FamilyRules& rules = family_rules(config->family);

    std::optional<SafetensorsIndex> index;
    if (files.index) {
        auto parsed = parse_safetensors_index(*files.index);
        if (!parsed) return parsed.error();
        index = std::move(*parsed);
        if (auto status = keep_indexed(*index, files.weights); !status) return status.error();
    }
    if (files.weights.empty()) return Error{"there is no .safetensors file with the weights"};

    std::shared_ptr<Model> model(new Model);
    model->config_ = std::move(*config);
    model->files_ = std::move(files.weights);
    auto stored = read_files(model->files_, rules);
    if (!stored) return stored.error();
    if (index)
        if (auto status = check_index(*index, *stored, rules); !status) return status.error();

    const std::vector<DeclaredWeight> declared = declared_weights(rules, model->config_);
    std::vector<DeclaredWeight> absent;
    for (const DeclaredWeight& weight : declared) {
        const auto place = stored->find(weight.name);
        if (place == stored->end()) {
            absent.push_back(weight);
            continue;
        }
        auto checked = check(weight, place->second);
        if (!checked) return checked.error();
        checked->nan_count = count_nans(checked->dtype, checked->bytes);
        if (checked->nan_count > 0)
            model->notes_.push_back("tensor " + quote(weight.name) + " holds " +
                                    std::to_string(checked->nan_count) +
                                    (checked->nan_count == 1 ? " NaN value" : " NaN values"));
        model->weights_.push_back(std::move(*checked));
    }
    if (!absent.empty()) return missing(absent);
    if (const auto names = unused(*stored, declared, rules); !names.empty())
        model->notes_.push_back("not used by this architecture: " + joined(names, ", "));
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
