// Starts the page inside the canvas.
#include <algorithm>

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

}  // namespace attn::platform

int main() {
    // The thread pool's size in web/CMakeLists.txt.
    attn::set_thread_count(std::min(attn::thread_count(), 8));
    return 0;
}
