#include "platform/window.hpp"

#include <GLFW/glfw3.h>
#include <emscripten.h>
#include <emscripten/eventloop.h>
#include <emscripten/html5.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platform/capture.hpp"
#include "render/context.hpp"
#include "render/flow.hpp"
#include "render/heatmap.hpp"
#include "render/picture.hpp"
#include "widgets/fingers.hpp"
#include "widgets/theme.hpp"

namespace attn::platform {

namespace {

// Frames after an event: one to take it, then more to lay out what it changed and settle. The second number
// of frames follows each picture that differs from the previous one, so that ImGui's fades finish.
constexpr int awake_frames = 4, frames_after_change = 2;
// After this long without frames, as in a hidden tab, the page counts as resting.
constexpr double rests_after_ms = 250;
// Pictures that only show a job's progress take at most a fifth of the time, however slow the browser is.
constexpr double rest_after_picture = 4;

struct Window {
    GLFWwindow* glfw = nullptr;
    Frame frame;
    render::Picture picture;
    int owed = 0;         // frames still to draw
    bool called = false;  // something has happened that no frame has shown yet
    int since_call = 0;   // frames drawn since something happened
    double density = 0;
    float scale = 1;  // CSS pixels of the stage per point of the page
    long frames = 0;
    double last_tick = 0;
    double picture_began = 0, picture_ended = 0;  // for the last picture, including the browser's work
    bool news = false;                            // a job has news that is not shown yet
    bool news_waits = true;                       // the news has to wait its turn
    bool working = false;                         // the last slice of work left more to do
    bool works_on = false;                        // a task between frames is scheduled
    bool asleep = false;                          // the browser is not asked for frames
    bool lost = false;
    bool left = false;  // the mouse is outside the canvas
    bool shares_fingers = false;
};
Window window;

// Querying the stage itself during a frame would force a synchronous layout.
EM_JS(void, watch_stage, (), {
    const stage = document.getElementById("stage");
    // A window may leave the stage no height. The canvas then keeps a few points, so that at least one pixel
    // remains even if the browser's zoom makes points large.
    const least = 8;
    const measure = () => {
        Module.stageSize = [ Math.max(stage.clientWidth, least), Math.max(stage.clientHeight, least) ];
    };
    measure();
    new ResizeObserver(measure).observe(stage);
});
EM_JS(int, stage_width, (), { return Module.stageSize[0]; });
EM_JS(int, stage_height, (), { return Module.stageSize[1]; });
// GLFW notices only the first change of density.
EM_JS_DEPS(window, "$GLFW")
EM_JS(void, follow_density, (), { GLFW.onDevicePixelRatioChange(); });
// Nothing here uses a gamepad, and asking for one makes the browser poll for one 250 times a second.
EM_JS(void, do_without_gamepads, (), {
    removeEventListener("gamepadconnected", GLFW.onGamepadConnected, true);
    removeEventListener("gamepaddisconnected", GLFW.onGamepadDisconnected, true);
    GLFW.refreshJoysticks = function(){};
});
// Reads the clock of events; emscripten_get_now() has a different origin when there are threads.
EM_JS(double, event_clock, (), { return performance.now(); });
EM_JS(void, set_cursor, (const char* name), { Module.shell.cursor(UTF8ToString(name)); });

// The stage determines the size; GLFW scales the canvas's pixels by the screen's density. Call inside a
// frame, because resizing clears the canvas.
void follow_stage() {
    const int width = stage_width(), height = stage_height();
    int now_width = 0, now_height = 0;
    glfwGetWindowSize(window.glfw, &now_width, &now_height);
    const double density = emscripten_get_device_pixel_ratio();
    if (width == now_width && height == now_height && density == window.density) return;
    if (window.density != 0 && density != window.density) follow_density();
    window.density = density;
    glfwSetWindowSize(window.glfw, width, height);
}

void show_cursor() {
    static ImGuiMouseCursor shown = ImGuiMouseCursor_Arrow;
    const ImGuiMouseCursor cursor = ImGui::GetMouseCursor();
    if (cursor == shown) return;
    shown = cursor;
    switch (cursor) {
        case ImGuiMouseCursor_TextInput: return set_cursor("text");
        case ImGuiMouseCursor_ResizeEW: return set_cursor("ew-resize");
        case ImGuiMouseCursor_ResizeNS: return set_cursor("ns-resize");
        case ImGuiMouseCursor_ResizeAll: return set_cursor("move");
        case ImGuiMouseCursor_Hand: return set_cursor("pointer");
        default: return set_cursor("default");
    }
}

// Above a size of 100 %, a point of the page is more than one CSS pixel of the stage, the unit in which GLFW
// counts.
void in_points() {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {io.DisplaySize.x / window.scale, io.DisplaySize.y / window.scale};
    io.DisplayFramebufferScale = {io.DisplayFramebufferScale.x * window.scale,
                                  io.DisplayFramebufferScale.y * window.scale};
}
void point_at_cursor() {
    double x = 0, y = 0;
    glfwGetCursorPos(window.glfw, &x, &y);
    ImGui::GetIO().AddMousePosEvent(static_cast<float>(x) / window.scale,
                                    static_cast<float>(y) / window.scale);
}

bool size_changed() {
    int width = 0, height = 0;
    glfwGetWindowSize(window.glfw, &width, &height);
    return width != stage_width() || height != stage_height() ||
           window.density != emscripten_get_device_pixel_ratio();
}

void work_between_frames();

// Jobs run in tasks no longer than their share of a frame, so that the browser can respond after each.
void work() {
    window.working = window.frame.work();
    if (!window.working) return;
    window.news = true;
    work_between_frames();
}

void work_between_frames() {
    if (window.works_on) return;
    window.works_on = true;
    emscripten_set_immediate(
        [](void*) {
            window.works_on = false;
            if (!window.lost && emscripten_get_now() < window.last_tick + rests_after_ms) work();
        },
        nullptr);
}

// A browser that draws without a GPU delays the page after every picture.
void time_picture() {
    window.picture_ended = window.picture_began = emscripten_get_now();
    emscripten_set_immediate([](void*) { window.picture_ended = emscripten_get_now(); }, nullptr);
}

// While a job runs, frames that only let ImGui settle wait their turn, too.
bool frame_is_due(double now) {
    if (window.called || (window.owed > 0 && !window.working) || (window.news && !window.news_waits))
        return true;
    const double rest = rest_after_picture * (window.picture_ended - window.picture_began);
    return (window.news || window.owed > 0) && now >= window.picture_ended + rest;
}

void draw_if_due() {
    if (window.lost) return;
    window.last_tick = emscripten_get_now();
    // If a task is due, the work continues there; events are drawn first.
    if (window.called)
        work_between_frames();
    else if (!window.works_on)
        work();
    if (capture_density()) wake();
    if (size_changed()) wake();
    if (!frame_is_due(emscripten_get_now())) return;
    window.news = window.working;
    window.news_waits = true;
    window.called = false;
    --window.owed;
    ++window.since_call;
    glfwPollEvents();
    follow_stage();
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    in_points();
    // If no mouse has entered the canvas, as with a finger, the backend asks GLFW itself.
    if (window.scale != 1 && !window.left) point_at_cursor();
    if (const auto density = capture_density()) ImGui::GetIO().DisplayFramebufferScale = {*density, *density};
    // The backend continues with the last position that GLFW knows.
    if ((window.left || capture_density()) && !ImGui::IsAnyMouseDown())
        ImGui::GetIO().AddMousePosEvent(-FLT_MAX, -FLT_MAX);
    ui::tell_fingers(event_clock());
    if (ui::fingers_need_frames()) wake();
    ImGui::NewFrame();
    // ImGui spreads quick events, such as a click, over several frames.
    if (!ImGui::GetCurrentContext()->InputEventsQueue.empty()) wake();
    window.frame.draw();
    show_cursor();
    ImGui::Render();
    if (capture_density()) return take_capture(window.working);
    int width = 0, height = 0;
    glfwGetFramebufferSize(window.glfw, &width, &height);
    const ImVec4 clear = ImGui::ColorConvertU32ToFloat4(ui::theme().background);
    ++window.frames;
    // If nothing is drawn, the browser keeps showing the last picture.
    if (!window.picture.changed(*ImGui::GetDrawData(), clear)) return;
    window.owed = std::max(window.owed, frames_after_change);
    time_picture();
    render::begin_frame(width, height, clear.x, clear.y, clear.z);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    // The picture goes first, so that the browser compiles these shaders while it shows the picture.
    render::prepare_heatmaps();
    render::prepare_flows();
}

void sleep_if_done() {
    window.asleep =
        !owes_frames() && !window.working && !window.works_on && !capture_density() && !window.frame.due();
    if (window.asleep) emscripten_pause_main_loop();
}

void tick() {
    const long before = window.frames;
    draw_if_due();
    // A frame may leave work behind, which the next call finds.
    if (window.frames == before) sleep_if_done();
}

void ask_for_frames() {
    if (!window.asleep) return;
    window.asleep = false;
    emscripten_resume_main_loop();
}

// ImGui's GLFW backend chains the callbacks it finds, so these only need to note that something happened.
void wake_on_input() {
    glfwSetCursorPosCallback(window.glfw, [](GLFWwindow*, double, double) {
        window.left = false;
        wake();
    });
    // A button can be pressed before the mouse has moved there.
    glfwSetMouseButtonCallback(window.glfw, [](GLFWwindow*, int, int, int) {
        point_at_cursor();
        wake();
    });
    glfwSetKeyCallback(window.glfw, [](GLFWwindow*, int, int, int, int) { wake(); });
    glfwSetCharCallback(window.glfw, [](GLFWwindow*, unsigned) { wake(); });
    glfwSetCursorEnterCallback(window.glfw, [](GLFWwindow*, int entered) {
        window.left = !entered;
        wake();
    });
    glfwSetWindowFocusCallback(window.glfw, [](GLFWwindow*, int) { wake(); });
}

// ImGui's GLFW backend does not handle the wheel here, because GLFW rounds small turns down to nothing.
EM_BOOL on_wheel(int, const EmscriptenWheelEvent* event, void*) {
    const double notch = event->deltaMode == DOM_DELTA_PIXEL  ? 100
                         : event->deltaMode == DOM_DELTA_LINE ? 3
                                                              : 1;
    // Pinching a trackpad arrives as Ctrl and a wheel, without the key.
    ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, event->mouse.ctrlKey);
    ImGui::GetIO().AddMouseSourceEvent(ImGuiMouseSource_Mouse);
    ImGui::GetIO().AddMouseWheelEvent(static_cast<float>(-event->deltaX / notch),
                                      static_cast<float>(-event->deltaY / notch));
    wake();
    return EM_TRUE;
}

// GLFW would present the first finger as a mouse at once; widgets/touch decides what fingers mean.
EM_JS(void, do_without_touch_as_mouse, (), {
    const canvas = Module["canvas"];
    canvas.removeEventListener("touchmove", GLFW.onMousemove, true);
    canvas.removeEventListener("touchstart", GLFW.onMouseButtonDown, true);
    canvas.removeEventListener("touchcancel", GLFW.onMouseButtonUp, true);
    canvas.removeEventListener("touchend", GLFW.onMouseButtonUp, true);
});

// Says whether a lone finger belongs to the page around this one, which its first movement decides.
bool belongs_to_page(int type, std::span<const ui::Finger> down, double ms) {
    constexpr double rests_after = 250;  // ms; a finger that has rested drags
    static ui::Finger began;
    static double began_ms = 0;
    static bool decided = false, belongs = false;
    if (type == EMSCRIPTEN_EVENT_TOUCHSTART && down.size() == 1) {
        began = down.front();
        began_ms = ms;
        decided = belongs = false;
    }
    if (down.size() > 1) return false;
    if (type == EMSCRIPTEN_EVENT_TOUCHMOVE && !decided && !down.empty()) {
        const float x = down.front().at.x - began.at.x, y = down.front().at.y - began.at.y;
        decided = true;
        belongs = std::abs(y) > std::abs(x) && ms - began_ms < rests_after &&
                  !ui::scrolls_under_finger(began.at, y);
    }
    return type == EMSCRIPTEN_EVENT_TOUCHSTART || belongs;
}

// The return value keeps the browser from presenting the finger as a mouse itself, and from scrolling.
EM_BOOL on_touch(int type, const EmscriptenTouchEvent* event, void*) {
    std::vector<ui::Finger> down;
    for (const EmscriptenTouchPoint& point :
         std::span(event->touches).first(static_cast<std::size_t>(event->numTouches)))
        if (point.onTarget && !(type == EMSCRIPTEN_EVENT_TOUCHEND && point.isChanged))
            down.push_back(
                {point.identifier, {static_cast<float>(point.targetX), static_cast<float>(point.targetY)}});
    // Without a mouse over the canvas, the backend would keep reporting GLFW's last known position.
    if (std::exchange(window.left, false) || type == EMSCRIPTEN_EVENT_TOUCHSTART)
        ImGui_ImplGlfw_CursorEnterCallback(window.glfw, GLFW_TRUE);
    type == EMSCRIPTEN_EVENT_TOUCHCANCEL ? ui::fingers_cancelled() : ui::fingers(down, event->timestamp);
    wake();
    return window.shares_fingers && belongs_to_page(type, down, event->timestamp) ? EM_FALSE : EM_TRUE;
}
EM_BOOL on_mouse(int, const EmscriptenMouseEvent* event, void*) {
    // After a change of the page's layout, Chromium sends a move of zero distance without modifier keys.
    if (event->movementX == 0 && event->movementY == 0) return EM_FALSE;
    // Keys may have been pressed in a text box, which GLFW does not notice.
    ImGui::GetIO().AddKeyEvent(ImGuiMod_Shift, event->shiftKey);
    ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, event->ctrlKey);
    ImGui::GetIO().AddMouseSourceEvent(ImGuiMouseSource_Mouse);
    return EM_FALSE;
}

}  // namespace

void share_fingers() { window.shares_fingers = true; }

bool open_window(Frame frame) {
    window.frame = std::move(frame);
    watch_stage();
    if (!glfwInit()) return false;
    do_without_gamepads();
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    glfwWindowHint(GLFW_DEPTH_BITS, 0);
    glfwWindowHint(GLFW_STENCIL_BITS, 0);
    window.glfw = glfwCreateWindow(stage_width(), stage_height(), "", nullptr, nullptr);
    if (!window.glfw) return false;
    glfwMakeContextCurrent(window.glfw);
    do_without_touch_as_mouse();
    wake_on_input();
    emscripten_set_wheel_callback("#canvas", nullptr, false, on_wheel);
    emscripten_set_touchstart_callback("#canvas", nullptr, true, on_touch);
    emscripten_set_touchmove_callback("#canvas", nullptr, true, on_touch);
    emscripten_set_touchend_callback("#canvas", nullptr, true, on_touch);
    emscripten_set_touchcancel_callback("#canvas", nullptr, true, on_touch);
    emscripten_set_mousemove_callback("#canvas", nullptr, true, on_mouse);
    // The backend sets the clipboard to GLFW's, which the browser does not have; the page has its own.
    ImGuiPlatformIO& platform_io = ImGui::GetPlatformIO();
    const auto set_clipboard = platform_io.Platform_SetClipboardTextFn;
    const auto get_clipboard = platform_io.Platform_GetClipboardTextFn;
    ImGui_ImplGlfw_InitForOpenGL(window.glfw, true);
    platform_io.Platform_SetClipboardTextFn = set_clipboard;
    platform_io.Platform_GetClipboardTextFn = get_clipboard;
    glfwSetCursorPosCallback(window.glfw, [](GLFWwindow* glfw, double x, double y) {
        ImGui_ImplGlfw_CursorPosCallback(glfw, x / window.scale, y / window.scale);
    });
    ImGui_ImplOpenGL3_Init("#version 300 es");
    return true;
}

void start_drawing() {
    wake();
    emscripten_set_main_loop(tick, 0, false);
}

void wake() {
    window.owed = awake_frames;
    window.called = true;
    window.since_call = 0;
    ask_for_frames();
}

void set_scale(float scale) {
    window.scale = scale;
    wake();
}

void draw_now() {
    window.news = true;
    window.news_waits = false;
    window.owed = std::max(window.owed, awake_frames);  // new windows need a few frames to find their place
    ask_for_frames();
}

void draw_again() {
    window.picture.forget();
    wake();
}

void draw_unseen() {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    in_points();
    ImGui::NewFrame();
    window.frame.draw();
    ImGui::Render();
}

void picture_now() {
    draw_again();
    draw_if_due();
}

long frames_drawn() { return window.frames; }

bool owes_frames() { return window.owed > 0 || window.news; }

// The first frame after an event takes it, and the second lays out what it changed.
bool has_answered() { return window.since_call >= 2; }

void context_lost() {
    window.lost = true;
    ImGui_ImplOpenGL3_DestroyDeviceObjects();
}

void context_restored() {
    render::context_restored();
    ImGui_ImplOpenGL3_CreateDeviceObjects();
    window.lost = false;
    draw_again();
}

}  // namespace attn::platform
