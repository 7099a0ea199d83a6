// Makes the matrices that lens Scale shows.
#include <algorithm>

#include "app/format.hpp"
#include "lenses/scale/scale.hpp"

namespace attn::app {

SheetAxis ScaleLens::rule_axis() const {
    SheetAxis axis{.name = "scale"};
    for (const RuledRow& rule : row_->what.rules) axis.labels.push_back(rule.name);
    return axis;
}

Sheet ScaleLens::weights_sheet(Subject& subject) {
    const Row& shown = row(subject);
    std::string scales;
    for (const RuledRow& rule : shown.rules)
        scales += (scales.empty() ? "" : ", ") + four(rule.record.scale());
    // The head's own weights are its own cells.
    const bool of_head = row_->from.source.record != nullptr;
    Sheet sheet{.key = "scale/row",
                .title = "Weights",
                .notation = "softmax of q · k times " + scales,
                .rows = rule_axis(),
                .columns = {"key", shown.names, {}},
                .value =
                    [&shown](Index r, Index key) {
                        return shown.rules[static_cast<std::size_t>(r)].exact[static_cast<std::size_t>(key)];
                    },
                .cell = [of_head, query = shown.row.query](Index r, Index key) -> std::optional<CellRef> {
                    return of_head && r == 0 ? CellRef{Stage::weight, query, key}
                                             : scale_cells::weight(r, key);
                },
                .allowed =
                    [&shown](Index, Index key) {
                        return shown.row.record->spec().mask.allows(shown.row.head, shown.row.query, key);
                    },
                .is_tall = true};
    if (const auto chosen = subject.chosen().key; of_head && chosen) sheet.columns.wanted = {*chosen};
    const std::size_t shown_at_most = std::min(shown.keys.size(), scale_keys_shown);
    sheet.columns.wanted.insert(sheet.columns.wanted.end(), shown.keys.begin(),
                                shown.keys.begin() + static_cast<std::ptrdiff_t>(shown_at_most));
    return sheet;
}

Sheet ScaleLens::measures_sheet(Subject& subject) {
    const Row& shown = row(subject);
    Sheet sheet{.key = "scale/measure",
                .title = "Saturation",
                .notation = "entropy in nats, length of ∂A/∂S",
                .rows = rule_axis(),
                .columns = {"measure", {"entropy", "largest", "‖∂A/∂S‖"}}};
    sheet.value = [&shown](Index r, Index c) {
        return measured(shown.rules[static_cast<std::size_t>(r)].exact_saturation,
                        static_cast<RowMeasure>(c));
    };
    sheet.text = [value = sheet.value](Index r, Index c) { return fixed(value(r, c), 4); };
    sheet.cell = [](Index r, Index c) { return scale_cells::measure(c, r); };
    return sheet;
}

std::vector<Table> ScaleLens::tables(Subject& subject) {
    return {table_of(weights_sheet(subject)), table_of(measures_sheet(subject))};
}

}  // namespace attn::app
