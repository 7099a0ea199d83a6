#include "lenses/softmax/softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr Index queries_shown = 256;  // for the chosen head
constexpr std::array<std::string_view, 2> shown_keys{"weights", "outputs"};

bool has_stage(const Attention& attention, Stage stage) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, stage) != stages.end();
}

}  // namespace

template <>
const Fields<SoftmaxState>& fields_of() {
    using S = SoftmaxState;
    static const Field<S> all[]{
        {"softmax.t", [](const S& s) { return temperature_text(s.temperature); },
         real<&S::temperature>("temperature", 0, HUGE_VAL)},
        {"softmax.shown", "{}", named<&S::shown>(shown_keys)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows softmax_links() { return {rows_of_fields<SoftmaxState, 2>()}; }

std::string temperature_text(double temperature) {
    if (temperature == 0) return "T → 0";
    if (std::isinf(temperature)) return "T → ∞";
    char text[32];
    std::snprintf(text, sizeof text, "T = %.4g", temperature);
    return text;
}

double gibbs_number(const Gibbs& gibbs, GibbsNumber number) {
    switch (number) {
        case GibbsNumber::energy: return gibbs.energy;
        case GibbsNumber::entropy: return gibbs.entropy;
        case GibbsNumber::keys: return gibbs.effective_keys();
        case GibbsNumber::free_energy: return gibbs.free_energy;
        case GibbsNumber::heat_capacity: break;
    }
    return gibbs.heat_capacity;
}

std::optional<Missing> SoftmaxLens::missing(Subject& subject) const {
    if (!subject.attention()->finished()) return std::nullopt;
    return Missing{"These weights came finished. A temperature needs the scores they were made of."};
}

// ---- Inputs -----------------------------------------------------------------------------------------------

// A record keeps its whole run in memory, so it is released.
void SoftmaxLens::follow(const State&, Change) {
    if (row_.record && &visit().lens() != this) forget();
}

void SoftmaxLens::forget() {
    row_ = {};
    curves_.reset();
    maps_.reset();
    queries_.reset();
    heads_.reset();
    exact_.reset();
    kept_.reset();
}

void SoftmaxLens::update(Subject& subject) {
    const Attention& attention = *subject.attention();
    const ChosenRow row = chosen_row(subject);
    const bool other_head = row.record != row_.record || row.head != row_.head;
    if (row != row_ || !row.record) {
        row_ = row;
        curves_.reset();
        maps_.reset();
        kept_.reset();
        refused_.clear();
        with_vectors_ = has_stage(attention, Stage::raw);
        with_values_ = has_stage(attention, Stage::contribution);
        if (!row.record) {
            refused_ = "The scores of this head are being computed.";
        } else if (row.query < 0 || attention.keys() == 0) {
            refused_ = "There is no query here, or no key to look at.";
        } else if (auto levels = energy_levels(score_row_of(*row.record, row.head.head, row.query));
                   !levels) {
            refused_ = levels.error().message + " Choose another query.";
        } else if (levels->keys == 0) {
            refused_ = "The mask hides every key from " + query_name(subject) +
                       ", so it has no distribution. Choose another query.";
        } else {
            curves_.emplace(*std::move(levels));
            coldest_ = gibbs(curves_->levels(), 0);
            hottest_ = gibbs(curves_->levels(), HUGE_VAL);
        }
    }
    if (curves_ && (!maps_ || maps_at_ != temperature())) {
        maps_at_ = temperature();
        now_ = gibbs(curves_->levels(), maps_at_);
        maps_.emplace(row_.record, row_.head.head, row_.query, maps_at_, with_vectors_, with_values_);
    }
    const HeadsOf heads_of{state().subject, attention.version(), temperature()};
    if (other_head || heads_of != heads_of_) {
        queries_.reset();
        if (row_.record) queries_.emplace(row_.record, row_.head.head, temperature(), queries_shown);
    }
    if (!heads_ || heads_of != heads_of_) heads_.emplace(attention, temperature());
    heads_of_ = heads_of;
}

bool SoftmaxLens::step(const Attention& attention) {
    if (maps_ && maps_->step(curves_->levels())) return true;
    if (curves_ && curves_->step()) return true;
    if (queries_ && !queries_->done() && queries_->step()) return true;
    return heads_ && heads_->step(attention);
}

std::optional<Gibbs> SoftmaxLens::gibbs_at(GibbsPlace place) const {
    if (!curves_) return std::nullopt;
    switch (place) {
        case GibbsPlace::zero: return coldest_;
        case GibbsPlace::dial: return now_;
        case GibbsPlace::infinity: return hottest_;
        case GibbsPlace::peak: break;
    }
    return curves_->peak().peak();
}

std::string SoftmaxLens::query_name(Subject& subject) const {
    return query_in_words(*subject.attention(), row_.query);
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string SoftmaxLens::spoken(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return refused_;
    const Index seen = curves_->levels().keys;
    return "At " + temperature_text(temperature()) + ", " + query_name(subject) + " uses " +
           fixed(now_.effective_keys(), 2) + " of the " + many(seen, "key") + " that it may see.";
}

Guide SoftmaxLens::guide(Subject&) const {
    return {
        "Softmax as physics",
        "Softmax is the Gibbs distribution of statistical mechanics: a key with score s is a state with "
        "energy "
        "E = −s, and its weight is exp(−E/T)/Z. At T = 1 it is the head as it is.\n\n"
        "⟨E⟩ is the mean energy, S the entropy in nats, and e^S how many keys of equal weight would have "
        "that "
        "entropy. F = −T ln Z = ⟨E⟩ − T·S. The heat capacity C = d⟨E⟩/dT peaks where the row makes up its "
        "mind.\n\n"
        "Below are other ways to turn the same scores into weights, and how far each takes the output from "
        "softmax’s."};
}

}  // namespace attn::app
