// Explains the numbers of lens Softmax: the Gibbs distribution's, and those of the other maps.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/softmax/softmax.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

// The subject explains this many scores; for longer rows the record's scores are recomputed in double.
constexpr Index keys_explained = 64;
constexpr double most_multiplications = 4e6;  // for the rows of one head

// Softmax takes the scores of the last stage before it.
Stage score_stage(const Attention& attention) {
    Stage last = Stage::masked;
    for (const Stage stage : attention.stages())
        if (is_signed(stage)) last = stage;
    return last;
}

EnergyLevels in_double(Subject& subject, const Record& record, HeadIndex head, Index query,
                       const EnergyLevels& run) {
    std::vector<double> scores = run.scores;
    std::optional<RowChain> chain;
    const Places places{head};
    for (Index key = 0; key < std::ssize(scores); ++key) {
        double& score = scores[static_cast<std::size_t>(key)];
        if (std::isinf(score)) continue;
        const auto why = std::ssize(scores) <= keys_explained
                             ? subject.explain_at(places(score_stage(*subject.attention()), query, key))
                             : std::nullopt;
        if (!why && !chain) chain = row_chain(record, head.head, query);
        score = why ? why->f64 : chain->at(key).masked;
    }
    auto levels = energy_levels(scores);
    return levels ? *std::move(levels) : run;
}

void note_step(Explained& out, std::string name, std::string arithmetic, double value, bool current = false,
               std::optional<CellPlace> at = {}) {
    out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, at});
}

const char* symbol_of(GibbsNumber number) {
    static constexpr std::array names{"⟨E⟩", "S", "e^S", "F", "C"};
    return names[static_cast<std::size_t>(number)];
}

}  // namespace

std::optional<Explained> SoftmaxLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention()) return std::nullopt;
    update(subject);
    if (!row_.record) return std::nullopt;
    if (!kept_ || kept_->row != row_ || kept_->temperature != temperature() || kept_->cell != place.cell ||
        !kept_->why)
        kept_ = Kept{row_, temperature(), place.cell, explain_by(declared, *this, subject, place.cell.own)};
    return kept_->why;
}

const std::array<LensNumber<SoftmaxLens>, 7> SoftmaxLens::declared{{
    {&softmax_cells::gibbs, &SoftmaxLens::explain_gibbs},
    {&softmax_cells::curve, &SoftmaxLens::explain_curve},
    {&softmax_cells::weight, &SoftmaxLens::explain_weight},
    {&softmax_cells::measure, &SoftmaxLens::explain_measure},
    {&softmax_cells::output, &SoftmaxLens::explain_output},
    {&softmax_cells::query, &SoftmaxLens::explain_query},
    {&softmax_cells::head, &SoftmaxLens::explain_head},
}};

CellKinds softmax_numbers() { return kinds_of(SoftmaxLens::declared); }

std::optional<CellRef> packed_softmax_cell(Index row, Index col) {
    using namespace softmax_cells;
    const auto within = [&](Index first, const CellKind& kind) -> std::optional<CellRef> {
        const CellRef cell = kind(row - first, col);
        return cell.own.is_within() ? std::optional(cell) : std::nullopt;
    };
    if (row >= 60) return head(row - 60, col);
    if (row == 50) return query(col);
    if (row >= 40) return within(40, curve);
    if (row >= 30) return within(30, output);
    if (row >= 20) return within(20, measure);
    return row >= 10 ? within(10, weight) : within(0, gibbs);
}

const EnergyLevels& SoftmaxLens::exact_levels(Subject& subject) {
    if (!exact_ || exact_->row != row_)
        exact_ = Exact{row_, in_double(subject, *row_.record, row_.head, row_.query, curves_->levels())};
    return exact_->levels;
}

const RowMaps* SoftmaxLens::exact_maps(Subject& subject, ScoreMap map) {
    if (!maps_ || !maps_->row(map)) return nullptr;
    const EnergyLevels& levels = exact_levels(subject);
    if (!exact_->maps || exact_->temperature != temperature()) {
        exact_->temperature = temperature();
        exact_->maps.emplace(row_.record, row_.head.head, row_.query, temperature(), with_vectors_,
                             with_values_);
    }
    exact_->maps->compute(ScoreMap::softmax, levels, *maps_);
    exact_->maps->compute(map, levels, *maps_);
    return &*exact_->maps;
}

// ---- The Gibbs distribution -------------------------------------------------------------------------------

std::optional<Explained> SoftmaxLens::explain_gibbs(Subject& subject, const LensCell& cell) {
    const auto here = gibbs_at(static_cast<GibbsPlace>(cell.at[1]));
    if (!here) return std::nullopt;
    return explain_number(subject, static_cast<GibbsNumber>(cell.at[0]), here->temperature, row_.query);
}

std::optional<Explained> SoftmaxLens::explain_curve(Subject& subject, const LensCell& cell) {
    if (!curves_) return std::nullopt;
    return explain_number(subject, static_cast<GibbsNumber>(cell.at[0]), curve_temperature(cell.at[1]),
                          row_.query);
}

std::optional<Explained> SoftmaxLens::explain_query(Subject& subject, const LensCell& cell) {
    if (cell.at[0] >= row_.record->queries()) return std::nullopt;
    return explain_number(subject, GibbsNumber::keys, temperature(), cell.at[0]);
}

std::optional<Explained> SoftmaxLens::explain_number(Subject& subject, GibbsNumber number, double t,
                                                     Index query) {
    const bool own = curves_ && query == row_.query;
    const auto elsewhere = own ? Result<EnergyLevels>(Error{})
                               : energy_levels(score_row_of(*row_.record, row_.head.head, query));
    if (!own && (!elsewhere || elsewhere->keys == 0)) return std::nullopt;
    const Attention& attention = *subject.attention();
    const EnergyLevels& run = own ? curves_->levels() : *elsewhere;
    const EnergyLevels levels =
        own ? exact_levels(subject) : in_double(subject, *row_.record, row_.head, query, run);
    const Gibbs now = gibbs(levels, t);
    const std::vector<double> weights = gibbs_weights(levels, t);
    const bool limit = t == 0 || std::isinf(t), dialled = t == temperature() && own;
    Explained out;
    out.title = std::string(symbol_of(number)) + " of " +
                in_quotes(label_at(attention.query_names(), query)) + ", " + temperature_text(t);
    out.provenance = head_text(row_.head, attention.numbering()) + " · computed from its scores";
    out.f32 = static_cast<double>(static_cast<float>(gibbs_number(gibbs(run, t), number)));
    out.f64 = gibbs_number(now, number);
    if (number == GibbsNumber::entropy) out.unit = "nats";
    if (number == GibbsNumber::keys) out.unit = "keys";
    const Places places{row_.head};
    const auto operand = [&](Index key, double left, double right, bool of_score) {
        out.operands.push_back(
            {in_quotes(label_at(attention.key_names(), key)), left, right, left * right,
             dialled ? std::optional(place_of(softmax_cells::weight(ScoreMap::softmax, key))) : std::nullopt,
             of_score ? std::optional(places(score_stage(attention), query, key)) : std::nullopt});
    };
    const auto each = [&](auto&& right, bool of_score = false) {
        out.operands.reserve(weights.size());
        for (Index key = 0; key < std::ssize(weights); ++key)
            if (const auto j = static_cast<std::size_t>(key); !std::isinf(levels.above[j]))
                operand(key, weights[j], weights[j] == 0 ? 0 : right(j), of_score);
    };
    switch (number) {
        case GibbsNumber::energy:
            out.formula = "Σ_j p_j E_j, E_j = −s_j";
            out.operands_title = "Weights · energies";
            each([&](std::size_t j) { return -levels.scores[j]; }, true);
            out.left_name = "weights";
            out.right_name = "energies";
            out.line("energy", out.dot());
            break;
        case GibbsNumber::entropy:
        case GibbsNumber::keys:
            out.formula = number == GibbsNumber::keys ? "exp(−Σ_j p_j ln p_j)" : "−Σ_j p_j ln p_j";
            out.operands_title = "Weights · −ln of them, in nats";
            each([&](std::size_t j) { return -std::log(weights[j]); });
            out.left_name = "weights";
            out.right_name = "surprise";
            out.line("entropy", out.dot());
            if (number == GibbsNumber::keys) {
                note_step(out, "S", "", now.entropy);
                note_step(out, "e^S", "exp(" + four(now.entropy) + ")", out.f64, true);
                out.line("keys", exp(out.calculation.result()));
                out.note = "As many keys of equal weight would have this entropy; the row may see " +
                           std::to_string(levels.keys) + ".";
            }
            break;
        case GibbsNumber::free_energy: {
            out.formula = "−T ln Z = ⟨E⟩ − T·S";
            const double closing = now.energy - (now.entropy == 0 ? 0 : t * now.entropy);
            if (!limit) {
                out.operands_title = "exp((s − max s) / T), whose sum is Z · exp(−max s / T)";
                double sum = 0;
                for (Index key = 0; key < std::ssize(weights); ++key)
                    if (const double above = levels.above[static_cast<std::size_t>(key)];
                        !std::isinf(above)) {
                        const double factor = above == 0 ? 1 : std::exp(-above / t);
                        sum += factor;
                        out.operands.push_back({in_quotes(label_at(attention.key_names(), key)), factor, 1,
                                                factor, std::nullopt, std::nullopt});
                    }
                out.left_name = "factors";
                out.right_name = "ones";
                out.line("free", Expression(0) - levels.highest - t * log(out.line("z", out.sum())));
                note_step(out, "−T ln Z", "−" + four(levels.highest) + " − T ln " + four(sum), out.f64, true);
            }
            note_step(out, "⟨E⟩ − T·S",
                      limit ? "" : four(now.energy) + " − " + fixed(t, 3) + " × " + four(now.entropy),
                      closing);
            if (limit)
                out.note =
                    t == 0
                        ? "At T → 0 the entropy counts for nothing: F is the lowest energy."
                        : "At T → ∞ the entropy outweighs everything: F falls without end, unless there is "
                          "only one key.";
            else
                out.note = "The two ways to F differ by " + fixed(std::abs(out.f64 - closing), 1) + ".";
            break;
        }
        case GibbsNumber::heat_capacity:
            out.formula = "Σ_j p_j ((E_j − ⟨E⟩) / T)² = d⟨E⟩/dT";
            if (limit) {
                out.note = "No small change of the temperature changes the mean energy here, so C is 0.";
                break;
            }
            out.operands_title = "Weights · ((E − ⟨E⟩) / T)²";
            each([&](std::size_t j) { return std::pow((-levels.scores[j] - now.energy) / t, 2); });
            out.left_name = "weights";
            out.right_name = "squares";
            out.line("capacity", out.dot());
            break;
    }
    for (Index other = 0; dialled && other < gibbs_number_count; ++other)
        if (static_cast<GibbsNumber>(other) != number)
            note_step(out, symbol_of(static_cast<GibbsNumber>(other)), "",
                      gibbs_number(now, static_cast<GibbsNumber>(other)), false,
                      place_of(softmax_cells::gibbs(other, GibbsPlace::dial)));
    return out;
}

// ---- The maps ---------------------------------------------------------------------------------------------

std::optional<Explained> SoftmaxLens::explain_weight(Subject& subject, const LensCell& cell) {
    const auto map = static_cast<ScoreMap>(cell.at[0]);
    const Index key = cell.at[1];
    const RowMaps* exact = exact_maps(subject, map);
    const auto j = static_cast<std::size_t>(key);
    if (!exact || key >= row_.record->keys()) return std::nullopt;
    const EnergyLevels& levels = exact_levels(subject);
    const auto& run = maps_->row(map);
    const Attention& attention = *subject.attention();
    const MappedRow& mapped = *exact->row(map);
    const double t = temperature(), s = levels.scores[j],
                 below = levels.above[j] == 0 ? 0 : -levels.above[j] / t;
    Explained out;
    out.title = std::string(info(map).name) + "[" + in_quotes(label_at(attention.query_names(), row_.query)) +
                ", " + in_quotes(label_at(attention.key_names(), key)) + "]";
    out.provenance = head_text(row_.head, attention.numbering()) + " · " + temperature_text(t);
    out.f32 = static_cast<double>(static_cast<float>(run->weights[j]));
    out.f64 = mapped.weights[j];
    out.formula =
        map == ScoreMap::linear ? info(map).formula : std::string(info(map).formula) + ", s = score / T";
    out.note = info(map).meaning;
    out.masked = std::isinf(levels.above[j]);
    const Places places{row_.head};
    note_step(out, "score", "", s, false, places(score_stage(attention), row_.query, key));
    if (out.masked || t == 0 || std::isinf(t)) {
        note_step(out, "weight", out.masked ? "the mask forbids it" : "in the limit", out.f64, true);
        out.line("weight", out.f64);
        return out;
    }
    const Expression scaled = Expression(s) / t, shifted = (Expression(s) - levels.highest) / t,
                     common = mapped.common;
    if (map != ScoreMap::linear) note_step(out, "s", four(s) + " / " + fixed(t, 3), s / t);
    switch (map) {
        case ScoreMap::softmax:
        case ScoreMap::softmax_one: {
            // If all scores of softmax + 1 are below 0, it is shifted by the key with score 0.
            const bool by_zero = map == ScoreMap::softmax_one && levels.highest < 0;
            const double exponential = std::exp(by_zero ? s / t : below);
            out.line("weight", out.line("exponential", exp(by_zero ? scaled : shifted)) / common);
            note_step(out, by_zero ? "exp(s)" : "exp(s − max)", "", exponential);
            note_step(out, map == ScoreMap::softmax ? "Σ of the row" : "1 + Σ, shifted", "", mapped.common);
            note_step(out, "weight", four(exponential) + " / " + four(mapped.common), out.f64, true);
            break;
        }
        case ScoreMap::sparsemax:
            out.line("weight", max(shifted - common, 0));
            note_step(out, "s − max", "", below);
            note_step(out, "τ", "so that the row sums to 1", mapped.common);
            note_step(out, "weight", "max(" + four(below) + " − τ, 0)", out.f64, true);
            break;
        case ScoreMap::entmax:
            note_step(out, "(s − max) / 2", "", below / 2);
            note_step(out, "τ", "so that the row sums to 1", mapped.common);
            note_step(out, "weight", "max(" + four(below / 2) + " − τ, 0)²", out.f64, true);
            {
                const Expression root = out.line("root", max(shifted / 2 - common, 0));
                out.line("weight", root * root);
            }
            break;
        case ScoreMap::sigmoid:
            out.line("weight", 1 / (1 + exp(log(common) - scaled)));
            note_step(out, "ln n", "ln " + fixed(mapped.common, 0), std::log(mapped.common));
            note_step(out, "weight", "1 / (1 + exp(ln n − s))", out.f64, true);
            break;
        case ScoreMap::relu_squared:
            note_step(out, "max(s, 0)", "", std::max(s / t, 0.0));
            note_step(out, "weight", "squared / " + fixed(mapped.common, 0), out.f64, true);
            {
                const Expression positive = out.line("positive", max(scaled, 0));
                out.line("weight", positive * positive / common);
            }
            break;
        case ScoreMap::linear: {
            std::vector<Term> terms;
            for (const Term& term : dot_terms(*row_.record, row_.head.head, row_.query, key))
                terms.push_back({term.index, linear_feature(term.left), linear_feature(term.right)});
            out.operands_title = "φ(q) · φ(k), φ(x) = x + 1 above 0, else exp(x)";
            add_terms(
                out, terms, [&](Index a) { return places(Stage::q, row_.query, a); },
                [&](Index a) { return places(Stage::k, key, a); }, {"features_q", "features_k"});
            double product = 0;
            for (const Term& term : terms) product += term.product();
            const Expression line = out.line("product", out.dot());
            out.line("weight", mapped.common == 0 ? Expression(0) : line / common);
            note_step(out, "φ(q) · φ(k)", "", product);
            note_step(out, "Σ of the row", "", mapped.common);
            note_step(out, "weight", four(product) + " / " + four(mapped.common), out.f64, true);
            break;
        }
    }
    return out;
}

std::optional<Explained> SoftmaxLens::explain_measure(Subject& subject, const LensCell& cell) {
    const auto map = static_cast<ScoreMap>(cell.at[0]);
    const auto measure = static_cast<MapMeasure>(cell.at[1]);
    const RowMaps* exact = exact_maps(subject, map);
    if (!exact) return std::nullopt;
    const EnergyLevels& levels = exact_levels(subject);
    const Attention& attention = *subject.attention();
    const MappedRow &run = *maps_->row(map), &mapped = *exact->row(map);
    Explained out;
    out.provenance = head_text(row_.head, attention.numbering()) + " · " + temperature_text(temperature());
    out.note = info(map).meaning;
    const auto add = [&](Index key, double left) {
        out.operands.push_back({in_quotes(label_at(attention.key_names(), key)), left, 1, left,
                                place_of(softmax_cells::weight(map, key)), std::nullopt});
    };
    if (measure == MapMeasure::difference) {
        const auto difference = maps_->difference(map), f64 = exact->difference(map);
        if (!difference || !f64) return std::nullopt;
        out.title = std::string("Output of ") + info(map).name + ", off softmax’s";
        out.f32 = static_cast<double>(static_cast<float>(*difference));
        out.f64 = *f64;
        out.formula = "‖o − o_softmax‖ / ‖o_softmax‖";
        out.operands_title = "(o − o_softmax)², by component";
        std::vector<Term> terms;
        double usual = 0, off = 0;
        for (std::size_t b = 0; b < exact->output(map).size(); ++b) {
            const double of_softmax = exact->output(ScoreMap::softmax)[b],
                         d = exact->output(map)[b] - of_softmax;
            usual += of_softmax * of_softmax;
            off += d * d;
            terms.push_back({static_cast<Index>(b), d, d});
        }
        const auto at = [&](ScoreMap of) -> PlaceOf {
            return [this, of](Index b) { return place_of(softmax_cells::output(of, b)); };
        };
        add_terms(out, terms, at(map), at(ScoreMap::softmax), {"d", "d"});
        note_step(out, "‖o − o_softmax‖", "√" + four(off), std::sqrt(off));
        note_step(out, "‖o_softmax‖", "√" + four(usual), std::sqrt(usual));
        note_step(out, "off by", "", out.f64, true);
        out.line("difference", out.line("off", norm(out.left())) / std::sqrt(usual));
        return out;
    }
    const bool counts = measure == MapMeasure::support;
    out.title = counts ? std::string("Keys of ") + info(map).name + " over 0"
                       : std::string("Σ w of ") + info(map).name;
    out.f32 = counts ? static_cast<double>(run.support) : static_cast<double>(static_cast<float>(run.sum));
    out.f64 = counts ? static_cast<double>(mapped.support) : mapped.sum;
    out.formula = counts ? "how many j have w_j > 0" : "Σ_j w_j";
    out.operands_title = counts ? "Each key with a weight over 0" : "Weights";
    for (Index key = 0; key < std::ssize(mapped.weights); ++key) {
        const double weight = mapped.weights[static_cast<std::size_t>(key)];
        if (weight > 0 || (!counts && !std::isinf(levels.above[static_cast<std::size_t>(key)])))
            add(key, counts ? 1 : weight);
    }
    out.left_name = counts ? "counted" : "weights";
    out.right_name = "ones";
    out.line("sum", out.sum());
    return out;
}

std::optional<Explained> SoftmaxLens::explain_output(Subject& subject, const LensCell& cell) {
    const auto map = static_cast<ScoreMap>(cell.at[0]);
    const Index component = cell.at[1];
    const RowMaps* exact = exact_maps(subject, map);
    const auto b = static_cast<std::size_t>(component);
    if (!exact || b >= maps_->output(map).size()) return std::nullopt;
    const EnergyLevels& levels = exact_levels(subject);
    const Attention& attention = *subject.attention();
    const MappedRow& mapped = *exact->row(map);
    const ConstMatrix v = row_.record->v().heads().head(row_.record->kv_head(row_.head.head));
    Explained out;
    out.title = std::string("Output of ") + info(map).name + "[" +
                in_quotes(label_at(attention.query_names(), row_.query)) + ", " + std::to_string(component) +
                "]";
    out.provenance = head_text(row_.head, attention.numbering()) + " · " + temperature_text(temperature());
    out.f32 = static_cast<double>(static_cast<float>(maps_->output(map)[b]));
    out.f64 = exact->output(map)[b];
    out.formula = "Σ_j w_j · V[j, " + std::to_string(component) + "]";
    out.operands_title = "Weights · V[·, " + std::to_string(component) + "]";
    const Places places{row_.head};
    for (Index key = 0; key < std::ssize(mapped.weights); ++key) {
        const double weight = mapped.weights[static_cast<std::size_t>(key)];
        if (std::isinf(levels.above[static_cast<std::size_t>(key)])) continue;
        const double value = weight == 0 ? 0 : static_cast<double>(v(key, component));
        out.operands.push_back({in_quotes(label_at(attention.key_names(), key)), weight, value,
                                weight * value, place_of(softmax_cells::weight(map, key)),
                                places(Stage::v, key, component)});
    }
    out.left_name = "weights";
    out.right_name = "v";
    out.line("output", out.dot());
    return out;
}

// ---- A head -----------------------------------------------------------------------------------------------

std::optional<Explained> SoftmaxLens::explain_head(Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    const Attention& attention = *subject.attention();
    if (head.layer >= attention.layers() || head.head >= attention.heads()) return std::nullopt;
    const auto record = attention.record(head.layer);
    const EffectiveKeys* keys = heads_ ? heads_->of(head) : nullptr;
    if (!record || !keys || keys->rows().empty()) return std::nullopt;
    const auto count = static_cast<double>(keys->rows().size());
    const bool again = count * static_cast<double>(record->keys()) * static_cast<double>(record->d_k()) <=
                       most_multiplications;
    Explained out;
    out.title = "Effective share of keys, " + head_text(head, attention.numbering());
    out.provenance = "measured over " + many(std::ssize(keys->rows()), "query row") + " · " +
                     temperature_text(temperature());
    out.f32 = static_cast<double>(static_cast<float>(keys->share()));
    out.formula = "1/n · Σ_i e^S_i / keys that i may see";
    out.operands_title = "e^S · 1 / (keys that it may see · " + fixed(count, 0) + ")";
    out.recomputed = again;
    const bool chosen = head == row_.head;
    for (const EffectiveKeys::Row& row : keys->rows()) {
        double effective = row.effective;
        if (again) {
            std::vector<double> scores = score_row_of(*record, head.head, row.query);
            const RowChain chain = row_chain(*record, head.head, row.query);
            for (std::size_t j = 0; j < scores.size(); ++j)
                if (!std::isinf(scores[j])) scores[j] = chain.at(static_cast<Index>(j)).masked;
            if (const auto levels = energy_levels(scores))
                effective = gibbs(*levels, temperature()).effective_keys();
        }
        const double share = 1 / (static_cast<double>(row.seen) * count);
        out.operands.push_back(
            {in_quotes(label_at(attention.query_names(), row.query)), effective, share, effective * share,
             chosen ? std::optional(place_of(softmax_cells::query(row.query))) : std::nullopt, std::nullopt});
        out.f64 += effective * share;
    }
    out.left_name = "keys";
    out.right_name = "shares";
    out.line("share", out.dot());
    out.note =
        "1 is a head that spreads evenly over all that it may see, and near 0 one that picks a single key "
        "among many.";
    return out;
}

}  // namespace attn::app
