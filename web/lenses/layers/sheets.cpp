// Makes the matrices that lens Layers shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/ordered.hpp"
#include "app/format.hpp"
#include "lenses/layers/layers.hpp"

namespace attn::app::layers {

namespace {

SheetAxis place_axis(const Model& model) {
    SheetAxis axis{.name = "after"};
    for (const StreamPlace& place : model.reading()->places()) axis.labels.push_back(place_name(place));
    return axis;
}

std::string followed_name(const Model& model, Subject& subject) {
    return model.vocabulary.name(subject, model.token()) + " " + after_words(model, subject);
}

// The followed token at every place, with the logits that its curves leave out.
Sheet followed_sheet(const Model& model, Subject& subject) {
    return {
        .key = "layers/followed",
        .title = "Layers, " + followed_name(model, subject),
        .rows = place_axis(model),
        .columns = {"number",
                    {std::string("probability ") + at_temperature, "rank", "logit", "norm", "cosine"}},
        .value = [&model](Index place, Index c) {
            const LogitLens& read = *model.reading();
            const auto at = static_cast<std::size_t>(place), token = static_cast<std::size_t>(model.token());
            const Cosine& cosine = read.states()[at].cosine;
            return std::array{read.probability(place, model.token()), static_cast<double>(model.ranks()[at]),
                              static_cast<double>(read.logits(place)[token]), cosine.first_norm,
                              cosine.value()}[static_cast<std::size_t>(c)];
        }};
}

}  // namespace

Sheet places_sheet(const Model& model, Subject& subject) {
    const Range shown = model.nearby->around(model.row());
    const Index own = model.row() - shown.begin;
    const auto likeliest = [&model, shown](Index place, Index c) {
        return model.likeliest(place, shown.begin + c);
    };
    return {
        .key = "layers/likeliest",
        .title = model.trace->network().causal ? "What it would say next, read after each half"
                                               : "What it would put there, read after each half",
        .notation = std::string("coloured by its probability ") + at_temperature,
        .rows = place_axis(model),
        .columns = {"position", labels_in(stream_text(subject).query_names(), shown),
                    ordered_by(shown.size(), [&](Index c) { return std::pair(c > own, std::abs(c - own)); })},
        .value =
            [likeliest](Index place, Index c) {
                const Candidate* found = likeliest(place, c);
                return found ? found->probability : NAN;
            },
        .cell = [shown](Index place, Index c) { return cells::likeliest(place, shown.begin + c); },
        .text =
            [&model, &subject, likeliest](Index place, Index c) {
                const Candidate* found = likeliest(place, c);
                return found ? Vocabulary::bare(model.vocabulary.text(subject, found->id)) : "";
            },
        .is_coloured = true,
        .most = 1,
        .lit_row = model.place(),
        .lit_column = own};
}

// A row for each block: its heads, and its MLP.
Sheet heads_sheet(const Model& model) {
    const std::vector<LogitShare>& shares = model.parts()->shares();
    const Index layers = std::ssize(model.trace->network().blocks),
                heads = model.trace->model()->config().heads;
    const bool crosses = model.trace->network().encoder != nullptr;
    Sheet sheet{.key = "layers/heads",
                .title = "Heads and MLPs, layer by layer",
                .notation = std::string("what each adds to the logit") +
                            (crosses ? "; c: heads of the cross-attention" : ""),
                .rows = counted("layer", layers),
                .columns = {"part", numbered_labels(heads, "h")},
                .is_signed = true,
                .is_whole = true};
    if (crosses)
        for (const std::string& name : numbered_labels(heads, "c")) sheet.columns.labels.push_back(name);
    sheet.columns.labels.emplace_back("MLP");
    const Index width = sheet.columns.size();
    std::vector<std::optional<std::size_t>> places(static_cast<std::size_t>(layers * width));
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const LogitShare& share = shares[i];
        if (share.part != LogitPart::head && share.part != LogitPart::mlp) continue;
        const AttentionPlace at = model.trace->attention(share.number).place;
        const Index column = share.part == LogitPart::mlp      ? width - 1
                             : at.kind == AttentionKind::cross ? heads + share.head
                                                               : share.head;
        places[static_cast<std::size_t>(at.layer * width + column)] = i;
    }
    const auto share_at = [places = std::move(places), width](Index layer, Index column) {
        return places[static_cast<std::size_t>(layer * width + column)];
    };
    sheet.value = [&shares, share_at](Index layer, Index column) {
        const auto share = share_at(layer, column);
        return share ? shares[*share].value : NAN;
    };
    sheet.cell = [share_at](Index layer, Index column) {
        const auto share = share_at(layer, column);
        return share ? std::optional(cells::attribution(*share)) : std::nullopt;
    };
    return sheet;
}

// The measures of every token; the chosen one comes first, then those that matter most to any measure.
const UnitAxis* units_of(const Model& model, const Attention& text) {
    return text.query_axis(model.units).units;
}

Sheet tokens_sheet(const Model& model, Subject& subject, bool encoded) {
    static constexpr std::array names{"direct", "rollout", "gradient", "taken out"};
    const Attention& text = encoded ? *encoder_text(subject) : stream_text(subject);
    const UnitAxis* units = units_of(model, text);
    Sheet sheet{.key = encoded ? "layers/tokens/encoded" : "layers/tokens",
                .title = encoded ? "Tokens that the encoder read" : "Which tokens it came from",
                .notation =
                    "direct: adds to the logit, exactly; rollout: share of what arrives; "
                    "gradient: share of what helps; taken out: falls if no query sees its key",
                .rows = {.name = "measure"},
                .columns = {"token",
                            {text.query_names().begin(), text.query_names().end()},
                            by_importance(model.tokens.all_measured(), encoded, text.queries())},
                .is_signed = true,
                .is_scaled_by_row = true,
                .is_tall = true};
    if (const auto chosen = subject.chosen().key)
        sheet.columns.wanted.insert(sheet.columns.wanted.begin(), *chosen);
    if (units) {
        sheet.notation += "; of several tokens, their sum";
        sheet.columns = {std::string(unit_key(model.units.unit)), units->names, {}};
    }
    std::vector<TokenMeasure> measures;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto measure = static_cast<TokenMeasure>(i);
        if (measure == TokenMeasure::gradient && !model.tokens.no_gradient().empty()) continue;
        if (units && !adds_up(measure)) continue;
        measures.push_back(measure);
        sheet.rows.labels.emplace_back(names[i]);
    }
    sheet.value = [&model, encoded, measures, units](Index r, Index column) {
        const TokenShares* shares = model.shares(measures[static_cast<std::size_t>(r)]);
        if (!shares) return static_cast<double>(NAN);
        const Range tokens = units ? units->of(column) : Range{column, column + 1};
        double sum = 0;
        for (Index token = tokens.begin; token < tokens.end; ++token)
            sum += shares->of(encoded)[static_cast<std::size_t>(token)];
        return sum;
    };
    sheet.cell = [encoded, measures, units](Index r, Index column) {
        const CellKind& kind = units ? (encoded ? cells::encoder_unit : cells::unit)
                                     : (encoded ? cells::encoder_token : cells::token);
        return kind(measures[static_cast<std::size_t>(r)], column);
    };
    return sheet;
}

// All parts, their sum, and the run's logit.
Table sum_table(const Model& model, Subject& subject) {
    Table table{"What adds up to the logit of " + followed_name(model, subject), {"adds"}, {}, {}};
    std::vector<double> numbers;
    for (const LogitShare& share : model.parts()->shares()) {
        table.row_labels.push_back(part_name(model, subject, share));
        numbers.push_back(share.value);
    }
    for (const char* name : {"sum", "logit"}) table.row_labels.emplace_back(name);
    for (const double number : {model.parts()->sum(), model.parts()->logit()}) numbers.push_back(number);
    table.values = Matrix(std::ssize(table.row_labels), 1, std::move(numbers));
    return table;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!reading()) return {};
    std::vector<Table> all{table_of(followed_sheet(*this, subject)), table_of(places_sheet(*this, subject)),
                           sum_table(*this, subject), table_of(heads_sheet(*this)),
                           table_of(tokens_sheet(*this, subject, false))};
    if (encoder_text(subject)) all.push_back(table_of(tokens_sheet(*this, subject, true)));
    return all;
}

}  // namespace attn::app::layers
