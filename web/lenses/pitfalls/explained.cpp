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

Explained begun(const Model& model, Side side, const std::string& title) {
    return {.title = capitalised(side_names[static_cast<std::size_t>(side)]) + ": " + title,
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
            .query_name = [&subject](Index query) { return query_in_words(*subject.attention(), query); },
            .key_name = [&subject](Index key) { return key_in_words(*subject.attention(), key); },
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

// What is computed of a query, as MistakeEffect counts it.
struct Quantity {
    const CellKind* kind;
    const char* name;
    const std::vector<double>& (MistakenHead::*of)(Index query) const;
    void (*explain)(Explained& out, const ExplainedRun& of, Index query, Index column);
};
constexpr std::array quantities{
    Quantity{&cells::score, "score", &MistakenHead::scores, app::explain_score},
    Quantity{&cells::weight, "weight", &MistakenHead::weights, app::explain_weight},
    Quantity{&cells::output, "output", &MistakenHead::output, app::explain_output},
};
constexpr const Quantity& quantity(Of what) { return quantities[static_cast<std::size_t>(what)]; }

template <Of what>
std::optional<Explained> explain_quantity(Model& model, Subject& subject, const LensCell& cell) {
    constexpr bool is_output = what == Of::output;
    const Index query = cell.at[1], column = cell.at[2];
    const AttentionCase& given = *model.rows.given;
    if (!model.rows.queries.holds(query) || column >= (is_output ? given.d_v() : given.keys()))
        return std::nullopt;
    return explain_side(
        model, static_cast<Side>(cell.at[0]),
        std::string(quantity(what).name) + " of " + query_in_words(*subject.attention(), query) +
            (is_output ? ", component " + std::to_string(column)
                       : " × " + key_in_words(*subject.attention(), column)),
        [&](const MistakenHead& head) {
            return (head.*quantity(what).of)(query)[static_cast<std::size_t>(column)];
        },
        [&](Explained& out, Side side) {
            quantity(what).explain(out, run_of(model, subject, side), query, column);
        },
        [&](Side side) { return (*quantity(what).kind)(side, query, column); });
}

std::optional<Explained> explain_gradient(Model& model, Subject& subject, const LensCell& cell) {
    const Index component = cell.at[1];
    if (component >= model.rows.given->d_k()) return std::nullopt;
    return explain_side(
        model, static_cast<Side>(cell.at[0]),
        "gradient at " + query_in_words(*subject.attention(), model.rows.query) + ", component " +
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
        out.title += ": change of the gradient at " + query_in_words(*subject.attention(), model.rows.query);
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
        out.title += std::string(": largest change of ") + (what == Of::output ? "the " : "a ") +
                     quantity(what).name + ", for " + query_in_words(*subject.attention(), at.query);
        out.formula = measure == Measure::map ? "255 · |after − before|" : "|after − before|";
        const bool chosen = mistake == model.state.mistake;
        const auto place = [&](Side side) -> std::optional<CellPlace> {
            if (!chosen && side == Side::mistaken) return std::nullopt;
            return CellPlace{model.head, (*quantity(what).kind)(side, at.query, at.column)};
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
    {&cells::score, explain_quantity<Of::score>},
    {&cells::weight, explain_quantity<Of::weight>},
    {&cells::output, explain_quantity<Of::output>},
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
