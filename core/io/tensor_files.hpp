// The files that a person drops to see tensors of their own, .npy, .npz, .safetensors and .csv, with the tokens of a text
// beside them, .json or .txt: what is in them, without converting or copying it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "io/csv.hpp"
#include "io/unzip.hpp"
#include "tensor/array_view.hpp"

namespace attn {

struct DroppedFile {
    std::string name;
    std::span<const std::byte> bytes;  // outlive everything made of them
};

struct FoundTensor {
    std::string
        name;  // in its file; of a file that holds one alone, and gives it no name, the file's without extension
    std::string file;
    DType dtype = DType::f32;
    Shape shape;
    // Where it lies: in a file as it is, in an archive, or read from text.
    std::variant<ArrayView, ZipEntry, std::shared_ptr<const Tensor>> place;
    std::vector<std::string> row_labels, column_labels;  // of a table that has them
};

struct FoundTokens {
    std::string file;
    std::vector<std::string> tokens;  // their bytes as the file has them: .txt may hold ill-formed UTF-8
};

struct FoundFiles {
    std::vector<FoundTensor> tensors;
    std::vector<FoundTokens> tokens;
    std::vector<std::string> notes;  // a sentence for each array of an archive that cannot be read
};

// The files' directories and headers, and tables as a whole, in slices. Fails where a file cannot be read, in a sentence
// that begins with its name.
class FileReading {
  public:
    explicit FileReading(std::vector<DroppedFile> files);

    bool step();                  // a file, or a part of a table; true while there is more to do
    Result<FoundFiles> finish();  // does what is left; once

  private:
    Status read(const DroppedFile& file);
    void add_table(const DroppedFile& file, CsvMatrix matrix);

    std::vector<DroppedFile> files_;
    std::size_t next_ = 0;
    std::optional<CsvReading> table_;
    FoundFiles found_;
    Status status_ = ok();
};

// One element a token: a JSON list of texts, or a text of a token a line.
Result<std::vector<std::string>> parse_tokens_json(std::span<const std::byte> file, std::string_view name);
std::vector<std::string> parse_tokens_text(std::span<const std::byte> file);

// A tensor's elements in memory: a view into its file, or into `owner`.
struct LoadedTensor {
    ArrayView array;
    std::shared_ptr<const void> owner;
};

// Unpacks where there is something to unpack, in slices, and compares CRC-32.
class TensorLoading {
  public:
    explicit TensorLoading(const FoundTensor& tensor);

    bool step();  // true while there is more to do
    float progress() const;
    Result<LoadedTensor> finish();  // does what is left; once

  private:
    std::string file_;
    LoadedTensor loaded_;
    std::optional<Unpacking> unpacking_;
};

}  // namespace attn
