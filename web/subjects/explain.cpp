#include "subjects/explain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/format.hpp"

namespace attn::app {

namespace {

Expression exponential_of(const Expression& score, const CellExplanation& c) {
    return std::isfinite(c.masked - c.row_max) ? exp(score - c.row_max) : Expression(c.exponential);
}

}  // namespace

std::string in_quotes(std::string_view text) {
    std::string quoted;
    quoted.reserve(text.size() + 2);
    return quoted.append(1, '"').append(text).append(1, '"');
}

void add_terms(Explained& out, std::span<const Term> terms, const PlaceOf& left, const PlaceOf& right,
               std::pair<const char*, const char*> names) {
    out.left_name = names.first;
    out.right_name = names.second;
    for (const Term& t : terms)
        out.term(std::to_string(t.index), t.left, t.right, left ? left(t.index) : std::nullopt,
                 right ? right(t.index) : std::nullopt);
}

void add_chain(Explained& out, const CellExplanation& c, const AttentionSpec& spec, const Places& places,
               const RunCell& cell, Stage current, const std::string& scale_text,
               const std::optional<Expression>& score, const std::string& mask_rule) {
    const bool is_masked = c.score_before || !spec.mask.is_everything() || !spec.bias.empty();
    // A stage that changes nothing is the one before it.
    if (current == Stage::masked && !is_masked) current = Stage::capped;
    if (current == Stage::capped && spec.softcap == 0) current = Stage::scaled;
    bool reached = false;  // the current stage, where the lines end
    Expression last = c.raw;
    const auto line = [&](const char* name, const Expression& expression) {
        last = reached ? Expression(name, expression.value()) : out.line(name, expression);
    };
    const auto step = [&](Stage stage, std::string name, std::string arithmetic, double value) {
        const bool own = stage == current;
        reached = reached || own;
        out.steps.push_back({std::move(name), std::move(arithmetic), four(value), own,
                             own ? std::nullopt : std::optional(places(stage, cell.row, cell.col))});
    };
    line("score", score.value_or(c.raw));
    step(Stage::raw, "score", "q · k", c.raw);
    line("scaled", last * c.scale);
    step(Stage::scaled, "scaled", four(c.raw) + scale_text, c.scaled);
    if (spec.softcap > 0) {
        const double softcap = spec.softcap;
        const std::string cap = shortest(softcap);
        line("capped", softcap * tanh(last / softcap));
        step(Stage::capped, "capped", cap + " · tanh(" + four(c.scaled) + " / " + cap + ")", c.capped);
    }
    if (c.score_before) {
        line("unchanged", last + c.bias);
        line("masked", c.masked);
        step(Stage::masked, "masked", "changed from " + four(*c.score_before), c.masked);
    } else if (is_masked) {
        const std::string rule = !mask_rule.empty() ? mask_rule : c.allowed ? "the mask allows it" : "masked";
        const std::string how = !c.allowed          ? rule + ": −∞"
                                : spec.bias.empty() ? rule
                                                    : four(c.capped) + " + " + four(c.bias);
        if (c.allowed && spec.bias.zero)
            out.steps.push_back({"bias", "for how far the key is", four(c.bias), false});
        const double masked = c.allowed ? c.masked : -std::numeric_limits<double>::infinity();
        line("masked", c.allowed ? last + c.bias : Expression(masked));
        step(Stage::masked, "masked", how, masked);
    }
    const bool nothing = c.row_max == -std::numeric_limits<double>::infinity();
    if (!c.allowed || nothing) {
        line("weight", 0);
        step(Stage::weight, "weight",
             c.allowed ? "the row has nothing to look at" : "exactly 0: the mask forbids it", 0);
        return;
    }
    line("exponential", exponential_of(last, c));
    const auto of_softmax = [&](std::string name, std::string arithmetic, double value, Stage stage,
                                Index col) {
        out.steps.push_back(
            {std::move(name), std::move(arithmetic), four(value), false, places(stage, cell.row, col)});
    };
    of_softmax("row maximum", "", c.row_max, Stage::row_max, 0);
    of_softmax("exp(s − max)", "exp(" + four(c.masked - c.row_max) + ")", c.exponential, Stage::exponential,
               cell.col);
    of_softmax("Σ of the row", "", c.row_sum, Stage::row_sum, 0);
    const std::string quotient = four(c.exponential) + " / " + four(c.row_sum);
    if (!c.weight_before) {
        line("weight", last / c.row_sum);
        return step(Stage::weight, "weight", quotient, c.weight);
    }
    line("softmax", last / c.row_sum);
    out.steps.push_back({"softmax", quotient, four(*c.weight_before), false});
    line("weight", c.weight);
    step(Stage::weight, "weight", "changed from " + four(*c.weight_before), c.weight);
}

Stage before_softmax(const AttentionSpec& spec) {
    if (!spec.mask.is_everything() || !spec.bias.empty() || spec.edits) return Stage::masked;
    return spec.softcap > 0 ? Stage::capped : Stage::scaled;
}

void explain_softmax(Explained& out, const Record& record, const RowChain& row, const AttentionSpec& spec,
                     const Places& places, const RunCell& cell, const CellNames& names) {
    const SoftmaxRow run = softmax_row(record, places.head.head, cell.row);
    const auto score_at = [&](Index key) { return places(before_softmax(spec), cell.row, key); };
    const CellPlace max_at = places(Stage::row_max, cell.row, 0);
    out.title = std::string(symbol(cell.stage)) + "[" + names.query + "]";
    if (cell.stage == Stage::exponential) {
        const CellExplanation c = row.at(cell.col);
        out.title = std::string(symbol(cell.stage)) + "[" + names.query + ", " + names.key + "]";
        out.masked = !c.allowed;
        out.f32 = static_cast<double>(
            run.exponential(record.cell(Stage::masked, places.head.head, cell.row, cell.col)));
        out.f64 = c.exponential;
        out.formula = "exp(s − max)";
        out.steps.push_back({"score", "", four(c.masked), false, score_at(cell.col)});
        out.steps.push_back({"row maximum", "", four(c.row_max), false, max_at});
        out.steps.push_back(
            {"exp(s − max)", "exp(" + four(c.masked - c.row_max) + ")", four(c.exponential), true});
        out.line("exponential", exponential_of(out.line("score", c.masked), c));
        return;
    }
    std::vector<CellExplanation> cells;
    std::vector<Index> keys;  // keys that the mask allows
    for (Index key = 0; key < record.keys(); ++key) {
        cells.push_back(row.at(key));
        if (cells.back().allowed) keys.push_back(key);
    }
    const auto of = [&](Index key) -> const CellExplanation& { return cells[static_cast<std::size_t>(key)]; };
    if (keys.empty()) out.note = "The mask leaves this row nothing to look at.";
    if (cell.stage == Stage::row_max) {
        constexpr std::ptrdiff_t most = 8;
        out.f32 = static_cast<double>(run.max);
        out.f64 = row.row_max();
        out.formula = "max_j s[" + names.query + ", j]";
        const auto shown = keys.begin() + std::min(most, std::ssize(keys));
        std::ranges::partial_sort(keys, shown, [&](Index a, Index b) {
            return of(a).masked != of(b).masked ? of(a).masked > of(b).masked : a < b;
        });
        for (const Index key : std::span(keys.begin(), shown))
            out.steps.push_back({names.key_at(key), key == keys.front() ? "the largest" : "",
                                 four(of(key).masked), false, score_at(key)});
        out.steps.push_back({"row maximum", "of " + std::to_string(keys.size()), four(out.f64), true});
        return;
    }
    out.f32 = static_cast<double>(run.sum);
    out.f64 = row.row_sum();
    out.formula = "Σ_j exp(s[" + names.query + ", j] − max)";
    out.operands_title = "exp(s − max) of each key";
    out.sign = "−";
    Column exponentials{"exponentials", {}};
    for (const Index key : keys) {
        const CellExplanation& c = of(key);
        out.operands.push_back({names.key_at(key), c.masked, c.row_max, c.exponential, score_at(key), max_at,
                                places(Stage::exponential, cell.row, key)});
        exponentials.values.push_back(c.exponential);
    }
    out.line("row_sum", sum(std::move(exponentials)));
}

std::string formula_of(Stage stage, const CellNames& names, Index col, bool scores_given) {
    const std::string& i = names.query;
    const std::string& j = names.key;
    switch (stage) {
        case Stage::raw: return scores_given ? "" : "Σ_a Q[" + i + ", a] · K[" + j + ", a]";
        case Stage::scaled: return "scale · score";
        case Stage::capped: return "c · tanh(s / c)";
        case Stage::masked: return "s where the mask allows it, else −∞";
        case Stage::weight: return "exp(s − max) / Σ exp(s − max)";
        case Stage::contribution: return "Weights[" + i + ", " + j + "] · ‖V[" + j + ", ·]‖";
        case Stage::projected: return "Weights[" + i + ", " + j + "] · ‖V[" + j + ", ·] W_O‖";
        case Stage::output: return "Σ_j Weights[" + i + ", j] · V[j, " + std::to_string(col) + "]";
        default: return "";
    }
}

std::string operands_title_of(Stage stage, const CellNames& names, Index col) {
    switch (stage) {
        case Stage::raw: return "Q[" + names.query + ", ·] · K[" + names.key + ", ·]";
        case Stage::output: return "Weights[" + names.query + ", ·] · V[·, " + std::to_string(col) + "]";
        default: return "";
    }
}

void add_contribution(Explained& out, double weight, std::span<const double> value, const PlaceOf& at,
                      bool projected) {
    std::vector<Term> squares;
    double sum = 0;
    for (const double each : value) {
        squares.push_back({std::ssize(squares), each, each});
        sum += squares.back().product();
    }
    const double size = std::sqrt(sum);
    out.operands.clear();
    out.operands_title = projected ? "‖v W_O‖², squared components" : "‖v‖², squared components";
    add_terms(out, squares, at, at, {"v", "v"});
    // A weight of 0 gives 0 even for an infinite value.
    out.f64 = weight == 0 ? 0 : weight * size;
    out.steps.push_back({projected ? "‖v W_O‖" : "‖v‖", "√" + four(sum), four(size), false});
    out.steps.push_back({"contribution", four(weight) + " · " + four(size), four(out.f64), true});
    const Expression length = out.line("norm", norm(out.left()));
    out.line("contribution", weight == 0 ? Expression(0) : weight * length);
}

bool explain_cell(Explained& out, const Record& record, const Places& places, const RunCell& cell,
                  const CellNames& names, const std::function<ProjectedValue(Index key)>& projected) {
    const Stage stage = cell.stage;
    const Index head = places.head.head;
    const bool of_keys = stage == Stage::k || stage == Stage::v, pairs = is_of_pairs(stage);
    const Index rows = of_keys ? record.keys() : record.queries();
    const Index cols = pairs || stage == Stage::exponential     ? record.keys()
                       : is_of_softmax(stage)                   ? 1
                       : stage == Stage::v                      ? record.d_v()
                       : stage == Stage::output                 ? record.output().dim(2)  // 0: not computed
                       : stage == Stage::q || stage == Stage::k ? record.d_k()
                                                                : 0;
    if (cell.row < 0 || cell.row >= rows || cell.col < 0 || cell.col >= cols) return false;
    if (stage == Stage::projected && !projected) return false;
    if (is_of_softmax(stage)) {
        explain_softmax(out, record, row_chain(record, head, cell.row), record.spec(), places, cell, names);
        return true;
    }
    out.title = std::string(symbol(stage)) + "[" + (of_keys ? names.key : names.query) + ", " +
                (pairs ? names.key : std::to_string(cell.col)) + "]";
    out.formula = formula_of(stage, names, cell.col);
    const auto each_of = [&](Stage of, Index row) -> PlaceOf {
        return [places, of, row](Index a) { return places(of, row, a); };
    };
    if (pairs) {
        const Stage chain = is_score_or_weight(stage) ? stage : Stage::weight;
        const CellExplanation why = explain(record, chain, head, cell.row, cell.col);
        out.masked = !why.allowed;
        out.f32 = static_cast<double>(why.f32);
        out.f64 = why.f64;
        const std::string scale_text = " × " + fixed(why.scale, 6);
        if (chain == stage) {
            // A weight is easier to understand together with the dot product behind it.
            out.operands_title = operands_title_of(Stage::raw, names, cell.col);
            add_terms(out, dot_terms(record, head, cell.row, cell.col), each_of(Stage::q, cell.row),
                      each_of(Stage::k, cell.col), {"q", "k"});
            add_chain(out, why, record.spec(), places, cell, stage, scale_text, out.dot(), names.mask_rule);
            return true;
        }
        add_chain(out, why, record.spec(), places, cell, stage, scale_text, {}, names.mask_rule);
        if (stage == Stage::projected) {
            const ProjectedValue value = projected(cell.col);
            add_contribution(out, why.weight, value.components, each_of(Stage::value_out, cell.col), true);
            out.f32 = static_cast<double>(why.f32) * value.f32_norm;
            return true;
        }
        const ConstMatrix values = record.v().heads().head(record.kv_head(head));
        const std::vector<double> value(values.row(cell.col), values.row(cell.col) + values.cols);
        add_contribution(out, why.weight, value, each_of(Stage::v, cell.col), false);
        out.f32 = static_cast<double>(record.cell(stage, head, cell.row, cell.col));
        return true;
    }
    if (stage == Stage::output) {
        const CellExplanation why = explain_output(record, head, cell.row, cell.col);
        out.f32 = static_cast<double>(why.f32);
        out.f64 = why.f64;
        out.operands_title = operands_title_of(stage, names, cell.col);
        add_terms(
            out, why.terms, [&](Index j) { return places(Stage::weight, cell.row, j); },
            [&](Index j) { return places(Stage::v, j, cell.col); }, {"weights", "v"});
        for (std::size_t i = 0; i < out.operands.size(); ++i) {
            const Index key = why.terms[i].index;
            out.operands[i].name = names.key_at(key);
            out.operands[i].product_at = places(Stage::contribution, cell.row, key);
        }
        out.line("output", out.dot());
        return true;
    }
    const Tensor& tensor = stage == Stage::q ? record.q() : stage == Stage::k ? record.k() : record.v();
    const Index own = stage == Stage::q ? head : record.kv_head(head);
    out.f32 = out.f64 = static_cast<double>(tensor.heads().head(own)(cell.row, cell.col));
    return true;
}

}  // namespace attn::app
