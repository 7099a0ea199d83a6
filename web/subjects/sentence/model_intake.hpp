// Takes a model's files from the page into memory. Names, sizes and headers are checked before the bytes
// arrive, and the open model stays open until the new one is complete and valid.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/model.hpp"

namespace attn::app {

class ModelIntake {
  public:
    // This limits the sum of file sizes: a tab's heap ends at 2 GB, and a run needs room next to the weights.
    static constexpr std::uint64_t bytes_limit = 1'700'000'000;

    // `reads_alike`: its tokenizer has the tokens of the open model's.
    void name(std::string folder, bool reads_alike) {
        folder_ = std::move(folder);
        reads_alike_ = reads_alike;
    }
    const std::string& name() const { return folder_; }
    bool reads_alike() const { return reads_alike_; }

    // Returns where to write the `size` bytes of the file; the address is valid until load() or discard().
    Result<std::byte*> buffer(const std::string& file, std::uint64_t size);
    // Checks a .safetensors file of which the header bytes have been written, before its body is read.
    Status check_header(const std::string& file) const;
    // Takes the bytes. scores.json goes with the model, and is not read yet.
    struct Loaded {
        std::shared_ptr<const Model> model;
        std::optional<Bytes> scores;
    };
    Result<Loaded> load();
    void discard();

  private:
    std::string folder_;
    bool reads_alike_ = false;
    ModelFiles files_;
    std::optional<Bytes> scores_;
    bool has_config_ = false;
    std::uint64_t total_ = 0;
};

}  // namespace attn::app
