// The keys of a GGUF file, by architecture, as llama.cpp's converter writes them. What a file leaves out is
// as llama.cpp has it.
#include <algorithm>
#include <array>
#include <cmath>

#include "io/config_keys.hpp"
#include "io/config_reader.hpp"
#include "io/gguf_model.hpp"
#include "io/quote.hpp"

namespace attn {

namespace {

struct GgufArchitecture {
    std::string_view name;
    Family family;
    Activation activation = Activation::silu;
    const char* epsilon_key = "attention.layer_norm_rms_epsilon";
};
constexpr std::array gguf_architectures{
    GgufArchitecture{"llama", Family::llama},  // also Mistral's models
    GgufArchitecture{"qwen2", Family::llama},
    GgufArchitecture{"qwen3", Family::llama},
    GgufArchitecture{"gemma2", Family::gemma2, Activation::gelu_tanh},
    GgufArchitecture{"gemma3", Family::gemma2, Activation::gelu_tanh},
    GgufArchitecture{"phi3", Family::phi3},
    GgufArchitecture{"gpt2", Family::gpt2, Activation::gelu_tanh, "attention.layer_norm_epsilon"},
};

// Reads the keys that begin with the architecture. Only the first problem is kept; values read after it are
// meaningless.
class GgufReader {
  public:
    GgufReader(const GgufModel& model, std::string_view architecture)
        : model_(model), prefix_(std::string(architecture) + ".") {}

    const std::string& problem() const { return problem_; }
    void refuse(std::string what) {
        if (problem_.empty()) problem_ = std::move(what);
    }

    std::string named(const char* key) const { return prefix_ + key; }
    const GgufValue* find(const char* key) const { return model_.header().find(named(key)); }
    bool has_tensor(std::string_view name) const { return model_.find(name).tensor != nullptr; }

    Index size(const char* key, Index most) {
        if (!find(key)) lacks(key);
        return size(key, most, 1);
    }
    Index size(const char* key, Index most, Index absent, Index least = 1) {
        const GgufValue* value = find(key);
        if (!value) return absent;
        const auto read = value->integer();
        if (read && *read >= least && *read <= most) return static_cast<Index>(*read);
        refuse("should have a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
               " as " + quote(named(key)) + (read ? ", but has " + std::to_string(*read) : ""));
        return absent;
    }
    double number(const char* key, double least, double most) {
        if (!find(key)) lacks(key);
        return number(key, least, least, most);
    }
    double number(const char* key, double absent, double least, double most) {
        const GgufValue* value = find(key);
        if (!value) return absent;
        const auto read = value->number();
        if (read && *read >= least && *read <= most) return *read;
        refuse("should have a number from " + json(least).dump() + " to " + json(most).dump() + " as " +
               quote(named(key)) + (read ? ", but has " + json(*read).dump() : ""));
        return absent;
    }
    std::string_view word(const char* key, std::string_view absent) {
        const GgufValue* value = find(key);
        if (!value) return absent;
        const auto read = value->text();
        if (!read) refuse("should have a text as " + quote(named(key)));
        return read.value_or(absent);
    }
    bool flag(const char* key, bool absent) {
        const GgufValue* value = find(key);
        if (!value) return absent;
        const auto read = value->flag();
        if (!read) refuse("should have true or false as " + quote(named(key)));
        return read.value_or(absent);
    }
    // What llama.cpp knows and this program does not compute passes only where it asks for nothing: 0, false,
    // an empty text or list. Gives the keys that no loader knows.
    std::vector<std::string> check_keys(std::string_view architecture) {
        std::vector<std::string> unknown;
        for (const GgufKey& each : model_.header().keys) {
            std::string_view key = each.name;
            if (key.starts_with(prefix_)) key.remove_prefix(prefix_.size());
            const auto use = gguf_key_use(architecture, key);
            if (!use)
                unknown.emplace_back(each.name);
            else if (use == KeyUse::refused && asks(each.value))
                refuse("has the key " + quote(each.name) + ", which is not supported for the architecture " +
                       std::string(architecture));
        }
        return unknown;
    }
    std::vector<std::int64_t> ids(const char* key) const {
        const GgufValue* value = model_.header().find(key);
        const auto id = value ? value->integer() : std::nullopt;
        return id ? std::vector{*id} : std::vector<std::int64_t>{};
    }

    // The size of a matrix's axis, row-major; 0: there is no such matrix.
    Index axis(std::string_view tensor, std::size_t which) const {
        const GgufTensor* found = model_.find(tensor).tensor;
        return found && found->shape.size() == 2 ? found->shape[which] : 0;
    }
    // A vector of so many positive numbers.
    std::vector<double> factors(std::string_view tensor, Index count) {
        const GgufModel::Place place = model_.find(tensor);
        if (!place.tensor || place.tensor->shape != Shape{count}) {
            refuse("should have " + std::to_string(count) + " numbers as tensor " + quote(tensor) +
                   ", one for each pair that turns");
            return {};
        }
        std::vector<float> read(static_cast<std::size_t>(count));
        convert_to_f32(place.tensor->dtype, place.bytes(), read);
        if (!std::ranges::all_of(read, [](float each) { return each > 0 && std::isfinite(each); }))
            refuse("has a number in tensor " + quote(tensor) + " that is not above 0");
        return {read.begin(), read.end()};
    }

  private:
    static bool asks(const GgufValue& value) {
        if (value.is_array) return value.count > 0;
        return value.number().value_or(0) != 0 || value.flag().value_or(false) ||
               !value.text().value_or("").empty();
    }
    void lacks(const char* key) { refuse("has no " + quote(named(key))); }

    const GgufModel& model_;
    std::string prefix_;
    std::string problem_;
};

void read_gguf_sizes(GgufReader& in, ModelConfig& c) {
    c.layers = in.size("block_count", max_layers);
    c.d_model = in.size("embedding_length", max_width);
    c.context = in.size("context_length", max_context);
    c.heads = in.size("attention.head_count", max_heads);
    c.kv_heads = in.size("attention.head_count_kv", max_heads, c.heads);
    if (c.heads % c.kv_heads != 0)
        in.refuse("has " + std::to_string(c.kv_heads) + " as " + quote(in.named("attention.head_count_kv")) +
                  ", which does not divide the " + std::to_string(c.heads) + " heads");
    c.head_dim = in.size("attention.key_length", max_head_dim, c.d_model / c.heads);
    if (!in.find("attention.key_length") && c.d_model % c.heads != 0)
        in.refuse("has " + std::to_string(c.heads) + " as " + quote(in.named("attention.head_count")) +
                  ", which does not divide the width of " + std::to_string(c.d_model));
    if (in.size("attention.value_length", max_head_dim, c.head_dim) != c.head_dim)
        in.refuse("has values of another width than keys (" + in.named("attention.value_length") +
                  "), which is not supported");
    c.vocab_size = in.axis("token_embd.weight", 0);
    if (c.vocab_size == 0) in.refuse("has no matrix 'token_embd.weight'");
    // The converter of GPT-2 writes 4 · width as its key, whatever the checkpoint has.
    c.d_ff = in.axis("blk.0.ffn_down.weight", 1);
    if (c.d_ff == 0) c.d_ff = in.size("feed_forward_length", max_hidden);
    if (c.vocab_size > max_vocab || c.d_ff > max_hidden)
        in.refuse("describes a model that is too large: its vocabulary is " + std::to_string(c.vocab_size) +
                  " and its MLP " + std::to_string(c.d_ff) + " wide");
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
}

void read_gguf_scaling(GgufReader& in, ModelConfig& c) {
    using Kind = RopeScaling::Kind;
    RopeScaling& to = c.rope_scaling;
    const bool divided = in.has_tensor("rope_freqs.weight"),
               searched = c.family == Family::phi3 && in.has_tensor("rope_factors_short.weight");
    // Files of 2023 have the older name, and a 0 scales by nothing.
    const char* factor_key = in.find("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    const std::string_view type = in.word("rope.scaling.type", in.find(factor_key) ? "linear" : "none");
    double factor = in.number(factor_key, 1, 0, max_factor);
    if (factor == 0) factor = 1;
    if (factor < 1)
        in.refuse("has " + json(factor).dump() + " as " + quote(in.named(factor_key)) +
                  ", which is not supported; from 1 on it is");
    // Both names have been in use.
    const double magnitude = in.number("rope.scaling.attn_factor", 1, 1e-6, max_factor) *
                             in.number("rope.scaling.yarn_attn_factor", 1, 1e-6, max_factor);
    const Index original = in.size("rope.scaling.original_context_length", max_context, c.context);
    const double fast = in.number("rope.scaling.yarn_beta_fast", 32, 1e-3, max_factor),
                 slow = in.number("rope.scaling.yarn_beta_slow", 1, 1e-3, max_factor),
                 mixed =
                     in.number("rope.scaling.yarn_ext_factor", -1, -1, max_factor);  // −1: as the type has it
    if (mixed != -1 && mixed != (type == "yarn" ? 1 : 0))
        in.refuse("mixes YaRN's frequencies otherwise than in its paper (" +
                  in.named("rope.scaling.yarn_ext_factor") + "), which is not supported");
    if (magnitude != 1 && !searched && type != "yarn")
        in.refuse("makes rotary positions longer (" +
                  in.named(in.find("rope.scaling.attn_factor") ? "rope.scaling.attn_factor"
                                                               : "rope.scaling.yarn_attn_factor") +
                  "), which is not supported without YaRN");
    if (type != "none" && type != "linear" && type != "yarn" && !(searched && type == "longrope"))
        in.refuse(
            "has the RoPE type " + quote(type) + " as " + quote(in.named("rope.scaling.type")) +
            ", which is not supported; none, linear, yarn and, with tensors of factors, phi3's longrope are");
    if (searched) {
        to.kind = Kind::longrope;
        to.original_context = original;
        to.factor = std::max(1.0, static_cast<double>(c.context) / static_cast<double>(original));
        to.short_factor = in.factors("rope_factors_short.weight", c.rotary_dim / 2);
        to.long_factor = in.factors("rope_factors_long.weight", c.rotary_dim / 2);
        if (in.find("rope.scaling.attn_factor")) to.magnitude = magnitude;
    } else if (type == "yarn") {
        to.kind = Kind::yarn;
        to.original_context = original;
        to.factor = factor;
        to.beta_fast = fast;
        to.beta_slow = slow;
        if (magnitude != 1) to.magnitude = magnitude * (1 + 0.1 * std::log(factor));
    } else if (type == "linear") {
        to.kind = Kind::linear;
        to.factor = factor;
    }
    if (!divided) return;
    if (to.kind != Kind::none)
        return in.refuse("scales rotary positions twice, by tensor 'rope_freqs.weight' and by " +
                         quote(in.named("rope.scaling.type")) + ", which is not supported");
    to.kind = Kind::longrope;
    to.short_factor = in.factors("rope_freqs.weight", c.rotary_dim / 2);
    to.magnitude = 1;
}

void read_gguf_rope(GgufReader& in, ModelConfig& c) {
    c.rope_theta = in.number("rope.freq_base", 10'000, 1, max_theta);
    c.rotary_dim = in.size("rope.dimension_count", c.head_dim, c.head_dim);
    if (c.rotary_dim % 2 != 0)
        in.refuse("has heads of which " + std::to_string(c.rotary_dim) +
                  " components turn; rotary positions need an even number of them");
    // The rows of Q and K are put into pairs all along a head.
    if (c.model_type == "llama" && c.rotary_dim != c.head_dim)
        in.refuse("turns " + std::to_string(c.rotary_dim) + " components of heads of " +
                  std::to_string(c.head_dim) + " (" + in.named("rope.dimension_count") +
                  "), which is not supported for llama");
    read_gguf_scaling(in, c);
}

// In each period, as many layers see a window as llama.cpp has for the architecture.
void read_gguf_windows(GgufReader& in, ModelConfig& c) {
    const bool second = c.model_type == "gemma2";
    const Index window = in.size("attention.sliding_window", max_context, second ? 4096 : 0, 0);
    if (!c.causal && window > 0 && window < c.context)
        in.refuse("sees " + std::to_string(window) + " keys (" + in.named("attention.sliding_window") +
                  ") in both directions (" + in.named("attention.causal") + "), which is not supported");
    const Index period = c.family == Family::phi3
                             ? 0  // all layers
                             : in.size("attention.sliding_window_pattern", max_layers, second ? 2 : 6);
    for (Index layer = 0; layer < c.layers; ++layer)
        if (period == 0 || (layer + 1) % period != 0) c.windows[static_cast<std::size_t>(layer)] = window;
}

void read_gguf_gemma(GgufReader& in, ModelConfig& c) {
    const bool second = c.model_type == "gemma2";
    c.embedding_scale = std::sqrt(static_cast<double>(c.d_model));
    c.qk_norm = !second;
    // 0: no cap.
    c.score_cap = in.number("attn_logit_softcapping", second ? 50 : 0, 0, max_factor);
    c.logit_cap = in.number("final_logit_softcapping", second ? 30 : 0, 0, max_factor);
    // No key tells what scores are divided by the root of: the width of a head, but in the two models of 27
    // billion parameters, which their numbers of layers tell, the model's width over its heads.
    c.query_pre_attn_scalar = static_cast<double>(c.head_dim);
    if (c.layers == (second ? 46 : 62))
        c.query_pre_attn_scalar = static_cast<double>(c.d_model) / static_cast<double>(c.heads);
    if (!second) c.window_rope_theta = in.number("rope.freq_base_swa", 10'000, 1, max_theta);
    read_gguf_windows(in, c);
}

void read_gguf_biases(const GgufReader& in, ModelConfig& c) {
    c.qkv_bias = in.has_tensor("blk.0.attn_q.bias") || in.has_tensor("blk.0.attn_qkv.bias");
    c.attention_output_bias = in.has_tensor("blk.0.attn_output.bias");
    c.mlp_bias = in.has_tensor("blk.0.ffn_up.bias");
    c.tie_word_embeddings = !in.has_tensor("output.weight");
}

Result<const GgufArchitecture*> architecture_of(const GgufHeader& header) {
    constexpr const char* key = "general.architecture";
    const GgufValue* value = header.find(key);
    const auto name = value ? value->text() : std::nullopt;
    if (!name) return Error{"has no text as " + quote(key) + ", so its architecture is unknown"};
    const auto* known = std::ranges::find(gguf_architectures, *name, &GgufArchitecture::name);
    if (known != gguf_architectures.end()) return known;
    std::string names;
    for (const GgufArchitecture& each : gguf_architectures)
        names += (names.empty()                         ? ""
                  : &each == &gguf_architectures.back() ? " and "
                                                        : ", ") +
                 std::string(each.name);
    return Error{"has the architecture " + quote(*name) + ", which is not supported in GGUF files; " + names +
                 " are"};
}

}  // namespace

Status check_gguf_architecture(const std::string& file, const GgufHeader& header) {
    const auto architecture = architecture_of(header);
    if (!architecture) return Error{file + ": this GGUF file " + architecture.error().message};
    return ok();
}

Result<ModelConfig> gguf_model_config(const GgufModel& model) {
    const auto refusal = [&](const std::string& what) {
        return Error{*model.files.front().name + ": this GGUF file " + what};
    };
    const auto architecture = architecture_of(model.header());
    if (!architecture) return refusal(architecture.error().message);
    const GgufArchitecture& of = **architecture;

    GgufReader in(model, of.name);
    ModelConfig c;
    c.family = of.family;
    c.model_type = of.name;
    c.activation = of.activation;
    read_gguf_sizes(in, c);
    if (!in.problem().empty()) return refusal(in.problem());
    c.unknown_keys = in.check_keys(of.name);
    c.norm_epsilon = in.number(of.epsilon_key, 1e-12, 1);
    c.causal = in.flag("attention.causal", true);
    read_gguf_biases(in, c);
    c.qk_norm = of.name == "qwen3";
    if (in.size("expert_count", max_heads, 0, 0) > 0)
        in.refuse("has several MLPs in each layer (" + in.named("expert_count") +
                  "), which is not supported in GGUF files");
    if (of.family == Family::gpt2)
        c.learned_positions = true;
    else
        read_gguf_rope(in, c);
    if (of.family == Family::gemma2) read_gguf_gemma(in, c);
    if (of.family == Family::phi3) read_gguf_windows(in, c);
    c.bos_ids = in.ids("tokenizer.ggml.bos_token_id");
    c.eos_ids = in.ids("tokenizer.ggml.eos_token_id");
    if (!in.problem().empty()) return refusal(in.problem());
    return c;
}

}  // namespace attn
