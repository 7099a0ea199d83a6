#include "subjects/explain_measured.hpp"

#include <cmath>

#include "app/format.hpp"

namespace attn::app {

namespace {

// With more multiplications, the page would stall.
constexpr double most_multiplications = 2e8;

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

Row row_of(const RowChain& chain, Index query, Index keys, HeadScore score, Tokens ids) {
    Row row;
    double most = -1;
    for (Index key = 0; key < keys; ++key) {
        const CellExplanation cell = chain.at(key);
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

const char* formula_of(HeadScore score) {
    switch (score) {
        case HeadScore::entropy: return "1/n · Σ_i (−Σ_j A[i, j] ln A[i, j])";
        case HeadScore::spread: return "1/n · Σ_i (−Σ_j A[i, j] ln A[i, j]) / ln(keys of i)";
        default: return "Σ A[i, j] · what counts / Σ A[i, j]";
    }
}

}  // namespace

CellRef head_score_cell(const HeadOverview& heads, HeadIndex head, HeadScore score) {
    return {.stage = Stage::head_score, .row = heads.number(head), .col = static_cast<Index>(score)};
}

std::optional<Explained> ScoreExplainer::of(Attention& attention, const CellRef& cell) {
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
        const Row row = row_of(row_chain(*record, head.head, query), query, record->keys(), score, ids);
        sum += row.sum;
        rows += row.allowed > (score == HeadScore::spread ? 1 : 0);
        total += row.counted;
        out.operands.push_back({in_quotes(label_at(attention.query_names(), query)), row.counted, 0, 0,
                                places(Stage::weight, query, row.most)});
    }
    const double divisor = is_of_entropy(score) ? rows : sum;
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
