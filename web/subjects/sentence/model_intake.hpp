// Takes a model's files from the page into memory. Names, sizes and headers are checked before the bytes
// arrive, and the open model stays open until the new one is complete and valid.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/model.hpp"
#include "text/gguf_tokenizer.hpp"

namespace attn::app {

class ModelIntake {
  public:
    // Limits the sum of file sizes: a tab's heap ends at 2 GB, and a run needs room next to the weights.
    static constexpr std::uint64_t bytes_limit = 1'700'000'000;

    // `reads_alike`: its tokenizer has the same tokens as the open model's.
    void name(std::string folder, bool reads_alike) {
        folder_ = std::move(folder);
        reads_alike_ = reads_alike;
    }
    const std::string& name() const { return folder_; }
    bool reads_alike() const { return reads_alike_; }

    // Returns where to write the `size` bytes of the file; the address is valid until load() or discard().
    Result<std::byte*> buffer(const std::string& file, std::uint64_t size);
    // Checks the header of a file of weights whose first `written` bytes are there, before its body is read;
    // for a GGUF file, also its architecture and its tokenizer. Returns how many bytes are needed to go on,
    // or 0 when everything is checked.
    Result<std::uint64_t> check_header(const std::string& file, std::uint64_t written);
    // Takes the next bytes of a .safetensors file of `size` bytes whose matrices are held in 8 bits
    // (model/eight_bits.hpp), after config.json and in place of buffer().
    Status add_rounded(const std::string& file, std::uint64_t size, std::span<const std::byte> bytes);
    // Describes the tokenizer of the arriving GGUF file, and that file's model, as JSON; empty if there is
    // none.
    std::string told_tokenizer() const;
    // Takes the bytes. scores.json stays with the model, and is not parsed yet.
    struct Loaded {
        std::shared_ptr<const Model> model;
        std::optional<Bytes> scores;
        std::shared_ptr<const GgufTokenizer> tokenizer;  // null: the model did not come in a GGUF file
    };
    Result<Loaded> load();
    void discard();

  private:
    Result<std::uint64_t> check_gguf(const std::string& file, std::span<const std::byte> first_bytes,
                                     std::uint64_t size);

    // A file that is rounded as it arrives.
    struct Rounding {
        EightBits reader;
        std::uint64_t size = 0, arrived = 0;
        bool counted = false;  // included in total_
    };

    std::string folder_;
    bool reads_alike_ = false;
    ModelFiles files_;
    std::map<std::string, Rounding> rounding_;
    std::optional<Bytes> scores_;
    std::shared_ptr<const GgufTokenizer> tokenizer_;
    std::string gguf_name_;  // the model's name in its file
    bool has_config_ = false;
    std::uint64_t total_ = 0;
};

}  // namespace attn::app
