#include "model/stored_model.hpp"

#include <algorithm>
#include <array>

#include "io/gguf_model.hpp"
#include "io/quote.hpp"

namespace attn {

namespace {

std::string declared_name(const std::string& name, const FamilyRules& rules) {
    std::string declared = without_prefix(rules, name);
    // BERT's first files, which were converted from TensorFlow, call a norm's gain and bias so.
    for (const auto& [old, now] :
         {std::pair{"LayerNorm.gamma", "LayerNorm.weight"}, std::pair{"LayerNorm.beta", "LayerNorm.bias"}})
        if (declared.ends_with(old)) declared.replace(declared.rfind(old), std::string::npos, now);
    return declared;
}

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
                found.transposed = tensor.transposed;
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
            return Error{"model.safetensors.index.json names the file " + quote(file, 255) +
                         ", which is missing"};
    std::erase_if(files,
                  [&](const auto& entry) { return !std::ranges::binary_search(index.files, entry.first); });
    return ok();
}

std::string name_of_part(const FamilyRules& rules, Part part) {
    const auto found = std::ranges::find(rules.weights, part, &WeightRule::part);
    return found == rules.weights.end() ? "" : std::string(found->name);
}

// A few rows at a time, so that a large vocabulary takes no memory of its own.
bool same_numbers(const StoredTensor& a, const StoredTensor& b) {
    if (a.shape != b.shape || !a.dtype || !b.dtype || a.transposed != b.transposed) return false;
    if (a.dtype == b.dtype) return std::ranges::equal(a.bytes, b.bytes);
    const auto plain = [](const StoredTensor& tensor) {
        return tensor.dtype == DType::f32 || tensor.dtype == DType::f16 || tensor.dtype == DType::bf16;
    };
    if (!plain(a) || !plain(b)) return false;
    constexpr std::size_t at_once = 1 << 14;
    const std::size_t count = a.bytes.size() / byte_size(*a.dtype);
    std::vector<float> x(at_once), y(at_once);
    for (std::size_t at = 0; at < count; at += at_once) {
        const std::size_t n = std::min(at_once, count - at);
        for (const auto& [of, to] : {std::pair{&a, &x}, std::pair{&b, &y}})
            convert_to_f32(*of->dtype,
                           of->bytes.subspan(at * byte_size(*of->dtype), n * byte_size(*of->dtype)),
                           std::span(*to).first(n));
        if (!std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n), y.begin())) return false;
    }
    return true;
}

// Puts the tensor that has another name where the family has it, unless there is one.
void rename(StoredTensors& tensors, const std::string& other, const std::string& own) {
    if (tensors.contains(own)) return;
    auto node = tensors.extract(other);
    if (node.empty()) return;
    node.key() = own;
    tensors.insert(std::move(node));
}

}  // namespace

Result<StoredModel> read_safetensors_model(std::span<const std::byte> config,
                                           const std::optional<Bytes>& index_json,
                                           std::map<std::string, Bytes>& weights,
                                           std::map<std::string, HeldFile>& held) {
    StoredModel stored;
    auto parsed_config = parse_model_config(config);
    if (!parsed_config) return parsed_config.error();
    stored.config = *std::move(parsed_config);
    stored.rules = &family_rules(stored.config.family);

    if (index_json) {
        auto parsed = parse_safetensors_index(*index_json);
        if (!parsed) return parsed.error();
        stored.index = std::move(*parsed);
        auto status = held.empty() ? keep_indexed(*stored.index, weights) : keep_indexed(*stored.index, held);
        if (!status) return status.error();
    }
    if (weights.empty() && held.empty()) return Error{"there is no .safetensors file with the weights"};
    auto tensors =
        held.empty() ? read_safetensors_files(weights, *stored.rules) : held_tensors(held, *stored.rules);
    if (!tensors) return tensors.error();
    stored.tensors = *std::move(tensors);
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

void settle_tied(StoredModel& stored) {
    const FamilyRules& rules = *stored.rules;
    const std::string embedding = name_of_part(rules, Part::token_embedding) + ".weight",
                      head = name_of_part(rules, Part::head), bias = name_of_part(rules, Part::head_bias);
    StoredTensors& tensors = stored.tensors;
    if (!bias.empty()) rename(tensors, head + ".bias", bias + ".bias");
    for (const std::string_view name : rules.embedding_names) rename(tensors, std::string(name), embedding);
    if (stored.config.tie_word_embeddings) rename(tensors, head + ".weight", embedding);
    const auto table = tensors.find(embedding);
    if (table == tensors.end()) return;
    for (const std::string_view name : rules.embedding_names)
        if (const auto other = tensors.find(name);
            other != tensors.end() && !same_numbers(other->second, table->second))
            stored.notes.push_back("tensor " + quote(other->second.name) + " has other numbers than " +
                                   quote(table->second.name) +
                                   ", which the family has in its place: not used");
    if (!stored.config.tie_word_embeddings) return;
    const auto own = tensors.find(head + ".weight");
    if (own == tensors.end() || same_numbers(own->second, table->second)) return;
    stored.config.tie_word_embeddings = false;
    stored.notes.push_back(stored.asked_by + " says that the head is the embedding, but tensor " +
                           quote(own->second.name) + " has other numbers than " + quote(table->second.name) +
                           ": the head of the file is used");
}

Status check_index(const StoredModel& stored, std::span<const DeclaredWeight> declared) {
    if (!stored.index) return ok();
    for (const auto& [name, file] : stored.index->weight_map) {
        const std::string own = declared_name(name, *stored.rules);
        const auto place = stored.tensors.find(own);
        const bool absent = place == stored.tensors.end();
        if (absent && std::ranges::find(declared, own, &DeclaredWeight::name) == declared.end()) continue;
        if (absent || (place->second.name == name && *place->second.file != file))
            return Error{"model.safetensors.index.json says that tensor " + quote(name) + " is in " +
                         quote(file) + ", but it is not there"};
    }
    return ok();
}

}  // namespace attn
