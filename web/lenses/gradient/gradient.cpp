#include "lenses/gradient/gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "model/explain.hpp"
#include "model/head_projection.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

// Reads "component,1", "value,2", "logit", "logit,464" or "logit,464,2061".
bool read_aim(std::string_view text, GradientState& to) {
    const auto parts = split(text, ',');
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto number = read_integer<std::int32_t>(parts[i]);
        if (!number) return false;
        numbers.push_back(*number);
    }
    if (parts[0] == "logit") {
        if (numbers.size() > 2) return false;
        to.aim = GradientAim::logit;
        to.raise = numbers.empty() ? std::nullopt : std::optional(numbers[0]);
        to.over = numbers.size() < 2 ? std::nullopt : std::optional(numbers[1]);
        return true;
    }
    if (numbers.size() != 1 || (parts[0] != "component" && parts[0] != "value")) return false;
    to.aim = parts[0] == "value" ? GradientAim::value : GradientAim::component;
    (to.aim == GradientAim::value ? to.key : to.component) = numbers[0];
    return true;
}

std::string aim_text(const GradientState& of) {
    switch (of.aim) {
        case GradientAim::component: return "component," + std::to_string(of.component);
        case GradientAim::value: return "value," + std::to_string(of.key);
        case GradientAim::logit: break;
    }
    return std::string("logit") + (of.raise ? "," + std::to_string(*of.raise) : "") +
           (of.over ? "," + std::to_string(*of.over) : "");
}

constexpr std::string_view aim_examples[] = {"value,2", "component,1", "logit", "logit,4", "logit,4,2"};

std::string aim_in_words(const GradientState& of) {
    switch (of.aim) {
        case GradientAim::component: return "gradient of component " + std::to_string(of.component);
        case GradientAim::value: return "gradient to value " + std::to_string(of.key);
        case GradientAim::logit: break;
    }
    return of.over ? "gradient of a difference of logits" : "gradient of a logit";
}

Status check_aim(const GradientState& gradient) {
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
void keep_the_aim(GradientState& gradient) {
    GradientState asked{.aim = gradient.aim, .from = gradient.from, .rate = gradient.rate};
    switch (gradient.aim) {
        case GradientAim::component: asked.component = gradient.component; break;
        case GradientAim::value: asked.key = gradient.key; break;
        case GradientAim::logit: asked.raise = gradient.raise, asked.over = gradient.over; break;
    }
    gradient = asked;
}

}  // namespace

const Fields<GradientState>& GradientState::fields() {
    using S = GradientState;
    static const Field<S> all[]{
        {"gradient.rate", "rate {}", real<&S::rate>("rate of a step", 1e-9, gradient_rate_limit)},
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
LinkRows gradient_links() { return {rows_of_fields<GradientState, 3>()}; }

Status StepAlong::apply(State& state) const {
    for (const Command& edit : edits)
        if (const Status done = edit.apply(state); !done) return done;
    return ok();
}

std::optional<Missing> GradientLens::missing(Subject& subject) const {
    const Attention* attention = subject.attention();
    if (attention->finished())
        return Missing{"A gradient goes back through Q, K and V; these weights were given finished."};
    const auto record = attention->record(subject.chosen().layer);
    if (record && (record->d_v() == 0 || record->queries() == 0 || record->keys() == 0))
        return Missing{"A gradient begins at an output; there are no values here to make one of."};
    return std::nullopt;
}

// A window of a model's components; all of them if they can be edited.
std::optional<Projections> GradientLens::projections_of(Subject& subject, Index query) const {
    if (const auto trace = subject.attention()->trace())
        return projections_of(*trace, subject.chosen_head(), query);
    return edited_projections(subject, state());
}

namespace {

// Covers all tokens, with the components of X in view.
HeadNorm head_norm(const Trace& trace, Stage stage, HeadIndex head, const Norm& norm, Range components) {
    const Model& model = *trace.model();
    const ModelConfig& config = model.config();
    const bool of_query = stage == Stage::q;
    const Index heads = of_query ? config.heads : config.kv_heads, d = config.head_dim,
                own = head.head * heads / config.heads;
    const LayerAttention at = trace.attention(head.layer);
    const Index n = (of_query ? at.queries : at.keys).tokens();
    const Tensor all = projected_rows(trace, stage, head.layer, own, {0, n});
    const bool alone = all.dim(1) == d;
    const Index first = alone ? 0 : own * d;
    HeadNorm made{
        .gain = {}, .before = Matrix(n, d), .squares = {}, .together = static_cast<double>(all.dim(1))};
    for (Index a = 0; a < d; ++a)
        made.gain.push_back(static_cast<double>(norm.gain.values()[static_cast<std::size_t>(first + a)]));
    for (Index t = 0; t < n; ++t) {
        double sum = 0;
        for (Index a = 0; a < all.dim(1); ++a) {
            const auto u = static_cast<double>(all.matrix()(t, a));
            sum += u * u;
        }
        made.squares.push_back(sum / made.together + norm.epsilon);
        for (Index a = 0; a < d; ++a) made.before.at(t, a) = static_cast<double>(all.matrix()(t, first + a));
    }
    if (alone) return made;
    made.others = Matrix(n, components.size());
    made.other_squares.resize(static_cast<std::size_t>(components.size()));
    for (Index a = 0; a < all.dim(1); ++a) {
        if (a >= first && a < first + d) continue;
        const QkvColumn column = qkv_column(model, stage, head.layer, a / d, a % d);
        for (Index c = 0; c < components.size(); ++c) {
            const double w = element(column.linear->weight, components.begin + c, column.out);
            made.other_squares[static_cast<std::size_t>(c)] += w * w;
            for (Index t = 0; t < n; ++t) made.others.at(t, c) += static_cast<double>(all.matrix()(t, a)) * w;
        }
    }
    return made;
}

}  // namespace

std::optional<Projections> GradientLens::projections_of(const Trace& trace, HeadIndex head,
                                                        Index query) const {
    const Model& model = *trace.model();
    const LayerAttention attention = trace.attention(head.layer);
    const ModelConfig& config = model.config();
    const ConstMatrix input = attention.run.attention_input.matrix(), keys = attention.key_input.matrix();
    const bool crosses = attention.place.kind == AttentionKind::cross;
    const Index count = std::min(input.cols, gradient_components_shown);
    const Index first = std::clamp(state().of<GradientState>().from, Index{0}, input.cols - count);
    Projections made{.x = Matrix(keys.rows + crosses, count),
                     .w_q = Matrix(count, config.head_dim),
                     .w_k = Matrix(count, config.head_dim),
                     .w_v = Matrix(count, config.head_dim),
                     .first = first,
                     .of_x = Stage::attention_input,
                     .crosses = crosses};
    if (const Rotary* rotary = model.network().rotary_of(head.layer)) made.rotary = *rotary;
    const Range shown{first, first + count};
    if (const auto& norm = attention.half.q_norm)
        made.q_norm = head_norm(trace, Stage::q, head, *norm, shown);
    if (const auto& norm = attention.half.k_norm)
        made.k_norm = head_norm(trace, Stage::k, head, *norm, shown);
    for (Index token = 0; token < keys.rows; ++token)
        for (Index c = 0; c < count; ++c) made.x.at(token, c) = static_cast<double>(keys(token, first + c));
    for (Index c = 0; crosses && c < count; ++c)
        made.x.at(keys.rows, c) = static_cast<double>(input(query, first + c));
    const auto fill = [&](Matrix& to, Stage stage, Index heads) {
        for (Index a = 0; a < config.head_dim; ++a) {
            const QkvColumn column =
                qkv_column(model, stage, head.layer, head.head * heads / config.heads, a);
            for (Index c = 0; c < count; ++c)
                to.at(c, a) = element(column.linear->weight, first + c, column.out);
        }
    };
    fill(made.w_q, Stage::q, config.heads);
    fill(made.w_k, Stage::k, config.kv_heads);
    fill(made.w_v, Stage::v, config.kv_heads);
    for (const auto& [site, stage] :
         {std::pair(Site::q, Stage::q), std::pair(Site::k, Stage::k), std::pair(Site::v, Stage::v)})
        for (const Intervention& each : trace.interventions())
            if (is_at(each, model.network(), head.layer, site)) made.changes.push_back({stage, each.edit});
    return made;
}

GradientAim GradientLens::aim(Subject& subject) const {
    const GradientAim asked = state().of<GradientState>().aim;
    const Attention* attention = subject.attention();
    const bool possible = asked != GradientAim::logit || (attention && attention->trace());
    return possible ? asked : GradientAim::component;
}

std::optional<LogitLoss> GradientLens::logit_loss() const {
    const GradientState& asked = state().of<GradientState>();
    if (asked.raise) return LogitLoss{*asked.raise, asked.over};
    if (logit_.likeliest().empty()) return std::nullopt;
    return LogitLoss{logit_.likeliest().front().id, std::nullopt};
}

std::string GradientLens::logit_name(Subject& subject) const {
    const auto loss = logit_loss();
    if (!loss) return "";
    const auto name = [&](std::int32_t id) {
        const std::vector<std::string> texts = subject.token_texts(std::array{id});
        return texts.empty() ? "token " + std::to_string(id) : curly_quoted(texts.front());
    };
    return loss->over ? "the logit of " + name(loss->raise) + " over that of " + name(*loss->over)
                      : "the logit of " + name(loss->raise);
}

std::optional<ChosenRow> GradientLens::row(Subject& subject) const {
    if (!subject.attention()) return std::nullopt;
    ChosenRow row = chosen_row(subject);
    const Record* record = row.record.get();
    if (!record || record->d_v() == 0 || row.query < 0 || record->keys() == 0) return std::nullopt;
    return row;
}

const Slopes* GradientLens::slopes(Subject& subject) const {
    const auto asked_row = row(subject);
    if (!asked_row) return nullptr;
    const auto& [record, head, query] = *asked_row;
    const Attention& attention = *subject.attention();
    const GradientState& asked = state().of<GradientState>();
    Shown now{attention.version(), head, query, asked.from, {}};
    switch (aim(subject)) {
        case GradientAim::component: now.loss.component = std::min(asked.component, record->d_v() - 1); break;
        case GradientAim::value: now.loss.target = std::min(asked.key, record->keys() - 1); break;
        case GradientAim::logit: {
            logit_.read(attention.trace(), attention.logits_row());
            const auto loss = logit_loss();
            if (!loss || !logit_.ask(*loss)) return nullptr;
            logit_.go_to(head, query);
            const std::span<const float> along = logit_.slopes();
            if (along.empty()) return nullptr;
            now.loss.along.assign(along.begin(), along.end());
            break;
        }
    }
    if (const auto trace = attention.trace())
        for (const Intervention& each : trace->interventions())
            if (is_at(each, trace->model()->network(), head.layer, Site::head_output))
                now.loss.edits.push_back(each.edit);
    if (shown_ == now && slopes_) return slopes_->done() ? &*slopes_ : nullptr;
    check_begun_ = false;
    shown_ = now;
    const std::vector<Stage> stages = attention.stages();
    const bool scores_given = std::ranges::find(stages, Stage::raw) == stages.end();
    slopes_.emplace(record, head.head, query, now.loss, scores_given, projections_of(subject, query));
    const Deadline deadline(frame_ms);
    while (slopes_->step() && !deadline.passed()) continue;
    return slopes_->done() ? &*slopes_ : nullptr;
}

ShownTokens GradientLens::keys_shown(const Slopes& slopes) const {
    // The sentence names the keys that gain and lose most.
    const RowGradient<double>& pass = slopes.f64();
    const auto [least, most] = std::ranges::minmax_element(pass.d_masked);
    const Index strongest = std::ranges::max_element(pass.weight) - pass.weight.begin();
    const std::array wanted{state().selection.key.value_or(-1), most - pass.d_masked.begin(),
                            least - pass.d_masked.begin(), strongest, slopes.loss().target.value_or(-1)};
    return {slopes.record().keys(), gradient_keys_shown, slopes.query(), wanted};
}

Result<StepAlong> GradientLens::step(Subject& subject) const {
    const Slopes* all = slopes(subject);
    if (!all) return Error{"The gradient is still being computed."};
    const GradientState& asked = state().of<GradientState>();
    const double rate = all->loss().target ? -asked.rate : asked.rate;
    const Error nothing{"The gradient is 0, so a step leads nowhere."};
    StepAlong step;
    if (subject.runs_model()) {
        std::vector<float> by;
        for (Index a = 0; a < all->columns(Slope::q).size(); ++a)
            by.push_back(static_cast<float>(rate * all->value(Slope::q, all->query(), a)));
        if (std::ranges::all_of(by, [](float each) { return each == 0; })) return nothing;
        auto command = subject.add_to_query(subject.chosen_head(), all->query(), by);
        if (!command) return command.error();
        step.edits.push_back(*std::move(command));
        return step;
    }
    const Error given{"These inputs cannot be changed here."};
    const Ladder* ladder = subject.ladder();
    const LadderEdits* edits = ladder ? ladder->edits() : nullptr;
    if (!edits) return given;
    for (const Slope slope : inputs_of(*all)) {
        // Given scores are edited in place.
        const Stage stage = slope == Slope::masked ? Stage::raw : info(slope).stage;
        if (!edits->may_edit(state(), stage)) return given;
        const Range rows = all->rows(slope);
        for (Index row = rows.begin; row < rows.end; ++row)
            for (Index col = all->columns(slope).begin; col < all->columns(slope).end; ++col) {
                const double by = rate * all->value(slope, row, col);
                const CellRef cell{stage, row, col};
                if (by != 0) step.edits.push_back(edits->set(cell, edits->value(state(), cell) + by));
            }
    }
    if (step.edits.empty()) return nothing;
    return step;
}

double GradientLens::gain_of_step(Subject& subject, const Slopes& slopes) const {
    const std::vector moved = subject.runs_model() ? std::vector{Slope::q} : inputs_of(slopes);
    return slopes.squares(moved);
}

bool GradientLens::check_some(const Slopes& slopes) {
    if (!check_begun_) {
        check_begun_ = true;
        check_ = {};
        const ShownTokens keys = keys_shown(slopes);
        for (const Slope slope :
             {Slope::q, Slope::k, Slope::v, Slope::x, Slope::w_q, Slope::w_k, Slope::w_v}) {
            if (!slopes.has(slope)) continue;
            for (const Index row : rows_shown(slopes, slope, keys))
                for (const Index col : columns_shown(slopes, slope, keys))
                    check_.cells.push_back({slope, row, col});
        }
    }
    if (check_.done == check_.cells.size()) return false;
    const auto [slope, row, col] = check_.cells[check_.done++];
    if (const auto difference = slopes.difference(slope, row, col))
        check_.worst = std::max(check_.worst, std::abs(*difference - slopes.value(slope, row, col)));
    return check_.done < check_.cells.size();
}

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

bool GradientLens::shows(Subject& subject, const CellRef& cell) const {
    if (cell.second || cell.words || cell.sink != Sink::shown) return false;
    const Slopes* all = slopes(subject);
    if (!all) return false;
    if (cell.own.kind) return all->holds(static_cast<Slope>(cell.own.at[0]), cell.own.at[1], cell.own.at[2]);
    const ShownTokens keys = keys_shown(*all);
    const auto in_view = [&](Index key) { return keys.holds(key); };
    if (cell.stage == Stage::k || cell.stage == Stage::v) return in_view(cell.row);
    if (cell.stage == Stage::q || cell.stage == Stage::output) return cell.row == all->query();
    return cell.stage == Stage::weight && cell.row == all->query() && in_view(cell.col);
}

std::string GradientLens::spoken(Subject& subject) {
    const Slopes* all = slopes(subject);
    if (!all) return "";
    const Attention& attention = *subject.attention();
    const RowGradient<double>& pass = all->f64();
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
        !all->loss().along.empty()
            ? "To raise " + logit_name(subject) + " " + prediction_in_words(attention) + " by way of " + query
        : all->loss().target
            ? "To bring the output of " + query + " nearer to the value of " + key(*all->loss().target)
            : "To raise component " + std::to_string(all->loss().component) + " of the output of " + query;
    if (std::abs(*best) < 1e-12 && std::abs(*worst) < 1e-12)
        return aim + ", it does not matter where it looks: the gradient of every score is 0.";
    const auto at = [&](auto found) { return static_cast<Index>(found - pass.d_masked.begin()); };
    return aim + ", attend more to " + key(at(best)) + " and less to " + key(at(worst)) + ".\n∂L/∂S is " +
           fixed(*best, 3) + " for " + key(at(best)) + " and " + fixed(*worst, 3) + " for " + key(at(worst)) +
           ".";
}

Guide GradientLens::guide(Subject&) const {
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

}  // namespace attn::app
