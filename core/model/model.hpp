// A transformer as published on a model hub: configuration and weights, checked and ready to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/gguf.hpp"
#include "io/model_config.hpp"
#include "model/eight_bits.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"
#include "tensor/weights.hpp"

namespace attn {

using Bytes = std::vector<std::byte>;

struct ModelFiles {
    Bytes config;                // config.json; of GGUF files, which have all of it in them, nothing
    std::optional<Bytes> index;  // model.safetensors.index.json, if the weights are in shards
    std::map<std::string, Bytes>
        weights;  // keyed by file name: model.safetensors, model-00001-of-00002.safetensors, …, x.gguf
    std::map<std::string, HeldFile> held =
        {};  // .safetensors files in their place, which were rounded as they arrived
};
bool is_gguf_name(std::string_view file);

// One tensor of the model, still in its file.
struct Weight {
    std::string name;               // the family's name for it: "h.0.attn.c_attn.weight", or its GGUF file
    std::vector<std::string> axes;  // {"width", "qkv"}
    Shape shape;                    // sizes of the axes
    DType dtype = DType::f32;       // f32, f16, bf16 or one in blocks (tensor/blocks.hpp)
    std::string file;               // "model.safetensors"
    std::size_t offset = 0;         // where its first byte lies in that file
    std::span<const std::byte> bytes;
    Index rows_in_panels = 0;  // the first rows of `bytes` lie in panels (tensor/weights.hpp)
    std::int64_t nan_count = 0;
    bool finite = false;  // none of its numbers is infinite or NaN
    // How many rows of each head lie in the file in the pairs that RoPE rotates (0, d/2, 1, d/2 + 1, …); in
    // `bytes` they have been put into halves. 0: the rows lie as in the file.
    Index paired_rows = 0;

    // For a matrix that was rounded as it arrived: its type in the file, and whether it lies there [in, out],
    // while `bytes` lie [out, in]. The shape is that of the file.
    std::optional<DType> rounded_from = {};
    bool transposed = false;

    Index stored_row(Index row) const;  // where a row of `bytes` is in the file
};

struct Network;  // model/network.hpp: the weights in the order in which a run uses them

// A Model is immutable and owns its files' bytes. Weights keep their element type and its bytes; matrices
// [out, in] are put in place into the order in which products read them.
class Model {
  public:
    // Fails with one sentence that names the file and the tensor: if JSON, safetensors or GGUF do not parse,
    // if the architecture is outside the families, if tensors or shards are missing, if shapes differ from
    // the configuration's, or if an element type is none of weights.
    static Result<std::shared_ptr<const Model>> load(ModelFiles&& files);
    // The same model with another network of the same shapes, some of whose numbers are these. It shares the
    // files of the one that it is made of, and weights() are theirs.
    static std::shared_ptr<const Model> changed(std::shared_ptr<const Model> of, Network network,
                                                std::vector<Tensor> numbers);
    ~Model();

    const ModelConfig& config() const { return config_; }
    std::int64_t parameter_count() const;
    std::int64_t memory_bytes() const;  // the size of the files it holds, or of what they were rounded to
    bool in_eight_bits() const { return of_ ? of_->in_eight_bits() : !held_.empty(); }
    // Lists what a person should know about the files: NaN values, and tensors that are not used.
    const std::vector<std::string>& notes() const { return notes_; }

    std::span<const Weight> weights() const { return weights_; }
    const Weight* weight(std::string_view name) const;  // null: no tensor has that name
    const Network& network() const { return *network_; }
    // The keys of the GGUF file that the model was in, its tokenizer's among them; null: it was in none.
    const GgufHeader* gguf() const { return of_ ? of_->gguf() : gguf_ ? &*gguf_ : nullptr; }

  private:
    Model() = default;
    ModelConfig config_;
    std::map<std::string, Bytes> files_;
    std::map<std::string, HeldFile> held_;
    std::optional<GgufHeader> gguf_;
    std::vector<Weight> weights_;
    std::vector<std::string> notes_;
    std::unique_ptr<const Network> network_;
    std::shared_ptr<const Model> of_;  // the model that it shares files with
    std::vector<Tensor> numbers_;
};

Tensor to_tensor(const Weight& weight);  // widened to f32
// The matrix as it is stored, by its rows: [rows, elements], whatever the axes are. A vector has rows of one.
WeightView stored_rows(const Weight& weight);
// The bytes with their rows one after the other, as a file has them.
Bytes bytes_in_rows(const Weight& weight);

}  // namespace attn
