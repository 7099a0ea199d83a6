// Explains the numbers of lens Scale.
#include <cmath>

#include "app/format.hpp"
#include "lenses/scale/scale.hpp"
#include "subjects/explain.hpp"

namespace attn::app::scale {

namespace {

// ---- The products -----------------------------------------------------------------------------------------

std::optional<Explained> explain_histogram(Model& model, Subject&, const LensCell& cell) {
    const Index bin = cell.at[0], last = ProductHistogram::bins - 1;
    if (bin > last) return std::nullopt;
    const ProductHistogram& all = model.histogram();
    const bool of_head = model.row.record != nullptr;
    const auto at = static_cast<std::size_t>(bin);
    const std::string from = fixed(all.edge(bin), 2), to = fixed(all.edge(bin + 1), 2);
    const std::string pairs = with_commas(all.pairs);
    Explained out{.title = "Pairs with q · k " + (bin == 0      ? "below " + to
                                                  : bin == last ? "above " + from
                                                                : "from " + from + " to " + to),
                  .provenance = "counted · " + pairs +
                                (of_head ? " pairs of this head"
                                         : " pairs from seed " + std::to_string(model.state.seed)),
                  .f32 = static_cast<double>(all.counts[at]),
                  .f64 = static_cast<double>(all.counts[at]),
                  .recomputed = false};
    out.steps.push_back({"counted", "", with_commas(all.counts[at]), true});
    const auto in_theory = [&](const char* name, double expected) {
        const double share = all.pairs ? expected / static_cast<double>(all.pairs) : 0;
        out.beside(name, expected, pairs + " × " + fixed(share, 6));
    };
    in_theory("exact", all.expected[at]);
    in_theory("normal limit", all.normal[at]);
    out.note = "Exact: the density |x|^ν K_ν(|x|) / (√π 2^ν Γ(d/2)) with ν = (d − 1)/2 and d = " +
               std::to_string(model.products.kept()->components()) +
               ", over this bin. It is that of standard normal components" +
               (of_head ? ", which this head's need not be." : ".");
    return out;
}

// Returns Σ (x − mean)² / n, with the mean as a line.
Expression variance_of(Explained& out, Column numbers) {
    const auto count = static_cast<double>(numbers.values.size());
    const Expression mean = out.line("mean", sum(numbers) / count);
    return spread(std::move(numbers), mean) / count;
}

std::optional<Explained> explain_component(Model& model, Subject&, const LensCell& cell) {
    const Index component = cell.at[0];
    const ComponentVariances* of = model.variances.kept();
    if (!of || component >= of->components() || !of->done()) return std::nullopt;
    const std::string a = std::to_string(component);
    Explained out{.title = "Variance of q_" + a + " · k_" + a,
                  .provenance = "over " + with_commas(of->counted()) + " pairs of this head",
                  .f32 = single(of->own(component)),
                  .formula = "1/n · Σ (q_a k_a − mean)²",
                  .operands_title = "q_" + a + " · k_" + a + " of each pair",
                  .note = "1 if q and k were independent and standard normal.",
                  .left_name = "q",
                  .right_name = "k"};
    Column products{"products", {}};
    const Places places{model.row.head};
    of->for_each([&](const HeadPairs::Pair& pair, const float* q, const float* k) {
        out.term(std::to_string(pair.query) + "→" + std::to_string(pair.key),
                 static_cast<double>(q[component]), static_cast<double>(k[component]),
                 places(Stage::q, pair.query, component), places(Stage::k, pair.key, component));
        products.values.push_back(out.operands.back().product);
    });
    const Expression variance = variance_of(out, std::move(products));
    out.beside("mean", out.f64);
    out.step("variance", variance);
    return out;
}

std::optional<Explained> explain_cumulative(Model& model, Subject&, const LensCell& cell) {
    const Index components = cell.at[0];
    const ComponentVariances* of = model.variances.kept();
    if (!of || components == 0 || components > of->components() || !of->done()) return std::nullopt;
    const std::string count = std::to_string(components);
    Explained out{.title = "Variance of q · k over the first " + many(components, "component"),
                  .provenance = "over " + with_commas(of->counted()) + " pairs of this head",
                  .f32 = single(of->of_first(components)),
                  .formula = "Σ_a Var(q_a k_a) + Σ_{a≠b} Cov(q_a k_a, q_b k_b)",
                  .note = "With standard normal components it would be " + count +
                          ": a sum of that many independent products with variance 1."};
    Column sums{"sums", {}};
    of->for_each([&](const HeadPairs::Pair&, const float* q, const float* k) {
        double sum = 0;
        for (Index a = 0; a < components; ++a) sum += static_cast<double>(q[a]) * static_cast<double>(k[a]);
        sums.values.push_back(sum);
    });
    double own = 0;
    for (Index a = 0; a < components; ++a) own += of->own(a);
    const Expression variance = variance_of(out, std::move(sums));
    out.beside("Σ variances", own, "each component’s");
    out.beside("Σ covariances", variance.value() - own, "between them");
    out.step("variance", variance);
    out.beside("a component", variance.value() / static_cast<double>(components), "÷ " + count);
    return out;
}

// ---- The rows ---------------------------------------------------------------------------------------------

std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    const RuledRows& shown = *model.rules.kept();
    const auto rule = static_cast<std::size_t>(cell.at[0]);
    const Index key = cell.at[1], query = shown.row.query, head = shown.row.head;
    if (key >= shown.row.record->keys() || rule >= shown.rules.size()) return std::nullopt;
    const RuledRow& ruled = shown.rules[rule];
    const bool of_head = model.row.record != nullptr;
    const CellExplanation why = attn::explain(ruled.record, Stage::weight, head, query, key);
    const PrintedRow* printed = of_head ? nullptr : printed_row(model.state.row);
    Explained out{.title = "Weight of " + in_quotes(label_at(key_names(model, subject), key)) +
                           (of_head ? " (" + std::to_string(key) + "), " : ", ") + ruled.name,
                  .provenance = of_head   ? "this head's q and k under another scale"
                                : printed ? "scores of “" + std::string(printed->tutorial) + "”"
                                          : "q and k from seed " + std::to_string(model.state.seed),
                  .masked = !why.allowed,
                  .f32 = static_cast<double>(why.f32),
                  .f64 = why.f64,
                  .formula = formula_of(Stage::weight, {}, 0)};
    const Places places{model.row.head};
    if (!printed) {
        const auto components = [&](Stage stage, Index row) -> PlaceOf {
            if (!of_head) return nullptr;
            return [=](Index a) { return places(stage, row, a); };
        };
        out.operands_title = "q · k";
        add_terms(out, dot_terms(ruled.record, head, query, key), components(Stage::q, query),
                  components(Stage::k, key), {"q", "k"});
    }
    add_chain(out, why, ruled.record.spec(), places, {Stage::weight, query, key}, Stage::weight,
              " × " + fixed(why.scale, 6), printed ? std::nullopt : std::optional(out.dot()));
    // Only the score among these steps has a place elsewhere: the head itself has another scale.
    for (Explained::Step& step : out.steps)
        if (!of_head || step.name != "score") step.at.reset();
    if (printed && rule == 0)
        out.note = "“" + std::string(printed->tutorial) + "” prints " +
                   std::string(printed->weights[static_cast<std::size_t>(key)]) + "; exact is " +
                   fixed(why.f64, 6) + ".";
    return out;
}

void explain_entropy(Explained& out) {
    out.title = "Entropy of the row";
    out.unit = "nats";
    out.formula = "−Σ_j a_j ln a_j";
    out.operands_title = "Weights · −ln a";
    out.line("entropy", out.dot("weights", "surprises"));
    out.note =
        "e^S = " + fixed(std::exp(out.f64), 3) + ": as many keys of the same weight would have this entropy.";
}

void explain_largest(Explained& out) {
    out.title = "Largest weight of the row";
    out.formula = "max_j a_j";
    out.operands_title = "The key that has it";
    if (!out.operands.empty()) out.line("largest", out.sum("weights"));
}

void explain_gradient(Explained& out) {
    out.title = "‖∂A/∂S‖_F of the row";
    out.formula = "√ Σ_i a_i² ((Σ_{j≠i} a_j)² + Σ_{j≠i} a_j²)";
    out.operands_title = "a_i² · the rest of row i of ∂A/∂S";
    out.line("norm", sqrt(out.dot("squares", "rests")));
    out.note =
        "∂a_i/∂s_j = a_i (δ_ij − a_j), with respect to the scaled scores. What comes back from the loss is "
        "multiplied by it: at 0, nothing is learned here.";
}

std::optional<Explained> explain_measure(Model& model, Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<RowMeasure>(cell.at[0]);
    const auto rule = static_cast<std::size_t>(cell.at[1]);
    const RuledRows& shown = *model.rules.kept();
    if (rule >= shown.rules.size()) return std::nullopt;
    const RuledRow& ruled = shown.rules[rule];
    Explained out{
        .provenance = "of the row under “" + ruled.name + "” · " + many(std::ssize(ruled.exact), "key"),
        .f32 = measured(ruled.saturation, measure),
        .f64 = measured(ruled.exact_saturation, measure)};
    const std::vector<std::string> names = key_names(model, subject);
    const std::vector<double> factors =
        measure == RowMeasure::gradient ? jacobian_factors(ruled.exact) : std::vector<double>();
    for (std::size_t i = 0; i < ruled.exact.size(); ++i) {
        const double a = ruled.exact[i];
        const CellPlace at{model.row.head, cells::weight(rule, i)};
        if (measure == RowMeasure::gradient)
            out.term(names[i], a * a, factors[i], at);
        else if (measure == RowMeasure::entropy)
            out.term(names[i], a, a > 0 ? -std::log(a) : 0, at);
        else if (a == out.f64 && out.operands.empty())
            out.summand(names[i], a, at);
    }
    switch (measure) {
        case RowMeasure::entropy: explain_entropy(out); break;
        case RowMeasure::largest: explain_largest(out); break;
        default: explain_gradient(out);
    }
    return out;
}

std::optional<Explained> explain_curve(Model& model, Subject&, const LensCell& cell) {
    const auto measure = static_cast<RowMeasure>(cell.at[0]);
    const auto rule = static_cast<std::size_t>(cell.at[1]), point = static_cast<std::size_t>(cell.at[2]);
    const ScaleCurves& over = *model.curves.kept();
    const Index seeds = over.seeds_done();
    if (point >= ScaleCurves::points().size() || seeds == 0 || model.row.record) return std::nullopt;
    const State& now = model.state;
    const Index d = ScaleCurves::points()[point];
    static constexpr std::array titles{"Entropy", "Largest weight", "‖∂A/∂S‖_F", "Mean square of the scores"};
    Explained out{.title = std::string(titles[static_cast<std::size_t>(measure)]) +
                           " at d_k = " + std::to_string(d) + ", " + rule_names[rule],
                  .provenance = "mean over " + many(seeds, "seed") + " · rows of " + many(now.keys, "key"),
                  .unit = measure == RowMeasure::entropy ? "nats" : "",
                  .operands_title = "Rows of these seeds · 1/" + std::to_string(seeds)};
    for (Index seed = 0; seed < seeds; ++seed)
        out.term("seed " + std::to_string(now.seed + seed), over.value(measure, rule, point, seed),
                 1 / static_cast<double>(seeds));
    const ScaleCurves::Spread spread = over.over_seeds(measure, rule, point);
    out.beside("10th percentile", spread.low);
    out.step("mean", out.dot("values", "shares"));
    out.beside("90th percentile", spread.high);
    out.f32 = single(out.f64);
    if (measure == RowMeasure::variance)
        out.note =
            "The scores' mean is known to be 0, so their mean square is their variance. In theory it is "
            "d_k · scale² = " +
            four(static_cast<double>(d) * std::pow(scale_of(rule, d, now.own), 2)) + ".";
    return out;
}

constexpr std::array<ModelNumber<Model>, 6> declared{{
    {&cells::histogram, explain_histogram},
    {&cells::weight, explain_weight},
    {&cells::measure, explain_measure},
    {&cells::curve, explain_curve},
    {&cells::component_variance, explain_component},
    {&cells::cumulative_variance, explain_cumulative},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
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

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::scale
