// Explains the numbers of a change: weights with it by the new q and k, these by the old and what is added, that by the wishes.
#include <cmath>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

struct Around {
    Explained& out;
    HeadChange& change;
    HeadIndex head;

    CellPlace at(InverseNumber number, Index row, Index col) const {
        return {head, cell_of(number, row, col)};
    }
    CellPlace at(Stage stage, Index row, Index col) const { return {head, {stage, row, col}}; }
    void step(std::string name, std::string arithmetic, double value, std::optional<CellPlace> place = {},
              bool current = false) const {
        out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, place});
    }
};

// From the raw score, in `score`, to the weight.
void explain_chain(Explained& out, const CellExplanation& c, double softcap) {
    const auto step = [&](const char* name, std::string arithmetic, double value, bool current = false) {
        out.steps.push_back({name, std::move(arithmetic), four(value), current, {}});
    };
    step("raw", "Σ q · k", c.raw);
    step("scaled", four(c.raw) + " × " + four(c.scale), c.scaled);
    add_line(out, "scaled", "score * " + in_expression(c.scale), c.scaled);
    std::string last = "scaled";
    if (softcap > 0) {
        const std::string cap = in_expression(softcap);
        step("capped", "soft cap " + four(softcap), c.capped);
        add_line(out, "capped", cap + " * tanh(scaled / " + cap + ")", c.capped);
        last = "capped";
    }
    if (c.bias != 0) {
        step("biased", four(c.capped) + " + " + four(c.bias), c.masked);
        add_line(out, "masked", last + " + " + in_expression(c.bias), c.masked);
        last = "masked";
    }
    step("weight", "exp(" + four(c.masked) + " − " + four(c.row_max) + ") / " + four(c.row_sum), c.weight,
         true);
    add_line(out, "weight",
             "exp(" + last + " - " + in_expression(c.row_max) + ") / " + in_expression(c.row_sum), c.weight);
}

void explain_weight(const Around& a, Index query, Index key) {
    HeadChange& change = a.change;
    const CellExplanation c = RowChain(change.row_after(query)).at(key);
    const double before = row_chain(change.record(), change.head(), query).at(key).weight;
    a.out.f64 = c.weight;
    a.out.f32 = static_cast<double>(change.after_f32(query, key));
    a.out.masked = !c.allowed;
    a.step("before", "", before, a.at(Stage::weight, query, key));
    if (!c.allowed) {
        a.out.formula = "0";
        a.out.note = "The mask hides this key.";
        add_line(a.out, "weight", "0", 0);
        return;
    }
    a.out.formula = "softmax of Σ_a Q′[i, a] · K′[j, a]";
    a.out.operands_title = "Q′ · K′";
    a.out.left_name = "q", a.out.right_name = "k";
    for (Index i = 0; i < change.record().d_k(); ++i) {
        const double q = change.q(query, i), k = change.k(key, i);
        a.out.operands.push_back({std::to_string(i), q, k, q * k, a.at(InverseNumber::q, query, i),
                                  a.at(InverseNumber::k, key, i)});
    }
    add_line(a.out, "score", "dot(q, k)", c.raw);
    explain_chain(a.out, c, change.record().spec().softcap);
    for (const CellWish& wish : change.wishes())
        if (wish.query == query && wish.key == key)
            a.out.note = "You wished for " + shortest(wish.weight) + "; it is off by " +
                         fixed(std::abs(c.weight - wish.weight), 3) + ".";
}

// A number and what is added to it.
void explain_moved(const Around& a, const char* formula, double now, double after, CellPlace now_at,
                   std::optional<CellPlace> by_at) {
    a.out.f64 = after;
    a.out.f32 = static_cast<double>(static_cast<float>(after));
    a.out.formula = formula;
    a.step("before", "", now, now_at);
    a.step("change", "", after - now, by_at);
    a.step("after", four(now) + " + " + four(after - now), after, {}, true);
    add_line(a.out, "after", in_expression(now) + " + " + in_expression(after - now), after);
}

// By what each row with wishes adds: its q from the keys, its keys from q, or a projection from both.
void explain_by(const Around& a, Index row, Index col) {
    const HeadChange& change = a.change;
    const Record& record = change.record();
    const LeastChange& search = *change.search();
    const std::vector<Index>& rows = change.wished_rows();
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
        add_line(a.out, "change", "0", 0);
        a.out.note = "Nothing is wished for that this could serve.";
        return;
    }
    a.out.operands_title = change.of() == ChangeOf::q ? "c · K, key by key" : "row by row with wishes";
    add_line(a.out, "change", "dot(left, right)", a.out.f64);
    a.out.note =
        "c says how much of each key a least change has: more of those with a wish for more, less of the "
        "others by "
        "their weights. What serves no wish is " +
        fixed(search.idle_share(), 3) + " of its length.";
}

void explain_step(const Around& a, Index row, bool length) {
    const LeastChange::Iteration& at = a.change.search()->iterations()[static_cast<std::size_t>(row)];
    a.out.f64 = length ? at.length : at.residual;
    a.out.f32 = static_cast<double>(static_cast<float>(a.out.f64));
    a.out.formula = length ? "|z|" : "max |log-odds wished for − log-odds|";
    a.step(length ? "length" : "residual", "after " + many(row, "step"), a.out.f64, {}, true);
    add_line(a.out, length ? "length" : "residual", in_expression(a.out.f64), a.out.f64);
}

}  // namespace

std::optional<Explained> InverseLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (place.cell.second) return std::nullopt;
    const InverseCell cell = inverse_cell(place.cell);
    if (cell.row < 0 || cell.col < 0) return std::nullopt;
    return cell.number >= InverseNumber::target ? explain_pattern(cell) : explain_change(subject, cell);
}

std::optional<Explained> InverseLens::explain_change(Subject& subject, const InverseCell& cell) {
    if (!subject.attention() || !change(subject) || !change_->found()) return std::nullopt;
    HeadChange* now = &*change_;
    const Record& record = now->record();
    const Attention& attention = *subject.attention();
    Explained out;
    const Around around{out, *now, subject.chosen_head()};
    out.provenance =
        head_text(around.head, attention.numbering(), ", ") +
        (now->proven() ? " · with the least change of " : " · with the shortest change found of ") +
        std::string(symbol(info(now->of()).stage));
    const std::string column = std::to_string(cell.col);
    const auto titled = [&](const std::string& name, const std::string& row, const std::string& col) {
        out.title = name + "[" + row + ", " + col + "]";
    };
    const auto is = [&](InverseNumber number, Index rows, Index cols) {
        return cell.number == number && cell.row < rows && cell.col < cols;
    };
    const std::string query = label_at(attention.query_names(), cell.row),
                      key = label_at(attention.key_names(), cell.row);
    const bool of_w = now->x() != nullptr;
    if (is(InverseNumber::weight, record.queries(), record.keys())) {
        titled("Weights′", query, label_at(attention.key_names(), cell.col));
        explain_weight(around, cell.row, cell.col);
    } else if (is(InverseNumber::q, record.queries(), record.d_k())) {
        titled("Q′", query, column);
        const auto before = static_cast<double>(record.q().heads().head(now->head())(cell.row, cell.col));
        explain_moved(around, "Q[i, a] + change", before, now->q(cell.row, cell.col),
                      around.at(Stage::q, cell.row, cell.col),
                      now->of() == ChangeOf::q
                          ? std::optional(around.at(InverseNumber::change, cell.row, cell.col))
                          : std::nullopt);
    } else if (is(InverseNumber::k, record.keys(), record.d_k())) {
        titled("K′", key, column);
        const auto before =
            static_cast<double>(record.k().heads().head(record.kv_head(now->head()))(cell.row, cell.col));
        const bool of_k = now->of() == ChangeOf::key || now->of() == ChangeOf::keys;
        explain_moved(
            around, "K[j, a] + change", before, now->k(cell.row, cell.col),
            around.at(Stage::k, cell.row, cell.col),
            of_k ? std::optional(around.at(InverseNumber::change, cell.row, cell.col)) : std::nullopt);
    } else if (is(InverseNumber::change, now->changed_rows(), record.d_k())) {
        titled("Change of " + std::string(symbol(info(now->of()).stage)),
               of_w                       ? std::to_string(cell.row)
               : now->of() == ChangeOf::q ? query
                                          : key,
               column);
        explain_by(around, cell.row, cell.col);
    } else if (of_w && is(InverseNumber::w, now->x()->cols, record.d_k())) {
        const auto projections = edited_projections(subject, state());
        if (!projections) return std::nullopt;
        const bool of_q = now->of() == ChangeOf::w_q;
        titled(of_q ? "W_Q′" : "W_K′", std::to_string(cell.row), column);
        const double before = (of_q ? projections->w_q : projections->w_k).at(cell.row, cell.col);
        explain_moved(around, "W[c, a] + change", before, before + now->change(cell.row, cell.col),
                      around.at(of_q ? Stage::w_q : Stage::w_k, cell.row, cell.col),
                      around.at(InverseNumber::change, cell.row, cell.col));
    } else if (is(InverseNumber::step, std::ssize(now->search()->iterations()), 2)) {
        out.title = cell.col == 1 ? "Length of the change" : "Residual";
        explain_step(around, cell.row, cell.col == 1);
    } else {
        return std::nullopt;
    }
    return out;
}

std::optional<Explained> InverseLens::explain_pattern(const InverseCell& cell) {
    const PatternFit& all = fit();
    const Index n = all.n();
    const bool of_d = cell.number == InverseNumber::error || cell.number == InverseNumber::divergence;
    const FittedPattern* shown = of_d ? cell.row > 0 ? fitted_at(cell.row) : nullptr : fitted();
    if (of_d ? cell.row > n || cell.col > 0 : cell.row >= n) return std::nullopt;
    if (cell.number != InverseNumber::target && !shown) return std::nullopt;
    Explained out;
    const auto at = [&](const std::vector<double>& numbers, Index cols) {
        return numbers[static_cast<std::size_t>(cell.row * cols + cell.col)];
    };
    const auto place = [](InverseNumber number, Index row, Index col) {
        return CellPlace{{}, cell_of(number, row, col)};
    };
    const auto step = [&](std::string name, std::string arithmetic, double value, bool current = false) {
        out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, {}});
    };
    const std::string indices = "[" + std::to_string(cell.row) + ", " + std::to_string(cell.col) + "]";
    out.provenance = "pattern of " + std::to_string(n) + " tokens";
    switch (cell.number) {
        case InverseNumber::target: {
            if (cell.col >= n) return std::nullopt;
            out.title = "Pattern" + indices;
            out.f64 = at(all.target(), n);
            Index count = 0;
            for (Index j = 0; j < n; ++j)
                count += all.target()[static_cast<std::size_t>(cell.row * n + j)] > 0;
            out.formula = out.f64 > 0 ? "1 / painted cells of the row" : "not painted";
            step("weight", out.f64 > 0 ? "1 / " + std::to_string(count) : "", out.f64, true);
            add_line(out, "weight", out.f64 > 0 ? "1 / " + std::to_string(count) : "0", out.f64);
            break;
        }
        case InverseNumber::fitted: {
            if (cell.col >= n) return std::nullopt;
            out.title = "Fitted weights" + indices;
            const double scale = 1 / std::sqrt(static_cast<double>(shown->d_k));
            ScoreRow row{{}, {}, std::vector<std::uint8_t>(static_cast<std::size_t>(n), 1), scale, 0};
            for (Index j = 0; j < n; ++j) {
                double raw = 0;
                for (Index a = 0; a < shown->d_k; ++a)
                    raw += shown->q[static_cast<std::size_t>(cell.row * shown->d_k + a)] *
                           shown->k[static_cast<std::size_t>(j * shown->d_k + a)];
                row.raw.push_back(raw);
            }
            const CellExplanation c = RowChain(std::move(row)).at(cell.col);
            out.f64 = c.weight;
            out.formula = "softmax of Σ_a Q[i, a] · K[j, a] / √d_k";
            out.operands_title = "Q · K";
            out.left_name = "q", out.right_name = "k";
            for (Index a = 0; a < shown->d_k; ++a) {
                const double q = shown->q[static_cast<std::size_t>(cell.row * shown->d_k + a)],
                             k = shown->k[static_cast<std::size_t>(cell.col * shown->d_k + a)];
                out.operands.push_back({std::to_string(a), q, k, q * k,
                                        place(InverseNumber::fit_q, cell.row, a),
                                        place(InverseNumber::fit_k, cell.col, a)});
            }
            add_line(out, "score", "dot(q, k)", c.raw);
            explain_chain(out, c, 0);
            out.note = "The pattern has " + four(at(all.target(), n)) + " here.";
            break;
        }
        case InverseNumber::fit_q:
        case InverseNumber::fit_k: {
            if (cell.col >= shown->d_k) return std::nullopt;
            const bool of_q = cell.number == InverseNumber::fit_q;
            out.title = (of_q ? "Fitted Q" : "Fitted K") + indices;
            out.f64 = at(of_q ? shown->q : shown->k, shown->d_k);
            out.formula = "found by L-BFGS";
            out.note = "It makes the cross-entropy of the pattern small, from the best of " +
                       std::to_string(PatternFit::starts) + " starts.";
            add_line(out, "component", in_expression(out.f64), out.f64);
            break;
        }
        case InverseNumber::error:
        case InverseNumber::divergence: {
            const bool error = cell.number == InverseNumber::error;
            out.title = (error ? "Largest error, d_k = " : "Divergence, d_k = ") + std::to_string(cell.row);
            out.f64 = error ? shown->largest_error : shown->divergence;
            if (!error) out.unit = "nats";
            out.formula =
                error ? "max |A − pattern|" : "mean over rows of Σ_j P[i, j] log (P[i, j] / A[i, j])";
            step(error ? "error" : "divergence", "", out.f64, true);
            add_line(out, error ? "error" : "divergence", in_expression(out.f64), out.f64);
            out.note = std::to_string(shown->rows_right) + " of " + many(all.rows(), "row") +
                       " have their strongest key where the pattern has it.";
            break;
        }
        default: return std::nullopt;
    }
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    return out;
}

}  // namespace attn::app
