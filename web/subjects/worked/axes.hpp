// Describes the dimensions of a worked example: which rows and columns of its input matrices belong together.
#pragma once

#include <utility>

#include "subjects/worked/state.hpp"

namespace attn::app {

enum class Axis { queries, keys, d_k, d_v, d_model };

// Returns the axes along the rows and columns of an input matrix. With projections, a token is both a query
// and a key, so queries and keys are one axis.
std::pair<Axis, Axis> axes_of(Stage input);

Index size_of(const WorkedState& worked, Axis axis);  // 0 if the example has no such axis

// Adjusts labels and painted cells, too. New rows and columns are zeros at the end, and new cells are
// allowed.
void resize(WorkedState& worked, Axis axis, Index size);
void remove_at(WorkedState& worked, Axis axis, Index index);

// Gives rows without a name names like "t3".
void resize_labels(std::vector<std::string>& labels, Index size);

// Says whether an input may hold the value: any finite f32, and for given scores also infinity.
bool may_hold(Stage input, double value);

// Checks that the inputs of the source exist, fit together, and hold only valid values.
Status check_inputs(const WorkedState& worked);

}  // namespace attn::app
