// Explains the numbers of lens Softmax: the Gibbs distribution's, and those of the other maps.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/softmax/softmax.hpp"
#include "subjects/explain.hpp"

namespace attn::app::softmax {

namespace {

// The subject explains this many scores; for longer rows the record's scores are recomputed in double.
constexpr Index keys_explained = 64;
constexpr double most_multiplications = 4e6;  // for the rows of one head

// ---- The row in double ------------------------------------------------------------------------------------

// Softmax takes the scores of the last stage before it.
Stage score_stage(const Attention& attention) {
    Stage last = Stage::masked;
    for (const Stage stage : attention.stages())
        if (is_signed(stage)) last = stage;
    return last;
}

EnergyLevels in_double(Subject& subject, const ChosenRow& row, Index query, const EnergyLevels& run) {
    std::vector<double> scores = run.scores;
    std::optional<RowChain> chain;
    const Places places{row.head};
    for (Index key = 0; key < std::ssize(scores); ++key) {
        double& score = scores[static_cast<std::size_t>(key)];
        if (std::isinf(score)) continue;
        const auto why = std::ssize(scores) <= keys_explained
                             ? subject.explain_at(places(score_stage(*subject.attention()), query, key))
                             : std::nullopt;
        if (!why && !chain) chain = row_chain(*row.record, row.head.head, query);
        score = why ? why->f64 : chain->at(key).masked;
    }
    auto levels = energy_levels(scores);
    return levels ? *std::move(levels) : run;
}

const EnergyLevels& exact_levels(Model& model, Subject& subject) {
    return model.exact_levels.of(
        model.row, [&] { return in_double(subject, model.row, model.row.query, model.curves->levels()); });
}

// Holds softmax and this map; null if the run has no such map.
const RowMaps* exact_maps(Model& model, Subject& subject, ScoreMap map) {
    if (!model.maps || !model.maps->row(map)) return nullptr;
    const EnergyLevels& levels = exact_levels(model, subject);
    RowMaps& exact = model.exact_maps.of(model.key(), [&] {
        return RowMaps(model.row.record, model.row.head.head, model.row.query, model.state.temperature,
                       model.with_vectors, model.with_values);
    });
    exact.compute(ScoreMap::softmax, levels, *model.maps);
    exact.compute(map, levels, *model.maps);
    return &exact;
}

// ---- Names and places -------------------------------------------------------------------------------------

CellPlace place_of(const Model& model, const CellRef& cell) { return {model.row.head, cell}; }
PlaceOf weight_at(const Model& model, ScoreMap map) {
    return [&model, map](Index key) { return place_of(model, cells::weight(map, key)); };
}

std::string where(const Model& model, Subject& subject) {
    return head_text(model.row.head, subject.attention()->numbering()) + " · " +
           temperature_text(model.state.temperature);
}
std::string key_name(Subject& subject, Index key) {
    return in_quotes(label_at(subject.attention()->key_names(), key));
}
std::string element_name(const Model& model, Subject& subject, std::string name, const std::string& column) {
    return std::move(name) + "[" + in_quotes(label_at(subject.attention()->query_names(), model.row.query)) +
           ", " + column + "]";
}

constexpr std::array gibbs_symbols{"⟨E⟩", "S", "e^S", "F", "C"};

// ---- The Gibbs distribution -------------------------------------------------------------------------------

// A row at a temperature.
struct GibbsRow {
    const EnergyLevels& levels;
    double t;
    Gibbs now;
    std::vector<double> weights;
    std::function<std::string(Index)> name;
    PlaceOf weight, score;

    bool is_limit() const { return t == 0 || std::isinf(t); }
    // Each visible key with its weight and a factor of its own.
    void each(Explained& out, auto&& factor, bool of_score = false) const {
        for (Index key = 0; key < std::ssize(weights); ++key) {
            const auto j = static_cast<std::size_t>(key);
            if (std::isinf(levels.above[j])) continue;
            out.term(name(key), weights[j], weights[j] == 0 ? 0 : factor(j), weight(key),
                     of_score ? score(key) : std::nullopt);
        }
    }
};

void explain_energy(Explained& out, const GibbsRow& row) {
    out.formula = "Σ_j p_j E_j, E_j = −s_j";
    out.operands_title = "Weights · energies";
    row.each(out, [&](std::size_t j) { return -row.levels.scores[j]; }, true);
    out.line("energy", out.dot("weights", "energies"));
}

void explain_entropy(Explained& out, const GibbsRow& row, bool as_keys) {
    out.formula = as_keys ? "exp(−Σ_j p_j ln p_j)" : "−Σ_j p_j ln p_j";
    out.unit = as_keys ? "keys" : "nats";
    out.operands_title = "Weights · −ln of them, in nats";
    row.each(out, [&](std::size_t j) { return -std::log(row.weights[j]); });
    const Expression sum = out.dot("weights", "surprise");
    if (!as_keys) return void(out.line("entropy", sum));
    out.step("e^S", exp(out.step("S", sum)));
    out.note = "As many keys of equal weight would have this entropy; the row may see " +
               std::to_string(row.levels.keys) + ".";
}

void explain_free_energy(Explained& out, const GibbsRow& row) {
    out.formula = "−T ln Z = ⟨E⟩ − T·S";
    const double closing = row.now.energy - (row.now.entropy == 0 ? 0 : row.t * row.now.entropy);
    if (row.is_limit()) {
        out.step("⟨E⟩ − T·S", closing);
        out.note = row.t == 0
                       ? "At T → 0 the entropy counts for nothing: F is the lowest energy."
                       : "At T → ∞ the entropy outweighs everything: F falls without end, unless there "
                         "is only one key.";
        return;
    }
    out.operands_title = "exp((s − max s) / T), whose sum is Z · exp(−max s / T)";
    for (Index key = 0; key < std::ssize(row.weights); ++key)
        if (const double above = row.levels.above[static_cast<std::size_t>(key)]; !std::isinf(above))
            out.summand(row.name(key), above == 0 ? 1 : std::exp(-above / row.t));
    out.step("−T ln Z", Expression(0) - row.levels.highest - row.t * log(out.line("z", out.sum("factors"))));
    out.beside("⟨E⟩ − T·S", closing,
               four(row.now.energy) + " − " + fixed(row.t, 3) + " × " + four(row.now.entropy));
    out.note = "The two ways to F differ by " + fixed(std::abs(out.f64 - closing), 1) + ".";
}

void explain_heat_capacity(Explained& out, const GibbsRow& row) {
    out.formula = "Σ_j p_j ((E_j − ⟨E⟩) / T)² = d⟨E⟩/dT";
    if (row.is_limit()) {
        out.note = "No small change of the temperature changes the mean energy here, so C is 0.";
        return;
    }
    out.operands_title = "Weights · ((E − ⟨E⟩) / T)²";
    row.each(out,
             [&](std::size_t j) { return std::pow((-row.levels.scores[j] - row.now.energy) / row.t, 2); });
    out.line("capacity", out.dot("weights", "squares"));
}

std::optional<Explained> explain_number(Model& model, Subject& subject, GibbsNumber number, double t,
                                        Index query) {
    const ChosenRow& chosen = model.row;
    const bool own = model.curves && query == chosen.query;
    const auto elsewhere = own ? Result<EnergyLevels>(Error{})
                               : energy_levels(score_row_of(*chosen.record, chosen.head.head, query));
    if (!own && (!elsewhere || elsewhere->keys == 0)) return std::nullopt;
    const Attention& attention = *subject.attention();
    const EnergyLevels& run = own ? model.curves->levels() : *elsewhere;
    const EnergyLevels levels = own ? exact_levels(model, subject) : in_double(subject, chosen, query, run);
    const bool dialled = t == model.state.temperature && own;
    const Places places{chosen.head};
    const GibbsRow row{
        .levels = levels,
        .t = t,
        .now = gibbs(levels, t),
        .weights = gibbs_weights(levels, t),
        .name = [&](Index key) { return key_name(subject, key); },
        .weight = dialled ? weight_at(model, ScoreMap::softmax) : [](Index) { return std::nullopt; },
        .score = [&](Index key) { return places(score_stage(attention), query, key); }};
    Explained out{.title = std::string(gibbs_symbols[static_cast<std::size_t>(number)]) + " of " +
                           in_quotes(label_at(attention.query_names(), query)) + ", " + temperature_text(t),
                  .provenance = head_text(chosen.head, attention.numbering()) + " · computed from its scores",
                  .f32 = single(gibbs_number(gibbs(run, t), number)),
                  .f64 = gibbs_number(row.now, number)};
    switch (number) {
        case GibbsNumber::energy: explain_energy(out, row); break;
        case GibbsNumber::entropy: explain_entropy(out, row, false); break;
        case GibbsNumber::keys: explain_entropy(out, row, true); break;
        case GibbsNumber::free_energy: explain_free_energy(out, row); break;
        case GibbsNumber::heat_capacity: explain_heat_capacity(out, row); break;
    }
    for (Index other = 0; dialled && other < gibbs_number_count; ++other)
        if (static_cast<GibbsNumber>(other) != number)
            out.beside(gibbs_symbols[static_cast<std::size_t>(other)],
                       gibbs_number(row.now, static_cast<GibbsNumber>(other)), "",
                       place_of(model, cells::gibbs(other, GibbsPlace::dial)));
    return out;
}

std::optional<Explained> explain_gibbs(Model& model, Subject& subject, const LensCell& cell) {
    const auto here = model.gibbs_at(static_cast<GibbsPlace>(cell.at[1]));
    if (!here) return std::nullopt;
    return explain_number(model, subject, static_cast<GibbsNumber>(cell.at[0]), here->temperature,
                          model.row.query);
}

std::optional<Explained> explain_curve(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.curves) return std::nullopt;
    return explain_number(model, subject, static_cast<GibbsNumber>(cell.at[0]), curve_temperature(cell.at[1]),
                          model.row.query);
}

std::optional<Explained> explain_query(Model& model, Subject& subject, const LensCell& cell) {
    if (cell.at[0] >= model.row.record->queries()) return std::nullopt;
    return explain_number(model, subject, GibbsNumber::keys, model.state.temperature, cell.at[0]);
}

// ---- The maps ---------------------------------------------------------------------------------------------

std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    const auto map = static_cast<ScoreMap>(cell.at[0]);
    const Index key = cell.at[1];
    const RowMaps* exact = exact_maps(model, subject, map);
    const auto j = static_cast<std::size_t>(key);
    if (!exact || key >= model.row.record->keys()) return std::nullopt;
    const EnergyLevels& levels = exact_levels(model, subject);
    const double t = model.state.temperature, common = exact->row(map)->common;
    const Places places{model.row.head};
    Explained out{
        .title = element_name(model, subject, info(map).name, key_name(subject, key)),
        .provenance = where(model, subject),
        .masked = std::isinf(levels.above[j]),
        .f32 = single(model.maps->row(map)->weights[j]),
        .formula = std::string(info(map).formula) + (map == ScoreMap::linear ? "" : ", s = score / T"),
        .note = info(map).meaning};
    const Expression score =
        out.step("score", levels.scores[j], places(score_stage(*subject.attention()), model.row.query, key));
    if (out.masked || t == 0 || std::isinf(t)) {
        out.step("weight", exact->row(map)->weights[j],
                 std::string(out.masked ? "the mask forbids it" : "in the limit"));
        return out;
    }
    // Scores are shifted by the row's highest; if all are below 0, softmax + 1 shifts by its key of score 0.
    const auto shifted = [&] { return out.step("s − max", (score - levels.highest) / t); };
    const auto threshold = [&] { return out.step("τ", common, std::string("so that the row sums to 1")); };
    switch (map) {
        case ScoreMap::softmax:
        case ScoreMap::softmax_one: {
            const bool by_zero = map == ScoreMap::softmax_one && levels.highest < 0;
            const Expression above = by_zero ? out.step("exp(s)", exp(out.step("s", score / t)))
                                             : out.step("exp(s − max)", exp(shifted()));
            out.step("weight",
                     above / out.step(map == ScoreMap::softmax ? "Σ of the row" : "1 + Σ, shifted", common));
            break;
        }
        case ScoreMap::sparsemax: {
            const Expression s = shifted();
            out.step("weight", max(s - threshold(), 0));
            break;
        }
        case ScoreMap::entmax: {
            const Expression half = out.step("(s − max) / 2", shifted() / 2),
                             root = out.step("above τ", max(half - threshold(), 0));
            out.step("weight", root * root);
            break;
        }
        case ScoreMap::sigmoid: {
            const Expression s = out.step("s", score / t);
            out.step("weight", 1 / (1 + exp(out.step("ln n", log(common)) - s)));
            break;
        }
        case ScoreMap::relu_squared: {
            const Expression positive = out.step("max(s, 0)", max(out.step("s", score / t), 0));
            out.step("weight", positive * positive / common);
            break;
        }
        case ScoreMap::linear: {
            std::vector<Term> terms;
            for (const Term& term : dot_terms(*model.row.record, model.row.head.head, model.row.query, key))
                terms.push_back({term.index, linear_feature(term.left), linear_feature(term.right)});
            out.operands_title = "φ(q) · φ(k), φ(x) = x + 1 above 0, else exp(x)";
            add_terms(
                out, terms, [&](Index a) { return places(Stage::q, model.row.query, a); },
                [&](Index a) { return places(Stage::k, key, a); }, {"features_q", "features_k"});
            const Expression product = out.step("φ(q) · φ(k)", out.dot()),
                             sum = out.step("Σ of the row", common);
            out.step("weight", common == 0 ? Expression(0) : product / sum);
            break;
        }
    }
    return out;
}

std::optional<Explained> explain_difference(Model& model, Subject& subject, ScoreMap map,
                                            const RowMaps& exact) {
    const auto difference = model.maps->difference(map);
    if (!difference || !exact.difference(map)) return std::nullopt;
    Explained out{.title = std::string("Output of ") + info(map).name + ", off softmax’s",
                  .provenance = where(model, subject),
                  .f32 = single(*difference),
                  .formula = "‖o − o_softmax‖ / ‖o_softmax‖",
                  .operands_title = "(o − o_softmax)², by component",
                  .note = info(map).meaning};
    const std::vector<double>&own = exact.output(map), &usual = exact.output(ScoreMap::softmax);
    for (std::size_t b = 0; b < own.size(); ++b) {
        const double d = own[b] - usual[b];
        out.term(std::to_string(b), d, d, place_of(model, cells::output(map, b)),
                 place_of(model, cells::output(ScoreMap::softmax, b)));
    }
    const Expression off = out.step("‖o − o_softmax‖", sqrt(out.dot("d", "d"))),
                     size = out.step("‖o_softmax‖", norm(Column{"o_softmax", usual}));
    out.step("off by", off / size);
    return out;
}

std::optional<Explained> explain_measure(Model& model, Subject& subject, const LensCell& cell) {
    const auto map = static_cast<ScoreMap>(cell.at[0]);
    const auto measure = static_cast<MapMeasure>(cell.at[1]);
    const RowMaps* exact = exact_maps(model, subject, map);
    if (!exact) return std::nullopt;
    if (measure == MapMeasure::difference) return explain_difference(model, subject, map, *exact);
    const MappedRow &run = *model.maps->row(map), &mapped = *exact->row(map);
    const bool counts = measure == MapMeasure::support;
    Explained out{
        .title = std::string(counts ? "Keys of " : "Σ w of ") + info(map).name + (counts ? " over 0" : ""),
        .provenance = where(model, subject),
        .f32 = counts ? static_cast<double>(run.support) : single(run.sum),
        .formula = counts ? "how many j have w_j > 0" : "Σ_j w_j",
        .operands_title = counts ? "Each key with a weight over 0" : "Weights",
        .note = info(map).meaning};
    const EnergyLevels& levels = exact_levels(model, subject);
    for (Index key = 0; key < std::ssize(mapped.weights); ++key) {
        const auto j = static_cast<std::size_t>(key);
        if (mapped.weights[j] > 0 || (!counts && !std::isinf(levels.above[j])))
            out.summand(key_name(subject, key), counts ? 1 : mapped.weights[j], weight_at(model, map)(key));
    }
    out.line("total", out.sum(counts ? "counted" : "weights"));
    return out;
}

std::optional<Explained> explain_output(Model& model, Subject& subject, const LensCell& cell) {
    const auto map = static_cast<ScoreMap>(cell.at[0]);
    const Index component = cell.at[1];
    const RowMaps* exact = exact_maps(model, subject, map);
    const auto b = static_cast<std::size_t>(component);
    if (!exact || b >= model.maps->output(map).size()) return std::nullopt;
    const EnergyLevels& levels = exact_levels(model, subject);
    const MappedRow& mapped = *exact->row(map);
    const Record& record = *model.row.record;
    const ConstMatrix v = record.v().heads().head(record.kv_head(model.row.head.head));
    const std::string column = std::to_string(component);
    Explained out{.title = element_name(model, subject, std::string("Output of ") + info(map).name, column),
                  .provenance = where(model, subject),
                  .f32 = single(model.maps->output(map)[b]),
                  .formula = "Σ_j w_j · V[j, " + column + "]",
                  .operands_title = "Weights · V[·, " + column + "]"};
    const Places places{model.row.head};
    for (Index key = 0; key < std::ssize(mapped.weights); ++key) {
        const double weight = mapped.weights[static_cast<std::size_t>(key)];
        if (std::isinf(levels.above[static_cast<std::size_t>(key)])) continue;
        out.term(key_name(subject, key), weight, weight == 0 ? 0 : static_cast<double>(v(key, component)),
                 weight_at(model, map)(key), places(Stage::v, key, component));
    }
    out.line("output", out.dot("weights", "v"));
    return out;
}

// ---- A head -----------------------------------------------------------------------------------------------

double effective_keys(const Record& record, Index head, Index query, double temperature) {
    std::vector<double> scores = score_row_of(record, head, query);
    const RowChain chain = row_chain(record, head, query);
    for (std::size_t j = 0; j < scores.size(); ++j)
        if (!std::isinf(scores[j])) scores[j] = chain.at(static_cast<Index>(j)).masked;
    const auto levels = energy_levels(scores);
    return levels ? gibbs(*levels, temperature).effective_keys() : NAN;
}

std::optional<Explained> explain_head(Model& model, Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    const Attention& attention = *subject.attention();
    if (head.layer >= attention.layers() || head.head >= attention.heads()) return std::nullopt;
    const auto record = attention.record(head.layer);
    const EffectiveKeys* keys = model.heads ? model.heads->of(head) : nullptr;
    if (!record || !keys || keys->rows().empty()) return std::nullopt;
    const auto count = static_cast<double>(keys->rows().size());
    Explained out{
        .title = "Effective share of keys, " + head_text(head, attention.numbering()),
        .provenance = "measured over " + many(std::ssize(keys->rows()), "query row") + " · " +
                      temperature_text(model.state.temperature),
        .f32 = single(keys->share()),
        .recomputed = count * static_cast<double>(record->keys() * record->d_k()) <= most_multiplications,
        .formula = "1/n · Σ_i e^S_i / keys that i may see",
        .operands_title = "e^S · 1 / (keys that it may see · " + fixed(count, 0) + ")",
        .note =
            "1 is a head that spreads evenly over all that it may see, and near 0 one that picks "
            "a single key among many."};
    for (const EffectiveKeys::Row& row : keys->rows()) {
        double effective = row.effective;
        if (out.recomputed)
            if (const double again = effective_keys(*record, head.head, row.query, model.state.temperature);
                !std::isnan(again))
                effective = again;
        out.term(
            in_quotes(label_at(attention.query_names(), row.query)), effective,
            1 / (static_cast<double>(row.seen) * count),
            head == model.row.head ? std::optional(place_of(model, cells::query(row.query))) : std::nullopt);
    }
    out.line("share", out.dot("keys", "shares"));
    return out;
}

constexpr std::array<ModelNumber<Model>, 7> declared{{
    {&cells::gibbs, explain_gibbs},
    {&cells::curve, explain_curve},
    {&cells::weight, explain_weight},
    {&cells::measure, explain_measure},
    {&cells::output, explain_output},
    {&cells::query, explain_query},
    {&cells::head, explain_head},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!row.record) return std::nullopt;
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::softmax
