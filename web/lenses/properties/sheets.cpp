// Makes the matrices that lens Properties shows.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/properties/properties.hpp"

namespace attn::app::properties {

namespace {

enum Column { holds, error, bound, count };

std::string verdict(const PropertyResult& result) {
    if (result.cells == 0) return result.done ? "–" : "…";
    if (!result.is_meant) return result.holds() ? "yes" : "need not";
    return !result.holds() ? "no" : result.done ? "yes" : "so far";
}

// An experiment that has no bound only measures.
bool has_bound(Property property, const PropertyResult& result) {
    return result.is_meant && property != Property::positions;
}

std::string small_text(double value) { return value == 0 ? "0" : fixed(value, 2); }

}  // namespace

Sheet properties_sheet(const Model& model, Subject& subject, bool of_experiments) {
    const Index first = of_experiments ? required_properties : 0,
                last = of_experiments ? property_count : required_properties;
    const auto property_at = [first](Index r) { return static_cast<Property>(first + r); };
    Sheet sheet{.key = of_experiments ? "properties/experiment" : "properties/property",
                .title = of_experiments ? "Experiments" : "Properties",
                .notation = of_experiments ? "" : "each with the error that comes nearest to its bound",
                .rows = {.name = "property", .first = first},
                .columns = {"found", {"holds", "error", "bound", "cells"}}};
    for (Index i = first; i < last; ++i)
        sheet.rows.labels.emplace_back(brief_name_of(static_cast<Property>(i)));
    const auto result_at = [&model, property_at](Index r) -> const PropertyResult& {
        return model.result(property_at(r));
    };
    sheet.value = [result_at, property_at](Index r, Index c) -> double {
        const PropertyResult& result = result_at(r);
        if (c == count) return static_cast<double>(result.cells);
        if (result.cells == 0 || (c == bound && !has_bound(property_at(r), result))) return NAN;
        return c == holds   ? (result.holds() ? 1.0 : 0.0)
               : c == error ? result.worst.error
                            : result.worst.bound;
    };
    sheet.text = [value = sheet.value, result_at](Index r, Index c) -> std::string {
        const double number = value(r, c);
        if (c == holds) return verdict(result_at(r));
        if (std::isnan(number)) return "–";
        return c == count ? with_commas(static_cast<std::int64_t>(number)) : small_text(number);
    };
    sheet.cell = [value = sheet.value, property_at](Index r, Index c) -> std::optional<CellRef> {
        const Property property = property_at(r);
        if (c == holds || std::isnan(value(r, c)) || value(r, count) == 0) return std::nullopt;
        return c == error   ? cells::error(property)
               : c == bound ? cells::bound(property)
                            : cells::count(property);
    };
    sheet.tip = [result_at, property_at, &subject](Index r, Index c) {
        const PropertyResult& result = result_at(r);
        const Property property = property_at(r);
        if (!result.can_be_checked())
            return "“" + std::string(name_of(property)) + "” " + reason_of(result.lacking) + ".";
        if (c == error && result.cells > 0)
            return "The nearest to its bound is " + place_name(subject, property, result.worst) + ".";
        return std::string(name_of(property)) + ". " + way_of(property);
    };
    if (!of_experiments || model.state.shown >= Property::lengths) {
        const Index shown = static_cast<Index>(model.state.shown) - first;
        if (shown >= 0 && shown < last - first) sheet.lit_row = shown;
    }
    return sheet;
}

Sheet heads_sheet(const Model& model, Subject& subject) {
    const Property property = model.state.shown;
    const std::vector<CheckedCell>& all = model.result(property).heads;
    const Attention& attention = *subject.attention();
    const Range layers = model.of.scope == Scope::all ? attention.alike()
                                                      : Range{model.of.head.layer, model.of.head.layer + 1};
    Sheet sheet{.key = "properties/head",
                .title = "Worst error of each head",
                .notation = name_of(property),
                .rows = {.name = "layer", .first = layers.begin},
                .columns = {"head", numbered_labels(attention.heads())},
                .decimals = 2,
                .is_whole = true};
    for (Index layer = layers.begin; layer < layers.end; ++layer)
        sheet.rows.labels.push_back(attention.numbering().name(layer));
    const auto at = [&all, layers](Index r, Index c) {
        return std::ranges::find_if(
            all, [&](const CheckedCell& each) { return each.layer == layers.begin + r && each.head == c; });
    };
    sheet.value = [at, &all](Index r, Index c) {
        const auto found = at(r, c);
        return found == all.end() ? NAN : found->error;
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        return std::isnan(value(r, c)) ? "" : small_text(value(r, c));
    };
    sheet.cell = [at, &all, layers, property](Index r, Index c) -> std::optional<CellRef> {
        if (at(r, c) == all.end()) return std::nullopt;
        return cells::head(property, layers.begin + r, c);
    };
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!checks) return {};
    std::vector<Table> all{table_of(properties_sheet(*this, subject, false)),
                           table_of(properties_sheet(*this, subject, true))};
    if (of.scope != Scope::head && !result(state.shown).heads.empty())
        all.push_back(table_of(heads_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::properties
