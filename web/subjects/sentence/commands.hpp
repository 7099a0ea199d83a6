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
// What the decoder of an encoder–decoder has written.
struct SetWritten {
    std::string text;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Shows a model that comes with the page on a text, and on what its decoder has written.
struct OpenBundled {
    std::string model, text, written;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Puts something beside the sentence, or beside `text`, which then replaces the sentence; without it, the comparison
// ends.
struct Compare {
    std::optional<Comparison> with = {};
    std::optional<std::string> text = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetModel {
    std::string name;
    // The model that was open wrote no text, so that what is written came with a link and waits for one that does.
    bool keeps_written = false;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Shows a network that was trained in this page, at one of its steps, on a text.
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

// Says whether a model may have this name: UTF-8 of at most 200 bytes.
bool is_model_name(std::string_view text);
// A model of the hub is named hub:org/name@revision, as in links.
bool is_hub_model(std::string_view name);
// How a user reads the name of a model: of the hub's without the prefix, and without a revision that is a
// commit's hash.
std::string shown_name(std::string_view name);

}  // namespace attn::app
