#include "lenses/ladder/ladder.hpp"

#include <algorithm>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

const Fields<LadderState>& LadderState::fields() {
    using S = LadderState;
    static const Field<S> all[]{
        {"ladder.tokens", [](const S& s) { return many(s.tokens, "token") + " of the ladder"; },
         whole<&S::tokens>("number of tokens", 1, ladder_tokens_limit),
         whole<&S::first>("first token", 0, position_limit - 1)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows ladder_links() { return {rows_of_fields<LadderState, 1>()}; }

Range ladder_window(const LadderState& state, Index count, std::optional<Index> looked) {
    const Index tokens = std::min(state.tokens, count);
    const Index last_first = count - tokens;
    const Index following = looked ? *looked + 1 - tokens : 0;
    const Index first = std::clamp(state.first.value_or(following), Index{0}, last_first);
    return {first, first + tokens};
}

std::optional<Missing> LadderLens::missing(Subject& subject) const {
    if (subject.ladder()) return std::nullopt;
    return Missing{
        "A ladder needs the vectors behind the weights, Q and K; here there are only finished "
        "weights."};
}

LadderLens::Window LadderLens::window_of(Subject& subject) const {
    const Ladder& ladder = *subject.ladder();
    if (ladder.edits()) return {{0, ladder.queries()}, {0, ladder.keys()}};
    const LadderState& shown = state().of<LadderState>();
    const Attention* attention = subject.attention();
    const auto chosen = state().selection.query;
    const auto looked = chosen                            ? chosen
                        : attention && attention->trace() ? std::optional(attention->predicted())
                                                          : std::nullopt;
    return {ladder_window(shown, ladder.queries(), looked), ladder_window(shown, ladder.keys(), looked)};
}

// The matrix of the pinned cell is in focus, otherwise the weights.
std::vector<Table> LadderLens::tables(Subject& subject) {
    std::vector<Table> tables;
    const Ladder* ladder = subject.ladder();
    if (!ladder) return tables;
    const Stage wanted = state().pin && state().pin->run() ? state().pin->run()->stage : Stage::weight;
    const auto [queries, keys] = window_of(subject);
    for (const auto& row : ladder->rungs(queries, keys))
        for (const Rung& rung : row) {
            tables.push_back(table_of(rung));
            if (rung.stage == wanted) bring_forward(tables, tables.size() - 1);
        }
    return tables;
}

bool LadderLens::shows(Subject& subject, const CellRef& cell) const {
    const Ladder* ladder = subject.ladder();
    if (!ladder || !cell.run() || !cell.run()->is_plain()) return false;
    const auto rungs =
        ladder->rungs({0, std::min<Index>(1, ladder->queries())}, {0, std::min<Index>(1, ladder->keys())});
    return std::ranges::any_of(rungs, [&](const std::vector<Rung>& row) {
        return std::ranges::find(row, cell.run()->stage, &Rung::stage) != row.end();
    });
}

// Moves the range of tokens if it does not hold the cell's.
std::vector<Command> LadderLens::reveal(Subject& subject, const CellRef& wanted) const {
    const RunCell& cell = *wanted.run();
    const Ladder& ladder = *subject.ladder();
    if (ladder.edits()) return {};
    const LadderState& now = state().of<LadderState>();
    const bool of_key = cell.stage == Stage::k || cell.stage == Stage::v, pairs = is_of_pairs(cell.stage);
    const auto query = of_key ? state().selection.query : std::optional(cell.row);
    const Index key = pairs ? cell.col : of_key ? cell.row : -1;
    const Range queries = ladder_window(now, ladder.queries(), query),
                keys = ladder_window(now, ladder.keys(), query);
    const auto holds = [](Range range, Index i) { return i < 0 || range.holds(i); };
    if (holds(queries, of_key ? -1 : cell.row) && holds(keys, key)) return {};
    return {SetLadderTokens{{std::max(key, Index{0}), now.tokens}}};
}

std::string LadderLens::spoken(Subject& subject) {
    const Index usual = usual_row(subject, window_of(subject).queries);
    return sentence_of(subject, subject.chosen().query.value_or(usual), told_);
}

std::string LadderLens::preview(Subject& subject, Index query) {
    return sentence_of(subject, query, previewed_);
}

std::string LadderLens::sentence_of(Subject& subject, Index of, Told& told) const {
    const Attention& attention = *subject.attention();
    const Ladder& ladder = *subject.ladder();
    const Selection s = subject.chosen();
    const auto record = attention.record(s.layer);
    const Index query = std::min(of, ladder.queries() - 1);
    if (!record || query < 0) return "";
    const Row row{attention.version(), {s.layer, s.head}, query};
    if (row != told.row) {
        told = {row, -1};
        const std::vector<float> weights = record->weights(s.head, query);
        for (Index key = 0; key < ladder.keys(); ++key) {
            const auto weight = [&](Index of) { return weights[static_cast<std::size_t>(of)]; };
            if (weight(key) > (told.strongest < 0 ? 0 : weight(told.strongest))) told.strongest = key;
        }
    }
    const Index most = told.strongest;
    const std::string asks = query_in_words(attention, query);
    if (most < 0) return "The mask leaves " + asks + " nothing to look at, so its output is 0.";
    const std::string there =
        attention.one_line() && most == query ? "itself" : key_in_words(attention, most);
    const float score = record->cell(attention.stages().front(), s.head, query, most);
    return asks + " looks most at " + there + ": its score of " + fixed(static_cast<double>(score), 2) +
           " becomes a weight of " + percent(static_cast<double>(ladder.weight(query, most))) + ".";
}

}  // namespace attn::app
