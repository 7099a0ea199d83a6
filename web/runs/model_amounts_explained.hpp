// Explains what a model takes.
#pragma once

#include "app/explained.hpp"
#include "runs/model_amounts.hpp"

namespace attn::app {

// Adds formula, unit and steps; a time, which needs a roofline, also says where that is from.
void explain_amount(Explained& out, const ModelUse& use, Amount amount);

}  // namespace attn::app
