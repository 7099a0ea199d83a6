// Checks the axes of charts, the description of their curves, and the mark that can be dragged.
#include "widgets/chart.hpp"

#include <algorithm>
#include <array>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>

#include "app/format.hpp"
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

TEST_CASE("an axis has two ticks at least, and their labels say where they are") {
    const auto is_told = [](const ui::ChartAxis& axis, int wanted) {
        INFO(axis.low << " to " << axis.high << (axis.logarithmic ? ", logarithmic" : "") << ", " << wanted);
        const std::vector<double> at = ui::axis_ticks(axis, wanted);
        const std::vector<std::string> labels = ui::tick_labels(axis, at);
        CHECK(at.size() >= 2);
        CHECK(at.size() <= static_cast<std::size_t>(3 * wanted + 3));
        CHECK(std::ranges::is_sorted(at));
        REQUIRE(labels.size() == at.size());
        const double a_little = 1e-9 * (axis.high - axis.low + std::abs(axis.low));
        for (std::size_t i = 0; i < at.size(); ++i) {
            CHECK(at[i] >= axis.low - a_little);
            CHECK(at[i] <= axis.high + a_little);
            for (std::size_t j = 0; j < i; ++j) CHECK(labels[i] != labels[j]);
            std::string plain = labels[i];
            std::erase(plain, ',');
            if (const auto read = app::read_number(plain))
                CHECK(*read == Catch::Approx(at[i]).margin(1e-6 * (axis.high - axis.low)));
        }
    };
    for (const double low : {-0.62, -0.6, 0.0, 0.26, 0.49, 3.1, 999.0, 1e-7, -5e-5, 2.9e6, -1e9})
        for (const double range : {1e-5, 0.013, 0.5, 0.93, 1.0, 7.0, 5000.0, 3.3e6})
            for (const int wanted : {2, 3, 5, 8}) {
                if (range < 1e-12 * std::abs(low)) continue;
                is_told({"", low, low + range}, wanted);
                if (low > 0) is_told({"", low, low + range, true}, wanted);
                if (range >= 2) is_told({"", std::ceil(low), std::ceil(low) + range, false, true}, wanted);
            }
    CHECK(ui::tick_labels({}, std::array{0.0, 0.5, 1.0}) == std::vector<std::string>{"0", "0.5", "1.0"});
    CHECK(ui::tick_labels({}, std::array{-2000.0, 0.0, 2000.0}) ==
          std::vector<std::string>{"-2,000", "0", "2,000"});
    CHECK(ui::tick_labels({}, std::array{1e6, 1.2e6}) == std::vector<std::string>{"1.0·10⁶", "1.2·10⁶"});
    CHECK(ui::tick_labels({}, std::array{0.0, 2e-5}) == std::vector<std::string>{"0", "2·10⁻⁵"});
    CHECK(ui::tick_labels({"", 1e-8, 1, true}, std::array{1e-8, 1e-4, 1.0}) ==
          std::vector<std::string>{"10⁻⁸", "0.0001", "1"});
}

TEST_CASE("numbers that differ only in their last bits do not make an axis of no ticks") {
    const std::array almost_flat{ui::ChartCurve{.x = {0, 1}, .y = {0.3, 0.30000000000000004}}};
    const ui::ChartAxis axis = ui::fitted("energy", almost_flat, false);
    CHECK(ui::axis_ticks(axis, 5).size() >= 2);
    CHECK(ui::axis_ticks({"", 0.3, 0.30000000000000004}, 5).empty());
}

TEST_CASE("an amount has its unit in the legend, and no digits that say nothing") {
    Screen screen;
    const auto told = [](double value) {
        const std::array curves{ui::ChartCurve{.name = "kept", .colour = 1, .x = {0, 1}, .y = {0, value}}};
        ui::ChartAxis y = ui::fitted("keys and values", curves, true);
        y.unit = "KB";
        drawn({.name = "test", .title = "Bytes", .x = {"tokens", 0, 1}, .y = y, .marked = 1}, curves);
        return ui::semantics().back().name;
    };
    CHECK(told(89.6) == "keys and values, kept 89.60 KB");
    CHECK(told(294) == "keys and values, kept 294 KB");
    CHECK(told(0.0625) == "keys and values, kept 0.0625 KB");
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
