// Every head at once, as an archive of them is made: of a run, or of a person's own tensors.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "app/sentence_run.hpp"
#include "app/tensor_set.hpp"
#include "app/word_axis.hpp"

namespace attn::app {

struct AllHeads {
    // None of them: positions alone.
    struct Axis {
        std::span<const std::string> tokens{};
        const WordAxis* words = nullptr;  // that the maps have instead
    };

    HeadMaps map{};
    Index layers = 0, heads = 0;  // heads of a layer
    MapChoice choice{};           // of the maps
    Axis queries{}, keys{};
    std::span<const std::int32_t> ids{};
    std::map<std::string, std::string> source{};  // what they are of, by what that is called
    std::string instead;                          // of what is too large: "save one head's window"
};

// It refers to the run and the set, and is for now; its maps are not.
AllHeads all_heads(const SentenceRun& run, const MapChoice& choice, const std::string& model);
AllHeads all_heads(const TensorSet& set, const MapChoice& choice);

}  // namespace attn::app
