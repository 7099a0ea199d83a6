// Explains the numbers of lens Pitfalls.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/pitfalls/pitfalls.hpp"
#include "runs/implementation_explained.hpp"
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

Explained begun(const Model& model, Side side, const std::string& title) {
    return {.title = std::string(side_titles[static_cast<std::size_t>(side)]) + ": " + title,
            .provenance = side == Side::right ? "f64" : "f64, " + name_of(model, model.state.mistake)};
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

ExplainedRun run_of(const Model& model, Subject& subject, Side side) {
    return {.run = model.of(side)->run(),
            .given = *model.rows.given,
            .head = model.rows.head,
            .query_name = [&subject](Index query) { return query_name_at(subject, query); },
            .key_name = [&subject](Index key) { return key_name(subject, key); },
            .weight_place = [&model, side](Index query, Index key) -> std::optional<CellPlace> {
                if (!model.rows.queries.holds(query)) return std::nullopt;
                return CellPlace{model.head, cells::weight(side, query, key)};
            }};
}

template <class At, class Add, class Cell>
std::optional<Explained> explain_side(const Model& model, Side side, const std::string& title, At at, Add add,
                                      Cell cell) {
    if (!model.right() || (side != Side::right && !model.mistaken())) return std::nullopt;
    Explained out;
    if (side == Side::change) {
        out = explained_change(model, title, at(*model.right()), at(*model.mistaken()), cell(Side::right),
                               cell(Side::mistaken));
    } else {
        out = begun(model, side, title);
        add(out, side);
    }
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> explain_score(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[1], key = cell.at[2];
    if (!model.rows.queries.holds(query) || key >= model.rows.given->keys()) return std::nullopt;
    return explain_side(
        model, static_cast<Side>(cell.at[0]),
        "score of " + query_name_at(subject, query) + " × " + key_name(subject, key),
        [&](const MistakenHead& head) { return head.scores(query)[static_cast<std::size_t>(key)]; },
        [&](Explained& out, Side side) { app::explain_score(out, run_of(model, subject, side), query, key); },
        [&](Side side) { return cells::score(side, query, key); });
}
std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[1], key = cell.at[2];
    if (!model.rows.queries.holds(query) || key >= model.rows.given->keys()) return std::nullopt;
    return explain_side(
        model, static_cast<Side>(cell.at[0]),
        "weight of " + query_name_at(subject, query) + " × " + key_name(subject, key),
        [&](const MistakenHead& head) { return head.weights(query)[static_cast<std::size_t>(key)]; },
        [&](Explained& out, Side side) {
            app::explain_weight(out, run_of(model, subject, side), query, key);
        },
        [&](Side side) { return cells::weight(side, query, key); });
}
std::optional<Explained> explain_output(Model& model, Subject& subject, const LensCell& cell) {
    const Index query = cell.at[1], component = cell.at[2];
    if (!model.rows.queries.holds(query) || component >= model.rows.given->d_v()) return std::nullopt;
    return explain_side(
        model, static_cast<Side>(cell.at[0]),
        "output of " + query_name_at(subject, query) + ", component " + std::to_string(component),
        [&](const MistakenHead& head) { return head.output(query)[static_cast<std::size_t>(component)]; },
        [&](Explained& out, Side side) {
            app::explain_output(out, run_of(model, subject, side), query, component);
        },
        [&](Side side) { return cells::output(side, query, component); });
}
std::optional<Explained> explain_gradient(Model& model, Subject& subject, const LensCell& cell) {
    const Index component = cell.at[1];
    if (component >= model.rows.given->d_k()) return std::nullopt;
    return explain_side(
        model, static_cast<Side>(cell.at[0]),
        "gradient at " + query_name_at(subject, model.rows.query) + ", component " +
            std::to_string(component),
        [&](const MistakenHead& head) { return head.gradient()[static_cast<std::size_t>(component)]; },
        [&](Explained& out, Side side) { add_gradient(out, *model.of(side), component); },
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
