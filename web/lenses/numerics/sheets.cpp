// Makes the matrices that lens Numerics shows.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/numerics/numerics.hpp"
#include "subjects/reading.hpp"

namespace attn::app::numerics {

namespace {

constexpr Index keys_shown = 32;  // rows of K and V

constexpr std::array<const char*, extreme_count> extreme_names{
    "|Q| up to ", "|K| up to ",   "|V| up to ", "|raw| up to ", "|score| up to ",
    "exp up to ", "Σ exp up to ", "exp from ",  "weight from "};

SheetAxis format_axis(const Model& model) {
    SheetAxis axis{.name = "format", .wanted = {static_cast<Index>(model.state.format), 1, 3, 4}};
    for (const FormatInfo& format : number_formats) axis.labels.emplace_back(format.name);
    return axis;
}

std::string format_name(const Model& model) { return std::string(info(model.state.format).name); }

std::string window_text(const Model& model) {
    const Range shown = model.window.queries;
    return shown.size() == model.window.record->queries()
               ? ""
               : "queries " + with_commas(shown.begin) + "–" + with_commas(shown.end - 1);
}

bool is_least(std::size_t which) { return which >= static_cast<std::size_t>(Extreme::least_exponential); }

// A number of this size, which may be beyond double.
std::string size_text(double log2) {
    if (std::isinf(log2)) return log2 < 0 ? "0" : "∞";
    if (std::abs(log2) < 1000) return error_size(std::exp2(log2));
    return "2^" + fixed(log2, 0);
}

}  // namespace

double log2_of_end(std::size_t which, const FormatInfo& format) {
    return is_least(which) ? format.least_exponent - format.fraction_bits : std::log2(format.largest);
}
double range_used(const ExtremeAt& extreme, std::size_t which, const FormatInfo& format) {
    return std::max(extreme.log2 / log2_of_end(which, format), 0.0);
}

Sheet largest_sheet(const Model& model, Subject& subject) {
    const auto measure = static_cast<std::size_t>(model.state.measure);
    const auto at = [&model](Index r, Index c) {
        return model.errors(model.chain(model.with_format(static_cast<std::size_t>(c))),
                            model.stages[static_cast<std::size_t>(r)]);
    };
    Sheet sheet{
        .key = "numerics/largest",
        .title = "Largest error of each stage, by format",
        .notation = std::string(measure == 0 ? "|rounded − f64|" : "|rounded − f64| / |f64|") +
                    (window_text(model).empty() ? ", all queries" : ""),
        .about = window_text(model),
        .rows = {"stage", {}},
        .columns = format_axis(model),
        .value =
            [at, measure](Index r, Index c) {
                const StageErrors* errors = at(r, c);
                return errors && errors->largest[measure].error >= 0 ? errors->largest[measure].error : NAN;
            },
        .cell = [&model](Index r, Index c) -> std::optional<CellRef> {
            return cells::largest(model.stages[static_cast<std::size_t>(r)], c);
        },
        .text = [at, measure](Index r, Index c) -> std::string {
            const StageErrors* errors = at(r, c);
            if (!errors) return "…";
            if (errors->not_finite > 0) return "∞ or NaN";
            return errors->largest[measure].error < 0 ? "–" : error_size(errors->largest[measure].error);
        },
        .tip = [at, measure, &subject](Index r, Index c) -> std::string {
            const StageErrors* errors = at(r, c);
            if (!errors) return "";
            if (errors->not_finite > 0)
                return std::to_string(errors->not_finite) + " of " + many(errors->count, "number") +
                       " are infinite or NaN, the first for " +
                       place_text(subject, *errors->first_not_finite);
            if (errors->largest[measure].error < 0) return "";
            return "largest for " + place_text(subject, errors->largest[measure].at) +
                   (errors->vanished > 0 ? "; " + std::to_string(errors->vanished) + " of " +
                                               many(errors->count, "number") + " are rounded to 0"
                                         : "");
        }};
    for (const ChainStage stage : model.stages) sheet.rows.labels.emplace_back(stage_name(stage));
    sheet.lit_row = std::ranges::find(model.stages, model.shown_stage()) - model.stages.begin();
    sheet.lit_column = static_cast<Index>(model.state.format);
    return sheet;
}

Sheet errors_sheet(const Model& model, Subject& subject) {
    const RoundedChain& chain = *model.chosen();
    const ChainStage stage = model.shown_stage();
    const Attention& attention = *subject.attention();
    const Record& record = *model.window.record;
    const auto measure = static_cast<std::size_t>(model.state.measure);
    const StageErrors::Largest& worst = chain.errors()[number_of(stage)].largest[measure];
    Range rows = model.window.queries;
    if (is_of_keys(stage)) {
        const Index first = worst.error < 0 ? 0 : worst.at.row / keys_shown * keys_shown;
        rows = {first, std::min(first + keys_shown, record.keys())};
    }
    Sheet sheet;
    sheet.key = "numerics/error";
    sheet.title = "Error of the " + std::string(stage_name(stage)) + " in " + format_name(model);
    sheet.notation =
        model.state.measure == ErrorMeasure::absolute ? "rounded − f64" : "(rounded − f64) / |f64|";
    sheet.about = window_text(model);
    sheet.rows = {is_of_keys(stage) ? "key" : "query",
                  labels_in(is_of_keys(stage) ? attention.key_names() : attention.query_names(), rows),
                  {},
                  rows.begin};
    if (is_of_pairs(stage))
        sheet.columns = {"key", {attention.key_names().begin(), attention.key_names().end()}};
    else
        sheet.columns =
            stage == ChainStage::sum ? SheetAxis{"row", {"sum"}} : counted("component", chain.columns(stage));
    if (is_of_pairs(stage) && model.key_chosen) sheet.columns.wanted.push_back(*model.key_chosen);
    if (worst.error >= 0) sheet.columns.wanted.push_back(worst.at.column);
    if (const auto& told = chain.errors_of_row(model.query)[number_of(stage)].largest[measure];
        told.error >= 0)
        sheet.columns.wanted.push_back(told.at.column);
    const auto at = [stage, rows](Index r, Index c) { return ChainCell{stage, rows.begin + r, c}; };
    sheet.allowed = [&chain, at](Index r, Index c) { return chain.sees(at(r, c)); };
    sheet.value = [&chain, at, relative = model.state.measure == ErrorMeasure::relative](Index r, Index c) {
        const ChainCell cell = at(r, c);
        if (!chain.sees(cell)) return 0.0;
        const double value = chain.at(cell), exact = chain.exact_at(cell), off = value - exact;
        return std::isfinite(value) && relative && exact != 0 ? off / std::abs(exact) : off;
    };
    sheet.text = [value = sheet.value](Index r, Index c) { return error_size(value(r, c)); };
    sheet.tip = [&chain, at](Index r, Index c) -> std::string {
        const ChainCell cell = at(r, c);
        if (!chain.sees(cell)) return "masked";
        return fixed(chain.at(cell), 6) + " instead of " + fixed(chain.exact_at(cell), 6);
    };
    sheet.cell = [at](Index r, Index c) -> std::optional<CellRef> {
        const ChainCell cell = at(r, c);
        return cells::error(cell.stage, cell.row, cell.column);
    };
    sheet.is_coloured = true;
    sheet.is_signed = true;
    if (!is_of_keys(stage)) sheet.lit_row = model.query - rows.begin;
    if (is_of_pairs(stage)) sheet.lit_column = model.key_chosen;
    return sheet;
}

Sheet range_sheet(Model& model, Subject& subject) {
    std::vector<std::size_t> kept;
    Sheet sheet{.key = "numerics/range",
                .title = "How much of each format’s range the head uses",
                .notation =
                    "log₂ of the number over log₂ of the format’s largest number, or of its least for "
                    "“from”; above 100 % it does not fit. “exp up to” is without the maximum subtracted",
                .about = window_text(model),
                .rows = {"activation", {}},
                .columns = format_axis(model)};
    std::vector<ExtremeAt> found;
    for (std::size_t which = 0; which < extreme_count; ++which)
        if (const ExtremeAt* extreme = model.extreme(which)) {
            kept.push_back(which);
            found.push_back(*extreme);
            sheet.rows.labels.push_back(extreme_names[which] + size_text(extreme->log2));
        }
    sheet.value = [kept, found](Index r, Index c) {
        const auto at = static_cast<std::size_t>(r);
        return range_used(found[at], kept[at], number_formats[static_cast<std::size_t>(c)]);
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const double used = value(r, c);
        return std::isfinite(used) ? percent(used) : "∞";
    };
    sheet.tip = [kept, found, &subject](Index r, Index c) {
        const auto at = static_cast<std::size_t>(r);
        const FormatInfo& format = number_formats[static_cast<std::size_t>(c)];
        return size_text(found[at].log2) + " for " + place_text(subject, found[at].at) + "; " +
               std::string(format.name) + (is_least(kept[at]) ? " goes down to " : " goes up to ") +
               size_text(log2_of_end(kept[at], format));
    };
    sheet.cell = [kept](Index r, Index c) { return cells::range(kept[static_cast<std::size_t>(r)], c); };
    sheet.is_coloured = true;
    sheet.most = 1;
    return sheet;
}

std::optional<Sheet> way_sheet(const Model& model, Subject& subject) {
    const RoundedChain* chain = model.chosen();
    if (!chain) return std::nullopt;
    std::optional<ChainCell> last;
    for (const ChainStage stage : model.stages)
        if (const StageErrors& errors = chain->errors()[number_of(stage)]; errors.first_not_finite)
            last = errors.first_not_finite;
    if (!last) return std::nullopt;
    std::vector<ChainCell> way = chain->traced_back(*last);
    std::ranges::reverse(way);
    std::erase_if(way,
                  [&](const ChainCell& each) { return std::ranges::count(model.stages, each.stage) == 0; });
    Sheet sheet{.key = "numerics/way",
                .title = "Where " + format_name(model) + " fails first",
                .notation = place_text(subject, way.front()) + ": " + cause_text(*chain, way.front()),
                .rows = {"number", {}},
                .columns = {"in", {format_name(model), "f64"}},
                .value =
                    [chain, way](Index r, Index c) {
                        const ChainCell& cell = way[static_cast<std::size_t>(r)];
                        return c == 0 ? chain->at(cell) : chain->exact_at(cell);
                    },
                .cell = [way](Index r, Index c) -> std::optional<CellRef> {
                    const ChainCell& cell = way[static_cast<std::size_t>(r)];
                    if (c == 1) return std::nullopt;
                    return cells::error(cell.stage, cell.row, cell.column);
                }};
    sheet.text = [value = sheet.value](Index r, Index c) { return fixed(value(r, c), 4); };
    for (const ChainCell& each : way) sheet.rows.labels.emplace_back(stage_name(each.stage));
    sheet.tip = [way, &subject](Index r, Index) {
        return "for " + place_text(subject, way[static_cast<std::size_t>(r)]);
    };
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!refused.empty() || !chosen()) return {};
    std::vector<Table> all{table_of(largest_sheet(*this, subject)), table_of(errors_sheet(*this, subject))};
    if (const auto way = way_sheet(*this, subject)) all.push_back(table_of(*way));
    all.push_back(table_of(range_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::numerics
