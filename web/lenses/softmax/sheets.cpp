// Makes the matrices that lens Softmax shows.
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/softmax/softmax.hpp"
#include "subjects/reading.hpp"

namespace attn::app::softmax {

namespace {

std::vector<ScoreMap> maps_shown(const Model& model) {
    std::vector<ScoreMap> maps;
    for (std::size_t i = 0; i < score_map_count; ++i)
        if (model.maps->row(static_cast<ScoreMap>(i))) maps.push_back(static_cast<ScoreMap>(i));
    return maps;
}

SheetAxis map_axis(const Model& model) {
    SheetAxis axis{.name = "map"};
    for (const ScoreMap map : maps_shown(model)) axis.labels.emplace_back(info(map).name);
    return axis;
}

std::string query_name(const Model& model, Subject& subject) {
    return query_in_words(*subject.attention(), model.row.query);
}
std::string row_about(const Model& model, Subject& subject) {
    return query_name(model, subject) + ", " + temperature_text(model.state.temperature);
}

}  // namespace

Sheet gibbs_sheet(const Model& model, Subject& subject) {
    std::vector<GibbsPlace> places;
    std::vector<Gibbs> numbers;
    Sheet sheet{.key = "softmax/number",
                .title = "The row as a Gibbs distribution",
                .notation = "energies E = −score, weights p = exp(−E / T) / Z",
                .about = query_name(model, subject),
                .rows = {"number", {"⟨E⟩", "S, nats", "e^S, keys", "F", "C, nats"}},
                .columns = {.name = "temperature"}};
    for (Index i = 0; i < gibbs_place_count; ++i) {
        const auto here = model.gibbs_at(static_cast<GibbsPlace>(i));
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
    sheet.cell = [places](Index r, Index c) { return cells::gibbs(r, places[static_cast<std::size_t>(c)]); };
    return sheet;
}

Sheet weights_sheet(const Model& model, Subject& subject) {
    const Attention& attention = *subject.attention();
    return {.key = "softmax/weight",
            .title = "Weights",
            .about = row_about(model, subject),
            .rows = map_axis(model),
            .columns = {"key", {attention.key_names().begin(), attention.key_names().end()}, model.by_score},
            .value =
                [&model, maps = maps_shown(model)](Index r, Index key) {
                    return model.maps->row(maps[static_cast<std::size_t>(r)])
                        ->weights[static_cast<std::size_t>(key)];
                },
            .cell = [maps = maps_shown(model)](
                        Index r, Index key) { return cells::weight(maps[static_cast<std::size_t>(r)], key); },
            .allowed =
                [&model](Index, Index key) {
                    return !std::isinf(model.curves->levels().above[static_cast<std::size_t>(key)]);
                },
            .is_tall = true};
}

Sheet outputs_sheet(const Model& model, Subject& subject) {
    return {.key = "softmax/output",
            .title = "Outputs",
            .about = row_about(model, subject),
            .rows = map_axis(model),
            .columns = counted("component", model.row.record->d_v()),
            .value =
                [&model, maps = maps_shown(model)](Index r, Index b) {
                    return model.maps->output(maps[static_cast<std::size_t>(r)])[static_cast<std::size_t>(b)];
                },
            .cell = [maps = maps_shown(model)](
                        Index r, Index b) { return cells::output(maps[static_cast<std::size_t>(r)], b); },
            .is_signed = true};
}

Sheet measures_sheet(const Model& model, Subject& subject) {
    Sheet sheet{.key = "softmax/measure",
                .title = "Sum, support, difference",
                .about = row_about(model, subject),
                .rows = map_axis(model),
                .columns = {"measure", {"Σ w", "keys > 0", "output off"}}};
    if (!model.with_values) sheet.columns.labels.pop_back();
    sheet.value = [&model, maps = maps_shown(model)](Index r, Index c) {
        const ScoreMap map = maps[static_cast<std::size_t>(r)];
        const MappedRow& row = *model.maps->row(map);
        return std::array{row.sum, static_cast<double>(row.support),
                          model.maps->difference(map).value_or(NAN)}[static_cast<std::size_t>(c)];
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const double number = value(r, c);
        return std::isnan(number) ? "–"
               : c == 0           ? fixed(number, 4)
               : c == 1           ? with_commas(static_cast<std::int64_t>(number))
                                  : percent(number);
    };
    sheet.cell = [maps = maps_shown(model)](Index r, Index c) {
        return cells::measure(maps[static_cast<std::size_t>(r)], c);
    };
    return sheet;
}

Sheet heads_sheet(const Model& model, Subject& subject) {
    const Attention& attention = *subject.attention();
    Sheet sheet{.key = "softmax/head",
                .title = "Effective share of keys",
                .about = temperature_text(model.state.temperature),
                .rows = {.name = "layer"},
                .columns = counted("head", attention.heads())};
    for (Index i = 0; i < attention.layers(); ++i) sheet.rows.labels.push_back(attention.numbering().name(i));
    sheet.value = [&model](Index layer, Index head) {
        const EffectiveKeys* keys = model.heads->of({layer, head});
        return keys ? keys->share() : NAN;
    };
    sheet.cell = [](Index layer, Index head) { return cells::head(layer, head); };
    sheet.is_whole = true;
    sheet.lit_row = model.row.head.layer;
    sheet.lit_column = model.row.head.head;
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!refused.empty()) return {};
    while (maps->step(curves->levels()) || curves->step()) continue;
    std::vector<Table> all{table_of(weights_sheet(*this, subject))};
    if (with_values) all.push_back(table_of(outputs_sheet(*this, subject)));
    if (state.shown == Shown::outputs) bring_forward(all, all.size() - 1);
    all.push_back(table_of(measures_sheet(*this, subject)));
    all.push_back(table_of(gibbs_sheet(*this, subject)));
    if (subject.attention()->layers() * subject.attention()->heads() > 1)
        all.push_back(table_of(heads_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::softmax
