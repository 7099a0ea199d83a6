// Measures the contrast of text with its background, for every glyph of every lens over every subject.
#include "widgets/contrast.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "subjects/worked/commands.hpp"
#include "support/this_build.hpp"
#include "unit/frame/screen.hpp"
#include "widgets/heatmap.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

constexpr float enough = 4.5f;  // WCAG 2.2, 1.4.3, level AA

// The frame that ImGui hands to a renderer, drawn plainly at one texel per point, without its lines. Glyphs
// are not drawn, but compared with the background at their centre.
class Canvas {
  public:
    explicit Canvas(ImVec2 size)
        : width_(static_cast<int>(size.x)),
          height_(static_cast<int>(size.y)),
          texels_(static_cast<std::size_t>(width_ * height_), ui::theme().background) {
        const ImDrawData& data = *ImGui::GetDrawData();
        for (const ImDrawList* list : data.CmdLists)
            for (const ImDrawCmd& command : list->CmdBuffer) draw(*list, command);
    }

    ImU32 at(ImVec2 point) const {
        const int x = std::clamp(static_cast<int>(point.x), 0, width_ - 1),
                  y = std::clamp(static_cast<int>(point.y), 0, height_ - 1);
        return texels_[static_cast<std::size_t>(y * width_ + x)];
    }

    struct Faint {
        float contrast;
        ImVec2 at;
        ImU32 ink, ground;
    };
    std::vector<Faint> faint;  // glyphs with too little contrast
    int glyphs = 0;

  private:
    static ImU32 over(ImU32 ground, ImU32 ink) {
        const ImVec4 a = ImGui::ColorConvertU32ToFloat4(ground), b = ImGui::ColorConvertU32ToFloat4(ink);
        const auto mixed = [&](float from, float to) { return from + (to - from) * b.w; };
        return ImGui::ColorConvertFloat4ToU32({mixed(a.x, b.x), mixed(a.y, b.y), mixed(a.z, b.z), 1});
    }

    void draw(const ImDrawList& list, const ImDrawCmd& command) {
        for (unsigned i = 0; i + 2 < command.ElemCount; i += 3) {
            const auto corner = [&](unsigned k) -> const ImDrawVert& {
                return list.VtxBuffer[static_cast<int>(
                    command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset + i + k)])];
            };
            const ImDrawVert &a = corner(0), &b = corner(1), &c = corner(2);
            if (a.col != b.col || b.col != c.col) continue;  // the soft edge of a shape
            const auto [left, right] = std::minmax({a.pos.x, b.pos.x, c.pos.x});
            const auto [top, bottom] = std::minmax({a.pos.y, b.pos.y, c.pos.y});
            const ImVec4& clip = command.ClipRect;
            const auto [u, u_end] = std::minmax({a.uv.x, b.uv.x, c.uv.x});
            const auto [v, v_end] = std::minmax({a.uv.y, b.uv.y, c.uv.y});
            if (u != u_end && v != v_end) {
                const ImVec2 middle{(left + right) / 2, (top + bottom) / 2};
                if (middle.x < clip.x || middle.x >= clip.z || middle.y < clip.y || middle.y >= clip.w)
                    continue;
                look(middle, a.col);
                continue;
            }
            if (u != u_end) continue;  // a line
            const int x_end = std::min(static_cast<int>(std::ceil(std::min(right, clip.z))), width_),
                      y_end = std::min(static_cast<int>(std::ceil(std::min(bottom, clip.w))), height_);
            for (int y = std::max(static_cast<int>(std::max(top, clip.y)), 0); y < y_end; ++y)
                for (int x = std::max(static_cast<int>(std::max(left, clip.x)), 0); x < x_end; ++x) {
                    const ImVec2 p{static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
                    if (p.x < clip.x || p.x >= clip.z || p.y < clip.y || p.y >= clip.w) continue;
                    const auto side = [&](ImVec2 from, ImVec2 to) {
                        return (to.x - from.x) * (p.y - from.y) - (to.y - from.y) * (p.x - from.x);
                    };
                    const float s = side(a.pos, b.pos), t = side(b.pos, c.pos), w = side(c.pos, a.pos);
                    if ((s < 0 || t < 0 || w < 0) && (s > 0 || t > 0 || w > 0)) continue;
                    ImU32& texel = texels_[static_cast<std::size_t>(y * width_ + x)];
                    texel = over(texel, a.col);
                }
        }
    }

    void look(ImVec2 where, ImU32 ink) {
        if ((ink >> IM_COL32_A_SHIFT) == 0) return;
        const ImU32 ground = at(where), shown = over(ground, ink);
        const float contrast = ui::contrast(ui::rgb_of(shown), ui::rgb_of(ground));
        ++glyphs;
        if (contrast < enough) faint.push_back({contrast, where, shown, ground});
    }

    int width_, height_;
    std::vector<ImU32> texels_;
};

std::string described(const Canvas::Faint& f) {
    char text[100];
    std::snprintf(text, sizeof text, "%.2f : 1 at %.0f, %.0f: #%06x on #%06x",
                  static_cast<double>(f.contrast), static_cast<double>(f.at.x), static_cast<double>(f.at.y),
                  ui::rgb_of(f.ink), ui::rgb_of(f.ground));
    return text;
}

}  // namespace

TEST_CASE("black or white is readable on every colour of every map") {
    Screen screen;
    for (const bool dark : {false, true}) {
        ui::use_theme(dark);
        for (int i = 0; i <= 1000; ++i) {
            const float t = static_cast<float>(i) / 1000;
            for (const ImU32 fill : {ui::sequential(t), ui::diverging(2 * t - 1)})
                CHECK(ui::contrast(ui::rgb_of(fill), ui::rgb_of(ui::ink_on(fill))) >= enough);
        }
    }
}

TEST_CASE("with more contrast, text has 7 : 1 and lines have 3 : 1") {
    Screen screen;
    const auto ratio = [](ImU32 ink, ImU32 ground) {
        return ui::contrast(ui::rgb_of(ink), ui::rgb_of(ground));
    };
    for (const bool dark : {false, true}) {
        CAPTURE(dark);
        ui::use_theme(dark);
        const float dim_before = ratio(ui::theme().dim, ui::theme().surface);
        ui::use_theme(dark, true);
        const ui::Theme& t = ui::theme();
        CHECK(t.dark == dark);
        CHECK(ratio(t.dim, t.surface) > dim_before + 2);
        for (const ImU32 ground : {t.background, t.surface, t.raised, t.hovered, t.accent_soft, t.masked}) {
            CHECK(ratio(t.text, ground) >= 7);
            CHECK(ratio(t.dim, ground) >= 7);
        }
        for (const ImU32 ground : {t.background, t.surface, t.raised}) {
            for (const ImU32 ink : {t.accent, t.changed, t.misprint, t.error}) CHECK(ratio(ink, ground) >= 7);
            CHECK(ratio(t.border, ground) >= 3);
        }
        CHECK(ratio(ImGui::ColorConvertFloat4ToU32(ImGui::GetStyle().Colors[ImGuiCol_TextDisabled]),
                    t.surface) >= 7);
    }
    ui::use_theme(false);
}

TEST_CASE("contrast matches WCAG") {
    CHECK(ui::contrast(0x000000, 0xffffff) == Catch::Approx(21));
    CHECK(ui::contrast(0x777777, 0xffffff) == Catch::Approx(4.48).margin(0.005));  // a well-known example
    CHECK(ui::contrast(0xffffff, 0x777777) == ui::contrast(0x777777, 0xffffff));
}

TEST_CASE("all text has a contrast of 4.5 : 1, in every lens over every subject, in light and dark") {
    if (test::sanitized) SKIP("a colour is the same under the sanitizers");
    for (const ImVec2 size : {ImVec2{1440, 846}, ImVec2{390, 740}}) {
        Screen screen(size);
        screen.open_sentence();
        screen.train_some();
        for (const bool dark : {false, true})
            for (const SubjectEntry& subject : subject_list())
                for (const LensEntry& lens : lens_list()) {
                    ui::use_theme(dark);
                    screen.visit.perform(OpenSubject{subject.key});
                    screen.visit.perform(OpenLens{lens.key});
                    screen.settle();
                    const Canvas canvas(size);
                    INFO(subject.key << " through " << lens.key << (dark ? " in the dark, " : ", ") << size.x
                                     << " wide");
                    CHECK(canvas.glyphs > 100);
                    for (const Canvas::Faint& f : canvas.faint) UNSCOPED_INFO(described(f));
                    CHECK(canvas.faint.empty());
                }
    }
}

TEST_CASE("so has everything above the page: the palette, an explanation, a change, the first steps") {
    for (const ImVec2 size : {ImVec2{1440, 846}, ImVec2{390, 740}})
        for (const bool dark : {false, true}) {
            Screen screen(size);
            ui::use_theme(dark);
            const auto check = [&](const char* what) {
                const Canvas canvas(size);
                INFO(what << (dark ? " in the dark, " : ", ") << size.x << " wide");
                for (const Canvas::Faint& f : canvas.faint) UNSCOPED_INFO(described(f));
                CHECK(canvas.faint.empty());
            };
            screen.frame.greet();
            screen.open_sentence();
            check("the first steps");
            screen.visit.perform(OpenSubject{worked_subject});
            screen.visit.perform(SetCell{{Stage::x, 0, 0}, 0.25});
            screen.visit.perform(Pin{RunCell{Stage::weight, 0, 1}});
            screen.settle();
            check("an explanation");
            screen.hold(ImGuiMod_Ctrl, [&] { screen.press(ImGuiKey_K); });
            screen.type("a");
            check("the palette");
        }
}

TEST_CASE("a number that turns negative changes only the colour of its own cell") {
    Screen screen;
    screen.draw(3);
    const Matrix& x = worked_of(screen.visit.state()).x;
    const auto cell = [](Index row, Index col) {
        return "x/" + std::to_string(row) + "/" + std::to_string(col);
    };
    const auto fills = [&] {
        const Canvas canvas({1440, 846});
        std::vector<ImU32> all;
        for (Index i = 0; i < x.rows * x.cols; ++i) {  // at the cells' left edges, where there is no text
            const Rect r = rect(cell(i / x.cols, i % x.cols));
            all.push_back(canvas.at({r.left + 5, (r.top + r.bottom) / 2}));
        }
        return all;
    };
    REQUIRE(std::ranges::min(x.values) >= 0);
    const Index least = std::ranges::min_element(x.values) - x.values.begin();
    screen.click(cell(least / x.cols, least % x.cols));
    const std::vector<ImU32> before = fills();
    screen.type("-0.1");
    screen.press(ImGuiKey_Enter);
    screen.draw(2);
    const std::vector<ImU32> after = fills();
    for (Index i = 0; i < x.rows * x.cols; ++i) {
        INFO(cell(i / x.cols, i % x.cols));
        CHECK((before[static_cast<std::size_t>(i)] == after[static_cast<std::size_t>(i)]) == (i != least));
    }
}
