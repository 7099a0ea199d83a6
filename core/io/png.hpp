// Pictures in the format PNG (W3C recommendation, third edition): 8 bits a channel, RGB, one row after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// Rows are deflated as they come, so that a picture may be larger than memory: only its file is held.
class PngWriter {
  public:
    PngWriter(Index width, Index height);  // at least 1 × 1 pixels
    ~PngWriter();
    PngWriter(const PngWriter&) = delete;
    PngWriter& operator=(const PngWriter&) = delete;

    void row(std::span<const std::uint8_t> rgb);  // [width, 3], from the top
    // After `height` rows, once.
    std::vector<std::byte> finish();

  private:
    void deflate(std::span<const std::uint8_t> bytes, bool last);
    void chunk(const char* name, std::span<const std::uint8_t> data);

    struct Stream;
    std::unique_ptr<Stream> stream_;
    std::vector<std::byte> file_;
    std::vector<std::uint8_t> line_, deflated_;  // a row behind its filter; what is not yet a chunk
};

}  // namespace attn
