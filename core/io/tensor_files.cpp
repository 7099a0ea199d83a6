#include "io/tensor_files.hpp"

#include <algorithm>
#include <utility>

#include "io/ascii.hpp"
#include "io/json.hpp"
#include "io/npz.hpp"
#include "io/quote.hpp"
#include "io/safetensors.hpp"
#include "io/tensor_names.hpp"

namespace attn {

namespace {

std::string extension(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == name.npos ? std::string() : ascii_lower(name.substr(dot));
}

// "folder/run.npz" gives "run".
std::string stem(std::string_view name) {
    name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
    return std::string(name.substr(0, name.rfind('.')));
}

Error in_file(const std::string& name, const Error& error) { return Error{name + ": " + error.message}; }

// Picks the most telling name. numpy.savez calls unnamed arrays arr_0, arr_1, …, and some people name arrays
// by their layer alone; then the archive's name tells what they are.
std::string best_name(const std::string& file, const std::string& name, bool alone) {
    const bool unnamed = name.starts_with("arr_");
    if (unnamed && alone) return stem(file);
    const bool only_numbered = !read_name(name).role && last_number(name).number >= 0;
    return unnamed || only_numbered ? stem(file) + "." + name : name;
}

}  // namespace

FileReading::FileReading(std::vector<DroppedFile> files) : files_(std::move(files)) {}

bool FileReading::step() {
    if (table_) {
        if (table_->step()) return true;
        auto matrix = table_->finish();
        table_.reset();
        const DroppedFile& file = files_[next_++];
        if (matrix)
            add_table(file, *std::move(matrix));
        else
            status_ = in_file(file.name, matrix.error());
    } else if (status_ && next_ < files_.size()) {
        const DroppedFile& file = files_[next_];
        if (extension(file.name) == ".csv") {
            table_.emplace(file.bytes);
            return true;
        }
        ++next_;
        if (Status status = read(file); !status) status_ = in_file(file.name, status.error());
    }
    return status_ && next_ < files_.size();
}

Status FileReading::read(const DroppedFile& file) {
    const std::string kind = extension(file.name);
    if (kind == ".npy") {
        auto array = parse_npy(file.bytes);
        if (!array) return array.error();
        found_.tensors.push_back(
            {stem(file.name), file.name, array->dtype, array->shape, *std::move(array), {}, {}});
    } else if (kind == ".npz") {
        auto arrays = parse_npz(file.bytes);
        if (!arrays) return arrays.error();
        for (NpzArray& array : *arrays) {
            if (!array.header) {
                found_.notes.push_back(file.name + " has " + quote(array.name) +
                                       ", which is left out: " + array.header.error().message);
                continue;
            }
            std::string name = best_name(file.name, array.name, arrays->size() == 1);
            found_.tensors.push_back({std::move(name),
                                      file.name,
                                      array.header->array.dtype,
                                      array.header->array.shape,
                                      std::move(array.entry),
                                      {},
                                      {}});
        }
    } else if (kind == ".safetensors") {
        const auto content = parse_safetensors(file.bytes);
        if (!content) return content.error();
        for (const TensorEntry& entry : content->header.tensors) {
            auto view = content->view(entry.name);
            if (!view) {
                found_.notes.push_back(file.name + " has " + quote(entry.name) +
                                       ", which is left out: " + view.error().message);
                continue;
            }
            found_.tensors.push_back({best_name(file.name, entry.name, false),
                                      file.name,
                                      view->dtype,
                                      view->shape,
                                      *std::move(view),
                                      {},
                                      {}});
        }
    } else if (kind == ".json") {
        auto tokens = parse_tokens_json(file.bytes, "this file");
        if (!tokens) return tokens.error();
        found_.tokens.push_back({file.name, *std::move(tokens)});
    } else if (kind == ".txt") {
        found_.tokens.push_back({file.name, parse_tokens_text(file.bytes)});
    } else {
        return Error{
            "tensors are read from .npy, .npz, .safetensors and .csv, their tokens from .json and .txt"};
    }
    return ok();
}

void FileReading::add_table(const DroppedFile& file, CsvMatrix matrix) {
    auto values = std::make_shared<const Tensor>(std::move(matrix.values));
    found_.tensors.push_back({stem(file.name), file.name, DType::f32, values->shape(), values,
                              std::move(matrix.row_labels), std::move(matrix.column_labels)});
}

Result<FoundFiles> FileReading::finish() {
    while (step()) {
    }
    if (!status_) return status_.error();
    return std::move(found_);
}

Result<std::vector<std::string>> parse_tokens_json(std::span<const std::byte> file, std::string_view name) {
    const auto tree = parse_json(file, name, {.bytes = 100'000'000, .depth = 4, .values = 1'000'000});
    if (!tree) return tree.error();
    std::vector<std::string> tokens;
    if (tree->is_array())
        for (const auto& value : *tree)
            if (const auto* text = value.get_ptr<const std::string*>()) tokens.push_back(*text);
    if (tokens.empty() || tokens.size() != tree->size())
        return Error{std::string(name) + " should hold a list of tokens, such as [\"The\", \" cat\"]"};
    return tokens;
}

std::vector<std::string> parse_tokens_text(std::span<const std::byte> file) {
    std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    std::vector<std::string> tokens;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        tokens.emplace_back(line);
    }
    return tokens;
}

TensorLoading::TensorLoading(const FoundTensor& tensor) : file_(tensor.file) {
    if (const auto* array = std::get_if<ArrayView>(&tensor.place)) {
        loaded_.array = *array;
    } else if (const auto* entry = std::get_if<ZipEntry>(&tensor.place)) {
        unpacking_.emplace(*entry);
    } else if (const auto* values = std::get_if<std::shared_ptr<const Tensor>>(&tensor.place)) {
        const Shape& shape = (*values)->shape();
        loaded_ = {{DType::f32, false, shape, row_major_strides(shape), std::as_bytes((*values)->values())},
                   *values};
    }
}

bool TensorLoading::step() { return unpacking_ && unpacking_->step(); }

float TensorLoading::progress() const { return unpacking_ ? unpacking_->progress() : 1; }

Result<LoadedTensor> TensorLoading::finish() {
    if (!unpacking_) return std::move(loaded_);
    auto unpacked = unpacking_->finish();
    if (!unpacked) return in_file(file_, unpacked.error());
    auto array = parse_npy(unpacked->bytes);
    if (!array) return in_file(file_, array.error());
    return LoadedTensor{*std::move(array), std::shared_ptr<const std::byte[]>(std::move(unpacked->room))};
}

}  // namespace attn
