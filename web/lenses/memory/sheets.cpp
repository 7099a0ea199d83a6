// Makes the matrices that lens Memory shows.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

constexpr Index most_wanted = 24;  // number of keys

std::vector<std::string> multiples(Index count, Index of) {
    std::vector<std::string> names;
    for (Index i = 0; i < count; ++i) names.push_back(std::to_string(i * of));
    return names;
}

}  // namespace

std::string MemoryLens::path_about(Subject& subject) const {
    return query_name(subject) + ", " + beta_text(*beta_);
}

Sheet MemoryLens::path_sheet(Subject& subject) const {
    Sheet sheet{.key = "memory/path",
                .title = "The path",
                .about = path_about(subject),
                .rows = {.name = "step"},
                .columns = {"number", {"energy", "moved by", "keys, e^S"}}};
    const std::vector<Index> steps = steps_shown();
    for (const Index t : steps) sheet.rows.labels.push_back("step " + std::to_string(t));
    sheet.value = [this, steps](Index r, Index c) {
        const Index t = steps[static_cast<std::size_t>(r)];
        const Retrieval::Point& point = path_->points()[static_cast<std::size_t>(t)];
        if (c == 0) return t < path_->looked_at() ? point.energy : NAN;
        return t == 0 ? NAN : c == 1 ? point.moved : point.effective;
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        return std::isnan(value(r, c)) ? "–" : fixed(value(r, c), 4);
    };
    sheet.cell = [steps](Index r, Index c) -> std::optional<CellRef> {
        const Index t = steps[static_cast<std::size_t>(r)];
        if (c > 0 && t == 0) return std::nullopt;
        return c == 0   ? memory_cells::energy(t)
               : c == 1 ? memory_cells::update_norm(t)
                        : memory_cells::effective_keys(t);
    };
    return sheet;
}

Sheet MemoryLens::weights_sheet(Subject& subject) {
    Sheet sheet{.key = "memory/weight",
                .title = "Weights of each step",
                .notation = "softmax(β K ξ)",
                .about = path_about(subject),
                .rows = {.name = "step"},
                .columns = {.name = "key", .wanted = heaviest_keys(most_wanted)},
                .is_tall = true};
    std::vector<Index> steps = steps_shown();
    steps.erase(steps.begin());
    for (const Index t : steps) sheet.rows.labels.push_back("step " + std::to_string(t));
    for (const Index key : patterns_->keys)
        sheet.columns.labels.push_back(label_at(subject.attention()->key_names(), key));
    sheet.value = [this, steps](Index r, Index j) {
        return path_->points()[static_cast<std::size_t>(steps[static_cast<std::size_t>(r)])]
            .weights[static_cast<std::size_t>(j)];
    };
    sheet.cell = [this, steps](Index r, Index j) {
        return memory_cells::weight(steps[static_cast<std::size_t>(r)],
                                    patterns_->keys[static_cast<std::size_t>(j)]);
    };
    return sheet;
}

Sheet MemoryLens::states_sheet(Subject& subject) const {
    Sheet sheet{.key = "memory/state",
                .title = "The state ξ",
                .about = path_about(subject),
                .rows = {.name = "step"},
                .columns = counted("component", patterns_->components),
                .is_signed = true};
    const std::vector<Index> steps = steps_shown();
    for (const Index t : steps) sheet.rows.labels.push_back("step " + std::to_string(t));
    sheet.value = [this, steps](Index r, Index a) {
        return path_->points()[static_cast<std::size_t>(steps[static_cast<std::size_t>(r)])]
            .state[static_cast<std::size_t>(a)];
    };
    sheet.cell = [steps](Index r, Index a) {
        return memory_cells::state(steps[static_cast<std::size_t>(r)], a);
    };
    return sheet;
}

std::array<Sheet, 3> MemoryLens::bits_sheets() const {
    const Index bits = bits_->bits(),
                side = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(bits))));
    const Bits pattern = bits_->pattern(stored());
    const auto square = [&](const char* key, const char* title, std::string about, const Bits& from) {
        Sheet sheet{.key = key,
                    .title = title,
                    .about = std::move(about),
                    .rows = {"from bit", multiples((bits + side - 1) / side, side)},
                    .columns = counted("bit", side),
                    .decimals = 0,
                    .is_signed = true,
                    .is_whole = true};
        const auto bit_of = [bits, side](const Bits& all) {
            return [bits, side, all](Index r, Index c) -> double {
                const Index i = r * side + c;
                return i < bits ? all[static_cast<std::size_t>(i)] : 0;
            };
        };
        sheet.value = bit_of(from);
        sheet.before = bit_of(pattern);
        sheet.allowed = [bits, side](Index r, Index c) { return r * side + c < bits; };
        return sheet;
    };
    const auto [wrong_before, wrong_after] = wrong_bits();
    std::array all{square("memory/stored", "Stored", "pattern " + std::to_string(stored()), pattern),
                   square("memory/cue", "Cue", many(wrong_before, "bit") + " wrong", cue_),
                   square("memory/rest", recall_->done() ? "At rest" : "On its way",
                          many(wrong_after, "bit") + " wrong", recall_->state())};
    all.back().cell = [bits, side](Index r, Index c) -> std::optional<CellRef> {
        const Index i = r * side + c;
        if (i >= bits) return std::nullopt;
        return memory_cells::local_field(i);
    };
    return all;
}

// Coordinates of the keys and of the path's steps in the plane.
Table MemoryLens::plane_table(Subject& subject) const {
    Table table{"Places in the plane, " + path_about(subject), {"across", "up"}, {}, Matrix()};
    const auto add = [&](std::string name, std::array<double, 2> place) {
        if (std::ssize(table.row_labels) >= table_row_limit) return;
        table.row_labels.push_back(std::move(name));
        table.values.values.insert(table.values.values.end(), place.begin(), place.end());
    };
    for (std::size_t t = 0; path_ && t < path_->points().size(); ++t)
        add("step " + std::to_string(t), plane_->place_of(path_->points()[t].state));
    for (std::size_t j = 0; j < places_.size(); ++j)
        add("key " + label_at(subject.attention()->key_names(), patterns_->keys[j]), places_[j]);
    table.values.rows = std::ssize(table.row_labels);
    table.values.cols = 2;
    return table;
}

std::vector<Table> MemoryLens::tables(Subject& subject) {
    update(subject);
    std::vector<Table> all;
    if (now().network == MemoryNetwork::classical) {
        if (recall_ && recall_->done())
            for (const Sheet& sheet : bits_sheets()) all.push_back(table_of(sheet));
        return all;
    }
    if (!path_ || !path_->done()) return all;
    if (path_->steps() > 0) all.push_back(table_of(weights_sheet(subject)));
    all.push_back(table_of(path_sheet(subject)));
    all.push_back(table_of(states_sheet(subject)));
    if (plane_) all.push_back(plane_table(subject));
    return all;
}

}  // namespace attn::app
