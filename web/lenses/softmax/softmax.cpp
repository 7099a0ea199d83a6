#include "lenses/softmax/softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/reading.hpp"

namespace attn::app::softmax {

namespace {

constexpr Index queries_shown = 256;  // for the chosen head
constexpr std::array<std::string_view, 2> shown_keys{"weights", "outputs"};

bool has_stage(const Attention& attention, Stage stage) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, stage) != stages.end();
}

std::vector<Index> keys_by_score(const EnergyLevels& levels) {
    std::vector<Index> keys(levels.above.size());
    for (std::size_t key = 0; key < keys.size(); ++key) keys[key] = static_cast<Index>(key);
    std::ranges::sort(keys, {},
                      [&](Index key) { return std::pair(levels.above[static_cast<std::size_t>(key)], key); });
    return keys;
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"softmax.t", [](const S& s) { return temperature_text(s.temperature); },
         real<&S::temperature>("temperature", 0, HUGE_VAL)},
        {"softmax.shown", "{}", named<&S::shown>(shown_keys)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 2>()}; }

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

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    const auto within = [&](Index first, const CellKind& kind) -> std::optional<CellRef> {
        const CellRef cell = kind(row - first, col);
        return cell.own()->is_within() ? std::optional(cell) : std::nullopt;
    };
    if (row >= 60) return head(row - 60, col);
    if (row == 50) return query(col);
    if (row >= 40) return within(40, curve);
    if (row >= 30) return within(30, output);
    if (row >= 20) return within(20, measure);
    return row >= 10 ? within(10, weight) : within(0, gibbs);
}

// ---- All heads --------------------------------------------------------------------------------------------

HeadKeys::HeadKeys(const Attention& attention, double temperature)
    : temperature_(temperature),
      heads_(attention.heads()),
      all_(static_cast<std::size_t>(attention.layers() * attention.heads())) {}

bool HeadKeys::step(const Attention& attention) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (all_[i] && all_[i]->done()) continue;
        const HeadIndex head{static_cast<Index>(i) / heads_, static_cast<Index>(i) % heads_};
        if (auto record = all_[i] ? nullptr : attention.record(head.layer))
            all_[i].emplace(std::move(record), head.head, temperature_, rows_a_head);
        if (!all_[i]) continue;
        all_[i]->step();
        return true;
    }
    return false;
}

const EffectiveKeys* HeadKeys::of(HeadIndex head) const {
    const auto at = static_cast<std::size_t>(head.layer * heads_ + head.head);
    return at < all_.size() && all_[at] && all_[at]->done() ? &*all_[at] : nullptr;
}

// ---- The chosen row ---------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    if (!subject.attention()->finished()) return std::nullopt;
    return Missing{"These weights came finished. A temperature needs the scores they were made of."};
}

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    const Key before = key();
    state = visit.state().of<State>();
    row = chosen_row(subject);
    const bool other_head = row.record != before.row.record || row.head != before.row.head,
               other_temperature = state.temperature != before.temperature;
    if (row != before.row || !row.record) {
        curves.reset();
        maps.reset();
        refused.clear();
        with_vectors = has_stage(attention, Stage::raw);
        with_values = has_stage(attention, Stage::contribution);
        if (!row.record) {
            refused = "The scores of this head are being computed.";
        } else if (row.query < 0 || attention.keys() == 0) {
            refused = "There is no query here, or no key to look at.";
        } else if (auto levels = energy_levels(score_row_of(*row.record, row.head.head, row.query));
                   !levels) {
            refused = levels.error().message + " Choose another query.";
        } else if (levels->keys == 0) {
            refused = "The mask hides every key from " + query_in_words(attention, row.query) +
                      ", so it has no distribution. Choose another query.";
        } else {
            curves.emplace(*std::move(levels));
            by_score = keys_by_score(curves->levels());
            coldest = gibbs(curves->levels(), 0);
            hottest = gibbs(curves->levels(), HUGE_VAL);
        }
    }
    if (curves && (!maps || other_temperature)) {
        now = gibbs(curves->levels(), state.temperature);
        maps.emplace(row.record, row.head.head, row.query, state.temperature, with_vectors, with_values);
    }
    const HeadsOf wanted{visit.state().subject, attention.version(), state.temperature};
    if (other_head || wanted != heads_of) {
        queries.reset();
        if (row.record) queries.emplace(row.record, row.head.head, state.temperature, queries_shown);
    }
    if (!heads || wanted != heads_of) heads.emplace(attention, state.temperature);
    heads_of = wanted;
}

bool Model::step(const Attention& attention) {
    if (maps && maps->step(curves->levels())) return true;
    if (curves && curves->step()) return true;
    if (queries && !queries->done() && queries->step()) return true;
    return heads && heads->step(attention);
}

std::optional<Gibbs> Model::gibbs_at(GibbsPlace place) const {
    if (!curves) return std::nullopt;
    switch (place) {
        case GibbsPlace::zero: return coldest;
        case GibbsPlace::dial: return now;
        case GibbsPlace::infinity: return hottest;
        case GibbsPlace::peak: break;
    }
    return curves->peak().peak();
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string Model::headline(Subject& subject) {
    if (!refused.empty()) return refused;
    return "At " + temperature_text(state.temperature) + ", " +
           query_in_words(*subject.attention(), row.query) + " uses " + fixed(now.effective_keys(), 2) +
           " of the " + many(curves->levels().keys, "key") + " that it may see.";
}

Guide Model::guide(Subject&) {
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

}  // namespace attn::app::softmax
