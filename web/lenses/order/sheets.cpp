// Makes the matrices that lens Order shows.
#include <cmath>

#include "app/format.hpp"
#include "lenses/order/order.hpp"

namespace attn::app::order {

std::string brief(double change) { return change == 0 ? "0" : fixed(change, change < 0.01 ? 1 : 2); }

Sheet outputs_sheet(const Model& model, const Reordering& run, TokenOrder order) {
    const bool permuted = order == TokenOrder::permuted;
    Sheet sheet{.key = permuted ? "order/after" : "order/before",
                .title = permuted ? "Outputs in this order" : "Outputs before",
                .about = std::string(scheme_name(model.state.scheme)),
                .rows = {"token", model.queries.names},
                .columns = counted("component", model.content->d_v()),
                .cell = [order](Index token, Index b) { return cells::output(order, token, b); },
                .is_signed = true};
    const auto before = [&run](Index token, Index b) { return run.before.output(token, b); };
    sheet.value = before;
    if (!permuted) return sheet;
    sheet.value = [&run, &tokens = model.queries](Index token, Index b) {
        return run.after.output(tokens.place_of(token), b);
    };
    // A difference within rounding is not a change.
    sheet.before = [before, after = sheet.value, rounding = reorder_rounding(run.after)](Index token,
                                                                                         Index b) {
        const double was = before(token, b), is = after(token, b);
        return std::abs(is - was) <= rounding ? is : was;
    };
    return sheet;
}

Sheet schemes_sheet(const Model& model) {
    Sheet sheet{.key = "order/scheme-numbers",
                .title = "Every scheme",
                .rows = {.name = "scheme"},
                .columns = {"number", {"moved", "equal", "off f32", "off f64"}},
                .lit_row = static_cast<Index>(model.state.scheme)};
    for (const PositionScheme scheme : model.offered()) sheet.rows.labels.emplace_back(scheme_name(scheme));
    sheet.value = [&model](Index scheme, Index c) {
        const Reordering* each = model.run(static_cast<PositionScheme>(scheme));
        if (!each || (c > 0 && !each->change)) return std::nan("");
        return c == 0   ? each->carried.most_f32()
               : c == 1 ? static_cast<double>(each->change->equal)
               : c == 2 ? each->change->f32
                        : each->change->f64;
    };
    sheet.text = [&model, value = sheet.value](Index scheme, Index c) {
        const double number = value(scheme, c);
        if (std::isnan(number)) return std::string("–");
        if (c != 1) return brief(number);
        const ScoreChange& change = *model.run(static_cast<PositionScheme>(scheme))->change;
        return std::to_string(change.equal) + "/" + std::to_string(change.all);
    };
    sheet.cell = [](Index scheme, Index c) {
        return c == 0   ? cells::largest_output_change(scheme)
               : c == 1 ? cells::equal_scores(scheme)
                        : cells::largest_score_change(scheme, c == 2 ? Precision::f32 : Precision::f64);
    };
    return sheet;
}

Sheet scores_sheet(const Model& model, const Reordering& run) {
    const auto axis = [](std::string name, const Tokens& tokens) {
        SheetAxis axis{.name = std::move(name)};
        for (const Index token : tokens.order) axis.labels.push_back(tokens.name(token));
        return axis;
    };
    return {.key = "order/score",
            .title = "Scores in this order",
            .about = std::string(scheme_name(model.state.scheme)),
            .rows = axis("query", model.queries),
            .columns = axis("key", model.keys),
            .value = [&run](Index place, Index key_place) { return run.after.score(place, key_place); },
            .cell = [](Index place, Index key_place) { return cells::score(place, key_place); },
            .allowed =
                [&run](Index place, Index key_place) {
                    return run.after.record.spec().mask.allows(0, place, key_place);
                },
            .is_signed = true,
            .is_whole = true};
}

std::vector<Table> Model::tables(Subject&) {
    if (!refused.empty()) return {};
    std::vector<Table> all;
    if (const Reordering* shown = run()) {
        if (content->d_v() > 0)
            for (const TokenOrder order : {TokenOrder::permuted, TokenOrder::original})
                all.push_back(table_of(outputs_sheet(*this, *shown, order)));
        all.push_back(table_of(scores_sheet(*this, *shown)));
    }
    all.push_back(table_of(schemes_sheet(*this)));
    return all;
}

}  // namespace attn::app::order
