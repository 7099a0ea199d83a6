#include "lenses/scale/scale.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app::scale {

namespace {

constexpr std::array<std::string_view, 2> vector_keys{"normal", "head"};

constexpr std::array hundred_scores{100.0, 1.0, 1.0, 1.0}, two_scores{2.0, 0.5, 0.5, 0.5};
constexpr std::array ninety_scores{90.0, 10.0};
constexpr std::array<std::string_view, 4> hundred_weights{"1.0", "0.0", "0.0", "0.0"},
    two_weights{"0.5", "0.17", "0.17", "0.17"};
constexpr std::array<std::string_view, 2> ninety_weights{"0.95", "0.05"};
constexpr std::string_view heart = "Attention: The Heart of Transformers",
                           search = "L03 - Self-Attention: The Search Engine of Language";
constexpr std::array printed_rows{
    PrintedRow{"100", "100, 1, 1, 1", heart, hundred_scores, hundred_weights},
    PrintedRow{"2", "2, 0.5, 0.5, 0.5", heart, two_scores, two_weights},
    PrintedRow{"90", "90, 10", search, ninety_scores, ninety_weights},
};
constexpr std::array<std::string_view, 4> row_keys{"seeded", printed_rows[0].key, printed_rows[1].key,
                                                   printed_rows[2].key};

State seeded(State now, Index components) {
    now.vectors = Vectors::normal;
    now.components = components;
    now.row = Row::seeded;
    return now;
}
State printed(State now, Row row) {
    now.vectors = Vectors::normal;
    now.row = row;
    return now;
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"scale.d",
         [](const S& s) {
             return s.vectors == Vectors::head
                        ? "vectors of this head"
                        : "d_k " + std::to_string(s.components) + ", seed " + std::to_string(s.seed);
         },
         whole<&S::components>("number of components", 1, components_limit), named<&S::vectors>(vector_keys),
         whole<&S::seed>("seed", 0, seed_limit)},
        {"scale.row",
         [](const S& s) {
             const PrintedRow* row = printed_row(s.row);
             return row ? "scores " + std::string(row->scores_text) : many(s.keys, "key");
         },
         named<&S::row>(row_keys), whole<&S::keys>("number of keys", least_keys, most_keys)},
        {"scale.own", "own scale {}", real<&S::own>("scale of your own", least_own, most_own)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 3>()}; }

const PrintedRow* printed_row(Row row) {
    return row == Row::seeded ? nullptr : &printed_rows[static_cast<std::size_t>(row) - 1];
}

std::span<const Preset> presets() {
    static constexpr std::array all{
        Preset{"d_k = 1", [](State now) { return seeded(now, 1); }},
        Preset{"d_k = 64", [](State now) { return seeded(now, 64); }},
        Preset{"d_k = 512", [](State now) { return seeded(now, 512); }},
        Preset{"100, 1, 1, 1", [](State now) { return printed(now, Row::hundred); }},
        Preset{"2, 0.5, 0.5, 0.5", [](State now) { return printed(now, Row::two); }},
        Preset{"90, 10", [](State now) { return printed(now, Row::ninety); }},
    };
    return all;
}

// ---- The model --------------------------------------------------------------------------------------------

namespace {

std::optional<std::string> why_no_vectors(Subject& subject) {
    const Attention& attention = *subject.attention();
    const std::vector<Stage> stages = attention.stages();
    if (std::ranges::find(stages, Stage::raw) != stages.end()) return std::nullopt;
    return attention.record(subject.chosen().layer)
               ? "No head’s q and k can be shown here, because its scores are given."
               : "No head’s q and k can be shown here, because its weights are given.";
}

RuledRows ruled_rows(const Model::RulesOf& of) {
    if (const auto& record = of.row.record) {
        const double own = record->scale();
        return {{record, of.row.head.head, of.row.query},
                {"as it is", "left out", "doubled", rule_names.back()},
                {own, 1, 2 * own}};
    }
    const PrintedRow* printed = printed_row(of.kind);
    const std::string d = std::to_string(of.components);
    RuledRows made{printed ? row_of_scores(printed->scores) : seeded_row(of.seed, of.keys, of.components),
                   {rule_names[0], "1/√" + d, "1/" + d, rule_names[3]},
                   {}};
    for (std::size_t rule = 0; rule < scale_rules; ++rule)
        made.scales[rule] = scale_of(rule, of.components, 0);
    return made;
}

}  // namespace

void Model::update(Visit& visit, Subject& subject) {
    const auto begun = [](auto job) {
        job.step();
        return job;
    };
    state = visit.state().of<State>();
    without_vectors = why_no_vectors(subject);
    row = state.vectors == Vectors::head && !without_vectors ? chosen_row(subject) : ChosenRow();
    if (!row.record || row.record->queries() == 0 || row.record->keys() == 0) row = {};
    const HeadOf head{row.record, row.head};
    products.of({head, state.components, state.seed}, [&] {
        return begun(row.record ? DotProducts(HeadPairs(row.record, row.head.head), state.components)
                                : DotProducts(state.components, sampled_pairs, state.seed));
    });
    if (row.record)
        variances.of(head, [&] { return begun(ComponentVariances(HeadPairs(row.record, row.head.head))); });
    else
        variances.forget();
    curves.of({state.keys, state.seed}, [&] { return ScaleCurves(state.seed, state.keys, state.own); })
        .use(state.own);
    RulesOf rules_of{row};
    if (!row.record) {
        rules_of.kind = state.row;
        rules_of.components = state.components;
        if (state.row == Row::seeded) rules_of.keys = state.keys, rules_of.seed = state.seed;
    }
    RuledRows& under = rules.of(rules_of, [&] { return ruled_rows(rules_of); });
    under.use(state.own);
    under.make_quick_ones();
}

const ProductHistogram& Model::histogram() {
    const DotProducts& counted = *products.kept();
    const HeadOf head{row.record, row.head};
    return histogram_.of({{head, state.components, state.seed}, std::ssize(counted.values())},
                         [&] { return ProductHistogram(counted); });
}

std::string Model::headline(Subject&) {
    const DotProducts& shown = *products.kept();
    const double spread = std::sqrt(moments_of(std::span(shown.values())).variance);
    const std::string d = std::to_string(shown.components());
    const std::string whose = row.record ? "this head’s q · k" : "q · k of seeded vectors";
    return "Divided by √" + d + ", " + whose + " spreads by ± " +
           fixed(spread / std::sqrt(static_cast<double>(shown.components())), 2) + " instead of ± " +
           fixed(spread, 2) + ".\nThe spread is the standard deviation of sums over " +
           many(shown.components(), "component") + ".";
}

Guide Model::guide(Subject&) {
    return {"Why √d_k",
            "A score is a sum of d_k products. If the components of q and k are independent, with mean 0 and "
            "variance 1, each product has variance 1 and their sum has variance d_k (Vaswani et al. 2017, "
            "arXiv 1706.03762, section 3.2.1).\n\n"
            "Large scores make softmax put everything on one key, where its gradient is almost 0. Dividing "
            "by √d_k brings the variance back to 1, whatever d_k is. Dividing by d_k makes all weights alike "
            "instead.\n\n"
            "Hover over a bar or a curve to see where its number comes from; click to keep it."};
}

}  // namespace attn::app::scale
