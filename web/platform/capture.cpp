#include "platform/capture.hpp"

#include <imgui.h>
#include <imgui_impl_opengl3.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "app/clock.hpp"
#include "io/png.hpp"
#include "render/context.hpp"
#include "render/target.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/theme.hpp"

namespace attn::platform {

namespace {

constexpr int least_frames = 3;  // until the requested part is scrolled into view and laid out
constexpr double patience_ms = 20000;
constexpr int band = 512;  // rows of pixels in memory at once

struct Wanted {
    std::string part;
    int scale = 1;
    std::function<void(std::vector<std::byte>)> done;
    int frames = 0;
    double since_ms = 0;
};
std::optional<Wanted> wanted;

struct Pixels {
    int left, top, right, bottom;
    int width() const { return right - left; }
    int height() const { return bottom - top; }
};

// Returns the visible rectangle of the part within the lens.
Pixels place_of(const std::string& part, int scale) {
    const auto& all = ui::landmarks();
    const auto found = all.find(part), lens = all.find("panel/lens");
    if (found == all.end() || lens == all.end()) return {};
    const auto pixel = [&](float points) {
        return static_cast<int>(std::floor(points * static_cast<float>(scale)));
    };
    return {pixel(std::max(found->second.min.x, lens->second.min.x)),
            pixel(std::max(found->second.min.y, lens->second.min.y)),
            pixel(std::min(found->second.max.x, lens->second.max.x)),
            pixel(std::min(found->second.max.y, lens->second.max.y))};
}

// Draws ImGui's draw data into the target, starting at pixel (left, top).
void draw_tile(int left, int top, int width, int height, int scale) {
    ImDrawData& data = *ImGui::GetDrawData();
    const ImVec2 place = data.DisplayPos, size = data.DisplaySize;
    const auto points = [&](int pixels) { return static_cast<float>(pixels) / static_cast<float>(scale); };
    data.DisplayPos = {place.x + points(left), place.y + points(top)};
    data.DisplaySize = {points(width), points(height)};
    const ImVec4 clear = ImGui::ColorConvertU32ToFloat4(ui::theme().background);
    render::begin_frame(width, height, clear.x, clear.y, clear.z);
    ImGui_ImplOpenGL3_RenderDrawData(&data);
    data.DisplayPos = place;
    data.DisplaySize = size;
}

std::vector<std::byte> picture(const Pixels& place, int scale) {
    PngWriter png(place.width(), place.height());
    std::vector<std::uint8_t> rows(static_cast<std::size_t>(band) * static_cast<std::size_t>(place.width()) *
                                   3);
    for (int top = place.top; top < place.bottom; top += band) {
        const int height = std::min(band, place.bottom - top);
        for (int left = place.left; left < place.right; left += render::target_side) {
            const int width = std::min(render::target_side, place.right - left);
            const render::Target target(width, height);
            draw_tile(left, top, width, height, scale);
            const std::vector<std::uint8_t> rgba = target.read();  // [height, width, 4]
            for (int y = 0; y < height; ++y)
                for (int x = 0; x < width; ++x)
                    std::copy_n(rgba.data() + 4 * (y * width + x), 3,
                                rows.data() + 3 * (y * place.width() + left - place.left + x));
        }
        const auto stride = static_cast<std::size_t>(place.width()) * 3;
        for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y)
            png.row(std::span(rows).subspan(y * stride, stride));
    }
    return png.finish();
}

}  // namespace

void capture(std::string part, int scale, std::function<void(std::vector<std::byte>)> done) {
    wanted = Wanted{std::move(part), scale, std::move(done), 0, app::now_ms()};
}

std::optional<float> capture_density() {
    if (!wanted) return std::nullopt;
    return static_cast<float>(wanted->scale);
}

void take_capture(bool working) {
    ++wanted->frames;
    const bool late = app::now_ms() - wanted->since_ms > patience_ms;
    if (wanted->frames < least_frames || (working && !late)) return;
    const Wanted asked = std::move(*wanted);
    wanted.reset();
    const Pixels place = place_of(asked.part, asked.scale);
    const bool in_view = place.width() > 0 && place.height() > 0;
    asked.done(in_view ? picture(place, asked.scale) : std::vector<std::byte>());
}

}  // namespace attn::platform
