// Defines the changes that a person makes to the run of a model, which goes on from them (core/model/intervention.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.hpp"
#include "app/explained.hpp"
#include "model/intervention.hpp"
#include "runs/attention.hpp"

namespace attn {
class Trace;
}

namespace attn::app {

inline constexpr std::size_t most_changes = 64;
inline constexpr double largest_change = 1e9;  // of a number, either side of 0

struct RunChange {
    Site site = Site::head_output;
    Index layer = 0;                       // the number of an attention
    std::optional<Index> head{};           // of K and V, the one that several queries' heads share; none: all
    std::optional<Index> row{}, column{};  // token or query, and component or key; none: all
    Operation operation = Operation::zero;
    double value = 0;  // what is multiplied, added or set
    // Instead of it, what is added to a row of vectors, one number for each column.
    std::vector<float> values{};
    bool on = true;
    bool operator==(const RunChange&) const = default;

    // Whether both change the same numbers.
    bool same_place(const RunChange& o) const {
        return site == o.site && layer == o.layer && head == o.head && row == o.row && column == o.column;
    }
};

struct RunChanges {
    std::vector<RunChange> all;
    bool before = false;  // shows the run without them
    bool operator==(const RunChanges&) const = default;

    bool any_on() const;
    // Whether the changed run is the same.
    bool same_run(const RunChanges& o) const { return all == o.all; }
};

// Adds a change, or puts it in the place of one of the same numbers.
struct ChangeRun {
    RunChange change;
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

// "q of head 2 in layer 3, token 13, component 5: 1.25"
std::string told(const RunChange& change, const Layers& layers);

// Writes "head_output,3,2,,,zero" with ";" between them: site, layer, head, row, column, operation, its value or values
// ("_0.5_-1.25") if it has one, and "off".
std::string write_changes(const std::vector<RunChange>& changes);
std::optional<std::vector<RunChange>> read_changes(std::string_view text);

// What a run of this text takes: those that are on and whose numbers it has. A patch is taken from the run of the text
// beside it, if there is one, token by token from the first; of scores and weights, from a text of as many tokens. A mean
// over texts is taken of these, once they are run.
bool fits(const RunChange& change, const Trace& run, const Trace* beside, bool has_texts = false);
std::vector<Intervention> interventions_of(const std::vector<RunChange>& changes, const Trace& run,
                                           const std::shared_ptr<const Trace>& beside,
                                           const std::vector<std::shared_ptr<const Trace>>& texts = {});

// The change that sets this number of a run, which is still to be given its operation; nothing if it follows from others.
std::optional<RunChange> change_at(const Trace& run, const CellPlace& place);

}  // namespace attn::app
