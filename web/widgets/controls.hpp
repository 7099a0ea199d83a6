// Small controls with one look: buttons, choices, steppers, sliders. Each names itself as a landmark.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tensor/tensor.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

// Controls stand in lines that break where the width ends: before one that needs so much.
void next_control(float width);

void label(const char* text);  // before a control

bool button(const char* name, const char* label, bool enabled = true);

// A row of choices, one of them taken; the index of a newly taken one.
std::optional<int> choice(const char* name, std::span<const char* const> labels, int taken);

// A button that opens a list; the index of what is chosen from it. Landmarks are the name, and name/item.
std::optional<int> menu(const char* name, const char* label, std::span<const char* const> items);

// "label  − value +"; the new value.
std::optional<Index> stepper(const char* name, const char* label, Index value, Index least, Index most);
// The same in steps of its own; `shown` stands for the value.
struct Lead {
    Index value = 0;
    std::string refused;  // why it does not lead there; empty: it does
};
std::optional<Index> stepper(const char* name, const char* label, const std::string& shown, const Lead& less,
                             const Lead& more);

// A labelled slider with its value in numbers beside it; the new value while it is dragged or typed
// (Ctrl+click types). `active` says whether a drag is under way.
std::optional<double> slider(const char* name, const char* label, double value, double least, double most,
                             const char* format, bool logarithmic = false);

// A number of the gesture under way: the same for all commands of one drag, another for the next.
std::uint64_t gesture();
void next_gesture();  // when the mouse goes up or a field is left

void heading(const char* text);  // of a lens
void section(const char* text,
             bool with_controls = false);  // of its parts; with controls after it on its line
void caption(const char* text);            // dim, wrapped
// One line of a list: a name as it is typed, and what it is.
void list_item(const char* name, const char* what);
void badge(const char* text, ImU32 fill, ImU32 ink);
void tooltip(const char* text);  // for the last item

}  // namespace attn::ui
