#include "render/flow.hpp"

#include <GLES3/gl3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "render/buffers.hpp"
#include "render/pass.hpp"
#include "render/program.hpp"
#include "shaders.hpp"

namespace attn::render {

namespace {

constexpr Index texture_width = 2048;
constexpr GLsizei edge_bytes = 16;

Program& flow_program() {
    static Program program{shaders::flow_vert, shaders::flow_frag};
    return program;
}

void bind_places(GLenum unit, const FlowPlaces& places) {
    glActiveTexture(unit);
    const Index width = std::min(places.count, texture_width), rows = (places.count + width - 1) / width;
    std::vector<float> padded(places.values, places.values + places.count);
    padded.resize(static_cast<std::size_t>(width * rows));
    bind_values(places.key, 1, padded, rows, width);
}

void bind_edges(const FlowCurves& c) {
    bind_buffer(c.key, {c.edges, static_cast<std::size_t>(c.known * edge_bytes)});
    const auto at = [&](Index byte) { return reinterpret_cast<const void*>(c.first * edge_bytes + byte); };
    glVertexAttribIPointer(0, 2, GL_UNSIGNED_INT, edge_bytes, at(0));
    glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, edge_bytes, at(8));
    for (const GLuint attribute : {0u, 1u}) {
        glEnableVertexAttribArray(attribute);
        glVertexAttribDivisor(attribute, 1);
    }
}

// The more curves there are, the coarser each is: in a dense flow nobody sees the corners.
GLint segments_of(Index count) { return count < 512 ? 48 : count < 4096 ? 24 : count < 32768 ? 16 : 10; }

auto flow_fields(const FlowCurves& curves) {
    const auto& [queries, keys, key, edges, known, first, count, query_origin, key_origin, unit, columns,
                 rise, loop, limit, most, opacity, faintest, colour] = curves;
    const auto& [query_key, query_values, query_count] = queries;
    const auto& [key_key, key_values, key_count] = keys;
    return std::tie(query_key.owner, query_key.number, query_values, query_count, key_key.owner,
                    key_key.number, key_values, key_count, key.owner, key.number, edges, known, first, count,
                    query_origin, key_origin, unit, columns, rise, loop, limit, most, opacity, faintest,
                    colour);
}

void draw_flow(const ImDrawList*, const ImDrawCmd* command) {
    FlowCurves c;
    std::memcpy(&c, command->UserCallbackData, sizeof c);
    const FramePixels pixels = FramePixels::of(*ImGui::GetDrawData());
    const float scale = pixels.scale, width = pixels.width, height = pixels.height;
    ImVec2 min = pixels(command->ClipRect.x, command->ClipRect.y),
           max = pixels(command->ClipRect.z, command->ClipRect.w);
    min = {std::max(std::floor(min.x), 0.0f), std::max(std::floor(min.y), 0.0f)};
    max = {std::min(std::ceil(max.x), width), std::min(std::ceil(max.y), height)};
    if (!(min.x < max.x && min.y < max.y) || c.count == 0 || !flow_program().use()) return;

    const Program& program = flow_program();
    glScissor(static_cast<GLint>(min.x), static_cast<GLint>(height - max.y),
              static_cast<GLsizei>(max.x - min.x), static_cast<GLsizei>(max.y - min.y));
    bind_places(GL_TEXTURE1, c.keys);
    bind_places(GL_TEXTURE0, c.queries);
    bind_edges(c);

    const ImVec2 query_origin = pixels(c.query_origin.x, c.query_origin.y),
                 key_origin = pixels(c.key_origin.x, c.key_origin.y);
    const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(c.colour);
    const GLint segments = segments_of(c.count);
    glUniform1i(program.uniform("query_places"), 0);
    glUniform1i(program.uniform("key_places"), 1);
    glUniform2f(program.uniform("query_origin"), query_origin.x, query_origin.y);
    glUniform2f(program.uniform("key_origin"), key_origin.x, key_origin.y);
    glUniform1f(program.uniform("unit"), c.unit * scale);
    glUniform1f(program.uniform("point"), scale);
    glUniform1i(program.uniform("columns"), static_cast<GLint>(c.columns));
    glUniform1f(program.uniform("rise"), c.rise);
    glUniform1f(program.uniform("loop"), c.loop);
    glUniform1f(program.uniform("limit"), c.limit);
    glUniform1f(program.uniform("most"), c.most);
    glUniform1f(program.uniform("opacity"), c.opacity);
    glUniform1f(program.uniform("faintest"), c.faintest);
    glUniform1i(program.uniform("segments"), segments);
    glUniform2f(program.uniform("frame"), width, height);
    glUniform4f(program.uniform("colour"), colour.x, colour.y, colour.z, colour.w);
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 2 * (segments + 1), static_cast<GLsizei>(c.count));
}

}  // namespace

void draw(ImDrawList* list, std::span<const FlowCurves> curves) {
    add_pass(list, draw_flow, curves, flow_fields);
}

void prepare_flows() { flow_program().prepare(); }

const std::string& flow_fault() { return flow_program().fault(); }

}  // namespace attn::render
