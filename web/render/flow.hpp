// Draws the edges of a flow as curves between places on two lines, inside ImGui's draw list and its clip
// rectangle.
#pragma once

#include <imgui.h>

#include <span>
#include <string>

#include "render/textures.hpp"

namespace attn::render {

// Places along a line or a column, in units of their own.
struct FlowPlaces {
    TextureKey key;
    const float* values = nullptr;
    Index count = 0;
};

// The places and edges must not change until the frame is drawn.
struct FlowCurves {
    FlowPlaces queries, keys;
    // An edge takes 16 bytes: query and key as u32, then its weight and the sum of its row's heavier edges as
    // f32.
    TextureKey key;
    const std::byte* edges = nullptr;
    Index known = 0;             // edges in memory from there on; each is uploaded once
    Index first = 0, count = 0;  // the edges drawn; the first one below the others

    ImVec2 query_origin, key_origin;  // where place 0 lies, in points
    float unit = 1;                   // points per unit of places
    Index columns = 0;                // 1: between two columns; 0: arcs over one line
    float rise = 0, loop = 0;         // see maps/flow_shape.hpp
    float limit = 1;                  // draws the edges whose heavier edges sum to less than this
    float most = 1;                   // the weight drawn strongest
    float opacity = 1;
    float faintest = 0.12f;  // strength of a weight of 0, before its opacity
    ImU32 colour = 0;
};

void draw(ImDrawList* list, std::span<const FlowCurves> curves);

// Compiles the shaders early, so that the first edges need not wait for them.
void prepare_flows();

// Gives the browser's message if edges cannot be drawn here; empty if they can.
const std::string& flow_fault();

}  // namespace attn::render
