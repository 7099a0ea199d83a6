// This is the only way into nlohmann/json: with limits, without exceptions, and duplicate keys are refused.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "tensor/result.hpp"

namespace attn {

// These limits keep a small file from becoming a large tree.
struct JsonLimits {
    std::size_t bytes = 100'000'000;
    std::size_t depth = 32;
    std::size_t values = 4'000'000;
};

// Messages call the text `what`, e.g. "config.json".
Result<nlohmann::json> parse_json(std::span<const std::byte> text, std::string_view what,
                                  JsonLimits limits = {});

// Returns a text as JSON writes it, in its quotes; ill-formed UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace attn
