// Makes the matrices that lens Softmax shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/softmax/softmax.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

// The keys ordered by score, the highest first.
std::vector<Index> by_score(const EnergyLevels& levels) {
    std::vector<Index> keys(levels.above.size());
    for (std::size_t key = 0; key < keys.size(); ++key) keys[key] = static_cast<Index>(key);
    std::ranges::sort(keys, {},
                      [&](Index key) { return std::pair(levels.above[static_cast<std::size_t>(key)], key); });
    return keys;
}

}  // namespace

std::vector<ScoreMap> SoftmaxLens::maps_shown() const {
    std::vector<ScoreMap> maps;
    for (std::size_t i = 0; i < score_map_count; ++i)
        if (maps_->row(static_cast<ScoreMap>(i))) maps.push_back(static_cast<ScoreMap>(i));
    return maps;
}

SheetAxis SoftmaxLens::map_axis() const {
    SheetAxis axis{.name = "map"};
    for (const ScoreMap map : maps_shown()) axis.labels.emplace_back(info(map).name);
    return axis;
}

std::string SoftmaxLens::row_about(Subject& subject) const {
    return query_name(subject) + ", " + temperature_text(temperature());
}

Sheet SoftmaxLens::gibbs_sheet(Subject& subject) const {
    std::vector<GibbsPlace> places;
    std::vector<Gibbs> numbers;
    Sheet sheet{.key = "softmax/number",
                .title = "The row as a Gibbs distribution",
                .notation = "energies E = −score, weights p = exp(−E / T) / Z",
                .about = query_name(subject),
                .rows = {"number", {"⟨E⟩", "S, nats", "e^S, keys", "F", "C, nats"}},
                .columns = {.name = "temperature"}};
    for (Index i = 0; i < gibbs_place_count; ++i) {
        const auto here = gibbs_at(static_cast<GibbsPlace>(i));
        if (!here) continue;
        places.push_back(static_cast<GibbsPlace>(i));
        numbers.push_back(*here);
        sheet.columns.labels.push_back(
            places.back() == GibbsPlace::peak ? "peak of C" : temperature_text(here->temperature));
    }
    sheet.value = [numbers](Index r, Index c) {
        return gibbs_number(numbers[static_cast<std::size_t>(c)], static_cast<GibbsNumber>(r));
    };
    sheet.text = [value = sheet.value](Index r, Index c) { return fixed(value(r, c), 4); };
    sheet.cell = [places](Index r, Index c) {
        return softmax_cells::gibbs(r, places[static_cast<std::size_t>(c)]);
    };
    return sheet;
}

Sheet SoftmaxLens::weights_sheet(Subject& subject) const {
    const Attention& attention = *subject.attention();
    return {
        .key = "softmax/weight",
        .title = "Weights",
        .about = row_about(subject),
        .rows = map_axis(),
        .columns = {"key",
                    {attention.key_names().begin(), attention.key_names().end()},
                    by_score(curves_->levels())},
        .value =
            [this, maps = maps_shown()](Index r, Index key) {
                return maps_->row(maps[static_cast<std::size_t>(r)])->weights[static_cast<std::size_t>(key)];
            },
        .cell = [maps = maps_shown()](
                    Index r,
                    Index key) { return softmax_cells::weight(maps[static_cast<std::size_t>(r)], key); },
        .allowed =
            [this](Index, Index key) {
                return !std::isinf(curves_->levels().above[static_cast<std::size_t>(key)]);
            },
        .is_tall = true};
}

Sheet SoftmaxLens::outputs_sheet(Subject& subject) const {
    return {
        .key = "softmax/output",
        .title = "Outputs",
        .about = row_about(subject),
        .rows = map_axis(),
        .columns = counted("component", row_.record->d_v()),
        .value =
            [this, maps = maps_shown()](Index r, Index b) {
                return maps_->output(maps[static_cast<std::size_t>(r)])[static_cast<std::size_t>(b)];
            },
        .cell = [maps = maps_shown()](
                    Index r, Index b) { return softmax_cells::output(maps[static_cast<std::size_t>(r)], b); },
        .is_signed = true};
}

Sheet SoftmaxLens::measures_sheet(Subject& subject) const {
    Sheet sheet{.key = "softmax/measure",
                .title = "Sum, support, difference",
                .about = row_about(subject),
                .rows = map_axis(),
                .columns = {"measure", {"Σ w", "keys > 0", "output off"}}};
    if (!with_values_) sheet.columns.labels.pop_back();
    sheet.value = [this, maps = maps_shown()](Index r, Index c) {
        const ScoreMap map = maps[static_cast<std::size_t>(r)];
        const MappedRow& row = *maps_->row(map);
        return std::array{row.sum, static_cast<double>(row.support),
                          maps_->difference(map).value_or(NAN)}[static_cast<std::size_t>(c)];
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const double number = value(r, c);
        return std::isnan(number) ? "–"
               : c == 0           ? fixed(number, 4)
               : c == 1           ? with_commas(static_cast<std::int64_t>(number))
                                  : percent(number);
    };
    sheet.cell = [maps = maps_shown()](Index r, Index c) {
        return softmax_cells::measure(maps[static_cast<std::size_t>(r)], c);
    };
    return sheet;
}

Sheet SoftmaxLens::heads_sheet(Subject& subject) const {
    const Attention& attention = *subject.attention();
    Sheet sheet{.key = "softmax/head",
                .title = "Effective share of keys",
                .about = temperature_text(temperature()),
                .rows = {.name = "layer"},
                .columns = counted("head", attention.heads())};
    for (Index i = 0; i < attention.layers(); ++i) sheet.rows.labels.push_back(attention.numbering().name(i));
    sheet.value = [this](Index layer, Index head) {
        const EffectiveKeys* keys = heads_->of({layer, head});
        return keys ? keys->share() : NAN;
    };
    sheet.cell = [](Index layer, Index head) { return softmax_cells::head(layer, head); };
    sheet.is_whole = true;
    sheet.lit_row = row_.head.layer;
    sheet.lit_column = row_.head.head;
    return sheet;
}

std::vector<Table> SoftmaxLens::tables(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return {};
    while (maps_->step(curves_->levels()) || curves_->step()) continue;
    std::vector<Table> all{table_of(weights_sheet(subject))};
    if (with_values_) all.push_back(table_of(outputs_sheet(subject)));
    if (state().of<SoftmaxState>().shown == SoftmaxShown::outputs) bring_forward(all, all.size() - 1);
    all.push_back(table_of(measures_sheet(subject)));
    all.push_back(table_of(gibbs_sheet(subject)));
    if (subject.attention()->layers() * subject.attention()->heads() > 1)
        all.push_back(table_of(heads_sheet(subject)));
    return all;
}

}  // namespace attn::app
