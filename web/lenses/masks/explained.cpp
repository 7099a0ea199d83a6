// Explains the numbers of the lens: cells of the mask, its counts, and the resulting rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/format.hpp"
#include "attention/explain.hpp"
#include "kernels/attention_tiles.hpp"
#include "lenses/masks/masks.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr const char* empty_row_names[empty_row_count] = {"zeros", "uniform", "NaN", "sink"};

std::string between(Range range) { return std::to_string(range.begin) + "–" + std::to_string(range.end - 1); }

Explained of_number(std::string title, double value) {
    Explained out;
    out.title = std::move(title);
    out.f32 = out.f64 = value;
    return out;
}

}  // namespace

std::optional<Explained> MasksLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    look(subject);
    return explain_by(declared, *this, subject, place.cell.own);
}

const std::array<LensNumber<MasksLens>, 6> MasksLens::declared{{
    {&masks_cells::mask, &MasksLens::explain_mask},
    {&masks_cells::share, &MasksLens::explain_share},
    {&masks_cells::hidden_weight, &MasksLens::explain_hidden_weight},
    {&masks_cells::probability, &MasksLens::explain_probability},
    {&masks_cells::empty_row, &MasksLens::explain_empty_row},
    {&masks_cells::sink, &MasksLens::explain_empty_row},
}};

CellKinds masks_numbers() { return kinds_of(MasksLens::declared); }

std::optional<CellRef> packed_masks_cell(Index row, Index col) {
    using namespace masks_cells;
    if (col < 900'000) return mask(row, col);
    if (col == 900'000 && row < std::ssize(share_words)) return share(row);
    if (col == 900'001 || col == 900'002) return hidden_weight(col - 900'001, row);
    if (col == 900'003) return probability(row);
    const Index convention = (col - 900'100) / 16, place = (col - 900'100) % 16;
    if (col < 900'100 || convention >= empty_row_count) return std::nullopt;
    if (place == 15) return sink(convention, row);
    return empty_row(convention, row, place);  // for a text of at most eight tokens, all of which were shown
}

std::optional<Explained> MasksLens::explain_mask(Subject&, const LensCell& cell) {
    const Looked& looked = *looked_;
    const Index query = cell.at[0], key = cell.at[1];
    if (query >= looked.queries || key >= looked.keys) return std::nullopt;
    const Index head = looked.head.head;
    const bool allowed = looked.mask.allows(head, query, key);
    const auto seen = [](bool yes) { return std::string(yes ? "seen" : "hidden"); };
    Explained out = of_number("Mask[" + query_name(query) + ", " + key_name(key) + "]", allowed ? 1 : 0);
    out.provenance = "computed from the expression";
    out.formula = looked.mask.text().substr(0, 200);
    out.steps.push_back(
        {"distance", "key − query",
         std::to_string(key) + " − " + std::to_string(query) + " = " + std::to_string(key - query)});
    const MaskTerms terms = terms_of(looked.mask);
    for (const Mask& term : terms.terms) {
        std::string numbers;
        for (const TermNumber& number : numbers_of(term))
            numbers +=
                (numbers.empty() ? "" : ", ") + std::string(number.name) + " " + std::to_string(number.value);
        out.steps.push_back({name_of(term), numbers, seen(term.allows(head, query, key))});
    }
    out.steps.push_back({"mask",
                         terms.terms.size() < 2    ? ""
                         : terms.join == Join::all ? "all of them"
                                                   : "any of them",
                         seen(allowed), true});
    const auto tile = [](Index at, Index side, Index n) {
        return Range{at / side * side, std::min(n, (at / side + 1) * side)};
    };
    const Range queries = tile(query, attention_tile_queries, looked.queries),
                keys = tile(key, attention_tile_keys, looked.keys);
    const Coverage coverage = looked.mask.tile(head, queries, keys);
    out.steps.push_back({"kernel tile", between(queries) + " × " + between(keys),
                         coverage == Coverage::none  ? "skipped"
                         : coverage == Coverage::all ? "computed whole"
                                                     : "computed, then cut"});
    if (lost_of_own_ && lost_of_own_->done()) {
        const float weight = lost_of_own_->weights().cell(query, key);
        const double own = weight == masked_cell ? 0 : static_cast<double>(weight);
        out.steps.push_back({"weight", "of this head as it is", fixed(own, 4), false,
                             CellPlace{looked.head, {Stage::weight, query, key}}});
    }
    out.line("allowed", allowed ? Expression(1) : Expression(0));
    return out;
}

std::optional<Explained> MasksLens::explain_share(Subject&, const LensCell& cell) {
    const MaskCounts& counts = counting_->counts();
    if (!counting_->done()) return std::nullopt;
    const auto share = [](const char* title, std::int64_t part, std::int64_t of, const char* name,
                          const char* all) {
        Explained out = of_number(title, of ? static_cast<double>(part) / static_cast<double>(of) : 0);
        out.provenance = "counted";
        out.steps.push_back({name, "", with_commas(part)});
        out.steps.push_back({"of all", all, with_commas(of)});
        out.steps.push_back({"share", "", fixed(out.f64, 4), true});
        out.line("share", Expression(static_cast<double>(part)) / static_cast<double>(of));
        return out;
    };
    switch (static_cast<MaskNumber>(cell.at[0])) {
        case MaskNumber::kept: {
            Explained out = share("Cells that the mask keeps", counts.kept_cells, counts.cells(), "kept",
                                  "queries × keys");
            out.formula = "Σ_q keys that q may look at / (n_q · n_k)";
            return out;
        }
        case MaskNumber::skipped: {
            Explained out =
                share("Tiles that the kernel skips", counts.skipped, counts.tiles, "skipped", "tiles");
            out.note =
                "The fused kernel computes tiles of " + std::to_string(attention_tile_queries) +
                " queries × " + std::to_string(attention_tile_keys) +
                " keys. It asks the mask about each of them and skips those in which nothing is allowed.";
            return out;
        }
        case MaskNumber::multiply_adds: {
            const auto adds = [&](std::int64_t of) { return MaskCounts::multiply_adds(of, d_k_, d_v_); };
            Explained out = share("Multiply-adds left", adds(counts.computed), adds(counts.cells()), "left",
                                  "without a mask");
            out.formula = "cells of the tiles that are left · (d_k + d_v)";
            out.steps.insert(out.steps.begin(),
                             {{"cells", "of the tiles left", with_commas(counts.computed)},
                              {"each", "d_k + d_v", std::to_string(d_k_) + " + " + std::to_string(d_v_)}});
            out.steps.push_back({"needed", "for the cells kept", with_commas(adds(counts.kept_cells))});
            out.note = "For one head: a score takes d_k multiply-adds, and its weight d_v more on the value.";
            return out;
        }
        case MaskNumber::without_key: {
            Explained out = share("Queries without a key", counts.rows_without_key(), counts.queries,
                                  "without", "queries");
            out.note = "This page gives such a query weights of 0 and an output of 0.";
            return out;
        }
        case MaskNumber::time: {
            if (!race_ || !race_->done()) return std::nullopt;
            Explained out = of_number("Time of the kernel under the mask", race_->ratio());
            out.provenance = "measured here, in this session";
            const auto ms = [&](double all) { return fixed(all / race_->passes(), 3) + " ms"; };
            out.steps.push_back({"masked", "a pass, one head", ms(race_->masked_ms())});
            out.steps.push_back({"no mask", "a pass, one head", ms(race_->whole_ms())});
            out.steps.push_back({"passes", "of both, in turn", std::to_string(race_->passes())});
            out.steps.push_back({"ratio", "", fixed(race_->ratio(), 4), true});
            out.note = "Seeded normal vectors, one thread. The next measurement differs a little.";
            out.recomputed = false;
            out.line("ratio", Expression(race_->masked_ms()) / race_->whole_ms());
            return out;
        }
    }
    return std::nullopt;
}

std::optional<Explained> MasksLens::explain_empty_row(Subject&, const LensCell& cell) {
    const auto convention = static_cast<EmptyRow>(cell.at[0]);
    const Index query = cell.at[1], key = cell.at[2];
    const bool of_sink = cell.kind == &masks_cells::sink;
    if (query >= looked_->queries || key >= looked_->keys) return std::nullopt;
    const EmptyExample& example = empty_example();
    if (example.query != query) return std::nullopt;
    const std::vector<float> scores(example.scores.begin(), example.scores.end());
    const auto narrow = weights_under<float>(convention, scores, example.allowed);
    const RowWeights<double>& wide = example.rows[static_cast<std::size_t>(convention)];
    const auto at = static_cast<std::size_t>(key);
    Explained out;
    out.title = (of_sink ? "Weight of the sink" : "Weight of " + key_name(key)) + ", by " +
                empty_row_names[static_cast<std::size_t>(convention)];
    out.f32 = static_cast<double>(of_sink ? narrow.sink : narrow.weights[at]);
    out.f64 = of_sink ? wide.sink : wide.weights[at];
    out.provenance =
        "query " + query_name(example.query) + (record_ ? ", scores of this head" : ", scores of 0");
    switch (convention) {
        case EmptyRow::zeros: out.formula = "0 if no key is allowed"; break;
        case EmptyRow::uniform: out.formula = "softmax(s where allowed, else the least float)"; break;
        case EmptyRow::nan: out.formula = "softmax(s where allowed, else −∞)"; break;
        case EmptyRow::sink: out.formula = "exp(s) / (1 + Σ exp(s))"; break;
    }
    if (!of_sink) {
        const bool allowed = example.allowed[at] != 0;
        std::optional<CellPlace> of_head;
        if (record_) {
            const AttentionSpec& spec = record_->spec();
            const bool plain = spec.bias.empty() && spec.softcap == 0 && !spec.edits;
            of_head = {looked_->head, {plain ? Stage::scaled : Stage::masked, query, key}};
        }
        out.steps.push_back(
            {"score", allowed ? "seen" : "hidden by the mask", fixed(example.scores[at], 4), false, of_head});
    }
    double sum = 0;
    for (const double weight : wide.weights) sum += weight;
    out.steps.push_back({"weight", "", fixed(out.f64, 4), true});
    out.steps.push_back({"Σ of the row", "over the keys", fixed(sum, 4)});
    out.line("weight", out.f64);
    switch (convention) {
        case EmptyRow::zeros:
            out.note =
                "A query without a key takes nothing. So do the ONNX Attention operator from opset 24 on, "
                "and "
                "this page.";
            break;
        case EmptyRow::uniform:
            out.note =
                "Hidden scores become the least number that a float holds, as many libraries do it. If that "
                "is "
                "all there is, every hidden key gets the same share.";
            break;
        case EmptyRow::nan:
            out.note =
                "Hidden scores become −∞. If that is all there is, −∞ − (−∞) is not a number, and it spreads "
                "to everything after it.";
            break;
        case EmptyRow::sink:
            out.note =
                "One more score of 0 that belongs to no key takes what the keys leave: softmax₁ (Xiao et al. "
                "2023, arXiv 2309.17453).";
            break;
    }
    return out;
}

std::optional<Explained> MasksLens::explain_hidden_weight(Subject&, const LensCell& cell) {
    const Index query = cell.at[1], head = looked_->head.head;
    const bool of_all = static_cast<LostOf>(cell.at[0]) == LostOf::all;
    const auto& losses = of_all ? lost_of_all_ : lost_of_own_;
    if (query >= looked_->queries || !losses || !losses->done()) return std::nullopt;
    Explained out;
    out.title = "Weight that " + query_name(query) + " loses";
    out.provenance = of_all ? "of the weights without any mask" : "of this head's weights as they are";
    out.f32 = losses->lost()[static_cast<std::size_t>(query)];
    out.formula = "Σ_j weight[" + query_name(query) + ", j], j hidden by this mask";
    out.operands_title = "Weights · 1 for each hidden key";
    out.left_name = "weights";
    out.right_name = "hidden";
    std::optional<RowChain> row;
    if (record_) {
        AttentionSpec spec = record_->spec();
        if (of_all) spec.mask = {};
        if (const auto under = record_->prepare_under(std::move(spec))) row = row_chain(*under, head, query);
    }
    const Places places{looked_->head};
    for (Index key = 0; key < looked_->keys; ++key) {
        if (looked_->mask.allows(head, query, key)) continue;
        const float stored = row ? 0 : losses->weights().cell(query, key);
        const double weight = row                     ? row->at(key).weight
                              : stored == masked_cell ? 0
                                                      : static_cast<double>(stored);
        if (weight == 0) continue;
        out.operands.push_back({label_at(key_names_, key), weight, 1, weight,
                                places(of_all ? Stage::scaled : Stage::weight, query, key)});
        out.f64 += weight;
    }
    out.line("lost", out.operands.empty() ? Expression(0) : out.dot());
    if (out.operands.empty())
        out.note = "Nothing that this query looked at is hidden.";
    else if (counting_->done() && counting_->counts().kept[static_cast<std::size_t>(query)] == 0)
        out.note = "No key is left to it, so all of it is lost.";
    else
        out.note =
            "Softmax gives what is lost to the keys that are left, each in proportion to its own weight.";
    return out;
}

std::optional<Explained> MasksLens::explain_probability(Subject& subject, const LensCell& cell) {
    const MaskedRun& run = masked_run_;
    const Attention* attention = subject.attention();
    if (!run.done() || cell.at[0] >= std::ssize(run.after()) || !attention || !attention->trace())
        return std::nullopt;
    const auto id = static_cast<std::size_t>(cell.at[0]);
    const double before = run.chances_before()[id], after = run.chances_after()[id];
    const std::vector<std::string> names = subject.token_texts(std::array{static_cast<std::int32_t>(id)});
    Explained out;
    out.title = "Probability of " + in_quotes(names.empty() ? std::to_string(id) : names.front());
    out.title += std::string(" ") + at_temperature;
    out.provenance = prediction_in_words(*attention) + ", under the mask";
    out.formula = "exp(logit − log Σ exp(logit))";
    double most = -HUGE_VAL, sum = 0;
    for (const float logit : run.after()) most = std::max(most, static_cast<double>(logit));
    for (const float logit : run.after()) sum += std::exp(static_cast<double>(logit) - most);
    const double logit = static_cast<double>(run.after()[id]), log_sum = most + std::log(sum);
    out.f64 = after;
    out.f32 = static_cast<double>(std::exp(run.after()[id] - static_cast<float>(log_sum)));
    out.steps.push_back({"logit", "under the mask", fixed(logit, 4)});
    out.steps.push_back({"log Σ exp", "over the vocabulary", fixed(log_sum, 4)});
    out.steps.push_back({"probability", "under the mask", fixed(after, 4), true});
    out.steps.push_back({"logit", "as it is", fixed(static_cast<double>(run.before()[id]), 4)});
    out.steps.push_back(
        {"probability", "as it is", fixed(before, 4), false,
         CellPlace{looked_->head, {.stage = Stage::logit, .row = run.predicted(), .col = cell.at[0]}}});
    out.line("probability", exp(Expression(logit) - log_sum));
    return out;
}

}  // namespace attn::app
