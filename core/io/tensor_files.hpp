// Reads the files that a person drops to see their own tensors (.npy, .npz, .safetensors and .csv, and the
// tokens of a text as .json or .txt) and lists what they hold, without converting or copying it.
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
    std::span<const std::byte> bytes;  // must outlive everything made from them
};

struct FoundTensor {
    std::string name;  // within its file; a lone unnamed tensor gets the file's stem
    std::string file;
    DType dtype = DType::f32;
    Shape shape;
    // Says where it is: as it is in a file, in an archive, or already read from text.
    std::variant<ArrayView, ZipEntry, std::shared_ptr<const Tensor>> place;
    std::vector<std::string> row_labels, column_labels;  // only for a table that has them
};

struct FoundTokens {
    std::string file;
    std::vector<std::string> tokens;  // the file's bytes: a .txt may hold ill-formed UTF-8
};

struct FoundFiles {
    std::vector<FoundTensor> tensors;
    std::vector<FoundTokens> tokens;
    std::vector<std::string> notes;  // one sentence for each array of an archive that cannot be read
};

// Reads the files' directories and headers, and tables as a whole, in slices. If a file cannot be read, the
// error begins with its name.
class FileReading {
  public:
    explicit FileReading(std::vector<DroppedFile> files);

    bool step();                  // reads a file or a part of a table; true while there is more to do
    Result<FoundFiles> finish();  // does what is left; call once

  private:
    Status read(const DroppedFile& file);
    void add_table(const DroppedFile& file, CsvMatrix matrix);

    std::vector<DroppedFile> files_;
    std::size_t next_ = 0;
    std::optional<CsvReading> table_;
    FoundFiles found_;
    Status status_ = ok();
};

// Each token is one element of a JSON list of strings, or one line of a text.
Result<std::vector<std::string>> parse_tokens_json(std::span<const std::byte> file, std::string_view name);
std::vector<std::string> parse_tokens_text(std::span<const std::byte> file);

// A tensor's elements in memory; `array` is a view into its file or into `owner`.
struct LoadedTensor {
    ArrayView array;
    std::shared_ptr<const void> owner;
};

// Unpacks the tensor, if it is packed, in slices, and checks its CRC-32.
class TensorLoading {
  public:
    explicit TensorLoading(const FoundTensor& tensor);

    bool step();  // true while there is more to do
    float progress() const;
    Result<LoadedTensor> finish();  // does what is left; call once

  private:
    std::string file_;
    LoadedTensor loaded_;
    std::optional<Unpacking> unpacking_;
};

}  // namespace attn
