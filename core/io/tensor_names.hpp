// Says what a tensor's name tells of it, as people write names: "q", "layer0.q_proj",
// "AttentionMask", "decoder_attentions".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn {

enum class Role { query, key, value, mask, weights };

struct NameParts {
    std::optional<Role> role;  // none: the name does not say
    std::string group;         // the other words, e.g. "layer 0"; tensors that belong together share them
    bool parameter = false;    // a model's own, "q_proj.weight", not computed from a text
};

// "mask" outranks everything else in a name, q, k and v outrank "attn", and "q1" ranks below both.
NameParts read_name(std::string_view name);

// The last number of "layer12.attn" gives {"layer#.attn", 12}. Without a number, it is -1.
struct NumberedName {
    std::string pattern;
    int number = -1;
    std::string word;  // the one before the number: "layer"
};
NumberedName last_number(std::string_view name);

std::string_view to_string(Role role);  // "Q", "K", "V", "mask", "attention weights"

}  // namespace attn
