#include "render/flow.hpp"

#include <GLES3/gl3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "render/buffers.hpp"
#include "render/context.hpp"
#include "render/program.hpp"
#include "shaders.hpp"

namespace attn::render {

namespace {

constexpr Index texture_width = 2048;
constexpr GLsizei edge_bytes = 16;

struct Pass {
    Program program{shaders::flow_vert, shaders::flow_frag};
    GLuint vertex_array = 0;
    std::uint64_t context = 0;
};

Pass& pass() {
    static Pass it;
    return it;
}

bool begin() {
    Pass& p = pass();
    if (!p.program.use()) return false;
    if (p.context != context_number()) {
        p.context = context_number();
        glGenVertexArrays(1, &p.vertex_array);
    }
    glBindVertexArray(p.vertex_array);
    return true;
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

// The more curves, the coarser each: in a crowd nobody sees its corners.
GLint segments_of(Index count) { return count < 4096 ? 24 : count < 32768 ? 16 : 10; }

void run(const ImDrawList*, const ImDrawCmd* command) {
    FlowCurves c;
    std::memcpy(&c, command->UserCallbackData, sizeof c);
    const ImDrawData& data = *ImGui::GetDrawData();
    const float scale = data.FramebufferScale.x;
    const float width = std::floor(data.DisplaySize.x * scale),
                height = std::floor(data.DisplaySize.y * scale);
    const auto pixels = [&](float x, float y) {
        return ImVec2((x - data.DisplayPos.x) * scale, (y - data.DisplayPos.y) * scale);
    };
    ImVec2 min = pixels(command->ClipRect.x, command->ClipRect.y),
           max = pixels(command->ClipRect.z, command->ClipRect.w);
    min = {std::max(std::floor(min.x), 0.0f), std::max(std::floor(min.y), 0.0f)};
    max = {std::min(std::ceil(max.x), width), std::min(std::ceil(max.y), height)};
    if (!(min.x < max.x && min.y < max.y) || c.count == 0 || !begin()) return;

    const Program& program = pass().program;
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
    for (const FlowCurves& each : curves) {
        FlowCurves copy = each;
        list->AddCallback(run, &copy, sizeof copy);
    }
    list->AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

const std::string& flow_fault() { return pass().program.fault(); }

}  // namespace attn::render
