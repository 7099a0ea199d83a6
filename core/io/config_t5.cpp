// The keys of T5. What a file leaves out is as in its configuration class in transformers.
#include <algorithm>
#include <cmath>

#include "io/config_reader.hpp"

namespace attn {

namespace {

// "relu", "gated-gelu" and so on; transformers 5 also writes what it made of that.
void read_mlp(Reader& in, ModelConfig& c) {
    constexpr const char* key = "feed_forward_proj";
    constexpr std::string_view gate = "gated-";
    std::string_view name = in.word(key);
    const bool gated = name.starts_with(gate);
    if (gated) name.remove_prefix(gate.size());
    // v1.1 was trained with the approximation by tanh.
    c.activation = gated && name == "gelu" ? Activation::gelu_tanh : activation_named(in, key, name);
    if (in.find("dense_act_fn")) c.activation = read_activation(in, "dense_act_fn");
    c.gated_mlp = in.flag("is_gated_act", gated);
}

}  // namespace

void read_t5(Reader& in, ModelConfig& c) {
    c.family = Family::t5;
    if (!in.flag("is_encoder_decoder"))
        return in.refuse(
            "describes an encoder without its decoder (is_encoder_decoder), which is not supported");
    c.d_model = in.size("d_model", max_width);
    c.layers = in.size("num_layers", max_layers);
    c.decoder_layers = in.size("num_decoder_layers", max_layers, c.layers);
    c.heads = in.size("num_heads", max_heads);
    c.kv_heads = c.heads;
    c.head_dim = in.size("d_kv", max_head_dim);
    c.d_ff = in.size("d_ff", max_hidden);
    // Relative positions set no limit. Where the file has none either, as v1.1's, this is what a page can
    // hold.
    c.context = in.size("n_positions", max_context, 4096);
    c.norm_epsilon = in.number("layer_norm_epsilon", 1e-12, 1);
    read_mlp(in, c);
    // Transformers 5 writes that any T5 is tied, and tells v1.1, which has a head of its own, by the other
    // key.
    c.tie_word_embeddings = in.flag("tie_word_embeddings") && in.flag("scale_decoder_outputs");
    if (c.tie_word_embeddings) c.head_scale = 1 / std::sqrt(static_cast<double>(c.d_model));
    c.scale_by_head_dim = false;
    c.buckets = in.size("relative_attention_num_buckets", max_width, 32, 4);
    c.most_distance = in.size("relative_attention_max_distance", max_context);
    if (c.most_distance <= c.buckets / 2)
        in.refuse("has relative_attention_max_distance = " + std::to_string(c.most_distance) +
                  ", which should be more than half of relative_attention_num_buckets = " +
                  std::to_string(c.buckets));
    c.windows.assign(static_cast<std::size_t>(std::max(c.layers, c.decoder_layers)), 0);
    c.start_id = static_cast<std::int32_t>(
        in.size("decoder_start_token_id", max_vocab, in.size("pad_token_id", max_vocab, 0, 0), 0));
}

}  // namespace attn
