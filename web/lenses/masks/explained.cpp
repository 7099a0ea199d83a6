// Explains the numbers of the lens: cells of the mask, its counts, and the resulting rows.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "attention/explain.hpp"
#include "kernels/attention_tiles.hpp"
#include "lenses/masks/masks.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::masks {

namespace {

std::string between(Range range) { return std::to_string(range.begin) + "–" + std::to_string(range.end - 1); }
const char* seen(bool yes) { return yes ? "seen" : "hidden"; }

// Says which tile of the fused kernel the cell is in, and what becomes of it.
Explained::Step tile_step(const Looked& looked, Index query, Index key) {
    const auto tile = [](Index at, Index side, Index n) {
        return Range{at / side * side, std::min(n, (at / side + 1) * side)};
    };
    const Range queries = tile(query, attention_tile_queries, looked.queries),
                keys = tile(key, attention_tile_keys, looked.keys);
    const Coverage coverage = looked.mask.tile(looked.head.head, queries, keys);
    return {"kernel tile", between(queries) + " × " + between(keys),
            coverage == Coverage::none  ? "skipped"
            : coverage == Coverage::all ? "computed whole"
                                        : "computed, then cut"};
}

std::optional<Explained> explain_mask(Model& model, Subject&, const LensCell& cell) {
    const Looked& looked = model.looked;
    const Index query = cell.at[0], key = cell.at[1], head = looked.head.head;
    if (query >= looked.queries || key >= looked.keys) return std::nullopt;
    const bool allowed = looked.mask.allows(head, query, key);
    Explained out{.title = "Mask[" + model.query_name(query) + ", " + model.key_name(key) + "]",
                  .provenance = "computed from the expression",
                  .f32 = allowed ? 1.0 : 0.0,
                  .formula = looked.mask.text().substr(0, 200)};
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
    out.step("mask", allowed ? 1 : 0,
             terms.terms.size() < 2    ? ""
             : terms.join == Join::all ? "all of them"
                                       : "any of them");
    out.steps.back().value = seen(allowed);
    out.steps.push_back(tile_step(looked, query, key));
    if (model.lost_of_own && model.lost_of_own->done()) {
        const float weight = model.lost_of_own->weights().cell(query, key);
        out.beside("weight", weight == masked_cell ? 0 : static_cast<double>(weight), "of this head as it is",
                   CellPlace{looked.head, RunCell{Stage::weight, query, key}});
    }
    return out;
}

// A step whose value is a whole number.
Expression count_step(Explained& out, std::string name, const Expression& count, std::string words) {
    const Expression step = out.step(std::move(name), count, std::move(words));
    out.steps.back().value = with_commas(static_cast<std::int64_t>(count.value()));
    return step;
}

void explain_part(Explained& out, std::string title, const Expression& part, const Expression& all,
                  const char* all_words) {
    out.title = std::move(title);
    out.provenance = "counted";
    const Expression whole = count_step(out, "of all", all, all_words);
    out.step("share", all.value() == 0 ? Expression(0) : part / whole);
    out.f32 = out.f64;
}

void explain_time(Explained& out, const KernelRace& race) {
    out.title = "Time of the kernel under the mask";
    out.provenance = "measured here, in this session";
    const auto ms = [&](const char* name, double all) {
        const Expression time = out.step(name, all / race.passes(), std::string("a pass, one head"));
        out.steps.back().value = fixed(time.value(), 3) + " ms";
        return time;
    };
    const Expression masked = ms("masked", race.masked_ms()), whole = ms("no mask", race.whole_ms());
    out.beside("passes", race.passes(), "of both, in turn");
    out.steps.back().value = std::to_string(race.passes());
    out.step("ratio", masked / whole);
    out.f32 = race.ratio();
    out.note = "Seeded normal vectors, one thread. The next measurement differs a little.";
    out.recomputed = false;
}

std::optional<Explained> explain_share(Model& model, Subject&, const LensCell& cell) {
    const MaskCounts& counts = model.counting->counts();
    if (!model.counting->done()) return std::nullopt;
    const auto exact = [](std::int64_t count) { return Expression(static_cast<double>(count)); };
    Explained out;
    switch (static_cast<Share>(cell.at[0])) {
        case Share::kept:
            out.formula = "Σ_q keys that q may look at / (n_q · n_k)";
            explain_part(out, "Cells that the mask keeps",
                         count_step(out, "kept", exact(counts.kept_cells), ""), exact(counts.cells()),
                         "queries × keys");
            break;
        case Share::skipped:
            out.note =
                "The fused kernel computes tiles of " + std::to_string(attention_tile_queries) +
                " queries × " + std::to_string(attention_tile_keys) +
                " keys. It asks the mask about each of them and skips those in which nothing is allowed.";
            explain_part(out, "Tiles that the kernel skips",
                         count_step(out, "skipped", exact(counts.skipped), ""), exact(counts.tiles), "tiles");
            break;
        case Share::multiply_adds: {
            const auto adds = [&](std::int64_t of) {
                return exact(MaskCounts::multiply_adds(of, model.d_k, model.d_v));
            };
            out.formula = "cells of the tiles that are left · (d_k + d_v)";
            out.note = "For one head: a score takes d_k multiply-adds, and its weight d_v more on the value.";
            const Expression computed = count_step(out, "cells", exact(counts.computed), "of the tiles left"),
                             each = count_step(out, "each", exact(model.d_k) + exact(model.d_v),
                                               std::to_string(model.d_k) + " + " + std::to_string(model.d_v));
            explain_part(out, "Multiply-adds left", count_step(out, "left", computed * each, ""),
                         adds(counts.cells()), "without a mask");
            const Expression needed = adds(counts.kept_cells);
            out.beside("needed", needed.value(), "for the cells kept");
            out.steps.back().value = with_commas(static_cast<std::int64_t>(needed.value()));
            break;
        }
        case Share::without_key:
            out.note = "This page gives such a query weights of 0 and an output of 0.";
            explain_part(out, "Queries without a key",
                         count_step(out, "without", exact(counts.rows_without_key()), ""),
                         exact(counts.queries), "queries");
            break;
        case Share::time:
            if (!model.race || !model.race->done()) return std::nullopt;
            explain_time(out, *model.race);
    }
    return out;
}

// What is known of a convention.
struct ConventionInfo {
    const char *name, *formula, *note;
};
constexpr std::array<ConventionInfo, empty_row_count> conventions{{
    {"zeros", "0 if no key is allowed",
     "A query without a key takes nothing. So do the ONNX Attention operator from opset 24 on, and this "
     "page."},
    {"uniform", "softmax(s where allowed, else the least float)",
     "Hidden scores become the least number that a float holds, as many libraries do it. If that is all "
     "there is, every hidden key gets the same share."},
    {"NaN", "softmax(s where allowed, else −∞)",
     "Hidden scores become −∞. If that is all there is, −∞ − (−∞) is not a number, and it spreads to "
     "everything after it."},
    {"sink", "exp(s) / (1 + Σ exp(s))",
     "One more score of 0 that belongs to no key takes what the keys leave: softmax₁ (Xiao et al. 2023, "
     "arXiv 2309.17453)."},
}};

std::optional<Explained> explain_empty_row(Model& model, Subject&, const LensCell& cell) {
    const Index query = cell.at[1], key = cell.at[2];
    const bool of_sink = cell.kind == &cells::sink;
    if (query >= model.looked.queries || key >= model.looked.keys) return std::nullopt;
    const EmptyRowExample& example = model.empty_example();
    if (example.query != query) return std::nullopt;
    const std::vector<float> scores(example.scores.begin(), example.scores.end());
    const auto convention = static_cast<std::size_t>(cell.at[0]), at = static_cast<std::size_t>(key);
    const auto& [name, formula, note] = conventions[convention];
    const auto narrow = weights_under<float>(static_cast<EmptyRow>(convention), scores, example.allowed);
    const RowWeights<double>& wide = example.rows[convention];
    Explained out{
        .title = (of_sink ? "Weight of the sink" : "Weight of " + model.key_name(key)) + ", by " + name,
        .provenance =
            "query " + model.query_name(query) + (model.record ? ", scores of this head" : ", scores of 0"),
        .f32 = static_cast<double>(of_sink ? narrow.sink : narrow.weights[at]),
        .formula = formula,
        .note = note};
    if (!of_sink) {
        std::optional<CellPlace> of_head;
        if (model.record) {
            const AttentionSpec& spec = model.record->spec();
            const bool plain = spec.bias.empty() && spec.softcap == 0 && !spec.edits;
            of_head = {model.looked.head, RunCell{plain ? Stage::scaled : Stage::masked, query, key}};
        }
        out.beside("score", example.scores[at], example.allowed[at] ? "seen" : "hidden by the mask", of_head);
    }
    out.step("weight", of_sink ? wide.sink : wide.weights[at]);
    out.beside("Σ of the row", sum(Column{"weights", wide.weights}).value(), "over the keys");
    return out;
}

std::optional<Explained> explain_hidden_weight(Model& model, Subject&, const LensCell& cell) {
    const Looked& looked = model.looked;
    const Index query = cell.at[1];
    const bool of_all = static_cast<LostOf>(cell.at[0]) == LostOf::all;
    const auto& losses = of_all ? model.lost_of_all : model.lost_of_own;
    if (query >= looked.queries || !losses || !losses->done()) return std::nullopt;
    Explained out{
        .title = "Weight that " + model.query_name(query) + " loses",
        .provenance = of_all ? "of the weights without any mask" : "of this head's weights as they are",
        .f32 = losses->lost()[static_cast<std::size_t>(query)],
        .formula = "Σ_j weight[" + model.query_name(query) + ", j], j hidden by this mask",
        .operands_title = "Weights · 1 for each hidden key"};
    std::optional<RowChain> row;
    if (model.record) {
        AttentionSpec spec = model.record->spec();
        if (of_all) spec.mask = {};
        if (const auto under = model.record->prepare_under(std::move(spec)))
            row = row_chain(*under, looked.head.head, query);
    }
    const Places places{looked.head};
    for (Index key = 0; key < looked.keys; ++key) {
        if (looked.mask.allows(looked.head.head, query, key)) continue;
        const float stored = row ? 0 : losses->weights().cell(query, key);
        const double weight = row                     ? row->at(key).weight
                              : stored == masked_cell ? 0
                                                      : static_cast<double>(stored);
        if (weight != 0)
            out.summand(label_at(model.key_names, key), weight,
                        places(of_all ? Stage::scaled : Stage::weight, query, key));
    }
    out.line("lost", out.operands.empty() ? Expression(0) : out.sum("weights"));
    if (out.operands.empty())
        out.note = "Nothing that this query looked at is hidden.";
    else if (model.counting->done() && model.counting->counts().kept[static_cast<std::size_t>(query)] == 0)
        out.note = "No key is left to it, so all of it is lost.";
    else
        out.note =
            "Softmax gives what is lost to the keys that are left, each in proportion to its own weight.";
    return out;
}

std::optional<Explained> explain_probability(Model& model, Subject& subject, const LensCell& cell) {
    const MaskedRun& run = model.masked_run;
    const Attention& attention = *subject.attention();
    if (!run.done() || cell.at[0] >= std::ssize(run.after()) || !attention.trace()) return std::nullopt;
    const auto id = static_cast<std::size_t>(cell.at[0]);
    const std::vector<std::string> names = subject.token_texts(std::array{static_cast<std::int32_t>(id)});
    double most = -HUGE_VAL, sum = 0;
    for (const float logit : run.after()) most = std::max(most, static_cast<double>(logit));
    for (const float logit : run.after()) sum += std::exp(static_cast<double>(logit) - most);
    const double log_sum = most + std::log(sum);
    Explained out{.title = "Probability of " + in_quotes(names.empty() ? std::to_string(id) : names.front()) +
                           " " + at_temperature,
                  .provenance = prediction_in_words(attention) + ", under the mask",
                  .f32 = static_cast<double>(std::exp(run.after()[id] - static_cast<float>(log_sum))),
                  .formula = "exp(logit − log Σ exp(logit))"};
    const Expression logit = out.step("logit", static_cast<double>(run.after()[id]),
                                      std::string("under the mask")),
                     log = out.step("log Σ exp", log_sum, std::string("over the vocabulary"));
    out.step("probability", exp(logit - log), std::string("under the mask"));
    out.beside("logit", static_cast<double>(run.before()[id]), "as it is");
    out.beside("probability", run.chances_before()[id], "as it is",
               CellPlace{model.looked.head,
                         RunCell{.stage = Stage::logit, .row = run.predicted(), .col = cell.at[0]}});
    return out;
}

constexpr std::array<ModelNumber<Model>, 6> declared{{
    {&cells::mask, explain_mask},
    {&cells::share, explain_share},
    {&cells::hidden_weight, explain_hidden_weight},
    {&cells::probability, explain_probability},
    {&cells::empty_row, explain_empty_row},
    {&cells::sink, explain_empty_row},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    if (col < 900'000) return mask(row, col);
    if (col == 900'000 && row < std::ssize(share_words)) return share(row);
    if (col == 900'001 || col == 900'002) return hidden_weight(col - 900'001, row);
    if (col == 900'003) return probability(row);
    const Index convention = (col - 900'100) / 16, place = (col - 900'100) % 16;
    if (col < 900'100 || convention >= empty_row_count) return std::nullopt;
    if (place == 15) return sink(convention, row);
    return empty_row(convention, row, place);  // for a text of at most eight tokens, all of which were shown
}

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::masks
