#include "lenses/memory/memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "tensor/random.hpp"

namespace attn::app {

namespace {

constexpr Index first_steps = 6;                   // shown in the grids
constexpr Index most_ranked = 256;                 // keys
constexpr std::size_t keys_told = 3;               // named in a sentence
constexpr double told_share = 0.9;                 // share of the weight
constexpr Index at_once = Index{1} << 19;          // multiplications of a path that the sentence waits for
constexpr double margin = 0.12, least_box = 1e-3;  // relative to the patterns' extent

bool has_scores(const Attention& attention) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, Stage::raw) != stages.end();
}

}  // namespace

std::optional<Missing> MemoryLens::missing(Subject& subject) const {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{"These weights came finished. A memory needs the queries and keys they were made of."};
    if (!has_scores(attention))
        return Missing{"These scores were given. A memory needs the queries and keys they are made of."};
    return std::nullopt;
}

// ---- Inputs -----------------------------------------------------------------------------------------------

// A record keeps its whole run in memory, so it is released.
void MemoryLens::follow(const State&, Change) {
    if (row_.record && &visit().lens() != this) forget();
}

void MemoryLens::forget() {
    row_ = {};
    patterns_.reset();
    principal_.reset();
    plane_.reset();
    path_.reset();
    basins_.reset();
    moves_of_ = {};
    moves_.reset();
    stored_bits_ = {};
    bits_.reset();
    recall_.reset();
    capacity_.reset();
    kept_.reset();
}

void MemoryLens::update_row(Subject& subject) {
    const Attention& attention = *subject.attention();
    const ChosenRow row = chosen_row(subject);
    if (row == row_ && row.record) return;
    row_ = row;
    patterns_.reset();
    principal_.reset();
    plane_.reset();
    path_.reset();
    basins_.reset();
    kept_.reset();
    refused_.clear();
    own_beta_ = 0;
    if (!row.record) {
        refused_ = "The queries and keys of this head are being computed.";
        return;
    }
    own_beta_ = row.record->scale();
    if (row.query < 0 || attention.keys() == 0) {
        refused_ = "There is no query here, or no key to look at.";
        return;
    }
    auto patterns = patterns_seen(*row.record, row.head.head, row.query);
    auto query = query_state(*row.record, row.head.head, row.query);
    if (!patterns || !query) {
        refused_ = (patterns ? query.error() : patterns.error()).message;
        if (row.record->d_k() > 0) refused_ += " Choose another query.";
    } else if (patterns->count() == 0) {
        refused_ = "The mask hides every key from " + query_name(subject) +
                   ", so nothing is stored and its output is 0. Choose another query.";
    } else {
        query_ = *std::move(query);
        patterns_ = std::make_shared<const HopfieldPatterns>(*std::move(patterns));
        principal_.emplace(patterns_);
    }
}

bool MemoryLens::plane_is_due() const {
    return patterns_ && !plane_ && (plane_kind_ != MemoryPlane::spread || principal_->done());
}

// Includes the places of all patterns. With 16,384 keys this takes milliseconds, so with many keys it is a
// step of the work.
void MemoryLens::find_plane() {
    if (plane_kind_ == MemoryPlane::spread) {
        plane_ = principal_->plane();
    } else {
        HopfieldLook<double> look;
        hopfield_look<double>(*patterns_, 1, query_, look);
        const auto strongest = std::ranges::max_element(look.products) - look.products.begin();
        plane_ = plane_through(*patterns_, query_, patterns_->in_double(strongest));
    }
    basins_.reset();
    places_.clear();
    for (Index i = 0; i < patterns_->count(); ++i) places_.push_back(plane_->place_of(patterns_->at(i)));
    const auto start = plane_->place_of(query_);
    double size = least_box * std::max(patterns_->largest, 1e-6);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        double low = start[axis], high = low;
        for (const auto& place : places_) {
            low = std::min(low, place[axis]);
            high = std::max(high, place[axis]);
        }
        box_.low[axis] = box_.high[axis] = (low + high) / 2;
        size = std::max(size, (0.5 + margin) * (high - low));
    }
    for (std::size_t axis = 0; axis < 2; ++axis) {
        box_.low[axis] -= size;
        box_.high[axis] += size;
    }
}

void MemoryLens::update_modern() {
    const MemoryState& asked = now();
    refused_beta_.clear();
    beta_ = asked.beta.value_or(own_beta_);
    if (!(*beta_ > 0) || !std::isfinite(*beta_)) {
        refused_beta_ = "This head’s scores are multiplied by " + fixed(*beta_, 4) +
                        ", which is no β over 0. Set a β instead.";
        beta_.reset();
    }
    if (!patterns_) return;
    if (plane_kind_ != asked.plane) {
        plane_kind_ = asked.plane;
        plane_.reset();
        basins_.reset();
    }
    if (plane_is_due() && look_cost(patterns_->count(), patterns_->components) <= at_once) find_plane();
    if (!beta_) {
        path_.reset();
        basins_.reset();
        return;
    }
    if (!asked.start || plane_) {
        std::vector<double> start = asked.start ? plane_->point_at(*asked.start) : query_;
        if (!path_ || path_->beta() != *beta_ || path_->points().front().state != start) {
            kept_.reset();
            off_attention_.reset();
            path_.emplace(patterns_, *beta_, std::move(start));
            ++paths_made_;
            const Index look = look_cost(patterns_->count(), patterns_->components);
            for (Index left = at_once; left >= look && path_->step();) left -= look;
        }
    } else {
        path_.reset();
    }
    const BasinsOf basins_of{beta_, asked.plane};
    if (plane_ && (!basins_ || basins_of != basins_of_)) {
        basins_of_ = basins_of;
        basins_.emplace(patterns_, *beta_, *plane_, box_);
        ++basins_made_;
    }
    MovesOf moves_of{row_.record, row_.head.head, *beta_};
    if (!moves_ || moves_of != moves_of_) {
        moves_of_ = std::move(moves_of);
        moves_.emplace(row_.record, row_.head.head, *beta_);
    }
}

void MemoryLens::update_classical() {
    const MemoryState& asked = now();
    StoredBits wanted{{}, asked.bits, asked.patterns, asked.seed};
    if (asked.of_keys) wanted = {row_, 0, 0, 0};
    if (!bits_ || wanted != stored_bits_) {
        stored_bits_ = wanted;
        bits_.reset();
        recall_.reset();
        kept_.reset();
        if (!asked.of_keys) {
            bits_ = std::make_shared<const BinaryMemory>(
                asked.bits, random_bits(asked.bits * asked.patterns, static_cast<std::uint64_t>(asked.seed)));
        } else if (patterns_) {
            const Index count = std::min(patterns_->count(), memory_most_keys) * patterns_->components;
            bits_ = std::make_shared<const BinaryMemory>(
                patterns_->components,
                signs_of(std::vector<double>(patterns_->values.begin(), patterns_->values.begin() + count)));
        }
    }
    if (!bits_) return;
    const CueOf cue_of{asked.flipped, stored(), asked.seed, beta_.value_or(0)};
    if (!recall_ || cue_of != cue_of_) {
        kept_.reset();
        cue_of_ = cue_of;
        const auto flips =
            static_cast<Index>(std::lround(asked.flipped * static_cast<double>(bits_->bits())));
        const auto seed = mixed(static_cast<std::uint64_t>(asked.seed), static_cast<std::uint64_t>(stored()));
        cue_ = with_flips(bits_->pattern(stored()), flips, seed);
        recall_.emplace(bits_, cue_, seed);
        beside_.reset();
        if (beta_)
            beside_.emplace(std::make_shared<const HopfieldPatterns>(patterns_of(*bits_)), *beta_,
                            std::vector<double>(cue_.begin(), cue_.end()));
    }
    const CapacityTrials::Setting capacity_of{asked.bits, asked.flipped, beta_.value_or(1)};
    if (!capacity_ || capacity_of != capacity_of_) {
        capacity_of_ = capacity_of;
        capacity_.emplace(capacity_of);
    }
}

void MemoryLens::update(Subject& subject) {
    update_row(subject);
    update_modern();
    if (now().network == MemoryNetwork::classical) update_classical();
}

bool MemoryLens::pending() const {
    const auto left = [](const auto& job) { return job && !job->done(); };
    if (now().network == MemoryNetwork::classical) return left(recall_) || left(beside_) || left(capacity_);
    return left(path_) || left(principal_) || plane_is_due() || left(basins_) || left(moves_);
}

bool MemoryLens::step() {
    const auto left = [](const auto& job) { return job && !job->done(); };
    if (now().network == MemoryNetwork::classical) {
        constexpr Index visited = Index{1} << 18;  // patterns of bits
        kept_.reset();                             // its numbers are still being computed
        if (left(recall_))
            for (Index visits = visited / (bits_->count() + 1); visits >= 0 && recall_->step(); --visits)
                continue;
        else if (left(beside_))
            beside_->step();
        else if (left(capacity_))
            capacity_->step();
    } else if (left(path_)) {
        path_->step();
    } else if (left(principal_)) {
        principal_->step();
    } else if (plane_is_due()) {
        find_plane();
    } else if (left(basins_)) {
        basins_->step();
    } else if (left(moves_)) {
        moves_->step();
    }
    return pending();
}

std::string MemoryLens::query_name(Subject& subject) const {
    return query_in_words(*subject.attention(), row_.query);
}
std::string MemoryLens::key_name(Subject& subject, Index key) const {
    return key_in_words(*subject.attention(), key);
}

Index MemoryLens::stored() const { return std::min(now().stored, bits_->count() - 1); }

std::array<Index, 2> MemoryLens::wrong_bits() const {
    const Bits pattern = bits_->pattern(stored());
    return {bits_that_differ(cue_, pattern), bits_that_differ(recall_->state(), pattern)};
}

std::vector<Index> MemoryLens::steps_shown() const {
    std::vector<Index> steps;
    for (Index t = 0; t <= std::min(path_->steps(), first_steps); ++t) steps.push_back(t);
    if (path_->steps() > first_steps) steps.push_back(path_->steps());
    return steps;
}

std::vector<Index> MemoryLens::heaviest_keys(Index most) {
    // With 16,384 keys this takes milliseconds, so it is done once per step of the path, not in every frame.
    if (ranked_.path != paths_made_ || ranked_.looks != path_->looked_at()) {
        std::vector<double> largest(static_cast<std::size_t>(patterns_->count()), 0);
        for (const Index t : steps_shown()) {
            const auto& weights = path_->points()[static_cast<std::size_t>(t)].weights;
            for (std::size_t j = 0; j < weights.size(); ++j) largest[j] = std::max(largest[j], weights[j]);
        }
        std::vector<Index> keys(largest.size());
        std::iota(keys.begin(), keys.end(), 0);
        const auto middle = keys.begin() + std::min(patterns_->count(), most_ranked);
        std::ranges::partial_sort(
            keys, middle, {}, [&](Index j) { return std::pair(-largest[static_cast<std::size_t>(j)], j); });
        keys.erase(middle, keys.end());
        ranked_ = {paths_made_, path_->looked_at(), std::move(keys)};
    }
    const auto count = std::min(most, std::ssize(ranked_.keys));
    std::vector<Index> shown(ranked_.keys.begin(), ranked_.keys.begin() + count);
    const auto chosen = std::ranges::find(patterns_->keys, state().selection.key.value_or(-1));
    if (const Index j = chosen - patterns_->keys.begin();
        chosen != patterns_->keys.end() && !shown.empty() && std::ranges::find(shown, j) == shown.end())
        shown.back() = j;
    return shown;
}

std::optional<double> MemoryLens::off_attention() {
    if (!path_ || path_->looked_at() == 0 || now().start || *beta_ != own_beta_) return std::nullopt;
    if (off_attention_) return off_attention_;
    const auto& weights = path_->steps() > 0 ? path_->points()[1].weights : path_->weights();
    const std::vector<float> own = row_.record->weights(row_.head.head, row_.query);
    double off = 0;
    for (std::size_t j = 0; j < weights.size(); ++j)
        off = std::max(off, std::abs(weights[j] -
                                     static_cast<double>(own[static_cast<std::size_t>(patterns_->keys[j])])));
    return off_attention_ = off;
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string MemoryLens::mostly(Subject& subject, std::span<const double> weights) const {
    std::vector<std::size_t> order(weights.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto told = std::min(order.size(), keys_told);
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(told), {},
                              [&](std::size_t i) { return std::pair(-weights[i], i); });
    std::string text;
    double share = 0;
    for (std::size_t i = 0; i < told && share < told_share; ++i) {
        share += weights[order[i]];
        text += (i == 0 ? "" : ", ") + key_name(subject, patterns_->keys[order[i]]) + " (" +
                percent(weights[order[i]]) + ")";
    }
    return text;
}

std::string MemoryLens::modern_sentence(Subject& subject) const {
    if (!refused_.empty()) return refused_;
    if (!refused_beta_.empty()) return refused_beta_;
    const std::string from =
        "At " + beta_text(*beta_) + ", " + (now().start ? "your start" : query_name(subject));
    if (!path_ || !path_->done()) return from + " is on its way to a memory.";
    const std::string steps = " in " + many(path_->steps(), "step");
    if (!path_->settled()) return from + " is still moving after " + many(path_->steps(), "step") + ".";
    const double effective = effective_patterns(path_->weights());
    const Index seen = patterns_->count();
    if (seen == 1) return from + " falls" + steps + " to the only key it sees.";
    switch (memory_kind(effective, seen)) {
        case MemoryKind::one:
            return from + " falls" + steps + " to one memory: " + mostly(subject, path_->weights()) + ".";
        case MemoryKind::few:
            return from + " falls" + steps + " to a mean of " + fixed(effective, 1) + " of the " +
                   many(seen, "key") + ".\nIt is made of " + mostly(subject, path_->weights()) + ".";
        case MemoryKind::all: break;
    }
    return from + " falls" + steps + " to the mean of all " + many(seen, "key") + ".";
}

std::string MemoryLens::classical_sentence() const {
    if (!bits_) return refused_;
    const std::string stored = many(bits_->count(), "pattern") + " in " + many(bits_->bits(), "bit") + ": ";
    if (!recall_->done()) return stored + "the cue is on its way.";
    const auto [before, after] = wrong_bits();
    const std::string text = stored + "of " + many(before, "wrong bit") + ", " + std::to_string(after);
    return text + (after == 1 ? " is" : " are") + " left.\nThe pattern is " +
           (recovered(recall_->state(), bits_->pattern(this->stored())) ? "recovered." : "lost.");
}

std::string MemoryLens::spoken(Subject& subject) {
    update(subject);
    return now().network == MemoryNetwork::modern ? modern_sentence(subject) : classical_sentence();
}

Guide MemoryLens::guide(Subject&) const {
    if (now().network == MemoryNetwork::classical)
        return {
            "Hopfield 1982",
            "Patterns of ±1 are stored in the weights between bits, w_ij = 1/N Σ x_i x_j. A cue has some of "
            "its "
            "bits flipped. One bit after the other is set to the sign of its field Σ w_ij s_j, and each flip "
            "lowers the energy, until none is left.\n\n"
            "With more than about 0.138 patterns for each bit, patterns are lost. The modern network, which "
            "weighs whole patterns by softmax, still finds them."};
    return {
        "Attention as memory",
        "The keys are stored patterns, and the query is a state ξ that looks for one of them. A step is "
        "ξ ← Kᵀ softmax(β K ξ), and no step raises the energy (Ramsauer et al. 2021, arXiv 2008.02217).\n\n"
        "Attention is the first step, with β = 1/√d_k, and reads the values V in the place of K. A memory "
        "goes "
        "on until nothing moves.\n\n"
        "A small β blends the keys, a large one picks one of them."};
}

}  // namespace attn::app
