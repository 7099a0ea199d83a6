// Makes the matrices that lens Cost shows.
#include <cmath>

#include "app/format.hpp"
#include "lenses/cost/cost.hpp"

namespace attn::app::cost {

Sheet fits_sheet(const Model& model) {
    Sheet sheet{.key = "cost/fits",
                .title = "Exponents",
                .notation = "slope of ln time over ln n and ln d, ± its standard error",
                .about = "measured in this tab",
                .rows = {.name = "form"},
                .columns = {"number", {"n^", "±", "twice n", "d^", "±", "speed"}, {0, 1, 3, 2, 4, 5}}};
    for (const CostSeries& each : model.series) sheet.rows.labels.push_back(each.name());
    const auto series = [&model](Index r) -> const CostSeries& {
        return model.series[static_cast<std::size_t>(r)];
    };
    sheet.value = [series](Index r, Index c) {
        const CostSeries& own = series(r);
        if (c == 5) {
            const auto& timed = own.by(CostAxis::n).timed;
            return timed.empty() ? std::nan("") : rate_of(*timed.back());
        }
        const auto& fit = own.by(c < 3 ? CostAxis::n : CostAxis::d).fit;
        if (!fit) return std::nan("");
        return c == 2 ? std::exp2(fit->exponent) : c % 3 == 0 ? fit->exponent : fit->error;
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const double number = value(r, c);
        return std::isnan(number) ? std::string()
               : c == 5           ? operations_text(number) + "/s"
               : c == 2           ? "× " + fixed(number, 2)
                                  : fixed(number, c == 1 || c == 4 ? 3 : 2);
    };
    sheet.cell = [series](Index r, Index c) -> std::optional<CellRef> {
        const auto form = static_cast<Index>(series(r).form), means = static_cast<Index>(series(r).means);
        static constexpr std::array<Index, 6> number{0, 1, 3, 0, 1, 4};
        const Index what = number[static_cast<std::size_t>(c)];
        return c == 3 || c == 4 ? cells::over_d(form, means, what) : cells::over_n(form, means, what);
    };
    return sheet;
}

Sheet roof_sheet(const Model& model) {
    const Roofline roof = model.roofline().value_or(Roofline{});
    return {.key = "cost/roof",
            .title = "This browser",
            .notation = "its ridge is where the two meet",
            .rows = {"limit", {"arithmetic", "memory", "ridge"}},
            .columns = {"number", {"measured"}},
            .value = [roof](Index r,
                            Index) { return r == 0   ? roof.peak
                                            : r == 1 ? roof.bandwidth
                                                     : roof.ridge(); },
            .cell = [](Index r, Index) { return cells::roof(r); },
            .text =
                [roof](Index r, Index) {
                    return r == 0   ? operations_text(roof.peak) + "/s"
                           : r == 1 ? bytes_text(roof.bandwidth) + "/s"
                                    : fixed(roof.ridge(), 1) + " FLOP/B";
                }};
}

Sheet reached_sheet(const Model& model) {
    const Roofline roof = model.roofline().value_or(Roofline{});
    Sheet sheet{.key = "cost/reached",
                .title = "What each step reaches",
                .notation = "of pieces that fit into a moment",
                .about = model.measured->roof_of(),
                .rows = {"operation", {operation_names.begin(), operation_names.end()}},
                .columns = {"number", {"FLOP/B", "measured", "roof", "of it"}, {0, 1, 3, 2}}};
    sheet.value = [&model, roof](Index r, Index c) {
        const auto* timed = model.measured->timed(static_cast<CostOperation>(r));
        if (!timed) return std::nan("");
        const double intensity = intensity_of(timed->what), rate = rate_of(*timed);
        return c == 0 ? intensity : c == 1 ? rate : c == 2 ? roof.at(intensity) : rate / roof.at(intensity);
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const double number = value(r, c);
        return std::isnan(number) ? std::string()
               : c == 0           ? fixed(number, number < 10 ? 2 : 0)
               : c == 3           ? percent(number)
                                  : operations_text(number) + "/s";
    };
    sheet.cell = [](Index r, Index c) { return cells::reached(r, c); };
    return sheet;
}

Sheet models_sheet(const Model& model) {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < model.shapes.size(); ++i)
        if (model.shape(i)) shown.push_back(i);
    Sheet sheet{.key = "cost/models",
                .title = "Models beside each other",
                .notation = "weights in " + std::to_string(model.state.weight_bits) + " bits, cache in " +
                            std::to_string(model.state.cache_bits),
                .about = many(model.state.tokens, "token"),
                .rows = {.name = "amount"},
                .columns = {.name = "model"}};
    for (const std::size_t each : shown) {
        if (each == model.in_view()) sheet.lit_column = sheet.columns.size();
        sheet.columns.labels.push_back(model.shape_name(each));
    }
    const std::size_t rows = model.roofline() ? amount_count : amount_count - 2;
    sheet.rows.labels.assign(amount_names.begin(), amount_names.begin() + static_cast<Index>(rows));
    sheet.value = [&model, shown](Index r, Index c) {
        return model.use(shown[static_cast<std::size_t>(c)])
            .amount(static_cast<Amount>(r))
            .value_or(std::nan(""));
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const double number = value(r, c);
        return std::isnan(number) ? std::string() : amount_text(static_cast<Amount>(r), number);
    };
    sheet.cell = [shown](Index r, Index c) { return cells::model(shown[static_cast<std::size_t>(c)], r); };
    return sheet;
}

std::vector<Table> Model::tables(Subject&) {
    std::vector<Table> all;
    if (state.part == Part::time && measured->times()->done()) all.push_back(table_of(fits_sheet(*this)));
    if (state.part == Part::roofline && roofline())
        for (const Sheet& sheet : {reached_sheet(*this), roof_sheet(*this)}) all.push_back(table_of(sheet));
    if (state.part == Part::models) all.push_back(table_of(models_sheet(*this)));
    return all;
}

}  // namespace attn::app::cost
