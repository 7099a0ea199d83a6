// Provides small controls in a common style: buttons, choices, steppers, sliders. Each control has a landmark
// and a semantics node.
#pragma once

#include <cfloat>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "tensor/result.hpp"
#include "tensor/tensor.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

// Call before a control of this width; starts a new line if it does not fit on the current one. On a Row,
// returns false if the control is behind More: do not draw it then.
bool next_control(float width);

// Draws what belongs together, a label and its control, as next_control() says. Returns whether it did.
bool control(float width, auto&& draw) {
    if (!next_control(width)) return false;
    ImGui::BeginGroup();
    draw();
    ImGui::EndGroup();
    return true;
}

void label(const char* text);  // placed before a control
// While it lives, labels are as wide as their text. Otherwise all have the same width, so that controls on
// successive lines start at the same x.
class TightLabels {
  public:
    TightLabels();
    ~TightLabels();
    TightLabels(const TightLabels&) = delete;
    TightLabels& operator=(const TightLabels&) = delete;

  private:
    bool before_;
};

// While it lives, the controls of a lens or of a subject are on one line. Those that do not fit are behind
// More, a button at the right end of the line, which shows them on further lines:
//
//     const ui::Row row("softmax/settings");
//     if (ui::next_control(ui::need::slider)) draw_temperature();
//     if (ui::next_control(ui::need::stepper)) draw_query();
//
// A label needs next_control() before the first control, too. In a narrow window, all of them are shown.
class Row {
  public:
    // `key` is part of a landmark, "more/<key>".
    explicit Row(std::string key, const char* label = nullptr);
    ~Row();
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;
    bool next(float width);                   // for next_control()
    bool next_radio(float width, float gap);  // for choice(), whose options may go behind More one by one

  private:
    void draw_more();

    std::string key_;
    const char* label_;  // names a row of things to try; null: settings
    float left_, right_;
    float used_ = 0;    // where the line would end if it held all controls
    float widths_ = 0;  // asked for so far
    ImVec2 start_;      // where the first control begins
    ImGuiID window_;
    bool was_pressed_ = !node_under_press().empty();  // something before it
    bool is_labelled_ = false, is_full_ = false, is_behind_ = false, is_open_ = false;
    std::optional<TightLabels> tight_;
};
// Between the lines above the pictures: headline, hint, things to try, settings.
inline constexpr float head_gap = 6;
// Labels a Row of things to try, which comes before the settings.
inline constexpr const char* to_try = "Try";

bool button(const char* name, const char* label, bool enabled = true);
// Draws a button; if its step is impossible, the button is disabled and says why.
bool button(const char* name, const char* label, const Status& possible);
// Draws a button whose label changes with use. It is as wide as its widest label, so that its neighbours do
// not move.
bool button(const char* name, const char* label, std::initializer_list<const char*> labels,
            const Status& possible = ok());

// Draws a button that stays down while it is on; its label has to say so, too.
bool toggle(const char* name, const char* label, bool on);

// Draws a row of choices with one of them selected. Returns the index of a newly selected one.
// Continues the line if a button with this label has room there; otherwise it begins a new one.
bool next_button(const std::string& label);
std::optional<int> choice(const char* name, std::span<const char* const> labels, int taken);
// The same with a label before it, as one item.
std::optional<int> labelled_choice(const char* label, const char* name, std::span<const char* const> labels,
                                   int taken);

// Draws a button that opens a list. Returns the index of the chosen item. Landmarks are the name, and
// name/item.
std::optional<int> menu(const char* name, const char* label, std::span<const char* const> items,
                        const char* called = nullptr);

// Opens a list of many options, with `shown` as the selected one. If it returns true, draw the options and
// call end_list().
bool begin_list(const char* name, const char* label, const char* shown);
bool list_option(const char* name, const char* label, bool on, bool enabled = true);
void end_list();

// The options of a list with this name; an option's landmark is the list's name, a slash and its key.
class ListOptions {
  public:
    explicit ListOptions(std::string list) : list_(std::move(list)) {}
    // Returns true if it was chosen.
    bool option(std::string_view key, const std::string& label, bool on, bool enabled = true) const {
        return list_option((list_ + "/").append(key).c_str(), label.c_str(), on, enabled);
    }

  private:
    std::string list_;
};
// Draws a list in a row of settings, with a label before it. `draw` draws the options while it is open.
void labelled_list(const char* label, const std::string& name, const std::string& shown, float width,
                   const std::function<void(const ListOptions&)>& draw);

// Draws "label  − value +". Returns the new value.
std::optional<Index> stepper(const char* name, const char* label, Index value, Index least, Index most);
// The same with custom steps; `shown` is displayed as the value.
struct Lead {
    Index value = 0;
    std::string refused;  // why the step is refused; empty if it is allowed
};
std::optional<Index> stepper(const char* name, const char* label, const std::string& shown, const Lead& less,
                             const Lead& more, const SliderRange& range = {});

// Draws a labelled slider with its value as a number next to it. Returns the new value while it is dragged or
// typed (Ctrl+click to type). `active` says whether a drag is in progress.
std::optional<double> slider(const char* name, const char* label, double value, double least, double most,
                             const char* format, bool logarithmic = false);

// Returns the number of the current gesture: the same for all commands of one drag, another for the next.
std::uint64_t gesture();
void next_gesture();  // call when the mouse is released or a field loses focus

// Breaks lines at blanks, and within a word only if it is too long for a line.
void wrapped_text(std::string_view text, float most_width = FLT_MAX, Role role = Role::paragraph);
void heading(const char* text);  // heading of a lens
// Heading of a part; controls may follow on its line.
void section(const char* text, bool with_controls = false);
// Holds what is folded away, so that the picture comes first. In a narrow window, a lens's hint moves to the
// guide and its settings behind a button. In a wide one, a hint has one line, and its further sentences move;
// the subject's own controls are in the row of tabs.
struct Folded {
    std::string hint;      // for the guide
    bool offered = false;  // the lens has settings
    bool open = false;
    std::set<std::string, std::less<>> rows;  // the rows whose More is open
    bool subject = false;                     // its controls are in the row of tabs
    bool head = false;                        // what is told of the chosen head is behind its name
};
Folded& folded();
void hint(const char* text);
bool settings();
void caption(const char* text);  // dim, wrapped
// Draws text in lines no wider than `most_width`, so that they are easy to read.
void paragraph(const std::string& text, ImU32 colour, float most_width = reading_width);
// Draws one line of a list: a name as it is typed, and its meaning.
void list_item(const char* name, const char* what);
void badge(const char* text, ImU32 fill, ImU32 ink);

// Shows a text above or below what it explains, never on top of it.
void tooltip(const char* text);  // for the last item, while it is hovered over
void tooltip_at(ImVec2 min, ImVec2 max, const char* text);
void tooltip_at_cursor(const char* text);  // for something small in a large picture

// Says whether a pointer holds the last item; a press by keyboard has no position.
bool held();
// Says whether the mouse has moved farther from where its button was pressed than a hand trembles.
bool dragged();
// Says whether the mouse button was released where it was pressed.
bool clicked();

}  // namespace attn::ui
