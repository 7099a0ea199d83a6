// What a link can say beside its example and its matrices: a row for each key.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/command.hpp"
#include "app/state.hpp"

namespace attn::app {

struct LinkSetting {
    std::string_view key;
    std::string_view expected;  // "the link's value is not …"
    bool (*read)(State&, const std::string& value);
    // `usual` is what a link without this key gives; nothing where it says the same.
    std::optional<std::string> (*write)(const State& state, const State& usual);
};
// To be read in this order, after the example and its matrices.
std::span<const LinkSetting> link_settings();

// The state after a command that it allows; otherwise false, and it is as it was.
bool take(State& state, const Command& command);

}  // namespace attn::app
