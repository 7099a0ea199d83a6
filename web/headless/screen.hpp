// Draws the page into a window that nobody sees: lenses begin to compute what they show when they are drawn.
#pragma once

#include <string>
#include <vector>

#include "frame/frame.hpp"
#include "headless/headless_page.hpp"

struct ImGuiContext;

namespace attn::headless {

// The visit outlives it.
class Screen final : public app::learn::Surroundings {
  public:
    Screen(HeadlessPage& page, app::Visit& visit);
    ~Screen() override;
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    void draw(app::Visit& visit) override;
    bool deliver(app::Visit& visit) override { return page_.deliver(visit); }
    std::vector<std::string> take_errors() override { return page_.take_errors(); }

  private:
    HeadlessPage& page_;
    ImGuiContext* previous_;
    ImGuiContext* context_;
    app::Frame frame_;
};

}  // namespace attn::headless
