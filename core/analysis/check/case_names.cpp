#include <algorithm>
#include <array>
#include <utility>

#include "analysis/check/case_reading.hpp"
#include "io/ascii.hpp"
#include "tensor/little_endian.hpp"

namespace attn {

std::string_view case_role(std::string_view name) {
    struct Names {
        std::string_view role;
        std::array<std::string_view, 13> names;
    };
    static constexpr std::array table{
        Names{"q", {"q", "query", "queries", "query_states", "xq"}},
        Names{"k", {"k", "key", "keys", "key_states", "xk"}},
        Names{"v", {"v", "value", "values", "value_states", "xv"}},
        Names{"output",
              {"output", "out", "o", "y", "result", "attn_output", "attention_output", "context",
               "context_layer", "z", "yours", "outputs"}},
        Names{"weights",
              {"weights", "attn", "attn_weights", "attention_weights", "probs", "attention",
               "attention_probs", "p"}},
        Names{"mask", {"mask", "attn_mask", "src_mask", "tgt_mask", "causal_mask"}},
        Names{"token_mask", {"attention_mask"}},
        Names{"padding", {"padding", "keep", "padding_mask", "pad_mask", "kv_mask"}},
        Names{"hidden", {"key_padding_mask", "src_key_padding_mask", "tgt_key_padding_mask"}},
        Names{"lengths", {"lengths", "seq_lens", "kv_lengths", "seqlens"}},
        Names{"bias",
              {"bias", "attn_bias", "attention_bias", "alibi", "position_bias", "rel_pos_bias",
               "relative_position_bias"}},
        Names{"x", {"x", "input", "hidden_states", "inputs", "src", "embeddings"}},
        Names{"x_kv", {"x_kv", "memory", "encoder_hidden_states", "source"}},
        Names{"w_q", {"w_q", "wq", "q_w", "q_kernel"}},
        Names{"w_k", {"w_k", "wk", "k_w", "k_kernel"}},
        Names{"w_v", {"w_v", "wv", "v_w", "v_kernel"}},
        Names{"w_o", {"w_o", "wo", "o_w", "o_kernel", "c_proj.weight"}},
        Names{"b_q", {"b_q", "bq", "q_proj.bias", "q_bias", "bias_q", "query.bias", "to_q.bias"}},
        Names{"b_k", {"b_k", "bk", "k_proj.bias", "k_bias", "bias_k", "key.bias", "to_k.bias"}},
        Names{"b_v", {"b_v", "bv", "v_proj.bias", "v_bias", "bias_v", "value.bias", "to_v.bias"}},
        Names{"b_o", {"b_o", "bo", "o_proj.bias", "out_proj.bias", "o_bias", "proj.bias", "c_proj.bias"}},
        Names{"linear_q",
              {"q_proj.weight", "wq.weight", "q_proj", "query.weight", "to_q.weight", "linear_q.weight",
               "q_weight"}},
        Names{"linear_k",
              {"k_proj.weight", "wk.weight", "k_proj", "key.weight", "to_k.weight", "linear_k.weight",
               "k_weight"}},
        Names{"linear_v",
              {"v_proj.weight", "wv.weight", "v_proj", "value.weight", "to_v.weight", "linear_v.weight",
               "v_weight"}},
        Names{"linear_o",
              {"o_proj.weight", "out_proj.weight", "wo.weight", "o_proj", "proj.weight", "o_weight"}},
        Names{"linear_qkv",
              {"in_proj_weight", "qkv_proj.weight", "qkv.weight", "to_qkv.weight", "wqkv.weight"}},
        Names{"b_qkv", {"in_proj_bias", "b_qkv", "qkv_proj.bias", "qkv.bias", "c_attn.bias"}},
        Names{"w_qkv", {"w_qkv", "wqkv", "c_attn.weight"}},
        Names{
            "heads",
            {"heads", "num_heads", "n_heads", "n_head", "nhead", "h", "q_num_heads", "num_attention_heads"}},
        Names{"kv_heads", {"kv_heads", "num_kv_heads", "n_kv_heads", "num_key_value_heads", "kv_num_heads"}},
        Names{"causal", {"causal", "is_causal", "use_causal_mask"}},
        Names{"scale", {"scale", "softmax_scale", "scaling", "scale_factor", "sm_scale"}},
        Names{"softcap", {"softcap", "logit_cap", "soft_cap", "attn_logit_softcapping"}},
        Names{"window", {"window", "sliding_window", "window_size", "local_window"}},
        Names{"past", {"past", "n_past", "past_length", "causal_offset", "offset"}},
        Names{"rope_base", {"rope_base", "rope_theta", "theta"}},
        Names{"rope", {"rope", "rotary"}},
        Names{"rope_interleaved", {"rope_interleaved", "interleaved", "rotary_interleaved"}},
        Names{"rope_dim", {"rope_dim", "rope_dims", "rotary_dim", "rotary_embedding_dim"}},
    };
    // "run.q" and "attn/q" mean what "q" means; names with "_proj." keep that part.
    std::string lower = ascii_lower(name);
    for (;;) {
        for (const Names& each : table)
            if (std::ranges::find(each.names, lower) != each.names.end() && !lower.empty()) return each.role;
        const std::size_t cut = lower.find_first_of("./");
        if (cut == std::string::npos) return {};
        lower.erase(0, cut + 1);
    }
}

Result<std::vector<CaseArray>> case_arrays(std::vector<DroppedFile> files) {
    constexpr Index most_elements = Index{1} << 26;
    FileReading reading(std::move(files));
    while (reading.step()) {
    }
    auto found = reading.finish();
    if (!found) return found.error();
    std::vector<CaseArray> arrays;
    Index all = 0;
    for (const FoundTensor& tensor : found->tensors) {
        const auto count = element_count(tensor.shape, 8);
        if (!count) return Error{tensor.file + ": " + tensor.name + " has an impossible shape"};
        all += *count;
        if (all > most_elements)
            return Error{tensor.file + ": the arrays hold more than 67 million numbers; save a smaller case"};
        TensorLoading loading(tensor);
        while (loading.step()) {
        }
        auto loaded = loading.finish();
        if (!loaded) return loaded.error();
        CaseArray array{tensor.name, tensor.dtype, tensor.shape,
                        std::vector<double>(static_cast<std::size_t>(*count))};
        std::vector<std::byte> storage;
        const auto bytes = row_major(loaded->array, storage);
        if (tensor.dtype == DType::f64) {
            for (std::size_t i = 0; i < array.values.size(); ++i)
                array.values[i] = little_endian_at<double>(bytes.data() + i * sizeof(double));
        } else {
            std::vector<float> values(array.values.size());
            convert_to_f32(tensor.dtype, bytes, values);
            std::ranges::copy(values, array.values.begin());
        }
        arrays.push_back(std::move(array));
    }
    const auto is_used = [](const CaseArray& each) {
        return case_role(each.name) == "q" || case_role(each.name) == "x";
    };
    if (!found->notes.empty() && std::ranges::none_of(arrays, is_used)) return Error{found->notes.front()};
    return arrays;
}

}  // namespace attn
