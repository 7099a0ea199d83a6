// Checks the description of the screen for assistive technology, and that the page can be used through it
// alone.
#include "widgets/semantics.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "app/format.hpp"
#include "subjects/worked/commands.hpp"
#include "support/this_build.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"
#include "widgets/controls.hpp"
#include "widgets/map_view.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const ui::Node* found(const std::string& key) {
    const auto& nodes = ui::semantics();
    const auto node = std::ranges::find(nodes, key, &ui::Node::key);
    return node != nodes.end() ? &*node : nullptr;
}

const ui::Node& node(const std::string& key) {
    INFO("the node " << key);
    REQUIRE(found(key));
    return *found(key);
}

void press(Screen& screen, const std::string& key, Index row = -1, Index col = -1) {
    if (!found(key)) screen.bring(key);
    ui::ask({.key = key, .row = row, .col = col});
    screen.draw(4);
}

bool is_item(ui::Role role) {
    using enum ui::Role;
    return role == tab || role == option || role == menuitem;
}

// Returns the key of the node that this one belongs to.
std::string parent_of(std::size_t i) {
    const auto& nodes = ui::semantics();
    for (std::size_t j = i; j-- > 0;)
        if (nodes[j].depth < nodes[i].depth) return nodes[j].key;
    return "";
}

void check_nodes() {
    using enum ui::Role;
    std::set<std::string> keys;
    const auto& nodes = ui::semantics();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const ui::Node& each = nodes[i];
        INFO(each.key << ": " << each.name);
        CHECK(keys.insert(each.key).second);
        CHECK(!each.name.empty());
        // A name has a letter or a digit, because symbols are not spoken.
        if (each.role == button)
            CHECK(std::ranges::any_of(each.name, [](unsigned char c) { return std::isalnum(c); }));
        if (is_item(each.role)) {
            const ui::Role around = node(parent_of(i)).role;
            CHECK((each.role == tab      ? around == tablist
                   : each.role == option ? around == listbox
                                         : around == menu));
        }
        if (each.role == slider) {
            CHECK(!each.value.empty());
            CHECK(each.range.least <= each.range.now);
            CHECK(each.range.now <= each.range.most);
        }
        if (each.role == spinbutton) CHECK(each.range.least <= each.range.now);
        if (each.role != grid) continue;
        REQUIRE(each.grid);
        const ui::CellGrid& cells = *each.grid;
        CHECK(std::max(cells.values.size(), cells.words.size()) <= 32 * 32);
        CHECK(std::ssize(cells.row_names) + cells.first_row <= cells.rows);
        CHECK(std::ssize(cells.column_names) + cells.first_col <= cells.cols);
    }
}

}  // namespace

TEST_CASE("every control of every lens over every subject has a role and a name of its own") {
    for (const ImVec2 size : {ImVec2{1440, 846}, ImVec2{390, 760}}) {
        Screen screen(size);
        screen.open_sentence();
        screen.train_some();
        Index pair = 0;
        for (const SubjectEntry& subject : subject_list())
            for (const LensEntry& lens : lens_list()) {
                // Under the sanitizers, each pair is tested at one width only.
                if (test::sanitized && (pair++ % 2 == 0) != (size.x > 1000)) continue;
                INFO(subject.key << " through " << lens.key << ", width " << size.x);
                screen.visit.perform(OpenSubject{subject.key});
                screen.visit.perform(OpenLens{lens.key});
                screen.settle();
                check_nodes();
                // Everything that a test finds with a mouse and a person can press is also in the
                // description.
                for (const auto& [name, place] : ui::landmarks())
                    if (name.starts_with("subject/") || name.starts_with("lens/")) CHECK(found(name));
                CHECK(node("subject/" + std::string(subject.key)).on == true);
            }
    }
}

TEST_CASE("tabs, choices, steppers and sliders do what is requested") {
    Screen screen;
    screen.draw(3);
    press(screen, "mask/causal");
    CHECK(worked_of(screen.visit.state()).mask.kind == WorkedMask::Kind::causal);
    CHECK(node("mask/causal").on == true);
    CHECK(node("mask/none").on == false);
    ui::ask({.kind = ui::Ask::Kind::step, .key = "size/n", .steps = 1});
    screen.draw(3);
    CHECK(worked_of(screen.visit.state()).query_labels.size() == 4);
    CHECK(node("size/n").value == "4");
    ui::ask({.kind = ui::Ask::Kind::step, .key = "temperature", .steps = 2});
    screen.draw(3);
    CHECK(worked_of(screen.visit.state()).temperature == Catch::Approx(1.2));
    CHECK(node("temperature").range ==
          ui::SliderRange{worked_of(screen.visit.state()).temperature, 0.05, 20});
    CHECK(node("temperature").value == "1.20");
    ui::ask(
        {.kind = ui::Ask::Kind::step, .key = "softcap", .steps = std::numeric_limits<double>::infinity()});
    screen.draw(3);
    CHECK(worked_of(screen.visit.state()).softcap == 10);
    press(screen, "lens/overview");
    CHECK(screen.visit.state().lens == "overview");
    CHECK(node("lens/overview").on == true);
}

TEST_CASE("a control below the edge of the window can be pressed, and focusing it brings it into view") {
    Screen screen({1440, 180});
    screen.draw(3);
    press(screen, "adjust");
    CHECK(rect("size/n/more").top > rect("panel/lens").bottom);
    press(screen, "generate");
    CHECK(worked_of(screen.visit.state()).origin.kind == Origin::Kind::generated);
    ui::focus_node("output", 2, 3);
    screen.draw(30);
    CHECK(rect("output/2/3").bottom <= rect("panel/lens").bottom);
    CHECK(screen.frame.explained_cell() == RunCell{Stage::output, 2, 3});
    ui::focus_node("", -1, -1);
    screen.draw(2);
    CHECK_FALSE(screen.frame.explained_cell());
}

TEST_CASE("a matrix is described as drawn, and its cells can be pinned and typed into") {
    Screen screen;
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
    screen.draw(3);
    const ui::CellGrid& weights = *node("weight").grid;
    CHECK(node("weight").name == "Weights");
    CHECK(weights.rows == 3);
    CHECK(weights.cols == 3);
    CHECK(weights.row_names == worked_of(screen.visit.state()).query_labels);
    // The double reference: the values that the subject computed, except hidden ones.
    for (Index r = 0; r < 3; ++r)
        for (Index c = 0; c < 3; ++c) {
            const double told = weights.values[static_cast<std::size_t>(r * 3 + c)];
            if (c > r)
                CHECK(std::isinf(told));
            else
                CHECK(told == worked_in(screen.visit)
                                  .run()
                                  .value(worked_of(screen.visit.state()), {Stage::weight, r, c}));
        }
    press(screen, "x", 1, 2);
    CHECK(screen.visit.state().pin == RunCell{Stage::x, 1, 2});
    CHECK(node("x").grid->chosen == std::pair<Index, Index>{1, 2});
    screen.type("0.7");
    CHECK(found("typing"));
    CHECK(nlohmann::json::parse(ui::take_semantics())["typing"] == "typing");
    screen.press(ImGuiKey_Enter);
    CHECK(worked_of(screen.visit.state()).x.at(1, 2) == 0.7);
    CHECK_FALSE(found("typing"));
}

TEST_CASE("the heads are a grid of layers and heads, and one of them is chosen") {
    Screen screen;
    screen.open_sentence();
    screen.draw(3);
    const ui::CellGrid& heads = *node("heads/grid").grid;
    const Attention& attention = *subject_in(screen.visit).attention();
    CHECK(heads.rows == attention.layers());
    CHECK(heads.cols == attention.heads());
    CHECK(heads.words.front() == "layer 0, head 0");
    press(screen, "heads/grid", 1, 2);
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 2);
    screen.settle();
    CHECK(node("heads/grid").grid->chosen == std::pair<Index, Index>{1, 2});
    press(screen, "token/3");
    CHECK(screen.visit.state().selection.query == 3);
}

TEST_CASE("a map lists its visible cells or, if there are too many, the focused one") {
    Screen screen;
    screen.open_sentence(6);
    screen.draw(3);
    CHECK(node("map").grid->values.size() == 36);
    constexpr Index n = 100;
    const Bytes file = weights_npy({n, n});
    FileIntake& tensors = *screen.visit.intake(FileKind::tensors);
    std::ranges::copy(file, *tensors.buffer("weights.npy", file.size()));
    tensors.arrived();
    screen.settle();
    REQUIRE(subject_in(screen.visit).attention());
    const std::vector<float> weights = random_weights(n, n, 1);
    for (const auto [row, col] : {ui::MapCell{70, 3}, ui::MapCell{0, 99}}) {
        ui::focus_node("map", row, col);
        screen.draw(4);
        const ui::CellGrid& cells = *node("map").grid;
        CHECK(cells.rows == n);
        CHECK(cells.cols == n);
        REQUIRE(cells.values.size() == 1);
        CHECK(cells.first_row == row);
        CHECK(cells.first_col == col);
        CHECK(cells.values[0] == static_cast<double>(weights[static_cast<std::size_t>(row * n + col)]));
        CHECK(screen.frame.explained_cell() == RunCell{Stage::weight, row, col});
    }
}

TEST_CASE("lists open, offer choices and close") {
    Screen screen;
    screen.draw(3);
    CHECK(node("preset").on == false);
    press(screen, "preset");
    screen.draw(3);
    CHECK(node("preset").on == true);
    press(screen, "preset/D");
    screen.draw(3);
    CHECK(node("preset").on == false);
    CHECK(node("preset").value.starts_with("D "));
    screen.frame.open_palette();
    screen.draw(3);
    CHECK(node("palette").role == ui::Role::combobox);
    CHECK(node(node("palette").active).on == true);
    screen.type("curves");
    press(screen, node("palette").active);
    CHECK_FALSE(found("palette"));
    CHECK(screen.visit.state().lens == "curves");
}

TEST_CASE("only changes are given to the page, and a page at rest gives nothing") {
    Screen screen;
    screen.draw(6);
    CHECK(ui::semantics_changed());
    CHECK(nlohmann::json::parse(ui::take_semantics())["nodes"].size() == ui::semantics().size());
    screen.draw(3);
    CHECK_FALSE(ui::semantics_changed());
    screen.visit.perform(SetCell{{Stage::x, 0, 0}, 2});
    screen.draw(3);
    CHECK(ui::semantics_changed());
    std::set<std::string> changed;
    const auto told = nlohmann::json::parse(ui::take_semantics());
    for (const auto& each : told["nodes"])
        if (each.is_object()) changed.insert(each["key"].get<std::string>());
    CHECK(changed.contains("x"));
    CHECK(changed.contains("weight"));
    CHECK_FALSE(changed.contains("w_q"));
    CHECK_FALSE(changed.contains("lens/overview"));
}

TEST_CASE("the strongest edges of a flow are read out, and lead to their weights") {
    for (const FlowForm form : {FlowForm::arcs, FlowForm::columns}) {
        Screen screen;
        screen.open_sentence();
        screen.visit.perform(OpenLens{"overview"});
        FlowChoice flow = looks_of(screen.visit.state()).flow;
        flow.form = form;
        flow.mass = 1;
        screen.visit.perform(SetFlow{flow});
        screen.visit.perform(Select{{1, 2, 4, {}, {}}});
        screen.settle();
        const TextRun& run = *sentence_in(screen.visit).run();
        std::vector<std::pair<float, Index>> weights;
        for (Index key = 0; key <= 4; ++key)
            weights.emplace_back(run.record_at(1).cell(Stage::weight, 2, 4, key), key);
        std::ranges::sort(weights, std::greater{});
        CHECK(node("flow/strongest").role == ui::Role::listbox);
        for (std::size_t i = 0; i < weights.size(); ++i)
            CHECK(node("flow/strongest/" + std::to_string(i)).name ==
                  "word4 → word" + std::to_string(weights[i].second) + ", " +
                      fixed(static_cast<double>(weights[i].first), 2));
        CHECK_FALSE(found("flow/strongest/5"));
        const RunCell second{Stage::weight, 4, weights[1].second};
        ui::focus_node("flow/strongest/1", -1, -1);
        screen.draw(3);
        CHECK(screen.frame.explained_cell() == second);
        press(screen, "flow/strongest/1");
        CHECK(screen.visit.state().pin == second);
        ui::focus_node("", -1, -1);
        check_nodes();
        // With several heads, each edge names its head.
        flow.heads = {{0, 0}};
        screen.visit.perform(SetFlow{flow});
        screen.settle();
        CHECK(node("flow/strongest/0").name.find(", layer ") != std::string::npos);
    }
}

TEST_CASE("an operand names its number, and a spin button its range") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(OpenLens{"overview"});
    screen.visit.perform(Pin{RunCell{Stage::raw, 3, 1}});
    screen.settle();
    CHECK(node("inspector/operand/0/left").name.starts_with("q of “word3”, component 0: "));
    CHECK(node("inspector/operand/0/right").name.starts_with("k of “word1”, component 0: "));
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(OpenLens{"scale"});
    screen.settle();
    CHECK(std::ranges::any_of(ui::semantics(), [](const ui::Node& each) {
        return each.role == ui::Role::spinbutton && each.range.least < each.range.most;
    }));
}

TEST_CASE("a key that presses a curve keeps its step") {
    Screen screen;
    screen.train_some();
    screen.visit.perform(ShowTrainingStep{2});
    screen.settle();
    ImGui::GetIO().AddMousePosEvent(20, 20);
    press(screen, "chart/loss");
    screen.settle();
    CHECK(screen.visit.state().of<TrainingState>().step == 2);
}

TEST_CASE("a menu opens under its button, wherever the mouse is") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(OpenLens{"overview"});
    screen.visit.perform(Pin{RunCell{Stage::raw, 3, 1}});
    screen.settle();
    ImGui::GetIO().AddMousePosEvent(300, 300);
    screen.draw();
    press(screen, "inspector/copy");
    REQUIRE(screen.shows("inspector/copy/NumPy"));
    const Rect button = rect("inspector/copy"), item = rect("inspector/copy/NumPy");
    CHECK(item.left < button.right + 100);
    CHECK(item.left > button.left - 20);
    CHECK(std::abs(item.top - button.bottom) < 120);
}

TEST_CASE("the focused element is in view, above the status line, in every lens") {
    Screen screen({1440, 560});
    screen.open_sentence();
    for (const LensEntry& lens : lens_list()) {
        screen.visit.perform(OpenLens{lens.key});
        screen.settle();
        std::vector<std::string> keys;
        for (const ui::Node& each : ui::semantics())
            if (!each.disabled && (each.role == ui::Role::slider || each.role == ui::Role::spinbutton) &&
                each.min.x >= rect("panel/lens").left)
                keys.push_back(each.key);
        // The farther down, the more there is to scroll.
        if (keys.size() > 4) keys.erase(keys.begin(), keys.end() - 4);
        for (const std::string& key : keys) {
            INFO(lens.key << ": " << key);
            ui::focus_node(key, -1, -1);
            screen.settle();
            screen.draw(6);
            const ui::Node& there = node(key);
            CHECK(there.max.y <= rect("panel/lens").bottom + 1);
            CHECK((there.min.y >= rect("panel/lens").top - 1 || there.max.y - there.min.y > 300));
        }
        ui::focus_node("", -1, -1);
    }
}

TEST_CASE("a pinned number is announced again when it changes, and withdrawn with the pin") {
    Screen screen;
    const auto last = [&] { return screen.page.announced.empty() ? "" : screen.page.announced.back(); };
    screen.visit.perform(Pin{RunCell{Stage::x, 0, 0}});
    screen.draw(3);
    CHECK(last().find(" is 1.0000") != std::string::npos);
    const std::size_t said = screen.page.announced.size();
    screen.draw(3);
    screen.visit.perform(SetCell{RunCell{Stage::x, 1, 1}, 0.5});  // another cell
    screen.draw(3);
    CHECK(screen.page.announced.size() == said);
    screen.visit.perform(SetCell{RunCell{Stage::x, 0, 0}, 0.25});
    screen.draw(3);
    CHECK(last().find(" is now 0.2500") != std::string::npos);
    screen.visit.perform(Pin{});
    screen.draw(3);
    CHECK(last().empty());
}

TEST_CASE("on a phone every group has a name") {
    Screen screen({390, 740});
    ui::use_touch();
    ui::use_theme(false);
    for (const bool sentence : {false, true}) {
        if (sentence) screen.open_sentence();
        for (const LensEntry& lens : lens_list()) {
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            for (const bool open : {false, true}) {
                ui::folded().open = open;
                screen.draw(3);
                for (const ui::Node& each : ui::semantics()) {
                    if (each.role != ui::Role::group && each.role != ui::Role::radiogroup &&
                        each.role != ui::Role::tablist && each.role != ui::Role::grid)
                        continue;
                    CAPTURE(lens.key, each.key);
                    CHECK_FALSE(each.name.empty());
                }
            }
        }
    }
    ui::folded().open = false;
}
