// Manages the canvas, its WebGL2 context and the frame loop. Frames are drawn only when something asks for
// them; otherwise the browser is not asked for any.
#pragma once

#include <functional>

namespace attn::platform {

struct Frame {
    std::function<void()> draw;  // called inside an ImGui frame
    std::function<bool()> work;  // runs jobs between frames; true while there is more to do
    std::function<bool()> due;   // true while a later frame is wanted
};

// Opens the canvas; call after setting fonts and theme. Returns false if there is no WebGL2 context.
bool open_window(Frame frame);
void start_drawing();  // requests the first frame
// In a frame of another page, a finger that finds nothing to scroll here scrolls that page. Call before
// open_window().
void share_fingers();

void set_scale(float scale);  // CSS pixels per point of the page

void wake();          // after an event: draws for a short while
void draw_now();      // draws one frame for news of a job; other news waits while pictures are slow
void draw_again();    // draws the picture on screen once more
void picture_now();   // the same, before it returns
void draw_unseen();   // runs a frame that reaches no screen
bool owes_frames();   // something that happened is not fully on the screen yet
bool has_answered();  // everything is where the last event put it
long frames_drawn();
void context_lost();
void context_restored();

}  // namespace attn::platform
