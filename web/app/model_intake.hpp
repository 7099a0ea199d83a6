// The files of a model on their way from the page into memory: names, sizes and headers are checked before the
// bytes come, and what was open stays open until everything is here and valid.
#pragma once

#include <cstdint>
#include <string>

#include "model/model.hpp"

namespace attn::app {

class ModelIntake {
  public:
    // Largest sum of file sizes taken; a tab's heap ends at 2 GB and a run needs room beside the weights.
    static constexpr std::uint64_t bytes_limit = 1'700'000'000;

    void name(std::string folder) { folder_ = std::move(folder); }
    const std::string& name() const { return folder_; }

    // Where `size` bytes of the file go; the address stays until load() or discard().
    Result<std::byte*> buffer(const std::string& file, std::uint64_t size);
    // Checks a .safetensors file whose header bytes have been written, before its body is read.
    Status check_header(const std::string& file) const;
    Result<std::shared_ptr<const Model>> load();  // takes the bytes
    void discard();

  private:
    std::string folder_;
    ModelFiles files_;
    bool has_config_ = false;
    std::uint64_t total_ = 0;
};

}  // namespace attn::app
