// Starts the page inside the canvas.
#include <algorithm>
#include <thread>

#include "frame/frame.hpp"
#include "kernels/workers.hpp"
#include "platform/program.hpp"
#include "platform/window.hpp"
#include "render/context.hpp"

namespace attn::platform {

app::Frame& frame() {
    static app::Frame one(visit());
    return one;
}

void draw_page() {
    frame().draw(heap_in_use());
    show_fields();
    tell_semantics();
}

void theme_changed() { render::theme_changed(); }

void use_threads() {
    constexpr int most = 8;  // the size of the pool in web/CMakeLists.txt, and the page itself
    set_thread_count(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most));
}

}  // namespace attn::platform

int main() {
    attn::set_thread_count(1);  // until the whole program is here
    return 0;
}
