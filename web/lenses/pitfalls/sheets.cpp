// Makes the matrices that lens Pitfalls shows.
#include <cmath>

#include "app/format.hpp"
#include "lenses/pitfalls/pitfalls.hpp"
#include "subjects/reading.hpp"

namespace attn::app::pitfalls {

namespace {

constexpr Index most_whole = 40;  // keys of a map that shows all of them, if without numbers

// Its numbers are those of the two sides, and their difference.
double number_at(const Model& model, Side side, const std::function<double(const MistakenHead&)>& at) {
    if (!model.right() || !model.mistaken())
        return side == Side::right && model.right() ? at(*model.right()) : NAN;
    if (side != Side::change) return at(*model.of(side));
    return at(*model.mistaken()) - at(*model.right());
}

// Three rows: right, with the mistake, and the difference.
Sheet three_rows(const Model& model, std::string key, std::string title, SheetAxis columns,
                 const std::function<double(const MistakenHead&, Index column)>& at,
                 const std::function<CellRef(Side side, Index column)>& cell) {
    return {
        .key = std::move(key),
        .title = std::move(title),
        .about = name_of(model, model.state.mistake),
        .rows = {"implementation", {side_names.begin(), side_names.end()}},
        .columns = std::move(columns),
        .value =
            [&model, at](Index r, Index c) {
                return number_at(model, static_cast<Side>(r),
                                 [&](const MistakenHead& head) { return at(head, c); });
            },
        .cell = [cell](Index r, Index c) -> std::optional<CellRef> { return cell(static_cast<Side>(r), c); },
        .is_coloured = true,
        .decimals = 3,
        .is_signed = true,
        .is_tall = true};
}

Measure measure_at(Index column) { return static_cast<Measure>(column); }

std::string effect_text(const MistakeEffect* effect, Measure measure) {
    if (!effect) return "…";
    switch (measure) {
        case Measure::gradient:
            return std::isnan(effect->gradient)   ? "–"
                   : std::isinf(effect->gradient) ? "∞"
                                                  : percent(effect->gradient);
        case Measure::map: return is_seen(*effect) ? "yes" : "no";
        default: return change_text(effect->of(static_cast<Of>(measure)).change);
    }
}

}  // namespace

std::string window_text(const Model& model) {
    const Range shown = model.rows.queries;
    if (shown.size() == model.rows.given->queries()) return "";
    return "queries " + with_commas(shown.begin) + "–" + with_commas(shown.end - 1);
}

Sheet effects_sheet(const Model& model, Subject& subject) {
    const std::vector<Index> listed = model.listed();
    Sheet sheet{.key = "pitfalls/effects",
                .title = "What each mistake changes",
                .notation = "largest change of a number; ‖g′ − g‖ / ‖g‖ of the gradient at " +
                            query_in_words(*subject.attention(), model.rows.query),
                .about = window_text(model),
                .rows = {"mistake", {}},
                .columns = {"change of", {"score", "weight", "output", "gradient", "in a map"}}};
    for (const Index mistake : listed) sheet.rows.labels.push_back(name_of(model, mistake));
    sheet.value = [&model, listed](Index r, Index c) -> double {
        const MistakeEffect* effect = model.effect(listed[static_cast<std::size_t>(r)]);
        if (!effect) return NAN;
        if (measure_at(c) == Measure::gradient) return effect->gradient;
        if (measure_at(c) == Measure::map) return effect->of(Of::weight).change * colour_steps;
        return effect->of(static_cast<Of>(c)).change;
    };
    sheet.text = [&model, listed](Index r, Index c) {
        return effect_text(model.effect(listed[static_cast<std::size_t>(r)]), measure_at(c));
    };
    sheet.tip = [&model, &subject, listed](Index r, Index c) -> std::string {
        const MistakeEffect* effect = model.effect(listed[static_cast<std::size_t>(r)]);
        if (!effect || measure_at(c) == Measure::gradient) return "";
        if (measure_at(c) == Measure::map)
            return change_text(effect->of(Of::weight).change * colour_steps) + " of a map’s 255 colour steps";
        const auto& at = effect->of(static_cast<Of>(c));
        const Attention& attention = *subject.attention();
        return at.change == 0
                   ? ""
                   : "for " + query_in_words(attention, at.query) +
                         (measure_at(c) == Measure::output ? ", component " + std::to_string(at.column)
                                                           : " × " + key_in_words(attention, at.column));
    };
    sheet.cell = [listed](Index r, Index c) -> std::optional<CellRef> {
        return cells::effect(listed[static_cast<std::size_t>(r)], c);
    };
    const auto lit = std::ranges::find(listed, model.state.mistake);
    if (lit != listed.end()) sheet.lit_row = lit - listed.begin();
    return sheet;
}

Sheet weights_sheet(const Model& model, Subject& subject, Side side) {
    const Attention& attention = *subject.attention();
    const Range rows = model.rows.queries;
    const auto at = static_cast<std::size_t>(side);
    Sheet sheet{.key = "pitfalls/" + std::string(cells::side_words[at]),
                .title = side == Side::change ? "Difference of the weights"
                                              : "Weights, " + std::string(side_names[at]),
                .about = side == Side::right ? window_text(model)
                         : window_text(model).empty()
                             ? name_of(model, model.state.mistake)
                             : name_of(model, model.state.mistake) + ", " + window_text(model),
                .rows = {"query", labels_in(attention.query_names(), rows), {}, rows.begin},
                .columns = {"key", {attention.key_names().begin(), attention.key_names().end()}},
                .value =
                    [&model, side, rows](Index r, Index c) {
                        return number_at(model, side, [&](const MistakenHead& head) {
                            return head.weights(rows.begin + r)[static_cast<std::size_t>(c)];
                        });
                    },
                .cell = [side, rows](Index r, Index c) -> std::optional<CellRef> {
                    return cells::weight(side, rows.begin + r, c);
                },
                .is_coloured = true,
                .is_signed = side == Side::change,
                .most = side == Side::change ? 0.0F : 1.0F};
    sheet.is_whole = sheet.columns.size() <= most_whole;
    const auto hides = [&model, rows](const MistakenHead& head, Index r, Index c) {
        return head.implementation().masking == Implementation::Masking::minus_infinity &&
               !head.run().allows(0, model.rows.head, rows.begin + r, c);
    };
    sheet.allowed = [&model, side, hides](Index r, Index c) {
        const MistakenHead *right = model.right(), *mistaken = model.mistaken();
        if (side == Side::right || !mistaken) return !hides(*right, r, c);
        return !hides(*mistaken, r, c) || (side == Side::change && !hides(*right, r, c));
    };
    if (model.key_chosen) sheet.columns.wanted.push_back(*model.key_chosen);
    if (const MistakeEffect* effect = model.effect(model.state.mistake);
        effect && !model.chosen().variants.empty())
        sheet.columns.wanted.push_back(effect->of(Of::weight).column);
    sheet.lit_row = model.rows.query - rows.begin;
    sheet.lit_column = model.key_chosen;
    return sheet;
}

Sheet scores_sheet(const Model& model, Subject& subject) {
    const Index query = model.rows.query;
    const Attention& attention = *subject.attention();
    Sheet sheet = three_rows(
        model, "pitfalls/scores",
        "Scores of " + query_in_words(*subject.attention(), model.rows.query) + " before the mask",
        {"key", {attention.key_names().begin(), attention.key_names().end()}},
        [query](const MistakenHead& head, Index c) {
            return head.scores(query)[static_cast<std::size_t>(c)];
        },
        [query](Side side, Index c) { return cells::score(side, query, c); });
    if (model.key_chosen) sheet.columns.wanted.push_back(*model.key_chosen);
    return sheet;
}

Sheet output_sheet(const Model& model, Subject& subject) {
    const Index query = model.rows.query;
    return three_rows(
        model, "pitfalls/output", "Output of " + query_in_words(*subject.attention(), model.rows.query),
        counted("component", model.rows.given->d_v()),
        [query](const MistakenHead& head, Index c) {
            return head.output(query)[static_cast<std::size_t>(c)];
        },
        [query](Side side, Index c) { return cells::output(side, query, c); });
}

Sheet gradient_sheet(const Model& model, Subject& subject) {
    return three_rows(
        model, "pitfalls/gradient",
        "Gradient that reaches the query of " + query_in_words(*subject.attention(), model.rows.query),
        counted("component", model.rows.given->d_k()),
        [](const MistakenHead& head, Index c) { return head.gradient()[static_cast<std::size_t>(c)]; },
        [](Side side, Index c) { return cells::gradient(side, c); });
}

Sheet impossible_sheet(const Model& model) {
    std::vector<std::string> reasons;
    Sheet sheet{.key = "pitfalls/impossible",
                .title = "Mistakes that this head cannot make",
                .rows = {"mistake", {}},
                .columns = {"why", {"why"}},
                .value = [](Index, Index) { return NAN; }};
    for (Index mistake = 0; mistake < mistake_count; ++mistake)
        if (const PossibleMistake& each = model.at(mistake); each.variants.empty()) {
            sheet.rows.labels.emplace_back(each.mistake->name);
            reasons.push_back(each.needs);
        }
    sheet.text = [reasons](Index r, Index) { return reasons[static_cast<std::size_t>(r)]; };
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!refused.empty() || !right()) return {};
    std::vector<Table> all{table_of(effects_sheet(*this, subject))};
    if (state.train != Train::none && !runs().empty())
        all.insert(all.begin(), table_of(learned_sheet(*this)));
    all.push_back(table_of(weights_sheet(*this, subject, Side::right)));
    if (!mistaken()) return all;
    all.push_back(table_of(weights_sheet(*this, subject, Side::mistaken)));
    all.push_back(table_of(weights_sheet(*this, subject, Side::change)));
    all.push_back(table_of(output_sheet(*this, subject)));
    all.push_back(table_of(scores_sheet(*this, subject)));
    all.push_back(table_of(gradient_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::pitfalls
