// Explains the numbers of lens Pitfalls.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/pitfalls/pitfalls.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::pitfalls {

namespace {

constexpr std::array<const char*, side_count> side_titles{"Right", "With the mistake", "Difference"};

std::string key_name(Subject& subject, Index key) {
    return in_quotes(label_at(subject.attention()->key_names(), key));
}
std::string query_name_at(Subject& subject, Index query) {
    return in_quotes(label_at(subject.attention()->query_names(), query));
}

// A number of one side, while its explanation is written.
struct Told {
    const Model& model;
    Subject& subject;
    Side side;
    ImplementationRun& run;

    CellPlace place(const CellRef& cell) const { return {model.head, cell}; }
    const Implementation& how() const { return run.implementation(); }
};

Explained begun(const Model& model, Side side, const std::string& title) {
    return {.title = std::string(side_titles[static_cast<std::size_t>(side)]) + ": " + title,
            .provenance = side == Side::right ? "f64" : "f64, " + name_of(model, model.state.mistake)};
}

void add_score(Explained& out, const Told& told, Index query, Index key) {
    const Index head = told.model.rows.head;
    const auto q = told.run.inputs().q.row(0, head, query);
    const std::vector<double> k = told.run.key_column(0, head, key);
    const Implementation& how = told.how();
    out.formula = "scale · Σ_a q[a] k[a]";
    out.operands_title = "q · k, by component";
    for (std::size_t a = 0; a < k.size(); ++a) out.term(std::to_string(a), q[a], k[a]);
    const Expression raw = out.step("raw", out.dot("q", "k"));
    Expression score = out.step("scaled", raw * how.scale);
    const auto cap = [&] { score = out.step("capped", how.softcap * tanh(score / how.softcap)); };
    const bool caps = how.softcap != 0 && !how.cap_after_mask;
    if (caps && !how.cap_after_bias) cap();
    if (const Array4& bias = told.model.rows.given->bias; how.adds_bias && !bias.empty())
        score = out.step("with bias", score + bias.broadcast(0, head, query, key));
    if (caps && how.cap_after_bias) cap();
}

// The scores that a weight's exponential is divided among: over keys, or over what a mistake took instead.
std::vector<double> shared_scores(const Told& told, Index query, Index key, std::vector<std::string>& names) {
    ImplementationRun& run = told.run;
    const Index head = told.model.rows.head;
    std::vector<double> scores;
    switch (told.how().axis) {
        case Implementation::Axis::keys:
            scores = run.masked_row(0, head, query);
            if (told.how().remainder == Implementation::Remainder::dropped)
                scores.resize(scores.size() - scores.size() % static_cast<std::size_t>(told.how().tile));
            for (std::size_t j = 0; j < scores.size(); ++j)
                names.push_back(key_name(told.subject, static_cast<Index>(j)));
            break;
        case Implementation::Axis::queries:
            for (Index i = 0; i < run.inputs().q.rows; ++i) {
                scores.push_back(run.masked_row(0, head, i)[static_cast<std::size_t>(key)]);
                names.push_back(query_name_at(told.subject, i));
            }
            break;
        case Implementation::Axis::heads:
            for (Index h = 0; h < run.inputs().q.heads; ++h) {
                scores.push_back(run.masked_row(0, h, query)[static_cast<std::size_t>(key)]);
                names.push_back("head " + std::to_string(h));
            }
            break;
    }
    return scores;
}

void add_weight(Explained& out, const Told& told, Index query, Index key, double weight) {
    const Implementation& how = told.how();
    const Index head = told.model.rows.head;
    if (how.averages_heads && !how.reports_own) {
        Implementation alone = how;
        alone.averages_heads = false;
        ImplementationRun each(*told.model.rows.given, alone);
        out.formula = "mean of the heads’ weights";
        out.operands_title = "Weights of the heads";
        const Index heads = each.inputs().q.heads;
        for (Index h = 0; h < heads; ++h)
            out.summand("head " + std::to_string(h),
                        each.weights_row(0, h, query)[static_cast<std::size_t>(key)]);
        out.step("mean", out.sum("weights") / static_cast<double>(heads));
        return;
    }
    std::vector<std::string> names;
    const std::vector<double> scores = shared_scores(told, query, key, names);
    const double own = told.run.masked_row(0, head, query)[static_cast<std::size_t>(key)];
    double most = scores.empty() ? -HUGE_VAL : std::ranges::max(scores);
    const bool after =
        how.masking == Implementation::Masking::after_softmax && !told.run.allows(0, head, query, key);
    const bool dropped = how.axis == Implementation::Axis::keys && key >= std::ssize(scores);
    out.formula = "exp(score − largest) / Σ exp(score − largest)";
    if (most == -HUGE_VAL || after || dropped) {
        out.note = after ? "The mask comes after the softmax: the weight is set to 0."
                   : dropped
                       ? "The key is behind the last whole tile."
                       : "No key is left, so there is no softmax; the weight is what the program puts there.";
        out.step("weight", weight);
        return;
    }
    const std::size_t left = how.remainder == Implementation::Remainder::zeros && how.tile > 0
                                 ? scores.size() % static_cast<std::size_t>(how.tile)
                                 : 0;
    const std::size_t zeros = left > 0 ? static_cast<std::size_t>(how.tile) - left : 0;
    if (zeros > 0) most = std::max(most, 0.0);
    const double unit = how.exponential_base == 0 ? 1 : std::log(how.exponential_base);
    out.operands_title = "exp(score − largest)";
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (scores[i] != -HUGE_VAL) out.summand(names[i], std::exp((scores[i] - most) * unit));
    for (std::size_t i = 0; i < zeros; ++i) out.summand("a zero", std::exp(-most * unit));
    const Expression score = out.step("score", own), largest = out.step("largest", most);
    const Expression sum = out.step("sum", out.sum("exponentials"));
    const Expression above = unit == 1 ? exp(score - largest) : exp((score - largest) * unit);
    out.step("weight", own == -HUGE_VAL ? Expression(0.0) / sum : above / sum);
}

void add_output(Explained& out, const Told& told, Index query, Index component) {
    const auto [head, from] = told.run.merged_from(told.model.rows.head, query);
    Implementation as_used = told.how();  // the program may return other weights than it uses
    as_used.reports_own = false;
    ImplementationRun used(*told.model.rows.given, as_used, {}, told.run.shared_inputs());
    const std::vector<double> weights = used.weights_row(0, head, from);
    out.formula = "Σ_j w[j] v[j]";
    out.operands_title = "Weights · values";
    const bool own = head == told.model.rows.head && told.model.rows.queries.holds(from);
    for (std::size_t j = 0; j < weights.size(); ++j) {
        if (weights[j] == 0) continue;
        const auto key = static_cast<Index>(j);
        const double value =
            told.run.inputs().v.row(0, told.run.kv_head(head), key)[static_cast<std::size_t>(component)];
        out.term(key_name(told.subject, key), weights[j], value,
                 own ? std::optional(told.place(cells::weight(told.side, from, key))) : std::nullopt);
    }
    out.step("output", out.dot("weights", "v"));
    if (head != told.model.rows.head || from != query)
        out.note = "These columns hold the output of head " + std::to_string(head) + " for " +
                   query_name_at(told.subject, from) + ".";
}

void add_gradient(Explained& out, const MistakenHead& head, Index component) {
    const auto [forward, back] = head.sums(component);
    out.formula = "(L(q + step) − L(q − step)) / (2 · step), L = Σ_b r[b] O[b]";
    const Expression above = out.step("L at q + step", forward), below = out.step("L at q − step", back);
    out.step("gradient", (above - below) / (2 * MistakenHead::gradient_step));
}

// The difference of what stands at two cells.
Explained explained_change(const Model& model, const std::string& title, double before, double after,
                           const CellRef& right, const CellRef& mistaken) {
    Explained out = begun(model, Side::change, title);
    out.formula = "with the mistake − right";
    const Expression then = out.step("with the mistake", after, CellPlace{model.head, mistaken});
    out.step("difference", then - out.step("right", before, CellPlace{model.head, right}));
    return out;
}

template <class At, class Add, class Cell>
std::optional<Explained> explain_side(const Model& model, Subject& subject, Side side,
                                      const std::string& title, At at, Add add, Cell cell) {
    if (!model.right() || (side != Side::right && !model.mistaken())) return std::nullopt;
    Explained out;
    if (side == Side::change) {
        out = explained_change(model, title, at(*model.right()), at(*model.mistaken()), cell(Side::right),
                               cell(Side::mistaken));
    } else {
        out = begun(model, side, title);
        add(out, Told{model, subject, side, model.of(side)->run()});
    }
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> explain_score(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[1], key = cell.at[2];
    if (!model.rows.queries.holds(query) || key >= model.rows.given->keys()) return std::nullopt;
    return explain_side(
        model, subject, static_cast<Side>(cell.at[0]),
        "score of " + query_name_at(subject, query) + " × " + key_name(subject, key),
        [&](const MistakenHead& head) { return head.scores(query)[static_cast<std::size_t>(key)]; },
        [&](Explained& out, const Told& told) { add_score(out, told, query, key); },
        [&](Side side) { return cells::score(side, query, key); });
}
std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[1], key = cell.at[2];
    if (!model.rows.queries.holds(query) || key >= model.rows.given->keys()) return std::nullopt;
    const auto at = [&](const MistakenHead& head) {
        return head.weights(query)[static_cast<std::size_t>(key)];
    };
    return explain_side(
        model, subject, static_cast<Side>(cell.at[0]),
        "weight of " + query_name_at(subject, query) + " × " + key_name(subject, key), at,
        [&](Explained& out, const Told& told) {
            add_weight(out, told, query, key, at(*model.of(told.side)));
        },
        [&](Side side) { return cells::weight(side, query, key); });
}
std::optional<Explained> explain_output(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[1], component = cell.at[2];
    if (!model.rows.queries.holds(query) || component >= model.rows.given->d_v()) return std::nullopt;
    return explain_side(
        model, subject, static_cast<Side>(cell.at[0]),
        "output of " + query_name_at(subject, query) + ", component " + std::to_string(component),
        [&](const MistakenHead& head) { return head.output(query)[static_cast<std::size_t>(component)]; },
        [&](Explained& out, const Told& told) { add_output(out, told, query, component); },
        [&](Side side) { return cells::output(side, query, component); });
}
std::optional<Explained> explain_gradient(Model& model, Subject& subject, const LensCell& cell) {
    const Index component = cell.at[1];
    if (component >= model.rows.given->d_k()) return std::nullopt;
    return explain_side(
        model, subject, static_cast<Side>(cell.at[0]),
        "gradient at " + query_name_at(subject, model.rows.query) + ", component " +
            std::to_string(component),
        [&](const MistakenHead& head) { return head.gradient()[static_cast<std::size_t>(component)]; },
        [&](Explained& out, const Told& told) { add_gradient(out, *model.of(told.side), component); },
        [&](Side side) { return cells::gradient(side, component); });
}

std::optional<Explained> explain_effect(Model& model, Subject& subject, const LensCell& cell) {
    const Index mistake = cell.at[0];
    const auto measure = static_cast<Measure>(cell.at[1]);
    const MistakeEffect* effect = model.at(mistake).variants.empty() ? nullptr : model.effect(mistake);
    if (!effect || !model.right() || (measure == Measure::gradient && std::isnan(effect->gradient)))
        return std::nullopt;
    Explained out{.title = name_of(model, mistake), .provenance = "f64"};
    if (measure == Measure::gradient) {
        out.title += ": change of the gradient at " + query_name_at(subject, model.rows.query);
        out.formula = "‖g′ − g‖ / ‖g‖";
        out.operands_title = "g′ with the mistake, g right, by component";
        out.sign = "−";
        Column change{"change", {}}, right{"g", model.right()->gradient()};
        for (std::size_t a = 0; a < right.values.size(); ++a) {
            const double after = effect->gradient_after[a], before = right.values[a];
            out.operands.push_back({std::to_string(a), after, before, after - before});
            change.values.push_back(after - before);
        }
        const Expression above = out.step("length of the change", norm(change)),
                         below = out.step("length of g", norm(right));
        out.step("relative change", above / below);
        out.note = "By central differences with a step of 10⁻⁵.";
    } else {
        const Of what = measure == Measure::map ? Of::weight : static_cast<Of>(measure);
        const MistakeEffect::Largest& at = effect->of(what);
        constexpr std::array<const char*, 3> names{"score", "weight", "output"};
        out.title += std::string(": largest change of ") + (what == Of::output ? "the output" : "a ") +
                     (what == Of::output ? "" : names[static_cast<std::size_t>(what)]) + ", for " +
                     query_name_at(subject, at.query);
        out.formula = measure == Measure::map ? "255 · |after − before|" : "|after − before|";
        const bool chosen = mistake == model.state.mistake;
        const auto place = [&](Side side) -> std::optional<CellPlace> {
            if (!chosen && side == Side::mistaken) return std::nullopt;
            const CellKind& kind = what == Of::score    ? cells::score
                                   : what == Of::weight ? cells::weight
                                                        : cells::output;
            return CellPlace{model.head, kind(side, at.query, at.column)};
        };
        const Expression after = out.step("with the mistake", at.after, place(Side::mistaken)),
                         before = out.step("right", at.before, place(Side::right));
        const Expression change = out.step("change", max(after - before, before - after));
        if (measure == Measure::map) out.step("colour steps", change * colour_steps);
        if (std::isinf(at.change)) out.note = "One of the two is not a finite number.";
    }
    out.f32 = single(out.f64);
    return out;
}

constexpr std::array<ModelNumber<Model>, 7> declared{{
    {&cells::effect, explain_effect},
    {&cells::score, explain_score},
    {&cells::weight, explain_weight},
    {&cells::output, explain_output},
    {&cells::gradient, explain_gradient},
    {&cells::loss, explain_loss},
    {&cells::learned, explain_learned},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!refused.empty()) return std::nullopt;
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::pitfalls
