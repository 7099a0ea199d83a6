// Makes the matrices that lens Cache shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "subjects/reading.hpp"

namespace attn::app::cache {

namespace {

// Lists the query's own key, the chosen and the strongest; then, in turn, the evicted key with the largest
// weight and the three newest visible ones.
std::vector<Index> keys_wanted(const Model& model) {
    const Index at = model.query;
    std::vector<Index> seen, gone;
    for (Index key = at; key >= 0; --key) (model.kept_weights()->sees(at, key) ? seen : gone).push_back(key);
    const std::vector<float> weights = model.record().weights(model.head.head, at);
    std::ranges::sort(gone, std::greater(),
                      [&](Index key) { return weights[static_cast<std::size_t>(key)]; });
    const auto own = std::span(weights).first(static_cast<std::size_t>(at) + 1);
    std::vector<Index> wanted{at, std::min(model.chosen_key.value_or(at), at),
                              std::ranges::max_element(own) - own.begin()};
    for (auto lost = gone.begin(), newest = seen.begin(); lost != gone.end() || newest != seen.end();) {
        if (lost != gone.end()) wanted.push_back(*lost++);
        for (int i = 0; i < 3 && newest != seen.end(); ++i) wanted.push_back(*newest++);
    }
    return wanted;
}

// Keys up to the chosen query.
SheetAxis key_axis(const Model& model, Subject& subject) {
    return {"key", labels_in(model.text(subject).key_names(), {0, model.query + 1}), keys_wanted(model)};
}

// One row for each step, up to the size limit of tables: its name and its numbers.
Table by_steps(std::string title, std::vector<std::string> columns, Index steps, auto&& name,
               auto&& numbers) {
    const Index rows = std::min(steps, table_row_limit);
    Table table{std::move(title), std::move(columns), {}, {}};
    table.values = Matrix(rows, std::ssize(table.columns));
    for (Index i = 0; i < rows; ++i) {
        table.row_labels.push_back(name(i));
        const auto row = numbers(i);
        for (std::size_t c = 0; c < row.size(); ++c) table.values.at(i, static_cast<Index>(c)) = row[c];
    }
    return table;
}

// The cost of each step, with the numbers of both charts.
Table steps_table(const Cost& cost) {
    return by_steps(
        "What each step takes", {"tokens", "bytes kept", "bytes compared", "operations", "without a cache"},
        cost.steps(), [](Index step) { return step == 0 ? "prompt" : "step " + std::to_string(step); },
        [&](Index step) {
            const Index after = cost.after(step);
            return std::array{static_cast<double>(after), cost.own.bytes(after), cost.other.bytes(after),
                              cost.of_step(step, false).total(), cost.of_step(step, true).total()};
        });
}

// The result of each decoded step, with numbers that its charts leave out.
Table decoded_table(const Model& model, Subject& subject) {
    const Index first = model.shown->prompt();
    return by_steps(
        "Each decoded step", {"KL", "loss as it is", "loss", model.evicts() ? "weight lost" : "output moved"},
        model.shown->decoded().size(),
        [&](Index i) { return label_at(model.text(subject).query_names(), first + i); },
        [&](Index i) {
            const CachedDecoding::Step& step = model.shown->at(first + i);
            return std::array{step.divergence, step.loss_before, step.loss,
                              model.effect(model.head, first + i)};
        });
}

}  // namespace

Sheet variants_sheet(const Model& model) {
    const ModelConfig& config = model.trace->model()->config();
    const State& state = model.state;
    const Index last = model.cost.after(model.cost.written),
                compared =
                    state.kv_heads > 0 ? model.cost.other.shape.layers.front().kv_heads : config.kv_heads;
    const std::vector<Index> offered = model.kv_heads_offered();
    Sheet sheet{.key = "cache/variant",
                .title = "Bytes after " + many(last, "token"),
                .notation = state.window > 0 ? "with a window of " + with_commas(state.window)
                                             : "rows: heads of keys and values",
                .rows = {.name = "KV heads"},
                .columns = {.name = "kept in"},
                .in_words = bytes_text,
                .is_coloured = true,
                .decimals = 0,
                .is_whole = true,
                .lit_row = std::ranges::find(offered, compared) - offered.begin(),
                .lit_column = std::ranges::find(bits_offered, state.bits) - bits_offered.begin()};
    for (const Index bits : bits_offered) sheet.columns.labels.push_back(std::to_string(bits) + " bits");
    Matrix bytes(std::ssize(offered), std::ssize(bits_offered));
    for (Index r = 0; r < bytes.rows; ++r) {
        const Index heads = offered[static_cast<std::size_t>(r)];
        sheet.rows.labels.push_back((heads == config.heads ? "multi-head, "
                                     : heads == 1          ? "multi-query, "
                                                           : "grouped, ") +
                                    std::to_string(heads) + (heads == config.kv_heads ? " ·" : ""));
        const CacheShape shape = model.variant(heads);
        for (Index c = 0; c < bytes.cols; ++c)
            bytes.at(r, c) =
                bytes_kept(shape, last, {bits_offered[static_cast<std::size_t>(c)], state.rounding.group});
    }
    sheet.value = numbers_of(std::move(bytes));
    sheet.cell = [](Index r, Index c) { return cells::variant(r, c); };
    return sheet;
}

Sheet heads_sheet(const Model& model, Subject& subject) {
    const bool evicts = model.evicts();
    Sheet sheet{.key = "cache/heads",
                .title = evicts ? "Weight lost by each head" : "How far each head’s output moves",
                .notation = evicts ? "mean over the steps" : "‖o′ − o‖ / ‖o‖, mean over the steps",
                .rows = {.name = "layer"},
                .columns = {"head", numbered_labels(model.trace->model()->config().heads, "h")},
                .value = [&model](Index layer, Index head) { return model.mean_effect({layer, head}); },
                .cell = [](Index layer, Index head) { return cells::head(layer, head); },
                .most = evicts ? 1.0f : 0.0f,
                .is_whole = true,
                .lit_row = model.head.layer,
                .lit_column = model.head.head};
    for (Index l = 0; l < std::ssize(model.trace->layers()); ++l)
        sheet.rows.labels.push_back(subject.attention()->numbering().name(model.first_layer + l));
    return sheet;
}

// The chosen query's row, complete and after eviction.
Sheet row_sheet(const Model& model, Subject& subject) {
    return {
        .key = "cache/row",
        .title = "Weights of " + query_in_words(model.text(subject), model.query),
        .notation = "struck out: gone from the cache",
        .about = model.head_name(subject),
        .rows = {"weight", {"as it is", "with the cache"}},
        .columns = key_axis(model, subject),
        .value =
            [&model](Index r, Index key) {
                const KeptWeights& kept = *model.kept_weights();
                if (r == 1 && !kept.sees(model.query, key)) return static_cast<double>(NAN);
                return static_cast<double>((r == 0 ? model.record() : kept.record())
                                               .cell(Stage::weight, model.head.head, model.query, key));
            },
        .cell = [at = model.query](
                    Index r, Index key) { return (r == 0 ? cells::full_weight : cells::weight)(at, key); },
        .most = 1,
        .is_tall = true};
}

// The number that decided about each key.
Sheet score_sheet(const Model& model, Subject& subject) {
    return {.key = "cache/score",
            .title = "What speaks for a key",
            .notation = model.eviction().policy == EvictionPolicy::heavy_hitters
                            ? "Σ of the weights that it got so far; the newest stay anyway"
                            : "Σ of the weights that the end of the prompt gave it or a neighbour",
            .rows = {"score", {"score"}},
            .columns = key_axis(model, subject),
            .value = [&model](Index, Index key) { return model.score(key).value_or(NAN); },
            .cell = [](Index, Index key) { return cells::score(key); },
            .is_tall = true};
}

// The quantization group of the chosen key's tokens, or else the last group.
Range codes_shown(const Model& model) {
    const CacheRounding& to = model.rounding();
    const Index group = to.bits == 16 ? 8 : to.group, rounded = to.rounded_before(model.shown->tokens()),
                last = rounded - 1, key = std::min(model.chosen_key.value_or(last), last);
    if (key < 0) return {};
    const Index begin = key / group * group;
    return {begin, std::min(begin + group, rounded)};
}

Sheet codes_sheet(const Model& model, Subject& subject, bool of_keys) {
    const Range tokens = codes_shown(model);
    const CacheRounding to = model.rounding();
    const ConstMatrix numbers = model.vectors(of_keys);
    return {
        .key = of_keys ? "cache/key" : "cache/value",
        .title = of_keys ? "Keys in the cache" : "Values in the cache",
        .notation = to.bits == 16 ? "as f16"
                    : of_keys     ? "codes between the least and the largest of each column"
                                  : "codes between the least and the largest of each row’s group",
        .about = model.head_name(subject),
        .rows = {"token", labels_in(model.text(subject).key_names(), tokens)},
        .columns = counted("channel", numbers.cols),
        .value =
            [=](Index r, Index c) {
                const Index token = tokens.begin + r;
                const float number = numbers(token, c);
                if (to.bits == 16) return static_cast<double>(number);
                const RoundedGroup group = (of_keys ? group_of_key : group_of_value)(to, numbers, token, c);
                return static_cast<double>(group.code(number, to.bits));
            },
        .cell = [tokens, of_keys](
                    Index r, Index c) { return (of_keys ? cells::key : cells::value)(tokens.begin + r, c); },
        .decimals = to.bits == 16 ? 2 : 0,
        .is_signed = to.bits == 16};
}

Table kept_table(const Model& model, Subject& subject) {
    const Attention& words = model.text(subject);
    return table_of("Weights of " + model.head_name(subject) + " with the cache",
                    *model.kept_weights()->map(model.head.head), words.query_names(), words.key_names(),
                    Stage::weight);
}

std::vector<Table> Model::tables(Subject& subject) {
    if (state.part == Part::cost) return {table_of(variants_sheet(*this)), steps_table(cost)};
    if (!shown) return {};
    std::vector<Table> all{decoded_table(*this, subject), table_of(heads_sheet(*this, subject))};
    if (kept_weights()) {
        all.push_back(kept_table(*this, subject));
        all.push_back(table_of(row_sheet(*this, subject)));
        if (is_scored()) all.push_back(table_of(score_sheet(*this, subject)));
    }
    for (const bool of_keys : {true, false})
        if (!evicts() && codes_shown(*this).size() > 0)
            all.push_back(table_of(codes_sheet(*this, subject, of_keys)));
    return all;
}

}  // namespace attn::app::cache
