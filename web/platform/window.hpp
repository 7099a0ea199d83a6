// The canvas, its WebGL2 context and the frame loop: frames are drawn only while something asks for them.
#pragma once

#include <functional>

namespace attn::platform {

struct Frame {
    std::function<void()> draw;  // inside an ImGui frame
    std::function<bool()> work;  // between frames, on jobs; true while there is more to do
};

// Opens the canvas; fonts and theme have been set. False: no WebGL2 context.
bool open_window(Frame frame);
void start_drawing();  // the first frame is the next one

void wake();         // something happened: draw for a little while
void draw_now();     // one frame, for news of a job; other news wait while pictures take long
bool owes_frames();  // what has happened is not all on the screen yet
long frames_drawn();
void context_lost();
void context_restored();

}  // namespace attn::platform
