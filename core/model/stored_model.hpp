// A model as its files have it, before its tensors are looked at, and which of them a run reads.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf.hpp"
#include "io/safetensors.hpp"
#include "model/families.hpp"
#include "model/model.hpp"

namespace attn {

struct StoredTensor {
    std::string name;  // the name in the file
    const std::string* file;
    std::string_view dtype_name;
    std::optional<DType> dtype;
    Shape shape;
    std::size_t offset;
    std::span<const std::byte> bytes;
    std::optional<DType> rounded_from = {};
    bool transposed = false;
};

// The key is the name as the family declares it.
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

struct StoredModel {
    ModelConfig config;
    const FamilyRules* rules = nullptr;
    StoredTensors tensors = {};
    std::string asked_by = "config.json";  // what asks for tensors and their shapes
    std::optional<GgufHeader> gguf = {};
    std::optional<SafetensorsIndex> index = {};
    std::vector<std::string> notes = {};
};

// They keep only the files that the model is of.
Result<StoredModel> read_safetensors_model(std::span<const std::byte> config,
                                           const std::optional<Bytes>& index_json,
                                           std::map<std::string, Bytes>& weights,
                                           std::map<std::string, HeldFile>& held);
Result<StoredModel> read_gguf_model(const std::map<std::string, Bytes>& files);

// Files keep one name of a matrix that has several, whichever their writer met first: gives it the one that
// the family declares. A head that is in the file and is not the embedding counts, whatever the configuration
// says, with a note.
void settle_tied(StoredModel& stored);

// Whether each tensor that a run needs is in the file that the index names.
Status check_index(const StoredModel& stored, std::span<const DeclaredWeight> declared);

}  // namespace attn
