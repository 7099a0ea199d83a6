#include "platform/window.hpp"

#include <GLFW/glfw3.h>
#include <emscripten.h>
#include <emscripten/html5.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>

#include <algorithm>
#include <string>

#include "render/context.hpp"
#include "widgets/theme.hpp"

namespace attn::platform {

namespace {

// How long frames go on after the last event, so that ImGui settles (its tooltips and fades take some frames).
constexpr double awake_ms = 300;

struct Window {
    GLFWwindow* glfw = nullptr;
    Frame frame;
    double awake_until = 0;
    double density = 0;
    long frames = 0;
    bool lost = false;
};
Window window;

EM_JS(int, stage_width, (), { return document.getElementById("stage").clientWidth; });
EM_JS(int, stage_height, (), { return document.getElementById("stage").clientHeight; });
EM_JS(void, set_cursor, (const char* name), { Module.shell.cursor(UTF8ToString(name)); });

// The stage decides the size; GLFW scales the canvas's pixels by the screen's density. Called inside a frame,
// because a resize clears the canvas.
void follow_stage() {
    const int width = std::max(stage_width(), 1), height = std::max(stage_height(), 1);
    int now_width = 0, now_height = 0;
    glfwGetWindowSize(window.glfw, &now_width, &now_height);
    const double density = emscripten_get_device_pixel_ratio();
    if (width == now_width && height == now_height && density == window.density) return;
    window.density = density;
    glfwSetWindowSize(window.glfw, width, height);
}

void show_cursor() {
    static ImGuiMouseCursor shown = ImGuiMouseCursor_Arrow;
    const ImGuiMouseCursor wanted = ImGui::GetMouseCursor();
    if (wanted == shown) return;
    shown = wanted;
    switch (wanted) {
        case ImGuiMouseCursor_TextInput: return set_cursor("text");
        case ImGuiMouseCursor_ResizeEW: return set_cursor("ew-resize");
        case ImGuiMouseCursor_ResizeNS: return set_cursor("ns-resize");
        case ImGuiMouseCursor_ResizeAll: return set_cursor("move");
        case ImGuiMouseCursor_Hand: return set_cursor("pointer");
        default: return set_cursor("default");
    }
}

bool size_changed() {
    int width = 0, height = 0;
    glfwGetWindowSize(window.glfw, &width, &height);
    return width != stage_width() || height != stage_height() || window.density != emscripten_get_device_pixel_ratio();
}

void tick() {
    if (window.lost) return;
    if (window.frame.work()) wake();
    if (size_changed()) wake();
    if (emscripten_get_now() > window.awake_until) return;
    glfwPollEvents();
    follow_stage();
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    window.frame.draw();
    show_cursor();
    ImGui::Render();
    int width = 0, height = 0;
    glfwGetFramebufferSize(window.glfw, &width, &height);
    const ImVec4 clear = ImGui::ColorConvertU32ToFloat4(ui::theme().background);
    render::begin_frame(width, height, clear.x, clear.y, clear.z);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    ++window.frames;
}

// ImGui's GLFW backend chains the callbacks it finds, so these only need to notice that something happened.
void wake_on_input() {
    glfwSetCursorPosCallback(window.glfw, [](GLFWwindow*, double, double) { wake(); });
    glfwSetMouseButtonCallback(window.glfw, [](GLFWwindow*, int, int, int) { wake(); });
    glfwSetScrollCallback(window.glfw, [](GLFWwindow*, double, double) { wake(); });
    glfwSetKeyCallback(window.glfw, [](GLFWwindow*, int, int, int, int) { wake(); });
    glfwSetCharCallback(window.glfw, [](GLFWwindow*, unsigned) { wake(); });
    glfwSetCursorEnterCallback(window.glfw, [](GLFWwindow*, int) { wake(); });
    glfwSetWindowFocusCallback(window.glfw, [](GLFWwindow*, int) { wake(); });
}

}  // namespace

bool open_window(Frame frame) {
    window.frame = std::move(frame);
    if (!glfwInit()) return false;
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    window.glfw = glfwCreateWindow(std::max(stage_width(), 1), std::max(stage_height(), 1), "", nullptr, nullptr);
    if (!window.glfw) return false;
    glfwMakeContextCurrent(window.glfw);
    wake_on_input();
    ImGui_ImplGlfw_InitForOpenGL(window.glfw, true);
    ImGui_ImplOpenGL3_Init("#version 300 es");
    wake();
    emscripten_set_main_loop(tick, 0, false);
    return true;
}

void wake() { window.awake_until = emscripten_get_now() + awake_ms; }

long frames_drawn() { return window.frames; }

void context_lost() { window.lost = true; }

void context_restored() {
    ImGui_ImplOpenGL3_DestroyDeviceObjects();
    render::context_restored();
    ImGui_ImplOpenGL3_CreateDeviceObjects();
    window.lost = false;
    wake();
}

}  // namespace attn::platform
