// Explains the numbers of a change: weights from the new q and k, these from the old ones and the change, and
// the change from the targets.
#include <cmath>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "subjects/explain.hpp"

namespace attn::app::inverse {

namespace {

std::string element(std::string_view name, const std::string& row, const std::string& column) {
    return std::string(name) + "[" + row + ", " + column + "]";
}

// Explains how a raw score becomes the weight.
void explain_chain(Explained& out, const Expression& raw, const CellExplanation& c, double softcap) {
    Expression last = out.step("scaled", out.step("raw", raw, std::string("Σ q · k")) * c.scale);
    if (softcap > 0) last = out.step("capped", softcap * tanh(last / softcap));
    if (c.bias != 0) last = out.step("biased", last + c.bias);
    out.step("weight", exp(last - c.row_max) / c.row_sum);
}

// ---- The change -------------------------------------------------------------------------------------------

HeadChange* found_change(Model& model) {
    HeadChange* change = model.change.kept();
    return change && change->found() ? change : nullptr;
}

std::string provenance(const Model& model, Subject& subject) {
    const HeadChange& change = *model.change.kept();
    return head_text(model.row.head, subject.attention()->numbering(), ", ") +
           (change.proven() ? " · with the least change of " : " · with the shortest change found of ") +
           std::string(symbol(info(change.of()).stage));
}

std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    HeadChange* change = found_change(model);
    const Index query = cell.at[0], key = cell.at[1];
    if (!change || query >= change->record().queries() || key >= change->record().keys()) return std::nullopt;
    const Attention& attention = *subject.attention();
    const Record& record = change->record();
    const HeadIndex head = model.row.head;
    const CellExplanation c = RowChain(change->row_after(query)).at(key);
    Explained out{.title = element("Weights′", label_at(attention.query_names(), query),
                                   label_at(attention.key_names(), key)),
                  .provenance = provenance(model, subject),
                  .masked = !c.allowed,
                  .f32 = static_cast<double>(change->after_f32(query, key)),
                  .formula = c.allowed ? "softmax of Σ_a Q′[i, a] · K′[j, a]" : "0"};
    out.beside("before", row_chain(record, head.head, query).at(key).weight, "",
               Places{head}(Stage::weight, query, key));
    if (!c.allowed) {
        out.note = "The mask hides this key.";
        out.line("weight", 0);
        return out;
    }
    out.operands_title = "Q′ · K′";
    for (Index a = 0; a < record.d_k(); ++a)
        out.term(std::to_string(a), change->q(query, a), change->k(key, a),
                 CellPlace{head, cells::query(query, a)}, CellPlace{head, cells::key(key, a)});
    explain_chain(out, out.dot("q", "k"), c, record.spec().softcap);
    for (const CellWish& wish : change->wishes())
        if (wish.query == query && wish.key == key)
            out.note = "You wished for " + shortest(wish.weight) + "; it is off by " +
                       fixed(std::abs(c.weight - wish.weight), 3) + ".";
    return out;
}

// Explains a number of a matrix by what it was and the change added to it.
Explained explain_moved(const Model& model, Subject& subject, Stage stage, const LensCell& cell, double now,
                        double after) {
    const HeadIndex head = model.row.head;
    const Index row = cell.at[0], column = cell.at[1];
    const Attention& attention = *subject.attention();
    const std::string of(symbol(stage));
    Explained out{.title = element(of + "′",
                                   stage == Stage::q   ? label_at(attention.query_names(), row)
                                   : stage == Stage::k ? label_at(attention.key_names(), row)
                                                       : std::to_string(row),
                                   std::to_string(column)),
                  .provenance = provenance(model, subject),
                  .f32 = single(after),
                  .formula = stage == Stage::q   ? "Q[i, a] + change"
                             : stage == Stage::k ? "K[j, a] + change"
                                                 : "W[c, a] + change"};
    std::optional<CellPlace> by_at;
    if (stage == info(model.change.kept()->of()).stage) by_at = CellPlace{head, cells::change(row, column)};
    const Expression before = out.step("before", now, Places{head}(stage, row, column));
    out.step("after", before + out.step("change", after - now, by_at));
    return out;
}

std::optional<Explained> explain_vector(Model& model, Subject& subject, const LensCell& cell) {
    const HeadChange* change = found_change(model);
    if (!change) return std::nullopt;
    const Record& record = change->record();
    const bool of_q = cell.kind == &cells::query;
    const Index row = cell.at[0], component = cell.at[1];
    const ConstMatrix now = of_q ? record.q().heads().head(change->head())
                                 : record.k().heads().head(record.kv_head(change->head()));
    if (row >= now.rows || component >= now.cols) return std::nullopt;
    return explain_moved(model, subject, of_q ? Stage::q : Stage::k, cell,
                         static_cast<double>(now(row, component)),
                         of_q ? change->q(row, component) : change->k(row, component));
}

std::optional<Explained> explain_projection(Model& model, Subject& subject, const LensCell& cell) {
    const HeadChange* change = found_change(model);
    const Projections* edited = change && change->x() ? model.edited() : nullptr;
    const Index input = cell.at[0], component = cell.at[1];
    if (!edited || input >= change->x()->width || component >= change->record().d_k()) return std::nullopt;
    const bool of_q = change->of() == ChangeOf::w_q;
    const double before = (of_q ? edited->w_q : edited->w_k).at(input, component);
    return explain_moved(model, subject, info(change->of()).stage, cell, before,
                         before + change->change(input, component));
}

// Adds the part of one row with targets in a number of the change.
void add_part(Explained& out, const HeadChange& change, std::size_t r, Index row, Index col,
              const Places& places) {
    const Record& record = change.record();
    const Index query = change.wished_rows()[r];
    const std::vector<double> shares = change.search()->shares(r);
    const auto add = [&](Index index, double left, double right, std::optional<CellPlace> right_at = {}) {
        if (left != 0) out.term(std::to_string(index), left, right, {}, right_at);
    };
    // Σ_j c[i, j] · of(j)
    const auto over_keys = [&](auto&& of) {
        double sum = 0;
        for (Index j = 0; j < record.keys(); ++j) sum += shares[static_cast<std::size_t>(j)] * of(j);
        return sum;
    };
    const auto at = [col](const std::vector<double>& v) { return v[static_cast<std::size_t>(col)]; };
    const auto own = static_cast<double>(record.q().heads().head(change.head())(query, col));
    const CellPlace own_at = places(Stage::q, query, col);
    switch (change.of()) {
        case ChangeOf::q: {
            const ConstMatrix k = record.k().heads().head(record.kv_head(change.head()));
            for (Index j = 0; j < record.keys() && query == row; ++j)
                add(j, shares[static_cast<std::size_t>(j)], static_cast<double>(k(j, col)),
                    places(Stage::k, j, col));
            break;
        }
        case ChangeOf::key:
        case ChangeOf::keys:
            if (change.left(0, row) != 0) add(query, shares[static_cast<std::size_t>(row)], own, own_at);
            break;
        case ChangeOf::w_q:
            add(query, change.x()->at(query, row),
                over_keys([&](Index j) { return at(change.key_seen(query, j)); }));
            break;
        case ChangeOf::w_k:
            if (change.turns())
                add(query, over_keys([&](Index j) {
                        return change.x()->at(j, row) * at(change.query_seen(query, j));
                    }),
                    1);
            else
                add(query, over_keys([&](Index j) { return change.x()->at(j, row); }), own, own_at);
            break;
    }
}

const char* formula_of_change(const HeadChange& change) {
    switch (change.of()) {
        case ChangeOf::q: return "Σ_j c[i, j] · K[j, a]";
        case ChangeOf::key:
        case ChangeOf::keys: return "Σ_i c[i, j] · Q[i, a]";
        case ChangeOf::w_q:
            return change.turns() ? "Σ_i X[i, b] · Σ_j c[i, j] (R_iᵀ K[j])[a]"
                                  : "Σ_i X[i, b] · Σ_j c[i, j] K[j, a]";
        case ChangeOf::w_k: break;
    }
    return change.turns() ? "Σ_i Σ_j c[i, j] X[j, b] (R_jᵀ Q[i])[a]" : "Σ_i (Σ_j c[i, j] X[j, b]) · Q[i, a]";
}

// The change as the sum over rows with targets: of q from the keys, of keys from q, or of a projection from
// both.
std::optional<Explained> explain_change(Model& model, Subject& subject, const LensCell& cell) {
    const HeadChange* change = found_change(model);
    const Index row = cell.at[0], col = cell.at[1];
    if (!change || row >= change->changed_rows() || col >= change->record().d_k()) return std::nullopt;
    const Attention& attention = *subject.attention();
    const bool of_q = change->of() == ChangeOf::q;
    Explained out{.title = element("Change of " + std::string(symbol(info(change->of()).stage)),
                                   change->x() ? std::to_string(row)
                                   : of_q      ? label_at(attention.query_names(), row)
                                               : label_at(attention.key_names(), row),
                                   std::to_string(col)),
                  .provenance = provenance(model, subject),
                  .formula = formula_of_change(*change)};
    for (std::size_t r = 0; r < change->wished_rows().size(); ++r)
        add_part(out, *change, r, row, col, Places{model.row.head});
    if (out.operands.empty()) {
        out.line("change", 0);
        out.note = "Nothing is wished for that this could serve.";
        return out;
    }
    out.operands_title = of_q ? "c · K, key by key" : "row by row with wishes";
    out.line("change", out.dot("left", "right"));
    out.f32 = single(out.f64);
    out.note =
        "c says how much of each key a least change has: more of those with a wish for more, less of the "
        "others by their weights. What serves no wish is " +
        fixed(change->search()->idle_share(), 3) + " of its length.";
    return out;
}

std::optional<Explained> explain_iteration(Model& model, Subject& subject, const LensCell& cell) {
    const HeadChange* change = found_change(model);
    const Index step = cell.at[1];
    if (!change || step >= std::ssize(change->search()->iterations())) return std::nullopt;
    const LeastChange::Iteration& at = change->search()->iterations()[static_cast<std::size_t>(step)];
    const bool length = cell.at[0] == 1;
    const double value = length ? at.length : at.residual;
    Explained out{.title = length ? "Length of the change" : "Residual",
                  .provenance = provenance(model, subject),
                  .f32 = single(value),
                  .formula = length ? "|z|" : "max |log-odds wished for − log-odds|"};
    out.step(std::string(cells::measure_words[static_cast<std::size_t>(cell.at[0])]), value,
             "after " + many(step, "step"));
    return out;
}

// ---- The pattern ------------------------------------------------------------------------------------------

Explained begin_pattern(const Model& model, const LensCell& cell, std::string_view title, double value) {
    return {.title = element(title, std::to_string(cell.at[0]), std::to_string(cell.at[1])),
            .provenance = "pattern of " + std::to_string(model.state.pattern.tokens) + " tokens",
            .f32 = single(value)};
}

std::optional<Explained> explain_target(Model& model, Subject&, const LensCell& cell) {
    const Index n = model.state.pattern.tokens, query = cell.at[0], key = cell.at[1];
    if (query >= n || key >= n) return std::nullopt;
    const auto row = std::span(model.fit.kept()->target())
                         .subspan(static_cast<std::size_t>(query * n), static_cast<std::size_t>(n));
    const double weight = row[static_cast<std::size_t>(key)];
    const auto count = std::ranges::count_if(row, [](double each) { return each > 0; });
    Explained out = begin_pattern(model, cell, "Pattern", weight);
    out.formula = weight > 0 ? "1 / painted cells of the row" : "not painted";
    out.step("weight", weight > 0 ? Expression(1) / static_cast<double>(count) : Expression(0));
    return out;
}

std::optional<Explained> explain_fitted_weight(Model& model, Subject&, const LensCell& cell) {
    const Index n = model.state.pattern.tokens, query = cell.at[0], key = cell.at[1];
    const FittedPattern* shown = model.fitted();
    if (!shown || query >= n || key >= n) return std::nullopt;
    const Index d = shown->d_k;
    const auto q = [&](Index a) { return shown->q[static_cast<std::size_t>(query * d + a)]; };
    const auto k = [&](Index j, Index a) { return shown->k[static_cast<std::size_t>(j * d + a)]; };
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    ScoreRow row{{}, {}, std::vector<std::uint8_t>(static_cast<std::size_t>(n), 1), scale};
    for (Index j = 0; j < n; ++j) {
        double raw = 0;
        for (Index a = 0; a < d; ++a) raw += q(a) * k(j, a);
        row.raw.push_back(raw);
    }
    const CellExplanation c = RowChain(std::move(row)).at(key);
    Explained out = begin_pattern(model, cell, "Fitted weights", c.weight);
    out.formula = "softmax of Σ_a Q[i, a] · K[j, a] / √d_k";
    out.operands_title = "Q · K";
    for (Index a = 0; a < d; ++a)
        out.term(std::to_string(a), q(a), k(key, a), CellPlace{{}, cells::fitted_query(query, a)},
                 CellPlace{{}, cells::fitted_key(key, a)});
    explain_chain(out, out.dot("q", "k"), c, 0);
    out.note = "The pattern has " +
               four(model.fit.kept()->target()[static_cast<std::size_t>(query * n + key)]) + " here.";
    return out;
}

std::optional<Explained> explain_fitted_vector(Model& model, Subject&, const LensCell& cell) {
    const FittedPattern* shown = model.fitted();
    if (!shown || cell.at[0] >= model.state.pattern.tokens || cell.at[1] >= shown->d_k) return std::nullopt;
    const bool of_q = cell.kind == &cells::fitted_query;
    const double value =
        (of_q ? shown->q : shown->k)[static_cast<std::size_t>(cell.at[0] * shown->d_k + cell.at[1])];
    Explained out = begin_pattern(model, cell, of_q ? "Fitted Q" : "Fitted K", value);
    out.formula = "found by L-BFGS";
    out.note = "It makes the cross-entropy of the pattern small, from the best of " +
               std::to_string(PatternFit::starts) + " starts.";
    out.line("component", value);
    return out;
}

std::optional<Explained> explain_fit(Model& model, Subject&, const LensCell& cell) {
    const Index d = cell.at[0];
    const FittedPattern* shown = d > 0 ? model.fitted(d) : nullptr;
    if (!shown) return std::nullopt;
    const bool error = cell.kind == &cells::error;
    const double value = error ? shown->largest_error : shown->divergence;
    Explained out = begin_pattern(model, cell, "", value);
    out.title = (error ? "Largest error, d_k = " : "Divergence, d_k = ") + std::to_string(d);
    if (!error) out.unit = "nats";
    out.formula = error ? "max |A − pattern|" : "mean over rows of Σ_j P[i, j] log (P[i, j] / A[i, j])";
    out.step(std::string(cell.kind->name), value);
    out.note = std::to_string(shown->rows_right) + " of " + many(model.fit.kept()->rows(), "row") +
               " have their strongest key where the pattern has it.";
    return out;
}

constexpr std::array<ModelNumber<Model>, 12> declared{{
    {&cells::weight, explain_weight},
    {&cells::query, explain_vector},
    {&cells::key, explain_vector},
    {&cells::projection, explain_projection},
    {&cells::change, explain_change},
    {&cells::iteration, explain_iteration},
    {&cells::target, explain_target},
    {&cells::fitted_weight, explain_fitted_weight},
    {&cells::fitted_query, explain_fitted_vector},
    {&cells::fitted_key, explain_fitted_vector},
    {&cells::error, explain_fit},
    {&cells::divergence, explain_fit},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

// The kinds have kept the order of their packed numbers.
std::optional<CellRef> packed_cell(Index row, Index col) {
    constexpr Index kinds = std::ssize(declared);
    if (col < 0) return std::nullopt;
    const CellKind& kind = *declared[static_cast<std::size_t>(col % kinds)].kind;
    const CellRef cell = &kind == &cells::iteration ? kind(col / kinds, row) : kind(row, col / kinds);
    return cell.own()->is_within() ? std::optional(cell) : std::nullopt;
}

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::inverse
