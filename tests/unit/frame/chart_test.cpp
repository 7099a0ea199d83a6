// Checks the axes of charts, the description of their curves, and the mark that can be dragged.
#include "widgets/chart.hpp"

#include <array>
#include <catch_amalgamated.hpp>
#include <limits>

#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::test;

namespace {

ui::ChartReply drawn(const ui::Chart& chart, std::span<const ui::ChartCurve> curves) {
    ui::ChartReply reply;
    for (int frame = 0; frame < 2; ++frame) {
        ImGui::NewFrame();
        ui::clear_landmarks();
        ui::clear_semantics();
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({800, 600});
        ImGui::Begin("a chart alone", nullptr, ImGuiWindowFlags_NoDecoration);
        reply = ui::chart(chart, 600, 300, curves);
        ImGui::End();
        ImGui::Render();
        for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) texture->SetStatus(ImTextureStatus_OK);
    }
    return reply;
}

std::vector<double> ticks(double low, double high, bool logarithmic, int wanted) {
    return ui::axis_ticks({"", low, high, logarithmic}, wanted);
}

}  // namespace

TEST_CASE("ticks are round numbers within the axis") {
    using Catch::Approx;
    CHECK(ticks(0, 1, false, 4) == std::vector{0.0, 0.5, 1.0});
    CHECK(ticks(0, 10, false, 5) == std::vector{0.0, 2.0, 4.0, 6.0, 8.0, 10.0});
    const auto about_zero = ticks(-0.35, 0.35, false, 7);
    REQUIRE(about_zero.size() == 7);
    CHECK(about_zero[3] == 0);
    CHECK(about_zero[6] == Approx(0.3));
    CHECK(ticks(1, 4096, true, 4) == std::vector{1.0, 10.0, 100.0, 1000.0});
    const auto few = ticks(0.5, 5, true, 6);
    REQUIRE(few.size() == 4);
    CHECK(few[0] == Approx(0.5));
    CHECK(few[3] == Approx(5));
    CHECK(ticks(1e-6, 1e6, true, 4) == std::vector{1e-6, 1e-3, 1.0, 1e3, 1e6});
    CHECK(ticks(1, 1, false, 4).empty());
    CHECK(ticks(0, 1, true, 4).empty());
    CHECK(ticks(std::nan(""), 1, false, 4).empty());
}

TEST_CASE("an axis fits its curves and their bands, ignoring numbers that are not finite") {
    const std::array curves{ui::ChartCurve{
        .name = "a", .x = {0, 1, 2}, .y = {1, HUGE_VAL, 3}, .band_low = {0.5, 1, 2}, .band_high = {2, 3, 4}}};
    const ui::ChartAxis axis = ui::fitted("nats", curves, false);
    CHECK(axis.low < 0.5);
    CHECK(axis.low > 0);
    CHECK(axis.high > 4);
    CHECK(axis.high < 5);
    CHECK(ui::fitted("nats", curves, true).low == 0);
    const ui::ChartAxis empty = ui::fitted("nats", {}, false);
    CHECK(empty.low < empty.high);
    const std::array flat{ui::ChartCurve{.x = {0, 1}, .y = {2, 2}}};
    CHECK(ui::fitted("nats", flat, false).low < ui::fitted("nats", flat, false).high);
}

TEST_CASE("a chart describes its curves at the mark, and the mark can be dragged along the axis") {
    Screen screen;
    const std::array curves{
        ui::ChartCurve{
            .name = "entropy", .colour = 0xff0000ff, .x = {1, 10, 100}, .y = {0.5, std::nan(""), 2}},
        ui::ChartCurve{
            .name = "largest", .colour = 0xff00ff00, .x = {1, 10, 100}, .y = {3, 1, 0.25}, .dashed = true}};
    const ui::Chart chart{.name = "test",
                          .title = "Rows",
                          .x = {"d_k", 1, 100, true},
                          .y = ui::fitted("nats", curves, true),
                          .marked = 80};
    drawn(chart, curves);
    // The values at the mark can be reached, too.
    REQUIRE(ui::semantics().size() == 3);
    CHECK(ui::semantics().back().name == "nats, largest 0.2500");
    const ui::Node& node = ui::semantics().front();
    CHECK(node.role == ui::Role::slider);
    CHECK(node.value == "d_k 80: entropy 2.0000, largest 0.2500");
    const auto [min, max] = ui::landmarks().at("chart/test");
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent((min.x + max.x) / 2, (min.y + max.y) / 2);
    drawn(chart, curves);
    io.AddMouseButtonEvent(0, true);
    const auto held = drawn(chart, curves).held;
    REQUIRE(held);
    CHECK(*held == Catch::Approx(10).epsilon(0.01));  // a point is a hundredth of the width at most
    io.AddMouseButtonEvent(0, false);
    // The end of a curve is reported when the cursor is near it.
    io.AddMousePosEvent(min.x + 2, min.y + (max.y - min.y) * static_cast<float>(1 - 3 / chart.y.high));
    const auto over = drawn(chart, curves).over;
    REQUIRE(over);
    CHECK(over->curve == 1);
    CHECK(over->point == 0);
}

TEST_CASE("bars reach halfway to their neighbours, and react above and below") {
    Screen screen;
    const std::array curves{ui::ChartCurve{.name = "counted",
                                           .colour = 0xff0000ff,
                                           .x = {0.5, 1.5, 2.5},
                                           .y = {4, 0, 2},
                                           .bars = true,
                                           .notes = {"a", "b", "c"}},
                            ui::ChartCurve{.name = "expected", .colour = 0xff00ff00, .x = {1}, .y = {3}}};
    const ui::Chart chart{
        .name = "bars", .title = "Counted", .x = {"score", 0, 3}, .y = ui::fitted("pairs", curves, true)};
    drawn(chart, curves);
    const auto [min, max] = ui::landmarks().at("chart/bars");
    const auto over = [&](float share, float height) {
        ImGui::GetIO().AddMousePosEvent(min.x + (max.x - min.x) * share, max.y - (max.y - min.y) * height);
        drawn(chart, curves);
        return drawn(chart, curves).over;
    };
    for (const float height : {0.05f, 0.95f})
        for (std::size_t bar = 0; bar < 3; ++bar)
            for (const float within : {0.02f, 0.5f, 0.98f}) {
                const auto found = over((static_cast<float>(bar) + within) / 3, height);
                REQUIRE(found);
                CHECK(found->curve == 0);
                CHECK(found->point == bar);
            }
    CHECK_FALSE(over(0.5f, -0.2f));
}

TEST_CASE("the values at the mark and the bars can be reached and pressed without a mouse") {
    Screen screen;
    const std::array curves{
        ui::ChartCurve{.name = "entropy", .colour = 0xff0000ff, .x = {1, 10, 100}, .y = {0.5, 1, 2}},
        ui::ChartCurve{
            .name = "counted", .colour = 0xff00ff00, .x = {1, 10, 100}, .y = {3, 1, 2}, .bars = true}};
    const ui::Chart chart{.name = "test",
                          .title = "Rows",
                          .x = {"d_k", 1, 100, true},
                          .y = ui::fitted("nats", curves, true),
                          .marked = 10};
    const auto focused = [&](const char* key) {
        ui::focus_node(key, -1, -1);
        return drawn(chart, curves);
    };
    const ui::ChartReply at_mark = focused("chart/test/at-mark/0"), bar = focused("chart/test/bars/1/2");
    REQUIRE(at_mark.over);
    CHECK(at_mark.over->curve == 0);
    CHECK(at_mark.over->point == 1);
    CHECK_FALSE(at_mark.clicked);
    REQUIRE(bar.over);
    CHECK(bar.over->curve == 1);
    CHECK(bar.over->point == 2);
    ui::focus_node("", -1, -1);
    CHECK_FALSE(drawn(chart, curves).over);
    ui::ask({.key = "chart/test/bars/1/0"});
    ImGui::NewFrame();
    ui::clear_semantics();
    ImGui::Begin("a chart alone");
    const ui::ChartReply pressed = ui::chart(chart, 600, 300, curves);
    ImGui::End();
    ImGui::Render();
    CHECK(pressed.clicked);
    CHECK(pressed.over->point == 0);
}

TEST_CASE("ticks of positions and counts are whole numbers") {
    CHECK(ui::axis_ticks({.title = "query", .low = 0, .high = 2, .whole = true}, 8) ==
          std::vector<double>{0, 1, 2});
    CHECK(ui::axis_ticks({.title = "query", .low = 0, .high = 13, .whole = true}, 3) ==
          std::vector<double>{0, 5, 10});
}

TEST_CASE("a step along an axis of whole numbers is at least one, and stays on it") {
    Screen screen;
    const std::array curves{
        ui::ChartCurve{.name = "wave", .colour = 0xff0000ff, .x = {0, 1, 2}, .y = {1, 2, 3}}};
    const auto stepped = [&](double from, double steps) {
        const ui::Chart chart{.name = "whole",
                              .title = "Pairs",
                              .x = {"pair", 0, 2, false, true},
                              .y = ui::fitted("positions", curves, true),
                              .marked = from};
        ui::ask({.kind = ui::Ask::Kind::step, .key = "chart/whole", .steps = steps});
        ImGui::NewFrame();
        ui::clear_semantics();
        ImGui::Begin("a chart alone");
        const ui::ChartReply reply = ui::chart(chart, 600, 300, curves);
        ImGui::End();
        ImGui::Render();
        for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) texture->SetStatus(ImTextureStatus_OK);
        return reply.held;
    };
    CHECK(stepped(0, 1) == 1);
    CHECK(stepped(2, -1) == 1);
    CHECK_FALSE(stepped(2, 1));
    CHECK(stepped(0, HUGE_VAL) == 2);
}
