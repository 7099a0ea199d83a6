// Makes the matrices that lens Cache shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "lenses/cache/words.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

Sheet CacheLens::variants_sheet(Subject& subject) const {
    const Cost all = cost(subject);
    const Index own = trace_->model()->config().kv_heads, heads = trace_->model()->config().heads,
                last = all.after(all.written),
                compared = now().kv_heads > 0 ? all.other.layers.front().kv_heads : own;
    const std::vector<Index> offered = kv_heads_offered(subject);
    Sheet sheet{.key = "cache/variant",
                .title = "Bytes after " + many(last, "token"),
                .notation = now().window > 0 ? "with a window of " + with_commas(now().window)
                                             : "rows: heads of keys and values",
                .rows = {.name = "KV heads"},
                .columns = {.name = "kept in"},
                .is_coloured = true,
                .decimals = 0,
                .is_whole = true,
                .lit_row = std::ranges::find(offered, compared) - offered.begin(),
                .lit_column = std::ranges::find(cache_bits, now().bits) - cache_bits.begin()};
    for (const Index bits : cache_bits) sheet.columns.labels.push_back(std::to_string(bits) + " bits");
    std::vector<std::array<double, cache_bits.size()>> bytes;
    for (const Index each : offered) {
        sheet.rows.labels.push_back((each == heads ? "multi-head, "
                                     : each == 1   ? "multi-query, "
                                                   : "grouped, ") +
                                    std::to_string(each) + (each == own ? " ·" : ""));
        const CacheShape shape = variant(subject, each);
        std::ranges::transform(cache_bits, bytes.emplace_back().begin(), [&](Index bits) {
            return bytes_kept(shape, last, {bits, now().rounding.group});
        });
    }
    sheet.value = [bytes = std::move(bytes)](Index r, Index c) {
        return bytes[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
    };
    sheet.in_words = cache_words::bytes;
    sheet.cell = [](Index r, Index c) { return cache_cells::variant(r, c); };
    return sheet;
}

Sheet CacheLens::heads_sheet(Subject& subject) const {
    Sheet sheet{.key = "cache/heads",
                .title = evicts() ? "Weight lost by each head" : "How far each head’s output moves",
                .notation = evicts() ? "mean over the steps" : "‖o′ − o‖ / ‖o‖, mean over the steps",
                .rows = {.name = "layer"},
                .columns = {"head", numbered_labels(trace_->model()->config().heads, "h")},
                .value = [this](Index layer, Index head) { return mean_of({layer, head}); },
                .cell = [](Index layer, Index head) { return cache_cells::head(layer, head); },
                .most = evicts() ? 1.0f : 0.0f,
                .is_whole = true,
                .lit_row = head(subject).layer,
                .lit_column = head(subject).head};
    for (Index l = 0; l < std::ssize(trace_->layers()); ++l)
        sheet.rows.labels.push_back(
            subject.attention()->numbering().name(run_cell(subject, {l, 0}, Stage::weight, 0, 0).head.layer));
    return sheet;
}

// Keys up to the chosen query.
SheetAxis CacheLens::key_axis(Subject& subject) const {
    return {"key", labels_in(text(subject).key_names(), {0, query(subject) + 1}), keys_wanted(subject)};
}

// The chosen query's row, complete and after eviction.
Sheet CacheLens::row_sheet(Subject& subject) const {
    const Index at = query(subject);
    const HeadIndex of = head(subject);
    return {.key = "cache/row",
            .title = "Weights of " + query_in_words(text(subject), at),
            .notation = "struck out: gone from the cache",
            .about = head_name(subject),
            .rows = {"weight", {"as it is", "with the cache"}},
            .columns = key_axis(subject),
            .value =
                [this, at, of](Index r, Index key) {
                    const Record& own = trace_->layers()[static_cast<std::size_t>(of.layer)].attention;
                    if (r == 1 && !kept_head()->sees(at, key)) return static_cast<double>(NAN);
                    return static_cast<double>(
                        (r == 0 ? own : kept_head()->record()).cell(Stage::weight, of.head, at, key));
                },
            .cell =
                [at](Index r, Index key) {
                    return (r == 0 ? cache_cells::full_weight : cache_cells::weight)(at, key);
                },
            .most = 1,
            .is_tall = true};
}

// The number that decided about each key.
Sheet CacheLens::score_sheet(Subject& subject) const {
    return {.key = "cache/score",
            .title = "What speaks for a key",
            .notation = eviction().policy == EvictionPolicy::heavy_hitters
                            ? "Σ of the weights that it got so far; the newest stay anyway"
                            : "Σ of the weights that the end of the prompt gave it or a neighbour",
            .rows = {"score", {"score"}},
            .columns = key_axis(subject),
            .value = [this, &subject](Index, Index key) { return score_of(subject, key).value_or(NAN); },
            .cell = [](Index, Index key) { return cache_cells::score(key); },
            .is_tall = true};
}

Sheet CacheLens::codes_sheet(Subject& subject, bool of_keys) const {
    const Range tokens = codes_shown(subject);
    const HeadIndex of = head(subject);
    const CacheRounding to = rounding();
    const ConstMatrix numbers =
        (of_keys ? shown_->k(of.layer) : shown_->v(of.layer)).heads().head(kv_head(of));
    Sheet sheet{.key = of_keys ? "cache/key" : "cache/value",
                .title = of_keys ? "Keys in the cache" : "Values in the cache",
                .notation = to.bits == 16 ? "as f16"
                            : of_keys     ? "codes between the least and the largest of each column"
                                          : "codes between the least and the largest of each row’s group",
                .about = head_name(subject),
                .rows = {"token", labels_in(text(subject).key_names(), tokens)},
                .columns = counted("channel", numbers.cols),
                .decimals = to.bits == 16 ? 2 : 0,
                .is_signed = to.bits == 16};
    sheet.value = [=](Index r, Index c) {
        const Index token = tokens.begin + r;
        const float number = numbers(token, c);
        if (to.bits == 16) return static_cast<double>(number);
        const RoundedGroup group =
            of_keys ? group_of_key(to, numbers, token, c) : group_of_value(to, numbers, token, c);
        return static_cast<double>(group.code(number, to.bits));
    };
    sheet.cell = [tokens, &kind = of_keys ? cache_cells::key : cache_cells::value](Index r, Index c) {
        return kind(tokens.begin + r, c);
    };
    return sheet;
}

// The cost of each step, with the numbers of both charts.
Table CacheLens::steps_table(Subject& subject) const {
    const Cost all = cost(subject);
    Table steps{"What each step takes",
                {"tokens", "bytes kept", "bytes compared", "operations", "without a cache"},
                {},
                Matrix(std::min(all.steps(), table_row_limit), 5)};
    for (Index i = 0; i < steps.values.rows; ++i) {
        const Index after = all.after(i);
        const std::array values{static_cast<double>(after), bytes_kept(all.own, after, all.own_kept),
                                bytes_kept(all.other, after, all.other_kept),
                                step_cost(all.own, all.tokens_of(i)).total(),
                                step_cost(all.own, {0, after}).total()};
        steps.row_labels.push_back(i == 0 ? "prompt" : "step " + std::to_string(i));
        for (std::size_t c = 0; c < values.size(); ++c) steps.values.at(i, static_cast<Index>(c)) = values[c];
    }
    return steps;
}

// The result of each decoded step, with numbers that its charts leave out.
Table CacheLens::decoded_table(Subject& subject) const {
    const HeadIndex of = head(subject);
    Table steps{"Each decoded step",
                {"KL", "loss as it is", "loss", evicts() ? "weight lost" : "output moved"},
                {},
                Matrix(std::min(shown_->decoded().size(), table_row_limit), 4)};
    for (Index i = 0; i < steps.values.rows; ++i) {
        const Index at = shown_->prompt() + i;
        const CachedDecoding::Step& step = shown_->at(at);
        const std::array values{step.divergence, step.loss_before, step.loss,
                                evicts() ? shown_->lost(of, at) : shown_->moved(of, at)};
        steps.row_labels.push_back(label_at(text(subject).query_names(), at));
        for (std::size_t c = 0; c < values.size(); ++c) steps.values.at(i, static_cast<Index>(c)) = values[c];
    }
    return steps;
}

Table CacheLens::kept_table(Subject& subject) const {
    const Attention& words = text(subject);
    return table_of("Weights of " + head_name(subject) + " with the cache",
                    *kept_head()->map(head(subject).head), words.query_names(), words.key_names(),
                    Stage::weight);
}

std::vector<Table> CacheLens::tables(Subject& subject) {
    update(subject);
    if (now().part == CachePart::cost) return {table_of(variants_sheet(subject)), steps_table(subject)};
    if (!shown_) return {};
    std::vector<Table> all{decoded_table(subject), table_of(heads_sheet(subject))};
    if (evicts() && kept_head()) {
        all.push_back(kept_table(subject));
        all.push_back(table_of(row_sheet(subject)));
        if (is_scored(subject)) all.push_back(table_of(score_sheet(subject)));
    }
    for (const bool of_keys : {true, false})
        if (!evicts() && codes_shown(subject).size() > 0)
            all.push_back(table_of(codes_sheet(subject, of_keys)));
    return all;
}

}  // namespace attn::app
