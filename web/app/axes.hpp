// The dimensions of a worked example: which rows and columns of its input matrices go together.
#pragma once

#include <utility>

#include "app/state.hpp"

namespace attn::app {

enum class Axis { queries, keys, d_k, d_v, d_model };

// The axes along the rows and the columns of an input matrix. With projections a token is a query and a key,
// so queries and keys are one axis.
std::pair<Axis, Axis> axes_of(MatrixId input);

Index size_of(const WorkedState& worked, Axis axis);  // 0 where the example has no such axis

// Labels and painted cells follow; rows and columns are added as zeros at the end, and new cells may be seen.
void resize(WorkedState& worked, Axis axis, Index size);
void remove_at(WorkedState& worked, Axis axis, Index index);

// "t3" for the rows that have no name yet.
void resize_labels(std::vector<std::string>& labels, Index size);

// Whether an input may hold the value: what f32 can hold, and given scores may be infinite as well.
bool may_hold(MatrixId input, double value);

// Whether the inputs that the source asks for are there, fit together, and hold what they may.
Status check_inputs(const WorkedState& worked);

}  // namespace attn::app
