// Gives every command of the page in every lens over every subject, whether or not there is something to see.
#include <catch_amalgamated.hpp>
#include <functional>

#include "app/link.hpp"
#include "support/this_build.hpp"
#include "support/translator.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// A scene: a subject, and how it is opened.
struct Scene {
    const char* name;
    std::string_view subject;
    void (*open)(Screen& screen);
};

const std::vector<Scene>& scenes() {
    static const std::vector<Scene> all{
        {"the example", worked_subject, [](Screen&) {}},
        {"no model", sentence_subject, [](Screen&) {}},
        {"a model without a text", sentence_subject, [](Screen& s) { load_tiny_model(s.visit); }},
        {"a model on its way", sentence_subject,
         [](Screen& s) {
             s.page.bundled = {"tiny"};
             s.visit.perform(SetModel{"tiny"});
         }},
        {"a sentence", sentence_subject, [](Screen& s) { s.open_sentence(); }},
        {"two sentences", sentence_subject,
         [](Screen& s) {
             s.open_sentence();
             s.visit.perform(Compare{Comparison{"other words", ""}});
             s.visit.tokens({Box::second, "other words", {1, 2, 3}, {"a", "b", "c"}, 3});
         }},
        {"a changed sentence", sentence_subject,
         [](Screen& s) {
             s.open_sentence();
             s.visit.perform(ChangeRun{{.at = {.site = Site::head_output, .attention = 0, .head = 1}}});
         }},
        {"a translation", sentence_subject, [](Screen& s) { open_translator(s.visit, s.page); }},
        {"no tensors", tensors_subject, [](Screen&) {}},
        {"finished weights", tensors_subject,
         [](Screen& s) { put(s.visit, {{"weights.npy", weights_npy({2, 3, 4, 4})}}); }},
        {"queries and keys", tensors_subject,
         [](Screen& s) {
             put(s.visit, {{"q.npy", normal_npy({2, 5, 4}, 1)}, {"k.npy", normal_npy({2, 5, 4}, 2)}});
         }},
        {"queries, keys and values", tensors_subject,
         [](Screen& s) {
             put(s.visit, {{"q.npy", normal_npy({2, 5, 4}, 1)},
                           {"k.npy", normal_npy({2, 5, 4}, 2)},
                           {"v.npy", normal_npy({2, 5, 4}, 3)}});
         }},
        {"no training", training_subject, [](Screen&) {}},
        {"a training that has not begun", training_subject, [](Screen& s) { s.train_some(0); }},
        {"a training", training_subject, [](Screen& s) { s.train_some(); }},
    };
    return all;
}

void read_tables(Screen& screen) {
    const std::vector<Table> tables = screen.frame.tables();
    CHECK_FALSE(tables_json(tables).empty());
    if (!tables.empty()) (void)table_text(tables.front());  // Ctrl+C
    for (const Table& table : tables) {
        CHECK(std::ssize(table.columns) == table.values.cols);
        CHECK(std::ssize(table.row_labels) == table.values.rows);
        for (const char* form : {"cells", "markdown", "shades"}) (void)written_table(table, form);
    }
}

// Opens every menu with this name and takes all of its items.
void save_all(Screen& screen) {
    const auto all = [&](const std::string& within) {
        std::vector<std::string> names;
        for (const auto& [name, place] : ui::landmarks())
            if (name.ends_with("/save") || (!within.empty() && name.starts_with(within + "/")))
                names.push_back(name);
        return names;
    };
    // What the lens has scrolled out of view lies under the tabs or the status line.
    const auto in_view = [&](const std::string& name) {
        if (!screen.shows(name)) return false;
        const auto [min, max] = ui::landmarks().at("panel/lens");
        const ImVec2 at = screen.middle(name);
        return at.y > min.y && at.y < max.y;
    };
    for (const std::string& menu : all("")) {
        if (!in_view(menu)) continue;
        screen.click(menu);
        for (const std::string& item : all(menu)) {
            if (!screen.shows(item) && in_view(menu)) screen.click(menu);
            if (in_view(item)) screen.click(item);
            // This page takes no pictures.
            screen.visit.picture_taken();
            screen.draw(2);
        }
        screen.press(ImGuiKey_Escape);
    }
    screen.settle();
}

void pin_cells(Screen& screen) {
    for (const Index at : {0, 1})
        for (std::size_t stage = 0; stage < std::size_t{stage_count}; ++stage) {
            const RunCell cell{static_cast<Stage>(stage), at, at};
            if (!may_pin(screen.visit.state(), cell)) continue;
            screen.visit.perform(Pin{cell});
            screen.draw(1);
        }
    screen.visit.perform(Pin{std::nullopt});
}

struct PageCommand {
    const char* name;
    std::function<void(Screen&)> give;
};

const std::vector<PageCommand>& page_commands() {
    static const std::vector<PageCommand> all{
        {"Table", read_tables},
        {"Save", save_all},
        {"Link", [](Screen& s) { CHECK(parse_fragment(to_fragment(s.visit.state())).note.empty()); }},
        {"a link followed", [](Screen& s) { s.visit.open_fragment(to_fragment(s.visit.state())); }},
        {"B", [](Screen& s) { s.press(ImGuiKey_B); }},
        {"numbers pasted", [](Screen& s) { s.frame.pasted("1\t2\n3\t4"); }},
        {"pins", pin_cells},
        {"the palette",
         [](Screen& s) {
             s.frame.open_palette();
             s.draw(2);
             s.type("undo");
             s.press(ImGuiKey_Enter);
             s.press(ImGuiKey_Escape);
         }},
        {"undo", [](Screen& s) { s.visit.undo(); }},
        {"redo", [](Screen& s) { s.visit.redo(); }},
    };
    return all;
}

}  // namespace

TEST_CASE("numbers pasted where none can begin are refused with what to do") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.draw(2);
    screen.frame.pasted("1\t2");
    REQUIRE_FALSE(screen.page.notices.empty());
    CHECK(screen.page.notices.back() == "To paste numbers, first click the cell where they should begin.");
    screen.open_sentence(6);
    screen.frame.pasted("1\t2");
    CHECK(screen.page.notices.back() == "There is no cell to paste numbers into. Edit a copy in Example.");
}

TEST_CASE("every command can be given in every lens, over every subject, with or without something to see") {
    std::size_t number = 0;
    for (const Scene& scene : scenes()) {
        ++number;
        DYNAMIC_SECTION(scene.name) {
            Screen screen;
            screen.visit.perform(OpenSubject{scene.subject});
            scene.open(screen);
            screen.settle();
            std::size_t lens_number = 0;
            for (const LensEntry& lens : lens_list()) {
                // Sanitizers are slow, so each lens is only tested with some of the scenes.
                if (++lens_number % 3 != number % 3 && test::sanitized) continue;
                const auto open = [&] {
                    screen.visit.perform(OpenSubject{scene.subject});
                    screen.visit.perform(OpenLens{lens.key});
                    screen.draw(2);
                };
                for (const PageCommand& command : page_commands()) {
                    INFO(scene.name << " through " << lens.key << ": " << command.name);
                    open();
                    command.give(screen);
                    screen.draw(2);
                }
                open();
                screen.settle();
                CHECK_FALSE(screen.visit.busy());
                CHECK_FALSE(screen.visit.frame_computes());
            }
        }
    }
}
