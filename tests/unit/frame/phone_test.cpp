// Tests what a finger does on a phone: the sheet, the page's own text fields, cause and effect in one view.
#include <catch_amalgamated.hpp>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/inverse/inverse.hpp"
#include "lenses/masks/masks.hpp"
#include "lenses/memory/memory.hpp"
#include "lenses/order/order.hpp"
#include "unit/frame/screen.hpp"
#include "widgets/page_field.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// A phone on which the worked example's X[0][1] is pinned.
struct Phone : Screen {
    Phone() : Screen({390, 740}) {
        ImGui::GetIO().ConfigFlags |= ImGuiConfigFlags_IsTouchScreen;
        draw(3);
        visit.perform(Pin{CellRef{Stage::x, 0, 1}});
        draw(5);
        REQUIRE(shows("panel/inspector"));
    }
    bool explains() const { return visit.state().pin.has_value(); }
    double value() const { return worked_of(visit.state()).x.at(0, 1); }

    void swipe(ImVec2 from, ImVec2 to) {
        ImGuiIO& io = ImGui::GetIO();
        io.AddMouseSourceEvent(ImGuiMouseSource_TouchScreen);
        io.AddMousePosEvent(from.x, from.y);
        draw();
        io.AddMouseButtonEvent(0, true);
        draw();
        for (int step = 1; step <= 8; ++step) {
            const float share = static_cast<float>(step) / 8;
            io.AddMousePosEvent(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share);
            draw();
        }
        io.AddMouseButtonEvent(0, false);
        draw(3);
    }
    const ui::PageField* field(const std::string& key) const {
        const auto found = std::ranges::find(ui::page_fields(), key, &ui::PageField::key);
        return found == ui::page_fields().end() ? nullptr : &*found;
    }
    void type_into(const std::string& key, const std::string& text, bool entered) {
        ui::page_typed(key, text, entered);
        draw(3);
    }
    bool in_view(const std::string& name, const std::string& panel) const {
        const ui::Landmark &it = ui::landmarks().at(name), &all = ui::landmarks().at(panel);
        return it.min.y >= all.min.y && it.max.y <= all.max.y;
    }
};

}  // namespace

TEST_CASE("a phone's sheet closes by its ×, by a swipe down and by a tap outside of it") {
    Phone phone;
    phone.click("sheet/close");
    CHECK_FALSE(phone.explains());
    const auto pinned_again = [&] {
        phone.visit.perform(Pin{CellRef{Stage::weight, 1, 0}});
        phone.draw(5);
    };
    pinned_again();
    const ImVec2 sheet = phone.middle("panel/inspector");
    phone.swipe(sheet, {sheet.x + 4, sheet.y + 30});
    CHECK(phone.explains());
    phone.swipe({sheet.x, sheet.y - 60}, {sheet.x + 4, sheet.y + 60});
    CHECK_FALSE(phone.explains());
    pinned_again();
    const ui::Landmark lens = ui::landmarks().at("panel/lens");
    const ImVec2 beside{lens.max.x - 13, (lens.min.y + lens.max.y) / 2};
    phone.swipe(beside, {beside.x, beside.y - 90});  // it scrolls
    CHECK(phone.explains());
    phone.swipe(beside, beside);
    CHECK_FALSE(phone.explains());
    CHECK_FALSE(phone.shows("panel/inspector"));
}

TEST_CASE("a swipe down scrolls a long explanation back before it closes the sheet") {
    Phone phone;
    phone.visit.perform(Pin{CellRef{Stage::output, 1, 0}});
    phone.draw(5);
    const ImVec2 low{195, ui::landmarks().at("panel/inspector").max.y - 30};
    phone.swipe(low, {low.x, low.y - 90});
    phone.swipe({low.x, low.y - 90}, low);
    CHECK(phone.explains());
    phone.swipe({low.x, low.y - 90}, low);
    CHECK_FALSE(phone.explains());
}

TEST_CASE("a tap on another cell explains that cell") {
    Phone phone;
    phone.click("x/0/0");
    CHECK(phone.visit.state().pin == CellRef{Stage::x, 0, 0});
}

TEST_CASE("where there is no keyboard, a pinned input has a text field of the page") {
    Phone phone;
    const ui::PageField* field = phone.field("number");
    REQUIRE(field);
    CHECK(field->number);
    CHECK(field->text == shortest(phone.value()));
    CHECK(phone.in_view("number", "panel/inspector"));
    phone.type_into("number", "0.7", false);
    CHECK(phone.value() != 0.7);
    phone.type_into("number", "0.7", true);
    CHECK(phone.value() == 0.7);
    phone.type_into("number", "0,25", true);
    CHECK(phone.value() == 0.25);
    phone.type_into("number", "a lot", true);
    CHECK(phone.value() == 0.25);
    CHECK(phone.page.notices.back() == "'a lot' is not a number; the cell keeps its value.");
    phone.draw(2);
    phone.click("number/sign");
    CHECK(phone.value() == -0.25);
    phone.visit.undo();
    phone.visit.undo();
    CHECK(phone.value() == 0.7);
    phone.visit.perform(Pin{CellRef{Stage::weight, 0, 1}});
    phone.draw(2);
    CHECK(ui::page_fields().empty());
}

TEST_CASE("with a keyboard, the cell itself is typed into") {
    Screen screen({390, 740});
    screen.visit.perform(Pin{CellRef{Stage::x, 0, 1}});
    screen.draw(3);
    CHECK(ui::page_fields().empty());
}

TEST_CASE("while an input is pinned on a phone, its cell and what it changes are both in view") {
    Phone phone;
    CHECK(phone.in_view("x/0/1", "panel/lens"));
    CHECK(phone.in_view("sheet/effect", "panel/inspector"));
    phone.visit.perform(Pin{CellRef{Stage::w_v, 1, 1}});
    phone.draw(5);
    CHECK(phone.in_view("w_v/1/1", "panel/lens"));
    CHECK(phone.in_view("sheet/effect", "panel/inspector"));
}

TEST_CASE("a touch screen types into the palette through a text field of the page") {
    Phone phone;
    phone.frame.open_palette();
    phone.draw(3);
    REQUIRE(phone.field("palette"));
    CHECK_FALSE(phone.field("palette")->number);
    CHECK_FALSE(phone.field("number"));  // the palette is over it
    phone.type_into("palette", "overview", false);
    REQUIRE(phone.shows("palette/0"));
    CHECK_FALSE(phone.shows("palette/9"));
    phone.type_into("palette", "overview", true);
    CHECK(phone.visit.state().lens == "overview");
    CHECK_FALSE(phone.shows("palette"));
}

TEST_CASE("a touch screen types into the fields of every lens through fields of the page") {
    struct Field {
        const char *lens, *key, *typed;
        std::function<bool(const State&)> holds;
        bool number = false;
    };
    const std::vector<Field> fields{
        {"masks", "masks/text", "window(1,0)",
         [](const State& s) { return s.of<MasksState>().mask == Mask::window(1, 0); }},
        {"geometry", "geometry/text", "ij->j with A",
         [](const State& s) { return s.of<GeometryState>().einsum == "ij->j with A"; }},
        {"geometry", "geometry/metric", "1 0 0 0; 0 2 0 0; 0 0 1 0; 0 0 0 1",
         [](const State& s) { return s.of<GeometryState>().own.at(1, 1) == 2; }},
        {"memory", "memory/beta-typed", "2,5", [](const State& s) { return s.of<MemoryState>().beta == 2.5; },
         true},
        {"order", "order/shift", "77", [](const State& s) { return s.of<OrderState>().shift == 77; }, true},
        {"inverse", "inverse/typed/0", "0.625",
         [](const State& s) {
             const CellWish* wish = s.of<InverseState>().wish_of(1, 0);
             return wish && wish->weight == 0.625;
         },
         true},
    };
    for (const Field& each : fields) {
        CAPTURE(each.key);
        Phone phone;
        phone.visit.perform(Pin{});
        phone.visit.perform(OpenLens{each.lens});
        phone.visit.perform(Select{{.query = 1, .key = 0}});
        GeometryState geometry;
        geometry.part =
            std::string_view(each.key) == "geometry/text" ? GeometryPart::einsum : GeometryPart::metric;
        geometry.metric = MetricKind::own;
        geometry.own = identity(4, 4);
        phone.visit.perform(SetGeometry{geometry});
        phone.settle();
        const auto lens = [&] { return ui::landmarks().at("panel/lens"); };
        REQUIRE(phone.shows(each.key));
        // A finger brings it into view.
        for (int i = 0; i < 40 && !phone.field(each.key); ++i) {
            const ImVec2 edge{lens().max.x - 13, (lens().min.y + lens().max.y) / 2};
            phone.swipe(edge, {edge.x, edge.y - 90});
        }
        REQUIRE(phone.field(each.key));
        CHECK(phone.in_view(each.key, "panel/lens"));
        CHECK(phone.field(each.key)->number == each.number);
        phone.type_into(each.key, each.typed, false);
        CHECK(each.holds(phone.visit.state()) == !each.number);
        phone.type_into(each.key, each.typed, true);
        CHECK(each.holds(phone.visit.state()));
        // Whatever opens over it is not covered by it.
        phone.click("lens-menu");
        phone.draw(3);
        CHECK_FALSE(phone.field(each.key));
    }
}

TEST_CASE("a cell that a finger drags is the one that is explained, wherever the finger is") {
    Phone phone;
    phone.visit.perform(Pin{});
    phone.draw(5);
    const ImVec2 from = phone.middle("x/0/0"), to = phone.middle("x/0/2");
    ImGuiIO& io = ImGui::GetIO();
    io.AddMouseSourceEvent(ImGuiMouseSource_TouchScreen);
    io.AddMousePosEvent(from.x, from.y);
    phone.draw();
    io.AddMouseButtonEvent(0, true);
    phone.draw();
    for (int step = 1; step <= 8; ++step) {
        io.AddMousePosEvent(from.x + (to.x - from.x) * static_cast<float>(step) / 8, from.y);
        phone.draw();
    }
    CHECK(phone.frame.explained_cell() == CellRef{Stage::x, 0, 0});
    io.AddMouseButtonEvent(0, false);
    phone.draw(3);
    CHECK(phone.frame.explained_cell() == CellRef{Stage::x, 0, 0});
}

TEST_CASE("a tap on the chosen head's name says what the head does, in a sheet that closes as others do") {
    Phone phone;
    phone.visit.perform(Pin{});
    Files files;
    for (const char* file : {"config.json", "model.safetensors", "scores.json"})
        files[file] = read_file(source_dir() / "models/storyteller" / file);
    load_files(phone.visit, "storyteller", files);
    phone.visit.perform(SetText{"some words"});
    phone.visit.tokens({Box::first, "some words", {5, 6, 7}, {"a", "b", "c"}, 3});
    phone.visit.perform(Select{{3, 0, {}, {}, {}}});
    phone.settle();
    CHECK_FALSE(phone.shows("panel/inspector"));
    const auto open = [&] {
        phone.click("head-name");
        phone.draw(3);
        REQUIRE(phone.shows("heads/told"));
        CHECK(phone.in_view("head-name", "panel/lenses"));
    };
    open();
    phone.click("head-name");
    phone.draw(3);
    CHECK_FALSE(phone.shows("panel/inspector"));
    open();
    phone.click("sheet/close");
    phone.draw(2);
    CHECK_FALSE(phone.shows("heads/told"));
    open();
    phone.press(ImGuiKey_Escape);
    CHECK_FALSE(phone.shows("heads/told"));
    open();
    const ImVec2 sheet = phone.middle("panel/inspector");
    phone.swipe({sheet.x, sheet.y - 60}, {sheet.x + 4, sheet.y + 60});
    CHECK_FALSE(phone.shows("heads/told"));
    // A pinned cell takes its place, and the name takes that of the cell.
    open();
    phone.visit.perform(Pin{CellRef{Stage::weight, 1, 0}});
    phone.draw(5);
    CHECK_FALSE(phone.shows("heads/told"));
    CHECK(phone.shows("inspector/f32"));
    open();
    CHECK_FALSE(phone.explains());
    // A head without a name has nothing to open.
    const NamedHeads& named = *subject_in(phone.visit).named_heads();
    for (Index head = 0; head < 8; ++head) {
        if (!named.name({0, head}).empty()) continue;
        phone.visit.perform(Select{{0, head, {}, {}, {}}});
        phone.settle();
        CHECK_FALSE(phone.shows("panel/inspector"));
        break;
    }
}
