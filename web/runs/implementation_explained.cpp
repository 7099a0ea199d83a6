#include "runs/implementation_explained.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {

namespace {

// The scores that a weight's exponential is divided among: over keys, or over what a mistake took instead.
std::vector<double> shared_scores(const ExplainedRun& of, Index query, Index key,
                                  std::vector<std::string>& names) {
    ImplementationRun& run = of.run;
    const Index head = of.head;
    const Implementation& how = run.implementation();
    std::vector<double> scores;
    switch (how.axis) {
        case Implementation::Axis::keys:
            scores = run.masked_row(of.batch, head, query);
            if (how.remainder == Implementation::Remainder::dropped)
                scores.resize(scores.size() - scores.size() % static_cast<std::size_t>(how.tile));
            for (std::size_t j = 0; j < scores.size(); ++j)
                names.push_back(of.key_name(static_cast<Index>(j)));
            break;
        case Implementation::Axis::queries:
            for (Index i = 0; i < run.inputs().q.rows; ++i) {
                scores.push_back(run.masked_row(of.batch, head, i)[static_cast<std::size_t>(key)]);
                names.push_back(of.query_name(i));
            }
            break;
        case Implementation::Axis::heads:
            for (Index h = 0; h < run.inputs().q.heads; ++h) {
                scores.push_back(run.masked_row(of.batch, h, query)[static_cast<std::size_t>(key)]);
                names.push_back("head " + std::to_string(h));
            }
            break;
    }
    return scores;
}

}  // namespace

void explain_score(Explained& out, const ExplainedRun& of, Index query, Index key) {
    const Index head = of.head;
    const auto q = of.run.inputs().q.row(of.batch, head, query);
    const std::vector<double> k = of.run.key_column(of.batch, head, key);
    const Implementation& how = of.run.implementation();
    out.formula = "scale · Σ_a q[a] k[a]";
    out.operands_title = "q · k, by component";
    for (std::size_t a = 0; a < k.size(); ++a) out.term(std::to_string(a), q[a], k[a]);
    const Expression raw = out.step("raw", out.dot("q", "k"));
    Expression score = out.step("scaled", raw * how.scale);
    const auto cap = [&] { score = out.step("capped", how.softcap * tanh(score / how.softcap)); };
    const bool caps = how.softcap != 0 && !how.cap_after_mask;
    if (caps && !how.cap_after_bias) cap();
    if (const Array4& bias = of.given.bias; how.adds_bias && !bias.empty())
        score = out.step("with bias", score + bias.broadcast(of.batch, head, query, key));
    if (caps && how.cap_after_bias) cap();
}

void explain_mean_weight(Explained& out, ImplementationRun& run, Index batch, Index query, Index key) {
    out.formula = "mean of the heads’ weights";
    out.operands_title = "Weights of the heads";
    const Index heads = run.inputs().q.heads;
    for (Index h = 0; h < heads; ++h)
        out.summand("head " + std::to_string(h),
                    run.weights_row(batch, h, query)[static_cast<std::size_t>(key)]);
    out.step("mean", out.sum("weights") / static_cast<double>(heads));
}

void explain_weight(Explained& out, const ExplainedRun& of, Index query, Index key) {
    const Implementation& how = of.run.implementation();
    const Index head = of.head;
    if (how.reports_mean || (how.averages_heads && !how.reports_own)) {
        Implementation alone = how;
        alone.averages_heads = alone.reports_mean = false;
        ImplementationRun each(of.given, alone);
        explain_mean_weight(out, each, of.batch, query, key);
        return;
    }
    std::vector<std::string> names;
    const std::vector<double> scores = shared_scores(of, query, key, names);
    const double own = of.run.masked_row(of.batch, head, query)[static_cast<std::size_t>(key)];
    double most = scores.empty() ? -HUGE_VAL : std::ranges::max(scores);
    const bool after =
        how.masking == Implementation::Masking::after_softmax && !of.run.allows(of.batch, head, query, key);
    const bool dropped = how.axis == Implementation::Axis::keys && key >= std::ssize(scores);
    out.formula = "exp(score − largest) / Σ exp(score − largest)";
    if (most == -HUGE_VAL || after || dropped) {
        out.note = after ? "The mask comes after the softmax: the weight is set to 0."
                   : dropped
                       ? "The key is behind the last whole tile."
                       : "No key is left, so there is no softmax; the weight is what the program puts there.";
        out.step("weight", of.run.weights_row(of.batch, head, query)[static_cast<std::size_t>(key)]);
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

void explain_output(Explained& out, const ExplainedRun& of, Index query, Index component) {
    const auto [head, from] = of.run.merged_from(of.head, query);
    Implementation as_used = of.run.implementation();  // the program may return other weights than it uses
    as_used.reports_own = false;
    ImplementationRun used(of.given, as_used, {}, of.run.shared_inputs());
    const std::vector<double> weights = used.weights_row(of.batch, head, from);
    out.formula = "Σ_j w[j] v[j]";
    out.operands_title = "Weights · values";
    const bool own = head == of.head && of.weight_place;
    for (std::size_t j = 0; j < weights.size(); ++j) {
        if (weights[j] == 0) continue;
        const auto key = static_cast<Index>(j);
        const double value =
            of.run.inputs().v.row(of.batch, of.run.kv_head(head), key)[static_cast<std::size_t>(component)];
        out.term(of.key_name(key), weights[j], value, own ? of.weight_place(from, key) : std::nullopt);
    }
    out.step("output", out.dot("weights", "v"));
    if (head != of.head || from != query)
        out.note = "These columns hold the output of head " + std::to_string(head) + " for " +
                   of.query_name(from) + ".";
}

}  // namespace attn::app
