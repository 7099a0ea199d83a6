// Makes the matrices that lens Layers shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/format.hpp"
#include "lenses/layers/layers.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr Index most_positions = 16;

}  // namespace

// The row's own position, and earlier positions rather than later ones.
Range LayersLens::positions() const {
    const Index all = trace_->tokens(), count = std::min(all, most_positions),
                first = std::clamp(row() + 1 - count, Index{0}, all - count);
    return {first, first + count};
}

SheetAxis LayersLens::place_axis() const {
    SheetAxis axis{.name = "after"};
    for (const StreamPlace& place : reading()->places()) axis.labels.push_back(place_name(place));
    return axis;
}

Sheet LayersLens::places_sheet(Subject& subject) {
    const Range shown = positions();
    std::vector<Index> nearest(static_cast<std::size_t>(shown.size()));
    std::iota(nearest.begin(), nearest.end(), Index{0});
    const Index own = row() - shown.begin;
    std::ranges::sort(nearest, {}, [&](Index c) { return std::pair(c > own, std::abs(c - own)); });
    const auto likeliest = [this, shown](Index place, Index c) -> const Candidate* {
        const States* states = states_at(shown.begin + c);
        if (!states || (*states)[static_cast<std::size_t>(place)].likeliest.empty()) return nullptr;
        return &(*states)[static_cast<std::size_t>(place)].likeliest.front();
    };
    return {.key = "layers/likeliest",
            .title = trace_->network().causal ? "What it would say next, read after each half"
                                              : "What it would put there, read after each half",
            .notation = std::string("coloured by its probability ") + at_temperature,
            .rows = place_axis(),
            .columns = {"position", labels_in(stream_text(subject).query_names(), shown), std::move(nearest)},
            .value =
                [likeliest](Index place, Index c) {
                    const Candidate* found = likeliest(place, c);
                    return found ? found->probability : NAN;
                },
            .cell = [shown](Index place, Index c) { return layers_cells::likeliest(place, shown.begin + c); },
            .text =
                [this, &subject, likeliest](Index place, Index c) {
                    const Candidate* found = likeliest(place, c);
                    return found ? Vocabulary::bare(vocabulary_.text(subject, found->id)) : "";
                },
            .is_coloured = true,
            .most = 1,
            .lit_row = place(),
            .lit_column = own};
}

// A row for each block: its heads, and its MLP.
Sheet LayersLens::heads_sheet() const {
    const std::vector<LogitShare>& shares = parts()->shares();
    const Index layers = std::ssize(trace_->network().blocks), heads = trace_->model()->config().heads;
    const bool crosses = trace_->network().encoder != nullptr;
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
    const Index mlp = sheet.columns.size();
    sheet.columns.labels.emplace_back("MLP");
    std::vector<std::optional<std::size_t>> places(static_cast<std::size_t>(layers * (mlp + 1)));
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const LogitShare& share = shares[i];
        if (share.part != LogitPart::head && share.part != LogitPart::mlp) continue;
        const AttentionPlace at = trace_->attention(share.number).place;
        const Index column = share.part == LogitPart::mlp      ? mlp
                             : at.kind == AttentionKind::cross ? heads + share.head
                                                               : share.head;
        places[static_cast<std::size_t>(at.layer * (mlp + 1) + column)] = i;
    }
    const auto share_at = [places = std::move(places), mlp](Index layer, Index column) {
        return places[static_cast<std::size_t>(layer * (mlp + 1) + column)];
    };
    sheet.value = [&shares, share_at](Index layer, Index column) {
        const auto share = share_at(layer, column);
        return share ? shares[*share].value : NAN;
    };
    sheet.cell = [share_at](Index layer, Index column) {
        const auto share = share_at(layer, column);
        return share ? std::optional(layers_cells::attribution(*share)) : std::nullopt;
    };
    return sheet;
}

// The measures of every token; the chosen one comes first, then those that matter most to any measure.
Sheet LayersLens::tokens_sheet(Subject& subject, bool encoded) const {
    static constexpr std::array<const char*, token_measure_count> names{"direct", "rollout", "gradient",
                                                                        "taken out"};
    const Attention& text = encoded ? *encoder_text(subject) : stream_text(subject);
    Sheet sheet{.key = encoded ? "layers/tokens/encoded" : "layers/tokens",
                .title = encoded ? "Tokens that the encoder read" : "Which tokens it came from",
                .notation =
                    "direct: adds to the logit, exactly; rollout: share of what arrives; "
                    "gradient: share of what helps; taken out: falls if no query sees its key",
                .rows = {.name = "measure"},
                .columns = {"token",
                            {text.query_names().begin(), text.query_names().end()},
                            by_importance(text.queries(), encoded)},
                .is_signed = true,
                .is_scaled_by_row = true,
                .is_tall = true};
    if (const auto chosen = subject.chosen().key)
        sheet.columns.wanted.insert(sheet.columns.wanted.begin(), *chosen);
    std::vector<TokenMeasure> measures;
    for (Index i = 0; i < token_measure_count; ++i) {
        const auto measure = static_cast<TokenMeasure>(i);
        if (measure == TokenMeasure::gradient && !no_gradient_.empty()) continue;
        measures.push_back(measure);
        sheet.rows.labels.emplace_back(names[static_cast<std::size_t>(i)]);
    }
    sheet.value = [this, encoded, measures](Index r, Index token) {
        const TokenMeasure measure = measures[static_cast<std::size_t>(r)];
        const TokenShares* shares = measure == TokenMeasure::exact ? falls_so_far() : measured(measure);
        return shares ? (encoded ? shares->encoded : shares->own)[static_cast<std::size_t>(token)] : NAN;
    };
    sheet.cell = [encoded, measures](Index r, Index token) {
        return (encoded ? layers_cells::encoder_token : layers_cells::token)(
            measures[static_cast<std::size_t>(r)], token);
    };
    return sheet;
}

// The followed token at every place, with the logits that its curves leave out.
Table LayersLens::followed_table(Subject& subject) const {
    const LogitLens& read = *reading();
    Table table{"Layers, " + followed_name(subject),
                {std::string("probability ") + at_temperature, "rank", "logit", "norm", "cosine"},
                place_axis().labels,
                Matrix(std::ssize(read.places()), 5)};
    for (Index i = 0; i < table.values.rows; ++i) {
        const Cosine& cosine = read.states()[static_cast<std::size_t>(i)].cosine;
        const std::array numbers{read.probability(i, token()),
                                 static_cast<double>(ranks()[static_cast<std::size_t>(i)]),
                                 static_cast<double>(read.logits(i)[static_cast<std::size_t>(token())]),
                                 cosine.first_norm, cosine.value()};
        for (std::size_t c = 0; c < numbers.size(); ++c)
            table.values.at(i, static_cast<Index>(c)) = numbers[c];
    }
    return table;
}

Table LayersLens::sum_table(Subject& subject) const {
    Table table{"What adds up to the logit of " + followed_name(subject), {"adds"}, {}, {}};
    const auto add = [&](std::string name, double value) {
        table.row_labels.push_back(std::move(name));
        table.values.values.push_back(value);
    };
    for (const LogitShare& share : parts()->shares())
        add(part_name(stream_text(subject), share), share.value);
    add("sum", parts()->sum());
    add("logit", parts()->logit());
    table.values = Matrix(std::ssize(table.row_labels), 1, std::move(table.values.values));
    return table;
}

std::vector<Table> LayersLens::tables(Subject& subject) {
    update(subject);
    if (!reading()) return {};
    std::vector<Table> all{followed_table(subject), table_of(places_sheet(subject)), sum_table(subject),
                           table_of(heads_sheet()), table_of(tokens_sheet(subject, false))};
    if (encoder_text(subject)) all.push_back(table_of(tokens_sheet(subject, true)));
    return all;
}

}  // namespace attn::app
