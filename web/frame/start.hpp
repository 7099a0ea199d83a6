// Implements the three steps that introduce attention to a newcomer, as a lookup among the words on the
// screen. They are shown until they are closed, which the browser remembers, and whenever the user asks for
// them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "app/derived.hpp"
#include "app/state.hpp"
#include "app/visit.hpp"
#include "runs/attention.hpp"

namespace attn::app {

struct StartStep {
    std::string title, text;
};

// Words the steps for the chosen head and query, or the last query. Returns nothing while there is no record
// of the head, or if the query sees no key.
std::optional<std::array<StartStep, 3>> start_steps(const Attention& attention, const Selection& selection);

// Returns them for the open subject, if it has attention to show. A network that has only begun to learn has
// none.
std::optional<std::array<StartStep, 3>> start_steps(const Visit& visit, const Selection& selection);

// One instance per visit (Visit::shared).
class Start {
  public:
    void open() {
        open_ = true;
        step_ = 0;
    }
    // Returns the step to draw; nothing when it is closed or there is nothing to show.
    std::optional<StartStep> step(const Visit& visit, const Selection& selection);
    // Returns the height of a panel of this width that holds a step.
    static float panel_height(const StartStep& step, float width);
    // Draws a card at the cursor, as high as the highest step. Returns true when it has just been closed for
    // good.
    bool draw_card(const Visit& visit, const Selection& selection);
    // Draws a step into a panel of its own, with its buttons at the panel's end. Returns the same.
    bool draw_panel(const StartStep& step);

  private:
    using Steps = std::optional<std::array<StartStep, 3>>;
    // Returns them from the last frame while nothing has changed, because a row may have thousands of keys.
    const Steps& steps(const Visit& visit, const Selection& selection);
    bool draw_buttons();

    bool open_ = false;
    std::size_t step_ = 0;
    Derived<std::pair<std::uint64_t, Selection>, Steps> steps_;  // the attention's version, and the choice
};

}  // namespace attn::app
