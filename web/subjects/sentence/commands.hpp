// Defines what a user can change about a sentence in a model.
#pragma once

#include "app/command.hpp"
#include "attention/head_index.hpp"
#include "subjects/sentence/state.hpp"

namespace attn::app {

struct SetText {
    std::string text;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Sets what the decoder of an encoder–decoder has written.
struct SetWritten {
    std::string text;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Shows a bundled model on a text, and on its decoder's text.
struct OpenBundled {
    std::string model, text, written;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Compares the sentence with something, or with `text`, which then replaces the sentence; without an
// argument, the comparison ends.
struct Compare {
    std::optional<Comparison> with = {};
    std::optional<std::string> text = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetModel {
    std::string name;
    // The previous model wrote no text, so the written text came with a link and waits for a model that
    // writes.
    bool keeps_written = false;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Shows a network trained on this page, at one of its steps, on a text.
struct OpenTrained {
    TrainedHere network;
    std::string text;
    HeadIndex head;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetSampling {
    SamplingState sampling;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

struct SetCorpus {
    Corpus corpus;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetContrast {
    Contrast contrast;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

// Says whether a model may have this name: UTF-8 of at most 200 bytes.
bool is_model_name(std::string_view text);
// Links name a model of the hub hub:org/name@revision.
bool is_hub_model(std::string_view name);
// Returns a model's name as shown: for the hub's models without the prefix, and without a revision that is a
// commit hash.
std::string shown_name(std::string_view name);

}  // namespace attn::app
