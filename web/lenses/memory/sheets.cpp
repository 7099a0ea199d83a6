// Makes the matrices that lens Memory shows.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"

namespace attn::app::memory {

namespace {

constexpr Index most_wanted = 24;  // number of keys

std::string path_about(const Model& model, Subject& subject) {
    return query_name(model, subject) + ", " + beta_text(*model.beta);
}

SheetAxis axis_of(const std::vector<Index>& steps) {
    SheetAxis axis{.name = "step"};
    for (const Index t : steps) axis.labels.push_back("step " + std::to_string(t));
    return axis;
}

// The path at the step of a row.
auto point_of(const Model& model, const std::vector<Index>& steps) {
    return [&model, steps](Index row) -> const Retrieval::Point& {
        return model.path()->points()[static_cast<std::size_t>(steps[static_cast<std::size_t>(row)])];
    };
}

}  // namespace

Sheet path_sheet(const Model& model, Subject& subject) {
    const std::vector<Index> steps = model.modern->some_steps();
    Sheet sheet{.key = "memory/path",
                .title = "The path",
                .about = path_about(model, subject),
                .rows = axis_of(steps),
                .columns = {"number", {"energy", "moved by", "keys, e^S"}}};
    sheet.value = [&model, steps, at = point_of(model, steps)](Index r, Index c) {
        const Index t = steps[static_cast<std::size_t>(r)];
        const Retrieval::Point& point = at(r);
        if (c == 0) return t < model.path()->looked_at() ? point.energy : NAN;
        return t == 0 ? NAN : c == 1 ? point.moved : point.effective;
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        return std::isnan(value(r, c)) ? "–" : fixed(value(r, c), 4);
    };
    sheet.cell = [steps](Index r, Index c) -> std::optional<CellRef> {
        const Index t = steps[static_cast<std::size_t>(r)];
        if (c > 0 && t == 0) return std::nullopt;
        return c == 0 ? cells::energy(t) : c == 1 ? cells::update_norm(t) : cells::effective_keys(t);
    };
    return sheet;
}

Sheet weights_sheet(const Model& model, Subject& subject) {
    std::vector<Index> steps = model.modern->some_steps();
    steps.erase(steps.begin());
    Sheet sheet{.key = "memory/weight",
                .title = "Weights of each step",
                .notation = "softmax(β K ξ)",
                .about = path_about(model, subject),
                .rows = axis_of(steps),
                .columns = {.name = "key", .wanted = model.heaviest_keys(most_wanted)},
                .value = [at = point_of(model, steps)](
                             Index r, Index j) { return at(r).weights[static_cast<std::size_t>(j)]; },
                .cell =
                    [&model, steps](Index r, Index j) {
                        return cells::weight(steps[static_cast<std::size_t>(r)],
                                             model.patterns()->keys[static_cast<std::size_t>(j)]);
                    },
                .is_tall = true};
    for (const Index key : model.patterns()->keys)
        sheet.columns.labels.push_back(label_at(subject.attention()->key_names(), key));
    return sheet;
}

Sheet states_sheet(const Model& model, Subject& subject) {
    const std::vector<Index> steps = model.modern->some_steps();
    return {.key = "memory/state",
            .title = "The state ξ",
            .about = path_about(model, subject),
            .rows = axis_of(steps),
            .columns = counted("component", model.patterns()->components),
            .value = [at = point_of(model, steps)](
                         Index r, Index a) { return at(r).state[static_cast<std::size_t>(a)]; },
            .cell = [steps](Index r, Index a) { return cells::state(steps[static_cast<std::size_t>(r)], a); },
            .is_signed = true};
}

std::array<Sheet, 3> bits_sheets(const Model& model) {
    const Index bits = model.bits->bits(),
                side = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(bits))));
    const Bits& pattern = model.recall.kept()->pattern();
    const auto square = [&](const char* key, const char* title, std::string about, const Bits& from) {
        const auto bit_of = [bits, side](const Bits& all) {
            return [bits, side, all](Index r, Index c) -> double {
                const Index i = r * side + c;
                return i < bits ? all[static_cast<std::size_t>(i)] : 0;
            };
        };
        Sheet sheet{.key = key,
                    .title = title,
                    .about = std::move(about),
                    .rows = {"from bit"},
                    .columns = counted("bit", side),
                    .value = bit_of(from),
                    .allowed = [bits, side](Index r, Index c) { return r * side + c < bits; },
                    .decimals = 0,
                    .is_signed = true,
                    .is_whole = true,
                    .before = bit_of(pattern)};
        for (Index i = 0; i < bits; i += side) sheet.rows.labels.push_back(std::to_string(i));
        return sheet;
    };
    const CueRecall& recall = *model.recall.kept();
    const auto [wrong_before, wrong_after] = recall.wrong_bits();
    std::array all{square("memory/stored", "Stored", "pattern " + std::to_string(model.pattern()), pattern),
                   square("memory/cue", "Cue", many(wrong_before, "bit") + " wrong", recall.cue()),
                   square("memory/rest", recall.run().done() ? "At rest" : "On its way",
                          many(wrong_after, "bit") + " wrong", recall.run().state())};
    all.back().cell = [bits, side](Index r, Index c) -> std::optional<CellRef> {
        const Index i = r * side + c;
        if (i >= bits) return std::nullopt;
        return cells::local_field(i);
    };
    return all;
}

// Coordinates of the keys and of the path's steps in the plane.
Table plane_table(const Model& model, Subject& subject) {
    Table table{"Places in the plane, " + path_about(model, subject), {"across", "up"}, {}, Matrix()};
    const auto add = [&](std::string name, std::array<double, 2> place) {
        if (std::ssize(table.row_labels) >= table_row_limit) return;
        table.row_labels.push_back(std::move(name));
        table.values.values.insert(table.values.values.end(), place.begin(), place.end());
    };
    const auto& [plane, places, box] = *model.plane();
    for (std::size_t t = 0; model.path() && t < model.path()->points().size(); ++t)
        add("step " + std::to_string(t), plane.place_of(model.path()->points()[t].state));
    for (std::size_t j = 0; j < places.size(); ++j)
        add("key " + label_at(subject.attention()->key_names(), model.patterns()->keys[j]), places[j]);
    table.values.rows = std::ssize(table.row_labels);
    table.values.cols = 2;
    return table;
}

std::vector<Table> Model::tables(Subject& subject) {
    std::vector<Table> all;
    if (is_classical()) {
        if (recall.kept() && recall.kept()->run().done())
            for (const Sheet& sheet : bits_sheets(*this)) all.push_back(table_of(sheet));
        return all;
    }
    if (!path() || !path()->done()) return all;
    if (path()->steps() > 0) all.push_back(table_of(weights_sheet(*this, subject)));
    all.push_back(table_of(path_sheet(*this, subject)));
    all.push_back(table_of(states_sheet(*this, subject)));
    if (plane()) all.push_back(plane_table(*this, subject));
    return all;
}

}  // namespace attn::app::memory
