#include "widgets/vector_picture.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include "widgets/svg_writer.hpp"

namespace attn::ui {

namespace {

VectorPicture* under_way = nullptr;

constexpr ImDrawListFlags smoothing = ImDrawListFlags_AntiAliasedLines |
                                      ImDrawListFlags_AntiAliasedLinesUseTex |
                                      ImDrawListFlags_AntiAliasedFill;
constexpr float everywhere = 1e6f;

// Dear ImGui's font sizes span from the lowest descender to the highest ascender; SVG's are ems. The ratios
// are from the hhea tables of Inter and JetBrains Mono.
struct FaceShape {
    const char* attributes;
    float em, ascent;  // fractions of Dear ImGui's size
};
constexpr std::array<FaceShape, 3> shapes{{
    {"", 0.8263f, 0.8005f},
    {"font-weight=\"600\"", 0.8263f, 0.8005f},
    {"font-family=\"JetBrains Mono, Menlo, Consolas, monospace\"", 0.7576f, 0.7727f},
}};

float alpha_of(ImU32 colour) { return static_cast<float>((colour >> IM_COL32_A_SHIFT) & 255u) / 255.0f; }

std::string opacity(ImU32 colour, const char* name) {
    return alpha_of(colour) < 1 ? std::string(name) + "=\"" + svg_number(alpha_of(colour)) + "\"" : "";
}

// Joins the triangles of a draw list into polygons, and polygons of the same colour into paths.
class Shapes {
  public:
    Shapes(SvgWriter& svg, ImVec2 corner) : svg_(svg), corner_(corner) {}

    void triangle(const std::array<ImDrawVert, 3>& corners) {
        const ImU32 colour = mean(corners);
        if (alpha_of(colour) == 0) return;
        if (colour != colour_ || (alpha_of(colour) < 1 && !continues(corners))) flush();
        colour_ = colour;
        if (continues(corners)) {
            polygon_.push_back(corners[2].pos);
            return;
        }
        close();
        for (const ImDrawVert& corner : corners) polygon_.push_back(corner.pos);
    }
    void flush() {
        close();
        if (!path_.empty())
            svg_.path(path_, "fill=\"" + svg_colour(rgb_of(colour_)) + "\"" +
                                 (alpha_of(colour_) < 1 ? " " + opacity(colour_, "fill-opacity") : ""));
        path_.clear();
    }

  private:
    // Fans and quads share their first corner, and each triangle begins where the last one ended.
    bool continues(const std::array<ImDrawVert, 3>& corners) const {
        const auto same = [](ImVec2 a, ImVec2 b) { return a.x == b.x && a.y == b.y; };
        return polygon_.size() >= 3 && same(corners[0].pos, polygon_.front()) &&
               same(corners[1].pos, polygon_.back()) && !same(corners[2].pos, polygon_.front());
    }
    static ImU32 mean(const std::array<ImDrawVert, 3>& corners) {
        if (corners[0].col == corners[1].col && corners[0].col == corners[2].col) return corners[0].col;
        ImVec4 sum{0, 0, 0, 0};
        for (const ImDrawVert& corner : corners) {
            const ImVec4 one = ImGui::ColorConvertU32ToFloat4(corner.col);
            sum = {sum.x + one.x / 3, sum.y + one.y / 3, sum.z + one.z / 3, sum.w + one.w / 3};
        }
        return ImGui::ColorConvertFloat4ToU32(sum);
    }
    void close() {
        const char* command = "M";
        for (const ImVec2& point : polygon_) {
            path_ += command + svg_number(point.x - corner_.x) + " " + svg_number(point.y - corner_.y);
            command = "L";
        }
        if (!polygon_.empty()) path_ += "Z";
        polygon_.clear();
    }

    SvgWriter& svg_;
    ImVec2 corner_;
    ImU32 colour_ = 0;
    std::vector<ImVec2> polygon_;
    std::string path_;
};

}  // namespace

VectorPicture* VectorPicture::of(const ImDrawList* list) {
    return under_way && under_way->follows(list) ? under_way : nullptr;
}

bool VectorPicture::follows(const ImDrawList* list) {
    if (std::ranges::find(lists_, list, &Followed::list) != lists_.end()) return true;
    ImGuiWindow* window = ImGui::GetCurrentWindow();
    if (window->DrawList != list) return false;
    for (const ImGuiWindow* outer = window->ParentWindow; outer; outer = outer->ParentWindow)
        if (outer->DrawList == list_) {
            window->DrawList->Flags &= ~smoothing;
            lists_.push_back({window->DrawList, 0});
            return true;
        }
    return false;
}

VectorPicture::VectorPicture(ImDrawList* list) : list_(list), flags_(list->Flags) {
    list_->Flags &= ~smoothing;
    list_->PushClipRect({-everywhere, -everywhere}, {everywhere, everywhere});
    lists_.push_back({list_, list_->IdxBuffer.Size});
    under_way = this;
}

VectorPicture::~VectorPicture() {
    list_->Flags = flags_;
    list_->PopClipRect();
    under_way = nullptr;
}

void VectorPicture::text(const ImDrawList* list, ImVec2 at, ImU32 colour, std::string_view text) {
    const float size = ImGui::GetFontSize();
    const Face face = face_now();
    float y = std::floor(at.y) + shapes[static_cast<std::size_t>(face)].ascent * size;
    for (std::size_t begin = 0; begin <= text.size(); y += size) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        if (!line.empty())
            texts_.push_back({list,
                              list->IdxBuffer.Size,
                              {std::floor(at.x), y},
                              text_size(line).x,
                              size,
                              0,
                              colour,
                              face,
                              std::string(line)});
        begin = end + 1;
    }
}

void VectorPicture::rotate_last_text(ImVec2 at, float radians) {
    if (texts_.empty()) return;
    texts_.back().at = at;
    texts_.back().radians = radians;
}

std::string VectorPicture::finish(ImVec2 min, ImVec2 max, const std::string& title) {
    SvgWriter svg(max.x - min.x, max.y - min.y, rgb_of(theme().surface), title);
    Shapes shapes_drawn(svg, min);
    auto next = texts_.begin();
    const auto write_texts = [&](const ImDrawList* list, int until) {
        for (; next != texts_.end() && (next->list != list || next->before <= until); ++next) {
            if (next->list != list) continue;
            const FaceShape& face = shapes[static_cast<std::size_t>(next->face)];
            // Viewers that lack the font substitute another at the same width.
            std::string attributes =
                "textLength=\"" + svg_number(next->width) + "\" lengthAdjust=\"spacingAndGlyphs\"";
            for (const std::string& more :
                 {std::string(face.attributes), opacity(next->colour, "fill-opacity")})
                if (!more.empty()) attributes += " " + more;
            shapes_drawn.flush();
            svg.text(next->at.x - min.x, next->at.y - min.y, next->text, rgb_of(next->colour),
                     SvgWriter::Anchor::start, next->size * face.em,
                     next->radians * 180 / std::numbers::pi_v<float>, attributes);
        }
    };
    const ImVec2 plain = ImGui::GetFontTexUvWhitePixel();
    std::map<std::tuple<float, float, float, float>, std::string> clips;
    const auto write = [&](const ImDrawList* list, const ImDrawCmd& command, int first_index) {
        const auto from = static_cast<int>(command.IdxOffset),
                   to = from + static_cast<int>(command.ElemCount);
        if (to <= first_index || command.UserCallback) return;
        const ImVec4& clip = command.ClipRect;
        const bool clipped = clip.x > min.x || clip.y > min.y || clip.z < max.x || clip.w < max.y;
        if (clipped) {
            const auto [known, added] =
                clips.try_emplace({clip.x, clip.y, clip.z, clip.w}, "clip" + std::to_string(clips.size()));
            shapes_drawn.flush();
            if (added)
                svg.clip(known->second, clip.x - min.x, clip.y - min.y, clip.z - clip.x, clip.w - clip.y);
            svg.open_group("clip-path=\"url(#" + known->second + ")\"");
        }
        for (int i = std::max(from, first_index); i + 2 < to; i += 3) {
            write_texts(list, i);
            std::array<ImDrawVert, 3> corners;
            for (int k = 0; k < 3; ++k)
                corners[static_cast<std::size_t>(k)] =
                    list->VtxBuffer[static_cast<int>(command.VtxOffset) + list->IdxBuffer[i + k]];
            // Only letters of texts have a texture.
            if (std::ranges::all_of(corners, [&](const ImDrawVert& corner) {
                    return corner.uv.x == plain.x && corner.uv.y == plain.y;
                }))
                shapes_drawn.triangle(corners);
        }
        shapes_drawn.flush();
        if (clipped) svg.close_group();
    };
    for (const Followed& each : lists_) {
        next = texts_.begin();
        for (const ImDrawCmd& command : each.list->CmdBuffer) write(each.list, command, each.first_index);
        write_texts(each.list, each.list->IdxBuffer.Size);
    }
    return svg.finish();
}

}  // namespace attn::ui
