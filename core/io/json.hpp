// The one way into nlohmann/json: with limits, without exceptions, and with duplicate keys refused.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "tensor/result.hpp"

namespace attn {

// A small file must not become a large tree.
struct JsonLimits {
    std::size_t bytes = 100'000'000;
    std::size_t depth = 32;
    std::size_t values = 4'000'000;
};

// `what` names the text in messages: "config.json".
Result<nlohmann::json> parse_json(std::span<const std::byte> text, std::string_view what,
                                  JsonLimits limits = {});

}  // namespace attn
