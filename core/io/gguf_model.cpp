#include "io/gguf_model.hpp"

#include <algorithm>

#include "io/quote.hpp"

namespace attn {

std::span<const std::byte> GgufModel::Place::bytes() const {
    return file->bytes.subspan(static_cast<std::size_t>(tensor->offset),
                               static_cast<std::size_t>(tensor->bytes));
}

GgufModel::Place GgufModel::find(std::string_view name) const {
    for (const File& file : files)
        if (const GgufTensor* tensor = file.header.tensor(name)) return {&file, tensor};
    return {};
}

Result<GgufModel> gather_gguf(const std::map<std::string, std::vector<std::byte>>& files) {
    GgufModel model;
    for (const auto& [name, bytes] : files) {
        auto header = parse_gguf(bytes);
        if (!header) return Error{name + ": " + header.error().message};
        model.files.push_back({&name, bytes, *std::move(header)});
    }
    std::ranges::sort(model.files, {}, [](const GgufModel::File& each) { return each.header.shard; });
    const GgufModel::File& first = model.files.front();
    const std::uint64_t shards = first.header.shards;
    const std::string& name = *first.name;
    for (std::size_t i = 0; i < model.files.size(); ++i) {
        const GgufHeader& header = model.files[i].header;
        if (header.shards != shards || header.shard != i)
            return Error{*model.files[i].name + ": this GGUF file is number " +
                         std::to_string(header.shard + 1) + " of " + std::to_string(header.shards) +
                         " where number " + std::to_string(i + 1) + " of " + std::to_string(shards) +
                         " of the model should be: give all files of one model and no others"};
    }
    if (model.files.size() != shards)
        return Error{name + ": this GGUF file is one of " + std::to_string(shards) +
                     " of its model, of which number " + std::to_string(model.files.size() + 1) +
                     " is missing: give all of them"};

    std::size_t tensors = 0;
    for (const GgufModel::File& file : model.files) {
        for (const GgufTensor& tensor : file.header.tensors)
            if (const GgufModel::File* other = model.find(tensor.name).file; other != &file)
                return Error{"tensor " + quote(tensor.name) + " is in " + quote(*other->name) + " and in " +
                             quote(*file.name)};
        tensors += file.header.tensors.size();
    }
    if (tensors == 0)
        return Error{name +
                     ": this GGUF file holds no tensors, perhaps a vocabulary alone: get one with the model"};
    if (const auto all = first.header.tensors_of_all; all && *all != tensors)
        return Error{name + ": this GGUF file says that its model has " + std::to_string(*all) +
                     " tensors (split.tensors.count), but its files hold " + std::to_string(tensors) +
                     ": download them again"};
    return model;
}

std::vector<std::string> gguf_token_notes(const GgufHeader& header, Index vocab_size) {
    const auto rows = static_cast<std::uint64_t>(vocab_size);
    const GgufValue* tokens = header.find("tokenizer.ggml.tokens");
    if (!tokens) return {"the file lists no tokens (tokenizer.ggml.tokens), so only ids can be given"};
    std::vector<std::string> notes;
    if (tokens->texts().size() != rows)
        notes.push_back("the file lists " + std::to_string(tokens->texts().size()) +
                        " tokens (tokenizer.ggml.tokens), but the embedding has " + std::to_string(rows) +
                        " rows");
    for (const char* key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"})
        if (const GgufValue* value = header.find(key);
            value && (!value->is_array || value->count != tokens->count))
            notes.push_back("the file has " + std::to_string(value->is_array ? value->count : 1) +
                            " numbers as " + quote(key) + " for " + std::to_string(tokens->count) +
                            " tokens");
    for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"})
        if (const GgufValue* value = header.find(key)) {
            const auto id = value->integer();
            if (!id || *id < 0 || *id >= vocab_size)
                notes.push_back("the file has " + (id ? std::to_string(*id) : "no whole number") + " as " +
                                quote(key) + ", which is outside the vocabulary of " + std::to_string(rows));
        }
    const GgufValue* kind = header.find("tokenizer.ggml.model");
    const auto named = kind ? kind->text() : std::nullopt;
    if (!named || (*named != "llama" && *named != "gpt2"))
        notes.push_back("the file has " + (named ? "the tokenizer " + quote(*named) : "no tokenizer") +
                        " (tokenizer.ggml.model); llama and gpt2 are supported, so only ids can be given");
    return notes;
}

}  // namespace attn
