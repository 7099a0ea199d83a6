// A model in one GGUF file or several, and what its keys say of it, for the architectures that this program
// runs.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf.hpp"
#include "io/model_config.hpp"
#include "tensor/result.hpp"

namespace attn {

// Looks into the files' bytes, and names them by the keys of the map that it was made of.
struct GgufModel {
    struct File {
        const std::string* name = nullptr;
        std::span<const std::byte> bytes;
        GgufHeader header;
    };
    std::vector<File> files;  // the first has the keys

    const GgufHeader& header() const { return files.front().header; }
    struct Place {
        const File* file = nullptr;
        const GgufTensor* tensor = nullptr;  // null: no file has it
        std::span<const std::byte> bytes() const;
    };
    Place find(std::string_view tensor) const;
};

// Fails with one sentence that names the file: if one does not parse, if files of the model are missing or
// not its own, or if there is a tensor twice or none at all.
Result<GgufModel> gather_gguf(const std::map<std::string, std::vector<std::byte>>& files);

// Refuses an architecture that is not supported, by its name and that of the file. The header alone tells.
Status check_gguf_architecture(const std::string& file, const GgufHeader& header);

// Tensors tell what keys leave out: the size of the vocabulary and of the MLP, which biases there are,
// whether the head is the embedding, and by how much single frequencies of rotary positions are divided.
Result<ModelConfig> gguf_model_config(const GgufModel& model);

// What a person should know of the tokens that the file lists, each in a sentence's part.
std::vector<std::string> gguf_token_notes(const GgufHeader& header, Index vocab_size);

}  // namespace attn
