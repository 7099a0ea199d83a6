// Reads the GGUF format of llama.cpp, versions 2 and 3: typed keys, a list of tensors, then their bytes. The
// header can be read and checked before the body is in memory. Strings and arrays stay where they lie: what
// is returned here looks into the bytes that were parsed, which must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// The numbers are those of the format.
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

// The strings of an array, one after the other.
class GgufTexts {
  public:
    class Iterator {
      public:
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::forward_iterator_tag;

        Iterator() = default;
        explicit Iterator(const std::byte* at) : at_(at) {}
        std::string_view operator*() const;
        Iterator& operator++();
        Iterator operator++(int) {
            const Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator&) const = default;

      private:
        const std::byte* at_ = nullptr;
    };

    GgufTexts() = default;
    GgufTexts(std::span<const std::byte> bytes, std::uint64_t count) : bytes_(bytes), count_(count) {}
    Iterator begin() const { return Iterator(bytes_.data()); }
    Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }
    std::uint64_t size() const { return count_; }

  private:
    std::span<const std::byte> bytes_;
    std::uint64_t count_ = 0;
};

struct GgufValue {
    GgufType type = GgufType::u8;  // for an array, the type of its elements
    bool is_array = false;
    std::uint64_t count = 1;           // how many elements an array has
    std::span<const std::byte> bytes;  // the value, or all elements; for a text, its characters

    // Nothing, if it is of another kind or does not fit.
    std::optional<std::int64_t> integer() const;
    std::optional<double> number() const;  // also of an integer
    std::optional<bool> flag() const;
    std::optional<std::string_view> text() const;

    // The elements of an array.
    GgufTexts texts() const;  // empty, if it has other elements
    GgufValue at(
        std::uint64_t i) const;  // a number or a flag; its elements are not texts or arrays, and i < count
};

struct GgufKey {
    std::string_view name;
    GgufValue value;
};

struct GgufTensor {
    std::string_view name;
    DType dtype = DType::f32;
    std::string_view dtype_name;  // "F32", "Q4_K", …
    Shape shape;                  // row-major: the file has the innermost size first
    std::uint64_t offset = 0;     // its first byte in the file
    std::uint64_t bytes = 0;
};

struct GgufHeader {
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;
    std::uint64_t data_offset = 0;    // the first byte after the header and its padding
    std::vector<GgufKey> keys;        // sorted by name
    std::vector<GgufTensor> tensors;  // sorted by name
    // For a model in several files: which of them this is, from 0 on, how many there are, and how many
    // tensors all of them have.
    std::uint64_t shard = 0, shards = 1;
    std::optional<std::uint64_t> tensors_of_all;

    const GgufValue* find(std::string_view key) const;      // null: there is no such key
    const GgufTensor* tensor(std::string_view name) const;  // null: no tensor has that name
};

// Nothing, if the header goes on behind these first bytes of a file of file_size bytes: it does not say how
// long it is, so that a reader gives twice as many and asks again. What is wrong in them, also beyond the
// file's end, is refused at once.
Result<std::optional<GgufHeader>> parse_gguf_header(std::span<const std::byte> first_bytes,
                                                    std::uint64_t file_size);

// A whole file.
Result<GgufHeader> parse_gguf(std::span<const std::byte> file);

// The names of all files of the model of which this is one: "x-00002-of-00003.gguf" gives three of them. They
// lie in the same folder, which the name may have in front.
Result<std::vector<std::string>> gguf_shard_names(const std::string& name, const GgufHeader& header);

}  // namespace attn
