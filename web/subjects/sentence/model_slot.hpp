// Holds a model that is open.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/model.hpp"
#include "runs/training_plan.hpp"

namespace attn::app {

struct ModelSlot {
    std::shared_ptr<const Model> model = {};  // null: none is open
    std::string name = {};
    // The network that the model is, if it was trained on this page.
    std::optional<TrainedHere> trained = {};
    std::optional<std::string> alphabet = {};  // none: not requested since the model was opened

    std::int64_t bytes() const { return model ? model->memory_bytes() : 0; }
};

}  // namespace attn::app
