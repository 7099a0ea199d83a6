// How a config.json tells a model's layers where tokens stand and how far they see.
#include <algorithm>

#include "io/config_reader.hpp"

namespace attn {

namespace {

// transformers 4.43 renamed "type", and writes both.
std::string_view scaling_type(Reader& in, const char* key) {
    const std::string_view now = in.word("rope_type"), before = in.word("type");
    if (!now.empty() && !before.empty() && now != before)
        in.refuse("has " + quote(now) + " as 'rope_type' and " + quote(before) + " as 'type' in " +
                  quote(key) + "; they should be the same");
    if (!now.empty() || !before.empty()) return now.empty() ? before : now;
    for (const char* asked : {"factor", "short_factor", "long_factor", "low_freq_factor", "high_freq_factor"})
        if (in.find(asked))
            in.refuse("has " + quote(asked) + " in " + quote(key) +
                      ", but no 'rope_type' that says what it scales");
    return "default";
}

void read_scaling(Reader& top, Reader& in, const char* key, ModelConfig& c) {
    RopeScaling& to = c.rope_scaling;
    const std::string_view type = scaling_type(in, key);
    if (type == "default") return;
    // Phi-3's first files call it by other names.
    if (type == "longrope" || (c.model_type == "phi3" && (type == "su" || type == "yarn"))) {
        to.kind = RopeScaling::Kind::longrope;
        Reader& of_original = in.find("original_max_position_embeddings") ? in : top;
        to.original_context = of_original.size("original_max_position_embeddings", max_context, c.context);
        to.factor = to.original_context < c.context
                        ? static_cast<double>(c.context) / static_cast<double>(to.original_context)
                        : in.number("factor", 1, 1, max_factor);
        to.short_factor = in.numbers("short_factor", c.rotary_dim / 2, max_factor);
        to.long_factor = in.numbers("long_factor", c.rotary_dim / 2, max_factor);
        if (in.find("attention_factor")) to.magnitude = in.number("attention_factor", 1, 0, max_factor);
        return;
    }
    if (type != "linear" && type != "llama3")
        return in.refuse("has the RoPE type " + quote(type) + " in " + quote(key) +
                         ", which is not supported; default, linear, llama3 and longrope are");

    const bool llama3 = type == "llama3";
    to.kind = llama3 ? RopeScaling::Kind::llama3 : RopeScaling::Kind::linear;
    if (!in.find("factor")) return in.refuse("has no 'factor' in " + quote(key));
    to.factor = in.number("factor", 1, 1, max_factor);
    if (!llama3) return;
    for (const char* needed : {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
        if (!in.find(needed)) in.refuse("has no " + quote(needed) + " in " + quote(key));
    to.low_freq_factor = in.number("low_freq_factor", 1, 1e-3, max_factor);
    to.high_freq_factor = in.number("high_freq_factor", 4, 1e-3, max_factor);
    to.original_context = in.size("original_max_position_embeddings", max_context);
    if (to.low_freq_factor >= to.high_freq_factor)
        in.refuse("has a 'low_freq_factor' that is not below 'high_freq_factor' in " + quote(key));
}

}  // namespace

void read_rope(Reader& top, ModelConfig& c, const char* theta_key, const char* share_key) {
    c.rope_theta = top.number(theta_key, 1, max_theta);
    double share = top.number(share_key, 1, 0, 1);
    const bool two = c.model_type == "gemma3_text";  // one for layers with a window, one for the others
    if (two) c.window_rope_theta = top.number("rope_local_base_freq", 1, max_theta);
    const char* key = top.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
    if (const json* old = top.find("rope_scaling"); old && *old != *top.find(key))
        return top.refuse("has 'rope_scaling' and 'rope_parameters' that differ; they should be the same");
    const json* object = top.find(key);
    if (object && !object->is_object()) return top.refuse("should have an object as " + quote(key));
    if (object && std::ranges::any_of(*object, [](const json& value) { return value.is_object(); })) {
        if (!two)
            return top.refuse("has " + quote(key) +
                              " that differ between kinds of layers, which is not supported");
        Reader kinds = top.inside(*object);
        const json* windowed = kinds.find("sliding_attention");
        if (windowed && windowed->is_object()) {
            Reader in = top.inside(*windowed);
            c.window_rope_theta = in.number("rope_theta", c.window_rope_theta, 1, max_theta);
            if (scaling_type(in, key) != "default" || in.number("partial_rotary_factor", 1, 0, 1) != 1)
                in.refuse("scales the rotary positions of layers with a window ('sliding_attention' in " +
                          quote(key) + "), which is not supported");
        }
        object = kinds.find("full_attention");
        if (object && !object->is_object())
            return top.refuse("should have an object as 'full_attention' in " + quote(key));
    }
    Reader in = object ? top.inside(*object) : top;
    if (object) {
        c.rope_theta = in.number("rope_theta", c.rope_theta, 1, max_theta);
        share = in.number("partial_rotary_factor", share, 0, 1);
    }
    c.rotary_dim = static_cast<Index>(static_cast<double>(c.head_dim) * share);
    if (c.rotary_dim < 2 || c.rotary_dim % 2 != 0)
        return top.refuse("has heads of head_dim = " + std::to_string(c.head_dim) + ", of which " +
                          std::to_string(c.rotary_dim) +
                          (c.rotary_dim == 1 ? " component turns" : " components turn") +
                          "; rotary positions need an even number of them, from 2 on");
    if (object) read_scaling(top, in, key, c);
}

// How far a query sees in layers with a window that also see what follows, as a number of keys with itself:
// in transformers, a window of such a Gemma counts it and of Gemma 3 is that of both sides; the others' does
// not count it.
Index window_of_both_sides(Reader& in, const ModelConfig& c, Index window) {
    if (c.model_type == "gemma3_text" && in.flag("use_bidirectional_attention")) window = window / 2 + 1;
    return in.flag("is_causal", true) ? window : window + 1;
}

// mistral, mixtral and phi3 have one window for all layers, if any. qwen2 and qwen3 have windows only if
// use_sliding_window is true, in the layers that layer_types names or from max_window_layers on. gemma2 has
// them in every second layer, from the first on, and gemma3_text in all but every sixth, unless layer_types
// or sliding_window_pattern say otherwise. The others have none.
void read_windows(Reader& in, ModelConfig& c) {
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
    const std::string_view type = c.model_type;
    const bool qwen = type == "qwen2" || type == "qwen3", gemma3 = type == "gemma3_text",
               by_layer = qwen || gemma3 || type == "gemma2";
    if (!by_layer && type != "mistral" && type != "mixtral" && type != "phi3") return;
    if (qwen && !in.flag("use_sliding_window")) return;
    Index window = in.size("sliding_window", max_context, 0);
    if (window > 0 && !c.causal) window = window_of_both_sides(in, c, window);
    const json* types = by_layer ? in.find("layer_types") : nullptr;
    if (!types) {
        const Index first = qwen ? in.size("max_window_layers", max_layers, 28, 0) : 0;
        const Index period = gemma3             ? in.size("sliding_window_pattern", max_layers,
                                                          in.size("_sliding_window_pattern", max_layers, 6))
                             : type == "gemma2" ? 2
                                                : c.layers + 1;
        for (Index layer = first; layer < c.layers; ++layer)
            if ((layer + 1) % period != 0) c.windows[static_cast<std::size_t>(layer)] = window;
        return;
    }
    if (!types->is_array() || types->size() != c.windows.size())
        return in.refuse("should have one entry for each of its " + std::to_string(c.layers) +
                         " layers in 'layer_types'");
    for (std::size_t layer = 0; layer < c.windows.size(); ++layer) {
        const auto* kind = (*types)[layer].get_ptr<const std::string*>();
        if (kind && *kind == "sliding_attention")
            c.windows[layer] = window;
        else if (!kind || *kind != "full_attention")
            return in.refuse("has " + shown((*types)[layer]) +
                             " in 'layer_types', which is not supported; full_attention and "
                             "sliding_attention are");
    }
}

}  // namespace attn
