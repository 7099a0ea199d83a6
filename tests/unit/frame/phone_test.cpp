// Tests what a finger does on a phone: the sheet, the page's own text fields, and cause and effect in one
// view.
#include <catch_amalgamated.hpp>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/inverse/inverse.hpp"
#include "lenses/lens.hpp"
#include "lenses/masks/masks.hpp"
#include "lenses/memory/memory.hpp"
#include "lenses/order/order.hpp"
#include "unit/frame/screen.hpp"
#include "widgets/controls.hpp"
#include "widgets/fingers.hpp"
#include "widgets/page_field.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// A phone on which the worked example's X[0][1] is pinned.
struct Phone : Screen {
    Phone() : Screen({390, 740}) {
        ui::use_touch();
        ui::use_theme(false);
        draw(3);
        visit.perform(Pin{RunCell{Stage::x, 0, 1}});
        draw(5);
        REQUIRE(shows("panel/inspector"));
    }
    bool explains() const { return visit.state().pin.has_value(); }
    double value() const { return worked_of(visit.state()).x.at(0, 1); }

    ~Phone() {
        touch({}, 0);
        ui::folded().open = false;
    }

    // Moves one finger, or none, `ms` after the previous event.
    void touch(std::optional<ImVec2> at, double ms = 12) {
        now_ += ms;
        const ui::Finger finger{1, at.value_or(ImVec2{})};
        ui::fingers({&finger, at ? 1u : 0u}, now_);
        wait(0);
    }
    void wait(double ms) {
        now_ += ms;
        ui::tell_fingers(now_);
        draw(4);
    }
    void drag(ImVec2 from, ImVec2 to) {
        touch(from);
        for (int step = 1; step <= 8; ++step) {
            const float share = static_cast<float>(step) / 8;
            touch(ImVec2{from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share});
        }
    }
    // The finger rests before it is lifted, so that nothing glides on.
    void swipe(ImVec2 from, ImVec2 to) {
        drag(from, to);
        touch({}, 200);
        draw(3);
    }
    void tap(const std::string& landmark) {
        touch(middle(landmark));
        touch({});
        draw(4);
    }
    const ui::PageField* field(const std::string& key) const {
        const auto found = std::ranges::find(ui::page_fields(), key, &ui::PageField::key);
        return found == ui::page_fields().end() ? nullptr : &*found;
    }
    void type_into(const std::string& key, const std::string& text, bool entered) {
        ui::page_typed(key, text, entered, text.size());
        draw(3);
    }
    bool in_view(const std::string& name, const std::string& panel) const {
        const ui::Landmark &it = ui::landmarks().at(name), &all = ui::landmarks().at(panel);
        return it.min.y >= all.min.y && it.max.y <= all.max.y;
    }

  private:
    inline static double now_ = 1000;  // ms; fingers belong to the window, so they outlive a page
};

}  // namespace

TEST_CASE("a phone's sheet closes by its ×, by a swipe down and by a tap outside it") {
    Phone phone;
    phone.click("sheet/close");
    CHECK_FALSE(phone.explains());
    const auto pinned_again = [&] {
        phone.visit.perform(Pin{RunCell{Stage::weight, 1, 0}});
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
    phone.visit.perform(Pin{RunCell{Stage::output, 1, 0}});
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
    CHECK(phone.visit.state().pin == RunCell{Stage::x, 0, 0});
}

TEST_CASE("without a keyboard, a pinned input has a text field of the page") {
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
    phone.visit.perform(Pin{RunCell{Stage::weight, 0, 1}});
    phone.draw(2);
    CHECK(ui::page_fields().empty());
}

TEST_CASE("the field of a pinned number on a phone is as wide as the number") {
    Phone phone;
    phone.visit.perform(SetCell{RunCell{Stage::x, 0, 1}, 0.0018538});
    phone.draw(3);
    const auto fits = [&](const char* key) {
        const ui::PageField* field = phone.field(key);
        REQUIRE(field);
        INFO(field->text);
        CHECK(field->max.x - field->min.x >= ui::width_for_number(field->text));
        CHECK(field->max.x <= rect("panel/inspector").right);
    };
    fits("number");
    phone.open_sentence();
    phone.visit.perform(OpenSubject{sentence_subject});
    phone.visit.perform(Pin{RunCell{Stage::q, 1, 0}});
    phone.settle();
    fits("change/value");
    // The buttons below it are whole.
    for (const char* button : {"change/zero", "change/mean", "change/mean_of_texts", "change/times/0.5"}) {
        INFO(button);
        CHECK(rect(button).right <= rect("panel/inspector").right - 8);
    }
}

TEST_CASE("a tap on the chosen lens closes the menu of lenses") {
    Phone phone;
    phone.visit.perform(Pin{std::nullopt});
    phone.draw(5);
    const std::string_view before = phone.visit.state().lens;
    const std::string chosen = "lens/" + std::string(before);
    phone.tap("lens-menu");
    REQUIRE(phone.shows(chosen));
    phone.tap(chosen);
    CHECK_FALSE(phone.shows(chosen));
    CHECK(phone.visit.state().lens == before);
}

TEST_CASE("the zoom of the flow stays in its part, whatever the size of the text") {
    for (const ImVec2 size : {ImVec2{1440, 900}, ImVec2{960, 600}, ImVec2{390, 844}, ImVec2{260, 563}}) {
        INFO(size.x);
        Phone phone;
        ImGui::GetIO().DisplaySize = size;
        phone.open_sentence(80);
        phone.visit.perform(OpenSubject{sentence_subject});
        phone.visit.perform(OpenLens{"overview"});
        ui::folded().open = true;
        phone.settle();
        const Rect out = rect("flow/out"), in = rect("flow/in"), lens = rect("panel/lens");
        CHECK(out.left >= lens.left);
        CHECK(in.right <= lens.right - 8);
        CHECK(in.top == out.top);
        // Between them is the zoom, and nothing else has room.
        const float between = in.left - out.right, label = ui::text_size("100 %").x;
        CHECK(between >= label);
        CHECK(between <= label + 20);
    }
}

TEST_CASE("with a keyboard, the user types into the cell itself") {
    Screen screen({390, 740});
    screen.visit.perform(Pin{RunCell{Stage::x, 0, 1}});
    screen.draw(3);
    CHECK(ui::page_fields().empty());
}

TEST_CASE("while an input is pinned on a phone, its cell and its effect are both in view") {
    Phone phone;
    CHECK(phone.in_view("x/0/1", "panel/lens"));
    CHECK(phone.in_view("sheet/effect", "panel/inspector"));
    phone.visit.perform(Pin{RunCell{Stage::w_v, 1, 1}});
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
         [](const State& s) { return s.of<masks::State>().mask == Mask::window(1, 0); }},
        {"geometry", "geometry/text", "ij->j with A",
         [](const State& s) { return s.of<geometry::State>().einsum == "ij->j with A"; }},
        {"geometry", "geometry/metric", "1 0 0 0; 0 2 0 0; 0 0 1 0; 0 0 0 1",
         [](const State& s) { return s.of<geometry::State>().own.at(1, 1) == 2; }},
        {"memory", "memory/beta-typed", "2,5",
         [](const State& s) { return s.of<memory::State>().beta == 2.5; }, true},
        {"order", "order/shift", "77", [](const State& s) { return s.of<order::State>().shift == 77; }, true},
        {"inverse", "inverse/typed/0", "0.625",
         [](const State& s) {
             const CellWish* wish = s.of<inverse::State>().wish_of(1, 0);
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
        geometry::State next;
        next.part =
            std::string_view(each.key) == "geometry/text" ? geometry::Part::einsum : geometry::Part::metric;
        next.metric = geometry::MetricKind::own;
        next.own = identity(4, 4);
        phone.visit.perform(Set<geometry::State>{next});
        ui::folded().open = true;  // shows fields that belong to the settings
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
        // The field does not cover anything that opens over it.
        phone.click("lens-menu");
        phone.draw(3);
        CHECK_FALSE(phone.field(each.key));
    }
}

TEST_CASE("a cell dragged by a finger is the one that is changed and explained, and stays under the finger") {
    Phone phone;
    phone.visit.perform(Pin{});
    phone.draw(5);
    // In the lower half, where the sheet will rise.
    const ui::Landmark lens = ui::landmarks().at("panel/lens");
    for (int i = 0; i < 20 && phone.middle("w_k/1/1").y > lens.max.y - 40; ++i)
        phone.swipe({lens.max.x - 13, lens.max.y - 60}, {lens.max.x - 13, lens.max.y - 130});
    const ImVec2 from = phone.middle("w_k/1/1"), to{from.x + 60, from.y};
    CHECK(from.y > lens.min.y + 0.55f * (lens.max.y - lens.min.y));
    const WorkedState before = worked_of(phone.visit.state());
    phone.drag(from, to);
    CHECK(phone.middle("w_k/1/1").y == from.y);
    CHECK_FALSE(phone.shows("panel/inspector"));
    const WorkedState after = worked_of(phone.visit.state());
    CHECK(after.w_k.at(1, 1) != before.w_k.at(1, 1));
    phone.touch({}, 200);
    phone.draw(6);
    CHECK(phone.visit.state().pin == RunCell{Stage::w_k, 1, 1});
    CHECK(phone.shows("panel/inspector"));
    CHECK(phone.in_view("w_k/1/1", "panel/lens"));
    WorkedState same = worked_of(phone.visit.state());
    same.w_k.at(1, 1) = before.w_k.at(1, 1);
    CHECK(same == before);  // no other cell was pinned
}

TEST_CASE("a swipe up or down changes nothing, wherever it begins, in any lens") {
    for (const LensEntry& lens : lens_list()) {
        CAPTURE(lens.key);
        Phone phone;
        phone.visit.perform(Pin{});
        phone.visit.perform(OpenLens{lens.key});
        phone.settle();
        const State before = phone.visit.state();
        const ui::Landmark panel = ui::landmarks().at("panel/lens");
        for (int place = 0; place < 30; ++place) {
            const ImVec2 from{panel.min.x + 12 + static_cast<float>(place % 6) * 72,
                              panel.max.y - 30 - static_cast<float>(place % 5) * 90};
            const double up = place % 3 == 2 ? -1 : 1;
            phone.swipe(from, {from.x + 14, from.y - static_cast<float>(up) * 120});
            CHECK(phone.visit.state() == before);
            CHECK_FALSE(ImGui::IsAnyItemHovered());
        }
    }
}

TEST_CASE("a tap beside a small target hits it") {
    Phone phone;
    phone.visit.perform(Pin{});
    phone.draw(5);
    const ui::Landmark button = ui::landmarks().at("guide");
    phone.touch(ImVec2{button.max.x + 6, button.max.y - 2});
    phone.touch({});
    phone.draw(4);
    CHECK(phone.shows("panel/inspector"));
}

TEST_CASE("a tap on the chosen head's name explains the head, in a sheet that closes like others") {
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
    // A pinned cell takes its place, and the name replaces the cell.
    open();
    phone.visit.perform(Pin{RunCell{Stage::weight, 1, 0}});
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
