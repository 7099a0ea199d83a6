// Two sentences that differ in one adjective, which decides what "it" means.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::app {

struct Twin {
    std::string adjective;  // the other one
    std::string text;       // with it
};

std::string first_twin();
// The other sentence, where the text is one of the two.
std::optional<Twin> twin_of(std::string_view text);

}  // namespace attn::app
