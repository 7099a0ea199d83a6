// Explains the numbers of lens Scale.
#include <cmath>

#include "analysis/theory/dot_products.hpp"
#include "app/format.hpp"
#include "lenses/scale/scale.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

// Adds the numbers of several seeds, whose mean is shown.
void add_mean(Explained& out, std::span<const double> values, std::uint32_t first_seed) {
    const double share = 1 / static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        out.operands.push_back(
            {"seed " + std::to_string(first_seed + i), values[i], share, values[i] * share});
        out.f64 += values[i] * share;
    }
    out.left_name = "values";
    out.right_name = "shares";
    out.line("mean", out.dot());
}

}  // namespace

std::optional<Explained> ScaleLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention()) return std::nullopt;
    return explain_by(declared, *this, subject, place.cell.own);
}

const std::array<LensNumber<ScaleLens>, 6> ScaleLens::declared{{
    {&scale_cells::histogram, &ScaleLens::explain_histogram},
    {&scale_cells::weight, &ScaleLens::explain_weight},
    {&scale_cells::measure, &ScaleLens::explain_measure},
    {&scale_cells::curve, &ScaleLens::explain_curve},
    {&scale_cells::component_variance, &ScaleLens::explain_component},
    {&scale_cells::cumulative_variance, &ScaleLens::explain_cumulative},
}};

CellKinds scale_numbers() { return kinds_of(ScaleLens::declared); }

std::optional<CellRef> packed_scale_cell(Index row, Index col) {
    using namespace scale_cells;
    switch (row) {
        case 0: return histogram(col);
        case 1: return weight(col % 4, col / 4);
        case 2: return col < 12 ? std::optional(measure(col / 4, col % 4)) : std::nullopt;
        case 3: return col < 16 * 24 ? std::optional(curve(col / 96, col / 24 % 4, col % 24)) : std::nullopt;
        case 4: return component_variance(col);
        case 5: return cumulative_variance(col + 1);
        default: return std::nullopt;
    }
}

std::optional<Explained> ScaleLens::explain_histogram(Subject& subject, const LensCell& cell) {
    const Index bin = cell.at[0];
    if (bin >= ScaleHistogram::bins) return std::nullopt;
    const ScaleHistogram& all = histogram(subject);
    const bool of_head = products_->from.source.record != nullptr;
    const auto at = static_cast<std::size_t>(bin);
    Explained out;
    const bool first = bin == 0, last = bin == ScaleHistogram::bins - 1;
    out.title =
        first  ? "Pairs with q · k below " + fixed(all.edge(1), 2)
        : last ? "Pairs with q · k above " + fixed(all.edge(bin), 2)
               : "Pairs with q · k from " + fixed(all.edge(bin), 2) + " to " + fixed(all.edge(bin + 1), 2);
    out.provenance = "counted · " + with_commas(all.pairs) +
                     (of_head ? " pairs of this head"
                              : " pairs from seed " + std::to_string(state().of<ScaleState>().seed));
    out.f32 = out.f64 = static_cast<double>(all.counts[at]);
    out.recomputed = false;
    const std::string pairs = with_commas(all.pairs) + " × ";
    const auto share = [&](double expected) {
        return pairs + fixed(all.pairs ? expected / static_cast<double>(all.pairs) : 0, 6);
    };
    out.steps = {{"counted", "", with_commas(all.counts[at]), true},
                 {"exact", share(all.expected[at]), four(all.expected[at])},
                 {"normal limit", share(all.normal[at]), four(all.normal[at])}};
    const std::string d = std::to_string(products_->what.components());
    out.note = "Exact: the density |x|^ν K_ν(|x|) / (√π 2^ν Γ(d/2)) with ν = (d − 1)/2 and d = " + d +
               ", over this bin. It is that of standard normal components" +
               (of_head ? ", which this head's need not be." : ".");
    return out;
}

std::optional<Explained> ScaleLens::explain_weight(Subject& subject, const LensCell& cell) {
    const Row& shown = row(subject);
    const auto rule = static_cast<std::size_t>(cell.at[0]);
    const Index key = cell.at[1];
    if (key >= std::ssize(shown.names) || rule >= shown.rules.size()) return std::nullopt;
    const RuledRow& ruled = shown.rules[rule];
    const bool of_head = row_->from.source.record != nullptr;
    const CellExplanation why =
        attn::explain(ruled.record, Stage::weight, shown.row.head, shown.row.query, key);
    const PrintedRow* printed = of_head ? nullptr : printed_row(row_->from.row);
    Explained out;
    out.title = "Weight of " + in_quotes(shown.names[static_cast<std::size_t>(key)]) +
                (of_head ? " (" + std::to_string(key) + "), " : ", ") + ruled.name;
    out.provenance = of_head   ? "this head's q and k under another scale"
                     : printed ? "scores of “" + std::string(printed->tutorial) + "”"
                               : "q and k from seed " + std::to_string(row_->from.seed);
    out.masked = !why.allowed;
    out.f32 = static_cast<double>(why.f32);
    out.f64 = why.f64;
    out.formula = formula_of(Stage::weight, {}, 0);
    const Places places{subject.chosen_head()};
    if (!printed) {
        const auto components = [&](Stage stage, Index row) -> PlaceOf {
            if (!of_head) return nullptr;
            return [=](Index a) { return places(stage, row, a); };
        };
        out.operands_title = "q · k";
        add_terms(out, dot_terms(ruled.record, shown.row.head, shown.row.query, key),
                  components(Stage::q, shown.row.query), components(Stage::k, key), {"q", "k"});
    }
    add_chain(out, why, ruled.record.spec(), places, {Stage::weight, shown.row.query, key}, Stage::weight,
              " × " + fixed(why.scale, 6), printed ? std::nullopt : std::optional(out.dot()));
    // Only the score among these steps has a place elsewhere: the head itself has another scale.
    for (Explained::Step& step : out.steps)
        if (!of_head || step.name != "score") step.at.reset();
    if (printed && rule == 0) {
        const std::string_view text = printed->weights[static_cast<std::size_t>(key)];
        out.note = "“" + std::string(printed->tutorial) + "” prints " + std::string(text) + "; exact is " +
                   fixed(why.f64, 6) + ".";
    }
    return out;
}

std::optional<Explained> ScaleLens::explain_measure(Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<RowMeasure>(cell.at[0]);
    const auto rule = static_cast<std::size_t>(cell.at[1]);
    const Row& shown = row(subject);
    if (rule >= shown.rules.size()) return std::nullopt;
    const RuledRow& ruled = shown.rules[rule];
    const std::span<const double> weights = ruled.exact;
    Explained out;
    out.provenance = "of the row under “" + ruled.name + "” · " + many(std::ssize(weights), "key");
    out.f32 = measured(ruled.saturation, measure);
    out.f64 = measured(ruled.exact_saturation, measure);
    const std::vector<double> factors =
        measure == RowMeasure::gradient ? jacobian_factors(weights) : std::vector<double>();
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double a = weights[i];
        const double left = measure == RowMeasure::gradient ? a * a : a,
                     right = measure == RowMeasure::gradient  ? factors[i]
                             : measure == RowMeasure::entropy ? (a > 0 ? -std::log(a) : 0)
                                                              : (a == out.f64 ? 1 : 0);
        if (measure == RowMeasure::largest && a != out.f64) continue;
        out.operands.push_back({shown.names[i], left, right, left * right,
                                CellPlace{subject.chosen_head(), scale_cells::weight(rule, i)}});
        if (measure == RowMeasure::largest) break;
    }
    switch (measure) {
        case RowMeasure::entropy:
            out.title = "Entropy of the row";
            out.unit = "nats";
            out.formula = "−Σ_j a_j ln a_j";
            out.operands_title = "Weights · −ln a";
            out.left_name = "weights";
            out.right_name = "surprises";
            out.line("entropy", out.dot());
            out.note = "e^S = " + fixed(std::exp(out.f64), 3) +
                       ": as many keys of the same weight would have this entropy.";
            break;
        case RowMeasure::largest:
            out.title = "Largest weight of the row";
            out.formula = "max_j a_j";
            out.operands_title = "The key that has it";
            out.left_name = "weights";
            out.right_name = "ones";
            if (!out.operands.empty()) out.line("largest", out.dot());
            break;
        default:
            out.title = "‖∂A/∂S‖_F of the row";
            out.formula = "√ Σ_i a_i² ((Σ_{j≠i} a_j)² + Σ_{j≠i} a_j²)";
            out.operands_title = "a_i² · the rest of row i of ∂A/∂S";
            out.left_name = "squares";
            out.right_name = "rests";
            out.line("norm", sqrt(out.line("squares", out.dot())));
            out.note =
                "∂a_i/∂s_j = a_i (δ_ij − a_j), with respect to the scaled scores. What comes back from the "
                "loss is "
                "multiplied by it: at 0, nothing is learned here.";
    }
    return out;
}

std::optional<Explained> ScaleLens::explain_curve(Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<RowMeasure>(cell.at[0]);
    const auto rule = static_cast<std::size_t>(cell.at[1]), point = static_cast<std::size_t>(cell.at[2]);
    const ScaleCurves& over = curves();
    if (point >= ScaleCurves::points().size() || over.seeds_done() == 0 || source(subject).record)
        return std::nullopt;
    const ScaleState& now = state().of<ScaleState>();
    const Index d = ScaleCurves::points()[point];
    std::vector<double> values;
    for (Index seed = 0; seed < over.seeds_done(); ++seed)
        values.push_back(over.value(measure, rule, point, seed));
    Explained out;
    static constexpr std::array titles{"Entropy", "Largest weight", "‖∂A/∂S‖_F", "Mean square of the scores"};
    out.title = std::string(titles[static_cast<std::size_t>(measure)]) + " at d_k = " + std::to_string(d) +
                ", " + scale_rule_names[rule];
    out.provenance = "mean over " + many(std::ssize(values), "seed") + " · rows of " + many(now.keys, "key");
    if (measure == RowMeasure::entropy) out.unit = "nats";
    out.operands_title = "Rows of these seeds · 1/" + std::to_string(values.size());
    add_mean(out, values, now.seed);
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    const ScaleCurves::Spread spread = over.over_seeds(measure, rule, point);
    out.steps = {{"10th percentile", "", four(spread.low)},
                 {"mean", "", four(spread.mean), true},
                 {"90th percentile", "", four(spread.high)}};
    if (measure == RowMeasure::variance)
        out.note =
            "The scores' mean is known to be 0, so their mean square is their variance. In theory it is "
            "d_k · scale² = " +
            four(static_cast<double>(d) * std::pow(scale_of(rule, d, now.own), 2)) + ".";
    return out;
}

std::optional<Explained> ScaleLens::explain_component(Subject& subject, const LensCell& cell) {
    const Index component = cell.at[0];
    const ComponentVariances* of = variances(subject);
    if (!of || component >= of->components() || !of->done()) return std::nullopt;
    Explained out;
    Column products{"products", {}};
    const Places places{subject.chosen_head()};
    of->for_each([&](const HeadPairs::Pair& pair, const float* q, const float* k) {
        const auto left = static_cast<double>(q[component]), right = static_cast<double>(k[component]);
        out.operands.push_back({std::to_string(pair.query) + "→" + std::to_string(pair.key), left, right,
                                left * right, places(Stage::q, pair.query, component),
                                places(Stage::k, pair.key, component)});
        products.values.push_back(left * right);
    });
    const Moments moments = moments_of(std::span<const double>(products.values));
    const std::string a = std::to_string(component);
    const auto count = static_cast<double>(products.values.size());
    out.title = "Variance of q_" + a + " · k_" + a;
    out.provenance = "over " + with_commas(std::ssize(products.values)) + " pairs of this head";
    out.f32 = static_cast<double>(static_cast<float>(of->own(component)));
    out.f64 = moments.variance;
    out.formula = "1/n · Σ (q_a k_a − mean)²";
    out.operands_title = "q_" + a + " · k_" + a + " of each pair";
    out.left_name = "q";
    out.right_name = "k";
    const Expression mean = out.line("mean", sum(products) / count);
    out.line("variance", spread(std::move(products), mean) / count);
    out.steps = {{"mean", "", four(moments.mean)}, {"variance", "", four(out.f64), true}};
    out.note = "1 if q and k were independent and standard normal.";
    return out;
}

std::optional<Explained> ScaleLens::explain_cumulative(Subject& subject, const LensCell& cell) {
    const Index components = cell.at[0];
    const ComponentVariances* of = variances(subject);
    if (!of || components == 0 || components > of->components() || !of->done()) return std::nullopt;
    Explained out;
    Column sums{"sums", {}};
    of->for_each([&](const HeadPairs::Pair&, const float* q, const float* k) {
        double sum = 0;
        for (Index a = 0; a < components; ++a) sum += static_cast<double>(q[a]) * static_cast<double>(k[a]);
        sums.values.push_back(sum);
    });
    const Moments moments = moments_of(std::span<const double>(sums.values));
    double own = 0;
    for (Index a = 0; a < components; ++a) own += of->own(a);
    const auto count = static_cast<double>(sums.values.size());
    out.title = "Variance of q · k over the first " + many(components, "component");
    out.provenance = "over " + with_commas(std::ssize(sums.values)) + " pairs of this head";
    out.f32 = static_cast<double>(static_cast<float>(of->of_first(components)));
    out.f64 = moments.variance;
    out.formula = "Σ_a Var(q_a k_a) + Σ_{a≠b} Cov(q_a k_a, q_b k_b)";
    const Expression mean = out.line("mean", sum(sums) / count);
    out.line("variance", spread(std::move(sums), mean) / count);
    out.steps = {
        {"Σ variances", "each component’s", four(own)},
        {"Σ covariances", "between them", four(out.f64 - own)},
        {"variance", "", four(out.f64), true},
        {"a component", "÷ " + std::to_string(components), four(out.f64 / static_cast<double>(components))}};
    out.note = "With standard normal components it would be " + std::to_string(components) +
               ": a sum of that many independent products with variance 1.";
    return out;
}

}  // namespace attn::app
