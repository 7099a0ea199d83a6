// A transformer as it lies on a model hub: configuration and weights, checked, ready to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/model_config.hpp"
#include "tensor/dtype.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

using Bytes = std::vector<std::byte>;

struct ModelFiles {
    Bytes config;                // config.json
    std::optional<Bytes> index;  // model.safetensors.index.json, where the weights lie in shards
    std::map<std::string, Bytes>
        weights;  // by file name: model.safetensors, model-00001-of-00002.safetensors, …
};

// One tensor of the model, still in its file.
struct Weight {
    std::string name;               // as its family declares it: "h.0.attn.c_attn.weight"
    std::vector<std::string> axes;  // {"width", "qkv"}
    Shape shape;                    // sizes of the axes
    DType dtype = DType::f32;       // f32, f16 or bf16
    std::string file;               // "model.safetensors"
    std::size_t offset = 0;         // of its first byte in that file
    std::span<const std::byte> bytes;
    std::int64_t nan_count = 0;
};

struct Network;  // model/network.hpp: the weights in the order in which a run uses them

// Immutable; owns its files' bytes. Weights stay in their own element type.
class Model {
  public:
    // Fails with one sentence that names the file and the tensor: JSON or safetensors that do not parse, an
    // architecture outside the families, tensors or shards that are missing, shapes that differ from the
    // configuration's, element types other than f32, f16 and bf16.
    static Result<std::shared_ptr<const Model>> load(ModelFiles&& files);
    ~Model();

    const ModelConfig& config() const { return config_; }
    std::int64_t parameter_count() const;
    std::int64_t memory_bytes() const;  // the files held
    // What loading met that a person should know: NaN values, tensors that are not used.
    const std::vector<std::string>& notes() const { return notes_; }

    std::span<const Weight> weights() const { return weights_; }
    const Weight* weight(std::string_view name) const;  // null: no tensor of that name
    const Network& network() const { return *network_; }

  private:
    Model() = default;
    ModelConfig config_;
    std::map<std::string, Bytes> files_;
    std::vector<Weight> weights_;
    std::vector<std::string> notes_;
    std::unique_ptr<const Network> network_;
};

Tensor to_tensor(const Weight& weight);  // widened to f32

}  // namespace attn
