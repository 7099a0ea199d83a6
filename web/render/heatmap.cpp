#include "render/heatmap.hpp"

#include <GLES3/gl3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "render/pass.hpp"
#include "render/program.hpp"
#include "shaders.hpp"

namespace attn::render {

namespace {

Program& heatmap_program() {
    static Program program{shaders::heatmap_vert, shaders::heatmap_frag};
    return program;
}

void set_colour(const char* name, ImU32 colour) {
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(colour);
    glUniform4f(heatmap_program().uniform(name), c.x, c.y, c.z, c.w);
}

auto heatmap_fields(const Heatmap& heatmap) {
    const auto& [key, version, values, rows, cols, min, max, origin, cell, tile_columns, tile_pitch, palette,
                 scale, quantiles, gaps, masked, nan] = heatmap;
    const auto& [owner, number] = key;
    const auto& [high, diverging, scaling, of_ranks, least] = scale;
    return std::tie(owner, number, version, values, rows, cols, min, max, origin, cell, tile_columns,
                    tile_pitch, palette, high, diverging, scaling, of_ranks, least, quantiles, gaps, masked,
                    nan);
}

void draw_heatmap(const ImDrawList*, const ImDrawCmd* command) {
    Heatmap h;
    std::memcpy(&h, command->UserCallbackData, sizeof h);
    const FramePixels pixels = FramePixels::of(*ImGui::GetDrawData());
    const float scale = pixels.scale, width = pixels.width, height = pixels.height;
    const ImVec2 min = pixels(std::max(h.min.x, command->ClipRect.x), std::max(h.min.y, command->ClipRect.y));
    const ImVec2 max = pixels(std::min(h.max.x, command->ClipRect.z), std::min(h.max.y, command->ClipRect.w));
    if (!(min.x < max.x && min.y < max.y) || !heatmap_program().use()) return;

    const Program& program = heatmap_program();
    glScissor(0, 0, static_cast<GLsizei>(width), static_cast<GLsizei>(height));
    glActiveTexture(GL_TEXTURE1);
    bind_colours({h.palette, 0}, h.palette->colours);
    glActiveTexture(GL_TEXTURE0);
    bind_values(h.key, h.version, {h.values, static_cast<std::size_t>(h.rows * h.cols)}, h.rows, h.cols);
    if (h.scale.quantiles) {
        glActiveTexture(GL_TEXTURE2);
        const auto& quantiles = h.scale.quantiles->values;
        bind_values({h.scale.quantiles, 0}, h.quantiles, quantiles, 1, std::ssize(quantiles));
        glActiveTexture(GL_TEXTURE0);
    }

    const ImVec2 origin = pixels(h.origin.x, h.origin.y);
    const Index tile_columns = h.tile_columns ? h.tile_columns : h.cols;
    const float pitch = h.tile_columns ? h.tile_pitch * scale : 1e9f;
    glUniform1i(program.uniform("values"), 0);
    glUniform1i(program.uniform("palette"), 1);
    glUniform1i(program.uniform("quantiles"), 2);
    glUniform4f(program.uniform("rectangle"), min.x, min.y, max.x, max.y);
    glUniform2f(program.uniform("frame"), width, height);
    glUniform1i(program.uniform("rows"), static_cast<GLint>(h.rows));
    glUniform2f(program.uniform("origin"), origin.x, origin.y);
    glUniform2f(program.uniform("cell"), h.cell.x * scale, h.cell.y * scale);
    glUniform1i(program.uniform("tile_columns"), static_cast<GLint>(tile_columns));
    glUniform1f(program.uniform("tile_pitch"), pitch);
    const bool ranks = h.scale.scaling == Scaling::rank && h.scale.quantiles;
    glUniform1i(program.uniform("scaling"), ranks ? 2 : h.scale.scaling == Scaling::logarithmic ? 1 : 0);
    glUniform1f(program.uniform("high"), h.scale.high);
    glUniform1f(program.uniform("least"), h.scale.least);
    glUniform1i(program.uniform("is_signed"), h.scale.diverging);
    glUniform1f(program.uniform("gap"), h.gaps ? std::max(1.0f, std::floor(scale + 0.25f)) : 0);
    set_colour("masked_colour", h.masked);
    set_colour("nan_colour", h.nan);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

}  // namespace

void draw(ImDrawList* list, std::span<const Heatmap> heatmaps) {
    add_pass(list, draw_heatmap, heatmaps, heatmap_fields);
}

void prepare_heatmaps() { heatmap_program().prepare(); }

const std::string& heatmap_fault() { return heatmap_program().fault(); }

}  // namespace attn::render
