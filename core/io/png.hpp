// Writes PNG pictures (W3C recommendation, third edition): 8 bits per channel, RGB, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// Rows are deflated as they come: a picture may be larger than memory, since only its file is held.
class PngWriter {
  public:
    PngWriter(Index width, Index height);  // at least 1 × 1 pixels
    ~PngWriter();
    PngWriter(const PngWriter&) = delete;
    PngWriter& operator=(const PngWriter&) = delete;

    void row(std::span<const std::uint8_t> rgb);  // [width, 3], from the top
    // Call this once, after `height` rows.
    std::vector<std::byte> finish();

  private:
    void deflate(std::span<const std::uint8_t> bytes, bool last);
    void chunk(const char* name, std::span<const std::uint8_t> data);

    struct Stream;
    std::unique_ptr<Stream> stream_;
    std::vector<std::byte> file_;
    std::vector<std::uint8_t> line_, deflated_;  // a row behind its filter byte; what is not yet in a chunk
};

}  // namespace attn
