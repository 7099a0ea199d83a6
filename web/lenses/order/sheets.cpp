// Makes the matrices that lens Order shows.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/order/order.hpp"

namespace attn::app {

namespace {

// Writes as few digits as a cell needs: "2e-08", "0.31".
std::string brief(double value) { return value == 0 ? "0" : fixed(value, value < 0.01 ? 1 : 2); }

}  // namespace

Sheet OrderLens::outputs_sheet(const Runs& shown, TokenOrder order) const {
    const bool permuted = order == TokenOrder::permuted;
    Sheet sheet{.key = permuted ? "order/after" : "order/before",
                .title = permuted ? "Outputs in this order" : "Outputs before",
                .about = std::string(scheme_name(now().scheme)),
                .rows = {"token", content_->query_names()},
                .columns = counted("component", content_->d_v()),
                .is_signed = true};
    const Index d_v = content_->d_v();
    const auto before = [&shown, d_v](Index token, Index b) {
        return shown.before.outputs[static_cast<std::size_t>(token * d_v + b)];
    };
    sheet.value = before;
    sheet.cell = [order](Index token, Index b) { return order_cells::output(order, token, b); };
    if (!permuted) return sheet;
    sheet.value = [this, &shown, d_v](Index token, Index b) {
        return shown.after.outputs[static_cast<std::size_t>(place_of(token) * d_v + b)];
    };
    // A difference within rounding is not a change.
    sheet.before = [before, after = sheet.value, rounding = reorder_rounding(shown.after)](Index token,
                                                                                           Index b) {
        const double was = before(token, b), is = after(token, b);
        return std::abs(is - was) <= rounding ? is : was;
    };
    return sheet;
}

Sheet OrderLens::schemes_sheet() const {
    Sheet sheet{.key = "order/scheme-numbers",
                .title = "Every scheme",
                .rows = {.name = "scheme"},
                .columns = {"number", {"moved", "equal", "off f32", "off f64"}},
                .lit_row = static_cast<Index>(now().scheme)};
    for (const PositionScheme scheme : offered()) sheet.rows.labels.emplace_back(scheme_name(scheme));
    sheet.value = [this](Index scheme, Index c) {
        const Runs* each = runs(static_cast<PositionScheme>(scheme));
        if (!each || (c > 0 && !each->change)) return std::nan("");
        return c == 0   ? each->carried.most_f32()
               : c == 1 ? static_cast<double>(each->change->equal)
               : c == 2 ? each->change->f32
                        : each->change->f64;
    };
    sheet.text = [this, value = sheet.value](Index scheme, Index c) {
        const double number = value(scheme, c);
        if (std::isnan(number)) return std::string("–");
        if (c != 1) return brief(number);
        const ScoreChange& change = *runs(static_cast<PositionScheme>(scheme))->change;
        return std::to_string(change.equal) + "/" + std::to_string(change.all);
    };
    sheet.cell = [](Index scheme, Index c) {
        return c == 0   ? order_cells::largest_output_change(scheme)
               : c == 1 ? order_cells::equal_scores(scheme)
                        : order_cells::largest_score_change(scheme, c == 2 ? Precision::f32 : Precision::f64);
    };
    return sheet;
}

Sheet OrderLens::scores_sheet(const Runs& shown) const {
    Sheet sheet{.key = "order/score",
                .title = "Scores in this order",
                .about = std::string(scheme_name(now().scheme)),
                .rows = {.name = "query"},
                .columns = {.name = "key"},
                .is_signed = true,
                .is_whole = true};
    for (const Index query : order_) sheet.rows.labels.push_back(name(query));
    for (const Index key : key_order_) sheet.columns.labels.push_back(key_name(key));
    sheet.value = [&shown](Index place, Index key_place) {
        return shown.after.scores[static_cast<std::size_t>(place * shown.after.keys() + key_place)];
    };
    sheet.cell = [](Index place, Index key_place) { return order_cells::score(place, key_place); };
    sheet.allowed = [&shown](Index place, Index key_place) {
        return shown.after.record.spec().mask.allows(0, place, key_place);
    };
    return sheet;
}

std::vector<Table> OrderLens::tables(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return {};
    std::vector<Table> all;
    if (const Runs* shown = runs(now().scheme)) {
        if (content_->d_v() > 0)
            for (const TokenOrder order : {TokenOrder::permuted, TokenOrder::original})
                all.push_back(table_of(outputs_sheet(*shown, order)));
        all.push_back(table_of(scores_sheet(*shown)));
    }
    all.push_back(table_of(schemes_sheet()));
    return all;
}

}  // namespace attn::app
