#include "lenses/steer/steer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"

namespace attn::app::steer {

namespace {

constexpr std::size_t listed_a_side = 6, most_followed = 5;
constexpr double operations_a_slice = 100e6;

double log_sum_of(std::span<const float> logits) {
    double most = -HUGE_VAL, sum = 0;
    for (const float each : logits) most = std::max(most, static_cast<double>(each));
    for (const float each : logits) sum += std::exp(static_cast<double>(each) - most);
    return most + std::log(sum);
}

void add_new(std::vector<std::int32_t>& to, std::int32_t id) {
    if (std::ranges::find(to, id) == to.end()) to.push_back(id);
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"steer.measure", "along the dial: {}", named<&S::measure>(cells::measure_words)},
        {"steer.token", "token {} followed along the dial", whole<&S::follow>("token id", 0, token_limit)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 2>()}; }

// ---- Runs -------------------------------------------------------------------------------------------------

NextToken::NextToken(std::span<const float> of) : logits(of.begin(), of.end()), log_sum(log_sum_of(of)) {}

double NextToken::probability(std::int32_t id) const { return std::exp(logit(id) - log_sum); }
bool NextToken::is_finite() const { return std::isfinite(log_sum); }

double SteeredText::Written::probability() const { return std::exp(logit - log_sum); }

bool SteeredText::step_next(const Traces& known) {
    if (next_) return false;
    if (!trace_)
        for (const auto& each : known)
            if (each && each->interventions() == by_) trace_ = each;
    if (!trace_ && !pass_) {
        auto begun = ForwardPass::start_with(by_, known.front(), operations_a_slice);
        if (!begun) return false;
        pass_ = *std::move(begun);
        return true;
    }
    if (!trace_) {
        if (pass_->step()) return true;
        trace_ = *pass_->finish();
    }
    pass_.reset();
    next_.emplace(trace_->logits({row_, row_ + 1}).values());
    ended_ = !trace_->network().causal;
    return false;
}

bool SteeredText::step_written() {
    if (!next_ || ended_) return false;
    if (!generator_) {
        auto begun = Generator::start(trace_, Sampling{});
        ended_ = !begun;
        if (begun) generator_ = *std::move(begun);
        return !ended_;
    }
    if (!generator_->step()) write();
    if (ended_) generator_.reset();
    return !ended_;
}

void SteeredText::write() {
    const NextToken now(generator_->logits());
    const auto id = generator_->next();
    ended_ = !id || written_.size() + 1 == most_written;
    if (!id) return;
    written_.push_back({*id, now.logit(*id), now.log_sum});
    if (std::ranges::count(trace_->model()->config().eos_ids, *id) > 0) ended_ = true;
}

// ---- The model --------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.text_model() && subject.attention()->trace()) return std::nullopt;
    return Missing{"Steering adds a direction to a run of a model on a text of yours; here is none."};
}

// The embedding of the second likeliest next token, added in the middle.
Steering Model::usual(const Attention& attention, Index row) const {
    const Range layers = attention.alike();
    Steering out{.attention = layers.begin + layers.size() / 2};
    const Tensor logits = known_.front()->logits({row, row + 1});
    const auto likeliest = next_token_distribution(logits.values(), {.temperature = 1}, 2);
    if (!likeliest.empty()) out.direction.token = likeliest.back().id;
    return out;
}

std::vector<Intervention> Model::changes_at(double dial) const {
    std::vector<Intervention> changes = run->changes;
    if (dial == 0)
        changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(run->at));
    else
        changes[run->at].edit.values = run->vector.added(dial);
    return changes;
}

void Model::find_run(TextModel& model, bool same_row) {
    auto found = model.steered(of.steering);
    refused = found ? "" : found.error().message;
    if (!found) {
        run.reset();
        sweep.reset();
        return;
    }
    const bool same = run && same_row && run->unchanged == found->unchanged && run->at == found->at &&
                      run->changes == found->changes && run->vector.direction == found->vector.direction;
    if (same) return;
    run = *std::move(found);
    before_.reset();
    after_.reset();
    coming_.reset();
    sweep_sums.clear();
    std::vector<LogitsUnder::Variant> variants;
    for (Index point = 0; point < dial_points; ++point) variants.push_back(changes_at(dial_at(point)));
    auto begun = LogitsUnder::start(run->unchanged, of.row, std::move(variants), operations_a_slice);
    if (!begun) {
        refused = begun.error().message;
        run.reset();
        return;
    }
    sweep = *std::move(begun);
    before_.emplace(changes_at(0), of.row);
}

void Model::update(Visit& visit, Subject& subject) {
    TextModel& model = *subject.text_model();
    const Attention& attention = *subject.attention();
    const Attention* second = second_of(subject);
    state = visit.state().of<State>();
    const auto shown = attention.trace(), unchanged = model.unchanged() ? model.unchanged() : shown;
    const Index row = std::min(attention.logits_row(), shown->tokens() - 1);
    if (!known_.front() || known_.front()->model() != shown->model()) typed.clear();
    const bool other_text = unchanged != known_.front() || row != of.row;
    known_ = {unchanged, shown};
    vocabulary.follow(shown->model());
    const auto asked = model.steering();
    const bool stays = !asked && !steers && !other_text;
    steers = asked.has_value();
    if (!stays) steering = asked ? *asked : usual(attention, row);
    Of wanted{.steering = steering,
              .version = attention.version(),
              .unchanged = unchanged,
              .second = second ? second->trace() : nullptr,
              .texts = model.texts_for(steering.direction),
              .row = row};
    wanted.steering.dial = 0;
    if (wanted != of) {
        const bool same_row = of.row == row;
        of = wanted;
        find_run(model, same_row);
    }
    if (!run) return;
    find_sides();
    if (before_->next() && !before_->next()->is_finite())
        refused = "The logits are not finite here, so nothing says how a direction moves them.";
    else
        list_tokens();
}

// Takes the runs without the direction and with it, as soon as they are there.
void Model::find_sides() {
    before_->step_next(known_);
    if (steering.dial == 0) {
        after_.reset();
        coming_.reset();
        dial_shown = 0;
    } else if (auto by = changes_at(steering.dial); !(after_ && after_->by() == by)) {
        if (!coming_ || coming_->by() != by) coming_.emplace(std::move(by), of.row);
        coming_->step_next(known_);
    } else {
        coming_.reset();
    }
    if (coming_ && coming_->next()) {
        after_ = std::move(coming_);
        coming_.reset();
        dial_shown = steering.dial;
    }
}

const SteeredText* Model::side(Side which) const {
    const auto& one = which == Side::after && after_ ? after_ : before_;
    return one && one->next() ? &*one : nullptr;
}

std::int32_t Model::likeliest(Side which) const {
    const std::vector<float>& logits = next(which).logits;
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

void Model::list_tokens() {
    listed.clear();
    followed.clear();
    if (!side(Side::before)) return;
    const auto count = std::ssize(next(Side::before).logits);
    const auto add_if_there = [&](std::vector<std::int32_t>& to, std::int32_t id) {
        if (id < count) add_new(to, id);
    };
    if (steering.direction.is_of_token()) add_if_there(followed, steering.direction.token);
    if (state.follow) add_if_there(followed, *state.follow);
    listed = followed;
    for (const Side which : {Side::before, Side::after})
        for (const Candidate& each : next_token_distribution(next(which).logits, {.temperature = 1},
                                                             static_cast<Index>(listed_a_side)))
            add_new(listed, each.id);
    const auto chance = [&](std::int32_t id) {
        const double after = next(Side::after).probability(id);
        return std::max(next(Side::before).probability(id), std::isfinite(after) ? after : 0);
    };
    std::ranges::sort(listed, [&](std::int32_t a, std::int32_t b) {
        return std::pair(-chance(a), a) < std::pair(-chance(b), b);
    });
    for (const std::int32_t id : listed)
        if (followed.size() < most_followed) add_new(followed, id);
}

bool Model::step(Subject& subject) {
    if (search.on && vocabulary.read(subject)) return true;
    if (!run) return false;
    if (before_->step_next(known_)) return true;
    if (coming_ && coming_->step_next(known_)) return true;
    const bool sweeps = sweep->step();
    while (sweep_sums.size() < sweep->logits().size())
        sweep_sums.push_back(log_sum_of(sweep->logits()[sweep_sums.size()]));
    if (sweeps) return true;
    for (auto* each : {&before_, &after_})
        if (*each && (*each)->step_written()) return true;
    return false;
}

Model::Key Model::key() const {
    std::size_t done = sweep ? sweep->logits().size() : 0;
    for (const auto* each : {&before_, &after_})
        if (*each) done += 100 * ((*each)->written().size() + ((*each)->next() ? 1 : 0));
    return {of, steering.dial, dial_shown, done};
}

}  // namespace attn::app::steer
