// The canvas, its WebGL2 context and the frame loop: frames are drawn only while something asks for them.
#pragma once

#include <functional>

namespace attn::platform {

struct Frame {
    std::function<void()> draw;  // inside an ImGui frame
    std::function<bool()> work;  // before it; true while jobs want further frames
};

// Opens the canvas; fonts and theme have been set. False: no WebGL2 context.
bool open_window(Frame frame);
void start_drawing();  // the first frame is the next one

void wake();  // something happened: draw for a little while
long frames_drawn();
void context_lost();
void context_restored();

}  // namespace attn::platform
