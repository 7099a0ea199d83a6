#include "io/model_config.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "io/config_keys.hpp"
#include "io/config_reader.hpp"
#include "io/json.hpp"

namespace attn {

Activation activation_named(Reader& in, const char* key, std::string_view name) {
    struct Known {
        std::string_view name;
        Activation activation;
    };
    constexpr std::array known{
        Known{"relu", Activation::relu},          Known{"gelu", Activation::gelu},
        Known{"gelu_new", Activation::gelu_tanh}, Known{"gelu_pytorch_tanh", Activation::gelu_tanh},
        Known{"silu", Activation::silu},          Known{"swish", Activation::silu},
    };
    const auto* match = std::ranges::find(known, name, &Known::name);
    if (match != known.end()) return match->activation;
    in.refuse("has the activation " + quote(name) + " as " + quote(key) +
              ", which is not supported; relu, gelu, gelu_new, gelu_pytorch_tanh, silu and swish are");
    return {};
}

Activation read_activation(Reader& in, const char* key) { return activation_named(in, key, in.word(key)); }

namespace {

struct Spelling {
    std::string_view type;
    void (*read)(Reader& in, ModelConfig& c);
};
constexpr std::array spellings{
    Spelling{"gpt2", read_gpt2},
    Spelling{"llama", read_llama},
    Spelling{"mistral", read_llama},
    Spelling{"mixtral", read_llama},
    Spelling{"qwen2", read_llama},
    Spelling{"qwen3", read_llama},
    Spelling{"gemma", read_llama},
    Spelling{"gemma2", read_llama},
    Spelling{"gemma3_text", read_llama},
    Spelling{"phi", read_llama},
    Spelling{"phi3", read_llama},
    Spelling{"olmo2", read_llama},
    Spelling{"stablelm", read_llama},
    Spelling{"gpt_neox", read_gpt_neox},
    Spelling{"gptj", read_gptj},
    Spelling{"falcon", read_falcon},
    Spelling{"opt", read_opt},
    Spelling{"bert", read_bert},
    Spelling{"roberta", read_bert},
    Spelling{"distilbert", read_distilbert},
    Spelling{"t5", read_t5},
};

// A value that is not among those that pass asks for what is not computed, or is of a wrong type.
void check_refused(Reader& in, const KeyRow& row, const json& value) {
    if (value.is_null() || is_among(row.passes, value.dump())) return;
    const std::string_view first = row.passes.substr(0, row.passes.find(' '));
    if (!first.empty() && json::parse(first, nullptr, false).type() != value.type())
        return in.refuse("should have " + std::string(first) + " as " + quote(row.name) + ", but has " +
                         shown(value));
    in.refuse(std::string(row.asks) + " (" + std::string(row.name) + "), which is not supported");
}

// The keys of the file over those of its class, and what the file has that no class knows.
struct ReadKeys {
    json all;
    std::vector<std::string> unknown;
};
ReadKeys read_keys(Reader& in, const json& file, std::string_view type) {
    const auto* of = std::ranges::find(config_classes(), type, &ConfigClass::model_type).base();
    ReadKeys keys{json::parse(of->defaults, nullptr, false), {}};
    const json defaults = keys.all;
    for (const auto& [key, value] : file.items())
        if (!value.is_null() || !defaults.contains(key) || none_if_null(key)) keys.all[key] = value;
    for (const KeyAlias& alias : config_key_aliases()) {
        const auto other = file.find(alias.name), own = file.find(alias.of);
        if (!is_among(alias.types, type) || other == file.end() || other->is_null()) continue;
        if (own != file.end() && !own->is_null() && *own != *other)
            in.refuse("has " + shown(*own) + " as " + quote(alias.of) + " and " + shown(*other) + " as " +
                      quote(alias.name) + ", which are two names of one number");
        keys.all[std::string(alias.of)] = *other;
    }
    for (const auto& [key, value] : file.items()) {
        const bool other_name = std::ranges::any_of(config_key_aliases(), [&](const KeyAlias& alias) {
            return alias.name == key && is_among(alias.types, type);
        });
        if (defaults.contains(key) || other_name) continue;
        const KeyRow* row = config_key_row(type, key);
        if (!row)
            keys.unknown.push_back(key);
        else if (row->use == KeyUse::refused)
            check_refused(in, *row, value);
    }
    for (const char* scaling : {"rope_scaling", "rope_parameters"})
        if (const auto place = file.find(scaling); place != file.end() && place->is_object())
            for (const auto& [key, value] : place->items())
                if (!rope_key_use(key)) keys.unknown.push_back(std::string(scaling) + "." + key);
    return keys;
}

// Where the file has another name of a key, the sentence has it too.
std::string in_words_of(const json& file, std::string_view type, std::string problem) {
    for (const KeyAlias& alias : config_key_aliases()) {
        const std::string own = quote(alias.of);
        const std::size_t at = problem.find(own);
        if (is_among(alias.types, type) && file.contains(alias.name) && !file.contains(alias.of) &&
            at != std::string::npos)
            problem.replace(at, own.size(), quote(alias.name));
    }
    return problem;
}

void check_sizes(Reader& in, const ModelConfig& c) {
    const auto fits = [&](std::string_view what, Index rows, Index cols) {
        if (auto count = element_count({rows, cols}, sizeof(float)); !count)
            in.refuse("describes a model that is too large: its " + std::string(what) + " of " +
                      count.error().message);
    };
    fits("token embedding", c.vocab_size, c.d_model);
    fits("position embedding", c.learned_positions ? c.first_position + c.context : 0, c.d_model);
    fits("segment embedding", c.segments, c.d_model);
    fits("query, key and value projection", 3 * c.heads * c.head_dim, c.d_model);
    fits("MLP", c.d_ff, c.d_model);
}

}  // namespace

Result<ModelConfig> parse_model_config(std::span<const std::byte> text) {
    auto tree = parse_json(text, "config.json", {.bytes = 1 << 20, .depth = 16, .values = 100'000});
    if (!tree) return tree.error();
    if (!tree->is_object()) return Error{"config.json should hold an object, but holds " + shown(*tree)};

    std::string problem;
    Reader file(*tree, problem);
    ModelConfig c;
    c.model_type = file.word("model_type");
    const std::string_view type = c.model_type;
    constexpr std::array attention_free{"mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm"};
    const auto known = std::ranges::find(spellings, type, &Spelling::type);
    if (type.empty()) {
        file.refuse("has no 'model_type', so its architecture is unknown");
    } else if (std::ranges::find(attention_free, type) != attention_free.end()) {
        file.refuse("has model_type " + quote(type) + ", which is not a transformer with attention");
    } else if (known == spellings.end()) {
        std::string names;
        for (const Spelling& each : spellings)
            names += (names.empty()                ? ""
                      : &each == &spellings.back() ? " and "
                                                   : ", ") +
                     std::string(each.type);
        file.refuse("has model_type " + quote(type) +
                    ", which is not supported yet; the supported ones are " + names);
    }
    if (!problem.empty()) return Error{std::move(problem)};

    ReadKeys keys = read_keys(file, *tree, type);
    c.unknown_keys = std::move(keys.unknown);
    Reader in(keys.all, problem);
    const auto refusal = [&] { return Error{in_words_of(*tree, type, std::move(problem))}; };
    if (problem.empty()) known->read(in, c);
    if (!problem.empty()) return refusal();

    c.vocab_size = in.size("vocab_size", max_vocab);
    c.dtype = in.word(in.find("dtype") ? "dtype" : "torch_dtype");
    c.bos_ids = in.ids("bos_token_id");
    c.eos_ids = in.ids("eos_token_id");
    if (c.start_id >= c.vocab_size)
        in.refuse("has decoder_start_token_id = " + std::to_string(c.start_id) +
                  ", which is outside the vocabulary of " + std::to_string(c.vocab_size));
    check_sizes(in, c);
    if (!problem.empty()) return refusal();
    return c;
}

}  // namespace attn
