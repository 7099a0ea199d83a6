// Describes all heads at once, for saving them as an archive.
#pragma once

#include <map>
#include <span>
#include <string>

#include "runs/attention.hpp"

namespace attn::parts {

struct AllHeads {
    // Empty tokens mean that there are only positions.
    struct Axis {
        std::span<const std::string> tokens{};
        const UnitAxis* units = nullptr;  // if not null, the maps show larger units instead
    };

    HeadMaps map{};
    Index layers = 0, heads = 0;  // heads per layer
    app::MapChoice choice{};      // how the maps are shown
    Axis queries{}, keys{};
    std::span<const std::int32_t> ids{};
    std::map<std::string, std::string> source{};  // what the heads belong to: names and values
    std::string instead;  // offered if the archive would be too large: "save one head's window"
};

// The result refers to the attention and must not be kept; its maps may be.
AllHeads all_heads(const app::Attention& attention, const app::MapChoice& choice);

}  // namespace attn::parts
