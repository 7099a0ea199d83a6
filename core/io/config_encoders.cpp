// The keys of models that read in both directions and fill in masked tokens. What a file leaves out is as in
// its configuration class in transformers.
#include "io/config_reader.hpp"

namespace attn {

namespace {

void read_common(Reader& in, ModelConfig& c, const char* width, const char* heads) {
    c.kv_heads = c.heads;
    c.head_dim = c.d_model / c.heads;
    c.qkv_bias = c.attention_output_bias = c.mlp_bias = true;
    c.tie_word_embeddings = in.flag("tie_word_embeddings");
    c.causal = false;
    c.norms_after = true;
    c.learned_positions = true;
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
    if (c.d_model % c.heads != 0)
        in.refuse("has " + std::string(heads) + " = " + std::to_string(c.heads) + ", which does not divide " +
                  width + " = " + std::to_string(c.d_model));
}

}  // namespace

void read_bert(Reader& in, ModelConfig& c) {
    c.family = Family::bert;
    c.d_model = in.size("hidden_size", max_width);
    c.layers = in.size("num_hidden_layers", max_layers);
    c.heads = in.size("num_attention_heads", max_heads);
    c.d_ff = in.size("intermediate_size", max_hidden);
    c.context = in.size("max_position_embeddings", max_context);
    c.segments = in.size("type_vocab_size", max_vocab);
    c.norm_epsilon = in.number("layer_norm_eps", 1e-12, 1);
    c.activation = read_activation(in, "hidden_act");
    read_common(in, c, "hidden_size", "num_attention_heads");
    if (c.model_type == "bert") return;
    c.family = Family::roberta;
    // Roberta leaves rows 0 … pad_token_id of the table to padding.
    c.padding_id = static_cast<std::int32_t>(in.size("pad_token_id", max_vocab, 1, 0));
    c.first_position = c.padding_id + 1;
    if (c.first_position >= c.context)
        return in.refuse("has no position after pad_token_id + 1 = " + std::to_string(c.first_position) +
                         " in 'max_position_embeddings'");
    c.context -= c.first_position;
}

void read_distilbert(Reader& in, ModelConfig& c) {
    c.family = Family::distilbert;
    c.d_model = in.size("dim", max_width);
    c.layers = in.size("n_layers", max_layers);
    c.heads = in.size("n_heads", max_heads);
    c.d_ff = in.size("hidden_dim", max_hidden);
    c.context = in.size("max_position_embeddings", max_context);
    c.norm_epsilon = 1e-12;  // the value of transformers' DistilBERT; no key changes it
    c.activation = read_activation(in, "activation");
    read_common(in, c, "dim", "n_heads");
}

}  // namespace attn
