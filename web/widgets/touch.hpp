// Interprets fingers before the page hears of them: a touch is not a press until it is known to be one.
//
// A tap clicks. A finger that moves up or down scrolls, wherever it began, and presses nothing. A finger that
// moves sideways presses where it began and drags. A finger that rests becomes a hovering pointer, and may
// then drag items that take drags in any direction. Two fingers zoom and pan.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attn::ui {

struct Finger {
    long id = 0;
    ImVec2 at;
};

class TouchArbiter {
  public:
    // Pointer events for the page, in this order.
    struct Step {
        enum class Kind : std::uint8_t { point, press, release, leave };
        Kind kind = Kind::leave;
        ImVec2 at;
        bool begins = false;  // the finger came down there, so that a target nearby may be meant
    };
    struct Scroll {
        ImVec2 from, to;  // where the finger came down, and where it is now
        bool begins = false, ends = false;
        float by = 0;  // points by which the contents move down
    };
    struct Pinch {
        float factor = 1;  // ratio of the distances between the fingers
        ImVec2 pan;        // movement of the midpoint between them
    };
    // Events since the last call.
    struct Said {
        std::vector<Step> steps;
        std::optional<Scroll> scroll;
        std::optional<Pinch> pinch;
    };

    // All fingers that are down, after each change, and its time.
    void fingers(std::span<const Finger> down, double ms);
    void cancelled();  // the browser or the system has taken over the fingers
    // Call once per frame. `any_way`: the item under a resting finger takes drags in any direction.
    Said take(double ms, bool any_way = false);

    // Stops gliding.
    void halt() { speed_ = 0; }

    bool scrolls() const { return act_ == Act::scrolls || gliding(); }
    bool gliding() const { return speed_ != 0; }
    bool needs_frames() const { return act_ == Act::waits || gliding(); }

  private:
    enum class Act : std::uint8_t { none, waits, rests, drags, scrolls, pinches, over };
    struct Sample {
        double ms;
        float y;
    };

    void came_down(const Finger& finger, double ms);
    void moved(ImVec2 to, double ms);
    void lifted(double ms);
    void pinched(const Finger& a, const Finger& b);
    void say(Step::Kind kind, ImVec2 at, bool begins = false) { said_.steps.push_back({kind, at, begins}); }
    void scroll(float by);
    float speed_at(double ms) const;

    Act act_ = Act::none;
    Said said_;
    ImVec2 from_, at_;
    long id_ = 0;
    double since_ = 0;  // ms
    bool any_way_ = false;
    bool stopped_ = false;  // the finger came down on something that was gliding, and only stops it
    std::vector<Sample> samples_;
    float speed_ = 0;    // gliding speed in points per millisecond
    double glided_ = 0;  // ms; time of the last gliding step
    float apart_ = 0;
    ImVec2 middle_;
};

}  // namespace attn::ui
