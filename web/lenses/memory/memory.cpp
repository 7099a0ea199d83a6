#include "lenses/memory/memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::memory {

namespace {

constexpr std::size_t keys_told = 3;      // named in a sentence
constexpr double told_share = 0.9;        // share of the weight
constexpr Index most_stored_keys = 1000;  // keys whose signs are stored

constexpr std::array<std::string_view, 2> network_keys{"modern", "classical"}, plane_keys{"spread", "query"},
    pattern_keys{"seeded", "signs"};
constexpr double farthest = 1e6;  // distance of a start

State at_beta(State now, std::optional<double> beta) {
    now.network = Network::modern;
    now.beta = beta;
    now.start.reset();
    return now;
}
State seeded(const State& now, Index patterns) {
    return {.network = Network::classical,
            .beta = now.beta,
            .plane = now.plane,
            .start = now.start,
            .patterns = patterns};
}

std::optional<std::array<double, 2>> read_start(std::string_view text) {
    const auto parts = split(text, ',');
    const auto across = read_number(parts[0]), up = read_number(parts.back());
    const auto within = [](double x) { return std::abs(x) <= farthest; };
    if (parts.size() != 2 || !across || !up || !within(*across) || !within(*up)) return std::nullopt;
    return std::array{*across, *up};
}
std::string write_start(const std::array<double, 2>& start) {
    return shortest(start[0]) + "," + shortest(start[1]);
}
constexpr std::string_view start_examples[] = {"0.5,-1", "0,0"};

bool is_left(const auto& job) { return job && !job->done(); }

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"memory.network", "{} network", named<&S::network>(network_keys)},
        {"memory.beta", [](const S& s) { return s.beta ? beta_text(*s.beta) : "the head’s own β"; },
         real<&S::beta>("value of β", least_beta, most_beta)},
        {"memory.plane", {"plane of the query", "plane of the keys’ spread"}, named<&S::plane>(plane_keys)},
        {"memory.start",
         {"another start", "start at the query"},
         spelled<&S::start, read_start, write_start>("place in the plane", start_examples)},
        {"memory.patterns", {"signs of the keys", "seeded patterns"}, named<&S::of_keys>(pattern_keys)},
        {"memory.bits",
         [](const S& s) {
             return many(s.bits, "bit") + ", " + many(s.patterns, "pattern") + ", " + percent(s.flipped) +
                    " of the cue flipped, pattern " + std::to_string(s.stored) + ", seed " +
                    std::to_string(s.seed);
         },
         whole<&S::bits>("number of bits", least_bits, most_bits),
         whole<&S::patterns>("number of patterns", 1, most_patterns),
         real<&S::flipped>("share of flipped bits", 0, most_flipped),
         whole<&S::stored>("number of the cue’s pattern", 0, position_limit - 1),
         whole<&S::seed>("seed", 0, most_seed)},
    };
    static const Fields<S> fields{
        .all = all, .check = [](const S& s) -> Status {
            if (s.start && !read_start(write_start(*s.start)))
                return Error{"A start lies at most a million to each side of the middle."};
            if (!s.of_keys && s.stored >= s.patterns)
                return Error{"The cue is made of one of the stored patterns, from 0 to " +
                             std::to_string(s.patterns - 1) + "."};
            return ok();
        }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 6>()}; }

std::span<const Preset> presets(Network network) {
    static constexpr std::array modern{
        Preset{"Attention’s own β", [](State now) { return at_beta(now, std::nullopt); }},
        Preset{"β = 100, large", [](State now) { return at_beta(now, 100); }},
        Preset{"β = 0.1, small", [](State now) { return at_beta(now, 0.1); }},
    };
    static constexpr std::array classical{
        Preset{"10 patterns in 100 bits", [](State now) { return seeded(now, 10); }},
        Preset{"30: too many", [](State now) { return seeded(now, 30); }},
        Preset{"Signs of this head’s keys",
               [](State now) {
                   now.network = Network::classical;
                   now.of_keys = true;
                   return now;
               }},
    };
    return network == Network::modern ? std::span<const Preset>(modern) : classical;
}

std::string beta_text(double beta) {
    char text[32];
    std::snprintf(text, sizeof text, "β = %.4g", beta);
    return text;
}

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{"These weights came finished. A memory needs the queries and keys they were made of."};
    const std::vector<Stage> stages = attention.stages();
    if (std::ranges::find(stages, Stage::raw) == stages.end())
        return Missing{"These scores were given. A memory needs the queries and keys they are made of."};
    return std::nullopt;
}

// ---- Both networks ----------------------------------------------------------------------------------------

void Model::update_row(Subject& subject) {
    const ChosenRow now = chosen_row(subject);
    if (now == row && now.record) return;
    row = now;
    modern.reset();
    refused.clear();
    own_beta = row.record ? static_cast<double>(row.record->scale()) : 0;
    if (!row.record) {
        refused = "The queries and keys of this head are being computed.";
    } else if (row.query < 0 || subject.attention()->keys() == 0) {
        refused = "There is no query here, or no key to look at.";
    } else if (auto made = RowMemory::of_query(*row.record, row.head.head, row.query); !made) {
        refused = made.error().message + (row.record->d_k() > 0 ? " Choose another query." : "");
    } else if (made->patterns->count() == 0) {
        refused = "The mask hides every key from " + query_name(*this, subject) +
                  ", so nothing is stored and its output is 0. Choose another query.";
    } else {
        modern = *std::move(made);
    }
}

void Model::update_modern() {
    refused_beta.clear();
    beta = state.beta.value_or(own_beta);
    if (!(*beta > 0) || !std::isfinite(*beta)) {
        refused_beta = "This head’s scores are multiplied by " + fixed(*beta, 4) +
                       ", which is no β over 0. Set a β instead.";
        beta.reset();
    }
    if (!modern) return;
    modern->follow(beta, state.plane, state.start);
    if (beta)
        moves.of({row.record, row.head.head, *beta},
                 [&] { return QueryMoves(row.record, row.head.head, *beta); });
}

std::vector<Index> Model::heaviest_keys(Index most) const {
    const std::vector<Index>& ranked = ranked_.of(key(), [&] { return modern->heaviest(); });
    std::vector<Index> shown(ranked.begin(), ranked.begin() + std::min(most, std::ssize(ranked)));
    const std::vector<Index>& keys = patterns()->keys;
    const auto chosen = std::ranges::find(keys, chosen_key.value_or(-1));
    if (const Index j = chosen - keys.begin();
        chosen != keys.end() && !shown.empty() && std::ranges::find(shown, j) == shown.end())
        shown.back() = j;
    return shown;
}

std::optional<double> Model::off_attention() const {
    if (!path() || path()->looked_at() == 0 || state.start || *beta != own_beta) return std::nullopt;
    return off_attention_.of(key(),
                             [&] { return modern->off_attention(*row.record, row.head.head, row.query); });
}

void Model::update_classical() {
    const BitsOf of = state.of_keys ? BitsOf{row} : BitsOf{{}, state.bits, state.patterns, state.seed};
    bits = stored.of(of, [&]() -> std::shared_ptr<const BinaryMemory> {
        if (!state.of_keys)
            return std::make_shared<const BinaryMemory>(
                state.bits, random_bits(state.bits * state.patterns, static_cast<std::uint64_t>(state.seed)));
        if (!modern) return nullptr;
        return std::make_shared<const BinaryMemory>(signs_stored(*patterns(), most_stored_keys));
    });
    if (!bits) return recall.forget();
    recall.of({bits, state.flipped, pattern(), state.seed, beta.value_or(0)},
              [&] { return CueRecall(bits, pattern(), state.flipped, state.seed, beta); });
    const CapacityTrials::Setting setting{state.bits, state.flipped, beta.value_or(1)};
    capacity.of(setting, [&] { return CapacityTrials(setting); });
}

void Model::update(Visit& visit, Subject& subject) {
    state = visit.state().of<State>();
    chosen_key = visit.state().selection.key;
    update_row(subject);
    update_modern();
    if (is_classical()) update_classical();
}

Model::Key Model::key() const {
    Index progress = path() ? path()->looked_at() : 0;
    if (const CueRecall* now = recall.kept()) progress += std::ssize(now->run().flips()) + now->run().done();
    if (const CapacityTrials* now = capacity.kept()) progress += now->seeds_done();
    return {row, state, progress};
}

bool Model::pending() const {
    if (is_classical()) return is_left(recall.kept()) || is_left(capacity.kept());
    return (modern && modern->pending()) || is_left(moves.kept());
}

bool Model::step() {
    if (is_classical()) {
        if (is_left(recall.kept()))
            recall.kept()->step();
        else if (is_left(capacity.kept()))
            capacity.kept()->step();
    } else if (modern && modern->pending()) {
        modern->step();
    } else if (is_left(moves.kept())) {
        moves.kept()->step();
    }
    return pending();
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string query_name(const Model& model, Subject& subject) {
    return query_in_words(*subject.attention(), model.row.query);
}
std::string key_name(Subject& subject, Index key) { return key_in_words(*subject.attention(), key); }

std::string mostly(const Model& model, Subject& subject, std::span<const double> weights) {
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto told = std::min(order.size(), keys_told);
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(told), {},
                              [&](std::size_t i) { return std::pair(-weights[i], i); });
    std::string text;
    double share = 0;
    for (std::size_t i = 0; i < told && share < told_share; ++i) {
        share += weights[order[i]];
        text += (i == 0 ? "" : ", ") + key_name(subject, model.patterns()->keys[order[i]]) + " (" +
                percent(weights[order[i]]) + ")";
    }
    return text;
}

namespace {

std::string modern_headline(const Model& model, Subject& subject) {
    if (!model.refused.empty()) return model.refused;
    if (!model.refused_beta.empty()) return model.refused_beta;
    const std::string from = "At " + beta_text(*model.beta) + ", " +
                             (model.state.start ? "your start" : query_name(model, subject));
    if (!model.path() || !model.path()->done()) return from + " is on its way to a memory.";
    const Retrieval& path = *model.path();
    const std::string steps = many(path.steps(), "step");
    if (!path.settled()) return from + " is still moving after " + steps + ".";
    const double effective = effective_patterns(path.weights());
    const Index seen = model.patterns()->count();
    const std::string falls = from + " falls in " + steps + " to ";
    if (seen == 1) return falls + "the only key it sees.";
    switch (memory_kind(effective, seen)) {
        case MemoryKind::one: return falls + "one memory: " + mostly(model, subject, path.weights()) + ".";
        case MemoryKind::few:
            return falls + "a mean of " + fixed(effective, 1) + " of the " + many(seen, "key") +
                   ".\nIt is made of " + mostly(model, subject, path.weights()) + ".";
        case MemoryKind::all: break;
    }
    return falls + "the mean of all " + many(seen, "key") + ".";
}

std::string classical_headline(const Model& model) {
    if (!model.bits) return model.refused;
    const BinaryRecall& run = model.recall.kept()->run();
    const std::string stored =
        many(model.bits->count(), "pattern") + " in " + many(model.bits->bits(), "bit") + ": ";
    if (!run.done()) return stored + "the cue is on its way.";
    const auto [before, after] = model.recall.kept()->wrong_bits();
    return stored + "of " + many(before, "wrong bit") + ", " + std::to_string(after) +
           (after == 1 ? " is" : " are") + " left.\nThe pattern is " +
           (recovered(run.state(), model.recall.kept()->pattern()) ? "recovered." : "lost.");
}

}  // namespace

std::string Model::headline(Subject& subject) {
    return is_classical() ? classical_headline(*this) : modern_headline(*this, subject);
}

Guide Model::guide(Subject&) {
    return {
        "Attention as memory",
        "The keys are stored patterns, and the query is a state ξ that looks for one of them. A step is "
        "ξ ← Kᵀ softmax(β K ξ), and no step raises the energy (Ramsauer et al. 2021, arXiv 2008.02217).\n\n"
        "Attention is the first step, with β = 1/√d_k, and reads the values V in the place of K. A memory "
        "goes on until nothing moves.\n\n"
        "A small β blends the keys, a large one picks one of them."};
}

Guide Lens::guide(Subject& subject) const {
    if (state().of<State>().network == Network::modern) return ModelLens::guide(subject);
    return {
        "Hopfield 1982",
        "Patterns of ±1 are stored in the weights between bits, w_ij = 1/N Σ x_i x_j. A cue has some of its "
        "bits flipped. One bit after the other is set to the sign of its field Σ w_ij s_j, and each flip "
        "lowers the energy, until none is left.\n\n"
        "With more than about 0.138 patterns for each bit, patterns are lost. The modern network, which "
        "weighs whole patterns by softmax, still finds them."};
}

}  // namespace attn::app::memory
