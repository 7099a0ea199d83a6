// The flow pass: edges between places on two lines as curves, inside ImGui's draw list and its clip rectangle.
#pragma once

#include <imgui.h>

#include <span>
#include <string>

#include "render/textures.hpp"

namespace attn::render {

// Along a line or a column, in units of their own.
struct FlowPlaces {
    TextureKey key;
    const float* values = nullptr;
    Index count = 0;
};

// Places and edges stay as they are until the frame is drawn.
struct FlowCurves {
    FlowPlaces queries, keys;
    // 16 bytes an edge: query and key as u32, weight, and what the heavier edges of its row make up as f32.
    TextureKey key;
    const std::byte* edges = nullptr;
    Index known = 0;             // from there on, uploaded once
    Index first = 0, count = 0;  // that are drawn, the first one below the others

    ImVec2 query_origin, key_origin;  // where place 0 lies, in points
    float unit = 1;                   // points a unit of places
    Index columns = 0;                // 1: between two columns; 0: arcs over one line
    float rise = 0, loop = 0;         // as app/flow_shape.hpp has them
    float limit = 1;                  // edges with less before them are drawn
    float most = 1;                   // the weight that is drawn strongest
    float opacity = 1;
    float faintest = 0.12f;  // the strength of a weight of nothing, before its opacity
    ImU32 colour = 0;
};

void draw(ImDrawList* list, std::span<const FlowCurves> curves);

// So that the first of them need not wait for their shaders.
void prepare_flows();

// Why no edge can be drawn here: the browser's own words; empty when all is well.
const std::string& flow_fault();

}  // namespace attn::render
