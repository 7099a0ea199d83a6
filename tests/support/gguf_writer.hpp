// Writes GGUF files for tests: any keys and tensors, and whole models, converted from safetensors in the way
// of llama.cpp's converter.
#pragma once

#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "attention/record.hpp"
#include "io/gguf_types.hpp"
#include "unit/model/models.hpp"

namespace attn::test {

class GgufWriter {
  public:
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;

    template <class T>
    static void append(Bytes& to, T value) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        to.insert(to.end(), bytes.begin(), bytes.end());
    }
    static void append_text(Bytes& to, std::string_view text) {
        append<std::uint64_t>(to, text.size());
        const auto bytes = as_bytes(text);
        to.insert(to.end(), bytes.begin(), bytes.end());
    }

    template <class T>
    void number(const std::string& key, GgufType type, T value) {
        begin(key, type);
        append(keys_, value);
    }
    void count(const std::string& key, Index value) {
        number(key, GgufType::u32, static_cast<std::uint32_t>(value));
    }
    void real(const std::string& key, double value) { number(key, GgufType::f32, static_cast<float>(value)); }
    void text(const std::string& key, std::string_view value) {
        begin(key, GgufType::text);
        append_text(keys_, value);
    }
    void texts(const std::string& key, const std::vector<std::string>& values) {
        begin(key, GgufType::array);
        append(keys_, GgufType::text);
        append<std::uint64_t>(keys_, values.size());
        for (const std::string& value : values) append_text(keys_, value);
    }
    template <class T>
    void numbers(const std::string& key, GgufType type, const std::vector<T>& values) {
        begin(key, GgufType::array);
        append(keys_, type);
        append<std::uint64_t>(keys_, values.size());
        for (const T& value : values) append(keys_, value);
    }

    // The shape is row-major; only whole blocks are written.
    void tensor(const std::string& name, DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
        append_text(tensors_, name);
        append(tensors_, static_cast<std::uint32_t>(shape.size()));
        for (std::size_t i = shape.size(); i-- > 0;) append(tensors_, static_cast<std::uint64_t>(shape[i]));
        const auto* type = std::ranges::find(ggml_types, std::optional(dtype), &GgmlType::dtype);
        append(tensors_, type->number);
        append<std::uint64_t>(tensors_, data_.size());
        data_.insert(data_.end(), bytes.begin(), bytes.end());
        pad(data_);
        ++tensor_count_;
    }
    void tensor(const std::string& name, const Shape& shape, const std::vector<float>& values) {
        tensor(name, DType::f32, shape, std::as_bytes(std::span(values)));
    }

    Bytes file() const {
        Bytes out;
        for (const char c : std::string_view("GGUF")) append(out, c);
        append(out, version);
        append(out, tensor_count_);
        append(out, key_count_);
        for (const Bytes* part : {&keys_, &tensors_}) out.insert(out.end(), part->begin(), part->end());
        pad(out);
        out.insert(out.end(), data_.begin(), data_.end());
        return out;
    }

  private:
    void begin(const std::string& key, GgufType type) {
        append_text(keys_, key);
        append(keys_, type);
        ++key_count_;
    }
    void pad(Bytes& bytes) const {
        while (bytes.size() % alignment != 0) bytes.push_back(std::byte{0});
    }

    Bytes keys_, tensors_, data_;
    std::uint64_t key_count_ = 0, tensor_count_ = 0;
};

// Returns the name of a safetensors tensor in a GGUF file.
inline std::string gguf_name(std::string name, bool gemma) {
    const auto replace = [&](std::string_view from, std::string_view to) {
        if (const auto at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    };
    for (const char* prefix : {"model.", "transformer."})
        if (name.starts_with(prefix)) name.erase(0, std::string_view(prefix).size());
    const std::vector<std::pair<std::string_view, std::string_view>> names{
        {"layers.", "blk."},
        {"embed_tokens", "token_embd"},
        {"input_layernorm", "attn_norm"},
        {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},
        {"self_attn.o_proj", "attn_output"},
        {"self_attn.q_norm", "attn_q_norm"},
        {"self_attn.k_norm", "attn_k_norm"},
        {"self_attn.qkv_proj", "attn_qkv"},
        {"post_attention_layernorm", gemma ? "post_attention_norm" : "ffn_norm"},
        {"pre_feedforward_layernorm", "ffn_norm"},
        {"post_feedforward_layernorm", "post_ffw_norm"},
        {"mlp.gate_up_proj", "ffn_up"},
        {"mlp.gate_proj", "ffn_gate"},
        {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},
        {"lm_head", "output"},
        {"wte", "token_embd"},
        {"wpe", "position_embd"},
        {"ln_f", "output_norm"},
        {"ln_1", "attn_norm"},
        {"ln_2", "ffn_norm"},
        {"attn.c_attn", "attn_qkv"},
        {"attn.c_proj", "attn_output"},
        {"mlp.c_fc", "ffn_up"},
        {"mlp.c_proj", "ffn_down"},
    };
    for (const auto& [from, to] : names) replace(from, to);
    if (name.starts_with("h.")) name.replace(0, 1, "blk");
    if (name == "norm.weight") name = "output_norm.weight";
    return name;
}

inline std::vector<float> values_of(const StoredTensor& tensor) {
    const DType dtype = tensor.dtype == "F16"    ? DType::f16
                        : tensor.dtype == "BF16" ? DType::bf16
                                                 : DType::f32;
    std::vector<float> values(static_cast<std::size_t>(*element_count(tensor.shape)));
    convert_to_f32(dtype, tensor.bytes, values);
    return values;
}

// Reorders the rows of each head from halves into pairs.
inline std::vector<float> paired(const std::vector<float>& values, Index rows, Index heads) {
    const std::size_t width = values.size() / static_cast<std::size_t>(rows);
    const auto d = static_cast<std::size_t>(rows / heads);
    std::vector<float> out(values.size());
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
        const std::size_t head = row / d, half = row % d / (d / 2), i = row % (d / 2);
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                    out.begin() + static_cast<std::ptrdiff_t>((head * d + 2 * i + half) * width));
    }
    return out;
}

inline void write_gguf_keys(GgufWriter& out, const ModelConfig& config, const std::string& architecture,
                            const nlohmann::json& json) {
    const auto key = [&](const char* name) { return architecture + "." + name; };
    const bool gpt2 = architecture == "gpt2", gemma = architecture.starts_with("gemma");
    out.text("general.architecture", architecture);
    out.count(key("block_count"), config.layers);
    out.count(key("context_length"), config.context);
    out.count(key("embedding_length"), config.d_model);
    out.count(key("feed_forward_length"), gpt2 ? 4 * config.d_model : config.d_ff);
    out.count(key("attention.head_count"), config.heads);
    if (gpt2) {
        out.real(key("attention.layer_norm_epsilon"), config.norm_epsilon);
    } else {
        out.count(key("attention.head_count_kv"), config.kv_heads);
        out.real(key("attention.layer_norm_rms_epsilon"), config.norm_epsilon);
        out.real(key("rope.freq_base"), config.rope_theta);
        out.count(key("rope.dimension_count"), config.rotary_dim);
        if (config.head_dim * config.heads != config.d_model) {
            out.count(key("attention.key_length"), config.head_dim);
            out.count(key("attention.value_length"), config.head_dim);
        }
    }
    if (gemma) {
        if (config.score_cap > 0) out.real(key("attn_logit_softcapping"), config.score_cap);
        if (config.logit_cap > 0) out.real(key("final_logit_softcapping"), config.logit_cap);
    }
    if (gemma || architecture == "phi3")
        out.count(key("attention.sliding_window"), json.value("sliding_window", nlohmann::json()).is_null()
                                                       ? 0
                                                       : json["sliding_window"].get<Index>());
    const RopeScaling& scaling = config.rope_scaling;
    if (scaling.kind == RopeScaling::Kind::linear) {
        out.text(key("rope.scaling.type"), "linear");
        out.real(key("rope.scaling.factor"), scaling.factor);
    } else if (scaling.kind == RopeScaling::Kind::longrope) {
        out.count(key("rope.scaling.original_context_length"), scaling.original_context);
        if (scaling.magnitude) out.real(key("rope.scaling.attn_factor"), *scaling.magnitude);
    }
}

// Llama 3's frequencies, divided by the converter's result: by 1, by the factor, or by a mixture.
inline std::vector<float> llama3_factors(const ModelConfig& config) {
    const RopeScaling& s = config.rope_scaling;
    std::vector<float> factors;
    for (Index i = 0; i < config.rotary_dim; i += 2) {
        const double wavelength =
            2 * std::numbers::pi *
            std::pow(config.rope_theta, static_cast<double>(i) / static_cast<double>(config.rotary_dim));
        const auto original = static_cast<double>(s.original_context);
        const double smooth =
            (original / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
        factors.push_back(static_cast<float>(smooth >= 1   ? 1
                                             : smooth <= 0 ? s.factor
                                                           : 1 / ((1 - smooth) / s.factor + smooth)));
    }
    return factors;
}

// Converts llama, mistral without windows, qwen2, qwen3, gemma2, gemma3_text, phi3 and gpt2, with everything
// in F32. For a model in several files, it writes one of them, with every n-th tensor.
inline GgufWriter converted_to_gguf(const ModelFiles& files, int shard = 0, int shards = 1) {
    const auto config = parse_model_config(files.config);
    REQUIRE(config);
    const auto json = nlohmann::json::parse(
        std::string_view(reinterpret_cast<const char*>(files.config.data()), files.config.size()));
    const std::string type = config->model_type, architecture = type == "gemma3_text" ? "gemma3"
                                                                : type == "mistral"   ? "llama"
                                                                                      : type;
    const bool gemma = architecture.starts_with("gemma");
    GgufWriter out;
    if (shard == 0) write_gguf_keys(out, *config, architecture, json);
    if (shards > 1) {
        out.number("split.no", GgufType::u16, static_cast<std::uint16_t>(shard));
        out.number("split.count", GgufType::u16, static_cast<std::uint16_t>(shards));
    }
    int written = 0;
    if (config->rope_scaling.kind == RopeScaling::Kind::llama3)
        out.tensor("rope_freqs.weight", {config->rotary_dim / 2}, llama3_factors(*config));
    if (config->rope_scaling.kind == RopeScaling::Kind::longrope)
        for (const bool is_long : {false, true}) {
            const auto& in = is_long ? config->rope_scaling.long_factor : config->rope_scaling.short_factor;
            out.tensor(is_long ? "rope_factors_long.weight" : "rope_factors_short.weight", {std::ssize(in)},
                       {in.begin(), in.end()});
        }
    for (const auto& [file, bytes] : files.weights)
        for (const StoredTensor& tensor : read_safetensors(bytes)) {
            const std::string name = gguf_name(tensor.name, gemma);
            if (name.ends_with("attn.bias") || name.ends_with("inv_freq")) continue;  // buffers
            std::vector<float> values = values_of(tensor);
            Shape shape = tensor.shape;
            if (type == "gpt2" && shape.size() == 2 && name.starts_with("blk.")) {
                std::vector<float> turned(values.size());
                for (std::size_t r = 0, rows = static_cast<std::size_t>(shape[0]),
                                 cols = static_cast<std::size_t>(shape[1]);
                     r < rows; ++r)
                    for (std::size_t c = 0; c < cols; ++c) turned[c * rows + r] = values[r * cols + c];
                values = std::move(turned);
                std::swap(shape[0], shape[1]);
            }
            if (written++ % shards != shard) continue;
            if (gemma && name.ends_with("norm.weight"))
                for (float& value : values) value += 1;
            if (architecture == "llama" && name.find("attn_q.") != std::string::npos)
                values = paired(values, shape[0], config->heads);
            if (architecture == "llama" && name.find("attn_k.") != std::string::npos)
                values = paired(values, shape[0], config->kv_heads);
            out.tensor(name, shape, values);
        }
    return out;
}

inline ModelFiles gguf_files(Bytes file, const std::string& name = "model.gguf") {
    ModelFiles files;
    files.weights[name] = std::move(file);
    return files;
}

}  // namespace attn::test
