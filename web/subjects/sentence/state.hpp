// Defines what a user can set about a sentence in a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/state.hpp"
#include "runs/training_plan.hpp"
#include "subjects/sentence/changes.hpp"

namespace attn::app {

inline constexpr std::string_view sentence_subject = "sentence";

struct SamplingState {
    float temperature = 0.8f;  // 0: greedy
    Index top_k = 40;          // 0: all
    float top_p = 1;
    std::uint64_t seed = 7;
    bool operator==(const SamplingState&) const = default;
};

// What the sentence is compared with: another sentence, the run without its changes, or the same sentence in
// another model.
struct Comparison {
    std::string text = {};     // the second sentence
    std::string written = {};  // written text of the second sentence, as below
    bool before = false;       // compares with the run without its changes instead
    // Compares with another model reading the sentence: the named one or, if the name is empty, the next that
    // is opened.
    std::optional<std::string> model = {};
    bool of_text() const { return !before && !model; }
    bool operator==(const Comparison&) const = default;
};

// A sample of texts: means over texts use it, and lens Circuits may place its queries and keys.
struct Corpus {
    std::string own;         // one text per line; empty: paragraphs of train/sentences.hpp
    std::uint64_t seed = 1;  // for the paragraphs
    bool operator==(const Corpus&) const = default;
};
inline constexpr std::size_t longest_corpus = 20'000;
inline constexpr std::uint64_t corpus_seed_limit = 1'000'000;

// Two sets of texts, one text per line, whose difference steers a run: at first an example.
struct Contrast {
    std::string positive =
        "The girl sang because she\nThe old woman slept until she\nThe queen said that she";
    std::string negative = "The boy sang because he\nThe old man slept until he\nThe king said that he";
    bool operator==(const Contrast&) const = default;
};

struct SentenceState {
    std::string text;
    std::string written;  // text written by the decoder of an encoder–decoder, which reads `text`
    std::string model;    // name of the folder that the model was opened from; empty: none yet
    std::optional<TrainedHere> trained;  // set if the model named by `model` was trained on this page
    SamplingState sampling;
    std::optional<Comparison> compared;
    RunChanges changes;
    Corpus corpus;
    Contrast contrast;
    bool operator==(const SentenceState&) const = default;
};

inline const SentenceState& sentence_of(const State& state) { return state.of<SentenceState>(); }

}  // namespace attn::app
