// Makes the matrices that lens Heads shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "analysis/ordered.hpp"
#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "subjects/reading.hpp"

namespace attn::app::heads {

namespace {

std::span<const double> written_by(const HeadWrites& writes, Index part) {
    return part <= writes.heads ? writes.part(part) : part == writes.heads + 1 ? writes.sum : writes.whole;
}

// All measured settings.
Table settings_table(const Model& model) {
    std::vector<Index> shown{0};
    for (const Index each : model.runs().settings())
        if (model.runs().at(each)) shown.push_back(each);
    Table table{model.runs().shares() ? "Sharing keys and values" : "A latent for keys and values",
                {"numbers a token", "bytes a token", "loss", "change of attention",
                 std::string("probability moved ") + at_temperature},
                {},
                Matrix(std::ssize(shown), cache_measure_count)};
    for (const Index setting : shown) {
        for (Index m = 0; m < cache_measure_count; ++m)
            table.values.at(std::ssize(table.row_labels), m) =
                model.cache_value(static_cast<CacheMeasure>(m), setting).value_or(NAN);
        table.row_labels.push_back(setting == 0 ? "as it is" : setting_name(model, setting));
    }
    return table;
}

}  // namespace

Table shapes_table(const HeadSizes& sizes) {
    constexpr Index most_axes = 4;
    const std::vector<ShapedTensor> shapes = shapes_of(sizes);
    Table table{"Shapes, one after the other",
                numbered_labels(most_axes, "axis "),
                {},
                Matrix(std::ssize(shapes), most_axes)};
    std::ranges::fill(table.values.values, NAN);
    for (const ShapedTensor& each : shapes) {
        for (Index axis = 0; axis < std::ssize(each.shape); ++axis)
            table.values.at(std::ssize(table.row_labels), axis) =
                static_cast<double>(each.shape[static_cast<std::size_t>(axis)]);
        table.row_labels.emplace_back(each.name);
    }
    return table;
}

Sheet numbers_sheet(const HeadSizes& sizes) {
    Sheet sheet{.key = "heads/numbers",
                .title = "How many",
                .notation = "numbers, weights that make them, products",
                .rows = {.name = "tensor"},
                .columns = {"of it", {"numbers", "weights", "products"}},
                .cell = [](Index r, Index c) { return cells::shape(r, c); }};
    std::vector<std::array<std::int64_t, 3>> counts;
    for (const ShapedTensor& each : shapes_of(sizes)) {
        sheet.rows.labels.emplace_back(each.brief);
        counts.push_back({count_of(each.shape), each.matrix[0] * each.matrix[1],
                          each.products.empty() ? 0 : count_of(each.products)});
    }
    sheet.value = [counts = std::move(counts)](Index r, Index c) {
        return static_cast<double>(counts[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const auto count = static_cast<std::int64_t>(value(r, c));
        return count == 0 ? "–" : with_commas(count);
    };
    return sheet;
}

// The components in which the sum is largest come first.
Sheet written_sheet(const Model& model, Subject& subject) {
    const HeadWrites& w = model.writes();
    Sheet sheet{
        .key = "heads/written",
        .title = "Written into the residual",
        .notation = "the components with the largest sums",
        .about = query_in_words(*subject.attention(), model.row),
        .rows = {"part", numbered_labels(w.heads, "head ")},
        .columns = {"component", numbered_labels(w.d_model),
                    ordered_by(w.d_model,
                               [&](Index i) { return -std::abs(w.whole[static_cast<std::size_t>(i)]); })},
        .value = [&w](Index part,
                      Index component) { return written_by(w, part)[static_cast<std::size_t>(component)]; },
        .cell = [](Index part, Index component) { return cells::written(part, component); },
        .is_signed = true,
        .is_tall = true,
        .lit_row = model.head.head};
    for (const char* name : {"bias", "sum", "attention"}) sheet.rows.labels.emplace_back(name);
    return sheet;
}

Table shares_table(const Model& model, Subject& subject) {
    Table table{"What each head writes", {"length", "share"}, {}, Matrix(model.writes().heads + 1, 2)};
    for (Index part = 0; part <= model.writes().heads; ++part) {
        table.row_labels.push_back(part_name(model, subject, part));
        table.values.at(part, 0) = model.writes().norm(part);
        table.values.at(part, 1) = model.writes().share(part);
    }
    return table;
}

Sheet alike_sheet(const Model& model, Subject& subject) {
    const Layers numbering = subject.attention()->numbering();
    const bool outputs = model.state.outputs, one_layer = model.alike().attentions().size() == 1;
    Sheet sheet{.key = "heads/alike",
                .title = outputs ? "How alike they write" : "How alike they look",
                .notation = outputs ? "mean cosine of what they add to the residual"
                                    : "1 − mean Jensen–Shannon distance of their rows",
                .rows = {.name = "head"},
                .columns = {.name = "head"},
                .value = [&model](Index r,
                                  Index c) { return model.similarity(model.in_order(r), model.in_order(c)); },
                .cell =
                    [&model, outputs](Index r, Index c) {
                        return cells::similarity(outputs, model.in_order(r), model.in_order(c));
                    },
                .is_signed = outputs,
                .most = 1,
                .is_whole = true};
    for (const Index i : model.order()) {
        const HeadIndex head = model.alike().head(i);
        if (head == subject.chosen_head()) sheet.lit_row = sheet.rows.size();
        sheet.rows.labels.push_back(one_layer ? std::to_string(head.head) : numbering.short_head(head));
    }
    sheet.columns.labels = sheet.rows.labels;
    return sheet;
}

Table roles_table(const Model& model, Subject& subject) {
    Table table{"What each head was measured to do",
                {"score"},
                {},
                Matrix(static_cast<Index>(model.order().size()), 1)};
    for (const Index i : model.order()) {
        const Role found = role_of(model, subject, i);
        table.values.at(std::ssize(table.row_labels), 0) = found.score;
        table.row_labels.push_back(subject.attention()->numbering().short_head(model.alike().head(i)) + ": " +
                                   found.name + " " + found.on);
    }
    return table;
}

// Every measure before and after the setting that was measured last.
Sheet measures_sheet(const Model& model) {
    const Index last = model.runs().last_setting();
    Sheet sheet{
        .key = "heads/measures",
        .title = "What it saves and costs",
        .notation = std::string("a token’s numbers in the cache, at 16 bits; nats; share that changed, "
                                "the next token’s probability ") +
                    at_temperature,
        .rows = {"measure", {"numbers", "bytes, 16-bit", "loss", "attention", "next"}},
        .columns = {"run", {"as it is"}}};
    if (last != 0)
        sheet.columns.labels.push_back(model.runs().shares() ? many(last, "head")
                                                             : setting_name(model, last));
    sheet.value = [&model, last](Index r, Index c) {
        return model.cache_value(static_cast<CacheMeasure>(r), c == 0 ? 0 : last).value_or(NAN);
    };
    sheet.text = [value = sheet.value](Index r, Index c) {
        const double number = value(r, c);
        const auto measure = static_cast<CacheMeasure>(r);
        return std::isnan(number) ? "–"
               : measure == CacheMeasure::numbers || measure == CacheMeasure::bytes
                   ? with_commas(static_cast<std::int64_t>(number))
               : measure == CacheMeasure::loss ? fixed(number, 4)
                                               : percent(number);
    };
    sheet.cell = [is_latent = model.is_latent(), last](Index r, Index c) {
        return cells::cache(is_latent, r, c == 0 ? 0 : last);
    };
    return sheet;
}

// The most likely tokens of both runs, ordered by the larger of the two probabilities.
Sheet said_sheet(const Model& model, Subject& subject) {
    constexpr std::ptrdiff_t most_said = 6;
    const std::vector<double>&before = model.runs().at(0)->probabilities,
          &after = model.runs().last()->probabilities;
    std::vector<Index> ids(before.size());
    std::iota(ids.begin(), ids.end(), Index{0});
    const auto count = std::min(most_said, std::ssize(ids));
    std::ranges::partial_sort(ids, ids.begin() + count, std::greater{}, [&](Index id) {
        return std::max(before[static_cast<std::size_t>(id)], after[static_cast<std::size_t>(id)]);
    });
    ids.resize(static_cast<std::size_t>(count));
    Sheet sheet{
        .key = "heads/said",
        .title = "What the model says",
        .notation = "probabilities " + prediction_in_words(*subject.attention()) + ", " + at_temperature,
        .rows = {.name = "token"},
        .columns = {"run", {"as it is"}},
        .value =
            [&before, &after, ids](Index r, Index c) {
                return (c == 0 ? before : after)[static_cast<std::size_t>(ids[static_cast<std::size_t>(r)])];
            },
        .cell = [ids, is_latent = model.is_latent()](
                    Index r,
                    Index c) { return cells::probability(is_latent, c, ids[static_cast<std::size_t>(r)]); },
        .most = 1};
    if (model.runs().last_setting() != 0) sheet.columns.labels.emplace_back("then");
    for (const Index id : ids)
        sheet.rows.labels.push_back(model.vocabulary.name(subject, static_cast<std::int32_t>(id)));
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    switch (state.part) {
        case Part::shapes: return {table_of(numbers_sheet(sizes))};
        case Part::writes: return {shares_table(*this, subject), table_of(written_sheet(*this, subject))};
        case Part::alike:
            if (!compared()) return {};
            return {table_of(alike_sheet(*this, subject)), roles_table(*this, subject)};
        case Part::sharing:
        case Part::latent: break;
    }
    std::vector<Table> all{settings_table(*this)};
    if (!runs().at(0)) return all;
    all.push_back(table_of(measures_sheet(*this)));
    if (says()) all.push_back(table_of(said_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::heads
