#include "lenses/gradient/gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/explain.hpp"
#include "subjects/projections.hpp"
#include "subjects/reading.hpp"

namespace attn::app::gradient {

namespace {

// Reads "component,1", "value,2", "logit", "logit,464" or "logit,464,2061".
bool read_aim(std::string_view text, State& to) {
    const auto parts = split(text, ',');
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto number = read_integer<std::int32_t>(parts[i]);
        if (!number) return false;
        numbers.push_back(*number);
    }
    if (parts[0] == "logit") {
        if (numbers.size() > 2) return false;
        to.aim = Aim::logit;
        to.raise = numbers.empty() ? std::nullopt : std::optional(numbers[0]);
        to.over = numbers.size() < 2 ? std::nullopt : std::optional(numbers[1]);
        return true;
    }
    if (numbers.size() != 1 || (parts[0] != "component" && parts[0] != "value")) return false;
    to.aim = parts[0] == "value" ? Aim::value : Aim::component;
    (to.aim == Aim::value ? to.key : to.component) = numbers[0];
    return true;
}

std::string aim_text(const State& of) {
    switch (of.aim) {
        case Aim::component: return "component," + std::to_string(of.component);
        case Aim::value: return "value," + std::to_string(of.key);
        case Aim::logit: break;
    }
    return std::string("logit") + (of.raise ? "," + std::to_string(*of.raise) : "") +
           (of.over ? "," + std::to_string(*of.over) : "");
}

constexpr std::string_view aim_examples[] = {"value,2", "component,1", "logit", "logit,4", "logit,4,2"};

std::string aim_in_words(const State& of) {
    switch (of.aim) {
        case Aim::component: return "gradient of component " + std::to_string(of.component);
        case Aim::value: return "gradient to value " + std::to_string(of.key);
        case Aim::logit: break;
    }
    return of.over ? "gradient of a difference of logits" : "gradient of a logit";
}

Status check_aim(const State& gradient) {
    const auto within = [](Index i) { return i >= 0 && i < position_limit; };
    if (!within(gradient.component) || !within(gradient.key))
        return Error{"Choose a component or a key of this head to aim at."};
    if (gradient.raise.value_or(0) < 0 || gradient.over.value_or(0) < 0)
        return Error{"Choose a token of the vocabulary to aim at."};
    if (gradient.over && (!gradient.raise || *gradient.raise == *gradient.over))
        return Error{"Choose two different tokens for a logit difference."};
    return ok();
}

// Resets the settings that the loss does not use, so that a link says everything.
void keep_the_aim(State& gradient) {
    State asked{.aim = gradient.aim, .from = gradient.from, .rate = gradient.rate};
    switch (gradient.aim) {
        case Aim::component: asked.component = gradient.component; break;
        case Aim::value: asked.key = gradient.key; break;
        case Aim::logit: asked.raise = gradient.raise, asked.over = gradient.over; break;
    }
    gradient = asked;
}

std::optional<ChosenRow> row_with_values(Subject& subject) {
    if (!subject.attention()) return std::nullopt;
    ChosenRow row = chosen_row(subject);
    const Record* record = row.record.get();
    if (!record || record->d_v() == 0 || row.query < 0 || record->keys() == 0) return std::nullopt;
    return row;
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"gradient.rate", "rate {}", real<&S::rate>("rate of a step", 1e-9, rate_limit)},
        {"gradient.from", "components from {} on", whole<&S::from>("first component", 0, position_limit - 1)},
        {"gradient.loss", aim_in_words,
         FieldPart<S>{{.kind = FieldValue::Kind::spelled, .what = "loss", .names = aim_examples},
                      [](const FieldValue&, S& to, std::string_view text) { return read_aim(text, to); },
                      [](const FieldValue&, const S& s) { return aim_text(s); },
                      [](const FieldValue&, const S&) { return true; },
                      [](const S& a, const S& b) { return aim_text(a) == aim_text(b); }}},
    };
    static const Fields<S> fields{.all = all, .check = check_aim, .normalise = keep_the_aim};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 3>()}; }

Status StepAlong::apply(app::State& state) const {
    for (const Command& edit : edits)
        if (const Status done = edit.apply(state); !done) return done;
    return ok();
}

std::optional<CellRef> packed_cell(Index row, Index col) {
    return cells::derivative(col % slope_count, row, col / slope_count);
}

// ---- The gradients ----------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention* attention = subject.attention();
    if (attention->finished())
        return Missing{"A gradient goes back through Q, K and V; these weights were given finished."};
    const auto record = attention->record(subject.chosen().layer);
    if (record && (record->d_v() == 0 || record->queries() == 0 || record->keys() == 0))
        return Missing{"A gradient begins at an output; there are no values here to make one of."};
    return std::nullopt;
}

std::optional<LogitLoss> Model::logit_loss() const {
    if (state.raise) return LogitLoss{*state.raise, state.over};
    if (logit.likeliest().empty()) return std::nullopt;
    return LogitLoss{logit.likeliest().front().id, std::nullopt};
}

std::string Model::logit_name(Subject& subject) const {
    const auto loss = logit_loss();
    if (!loss) return "";
    const auto name = [&](std::int32_t id) {
        const std::vector<std::string> texts = subject.token_texts(std::array{id});
        return texts.empty() ? "token " + std::to_string(id) : curly_quoted(texts.front());
    };
    return "the logit of " + name(loss->raise) + (loss->over ? " over that of " + name(*loss->over) : "");
}

// Returns nothing until the backward pass from a logit has reached the row.
std::optional<RowLoss> Model::loss_now(const Attention& attention) {
    const auto trace = attention.trace();
    RowLoss loss;
    switch (aim) {
        case Aim::component: loss.component = std::min(state.component, row->record->d_v() - 1); break;
        case Aim::value: loss.target = std::min(state.key, row->record->keys() - 1); break;
        case Aim::logit: {
            const auto asked = logit_loss();
            if (!asked || !logit.ask(*asked)) return std::nullopt;
            logit.go_to(row->head, row->query);
            const std::span<const float> along = logit.slopes();
            if (along.empty()) return std::nullopt;
            loss.along.assign(along.begin(), along.end());
            break;
        }
    }
    if (trace)
        for (const Intervention& each : trace->interventions())
            if (is_at(each, trace->model()->network(), row->head.layer, Site::head_output))
                loss.edits.push_back(each.edit);
    return loss;
}

void Model::update(Visit& visit, Subject& subject) {
    state = visit.state().of<State>();
    pin = visit.state().pin;
    row = row_with_values(subject);
    const Attention* attention = subject.attention();
    const auto trace = attention ? attention->trace() : nullptr;
    aim = state.aim == Aim::logit && !trace ? Aim::component : state.aim;
    if (trace) logit.read(trace, attention->logits_row());
    const auto loss = row ? loss_now(*attention) : std::nullopt;
    if (!loss) return job.reset();
    if (Given wanted{attention->version(), *row, state.from, *loss}; !job || given != wanted) {
        given = std::move(wanted);
        check.reset();
        const std::vector<Stage> stages = attention->stages();
        const bool scores_given = std::ranges::find(stages, Stage::raw) == stages.end();
        job.emplace(row->record, row->head.head, row->query, *loss, scores_given,
                    trace ? projections_of(*trace, row->head, row->query, state.from, most_components)
                          : edited_projections(subject, visit.state()));
        const Deadline deadline(frame_ms);
        while (job->step() && !deadline.passed()) continue;
    }
    if (!job->done()) return;
    const Slopes::KeysFound& found = job->keys_found();
    keys = {row->record->keys(), most_keys, row->query,
            std::array{visit.state().selection.key.value_or(-1), found.highest, found.lowest, found.heaviest,
                       loss->target.value_or(-1)}};
}

bool Model::check_some() {
    if (!slopes()) return false;
    if (!check) {
        check.emplace();
        for (const Slope slope :
             {Slope::q, Slope::k, Slope::v, Slope::x, Slope::w_q, Slope::w_k, Slope::w_v}) {
            if (!job->has(slope)) continue;
            for (const Index r : rows_shown(*job, slope, keys))
                for (const Index col : columns_shown(*job, slope, keys))
                    check->cells.push_back({slope, r, col});
        }
    }
    if (check->done == check->cells.size()) return false;
    const auto [slope, r, col] = check->cells[check->done++];
    if (const auto difference = job->difference(slope, r, col))
        check->worst = std::max(check->worst, std::abs(*difference - job->value(slope, r, col)));
    return check->done < check->cells.size();
}

// ---- A step -----------------------------------------------------------------------------------------------

Result<StepAlong> step_along(const Slopes& slopes, const State& asked, const app::State& page,
                             Subject& subject) {
    const double rate = slopes.loss().target ? -asked.rate : asked.rate;
    const Error nothing{"The gradient is 0, so a step leads nowhere."};
    if (subject.runs_model()) {
        std::vector<float> by;
        for (Index a = 0; a < slopes.columns(Slope::q).size(); ++a)
            by.push_back(static_cast<float>(rate * slopes.value(Slope::q, slopes.query(), a)));
        if (std::ranges::all_of(by, [](float each) { return each == 0; })) return nothing;
        const TextModel* model = subject.text_model();
        if (!model) return Error{"These queries cannot be changed here."};
        auto command = model->add_to_query(subject.chosen_head(), slopes.query(), by);
        if (!command) return command.error();
        return StepAlong{{*std::move(command)}};
    }
    const Error given{"These inputs cannot be changed here."};
    const Ladder* ladder = subject.ladder();
    const LadderEdits* edits = ladder ? ladder->edits() : nullptr;
    if (!edits) return given;
    StepAlong step;
    for (const Slope slope : inputs_of(slopes)) {
        // Given scores are edited in place.
        const Stage stage = slope == Slope::masked ? Stage::raw : info(slope).stage;
        if (!edits->may_edit(page, stage)) return given;
        const Range rows = slopes.rows(slope), columns = slopes.columns(slope);
        for (Index row = rows.begin; row < rows.end; ++row)
            for (Index col = columns.begin; col < columns.end; ++col) {
                const double by = rate * slopes.value(slope, row, col);
                const RunCell cell{stage, row, col};
                if (by != 0) step.edits.push_back(edits->set(cell, edits->value(page, cell) + by));
            }
    }
    if (step.edits.empty()) return nothing;
    return step;
}

double gain_of_step(const Slopes& slopes, Subject& subject) {
    return slopes.squares(subject.runs_model() ? std::vector{Slope::q} : inputs_of(slopes));
}

// ---- What is in view --------------------------------------------------------------------------------------

namespace {

std::vector<Index> all_of(Range range) {
    std::vector<Index> all(static_cast<std::size_t>(range.size()));
    std::iota(all.begin(), all.end(), range.begin);
    return all;
}

}  // namespace

// X, too, has a row for each token; in cross-attention, the query's own row follows them.
std::vector<Index> rows_shown(const Slopes& slopes, Slope slope, const ShownTokens& keys) {
    if (!rows_are_keys(slope) && slope != Slope::x) return all_of(slopes.rows(slope));
    std::vector<Index> rows{keys.begin(), keys.end()};
    if (slope == Slope::x && slopes.projections()->crosses) rows.push_back(slopes.rows(slope).end - 1);
    return rows;
}

std::vector<Index> columns_shown(const Slopes& slopes, Slope slope, const ShownTokens& keys) {
    return columns_are_keys(slope) ? std::vector<Index>{keys.begin(), keys.end()}
                                   : all_of(slopes.columns(slope));
}

std::string input_name(const Attention& attention, const Slopes& slopes, Index row) {
    return row < slopes.record().keys() ? label_at(attention.key_names(), row)
                                        : label_at(attention.query_names(), slopes.query()) + " (query)";
}

bool Lens::shows(Subject& subject, const CellRef& cell) const {
    const LensCell* own = cell.own();
    const RunCell* number = cell.run();
    if (!own && !(number && number->is_plain())) return false;
    const Model& model = const_cast<Lens*>(this)->updated(subject);
    const Slopes* slopes = model.slopes();
    if (!slopes) return false;
    if (own) return slopes->holds(static_cast<Slope>(own->at[0]), own->at[1], own->at[2]);
    switch (number->stage) {
        case Stage::k:
        case Stage::v: return model.keys.holds(number->row);
        case Stage::q:
        case Stage::output: return number->row == slopes->query();
        case Stage::weight: return number->row == slopes->query() && model.keys.holds(number->col);
        default: return false;
    }
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string Model::headline(Subject& subject) {
    if (!slopes()) return "";
    const Attention& attention = *subject.attention();
    const RowGradient<double>& pass = job->f64();
    const Slopes::KeysFound& found = job->keys_found();
    const std::string query = query_in_words(attention, row->query);
    if (!found.any_allowed)
        return "The mask leaves " + query + " nothing to look at, so nothing can change its output.";
    if (!std::isfinite(pass.loss) || !found.all_finite)
        return "Some number that " + query + " meets is not finite, so its output has no gradient.";
    const auto key = [&](Index j) {
        return j == row->query && attention.one_line() ? "itself" : key_in_words(attention, j);
    };
    const RowLoss& loss = given.loss;
    const std::string wish =
        !loss.along.empty()
            ? "To raise " + logit_name(subject) + " " + prediction_in_words(attention) + " by way of " + query
        : loss.target ? "To bring the output of " + query + " nearer to the value of " + key(*loss.target)
                      : "To raise component " + std::to_string(loss.component) + " of the output of " + query;
    const Index best = loss.target ? found.lowest : found.highest,
                worst = loss.target ? found.highest : found.lowest;
    const auto slope = [&](Index j) { return pass.d_masked[static_cast<std::size_t>(j)]; };
    if (std::abs(slope(best)) < 1e-12 && std::abs(slope(worst)) < 1e-12)
        return wish + ", it does not matter where it looks: the gradient of every score is 0.";
    return wish + ", attend more to " + key(best) + " and less to " + key(worst) + ".\n∂L/∂S is " +
           fixed(slope(best), 3) + " for " + key(best) + " and " + fixed(slope(worst), 3) + " for " +
           key(worst) + ".";
}

Guide Model::guide(Subject&) {
    return {
        "Backwards through one row",
        "Above, the forward pass of one query. Below each number, its slope: how fast L, what you ask of the "
        "output or of a logit, grows when that number does. It is what training goes by. Only this query's "
        "row moves; what other queries make of the same keys stays.\n\n"
        "Softmax gives a score the gradient A · (∂L/∂A − their mean): a key of almost no weight learns "
        "almost "
        "nothing, and what helps one key takes from the others (Rumelhart, Hinton & Williams 1986).\n\n"
        "Every number is also found by moving what it is the slope of and computing the loss again: "
        "click one."};
}

}  // namespace attn::app::gradient
