// Holds a model's weights in 8 bits while its files arrive, for models that would not fit otherwise: the
// matrices become Q8_0 (tensor/blocks.hpp), which rounds each number to the nearest of 255 steps between the
// largest magnitude of its block of 32 and its negative. A file is never in memory as a
// whole, nor a matrix, unless it is one to be turned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/safetensors.hpp"

namespace attn {

struct FamilyRules;  // model/families.hpp

// A tensor of a file as it is held.
struct HeldTensor {
    TensorEntry entry;  // the file's
    DType dtype;        // q8_0, or the file's own
    bool transposed =
        false;  // a matrix [in, out] of the file is held as [out, in]: rows of blocks lie along the inputs
    std::vector<std::byte> bytes = {};
};
struct HeldFile {
    std::uint64_t data_offset = 0;  // where the first tensor's bytes begin in the file
    std::uint64_t file_size = 0;
    std::vector<HeldTensor> tensors;
};

class EightBits {
  public:
    // The rules say which matrices lie [in, out].
    EightBits(const FamilyRules& rules, std::uint64_t file_size) : rules_(&rules) {
        file_.file_size = file_size;
    }

    // Takes the next bytes of a .safetensors file. Fails where its header is none.
    Status add(std::span<const std::byte> bytes);
    // What the tensors will take, once the header has arrived.
    std::optional<std::uint64_t> bytes_held() const;
    // Fails if bytes are missing.
    Result<HeldFile> finish();

  private:
    Status take();
    Status read_header();
    void hold(HeldTensor& held) const;

    const FamilyRules* rules_;
    HeldFile file_;
    std::vector<std::byte> waiting_;  // the header, then pieces of tensors
    std::size_t wanted_ = 8;          // bytes of the next
    std::size_t next_ = 0;            // counts tensors in the order of the file
    std::size_t taken_ = 0;           // bytes of that one
    bool has_header_ = false;
};

}  // namespace attn
