// Explains the numbers of both networks.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "subjects/explain.hpp"

namespace attn::app::memory {

namespace {

// A query is followed again for its explanation if that takes at most a few milliseconds.
constexpr Index most_followed = Index{1} << 16;  // over all its keys

// What a state meets, in double as the lens computes it, and in single precision.
struct Looks {
    HopfieldLook<double> wide;
    HopfieldLook<float> narrow;

    Looks(const Model& model, std::span<const double> state) {
        hopfield_look<double>(*model.patterns(), *model.beta, state, wide);
        const std::vector<float> rounded(state.begin(), state.end());
        hopfield_look<float>(*model.patterns(), *model.beta, rounded, narrow);
    }
};

bool has_step(const Model& model, Index step) {
    return !model.is_classical() && model.path() && step < model.path()->looked_at();
}
const std::vector<double>& state_after(const Model& model, Index step) {
    return model.path()->points()[static_cast<std::size_t>(step)].state;
}

CellPlace place_of(const Model& model, const CellRef& cell) { return {model.row.head, cell}; }
// The start's components are those of q.
PlaceOf state_places(const Model& model, Index step) {
    return [&model, step](Index a) {
        return step == 0 && !model.state.start ? Places{model.row.head}(Stage::q, model.row.query, a)
                                               : place_of(model, cells::state(step, a));
    };
}

std::string in_head(const Model& model, Subject& subject) {
    return head_text(model.row.head, subject.attention()->numbering()) + " · " + beta_text(*model.beta);
}
std::string from_vectors(const Model& model) { return "computed from q and K · " + beta_text(*model.beta); }
std::string label_of(Subject& subject, Index key) {
    return in_quotes(label_at(subject.attention()->key_names(), key));
}

// √Σ (a − b)² over components.
void explain_distance(Explained& out, std::span<const double> to, std::span<const double> from,
                      const PlaceOf& to_at, const PlaceOf& from_at) {
    for (std::size_t a = 0; a < to.size(); ++a) {
        const double off = to[a] - from[a];
        out.term(std::to_string(a), off, off, to_at(static_cast<Index>(a)), from_at(static_cast<Index>(a)));
    }
    out.line("distance", sqrt(out.dot("moved", "moved")));
}

std::optional<Explained> explain_energy(Model& model, Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0];
    if (!has_step(model, step)) return std::nullopt;
    const HopfieldPatterns& patterns = *model.patterns();
    const std::vector<double>& state = state_after(model, step);
    const Looks look(model, state);
    Explained out{.title = "Energy after " + many(step, "step"),
                  .provenance = from_vectors(model),
                  .f32 = static_cast<double>(look.narrow.energy),
                  .formula = "E = −1/β ln Σ_j exp(β k_j·ξ) + ½ ξ·ξ + 1/β ln N + ½ max |k|²",
                  .operands_title = "exp(β (k·ξ − max)), whose share of the sum is a weight"};
    for (std::size_t j = 0; j < patterns.keys.size(); ++j) {
        const Index key = patterns.keys[j];
        out.summand(label_of(subject, key), look.wide.weights[j] * look.wide.sum,
                    step < model.path()->steps()
                        ? std::optional(place_of(model, cells::weight(step + 1, key)))
                        : std::nullopt);
    }
    const Expression beta = *model.beta, highest = out.step("max k·ξ", look.wide.highest),
                     total = out.line("total", out.sum("factors")),
                     log_sum = out.step("1/β ln Σ exp", highest + log(total) / beta),
                     length = out.step("½ ξ·ξ", dot(Column{"state", state}, Column{"state", state}) / 2),
                     log_count =
                         out.step("1/β ln N", log(Expression(static_cast<double>(patterns.count()))) / beta),
                     largest = out.step("½ max |k|²", Expression(patterns.largest) * patterns.largest / 2);
    out.step("E", length + largest + log_count - log_sum);
    if (step > 0) {
        const double before = model.path()->points()[static_cast<std::size_t>(step - 1)].energy;
        out.note =
            "It is lower than the step before by " + fixed(before - out.f64, 4) + "; no step raises it.";
    }
    return out;
}

std::optional<Explained> explain_weight(Model& model, Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0], key = cell.at[1];
    if (step == 0 || !has_step(model, step)) return std::nullopt;
    const HopfieldPatterns& patterns = *model.patterns();
    const auto found = std::ranges::lower_bound(patterns.keys, key);
    if (found == patterns.keys.end() || *found != key) return std::nullopt;
    const Index j = found - patterns.keys.begin();
    const std::vector<double>& state = state_after(model, step - 1);
    const Looks look(model, state);
    const Places places{model.row.head};
    Explained out{.title = "Weight of " + label_of(subject, key) + " in step " + std::to_string(step),
                  .provenance = in_head(model, subject),
                  .f32 = static_cast<double>(look.narrow.weights[static_cast<std::size_t>(j)]),
                  .formula = "exp(β k_j·ξ) / Σ_i exp(β k_i·ξ)",
                  .operands_title = "k · ξ, by component"};
    const PlaceOf state_at = state_places(model, step - 1);
    for (Index a = 0; a < patterns.components; ++a) {
        const auto at = static_cast<std::size_t>(a);
        out.term(std::to_string(a), static_cast<double>(patterns.at(j)[at]), state[at],
                 places(Stage::k, key, a), state_at(a));
    }
    const Expression product = out.step("k · ξ", out.dot("key", "state")),
                     highest = out.step("max k · ξ", look.wide.highest),
                     factor = out.step("exp", exp(*model.beta * (product - highest)));
    out.step("weight", factor / out.step("Σ of the row", look.wide.sum));
    if (step == 1 && !model.state.start && *model.beta == model.own_beta) {
        const CellPlace own = places(Stage::weight, model.row.query, key);
        out.beside("in the head",
                   static_cast<double>(
                       model.row.record->cell(Stage::weight, model.row.head.head, model.row.query, key)),
                   "", own);
        out.note = "The first step at the head’s own β is its attention.";
    }
    return out;
}

std::optional<Explained> explain_state(Model& model, Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0], component = cell.at[1];
    if (!has_step(model, step) || component >= model.patterns()->components) return std::nullopt;
    const HopfieldPatterns& patterns = *model.patterns();
    const auto a = static_cast<std::size_t>(component);
    const Places places{model.row.head};
    Explained out{.title = "ξ[" + std::to_string(component) + "] after " + many(step, "step"),
                  .provenance = in_head(model, subject),
                  .f32 = single(state_after(model, step)[a])};
    if (step == 0 && !model.state.start) {
        out.formula = "ξ = q";
        out.step("q", model.modern->query[a], places(Stage::q, model.row.query, component));
        return out;
    }
    if (step == 0) {
        const PatternPlane& plane = model.plane()->plane;
        out.formula = "mean + x · across + y · up";
        out.operands_title = "The place in the plane · its directions";
        out.term("mean of the keys", 1, plane.origin[a]);
        out.term("across", (*model.state.start)[0], plane.across[a]);
        out.term("up", (*model.state.start)[1], plane.up[a]);
        out.line("state", out.dot("place", "directions"));
        return out;
    }
    const Looks look(model, state_after(model, step - 1));
    out.f32 = static_cast<double>(look.narrow.next[a]);
    out.formula = "Σ_j w_j K[j, " + std::to_string(component) + "]";
    out.operands_title = "Weights of the step · K[·, " + std::to_string(component) + "]";
    for (Index j = 0; j < patterns.count(); ++j) {
        const Index key = patterns.keys[static_cast<std::size_t>(j)];
        out.term(label_of(subject, key), look.wide.weights[static_cast<std::size_t>(j)],
                 static_cast<double>(patterns.at(j)[a]), place_of(model, cells::weight(step, key)),
                 places(Stage::k, key, component));
    }
    out.line("state", out.dot("weights", "k"));
    return out;
}

std::optional<Explained> explain_moved(Model& model, Subject&, const LensCell& cell) {
    const Index step = cell.at[0];
    if (step == 0 || !has_step(model, step)) return std::nullopt;
    Explained out{.title = "How far step " + std::to_string(step) + " moved ξ",
                  .provenance = from_vectors(model),
                  .formula = "|ξ after − ξ before|",
                  .operands_title = "(after − before)², by component"};
    explain_distance(out, state_after(model, step), state_after(model, step - 1), state_places(model, step),
                     state_places(model, step - 1));
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> explain_effective(Model& model, Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0];
    if (step == 0 || !has_step(model, step)) return std::nullopt;
    const Looks look(model, state_after(model, step - 1));
    const std::vector<double> narrow(look.narrow.weights.begin(), look.narrow.weights.end());
    Explained out{.title = "Effective keys of step " + std::to_string(step),
                  .provenance = from_vectors(model),
                  .f32 = single(effective_patterns(narrow)),
                  .unit = "keys",
                  .formula = "exp(−Σ_j w_j ln w_j)",
                  .operands_title = "Weights · −ln of them, in nats",
                  .note = "As many keys of equal weight would have this entropy; the query sees " +
                          std::to_string(model.patterns()->count()) + "."};
    for (std::size_t j = 0; j < look.wide.weights.size(); ++j) {
        const double weight = look.wide.weights[j];
        const Index key = model.patterns()->keys[j];
        if (weight != 0)
            out.term(label_of(subject, key), weight, -std::log(weight),
                     place_of(model, cells::weight(step, key)));
    }
    out.step("e^S", exp(out.step("S", out.dot("weights", "surprise"))));
    return out;
}

std::optional<Explained> explain_query(Model& model, Subject& subject, const LensCell& cell) {
    const bool all = cell.at[0] == 1;
    const Index query = cell.at[1];
    const QueryMoves* moves = model.moves.kept();
    if (!has_step(model, 0) || !moves) return std::nullopt;
    const auto row = std::ranges::find(moves->rows(), query, &QueryMoves::Row::query);
    if (row == moves->rows().end()) return std::nullopt;
    const std::string name = in_quotes(label_at(subject.attention()->query_names(), query));
    const double distance = all ? row->all : row->first;
    Explained out{.title = all ? "How far " + name + " moves in all" : "How far one step takes " + name,
                  .provenance = in_head(model, subject),
                  .f32 = single(distance),
                  .f64 = distance,
                  .recomputed = row->patterns * model.patterns()->components <= most_followed,
                  .formula = all ? "|ξ at the end − q|" : "|Kᵀ softmax(β K q) − q|",
                  .note = "It ends at " + fixed(row->effective, 2) + " of the " + many(row->patterns, "key") +
                          " it sees" + (row->settled ? "." : ", still moving.")};
    if (!out.recomputed) return out;
    auto patterns = patterns_seen(*model.row.record, model.row.head.head, query);
    auto start = query_state(*model.row.record, model.row.head.head, query);
    if (!patterns || !start) return std::nullopt;
    Retrieval again(std::make_shared<const HopfieldPatterns>(*std::move(patterns)), *model.beta, *start);
    while (again.step() && (all || again.steps() < 1)) continue;
    out.operands_title = "(there − q)², by component";
    const Places places{model.row.head};
    explain_distance(
        out, again.end(), *start, [](Index) { return std::nullopt; },
        [&](Index a) { return places(Stage::q, query, a); });
    return out;
}

// ---- The classical network --------------------------------------------------------------------------------

// Null while there is no recall on the page.
const BinaryRecall* run_of(const Model& model) {
    return model.is_classical() && model.recall.kept() ? &model.recall.kept()->run() : nullptr;
}

std::string from_patterns(const Model& model) {
    return "computed from " + many(model.bits->count(), "pattern") + " of " + many(model.bits->bits(), "bit");
}

std::optional<Explained> explain_flip(Model& model, Subject&, const LensCell& cell) {
    const Index flips = cell.at[0];
    const BinaryRecall* run = run_of(model);
    if (!run || flips >= std::ssize(run->energies())) return std::nullopt;
    const double bits = static_cast<double>(model.bits->bits());
    Bits state = model.recall.kept()->cue();
    for (const Index flip : std::span(run->flips()).first(static_cast<std::size_t>(flips))) {
        std::int8_t& bit = state[static_cast<std::size_t>(flip)];
        bit = static_cast<std::int8_t>(-bit);
    }
    Explained out{
        .title = "Energy after " + many(flips, "flip"),
        .provenance = from_patterns(model),
        .f32 = single(static_cast<double>(run->energies()[static_cast<std::size_t>(flips)]) / (2 * bits)),
        .formula = "E = −½ Σ_ij w_ij s_i s_j = ½ (P − 1/N Σ_μ m_μ²)",
        .operands_title = "Overlaps m_μ = Σ_i x^μ_i s_i, squared"};
    for (const std::int64_t overlap : model.bits->overlaps(state)) {
        const auto m = static_cast<double>(overlap);
        out.term(std::to_string(out.operands.size()), m, m);
    }
    const Expression squares = out.line("squares", out.dot("overlaps", "overlaps"));
    out.line("energy", (static_cast<double>(model.bits->count()) - squares / bits) / 2);
    if (flips > 0)
        out.note = "Bit " + std::to_string(run->flips()[static_cast<std::size_t>(flips - 1)]) +
                   " was flipped last. Each flip lowers the energy by twice the size of its field.";
    return out;
}

std::optional<Explained> explain_field(Model& model, Subject&, const LensCell& cell) {
    const Index bit = cell.at[0];
    const BinaryRecall* run = run_of(model);
    if (!run || bit >= model.bits->bits()) return std::nullopt;
    const Bits& state = run->state();
    const std::int8_t own = state[static_cast<std::size_t>(bit)];
    Explained out{.title = "Field of bit " + std::to_string(bit),
                  .provenance = from_patterns(model),
                  .f32 = single(static_cast<double>(model.bits->field(run->overlaps(), bit, own)) /
                                static_cast<double>(model.bits->bits())),
                  .formula = "h_i = Σ_j w_ij s_j, w_ij = 1/N Σ_μ x^μ_i x^μ_j",
                  .operands_title = "Weights · bits of the state"};
    for (Index j = 0; j < model.bits->bits(); ++j)
        if (j != bit)
            out.term(std::to_string(j), model.bits->weight(bit, j),
                     static_cast<double>(state[static_cast<std::size_t>(j)]), std::nullopt,
                     CellPlace{model.row.head, cells::local_field(j)});
    out.line("field", out.dot("weights", "bits"));
    if (run->done())
        out.note = std::string("The bit is ") + (own > 0 ? "+1" : "−1") + ", as its field says, and stays.";
    return out;
}

std::optional<Explained> explain_capacity(Model& model, Subject&, const LensCell& cell) {
    const auto network = static_cast<CapacityTrials::Network>(cell.at[0]);
    const Index load = cell.at[1];
    const CapacityTrials* trials = model.capacity.kept();
    if (!run_of(model) || !trials || load >= CapacityTrials::loads || trials->seeds_done() == 0)
        return std::nullopt;
    const Index seeds = trials->seeds_done();
    Explained out{.title = std::string("Recovered") +
                           (network == CapacityTrials::Network::classical ? "" : " by the modern network") +
                           " at P / N = " + fixed(CapacityTrials::load(load), 2),
                  .provenance = many(trials->patterns(load), "pattern") + " in " +
                                many(model.state.bits, "bit") + " · mean over " + many(seeds, "seed"),
                  .formula = "Σ of the shares / " + std::to_string(seeds),
                  .operands_title = "Share recovered, by seed",
                  .note = "A pattern counts as recovered if at most 5 % of its bits are wrong in the end."};
    for (Index seed = 0; seed < seeds; ++seed)
        out.summand("seed " + std::to_string(seed),
                    trials->shares(network, load)[static_cast<std::size_t>(seed)]);
    out.line("mean", out.line("total", out.sum("shares")) / static_cast<double>(seeds));
    out.f32 = single(out.f64);
    return out;
}

constexpr std::array<ModelNumber<Model>, 9> declared{{
    {&cells::energy, explain_energy},
    {&cells::update_norm, explain_moved},
    {&cells::effective_keys, explain_effective},
    {&cells::weight, explain_weight},
    {&cells::state, explain_state},
    {&cells::distance, explain_query},
    {&cells::classical_energy, explain_flip},
    {&cells::local_field, explain_field},
    {&cells::capacity, explain_capacity},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    if (row >= 20'000) return state(row - 20'000, col);
    if (row > 10'000) return weight(row - 10'000, col);
    if (row == 3 || row == 4) return distance(row - 3, col);
    if (row == 7 || row == 8) return capacity(row - 7, col);
    constexpr std::array alone{&energy,   &update_norm,      &effective_keys, &distance,
                               &distance, &classical_energy, &local_field};
    if (row < 0 || row >= std::ssize(alone)) return std::nullopt;
    return (*alone[static_cast<std::size_t>(row)])(col);
}

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return explain_by(declared, *this, subject, cell);
}

}  // namespace attn::app::memory
