// Defines the interventions that a user makes in the run of a model (core/model/intervention.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/heads/steering.hpp"
#include "app/command.hpp"
#include "app/explained.hpp"
#include "model/intervention.hpp"
#include "runs/attention.hpp"

namespace attn {
class Trace;
}

namespace attn::app {

inline constexpr std::size_t most_changes = 64;
inline constexpr double largest_change = 1e9;  // limits the magnitude of a number

struct RunChange {
    RunPart at = {};
    Operation operation = Operation::zero;
    double value = 0;  // the factor, summand or new value
    // Replaces `value`: a vector to add to a row, one number per column.
    std::vector<float> values = {};
    // A direction to add, of which `value` is the dial.
    std::optional<SteeringDirection> direction = {};
    bool on = true;
    bool operator==(const RunChange&) const = default;
};

struct RunChanges {
    std::vector<RunChange> all;
    bool before = false;  // shows the run without them
    bool operator==(const RunChanges&) const = default;

    bool any_on() const;
    // Says whether both lead to the same run.
    bool same_run(const RunChanges& o) const { return all == o.all; }
};

// Adds a change, or replaces the change of the same numbers, or another one.
struct ChangeRun {
    RunChange change;
    std::optional<std::size_t> instead_of = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SwitchChange {
    std::size_t index = 0;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct DropChange {
    std::optional<std::size_t> index{};  // none: all
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct ShowBefore {
    static constexpr bool navigation = true;
    bool before = true;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

// Returns "q of head 2 in layer 3, token 13, component 5: 1.25" or, with the name of a direction's token,
// "+ 0.8 × “cat” (embedding), before layer 2, all tokens".
std::string told(const RunChange& change, const Layers& layers, const std::string& token = "");

// Writes changes, separated by ";", as "head_output,3,2,,,zero": site, layer, head, row, column, operation,
// its value or values ("_0.5_-1.25") if it has one, a direction ("embedding_412"), and "off".
std::string write_changes(const std::vector<RunChange>& changes);
std::optional<std::vector<RunChange>> read_changes(std::string_view text);

// The steering of a change that has a direction.
Steering steering_of(const RunChange& change);
RunChange change_of(const Steering& steering);
// Says whether a change takes a mean over the sample of texts.
bool needs_texts(const RunChange& change);
// Says whether a change is a difference of two sets of texts.
bool needs_contrast(const RunChange& change);

// Runs of other texts that changes take their numbers from, as far as there are any.
struct OtherRuns {
    using Runs = std::vector<std::shared_ptr<const Trace>>;
    std::shared_ptr<const Trace> beside = {};  // the second text’s run
    Runs texts = {};                           // the sample of texts
    Runs positive = {}, negative = {};
    SteeringRuns for_steering() const { return {beside.get(), texts, positive, negative}; }
};
// Says whether a change applies to this run: it is on, and the run has its numbers. A patch takes its values
// from the run beside it, if there is one, token by token from the first; for scores and weights, both texts
// must have the same number of tokens. A mean over texts uses the sample of texts, once they have been run.
bool fits(const RunChange& change, const Trace& run, const OtherRuns& others = {});
std::vector<Intervention> interventions_of(const std::vector<RunChange>& changes, const Trace& run,
                                           const OtherRuns& others);

// Returns the change that sets this number of a run, without its operation; nothing if the number cannot be
// changed itself.
std::optional<RunChange> change_at(const Trace& run, const CellPlace& place);

}  // namespace attn::app
