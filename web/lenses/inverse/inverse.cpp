#include "lenses/inverse/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "parts/take_over.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr Index rows_looked_at = 64;            // rows examined for side effects
constexpr Index inputs_limit = Index{1} << 21;  // numbers of X
constexpr double search_ms = 1;

// Some of all rows, evenly chosen, after those in view.
std::vector<Index> rows_to_look_at(Range in_view, Index all) {
    std::vector<Index> rows;
    for (Index i = in_view.begin; i < in_view.end; ++i) rows.push_back(i);
    const Index count = std::min(all, rows_looked_at);
    for (Index s = 0; s < count; ++s)
        if (const Index i = s * all / count; i < in_view.begin || i >= in_view.end) rows.push_back(i);
    return rows;
}

// Returns the page that contains a place; it stays while another place on it is chosen.
Range page_of(Index place, Index all, Index size) {
    const Index first = place / size * size;
    return {first, std::min(first + size, all)};
}

// Returns at most this many around a place.
Range around(Index place, Index all, Index most) {
    const Index count = std::min(all, most), first = std::clamp(place - count / 2, Index{0}, all - count);
    return {first, first + count};
}

}  // namespace

// A record keeps its whole run in memory, so it is released.
void InverseLens::follow(const State&, Change) {
    if (!change_ || &visit().lens() == this) return;
    asked_.reset();
    change_.reset();
    chosen_.reset();
    keys_.reset();
    inputs_of_.reset();
    inputs_.reset();
}

std::optional<Missing> InverseLens::missing(Subject& subject) const {
    const Attention* attention = subject.attention();
    if (attention->finished())
        return Missing{"A change of q or k needs q and k; these weights were given finished."};
    const auto record = attention->record(subject.chosen().layer);
    if (!record || record->d_k() > 0) {
        if (record && (record->queries() == 0 || record->keys() == 0))
            return Missing{"There is no query here, or no key to look at."};
        const std::vector<Stage> stages = attention->stages();
        if (std::ranges::find(stages, Stage::raw) != stages.end()) return std::nullopt;
    }
    Missing missing{"These scores were given as they are; there are no q and k behind them to change."};
    const Ladder* ladder = subject.ladder();
    if (ladder && ladder->edits())
        if (const auto instead = ladder->edits()->instead(state(), {.stage = Stage::q}))
            missing.offer = Offer{instead->label, instead->command};
    return missing;
}

// ---- Inputs -----------------------------------------------------------------------------------------------

const std::optional<InverseLens::Inputs>& InverseLens::inputs(Subject& subject) {
    const Attention& attention = *subject.attention();
    const InputsOf of{state().subject, attention.version(), subject.chosen().layer};
    if (inputs_of_ == of) return inputs_;
    inputs_of_ = of;
    inputs_.reset();
    if (auto projections = edited_projections(subject, state())) {
        const auto x = std::make_shared<const Matrix>(std::move(projections->x));
        return inputs_ = Inputs{x, x, {}};
    }
    const auto trace = attention.trace();
    if (!trace || normalised(*trace, of.layer)) return inputs_;
    const LayerAttention attended = trace->attention(of.layer);
    const auto rows = [](const Tensor& x, Index count) -> std::shared_ptr<const Matrix> {
        if (x.size() == 0 || x.size() > inputs_limit || x.dim(0) != count) return nullptr;
        return std::make_shared<const Matrix>(
            Matrix{x.dim(0), x.dim(1), {x.values().begin(), x.values().end()}});
    };
    Inputs made{rows(attended.run.attention_input, attention.queries()), {}, {}};
    made.k =
        attended.place.kind == AttentionKind::cross ? rows(attended.key_input, attention.keys()) : made.q;
    if (!made.q || !made.k) return inputs_;
    if (const Rotary* rotary = trace->model()->network().rotary_of(of.layer))
        made.turns = TokenTurns{*rotary, rotary->of_text(trace->tokens())};
    return inputs_ = std::move(made);
}

bool InverseLens::normalised(const Trace& trace, Index layer) {
    const AttentionSublayer& half = trace.model()->network().attention(layer);
    return half.q_norm || half.k_norm;
}

const HeadChange* InverseLens::change(Subject& subject) {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    const auto record = attention.record(head.layer);
    if (!record || record->queries() == 0 || record->keys() == 0) return nullptr;
    const InverseState& wanted = state().of<InverseState>();
    Asked asked{state().subject, attention.version(), head, queries_shown(*record), wanted.of, wanted.wishes};
    // The targets may belong to a longer text.
    std::erase_if(asked.wishes, [&](const CellWish& wish) {
        return wish.query >= record->queries() || wish.key >= record->keys();
    });
    std::shared_ptr<const Matrix> x;
    std::optional<TokenTurns> turns;
    if (asked.of == ChangeOf::w_q || asked.of == ChangeOf::w_k) {
        if (const auto& made_of = inputs(subject)) {
            x = asked.of == ChangeOf::w_q ? made_of->q : made_of->k;
            turns = made_of->turns;
        }
        if (!x) asked.of = asked.of == ChangeOf::w_q ? ChangeOf::q : ChangeOf::keys;
    }
    if (asked_ != asked || !change_) {
        // A change of queries moves no other row.
        auto rows =
            asked.of == ChangeOf::q ? std::vector<Index>{} : rows_to_look_at(asked.page, record->queries());
        const bool same_keys = asked_ && keys_ && asked_->subject == asked.subject &&
                               asked_->version == asked.version && asked_->head == asked.head;
        if (!same_keys) keys_.reset();
        if (!keys_ && !asked.wishes.empty()) keys_ = keys_in_double(*record, head.head);
        change_.emplace(record, head.head, asked.of, asked.wishes, keys_, std::move(x), std::move(rows),
                        std::move(turns));
        asked_ = std::move(asked);
        // Most changes are found before the sentence about them is drawn.
        const Deadline soon(search_ms);
        while (!soon.passed() && change_->step()) continue;
    }
    return &*change_;
}

Index InverseLens::chosen_query(const Record& record) const {
    return std::min(app::chosen_query(subject_in(visit())), record.queries() - 1);
}

const InverseLens::Chosen& InverseLens::chosen(Subject& subject, const HeadChange& change) {
    const std::uint64_t version = subject.attention()->version();
    const HeadIndex head = subject.chosen_head();
    const Index query = chosen_query(change.record());
    if (!chosen_ || !chosen_->is_of(version, head, query)) {
        ScoreRow row = score_row(change.record(), head.head, query);
        RowChain now(row);
        chosen_.emplace(Chosen{version, head, query, std::move(row), std::move(now)});
    }
    return *chosen_;
}

PatternFit& InverseLens::fit() {
    const Pattern& pattern = state().of<InverseState>().pattern;
    if (fitted_of_ != pattern) {
        fitted_of_ = pattern;
        fit_.emplace(target_of(pattern), pattern.tokens, pattern.seed);
    }
    return *fit_;
}

const FittedPattern* InverseLens::fitted_at(Index components) {
    const PatternFit& all = fit();
    const Index d = std::min(components, all.n());
    return d <= std::ssize(all.found()) ? &all.found()[static_cast<std::size_t>(d - 1)] : nullptr;
}

Range InverseLens::queries_shown(const Record& record) const {
    return page_of(chosen_query(record), record.queries(), inverse_queries_shown);
}

ShownTokens InverseLens::keys_shown(const HeadChange& change) const {
    const Record& record = change.record();
    const Index query = chosen_query(record), last = record.keys() - 1;
    const Range page =
        page_of(std::min(state().selection.key.value_or(query), last), record.keys(), inverse_keys_shown);
    std::set<Index> keys;
    for (Index key = page.begin; key < page.end; ++key) keys.insert(key);
    for (const CellWish& each : change.wishes())
        if (each.query == query) keys.insert(each.key);
    const std::vector<float> row = record.weights(change.head(), query);
    if (!row.empty()) keys.insert(std::ranges::max_element(row) - row.begin());
    return {record.keys(), std::vector<Index>(keys.begin(), keys.end())};
}

// ---- Commands ---------------------------------------------------------------------------------------------

std::optional<InverseLens::Deed> InverseLens::deed(Subject& subject) {
    const HeadChange* now = change(subject);
    if (!now || !now->found() || now->is_so()) return std::nullopt;
    const Stage stage = info(now->of()).stage;
    const Ladder* ladder = subject.ladder();
    if (const LadderEdits* edits = ladder ? ladder->edits() : nullptr) {
        MakeItSo make;
        State next = state();
        std::string hint = "Sets " + std::string(symbol(stage)) + " to what is shown below; one step of undo";
        if (!edits->may_edit(next, stage)) {
            const auto instead = edits->instead(next, {.stage = stage});
            if (!instead || !take(next, instead->command) || !edits->may_edit(next, stage))
                return std::nullopt;
            hint = instead->why + " From now on, Q, K and V are given themselves.";
            make.edits.push_back(instead->command);
        }
        for (Index row = 0; row < now->changed_rows(); ++row)
            for (Index col = 0; col < now->record().d_k(); ++col) {
                const CellRef cell{stage, row, col};
                if (const double more = now->change(row, col); more != 0)
                    make.edits.push_back(edits->set(cell, edits->value(next, cell) + more));
            }
        return Deed{"Make it so", std::move(hint), std::move(make)};
    }
    const Range queries = around(now->wishes().front().query, now->record().queries(), matrix_size_limit),
                keys = around(now->wishes().front().key, now->record().keys(), matrix_size_limit);
    auto copy = parts::chosen_copy(subject, queries, keys);
    if (!copy) return std::nullopt;
    for (Index r = 0; r < copy->q.rows; ++r)
        for (Index a = 0; a < copy->q.cols; ++a) copy->q.at(r, a) = now->q(queries.begin + r, a);
    for (Index r = 0; r < copy->k.rows; ++r)
        for (Index a = 0; a < copy->k.cols; ++a) copy->k.at(r, a) = now->k(keys.begin + r, a);
    copy->from += std::string(", with another ") + std::string(symbol(stage));
    const auto offer = parts::offer_of(visit(), *copy);
    if (!offer) return std::nullopt;
    const bool whole = keys.size() == now->record().keys();
    return Deed{"Make it so in a copy",
                "Takes this head with the change to where its numbers can be edited" +
                    std::string(whole ? ""
                                      : ", with 64 of its tokens; without the others, their weights go "
                                        "to these"),
                offer->command};
}

std::optional<InverseLens::Deed> InverseLens::take_pattern() {
    const FittedPattern* shown = fitted();
    if (!shown) return std::nullopt;
    const Index n = fit().n();
    const std::vector<std::string> names = numbered_labels(n);
    const auto offer =
        parts::offer_of(visit(), HeadCopy{.q = Matrix(n, shown->d_k, shown->q),
                                          .k = Matrix(n, shown->d_k, shown->k),
                                          .v = identity(n, n),
                                          .query_labels = names,
                                          .key_labels = names,
                                          .from = "a fitted pattern, seed " +
                                                  std::to_string(state().of<InverseState>().pattern.seed)});
    if (!offer) return std::nullopt;
    return Deed{"Take these Q and K to the example",
                "V is the identity there, so that the output of each query is its row of weights",
                offer->command};
}

std::vector<CellWish> InverseLens::pattern_as_wishes(const HeadChange& change) const {
    constexpr double of_a_row = 0.9;
    const Pattern& pattern = state().of<InverseState>().pattern;
    const std::vector<std::uint8_t> cells = cells_of(pattern);
    const Record& record = change.record();
    std::vector<CellWish> wishes;
    for (Index i = 0; i < std::min(pattern.tokens, record.queries()); ++i) {
        std::vector<Index> keys;
        Index seen = 0;
        for (Index j = 0; j < record.keys(); ++j) {
            if (!record.spec().mask.allows(change.head(), i, j)) continue;
            ++seen;
            if (j < pattern.tokens && cells[static_cast<std::size_t>(i * pattern.tokens + j)])
                keys.push_back(j);
        }
        // A key without a target has to take the remaining weight.
        if (std::ssize(keys) == seen) continue;
        for (const Index key : keys) wishes.push_back({i, key, of_a_row / static_cast<double>(keys.size())});
    }
    return wishes;
}

// ---- Display ----------------------------------------------------------------------------------------------

Matrix InverseLens::weights_shown(const HeadChange& change, bool after) const {
    const Range queries = queries_shown(change.record());
    const ShownTokens keys = keys_shown(change);
    Matrix matrix(queries.size(), keys.size());
    for (Index r = 0; r < queries.size(); ++r) {
        const std::vector<double>* moved = after ? change.after(queries.begin + r) : nullptr;
        const std::vector<float> row = change.record().weights(change.head(), queries.begin + r);
        for (Index c = 0; c < keys.size(); ++c)
            matrix.at(r, c) = moved ? (*moved)[static_cast<std::size_t>(keys[c])]
                                    : static_cast<double>(row[static_cast<std::size_t>(keys[c])]);
    }
    return matrix;
}

InverseLens::MovedMatrix InverseLens::moved_matrix(Subject& subject, const HeadChange& change) const {
    const Record& record = change.record();
    const Attention& attention = *subject.attention();
    const Index d = record.d_k();
    const auto projections = change.of_projection() && change.x()->cols <= inverse_inputs_shown
                                 ? edited_projections(subject, state())
                                 : std::nullopt;
    MovedMatrix moved{Stage::k, &inverse_cells::key, keys_shown(change), {}, {}};
    if (projections) {
        moved.stage = info(change.of()).stage, moved.kind = &inverse_cells::projection,
        moved.rows = {change.x()->cols, Range{0, change.x()->cols}};
    } else if (change.of() == ChangeOf::q || change.of() == ChangeOf::w_q) {
        const Index only = change.wished_rows().front();
        moved.stage = Stage::q, moved.kind = &inverse_cells::query;
        moved.rows = {record.queries(),
                      change.wished_rows().size() == 1 ? Range{only, only + 1} : queries_shown(record)};
    }
    moved.values = projections ? matrix_before(subject, change, moved) : Matrix(moved.rows.size(), d);
    for (Index r = 0; r < moved.rows.size(); ++r) {
        const Index row = moved.rows[r];
        moved.row_names.push_back(projections               ? std::to_string(row)
                                  : moved.stage == Stage::q ? label_at(attention.query_names(), row)
                                                            : label_at(attention.key_names(), row));
        for (Index c = 0; c < d; ++c) {
            double& value = moved.values.at(r, c);
            value = projections               ? value + change.change(row, c)
                    : moved.stage == Stage::q ? change.q(row, c)
                                              : change.k(row, c);
        }
    }
    return moved;
}

// The original numbers of such a matrix.
Matrix InverseLens::matrix_before(Subject& subject, const HeadChange& change,
                                  const MovedMatrix& moved) const {
    const Record& record = change.record();
    if (moved.stage == Stage::q) return rows_of(record.q(), change.head(), moved.rows.tokens());
    if (moved.stage == Stage::k)
        return rows_of(record.k(), record.kv_head(change.head()), moved.rows.tokens());
    const auto projections = edited_projections(subject, state());
    return moved.stage == Stage::w_q ? projections->w_q : projections->w_k;
}

std::optional<InverseLens::MovedMatrix> InverseLens::change_matrix(Subject& subject,
                                                                   const HeadChange& change) const {
    MovedMatrix moved = moved_matrix(subject, change);
    if (moved.stage != info(change.of()).stage) return std::nullopt;
    moved.kind = &inverse_cells::change;
    for (Index r = 0; r < moved.rows.size(); ++r)
        for (Index c = 0; c < moved.values.cols; ++c) moved.values.at(r, c) = change.change(moved.rows[r], c);
    return moved;
}

bool InverseLens::shows(Subject& subject, const CellRef& cell) const {
    if (cell.second || cell.words || cell.sink != Sink::shown) return false;
    if (cell.own.kind) return true;
    const Attention* attention = subject.attention();
    const auto record = attention ? attention->record(subject.chosen().layer) : nullptr;
    if (!record || cell.stage != Stage::weight) return false;
    return queries_shown(*record).holds(cell.row) && (!change_ || keys_shown(*change_).holds(cell.col));
}

}  // namespace attn::app
