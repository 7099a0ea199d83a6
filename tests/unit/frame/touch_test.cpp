// Tests how touches are interpreted before the page hears of them.
#include "widgets/touch.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;
using Kind = ui::TouchArbiter::Step::Kind;

namespace {

struct Hand {
    ui::TouchArbiter arbiter;
    double ms = 1000;
    std::vector<Kind> kinds;  // events that the page received
    std::vector<ImVec2> places;
    float scrolled = 0;
    bool any_way = false;

    void down(std::initializer_list<ui::Finger> fingers) {
        arbiter.fingers(std::vector<ui::Finger>(fingers), ms);
        look();
    }
    void wait(double passed) {
        ms += passed;
        look();
    }
    ui::TouchArbiter::Said look() {
        const auto said = arbiter.take(ms, any_way);
        for (const auto& step : said.steps) kinds.push_back(step.kind), places.push_back(step.at);
        if (said.scroll) scrolled += said.scroll->by;
        return said;
    }
    void move(ImVec2 from, ImVec2 to, int steps = 8, double each = 12) {
        for (int i = 1; i <= steps; ++i) {
            const float share = static_cast<float>(i) / static_cast<float>(steps);
            ms += each;
            down({{7, {from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share}}});
        }
    }
};

}  // namespace

TEST_CASE("a touch lifted where it came down is a click, and leaves nothing hovered over") {
    Hand hand;
    hand.down({{7, {100, 100}}});
    CHECK(hand.kinds.empty());
    hand.ms += 80;
    hand.down({{7, {103, 98}}});  // the finger trembles
    CHECK(hand.kinds.empty());
    hand.down({});
    CHECK(hand.kinds == std::vector{Kind::point, Kind::press, Kind::release, Kind::leave});
    CHECK(hand.places[1].x == 100);
    CHECK_FALSE(hand.arbiter.needs_frames());
}

TEST_CASE("a finger that moves up or down scrolls and presses nothing, and the content glides on") {
    for (const float slant : {-1.0f, -0.5f, 0.0f, 0.7f, 1.0f}) {
        Hand hand;
        hand.down({{7, {100, 300}}});
        hand.move({100, 300}, {100 + 120 * slant, 180});
        CHECK(hand.kinds.empty());
        CHECK(hand.scrolled == Catch::Approx(-120).margin(8.5));
        hand.down({});
        CHECK(hand.kinds.empty());
        REQUIRE(hand.arbiter.gliding());
        const float before = hand.scrolled;
        for (int i = 0; i < 400 && hand.arbiter.gliding(); ++i) hand.wait(16);
        CHECK(hand.scrolled < before - 100);
        CHECK_FALSE(hand.arbiter.needs_frames());
    }
}

TEST_CASE("a finger that rests before it is lifted leaves nothing gliding") {
    Hand hand;
    hand.down({{7, {100, 300}}});
    hand.move({100, 300}, {100, 200});
    hand.wait(200);
    hand.down({});
    CHECK_FALSE(hand.arbiter.gliding());
}

TEST_CASE("touching something that glides stops it and clicks nothing") {
    Hand hand;
    hand.down({{7, {100, 300}}});
    hand.move({100, 300}, {100, 200});
    hand.down({});
    REQUIRE(hand.arbiter.gliding());
    hand.wait(16);
    hand.down({{7, {50, 50}}});
    CHECK_FALSE(hand.arbiter.gliding());
    hand.wait(50);
    hand.down({});
    CHECK(std::ranges::count(hand.kinds, Kind::press) == 0);
}

TEST_CASE("a finger that moves sideways presses where it came down and drags from there") {
    Hand hand;
    hand.down({{7, {100, 300}}});
    hand.move({100, 300}, {180, 340});
    REQUIRE(hand.kinds.size() > 3);
    CHECK(hand.kinds[0] == Kind::point);
    CHECK(hand.kinds[1] == Kind::press);
    CHECK(hand.places[1].x == 100);
    CHECK(hand.places.back().x == 180);
    hand.move({180, 340}, {180, 100});  // once it drags, any direction continues the drag
    CHECK(hand.scrolled == 0);
    hand.down({});
    CHECK(hand.kinds[hand.kinds.size() - 2] == Kind::release);
    CHECK(hand.kinds.back() == Kind::leave);
}

TEST_CASE("a finger that rests becomes a pointer, and drags vertically only items that take any direction") {
    for (const bool any_way : {false, true}) {
        Hand hand;
        hand.any_way = any_way;
        hand.down({{7, {100, 300}}});
        CHECK(hand.arbiter.needs_frames());
        hand.wait(400);
        CHECK(hand.kinds == std::vector{Kind::point});
        CHECK_FALSE(hand.arbiter.needs_frames());
        hand.move({100, 300}, {100, 200});
        CHECK((std::ranges::count(hand.kinds, Kind::press) == 1) == any_way);
        CHECK((hand.scrolled == 0) == any_way);
    }
}

TEST_CASE(
    "two fingers zoom and pan; a drag that they interrupt is released, and the last finger does nothing") {
    Hand hand;
    hand.down({{7, {100, 300}}});
    hand.move({100, 300}, {140, 300});
    hand.down({{7, {140, 300}}, {8, {240, 300}}});
    CHECK(std::ranges::count(hand.kinds, Kind::release) == 1);
    hand.arbiter.fingers(std::vector<ui::Finger>{{7, {90, 310}}, {8, {290, 310}}}, hand.ms += 10);
    const auto said = hand.look();
    REQUIRE(said.pinch);
    CHECK(said.pinch->factor == Catch::Approx(2));
    CHECK(said.pinch->pan.y == Catch::Approx(10));
    hand.kinds.clear();
    hand.down({{8, {290, 310}}});
    hand.ms += 20;
    hand.down({{8, {290, 500}}});
    hand.down({});
    CHECK(hand.scrolled == 0);
    CHECK(std::ranges::count(hand.kinds, Kind::press) == 0);
    CHECK(hand.kinds.back() == Kind::leave);
}

TEST_CASE("touches that the browser takes over are released") {
    Hand hand;
    hand.down({{7, {100, 300}}});
    hand.move({100, 300}, {180, 300});
    hand.arbiter.cancelled();
    hand.look();
    CHECK(hand.kinds[hand.kinds.size() - 2] == Kind::release);
    hand.down({{9, {10, 10}}});
    hand.down({});
    CHECK(std::ranges::count(hand.kinds, Kind::press) == 2);
}
