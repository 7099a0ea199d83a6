// What each key of a model's files is to this program: all keys that transformers 4 and 5 know for the
// families, and all that llama.cpp's loader knows.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace attn {

// A number of a computed key reaches the run. A harmless one changes no number of a run: it is about
// training, generating or other programs. What a refused one asks for is not computed, so that only values
// that ask for nothing pass.
enum class KeyUse { computed, harmless, refused };

// The computed keys of a model_type, each with its value in the configuration class, which a file that leaves
// it out has.
struct ConfigClass {
    std::string_view model_type;
    std::string_view defaults;  // JSON
};
std::span<const ConfigClass> config_classes();

// Whether a null under a computed key says that there is none; under the others it is as if the file had no
// such key.
bool none_if_null(std::string_view key);

struct KeyRow {
    std::string_view name;
    KeyUse use = KeyUse::harmless;
    std::string_view types = "";  // the model_types that it is about, between spaces; empty: all
    // For a refused key: JSON between spaces, beside null, which asks for nothing.
    std::string_view passes = "";
    std::string_view asks = "";  // for a refused key: "asks for cross attention"
};
std::span<const KeyRow> config_key_rows();

// Another name of a computed key.
struct KeyAlias {
    std::string_view name, of;
    std::string_view types;
};
std::span<const KeyAlias> config_key_aliases();

bool is_among(std::string_view between_spaces, std::string_view word);

// Null: no row is about it.
const KeyRow* config_key_row(std::string_view model_type, std::string_view key);

// The keys inside rope_scaling and rope_parameters. Which of them count is up to the kind of scaling.
std::optional<KeyUse> rope_key_use(std::string_view key);

// A key of a GGUF file, without its architecture and the dot where it begins with that; nothing: no loader
// knows it.
std::optional<KeyUse> gguf_key_use(std::string_view architecture, std::string_view key);
std::span<const std::string_view> gguf_key_names();  // all that llama.cpp knows behind an architecture

}  // namespace attn
