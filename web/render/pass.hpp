// Implements what the passes inside ImGui's draw lists have in common.
#pragma once

#include <imgui.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>

namespace attn::render {

// Gives the size of the frame being drawn, in pixels, and converts points to its pixels.
struct FramePixels {
    float scale, width, height;
    ImVec2 origin;  // points

    static FramePixels of(const ImDrawData& data) {
        const float scale = data.FramebufferScale.x;
        return {scale, std::floor(data.DisplaySize.x * scale), std::floor(data.DisplaySize.y * scale),
                data.DisplayPos};
    }
    ImVec2 operator()(float x, float y) const { return {(x - origin.x) * scale, (y - origin.y) * scale}; }
};

// Zeroes an item's padding, so that equal items have equal bytes; Picture compares items by bytes.
template <class Item, class... Fields>
std::array<std::byte, sizeof(Item)> bytes_of(const Item& item, const std::tuple<const Fields&...>& fields) {
    static_assert(((std::is_scalar_v<Fields> || std::is_same_v<Fields, ImVec2>) && ...),
                  "a field may have padding of its own");
    std::array<std::byte, sizeof(Item)> bytes{};
    const auto copy = [&](const auto& field) {
        const auto at =
            reinterpret_cast<const std::byte*>(&field) - reinterpret_cast<const std::byte*>(&item);
        std::memcpy(bytes.data() + at, &field, sizeof field);
    };
    std::apply([&](const auto&... field) { (copy(field), ...); }, fields);
    return bytes;
}

// Keeps each item until `run` draws it. fields_of(item) ties together everything an item consists of.
template <class Item, class F>
void add_pass(ImDrawList* list, ImDrawCallback run, std::span<const Item> items, F fields_of) {
    for (const Item& item : items) {
        auto bytes = bytes_of(item, fields_of(item));
        list->AddCallback(run, bytes.data(), bytes.size());
    }
    list->AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

}  // namespace attn::render
