// Captures a part of the page as a picture at any scale. The part is drawn off screen, in frames of their own
// density, until everything it shows has been computed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attn::platform {

// Captures the part that has this landmark, as far as the lens shows it; `scale` is in pixels per point. Only
// one capture runs at a time; a newer one replaces it.
void capture(std::string part, int scale, std::function<void(std::vector<std::byte> png)> done);

// Returns the pixels per point of a capture's frames; nothing if frames are for the screen.
std::optional<float> capture_density();
// Call after ImGui::Render in such a frame. `working` means that jobs need further frames.
void take_capture(bool working);

}  // namespace attn::platform
