// Describes the screen to assistive technology. Besides its picture, a frame leaves a list of nodes, from
// which the page makes real elements over the canvas (web/shell/semantics.js). What a user does to an element
// comes back as a request, which the widget answers where it draws.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/format.hpp"
#include "tensor/tensor.hpp"

namespace attn::ui {

// Names are those of ARIA.
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

// Cells of a grid. A large grid lists only the cells in view, or a single relevant one.
struct CellGrid {
    Index rows = 0, cols = 0;                            // size of the whole grid
    Index first_row = 0, first_col = 0;                  // where the listed cells begin
    std::vector<std::string> row_names, column_names{};  // names of the listed rows and columns
    std::vector<double> values{};                        // row by row; −inf is hidden
    std::vector<std::string> words{};                    // instead of values
    app::Digits digits{};                                // digits of values
    ImVec2 at, cell;                                     // corner of the first cell, size of each
    std::optional<std::pair<Index, Index>> chosen{};     // row and column in the whole grid
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
    std::string value{};        // the text on the screen
    std::string description{};  // its tooltip
    std::string active{};       // key of the option that a combobox points at
    bool disabled = false;
    std::optional<bool> on{};  // chosen, checked or, with `opens`, open
    bool opens = false;        // opens a list or a menu
    bool lines = false;        // a field of several lines, which the page lays itself
    SliderRange range{};       // range of a slider or a spin button, if it has one
    std::shared_ptr<const CellGrid> grid{};
    ImVec2 min{}, max{};
    ImGuiID window = 0;  // the window that contains it

    bool operator==(const Node& o) const;
};

void clear_semantics();  // at the start of a frame

// Adds a node at the last ImGui item, which takes the focus or a press when asked. The reference is valid
// until the next node.
Node& semantic_item(Role role, std::string key, std::string name);
// Adds a node that is not an ImGui item.
Node& semantic_place(Role role, std::string key, std::string name, ImVec2 min, ImVec2 max);
// Adds text at the last ImGui item, or in a place.
void semantic_text(Role role, std::string_view text);
void semantic_text(std::string_view text, ImVec2 min, ImVec2 max);
// Returns the key of the item that the mouse began to press in this frame; empty if there is none.
const std::string& node_under_press();
void forget_press();                 // what is pressed may move
void describe(const char* text);     // describes the last node, or its group if it is an item of a choice
void rename_node(std::string name);  // renames the last node, if its label is a mere symbol
void node_opens(bool open);          // the last node opens a list or a menu
// Adds a node for a text field that is the last ImGui item.
Node& semantic_field(Role role, std::string key, std::string name, std::string_view text);

// Nodes between these two calls belong to this group.
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

// A request to a cell since the last frame. Each widget takes its own.
struct AskedCell {
    Index row = 0, col = 0;
    bool pressed = false;
    bool arrived = false;  // the focus has just arrived here
};
// Returns the cell of this key's grid, or the node with this key, if it has the focus or is pressed.
std::optional<AskedCell> asked_cell(const std::string& key);
// Returns the place "<prefix><number>" that has the focus or is pressed; its number is the column.
std::optional<AskedCell> asked_place(const std::string& prefix);
bool take_press();                           // returns true once if the last of these was pressed
double asked_steps(const std::string& key);  // number of steps up; infinite: to the end
// Adds a node for a slider at the last ImGui item. Returns the requested value.
std::optional<double> semantic_slider(const std::string& key, std::string name, std::string value,
                                      const SliderRange& range, bool logarithmic = false);

// ---- For the page -----------------------------------------------------------------------------------------

struct Ask {
    enum class Kind : std::uint8_t { press, step };
    Kind kind = Kind::press;
    std::string key;
    Index row = -1, col = -1;  // for a cell
    double steps = 0;
};
void ask(Ask what);
void focus_node(std::string key, Index row, Index col);  // an empty key: the focus is elsewhere
// Says whether a node whose key begins with the prefix has the focus.
bool focus_is_in(std::string_view prefix);

const std::vector<Node>& semantics();  // nodes of this frame, in reading order
bool semantics_changed();              // since take_semantics() was last called
// Returns {"nodes": […], "typing": key}; a node that has not changed since the last call is only its key.
std::string take_semantics();

}  // namespace attn::ui
