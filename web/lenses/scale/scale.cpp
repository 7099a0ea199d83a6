#include "lenses/scale/scale.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/theory/dot_products.hpp"
#include "app/format.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

ScaleHistogram::ScaleHistogram(const DotProducts& products, bool of_head) {
    constexpr double reach_in_spreads = 4;
    const Index d = products.components();
    auto variance = static_cast<double>(d);
    // The variance for normal vectors is known in advance.
    if (of_head) variance = std::max(variance, moments_of(std::span(products.values())).variance);
    reach = reach_in_spreads * std::sqrt(variance);
    counts = bins_of(products.values(), reach, bins);
    pairs = std::ssize(products.values());
    const auto all = static_cast<double>(pairs);
    // The probability up to an edge, by symmetry. The outermost bins include the tails.
    const auto up_to = [&](Index edge_of, auto&& within) {
        if (edge_of == 0 || edge_of == bins) return edge_of == 0 ? 0.0 : 1.0;
        const double at = edge(edge_of);
        return 0.5 + std::copysign(within(std::abs(at)), at) / 2;
    };
    const auto fill = [&](std::vector<double>& out, auto&& within) {
        for (Index bin = 0; bin < bins; ++bin)
            out.push_back(all * (up_to(bin + 1, within) - up_to(bin, within)));
    };
    fill(expected, [&](double to) { return dot_product_within(d, to); });
    fill(normal, [&](double to) { return std::erf(to / std::sqrt(2 * static_cast<double>(d))); });
}

std::optional<std::string> ScaleLens::without_vectors(Subject& subject) const {
    const Attention* attention = subject.attention();
    if (!attention) return "There is no head here yet.";
    const std::vector<Stage> stages = attention->stages();
    if (std::ranges::find(stages, Stage::raw) != stages.end()) return std::nullopt;
    return attention->record(subject.chosen().layer)
               ? "No head’s q and k can be shown here, because its scores are given."
               : "No head’s q and k can be shown here, because its weights are given.";
}

ScaleLens::Source ScaleLens::source(Subject& subject) const {
    const Attention* attention = subject.attention();
    const Selection s = subject.chosen();
    if (state().of<ScaleState>().vectors != ScaleVectors::head || !attention) return {};
    if (without_vectors(subject)) return {};
    auto record = attention->record(s.layer);
    if (!record || record->queries() == 0 || record->keys() == 0) return {};
    return {std::move(record), attention->version(), s.layer, s.head};
}

Index ScaleLens::query_of(const Source& source) const {
    if (!source.record) return 0;
    return std::min(chosen_query(subject_in(visit())), source.record->queries() - 1);
}

const DotProducts& ScaleLens::products(Subject& subject) {
    const ScaleState& now = state().of<ScaleState>();
    ProductsFrom from{source(subject), now.components, now.seed};
    if (!products_ || products_->from != from) {
        const bool of_head = from.source.record != nullptr;
        DotProducts products =
            of_head ? DotProducts(HeadPairs(from.source.record, from.source.head), now.components)
                    : DotProducts(now.components, scale_pairs, now.seed);
        products.step();
        products_.emplace(std::move(from), std::move(products));
        histogram_.reset();
    }
    return products_->what;
}

const ScaleHistogram& ScaleLens::histogram(Subject& subject) {
    const DotProducts& counted = products(subject);
    const Index values = std::ssize(counted.values());
    if (!histogram_ || histogram_->from != values)
        histogram_.emplace(values, ScaleHistogram(counted, products_->from.source.record != nullptr));
    return histogram_->what;
}

const ComponentVariances* ScaleLens::variances(Subject& subject) {
    Source from = source(subject);
    if (!from.record) return nullptr;
    if (!variances_ || variances_->from != from) {
        ComponentVariances variances(HeadPairs(from.record, from.head));
        variances.step();
        variances_.emplace(std::move(from), std::move(variances));
    }
    return &variances_->what;
}

const ScaleCurves& ScaleLens::curves() {
    const ScaleState& now = state().of<ScaleState>();
    const CurvesFrom from{now.keys, now.seed};
    if (!curves_ || curves_->from != from) curves_.emplace(from, ScaleCurves(now.seed, now.keys, now.own));
    curves_->what.use(now.own);
    return curves_->what;
}

bool ScaleLens::Row::step() {
    const std::size_t rule = rules.size();
    if (rule < scale_rules) rules.emplace_back(row, rule_names[rule], scales[rule]);
    if (rule == 0) keys = strongest_keys(rules.front(), scale_keys_shown);
    return rules.size() < scale_rules;
}

ScaleLens::Row ScaleLens::made_row(const RowFrom& from, Subject& subject) const {
    Row made;
    const PrintedRow* printed = printed_row(from.row);
    if (from.source.record) {
        made.row = {from.source.record, from.source.head, from.query};
        made.names = subject.attention()->key_names();
        const double own = from.source.record->scale();
        made.rule_names = {"as it is", "left out", "doubled", scale_rule_names.back()};
        made.scales = {own, 1, 2 * own};
    } else {
        made.row =
            printed ? row_of_scores(printed->scores) : seeded_row(from.seed, from.keys, from.components);
        for (Index key = 0; key < made.row.record->keys(); ++key)
            made.names.push_back("key " + std::to_string(key));
        const std::string d = std::to_string(from.components);
        made.rule_names = {scale_rule_names[0], "1/√" + d, "1/" + d, scale_rule_names[3]};
        for (std::size_t rule = 0; rule < scale_rules; ++rule)
            made.scales[rule] = scale_of(rule, from.components, 0);
    }
    return made;
}

const ScaleLens::Row& ScaleLens::row(Subject& subject) {
    constexpr Index at_once = Index{1} << 17;  // multiply-adds for the scores of a row under one rule
    const ScaleState& now = state().of<ScaleState>();
    RowFrom from{source(subject)};
    if (from.source.record) {
        from.query = query_of(from.source);
    } else {
        from.row = now.row;
        from.components = now.components;
        if (now.row == ScaleRow::seeded) from.keys = now.keys, from.seed = now.seed;
    }
    if (!row_ || row_->from != from) {
        Row made = made_row(from, subject);
        row_.emplace(std::move(from), std::move(made));
    }
    Row& row = row_->what;
    if (row.scales.back() != now.own) {
        row.scales.back() = now.own;
        if (row.rules.size() == scale_rules) row.rules.pop_back();
    }
    const Record& record = *row.row.record;
    if (row.rules.empty() || record.keys() * record.d_k() <= at_once)
        while (row.step() && record.keys() * record.d_k() <= at_once) continue;
    return row;
}

const std::vector<RuledRow>& ScaleLens::rules(Subject& subject) { return row(subject).rules; }

std::string ScaleLens::spoken(Subject& subject) {
    const DotProducts& shown = products(subject);
    const double spread = std::sqrt(moments_of(std::span(shown.values())).variance);
    const std::string d = std::to_string(shown.components());
    const std::string whose = products_->from.source.record ? "this head’s q · k" : "q · k of seeded vectors";
    return "Divided by √" + d + ", " + whose + " spreads by ± " +
           fixed(spread / std::sqrt(static_cast<double>(shown.components())), 2) + " instead of ± " +
           fixed(spread, 2) + ".\nThe spread is the standard deviation of sums over " +
           many(shown.components(), "component") + ".";
}

Guide ScaleLens::guide(Subject&) const {
    return {"Why √d_k",
            "A score is a sum of d_k products. If the components of q and k are independent, with mean 0 and "
            "variance 1, each product has variance 1 and their sum has variance d_k (Vaswani et al. 2017, "
            "arXiv 1706.03762, section 3.2.1).\n\n"
            "Large scores make softmax put everything on one key, where its gradient is almost 0. Dividing "
            "by √d_k brings the variance back to 1, whatever d_k is. Dividing by d_k makes all weights alike "
            "instead.\n\n"
            "Hover over a bar or a curve to see where its number comes from; click to keep it."};
}

}  // namespace attn::app
