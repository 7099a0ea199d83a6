// Makes the matrices that lens Scale shows.
#include <algorithm>

#include "app/format.hpp"
#include "lenses/scale/scale.hpp"

namespace attn::app::scale {

namespace {

SheetAxis rule_axis(const RuledRows& shown) {
    SheetAxis axis{.name = "scale"};
    for (const RuledRow& rule : shown.rules) axis.labels.push_back(rule.name);
    return axis;
}

}  // namespace

std::vector<std::string> key_names(const Model& model, Subject& subject) {
    return model.row.record ? subject.attention()->key_names()
                            : numbered_labels(model.rules.kept()->row.record->keys(), "key ");
}

Sheet weights_sheet(const Model& model, Subject& subject) {
    const RuledRows& shown = *model.rules.kept();
    std::string scales;
    for (const RuledRow& rule : shown.rules)
        scales += (scales.empty() ? "" : ", ") + four(rule.record.scale());
    // The head's own weights are its own cells.
    const bool of_head = model.row.record != nullptr;
    Sheet sheet{
        .key = "scale/row",
        .title = "Weights",
        .notation = "softmax of q · k times " + scales,
        .rows = rule_axis(shown),
        .columns = {"key", key_names(model, subject), {}},
        .value =
            [&shown](Index r, Index key) {
                return shown.rules[static_cast<std::size_t>(r)].exact[static_cast<std::size_t>(key)];
            },
        .cell = [of_head, query = shown.row.query](Index r, Index key) -> std::optional<CellRef> {
            if (of_head && r == 0) return RunCell{Stage::weight, query, key};
            return cells::weight(r, key);
        },
        .allowed = [row = shown.row](
                       Index, Index key) { return row.record->spec().mask.allows(row.head, row.query, key); },
        .is_tall = true};
    if (const auto chosen = subject.chosen().key; of_head && chosen) sheet.columns.wanted = {*chosen};
    const std::size_t sorted = std::min(shown.keys.size(), RuledRows::keys_sorted);
    sheet.columns.wanted.insert(sheet.columns.wanted.end(), shown.keys.begin(),
                                shown.keys.begin() + static_cast<std::ptrdiff_t>(sorted));
    return sheet;
}

Sheet measures_sheet(const Model& model) {
    const RuledRows& shown = *model.rules.kept();
    Sheet sheet{.key = "scale/measure",
                .title = "Saturation",
                .notation = "entropy in nats, length of ∂A/∂S",
                .rows = rule_axis(shown),
                .columns = {"measure", {"entropy", "largest", "‖∂A/∂S‖"}}};
    sheet.value = [&shown](Index r, Index c) {
        return measured(shown.rules[static_cast<std::size_t>(r)].exact_saturation,
                        static_cast<RowMeasure>(c));
    };
    sheet.text = [value = sheet.value](Index r, Index c) { return fixed(value(r, c), 4); };
    sheet.cell = [](Index r, Index c) { return cells::measure(c, r); };
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    return {table_of(weights_sheet(*this, subject)), table_of(measures_sheet(*this))};
}

}  // namespace attn::app::scale
