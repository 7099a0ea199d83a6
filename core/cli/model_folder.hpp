// Reads models from folders laid out as on a model hub, and from GGUF files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace attn {

// Reads config.json and model.safetensors, or model.safetensors.index.json and the files that it names.
// Before reading, it refuses what does not fit into this machine's memory.
Result<std::shared_ptr<const Model>> load_model_folder(const std::string& folder);
// The same of a GGUF file, or of one of the files that a model is in; the others lie beside it. Headers are
// read and checked before anything else.
Result<std::shared_ptr<const Model>> load_gguf(const std::string& path);

// The beginning of a GGUF file with its header, which looks into these bytes.
struct GgufStart {
    Bytes bytes;
    GgufHeader header;
};
// Reads and checks the header, and no more than twice as much of the file.
Result<GgufStart> read_gguf_start(const std::string& path);

// The error names the file.
Result<Bytes> read_file(const std::string& path);
Status write_file(const std::string& path, std::span<const std::byte> bytes);
Result<std::vector<Bytes>> read_files(std::span<const std::string> paths);
std::string_view as_text(const Bytes& bytes);  // the bytes must outlive it

// Returns an error with both sizes if `what` takes more memory than this machine has.
Status check_memory(const std::string& what, std::int64_t bytes);

}  // namespace attn
