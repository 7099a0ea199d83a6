// What the name of a tensor says of it, as people write names: "q", "layer0.q_proj", "AttentionMask", "decoder_attentions".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn {

enum class Role { query, key, value, mask, weights };

struct NameParts {
    std::optional<Role> role;  // none: the name does not say
    std::string group;         // the other words, "layer 0": what belongs together has the same
    bool parameter = false;    // of a model, "q_proj.weight": nothing that a text went through
};

// A mask is a mask whatever else its name says, q, k and v are more than "attn", and "q1" is less than both.
NameParts read_name(std::string_view name);

// "layer12.attn" is {"layer#.attn", 12}, the last number of the name; no number: -1.
struct NumberedName {
    std::string pattern;
    int number = -1;
    std::string word;  // before the number: "layer"
};
NumberedName last_number(std::string_view name);

std::string_view to_string(Role role);  // "Q", "K", "V", "mask", "attention weights"

}  // namespace attn
