// Takes tensor files from the page into memory, where each is kept once, however many sets it is part of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/tensor_files.hpp"
#include "tensor/result.hpp"

namespace attn::app {

// Copies share the bytes.
struct TensorFile {
    std::string name;
    std::shared_ptr<const std::byte[]> bytes;
    std::size_t size = 0;

    DroppedFile dropped() const { return {name, {bytes.get(), size}}; }
};

std::uint64_t total_size(const std::vector<TensorFile>& files);
std::vector<std::string> names_of(const std::vector<TensorFile>& files);
std::string size_text(std::uint64_t bytes);  // "604 MB", "1.7 GB"

class TensorIntake {
  public:
    // Limits the sum of file sizes: a tab's heap ends at 2 GB, and the results need room next to the files.
    static constexpr std::uint64_t bytes_limit = 1'700'000'000;

    // Returns where to write the `size` bytes of the file; the address is valid until take() or discard().
    // `open` is the size of the files that stay in memory meanwhile.
    Result<std::byte*> buffer(const std::string& file, std::uint64_t size, std::uint64_t open);
    std::vector<TensorFile> take() { return std::exchange(files_, {}); }
    void discard() { files_.clear(); }

  private:
    std::vector<TensorFile> files_;
};

}  // namespace attn::app
