#include "widgets/theme.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "widgets/contrast.hpp"
#include "widgets/script.hpp"
#include "widgets/vector_picture.hpp"

namespace attn::ui {

namespace {

constexpr ImU32 rgb(unsigned hex) { return IM_COL32((hex >> 16) & 255u, (hex >> 8) & 255u, hex & 255u, 255); }

constexpr Theme dark_theme{
    .dark = true,
    .background = rgb(0x0d1014),
    .surface = rgb(0x15191f),
    .raised = rgb(0x1e242c),
    .hovered = rgb(0x28303a),
    .border = rgb(0x2a313b),
    .text = rgb(0xe8ebef),
    .dim = rgb(0x9ca5b2),
    .accent = rgb(0x62a8ff),
    .accent_soft = rgb(0x1c3a63),
    .changed = rgb(0xf0a23c),
    .misprint = rgb(0xe394ff),
    .error = rgb(0xff7b72),
    .masked = rgb(0x191d23),
};

constexpr Theme light_theme{
    .dark = false,
    .background = rgb(0xf4f6f9),
    .surface = rgb(0xffffff),
    .raised = rgb(0xe9edf3),
    .hovered = rgb(0xdde4ed),
    .border = rgb(0xd4dae3),
    .text = rgb(0x161a20),
    .dim = rgb(0x5c6673),
    .accent = rgb(0x115fcd),
    .accent_soft = rgb(0xd6e6fb),
    .changed = rgb(0x9c4d00),
    .misprint = rgb(0x8b1fc4),
    .error = rgb(0xc0271d),
    .masked = rgb(0xe6e9ee),
};

constexpr Theme dark_contrast{
    .dark = true,
    .background = rgb(0x000000),
    .surface = rgb(0x06080a),
    .raised = rgb(0x14181d),
    .hovered = rgb(0x2a323c),
    .border = rgb(0x8a94a2),
    .text = rgb(0xffffff),
    .dim = rgb(0xd5dbe3),
    .accent = rgb(0x9cc8ff),
    .accent_soft = rgb(0x0d3158),
    .changed = rgb(0xffc069),
    .misprint = rgb(0xf0c0ff),
    .error = rgb(0xffb3ab),
    .masked = rgb(0x20262d),
};

constexpr Theme light_contrast{
    .dark = false,
    .background = rgb(0xffffff),
    .surface = rgb(0xffffff),
    .raised = rgb(0xf0f3f7),
    .hovered = rgb(0xd9e0ea),
    .border = rgb(0x5c6570),
    .text = rgb(0x000000),
    .dim = rgb(0x2f3640),
    .accent = rgb(0x0b3f8f),
    .accent_soft = rgb(0xcfe1fb),
    .changed = rgb(0x6b3300),
    .misprint = rgb(0x5f0f8a),
    .error = rgb(0x8c1410),
    .masked = rgb(0xd9dee5),
};

const Theme* current = &dark_theme;

struct Faces {
    std::array<ImFont*, 3> fonts{};
};
Faces faces;

using Stops = std::array<unsigned, 9>;
// Viridis (van der Walt & Smith, matplotlib, CC0), sampled at ninths.
constexpr Stops viridis{0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                        0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
// A single-hue ramp with even steps in lightness, for a light page.
constexpr Stops blues{0xe6eef8, 0xd5e4f4, 0xbcd6ec, 0x9dc6e2, 0x70aed4,
                      0x4793c6, 0x2676b4, 0x0f5a9c, 0x0a3a70};
// Orange is negative and blue is positive, on either page.
constexpr Stops dark_diverging{0xffc98c, 0xe8923a, 0xb3661c, 0x6b401b, 0x1c222a,
                               0x22406f, 0x2b66bf, 0x4f97f0, 0x8cc2ff};
constexpr Stops light_diverging{0x8f4607, 0xcb7626, 0xeaab66, 0xf7d9b8, 0xf3f4f6,
                                0xc3dbf0, 0x82b2e0, 0x3c80c9, 0x0d4f9e};

ImU32 along(const Stops& stops, float t) {
    if (std::isnan(t)) return rgb(0xff00c8);
    const float x = std::clamp(t, 0.0f, 1.0f) * static_cast<float>(stops.size() - 1);
    const auto i = std::min(static_cast<std::size_t>(x), stops.size() - 2);
    const float f = x - static_cast<float>(i);
    const auto channel = [&](unsigned shift) {
        const auto a = static_cast<float>((stops[i] >> shift) & 255u),
                   b = static_cast<float>((stops[i + 1] >> shift) & 255u);
        return static_cast<int>(a + (b - a) * f + 0.5f);
    };
    return IM_COL32(channel(16), channel(8), channel(0), 255);
}

void merge(ImFont* font, ImFontConfig& config) {
    config.SizePixels = size_body;
    config.MergeMode = true;
    config.DstFont = font;
    ImGui::GetIO().Fonts->AddFont(&config);
    // ImGui remembers which glyphs were missing, so this makes it forget.
    ImFontAtlasFontDiscardBakes(ImGui::GetIO().Fonts, font, 0);
}

}  // namespace

const Theme& theme() { return *current; }

void use_theme(bool dark, bool more_contrast) {
    if (more_contrast)
        current = dark ? &dark_contrast : &light_contrast;
    else
        current = dark ? &dark_theme : &light_theme;
    dark ? ImGui::StyleColorsDark() : ImGui::StyleColorsLight();
    ImGuiStyle& style = ImGui::GetStyle();
    const Theme& t = *current;
    const auto set = [&](ImGuiCol slot, ImU32 colour) {
        style.Colors[slot] = ImGui::ColorConvertU32ToFloat4(colour);
    };
    set(ImGuiCol_Text, t.text);
    set(ImGuiCol_TextDisabled, t.dim);
    set(ImGuiCol_WindowBg, t.background);
    set(ImGuiCol_ChildBg, 0);
    set(ImGuiCol_PopupBg, t.surface);
    set(ImGuiCol_Border, t.border);
    set(ImGuiCol_FrameBg, t.raised);
    set(ImGuiCol_FrameBgHovered, t.hovered);
    set(ImGuiCol_FrameBgActive, t.hovered);
    set(ImGuiCol_Button, t.raised);
    set(ImGuiCol_ButtonHovered, t.hovered);
    set(ImGuiCol_ButtonActive, t.accent_soft);
    set(ImGuiCol_Header, t.accent_soft);
    set(ImGuiCol_HeaderHovered, t.hovered);
    set(ImGuiCol_HeaderActive, t.accent_soft);
    set(ImGuiCol_SliderGrab, t.accent);
    set(ImGuiCol_SliderGrabActive, t.accent);
    set(ImGuiCol_CheckMark, t.accent);
    set(ImGuiCol_Separator, t.border);
    set(ImGuiCol_ScrollbarBg, 0);
    set(ImGuiCol_ScrollbarGrab, t.border);
    set(ImGuiCol_ScrollbarGrabHovered, t.dim);
    set(ImGuiCol_ScrollbarGrabActive, t.dim);
    set(ImGuiCol_NavCursor, t.accent);
    set(ImGuiCol_TextSelectedBg, with_alpha(t.accent, 0.35f));
    style.DisabledAlpha = 0.7f;  // still readable
    style.WindowPadding = {0, 0};
    style.WindowRounding = 0;
    style.WindowBorderSize = 0;
    style.ChildRounding = 0;
    style.PopupRounding = 8;
    style.FrameRounding = 6;
    style.FrameBorderSize = more_contrast ? 1 : 0;  // fills alone are too faint
    style.GrabRounding = 6;
    style.ScrollbarSize = 10;
    const bool touch = (ImGui::GetIO().ConfigFlags & ImGuiConfigFlags_IsTouchScreen) != 0;
    style.FramePadding = {10, touch ? std::floor((finger_size - size_body) / 2) : 6};
    style.ItemSpacing = {8, 8};
    style.FontSizeBase = size_body;
}

void use_touch() {
    constexpr float same_place = 24;  // points within which two taps count as a double tap
    ImGui::GetIO().ConfigFlags |= ImGuiConfigFlags_IsTouchScreen;
    ImGui::GetIO().MouseDoubleClickMaxDist = same_place;
}

void add_font(Face face, const void* bytes, int size) {
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    faces.fonts[static_cast<std::size_t>(face)] =
        ImGui::GetIO().Fonts->AddFontFromMemoryTTF(const_cast<void*>(bytes), size, size_body, &config);
}

void add_fallback_font(const void* bytes, int size) {
    for (ImFont* font : faces.fonts) {
        ImFontConfig config;
        config.FontDataOwnedByAtlas = false;
        config.FontData = const_cast<void*>(bytes);
        config.FontDataSize = size;
        merge(font, config);
    }
}

void add_fallback_glyphs(const ImFontLoader* loader) {
    for (ImFont* font : faces.fonts) {
        ImFontConfig config;
        config.FontLoader = loader;
        merge(font, config);
    }
}

Face face_now() {
    const auto found = std::ranges::find(faces.fonts, ImGui::GetFont());
    return found == faces.fonts.end() ? Face::regular : static_cast<Face>(found - faces.fonts.begin());
}

Type::Type(Face face, float size) { ImGui::PushFont(faces.fonts[static_cast<std::size_t>(face)], size); }
Type::~Type() { ImGui::PopFont(); }

ImU32 sequential(float t) { return along(current->dark ? viridis : blues, t); }
ImU32 diverging(float t) { return along(current->dark ? dark_diverging : light_diverging, 0.5f + 0.5f * t); }

std::uint32_t rgb_of(ImU32 colour) {
    const auto channel = [&](int shift) { return (colour >> shift) & 255u; };
    return channel(IM_COL32_R_SHIFT) << 16 | channel(IM_COL32_G_SHIFT) << 8 | channel(IM_COL32_B_SHIFT);
}

ImU32 ink_on(ImU32 fill) { return rgb(ink_on_colour(rgb_of(fill))); }

ImU32 with_alpha(ImU32 colour, float alpha) {
    return (colour & ~IM_COL32_A_MASK) | (static_cast<ImU32>(alpha * 255.0f + 0.5f) << IM_COL32_A_SHIFT);
}

namespace {

std::optional<CutText> cut_text;

// Does the same as as_drawn() without a copy; `room` holds a text that has to be changed.
std::string_view drawn_in(std::string_view text, std::string& room) {
    if (has_joined_runs(text)) text = room = with_joined_runs(text);
    return text;
}

// Returns the width before text_size() rounds it up.
float advance(std::string_view text) {
    std::string room;
    text = drawn_in(text, room);
    const char *const begin = text.data(), *const end = begin + text.size();
    return ImGui::GetFont()->CalcTextSizeA(ImGui::GetFontSize(), FLT_MAX, -1, begin, end).x;
}

}  // namespace

std::string as_drawn(std::string_view text) {
    std::string room;
    return std::string(drawn_in(text, room));
}

void text_item(std::string_view text) {
    if (VectorPicture* picture = VectorPicture::of(ImGui::GetWindowDrawList()))
        picture->text(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(),
                      ImGui::GetColorU32(ImGuiCol_Text), text);
    std::string room;
    text = drawn_in(text, room);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
}

ImVec2 text_size(std::string_view text) {
    std::string room;
    text = drawn_in(text, room);
    return ImGui::CalcTextSize(text.data(), text.data() + text.size());
}

std::string wrapped(std::string_view text, float width) {
    std::string lines(text);
    // Each word is measured once, with the blank before it; a line is as wide as the sum of its words.
    const auto width_of = [&](std::size_t begin, std::size_t end) {
        return advance(std::string_view(lines).substr(begin, end - begin));
    };
    float so_far = 0;
    for (std::size_t line = 0, blank = 0, at = 0; at <= lines.size(); ++at) {
        if (at < lines.size() && lines[at] != ' ' && lines[at] != '\n') continue;
        if (at + 1 < lines.size() && lines[at] == ' ' && lines[at + 1] == '%')
            continue;  // keeps the unit next to its number
        so_far += width_of(std::max(line, blank), at);
        if (blank > line && std::floor(so_far + 0.99999f) > width) {
            lines[blank] = '\n';
            line = blank + 1;
            so_far = width_of(line, at);
        }
        blank = at;
        if (at < lines.size() && lines[at] == '\n') {
            line = at + 1;
            so_far = 0;
        }
    }
    return lines;
}

void draw_text(ImDrawList* list, ImVec2 at, ImU32 colour, std::string_view text) {
    if (VectorPicture* picture = VectorPicture::of(list)) picture->text(list, at, colour, text);
    std::string room;
    text = drawn_in(text, room);
    list->AddText({std::floor(at.x), std::floor(at.y)}, colour, text.data(), text.data() + text.size());
}

std::optional<CutText> take_cut_text() { return std::exchange(cut_text, std::nullopt); }

void note_cut_text(std::string_view text, ImVec2 min, ImVec2 max) {
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(min, max))
        cut_text = CutText{std::string(text), min, max};
}

std::string shortened(std::string_view text, float width) {
    if (text_size(text).x <= width) return std::string(text);
    while (!text.empty()) {
        do text.remove_suffix(1);
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0u) == 0x80u);
        // A cut within a character also removes its lead byte.
        if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0u) text.remove_suffix(1);
        if (std::string cut = std::string(text) + "…"; text_size(cut).x <= width) return cut;
    }
    return "";
}

void draw_text_within(ImDrawList* list, ImVec2 at, float width, ImU32 colour, std::string_view text) {
    const std::string drawn = shortened(text, width);
    draw_text(list, at, colour, drawn);
    if (drawn != text) note_cut_text(text, at, {at.x + width, at.y + ImGui::GetFontSize()});
}

}  // namespace attn::ui
