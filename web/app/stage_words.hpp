// Says what the page calls the stages of a run (attention/stage.hpp).
#pragma once

#include <string>

#include "attention/stage.hpp"

namespace attn::app {

// Names a stage in running text and on buttons: "weights", "final residual".
std::string label(Stage stage);
// Names the values of a stage of pairs beside a colour bar: "weight × ‖V‖".
const char* value_name(Stage stage);

}  // namespace attn::app
