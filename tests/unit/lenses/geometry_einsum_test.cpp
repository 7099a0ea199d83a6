// Tests the einsums of Geometry.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/format.hpp"
#include "app/link.hpp"
#include "unit/lenses/geometry_screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("an einsum of the visible matrices equals the head's own matrix where it is one") {
    GeometryScreen screen;
    screen.open_sentence(9);
    screen.visit.perform(Select{{1, 1, 6, 2, {}}});
    screen.open();
    const auto same = [&](const char* text) {
        screen.set([&](auto& s) {
            s.part = geometry::Part::einsum;
            s.einsum = text;
        });
        const auto& made = screen.model().sum();
        INFO(text << (made ? "" : made.error().message));
        REQUIRE(made);
        CHECK(made->sum().done());
        return made->same() ? std::string(made->same()->matrix->name) : "";
    };
    CHECK(same("ik,jk->ij with Q, K") == "R");
    CHECK(same("hik,hjk->hij with Q, K") == "R");
    CHECK(same("ij,jd->id with A, V") == "O");
    CHECK(same("hij,hjd->hid with A, V") == "O");
    CHECK(same("j,jd->d with x, W_Q").empty());  // the tiny model has biases
    CHECK(same("ij->i with A").empty());
    const auto& rows = screen.model().sum();
    for (const double sum : rows->sum().f64()) CHECK(std::abs(sum - 1) < 1e-6);
    CHECK(same("k,k-> with q, k").empty());
    const Record& record = sentence_in(screen.visit).run()->record_at(1);
    CHECK(std::abs(screen.model().sum()->sum().f64()[0] -
                   static_cast<double>(record.cell(Stage::raw, 1, 6, 2))) < 1e-5);
    CHECK(screen.spoken() == "This sum makes 1 number of " + std::to_string(record.d_k()) + " products.");
}

TEST_CASE("an einsum that does not fit is refused with a sentence, and the picture stays") {
    WorkedGeometry screen;
    screen.click("geometry/preset/einsum");
    screen.settle();
    const geometry::State before = screen.now();
    const auto refused = [&](const char* text) {
        const auto made = NamedSum::of(screen.model().named_head(), text);
        REQUIRE_FALSE(made);
        CHECK(made.error().message.ends_with('.'));
        return made.error().message;
    };
    CHECK(refused("ik,jk->ij with Q, Z").starts_with("There is no matrix “Z” here; there are X, W_Q"));
    CHECK(refused("ik,jk->ij with Q, A") == "The index “k” does not fit: it has 4 values in Q and 3 in A.");
    CHECK(refused("i,j with Q, K").find("with two indices") != std::string::npos);
    CHECK(refused("ij-> with q").find("one row, with one index") != std::string::npos);
    CHECK(refused("ab,cb->ac with W_O, Q") == "There is no W_O here: only what was made of it is known.");
    CHECK(refused("hib->i with X").find("the same for all heads") != std::string::npos);
    // Typed one letter at a time.
    screen.click("geometry/text");
    screen.hold(ImGuiMod_Ctrl, [&] { screen.press(ImGuiKey_A); });
    screen.type("ij,jd->id with A, Vx");
    CHECK(screen.shows("geometry/fault"));
    CHECK(screen.now() == before);
    CHECK(screen.shows("geometry/out/2/2"));
    screen.press(ImGuiKey_Backspace);
    CHECK(screen.now().einsum == "ij,jd->id with A, V");
    CHECK_FALSE(screen.shows("geometry/fault"));
    screen.settle();
    screen.type(std::string(1 << 20, 'i').c_str());
    CHECK(screen.now().einsum == "ij,jd->id with A, V");
    CHECK(screen.shows("geometry/out/2/3"));
    screen.press(ImGuiKey_Enter);
    // A link may contain an einsum that another subject supports.
    screen.set([](auto& s) { s.einsum = "ab,cb->ac with W_V, W_O"; });
    CHECK(screen.spoken() == "There is no W_O here: only what was made of it is known.");
    CHECK(screen.shows("geometry/fault"));
}
