// Says what is on the screen to those who do not see it. Beside its picture a frame leaves a list of nodes, of which
// the page makes real elements over the canvas (web/shell/semantics.js). What is done to an element comes back as an
// ask, and the widget answers it where it draws.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn::ui {

// Named as in ARIA.
enum class Role : std::uint8_t {
    group,
    region,
    tablist,
    tab,
    tabpanel,
    button,
    radiogroup,
    radio,
    listbox,
    option,
    menu,
    menuitem,
    slider,
    spinbutton,
    textbox,
    combobox,
    heading,
    paragraph,
    status,
    img,
    grid
};

// The cells of a grid. A large one gives only those in view, or the one that matters.
struct CellGrid {
    Index rows = 0, cols = 0;                            // of all of it
    Index first_row = 0, first_col = 0;                  // of the cells that are given
    std::vector<std::string> row_names, column_names{};  // of the given rows and columns
    std::vector<double> values{};                        // row by row; −inf is hidden
    std::vector<std::string> words{};                    // instead of values
    int decimals = 2;                                    // of values
    ImVec2 at, cell;                                     // corner of the first cell, size of each
    std::optional<std::pair<Index, Index>> chosen{};     // row and column in all of it
    bool editable = false;

    bool operator==(const CellGrid& o) const;
};

struct SliderRange {
    double now = 0, least = 0, most = 0;
    bool operator==(const SliderRange&) const = default;
};

struct Node {
    std::string key;  // a landmark's name
    Role role = Role::group;
    int depth = 0;
    std::string name;
    std::string value{};        // as it is written
    std::string description{};  // its tooltip
    std::string active{};       // key of the option that a combobox points at
    bool disabled = false;
    std::optional<bool> on{};  // chosen, checked or, with `opens`, open
    bool opens = false;        // a list or a menu
    SliderRange range{};       // of a slider or a spin button, where it has one
    std::shared_ptr<const CellGrid> grid{};
    ImVec2 min{}, max{};
    ImGuiID window = 0;  // in which it lies

    bool operator==(const Node& o) const;
};

void clear_semantics();  // at the start of a frame

// Adds a node that is at the last ImGui item and answers what it is asked: to take the focus, to be pressed. The
// reference is good until the next node.
Node& semantic_item(Role role, std::string key, std::string name);
// Adds a node that is no ImGui item of its own.
Node& semantic_place(Role role, std::string key, std::string name, ImVec2 min, ImVec2 max);
// Adds words at the last ImGui item, or in a place.
void semantic_text(Role role, std::string_view text);
void semantic_text(std::string_view text, ImVec2 min, ImVec2 max);
// Returns the key of the item that the mouse has begun to press in this frame; empty if there is none.
const std::string& node_under_press();
void describe(const char* text);     // the last node; a choice, if that is one of its items
void rename_node(std::string name);  // the last node, where its label is a mere sign
void node_opens(bool open);          // the last node opens a list or a menu
// Adds the node of a text field that is the last ImGui item.
Node& semantic_field(Role role, std::string key, std::string name, std::string_view text);

// Nodes between the two belong to this one.
void begin_semantic_group(Role role, std::string key, std::string name);
void end_semantic_group();
class SemanticGroup {
  public:
    SemanticGroup(Role role, std::string key, std::string name) {
        begin_semantic_group(role, std::move(key), std::move(name));
    }
    ~SemanticGroup() { end_semantic_group(); }
    SemanticGroup(const SemanticGroup&) = delete;
    SemanticGroup& operator=(const SemanticGroup&) = delete;
};

// What an element has been asked since the last frame; widgets take what is theirs.
struct AskedCell {
    Index row = 0, col = 0;
    bool pressed = false;
    bool arrived = false;  // the focus has just come here
};
// A cell of the grid of this key, or what has this key, has the focus or is pressed.
std::optional<AskedCell> asked_cell(const std::string& key);
// The place "<prefix><number>" has the focus, or is pressed; its number is the column.
std::optional<AskedCell> asked_place(const std::string& prefix);
bool take_press();                           // says once that the last of these was pressed
double asked_steps(const std::string& key);  // how many steps up; infinite: to the end
// Adds the node of a slider at the last ImGui item and returns where it is asked to go.
std::optional<double> semantic_slider(const std::string& key, std::string name, std::string value,
                                      const SliderRange& range, bool logarithmic = false);

// ---- For the page -----------------------------------------------------------------------------------------

struct Ask {
    enum class Kind : std::uint8_t { press, step };
    Kind kind = Kind::press;
    std::string key;
    Index row = -1, col = -1;  // of a cell
    double steps = 0;
};
void ask(Ask what);
void focus_node(std::string key, Index row, Index col);  // an empty key: the focus is elsewhere
bool focus_is_in(std::string_view prefix);               // whether a node whose key begins so has it

const std::vector<Node>& semantics();  // of this frame, in reading order
bool semantics_changed();              // since they were last given
// Returns {"nodes": […], "typing": key}; a node that has not changed since the last call is its key alone.
std::string take_semantics();

}  // namespace attn::ui
