// Explains the numbers of a change: weights from the new q and k, these from the old ones and the change, and
// the change from the targets.
#include <cmath>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

// Explains how the raw score, the last line so far, becomes the weight.
void explain_chain(Explained& out, const CellExplanation& c, double softcap) {
    const auto step = [&](const char* name, std::string arithmetic, double value, bool current = false) {
        out.steps.push_back({name, std::move(arithmetic), four(value), current, {}});
    };
    step("raw", "Σ q · k", c.raw);
    step("scaled", four(c.raw) + " × " + four(c.scale), c.scaled);
    Expression last = out.line("scaled", out.calculation.result() * c.scale);
    if (softcap > 0) {
        step("capped", "soft cap " + four(softcap), c.capped);
        last = out.line("capped", softcap * tanh(last / softcap));
    }
    if (c.bias != 0) {
        step("biased", four(c.capped) + " + " + four(c.bias), c.masked);
        last = out.line("masked", last + c.bias);
    }
    step("weight", "exp(" + four(c.masked) + " − " + four(c.row_max) + ") / " + four(c.row_sum), c.weight,
         true);
    out.line("weight", exp(last - c.row_max) / c.row_sum);
}

}  // namespace

struct InverseLens::Around {
    HeadChange& change;
    const Attention& attention;
    HeadIndex head;
    Explained out = {};

    const Record& record() const { return change.record(); }
    CellPlace at(const CellRef& cell) const { return {head, cell}; }
    CellPlace at(Stage stage, Index row, Index col) const { return {head, {stage, row, col}}; }
    std::string query(Index row) const { return label_at(attention.query_names(), row); }
    std::string key(Index row) const { return label_at(attention.key_names(), row); }
    void title(const std::string& name, const std::string& row, const std::string& col) {
        out.title = name + "[" + row + ", " + col + "]";
    }
    void step(std::string name, std::string arithmetic, double value, std::optional<CellPlace> place = {},
              bool current = false) {
        out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, place});
    }
    // A number and the change added to it.
    void moved(const char* formula, double now, double after, CellPlace now_at,
               std::optional<CellRef> by_at) {
        out.f64 = after;
        out.f32 = static_cast<double>(static_cast<float>(after));
        out.formula = formula;
        step("before", "", now, now_at);
        step("change", "", after - now, by_at ? std::optional(at(*by_at)) : std::nullopt);
        step("after", four(now) + " + " + four(after - now), after, {}, true);
        out.line("after", Expression(now) + after - now);
    }
};

std::optional<Explained> InverseLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    return explain_by(declared, *this, subject, place.cell.own);
}

const std::array<LensNumber<InverseLens>, 12> InverseLens::declared{{
    {&inverse_cells::weight, &InverseLens::explain_weight},
    {&inverse_cells::query, &InverseLens::explain_query},
    {&inverse_cells::key, &InverseLens::explain_key},
    {&inverse_cells::projection, &InverseLens::explain_projection},
    {&inverse_cells::change, &InverseLens::explain_change},
    {&inverse_cells::iteration, &InverseLens::explain_iteration},
    {&inverse_cells::target, &InverseLens::explain_target},
    {&inverse_cells::fitted_weight, &InverseLens::explain_fitted_weight},
    {&inverse_cells::fitted_query, &InverseLens::explain_fitted_vector},
    {&inverse_cells::fitted_key, &InverseLens::explain_fitted_vector},
    {&inverse_cells::error, &InverseLens::explain_fit},
    {&inverse_cells::divergence, &InverseLens::explain_fit},
}};

CellKinds inverse_numbers() { return kinds_of(InverseLens::declared); }

std::optional<CellRef> packed_inverse_cell(Index row, Index col) {
    using namespace inverse_cells;
    static constexpr std::array<const CellKind*, 12> kinds{
        &weight, &query,         &key,          &projection, &change, &iteration,
        &target, &fitted_weight, &fitted_query, &fitted_key, &error,  &divergence};
    if (col < 0) return std::nullopt;
    const CellKind& kind = *kinds[static_cast<std::size_t>(col % 12)];
    const CellRef cell = &kind == &iteration ? kind(col / 12, row) : kind(row, col / 12);
    return cell.own.is_within() ? std::optional(cell) : std::nullopt;
}

// ---- The change -------------------------------------------------------------------------------------------

std::optional<InverseLens::Around> InverseLens::begin_change(Subject& subject) {
    if (!subject.attention() || !change(subject) || !change_->found()) return std::nullopt;
    Around a{*change_, *subject.attention(), subject.chosen_head()};
    a.out.provenance =
        head_text(a.head, a.attention.numbering(), ", ") +
        (a.change.proven() ? " · with the least change of " : " · with the shortest change found of ") +
        std::string(symbol(info(a.change.of()).stage));
    return a;
}

std::optional<Explained> InverseLens::explain_weight(Subject& subject, const LensCell& cell) {
    auto made = begin_change(subject);
    const Index query = cell.at[0], key = cell.at[1];
    if (!made || query >= made->record().queries() || key >= made->record().keys()) return std::nullopt;
    Around& a = *made;
    const CellExplanation c = RowChain(a.change.row_after(query)).at(key);
    const double before = row_chain(a.record(), a.change.head(), query).at(key).weight;
    a.title("Weights′", a.query(query), a.key(key));
    a.out.f64 = c.weight;
    a.out.f32 = static_cast<double>(a.change.after_f32(query, key));
    a.out.masked = !c.allowed;
    a.step("before", "", before, a.at(Stage::weight, query, key));
    if (!c.allowed) {
        a.out.formula = "0";
        a.out.note = "The mask hides this key.";
        a.out.line("weight", 0);
        return a.out;
    }
    a.out.formula = "softmax of Σ_a Q′[i, a] · K′[j, a]";
    a.out.operands_title = "Q′ · K′";
    a.out.left_name = "q", a.out.right_name = "k";
    for (Index i = 0; i < a.record().d_k(); ++i) {
        const double q = a.change.q(query, i), k = a.change.k(key, i);
        a.out.operands.push_back({std::to_string(i), q, k, q * k, a.at(inverse_cells::query(query, i)),
                                  a.at(inverse_cells::key(key, i))});
    }
    a.out.line("score", a.out.dot());
    explain_chain(a.out, c, a.record().spec().softcap);
    for (const CellWish& wish : a.change.wishes())
        if (wish.query == query && wish.key == key)
            a.out.note = "You wished for " + shortest(wish.weight) + "; it is off by " +
                         fixed(std::abs(c.weight - wish.weight), 3) + ".";
    return a.out;
}

std::optional<Explained> InverseLens::explain_query(Subject& subject, const LensCell& cell) {
    auto a = begin_change(subject);
    const Index query = cell.at[0], component = cell.at[1];
    if (!a || query >= a->record().queries() || component >= a->record().d_k()) return std::nullopt;
    a->title("Q′", a->query(query), std::to_string(component));
    const ConstMatrix q = a->record().q().heads().head(a->change.head());
    a->moved("Q[i, a] + change", static_cast<double>(q(query, component)), a->change.q(query, component),
             a->at(Stage::q, query, component),
             a->change.of() == ChangeOf::q ? std::optional(inverse_cells::change(query, component))
                                           : std::nullopt);
    return a->out;
}

std::optional<Explained> InverseLens::explain_key(Subject& subject, const LensCell& cell) {
    auto a = begin_change(subject);
    const Index key = cell.at[0], component = cell.at[1];
    if (!a || key >= a->record().keys() || component >= a->record().d_k()) return std::nullopt;
    a->title("K′", a->key(key), std::to_string(component));
    const ConstMatrix k = a->record().k().heads().head(a->record().kv_head(a->change.head()));
    const bool of_k = a->change.of() == ChangeOf::key || a->change.of() == ChangeOf::keys;
    a->moved("K[j, a] + change", static_cast<double>(k(key, component)), a->change.k(key, component),
             a->at(Stage::k, key, component),
             of_k ? std::optional(inverse_cells::change(key, component)) : std::nullopt);
    return a->out;
}

std::optional<Explained> InverseLens::explain_projection(Subject& subject, const LensCell& cell) {
    auto a = begin_change(subject);
    const Index input = cell.at[0], component = cell.at[1];
    if (!a || !a->change.x() || input >= a->change.x()->cols || component >= a->record().d_k())
        return std::nullopt;
    const auto projections = edited_projections(subject, state());
    if (!projections) return std::nullopt;
    const bool of_q = a->change.of() == ChangeOf::w_q;
    a->title(of_q ? "W_Q′" : "W_K′", std::to_string(input), std::to_string(component));
    const double before = (of_q ? projections->w_q : projections->w_k).at(input, component);
    a->moved("W[c, a] + change", before, before + a->change.change(input, component),
             a->at(of_q ? Stage::w_q : Stage::w_k, input, component),
             inverse_cells::change(input, component));
    return a->out;
}

// The change as the sum over rows with targets: of q from the keys, of keys from q, or of a projection from
// both.
std::optional<Explained> InverseLens::explain_change(Subject& subject, const LensCell& cell) {
    auto made = begin_change(subject);
    const Index row = cell.at[0], col = cell.at[1];
    if (!made || row >= made->change.changed_rows() || col >= made->record().d_k()) return std::nullopt;
    Around& a = *made;
    const HeadChange& change = a.change;
    const Record& record = a.record();
    const LeastChange& search = *change.search();
    const std::vector<Index>& rows = change.wished_rows();
    a.title("Change of " + std::string(symbol(info(change.of()).stage)),
            change.x()                   ? std::to_string(row)
            : change.of() == ChangeOf::q ? a.query(row)
                                         : a.key(row),
            std::to_string(col));
    const auto add = [&](Index index, double left, double right, std::optional<CellPlace> left_at,
                         std::optional<CellPlace> right_at) {
        if (left == 0) return;
        a.out.operands.push_back({std::to_string(index), left, right, left * right, left_at, right_at});
        a.out.f64 += left * right;
    };
    const ConstMatrix q = record.q().heads().head(change.head()),
                      k = record.k().heads().head(record.kv_head(change.head()));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::vector<double> shares = search.shares(r);
        const auto of_key = [&](Index j) { return shares[static_cast<std::size_t>(j)]; };
        const auto own = static_cast<double>(q(rows[r], col));
        const std::optional<CellPlace> own_at(a.at(Stage::q, rows[r], col));
        double sum = 0;
        switch (change.of()) {
            case ChangeOf::q:
                for (Index j = 0; j < record.keys() && rows[r] == row; ++j)
                    add(j, of_key(j), static_cast<double>(k(j, col)), {}, a.at(Stage::k, j, col));
                break;
            case ChangeOf::key:
            case ChangeOf::keys:
                if (change.left(0, row) != 0) add(rows[r], of_key(row), own, {}, own_at);
                break;
            case ChangeOf::w_q:
                for (Index j = 0; j < record.keys(); ++j)
                    sum += of_key(j) * change.key_seen(rows[r], j)[static_cast<std::size_t>(col)];
                add(rows[r], change.x()->at(rows[r], row), sum, {}, {});
                break;
            case ChangeOf::w_k:
                for (Index j = 0; change.turns() && j < record.keys(); ++j)
                    sum += of_key(j) * change.x()->at(j, row) *
                           change.query_seen(rows[r], j)[static_cast<std::size_t>(col)];
                if (change.turns()) {
                    add(rows[r], sum, 1, {}, {});
                    break;
                }
                for (Index j = 0; j < record.keys(); ++j) sum += of_key(j) * change.x()->at(j, row);
                add(rows[r], sum, own, {}, own_at);
                break;
        }
    }
    a.out.f32 = static_cast<double>(static_cast<float>(a.out.f64));
    a.out.left_name = "left", a.out.right_name = "right";
    switch (change.of()) {
        case ChangeOf::q: a.out.formula = "Σ_j c[i, j] · K[j, a]"; break;
        case ChangeOf::key:
        case ChangeOf::keys: a.out.formula = "Σ_i c[i, j] · Q[i, a]"; break;
        case ChangeOf::w_q:
            a.out.formula = change.turns() ? "Σ_i X[i, b] · Σ_j c[i, j] (R_iᵀ K[j])[a]"
                                           : "Σ_i X[i, b] · Σ_j c[i, j] K[j, a]";
            break;
        case ChangeOf::w_k:
            a.out.formula = change.turns() ? "Σ_i Σ_j c[i, j] X[j, b] (R_jᵀ Q[i])[a]"
                                           : "Σ_i (Σ_j c[i, j] X[j, b]) · Q[i, a]";
            break;
    }
    if (a.out.operands.empty()) {
        a.out.line("change", 0);
        a.out.note = "Nothing is wished for that this could serve.";
        return a.out;
    }
    a.out.operands_title = change.of() == ChangeOf::q ? "c · K, key by key" : "row by row with wishes";
    a.out.line("change", a.out.dot());
    a.out.note =
        "c says how much of each key a least change has: more of those with a wish for more, less of the "
        "others by "
        "their weights. What serves no wish is " +
        fixed(search.idle_share(), 3) + " of its length.";
    return a.out;
}

std::optional<Explained> InverseLens::explain_iteration(Subject& subject, const LensCell& cell) {
    auto a = begin_change(subject);
    const Index step = cell.at[1];
    if (!a || step >= std::ssize(a->change.search()->iterations())) return std::nullopt;
    const LeastChange::Iteration& at = a->change.search()->iterations()[static_cast<std::size_t>(step)];
    const bool length = cell.at[0] == 1;
    const std::string name(inverse_cells::measure_words[static_cast<std::size_t>(cell.at[0])]);
    a->out.title = length ? "Length of the change" : "Residual";
    a->out.f64 = length ? at.length : at.residual;
    a->out.f32 = static_cast<double>(static_cast<float>(a->out.f64));
    a->out.formula = length ? "|z|" : "max |log-odds wished for − log-odds|";
    a->step(name, "after " + many(step, "step"), a->out.f64, {}, true);
    a->out.line(name, a->out.f64);
    return a->out;
}

// ---- The pattern ------------------------------------------------------------------------------------------

Explained InverseLens::begin_pattern(const LensCell& cell, std::string_view title, double value) {
    Explained out;
    out.title =
        std::string(title) + "[" + std::to_string(cell.at[0]) + ", " + std::to_string(cell.at[1]) + "]";
    out.provenance = "pattern of " + std::to_string(fit().n()) + " tokens";
    out.f64 = value;
    out.f32 = static_cast<double>(static_cast<float>(value));
    return out;
}

std::optional<Explained> InverseLens::explain_target(Subject&, const LensCell& cell) {
    const Index n = fit().n(), query = cell.at[0], key = cell.at[1];
    if (query >= n || key >= n) return std::nullopt;
    const auto row =
        std::span(fit().target()).subspan(static_cast<std::size_t>(query * n), static_cast<std::size_t>(n));
    Explained out = begin_pattern(cell, "Pattern", row[static_cast<std::size_t>(key)]);
    const auto count = std::ranges::count_if(row, [](double each) { return each > 0; });
    const std::string share = "1 / " + std::to_string(count);
    out.formula = out.f64 > 0 ? "1 / painted cells of the row" : "not painted";
    out.steps.push_back({"weight", out.f64 > 0 ? share : "", four(out.f64), true, {}});
    out.line("weight", out.f64 > 0 ? Expression(1) / static_cast<double>(count) : Expression(0));
    return out;
}

std::optional<Explained> InverseLens::explain_fitted_weight(Subject&, const LensCell& cell) {
    const Index n = fit().n(), query = cell.at[0], key = cell.at[1];
    const FittedPattern* shown = fitted();
    if (!shown || query >= n || key >= n) return std::nullopt;
    const Index d = shown->d_k;
    const auto q = [&](Index a) { return shown->q[static_cast<std::size_t>(query * d + a)]; };
    const auto k = [&](Index j, Index a) { return shown->k[static_cast<std::size_t>(j * d + a)]; };
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    ScoreRow row{{}, {}, std::vector<std::uint8_t>(static_cast<std::size_t>(n), 1), scale, 0};
    for (Index j = 0; j < n; ++j) {
        double raw = 0;
        for (Index a = 0; a < d; ++a) raw += q(a) * k(j, a);
        row.raw.push_back(raw);
    }
    const CellExplanation c = RowChain(std::move(row)).at(key);
    Explained out = begin_pattern(cell, "Fitted weights", c.weight);
    out.formula = "softmax of Σ_a Q[i, a] · K[j, a] / √d_k";
    out.operands_title = "Q · K";
    out.left_name = "q", out.right_name = "k";
    for (Index a = 0; a < d; ++a)
        out.operands.push_back({std::to_string(a), q(a), k(key, a), q(a) * k(key, a),
                                CellPlace{{}, inverse_cells::fitted_query(query, a)},
                                CellPlace{{}, inverse_cells::fitted_key(key, a)}});
    out.line("score", out.dot());
    explain_chain(out, c, 0);
    out.note =
        "The pattern has " + four(fit().target()[static_cast<std::size_t>(query * n + key)]) + " here.";
    return out;
}

std::optional<Explained> InverseLens::explain_fitted_vector(Subject&, const LensCell& cell) {
    const FittedPattern* shown = fitted();
    if (!shown || cell.at[0] >= fit().n() || cell.at[1] >= shown->d_k) return std::nullopt;
    const bool of_q = cell.kind == &inverse_cells::fitted_query;
    const std::vector<double>& numbers = of_q ? shown->q : shown->k;
    Explained out = begin_pattern(cell, of_q ? "Fitted Q" : "Fitted K",
                                  numbers[static_cast<std::size_t>(cell.at[0] * shown->d_k + cell.at[1])]);
    out.formula = "found by L-BFGS";
    out.note = "It makes the cross-entropy of the pattern small, from the best of " +
               std::to_string(PatternFit::starts) + " starts.";
    out.line("component", out.f64);
    return out;
}

std::optional<Explained> InverseLens::explain_fit(Subject&, const LensCell& cell) {
    const PatternFit& all = fit();
    const Index d = cell.at[0];
    const FittedPattern* shown = d > 0 && d <= all.n() ? fitted_at(d) : nullptr;
    if (!shown) return std::nullopt;
    const bool error = cell.kind == &inverse_cells::error;
    Explained out = begin_pattern(cell, "", error ? shown->largest_error : shown->divergence);
    out.title = (error ? "Largest error, d_k = " : "Divergence, d_k = ") + std::to_string(d);
    if (!error) out.unit = "nats";
    out.formula = error ? "max |A − pattern|" : "mean over rows of Σ_j P[i, j] log (P[i, j] / A[i, j])";
    const std::string name(cell.kind->name);
    out.steps.push_back({name, "", four(out.f64), true, {}});
    out.line(name, out.f64);
    out.note = std::to_string(shown->rows_right) + " of " + many(all.rows(), "row") +
               " have their strongest key where the pattern has it.";
    return out;
}

}  // namespace attn::app
