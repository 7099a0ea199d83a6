#include "lenses/gradient/gradient.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

// "component,1" or "value,2", and the rate of a step.
constexpr LinkRow gradient_rows[] = {
    {"gradient.loss", "component and its number, or value and a key's number, as value,2",
     [](State& s, const std::string& text) {
         const auto parts = split(text, ',');
         const auto number = parts.size() == 2 ? read_integer<Index>(parts[1]) : std::nullopt;
         if (!number || (parts[0] != "component" && parts[0] != "value")) return false;
         GradientState next = s.of<GradientState>();
         next.to_value = parts[0] == "value";
         (next.to_value ? next.key : next.component) = *number;
         return take(s, SetGradient{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const GradientState& now = s.of<GradientState>();
         if (!now.to_value && now.component == 0) return std::nullopt;
         return now.to_value ? "value," + std::to_string(now.key)
                             : "component," + std::to_string(now.component);
     }},
    {"gradient.rate", "the rate of a step, above 0 and at most 100",
     [](State& s, const std::string& text) {
         const auto rate = read_number(text);
         if (!rate) return false;
         GradientState next = s.of<GradientState>();
         next.rate = *rate;
         return take(s, SetGradient{next});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const double rate = s.of<GradientState>().rate;
         return rate == GradientState{}.rate ? std::nullopt : std::optional(shortest(rate));
     }},
};

}  // namespace

LinkRows gradient_links() { return {gradient_rows}; }

Status SetGradient::apply(State& state) const {
    const auto within = [](Index i) { return i >= 0 && i < position_limit; };
    if (!within(gradient.component) || !within(gradient.key))
        return Error{"There is no such component or key to aim at."};
    if (!(gradient.rate > 0) || gradient.rate > gradient_rate_limit)
        return Error{"The rate of a step is above 0 and at most 100."};
    state.edit<GradientState>() = gradient;
    // What is not asked for is as it was at first, so that a link says everything.
    (gradient.to_value ? state.edit<GradientState>().component : state.edit<GradientState>().key) = 0;
    return ok();
}
std::string SetGradient::describe(const State& before) const {
    const GradientState& was = before.of<GradientState>();
    if (gradient.rate != was.rate) return "rate " + rounded(was.rate, 3) + " → " + rounded(gradient.rate, 3);
    return gradient.to_value ? "gradient to value " + std::to_string(gradient.key)
                             : "gradient of component " + std::to_string(gradient.component);
}

Status StepAlong::apply(State& state) const {
    for (const Command& edit : edits)
        if (const Status done = edit.apply(state); !done) return done;
    return ok();
}

std::optional<Missing> GradientLens::missing(Subject& subject) const {
    const Attention* attention = subject.attention();
    const Selection& s = state().selection;
    if (!attention || s.layer >= attention->layers() || s.head >= attention->heads()) return std::nullopt;
    if (attention->finished())
        return Missing{"A gradient goes back through Q, K and V; these weights were given finished."};
    const auto record = attention->record(s.layer);
    if (record && (record->d_v() == 0 || record->queries() == 0 || record->keys() == 0))
        return Missing{"A gradient begins at an output; there are no values here to make one of."};
    return std::nullopt;
}

const Slopes* GradientLens::slopes(Subject& subject) const {
    const Attention* attention = subject.attention();
    const Selection& s = state().selection;
    if (!attention || s.layer >= attention->layers() || s.head >= attention->heads()) return nullptr;
    const auto record = attention->record(s.layer);
    if (!record || record->d_v() == 0 || record->queries() == 0 || record->keys() == 0) return nullptr;
    const GradientState& asked = state().of<GradientState>();
    Shown now{attention->version(), {s.layer, s.head}, 0, {}};
    now.query = std::min(s.query.value_or(record->queries() - 1), record->queries() - 1);
    if (asked.to_value)
        now.loss.target = std::min(asked.key, record->keys() - 1);
    else
        now.loss.component = std::min(asked.component, record->d_v() - 1);
    if (shown_ == now && slopes_) return &*slopes_;
    check_begun_ = false;
    shown_ = now;
    const std::vector<Stage> stages = attention->stages();
    const bool scores_given = std::ranges::find(stages, Stage::raw) == stages.end();
    slopes_.emplace(record, now.head.head, now.query, now.loss, scores_given,
                    projections_of(state(), subject));
    return &*slopes_;
}

Range GradientLens::keys_shown(const Slopes& slopes) const {
    const Index keys = slopes.record().keys(), count = std::min(keys, gradient_keys_shown);
    const auto key = state().selection.key;
    Index first = std::clamp(slopes.query() + 1 - count, Index{0}, keys - count);
    if (key && (*key < first || *key >= first + count))
        first = std::clamp(*key - count / 2, Index{0}, keys - count);
    return {first, first + count};
}

std::optional<StepAlong> GradientLens::step(Subject& subject) const {
    const Slopes* all = slopes(subject);
    const Ladder* ladder = subject.ladder();
    const LadderEdits* edits = ladder ? ladder->edits() : nullptr;
    if (!all || !edits) return std::nullopt;
    const GradientState& asked = state().of<GradientState>();
    const double rate = asked.to_value ? -asked.rate : asked.rate;
    StepAlong step;
    for (const Slope slope : inputs_of(*all)) {
        // Scores that are given are edited where they stand.
        const Stage stage = slope == Slope::masked ? Stage::raw : info(slope).stage;
        if (!edits->may_edit(state(), stage)) return std::nullopt;
        const Range rows = all->rows(slope);
        for (Index row = rows.begin; row < rows.end; ++row)
            for (Index col = 0; col < all->cols(slope); ++col) {
                const double by = rate * all->value(slope, row, col);
                const CellRef cell{stage, row, col};
                if (by != 0) step.edits.push_back(edits->set(cell, edits->value(state(), cell) + by));
            }
    }
    if (step.edits.empty()) return std::nullopt;
    return step;
}

bool GradientLens::check_some(const Slopes& slopes) {
    if (!check_begun_) {
        check_begun_ = true;
        check_ = {};
        const Range keys = keys_shown(slopes);
        for (const Slope slope :
             {Slope::q, Slope::k, Slope::v, Slope::x, Slope::w_q, Slope::w_k, Slope::w_v}) {
            if (!slopes.has(slope)) continue;
            const Range rows = slope == Slope::k || slope == Slope::v ? keys : slopes.rows(slope);
            for (Index row = rows.begin; row < rows.end; ++row)
                for (Index col = 0; col < slopes.cols(slope); ++col)
                    check_.cells.push_back({slope, row, col});
        }
    }
    if (check_.done == check_.cells.size()) return false;
    const auto [slope, row, col] = check_.cells[check_.done++];
    if (const auto difference = slopes.difference(slope, row, col))
        check_.worst = std::max(check_.worst, std::abs(*difference - slopes.value(slope, row, col)));
    return check_.done < check_.cells.size();
}

Matrix matrix_of(const Slopes& slopes, Slope slope, Range keys) {
    const bool key_rows = rows_are_keys(slope), key_columns = columns_are_keys(slope);
    const Range rows = key_rows ? keys : slopes.rows(slope),
                cols = key_columns ? keys : Range{0, slopes.cols(slope)};
    Matrix matrix(rows.size(), cols.size());
    for (Index r = 0; r < rows.size(); ++r)
        for (Index c = 0; c < cols.size(); ++c)
            matrix.at(r, c) = static_cast<double>(slopes.single(slope, rows.begin + r, cols.begin + c));
    return matrix;
}

std::string title_of(Slope slope, const std::string& query_name) {
    if (slope == Slope::jacobian) return "∂A/∂S[" + query_name + ", ·]";
    const bool of_row = slope <= Slope::q;
    return "∂L/∂" + std::string(info(slope).of) + (of_row ? "[" + query_name + ", ·]" : "");
}

bool GradientLens::shows(Subject& subject, const CellRef& cell) const {
    if (cell.second || cell.words || cell.sink != Sink::shown) return false;
    const Slopes* all = slopes(subject);
    if (!all) return false;
    if (cell.stage == Stage::lens) {
        const auto [slope, row, col] = slope_of(cell);
        return all->holds(slope, row, col);
    }
    const Range keys = keys_shown(*all);
    const auto in_view = [&](Index key) { return key >= keys.begin && key < keys.end; };
    if (cell.stage == Stage::k || cell.stage == Stage::v) return in_view(cell.row);
    if (cell.stage == Stage::q || cell.stage == Stage::output) return cell.row == all->query();
    return cell.stage == Stage::weight && cell.row == all->query() && in_view(cell.col);
}

std::vector<Table> GradientLens::tables(Subject& subject) {
    std::vector<Table> tables;
    const Slopes* all = slopes(subject);
    if (!all) return tables;
    const Attention& attention = *subject.attention();
    const std::string query = label_at(attention.query_names(), all->query());
    const Range keys = keys_shown(*all);
    const auto names_of = [&](Index first, Index count, bool of_keys) {
        std::vector<std::string> names;
        for (Index i = 0; i < count; ++i)
            names.push_back(of_keys ? label_at(attention.key_names(), first + i) : std::to_string(first + i));
        return names;
    };
    const auto wanted =
        state().pin && state().pin->stage == Stage::lens ? slope_of(*state().pin).slope : Slope::masked;
    for (Index i = 0; i < slope_count; ++i) {
        const auto slope = static_cast<Slope>(i);
        if (!all->has(slope)) continue;
        Matrix matrix = matrix_of(*all, slope, keys);
        const bool key_rows = rows_are_keys(slope), key_columns = columns_are_keys(slope);
        Table table{title_of(slope, query), names_of(key_columns ? keys.begin : 0, matrix.cols, key_columns),
                    slope <= Slope::q ? std::vector{query}
                                      : names_of(key_rows ? keys.begin : 0, matrix.rows, key_rows),
                    std::move(matrix)};
        tables.push_back(std::move(table));
        if (slope == wanted) bring_forward(tables, tables.size() - 1);
    }
    return tables;
}

std::string GradientLens::spoken(Subject& subject) {
    const Slopes* all = slopes(subject);
    if (!all) return "";
    const Attention& attention = *subject.attention();
    const RowPass<double>& pass = all->f64();
    const std::string query = query_in_words(attention, all->query());
    if (std::ranges::none_of(pass.allowed, [](std::uint8_t each) { return each != 0; }))
        return "The mask leaves " + query + " nothing to look at, so nothing can change its output.";
    if (!std::isfinite(pass.loss) ||
        !std::ranges::all_of(pass.d_masked, [](double d) { return std::isfinite(d); }))
        return "Some number that " + query + " meets is not finite, so its output has no gradient.";
    const auto key = [&](Index j) {
        return attention.one_line() && j == all->query() ? "itself" : key_in_words(attention, j);
    };
    const auto best = all->loss().target ? std::ranges::min_element(pass.d_masked)
                                         : std::ranges::max_element(pass.d_masked);
    const auto worst = all->loss().target ? std::ranges::max_element(pass.d_masked)
                                          : std::ranges::min_element(pass.d_masked);
    const std::string aim =
        all->loss().target
            ? "To bring the output of " + query + " nearer to the value of " + key(*all->loss().target)
            : "To raise component " + std::to_string(all->loss().component) + " of the output of " + query;
    if (std::abs(*best) < 1e-12 && std::abs(*worst) < 1e-12)
        return aim + ", it does not matter where it looks: the gradient of every score is 0.";
    const auto at = [&](auto found) { return static_cast<Index>(found - pass.d_masked.begin()); };
    return aim + ", the head would look more at " + key(at(best)) + " (∂L/∂S " + fixed(*best, 3) +
           ") and less at " + key(at(worst)) + " (" + fixed(*worst, 3) + ").";
}

Guide GradientLens::guide(Subject&) const {
    return {
        "Backwards through one row",
        "Above, the forward pass of one query. Below each number, its slope: how fast L, what you ask of the "
        "output, grows when that number does. It is what training goes by.\n\n"
        "Softmax gives a score the gradient A · (∂L/∂A − their mean): a key of almost no weight learns "
        "almost "
        "nothing, and what helps one key takes from the others (Rumelhart, Hinton & Williams 1986).\n\n"
        "Every number is also found by moving what it is the slope of and computing the loss again: "
        "click one."};
}

}  // namespace attn::app
