#include "cli/model_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "io/gguf.hpp"
#include "io/quote.hpp"
#include "io/safetensors.hpp"

namespace attn {

namespace fs = std::filesystem;

namespace {

std::string megabytes(std::int64_t bytes) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / 1e6 << " MB";
    return text.str();
}

Result<std::int64_t> size_of(const fs::path& path) {
    std::error_code failure;
    const auto size = fs::file_size(path, failure);
    if (failure) return Error{path.string() + ": " + failure.message()};
    return static_cast<std::int64_t>(size);
}

}  // namespace

Status check_memory(const std::string& what, std::int64_t bytes) {
    const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    if (bytes <= memory) return ok();
    return Error{what + " takes " + megabytes(bytes) + ", but this machine has " + megabytes(memory) +
                 " of memory"};
}

Result<std::shared_ptr<const Model>> load_model_folder(const std::string& folder) {
    const fs::path root(folder);
    std::error_code ignored;
    if (!fs::is_directory(root, ignored)) return Error{quote(folder) + " is not a folder with a model"};

    ModelFiles files;
    auto config = read_file(root / "config.json");
    if (!config) return config.error();
    files.config = std::move(*config);

    std::vector<std::string> names{"model.safetensors"};
    if (!fs::exists(root / names.front(), ignored)) {
        const fs::path path = root / "model.safetensors.index.json";
        if (!fs::exists(path, ignored))
            return Error{quote(folder) + " holds neither model.safetensors nor model.safetensors.index.json"};
        auto index = read_file(path);
        if (!index) return index.error();
        auto parsed = parse_safetensors_index(*index);
        if (!parsed) return parsed.error();
        names = parsed->files;
        for (const std::string& name : names)
            if (!fs::exists(root / name, ignored))
                return Error{"model.safetensors.index.json names the file " + quote(name, 255) +
                             ", which is not in the folder"};
        files.index = std::move(*index);
    }
    std::int64_t total = 0;
    for (const std::string& name : names) {
        const auto size = size_of(root / name);
        if (!size) return size.error();
        total += *size;
    }
    if (auto status = check_memory("the model in " + quote(folder), total); !status) return status.error();
    for (const std::string& name : names) {
        auto bytes = read_file(root / name);
        if (!bytes) return bytes.error();
        files.weights.emplace(name, std::move(*bytes));
    }
    return Model::load(std::move(files));
}

Result<GgufStart> read_gguf_start(const std::string& path) {
    const auto size = size_of(path);
    if (!size) return size.error();
    const auto whole = static_cast<std::uint64_t>(*size);
    std::ifstream file(path, std::ios::binary);
    Bytes bytes;
    for (std::uint64_t count = std::min<std::uint64_t>(whole, 1 << 20);;
         count = std::min<std::uint64_t>(whole, 2 * count)) {
        const std::size_t before = bytes.size();
        bytes.resize(static_cast<std::size_t>(count));
        file.read(reinterpret_cast<char*>(bytes.data() + before),
                  static_cast<std::streamsize>(bytes.size() - before));
        if (!file) return Error{path + ": cannot be read"};
        auto header = parse_gguf_header(bytes, whole);
        if (!header) return Error{path + ": " + header.error().message};
        if (*header) return GgufStart{std::move(bytes), **std::move(header)};
    }
}

Result<std::shared_ptr<const Model>> load_gguf(const std::string& path) {
    const auto start = read_gguf_start(path);
    if (!start) return start.error();
    const auto names = gguf_shard_names(path, start->header);
    if (!names) return names.error();
    std::int64_t total = 0;
    for (const std::string& name : *names) {
        std::error_code ignored;
        if (!fs::exists(name, ignored))
            return Error{quote(name) + " is missing: the model is in " + std::to_string(names->size()) +
                         " files, and all of them have to be there"};
        const auto size = size_of(name);
        if (!size) return size.error();
        total += *size;
        if (name != path)
            if (auto others = read_gguf_start(name); !others) return others.error();
    }
    if (auto status = check_memory("the model in " + quote(path), total); !status) return status.error();
    ModelFiles files;
    for (const std::string& name : *names) {
        auto bytes = read_file(name);
        if (!bytes) return bytes.error();
        files.weights.emplace(fs::path(name).filename().string(), *std::move(bytes));
    }
    return Model::load(std::move(files));
}

Result<Bytes> read_file(const std::string& path) {
    const auto size = size_of(path);
    if (!size) return size.error();
    if (auto status = check_memory(path, *size); !status) return status.error();
    Bytes bytes(static_cast<std::size_t>(*size));
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
    if (!file || file.gcount() != std::ssize(bytes)) return Error{path + ": cannot be read"};
    return bytes;
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    file.close();
    if (!file) return Error{path + ": cannot be written"};
    return ok();
}

Result<std::vector<Bytes>> read_files(std::span<const std::string> paths) {
    std::vector<Bytes> contents;
    for (const std::string& path : paths) {
        auto bytes = read_file(path);
        if (!bytes) return bytes.error();
        contents.push_back(*std::move(bytes));
    }
    return contents;
}

std::string_view as_text(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace attn
