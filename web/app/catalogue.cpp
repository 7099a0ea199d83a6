#include "app/catalogue.hpp"

#include <algorithm>

namespace attn::app {

const SubjectEntry* find_subject(std::string_view key) {
    const auto found = std::ranges::find(subject_list(), key, &SubjectEntry::key);
    return found == subject_list().end() ? nullptr : &*found;
}

const LensEntry* find_lens(std::string_view key) {
    const auto found = std::ranges::find(lens_list(), key, &LensEntry::key);
    return found == lens_list().end() ? nullptr : &*found;
}

const SubjectEntry& subject_of(const State& state) { return *find_subject(state.subject); }
const LensEntry& lens_of(const State& state) { return *find_lens(state.lens); }

std::string_view usual_lens(const State& state) {
    const SubjectEntry& subject = subject_of(state);
    if (subject.has_second && subject.has_second(state)) {
        const auto found = std::ranges::find(lens_list(), true, &LensEntry::compares);
        if (found != lens_list().end()) return found->key;
    }
    return subject.lens;
}

std::string_view lens_of_scores() {
    return std::ranges::find(lens_list(), true, &LensEntry::takes_scores_apart)->key;
}

State default_state() {
    State state;
    state.subject = subject_list().front().key;
    state.lens = usual_lens(state);
    return state;
}

}  // namespace attn::app
