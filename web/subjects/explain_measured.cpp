#include "subjects/explain_measured.hpp"

#include <cmath>

#include "app/format.hpp"
#include "runs/merged_heads.hpp"

namespace attn::app {

namespace {

// With more multiplications, the page would stall.
constexpr double most_multiplications = 2e8;
constexpr Index most_rows = 512;

using Tokens = std::span<const std::int32_t>;

// Returns how much of a weight counts; nothing for a score that is not a sum over weights.
std::optional<double> share(HeadScore score, Tokens ids, Index query, Index key) {
    const auto id = [&](Index i) { return ids[static_cast<std::size_t>(i)]; };
    if (score == HeadScore::first_token) return key == 0;
    if (score == HeadScore::previous_token) return key == query - 1;
    if (score == HeadScore::current_token) return key == query;
    if (score == HeadScore::distance) return static_cast<double>(std::abs(query - key));
    if (std::ssize(ids) <= query) return std::nullopt;
    if (score == HeadScore::duplicate_token) return key < query && id(key) == id(query);
    if (score == HeadScore::induction) return key >= 1 && key <= query && id(key - 1) == id(query);
    return std::nullopt;
}

bool is_of_entropy(HeadScore score) { return score == HeadScore::entropy || score == HeadScore::spread; }

bool may_sum(HeadScore score, Tokens ids) {
    return is_of_entropy(score) || share(score, ids, 0, 0).has_value();
}

struct Row {
    double counted = 0, sum = 0;
    Index most = 0;     // the key that counts most
    Index allowed = 0;  // number of allowed keys
};

struct Weight {
    bool allowed;
    double weight;
};

// `weight_at(key)` returns a Weight.
Row row_of(auto&& weight_at, Index query, Index keys, HeadScore score, Tokens ids) {
    Row row;
    double most = -1;
    for (Index key = 0; key < keys; ++key) {
        const Weight cell = weight_at(key);
        row.allowed += cell.allowed;
        row.sum += cell.weight;
        const double counts = is_of_entropy(score)
                                  ? (cell.weight > 0 ? -cell.weight * std::log(cell.weight) : 0)
                                  : cell.weight * share(score, ids, query, key).value_or(0);
        row.counted += counts;
        if (counts > most) {
            most = counts;
            row.most = key;
        }
    }
    if (score == HeadScore::spread)
        row.counted = row.allowed > 1 ? row.counted / std::log(static_cast<double>(row.allowed)) : 0;
    return row;
}

// Adds the quotient of what is counted in all rows, which are the operands.
void tell_score(Explained& out, HeadScore score, double total, double divisor) {
    for (auto& operand : out.operands) {
        operand.right = 1 / divisor;
        operand.product = operand.left / divisor;
    }
    out.operands_title = score == HeadScore::entropy ? "Entropy of each row · 1/" + fixed(divisor, 0)
                         : score == HeadScore::spread
                             ? "Entropy of each row / ln(its keys) · 1/" + fixed(divisor, 0)
                             : "What counts in each row · 1/Σ A";
    out.f64 = total / divisor;
    out.steps.push_back({"what counts", "", four(total), false});
    out.steps.push_back({is_of_entropy(score) ? "rows" : "Σ A", "", four(divisor), false});
    out.steps.push_back({info(score).name, four(total) + " / " + four(divisor), four(out.f64), true});
    out.left_name = "counted";
    out.line("score", out.sum() / divisor);
}

const char* formula_of(HeadScore score) {
    switch (score) {
        case HeadScore::entropy: return "1/n · Σ_i (−Σ_j A[i, j] ln A[i, j])";
        case HeadScore::spread: return "1/n · Σ_i (−Σ_j A[i, j] ln A[i, j]) / ln(keys of i)";
        default: return "Σ A[i, j] · what counts / Σ A[i, j]";
    }
}

}  // namespace

RunCell head_score_cell(const HeadOverview& heads, HeadIndex head, HeadScore score) {
    return {.stage = Stage::head_score, .row = heads.number(head), .col = static_cast<Index>(score)};
}

namespace {

// Explains a score over larger units, or of a mean over heads, from the weights that the map shows.
Explained explain_merged(Attention& attention, HeadIndex head, const RunCell& cell, const MapChoice& choice,
                         double f32) {
    const auto score = static_cast<HeadScore>(cell.col);
    const bool of_mean = cell.mean != HeadMean::one;
    const HeadMeanAt mean = of_mean ? mean_at(attention, head.layer) : HeadMeanAt{HeadMean::one, head.layer};
    Attention& part = attention.of(mean.layer);
    MapChoice shown = choice;
    shown.mean = mean.mean;
    const MapPointer map = part.shown_maps(shown)(mean.layer, head.head);
    const ShownAxis queries = part.query_axis(shown);
    const std::string unit(unit_key(part.unit_of(shown)));
    std::vector<std::int32_t> ids(part.ids().begin(), part.ids().end());
    if (queries.units) ids = unit_ids(*queries.units, part.query_text().pieces());
    Explained out;
    out.title = std::string(info(score).name) + " by " + unit + ", " +
                (of_mean ? mean_text(part, mean.mean, {mean.layer, 0})
                         : head_text(head, attention.numbering(), ", "));
    out.provenance =
        "measured over " + std::to_string(map->queries()) + " " + unit + " · " + attention.title();
    out.f32 = f32;
    if (score == HeadScore::entropy) out.unit = "nats";
    out.formula = formula_of(score);
    out.note = std::string(info(score).meaning) + " It is summed in double over the weights of the map.";
    if (!may_sum(score, ids) || map->queries() > most_rows) {
        out.recomputed = false;
        out.f64 = out.f32;
        return out;
    }
    double total = 0, divisor = 0;
    for (Index query = 0; query < map->queries(); ++query) {
        const std::vector<float> weights = cells_of(*map, {{query, query + 1}, {0, map->keys()}});
        const Row row = row_of(
            [&](Index key) {
                const float weight = weights[static_cast<std::size_t>(key)];
                return Weight{weight != masked_cell, weight == masked_cell ? 0 : static_cast<double>(weight)};
            },
            query, map->keys(), score, ids);
        divisor += is_of_entropy(score) ? row.allowed > (score == HeadScore::spread ? 1 : 0) : row.sum;
        total += row.counted;
        const CellPlace at{
            {mean.layer, head.head},
            RunCell{
                .stage = Stage::weight, .row = query, .col = row.most, .unit = cell.unit, .mean = mean.mean}};
        out.operands.push_back({in_quotes(label_at(queries.names, query)), row.counted, 0, 0, at});
    }
    tell_score(out, score, total, divisor);
    return out;
}

}  // namespace

std::optional<Explained> ScoreExplainer::of(Attention& attention, const RunCell& cell,
                                            std::span<const TokenSpan> spans) {
    const MapChoice choice{.unit = cell.unit, .spans = {spans.begin(), spans.end()}};
    if (cell.is_merged()) {
        MergedHeads& merged = attention.merged_heads();
        const auto heads =
            cell.mean == HeadMean::one ? merged.by_unit(attention, choice) : merged.means(attention, choice);
        if (!heads || attention.unit_of(choice) != cell.unit || cell.row < 0 ||
            cell.row >= heads->layers() * heads->heads() || cell.col < 0 ||
            cell.col >= std::ssize(head_scores))
            return std::nullopt;
        const HeadIndex head{cell.row / heads->heads(), cell.row % heads->heads()};
        const auto value = number_of(heads->scores(head), static_cast<HeadScore>(cell.col));
        if (!value) return std::nullopt;
        return merged_.of({attention.version(), cell, choice.spans, *value},
                          [&] { return explain_merged(attention, head, cell, choice, *value); });
    }
    HeadOverview* heads = attention.overview();
    if (!heads || cell.row < 0 || cell.row >= heads->layers() * heads->heads() || cell.col < 0 ||
        cell.col >= std::ssize(head_scores))
        return std::nullopt;
    const HeadIndex head{cell.row / heads->heads(), cell.row % heads->heads()};
    const auto score = static_cast<HeadScore>(cell.col);
    const auto value = number_of(heads->scores(head), score);
    auto out = value ? of(attention, head, score, *value) : std::nullopt;
    for (std::size_t i = 0; out && i < head_scores.size(); ++i) {
        const auto other = static_cast<HeadScore>(i);
        if (const auto number = number_of(heads->scores(head), other); number && other != score)
            out->steps.push_back({info(other).name, "", four(*number), false,
                                  CellPlace{head, head_score_cell(*heads, head, other)}});
    }
    return out;
}

std::optional<Explained> ScoreExplainer::of(Attention& attention, HeadIndex head, HeadScore score,
                                            double f32) {
    if (kept_ && kept_->version == attention.version() && kept_->head == head && kept_->score == score &&
        kept_->f32 == f32)
        return kept_->why;
    const auto ids = attention.ids();
    const auto record = attention.record(head.layer);
    Explained out;
    const Layers several{std::max(attention.layers(), Index{2}), attention.numbering().decoder};
    out.title =
        std::string(info(score).name) + " " + attention.measured_on() + ", " + head_text(head, several, ", ");
    out.provenance =
        "measured over " + std::to_string(attention.queries()) + " queries · " + attention.title();
    out.f32 = f32;
    if (score == HeadScore::entropy) out.unit = "nats";
    out.formula = formula_of(score);
    out.note = info(score).meaning;
    const double multiplications = record ? static_cast<double>(record->queries()) *
                                                static_cast<double>(record->keys()) *
                                                static_cast<double>(record->d_k())
                                          : 0;
    if (!record || multiplications > most_multiplications || !may_sum(score, ids)) {
        out.recomputed = false;
        out.f64 = f32;
        out.note += record ? " There are too many weights here to go through them again in double."
                           : " It is summed in double over the weights as they are stored.";
        kept_ = {attention.version(), head, score, f32, out};
        return out;
    }
    double total = 0, sum = 0, rows = 0;
    const Places places{head};
    for (Index query = 0; query < record->queries(); ++query) {
        const RowChain chain = row_chain(*record, head.head, query);
        const auto weight_at = [&](Index key) {
            const CellExplanation cell = chain.at(key);
            return Weight{cell.allowed, cell.weight};
        };
        const Row row = row_of(weight_at, query, record->keys(), score, ids);
        sum += row.sum;
        rows += row.allowed > (score == HeadScore::spread ? 1 : 0);
        total += row.counted;
        out.operands.push_back({in_quotes(label_at(attention.query_names(), query)), row.counted, 0, 0,
                                places(Stage::weight, query, row.most)});
    }
    tell_score(out, score, total, is_of_entropy(score) ? rows : sum);
    kept_ = {attention.version(), head, score, f32, out};
    return out;
}

void explain_cosine(Explained& out, std::span<const Term> terms, const PlaceOf& left, const PlaceOf& right) {
    double dot = 0, first = 0, second = 0;
    for (const Term& term : terms) {
        dot += term.product();
        first += term.left * term.left;
        second += term.right * term.right;
    }
    first = std::sqrt(first);
    second = std::sqrt(second);
    out.f64 = dot / (first * second);
    out.formula = "a · b / (‖a‖ ‖b‖)";
    add_terms(out, terms, left, right, {"a", "b"});
    out.steps.push_back({"a · b", "", four(dot), false});
    out.steps.push_back({"‖a‖", "", four(first), false});
    out.steps.push_back({"‖b‖", "", four(second), false});
    out.steps.push_back(
        {"cosine", four(dot) + " / (" + four(first) + " × " + four(second) + ")", four(out.f64), true});
    const Expression product = out.line("product", out.dot());
    const Expression norm_a = out.line("norm_a", norm(out.left()));
    const Expression norm_b = out.line("norm_b", norm(out.right()));
    out.line("cosine", product / (norm_a * norm_b));
}

}  // namespace attn::app
