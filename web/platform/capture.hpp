// A part of the page as a picture at any scale: drawn as on the screen, but beside it, in frames of their own density, until
// all that it shows is computed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attn::platform {

// Of what has that landmark, as far as the lens shows it; `scale` is pixels a point. One at a time: another takes its place.
void capture(std::string part, int scale, std::function<void(std::vector<std::byte> png)> done);

// Pixels a point of the frames for a picture; none: frames are for the screen.
std::optional<float> capture_density();
// After ImGui::Render, in such a frame. `working`: jobs want further frames.
void take_capture(bool working);

}  // namespace attn::platform
