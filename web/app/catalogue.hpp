// Lists the subjects and lenses as far as the State, its links and the visit need to know them.
// subjects/list.cpp and lenses/list.cpp define the lists; nothing else in app/ refers to a subject or lens by
// name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "app/link_rows.hpp"
#include "app/resident.hpp"
#include "app/state.hpp"

namespace attn::app {

struct SubjectEntry {
    std::string_view key;   // in links and landmarks
    const char* name;       // on its tab
    std::string_view lens;  // the lens it opens in
    // Says whether a State that shows the subject may have this selection.
    bool (*may_select)(const State&, const Selection&);
    bool (*may_pin)(const State&, const RunCell&);
    // Says whether there is something to compare the subject with; null: never.
    bool (*has_second)(const State&);
    LinkRows links;
    std::unique_ptr<Resident> (*make)(Visit&);
};

// Groups of the rail, in the rail's order.
enum class LensGroup { see, understand, question, check, learn };

struct LensEntry {
    std::string_view key;
    const char* name;
    LensGroup group;
    const char* meaning;  // one line, for the rail's tooltip and the command palette
    bool compares;        // shows the subject next to something else
    LinkRows links;
    std::unique_ptr<Resident> (*make)(Visit&);
    // Takes numbers from what the subject is compared with, if there is such a thing.
    bool reads_second = false;
    CellKinds cells = {};  // kinds of the lens's own numbers
    // Interprets an older link to one of its numbers, "number.12.3"; null: the lens had no numbers then.
    std::optional<CellRef> (*packed_cell)(Index row, Index col) = nullptr;
    // Interprets an older link that names the number as one of a run, "cosine.3.0"; null: there was none.
    std::optional<CellRef> (*measured_cell)(const State& state, std::string_view name, Index row,
                                            Index col) = nullptr;
    bool takes_scores_apart = false;  // says why the chosen query attends to the chosen key
};

std::span<const SubjectEntry> subject_list();  // not empty
std::span<const LensEntry> lens_list();

const SubjectEntry* find_subject(std::string_view key);  // null: none
const LensEntry* find_lens(std::string_view key);
const SubjectEntry& subject_of(const State& state);
const LensEntry& lens_of(const State& state);

// Returns the lens that shows a State's subject by default: the comparing lens if there is something to
// compare.
std::string_view usual_lens(const State& state);
// Returns the lens that says why a query attends to a key.
std::string_view lens_of_scores();
State default_state();

}  // namespace attn::app
