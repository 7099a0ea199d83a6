// Explains the numbers of the modern network: energies, weights, states and distances.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "subjects/around.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

// A query is followed again for its explanation if that takes at most a few milliseconds.
constexpr Index most_followed = Index{1} << 16;  // over all its keys

// In single precision, from the same state.
HopfieldLook<float> in_single(const HopfieldPatterns& patterns, double beta, std::span<const double> state) {
    const std::vector<float> rounded(state.begin(), state.end());
    HopfieldLook<float> look;
    hopfield_look<float>(patterns, beta, rounded, look);
    return look;
}
HopfieldLook<double> in_double(const HopfieldPatterns& patterns, double beta, std::span<const double> state) {
    HopfieldLook<double> look;
    hopfield_look<double>(patterns, beta, state, look);
    return look;
}

// √Σ (a − b)² over components.
void explain_distance(Explained& out, std::span<const double> to, std::span<const double> from,
                      const PlaceOf& to_at, const PlaceOf& from_at) {
    std::vector<Term> terms;
    double square = 0;
    for (std::size_t a = 0; a < to.size(); ++a) {
        const double off = to[a] - from[a];
        square += off * off;
        terms.push_back({static_cast<Index>(a), off, off});
    }
    add_terms(out, terms, to_at, from_at, {"moved", "moved"});
    out.f64 = std::sqrt(square);
    out.line("distance", norm(out.left()));
}

}  // namespace

std::optional<Explained> MemoryLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention()) return std::nullopt;
    update(subject);
    if (!kept_ || kept_->cell != place.cell || !kept_->why)
        kept_ = Kept{place.cell, explain_by(declared, *this, subject, place.cell.own)};
    return kept_->why;
}

const std::array<LensNumber<MemoryLens>, 9> MemoryLens::declared{{
    {&memory_cells::energy, &MemoryLens::explain_energy},
    {&memory_cells::update_norm, &MemoryLens::explain_moved},
    {&memory_cells::effective_keys, &MemoryLens::explain_effective},
    {&memory_cells::weight, &MemoryLens::explain_weight},
    {&memory_cells::state, &MemoryLens::explain_state},
    {&memory_cells::distance, &MemoryLens::explain_query},
    {&memory_cells::classical_energy, &MemoryLens::explain_flip},
    {&memory_cells::local_field, &MemoryLens::explain_field},
    {&memory_cells::capacity, &MemoryLens::explain_capacity},
}};

CellKinds memory_numbers() { return kinds_of(MemoryLens::declared); }

std::optional<CellRef> packed_memory_cell(Index row, Index col) {
    using namespace memory_cells;
    if (row >= 20'000) return state(row - 20'000, col);
    if (row > 10'000) return weight(row - 10'000, col);
    switch (row) {
        case 0: return energy(col);
        case 1: return update_norm(col);
        case 2: return effective_keys(col);
        case 3:
        case 4: return distance(row - 3, col);
        case 5: return classical_energy(col);
        case 6: return local_field(col);
        case 7:
        case 8: return capacity(row - 7, col);
        default: return std::nullopt;
    }
}

bool MemoryLens::has_step(Index step) const {
    return now().network == MemoryNetwork::modern && path_ && step < path_->looked_at();
}

// The start's components are those of q.
std::optional<CellPlace> MemoryLens::state_place(Index step, Index component) const {
    if (step == 0 && !now().start) return Places{row_.head}(Stage::q, row_.query, component);
    return place_of(memory_cells::state(step, component));
}

std::optional<Explained> MemoryLens::explain_energy(Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0];
    if (!has_step(step)) return std::nullopt;
    const auto& state = path_->points()[static_cast<std::size_t>(step)].state;
    const HopfieldLook<double> look = in_double(*patterns_, *beta_, state);
    double square = 0;
    for (const double each : state) square += each * each;
    const double count = static_cast<double>(patterns_->count()), log_sum = std::log(look.sum) / *beta_,
                 log_count = std::log(count) / *beta_, largest = patterns_->largest * patterns_->largest;
    Explained out;
    out.title = "Energy after " + many(step, "step");
    out.provenance = "computed from q and K · " + beta_text(*beta_);
    out.f32 = static_cast<double>(in_single(*patterns_, *beta_, state).energy);
    out.f64 = look.energy;
    out.formula = "E = −1/β ln Σ_j exp(β k_j·ξ) + ½ ξ·ξ + 1/β ln N + ½ max |k|²";
    out.operands_title = "exp(β (k·ξ − max)), whose share of the sum is a weight";
    out.left_name = "factors";
    out.right_name = "ones";
    out.operands.reserve(patterns_->keys.size());
    for (Index j = 0; j < patterns_->count(); ++j) {
        const Index key = patterns_->keys[static_cast<std::size_t>(j)];
        const double factor = look.weights[static_cast<std::size_t>(j)] * look.sum;
        out.operands.push_back({in_quotes(label_at(subject.attention()->key_names(), key)), factor, 1, factor,
                                step < path_->steps()
                                    ? std::optional(place_of(memory_cells::weight(step + 1, key)))
                                    : std::nullopt,
                                std::nullopt});
    }
    add_step(out, "max k·ξ", "", look.highest);
    add_step(out, "1/β ln Σ exp", four(look.highest) + " + " + four(log_sum), look.highest + log_sum);
    add_step(out, "½ ξ·ξ", "½ · " + four(square), square / 2);
    add_step(out, "1/β ln N", "ln " + fixed(count, 0) + " / β", log_count);
    add_step(out, "½ max |k|²", "½ · " + four(largest), largest / 2);
    add_step(out, "E", "", out.f64, true);
    const Expression total = out.line("total", out.sum()),
                     seen = out.line("look", look.highest + log(total) / *beta_),
                     length = out.line("square", dot(Column{"state", state}, Column{"state", state}));
    out.line("energy", length / 2 + largest / 2 + log(Expression(count)) / *beta_ - seen);
    if (step > 0) {
        const double fell = path_->points()[static_cast<std::size_t>(step - 1)].energy - out.f64;
        out.note = "It is lower than the step before by " + fixed(fell, 4) + "; no step raises it.";
    }
    return out;
}

std::optional<Explained> MemoryLens::explain_weight(Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0], key = cell.at[1];
    if (step == 0 || !has_step(step)) return std::nullopt;
    const auto found = std::ranges::lower_bound(patterns_->keys, key);
    if (found == patterns_->keys.end() || *found != key) return std::nullopt;
    const auto j = static_cast<std::size_t>(found - patterns_->keys.begin());
    const auto& state = path_->points()[static_cast<std::size_t>(step - 1)].state;
    const HopfieldLook<double> look = in_double(*patterns_, *beta_, state);
    const Attention& attention = *subject.attention();
    const Places places{row_.head};
    Explained out;
    out.title =
        "Weight of " + in_quotes(label_at(attention.key_names(), key)) + " in step " + std::to_string(step);
    out.provenance = head_text(row_.head, attention.numbering()) + " · " + beta_text(*beta_);
    out.f32 = static_cast<double>(in_single(*patterns_, *beta_, state).weights[j]);
    out.f64 = look.weights[j];
    out.formula = "exp(β k_j·ξ) / Σ_i exp(β k_i·ξ)";
    out.operands_title = "k · ξ, by component";
    std::vector<Term> terms;
    for (std::size_t a = 0; a < state.size(); ++a)
        terms.push_back(
            {static_cast<Index>(a), static_cast<double>(patterns_->at(static_cast<Index>(j))[a]), state[a]});
    add_terms(
        out, terms, [&](Index a) { return places(Stage::k, key, a); },
        [&](Index a) { return state_place(step - 1, a); }, {"key", "state"});
    const double factor = out.f64 * look.sum;
    add_step(out, "k · ξ", "", look.products[j]);
    add_step(out, "max k · ξ", "", look.highest);
    add_step(out, "exp",
             "exp(" + beta_text(*beta_).substr(std::string("β = ").size()) + " × " +
                 four(look.products[j] - look.highest) + ")",
             factor);
    add_step(out, "Σ of the row", "", look.sum);
    add_step(out, "weight", four(factor) + " / " + four(look.sum), out.f64, true);
    const Expression product = out.line("product", out.dot());
    out.line("weight", exp(out.line("exponent", *beta_ * (product - look.highest))) / look.sum);
    if (step == 1 && !now().start && *beta_ == own_beta_) {
        add_step(out, "in the head", "",
                 static_cast<double>(row_.record->cell(Stage::weight, row_.head.head, row_.query, key)),
                 places(Stage::weight, row_.query, key));
        out.note = "The first step at the head’s own β is its attention.";
    }
    return out;
}

std::optional<Explained> MemoryLens::explain_state(Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0], component = cell.at[1];
    if (!has_step(step) || component >= patterns_->components) return std::nullopt;
    const auto a = static_cast<std::size_t>(component);
    const auto& points = path_->points();
    const Attention& attention = *subject.attention();
    const Places places{row_.head};
    Explained out;
    out.title = "ξ[" + std::to_string(component) + "] after " + many(step, "step");
    out.provenance = head_text(row_.head, attention.numbering()) + " · " + beta_text(*beta_);
    out.f64 = points[static_cast<std::size_t>(step)].state[a];
    out.f32 = single(out.f64);
    if (step == 0 && !now().start) {
        out.formula = "ξ = q";
        add_step(out, "q", "", out.f64, places(Stage::q, row_.query, component));
        out.line("state", out.f64);
        return out;
    }
    if (step == 0) {
        const auto& start = *now().start;
        out.formula = "mean + x · across + y · up";
        out.operands_title = "The place in the plane · its directions";
        out.left_name = "place";
        out.right_name = "directions";
        const auto operand = [&](const char* name, double left, double right) {
            out.operands.push_back({name, left, right, left * right, std::nullopt, std::nullopt});
        };
        operand("mean of the keys", 1, plane_->origin[a]);
        operand("across", start[0], plane_->across[a]);
        operand("up", start[1], plane_->up[a]);
        out.line("state", out.dot());
        return out;
    }
    const auto& before = points[static_cast<std::size_t>(step - 1)].state;
    const HopfieldLook<double> look = in_double(*patterns_, *beta_, before);
    out.f32 = static_cast<double>(in_single(*patterns_, *beta_, before).next[a]);
    out.formula = "Σ_j w_j K[j, " + std::to_string(component) + "]";
    out.operands_title = "Weights of the step · K[·, " + std::to_string(component) + "]";
    out.left_name = "weights";
    out.right_name = "k";
    out.operands.reserve(patterns_->keys.size());
    for (Index j = 0; j < patterns_->count(); ++j) {
        const Index key = patterns_->keys[static_cast<std::size_t>(j)];
        const double weight = look.weights[static_cast<std::size_t>(j)],
                     value = static_cast<double>(patterns_->at(j)[a]);
        out.operands.push_back({in_quotes(label_at(attention.key_names(), key)), weight, value,
                                weight * value, place_of(memory_cells::weight(step, key)),
                                places(Stage::k, key, component)});
    }
    out.line("state", out.dot());
    return out;
}

std::optional<Explained> MemoryLens::explain_moved(Subject&, const LensCell& cell) {
    const Index step = cell.at[0];
    if (step == 0 || !has_step(step)) return std::nullopt;
    const auto& points = path_->points();
    Explained out;
    out.title = "How far step " + std::to_string(step) + " moved ξ";
    out.provenance = "computed from q and K · " + beta_text(*beta_);
    out.formula = "|ξ after − ξ before|";
    out.operands_title = "(after − before)², by component";
    explain_distance(
        out, points[static_cast<std::size_t>(step)].state, points[static_cast<std::size_t>(step - 1)].state,
        [&](Index a) { return state_place(step, a); }, [&](Index a) { return state_place(step - 1, a); });
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> MemoryLens::explain_effective(Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0];
    if (step == 0 || !has_step(step)) return std::nullopt;
    const auto& before = path_->points()[static_cast<std::size_t>(step - 1)].state;
    const HopfieldLook<double> look = in_double(*patterns_, *beta_, before);
    const std::vector<float> run = in_single(*patterns_, *beta_, before).weights;
    Explained out;
    out.title = "Effective keys of step " + std::to_string(step);
    out.provenance = "computed from q and K · " + beta_text(*beta_);
    out.f64 = effective_patterns(look.weights);
    out.unit = "keys";
    out.f32 = single(effective_patterns(std::vector<double>(run.begin(), run.end())));
    out.formula = "exp(−Σ_j w_j ln w_j)";
    out.operands_title = "Weights · −ln of them, in nats";
    out.left_name = "weights";
    out.right_name = "surprise";
    out.operands.reserve(patterns_->keys.size());
    for (Index j = 0; j < patterns_->count(); ++j) {
        const double weight = look.weights[static_cast<std::size_t>(j)];
        if (weight == 0) continue;
        const Index key = patterns_->keys[static_cast<std::size_t>(j)];
        out.operands.push_back({in_quotes(label_at(subject.attention()->key_names(), key)), weight,
                                -std::log(weight), -weight * std::log(weight),
                                place_of(memory_cells::weight(step, key)), std::nullopt});
    }
    const double entropy = std::log(out.f64);
    add_step(out, "S", "", entropy);
    add_step(out, "e^S", "exp(" + four(entropy) + ")", out.f64, true);
    out.line("keys", exp(out.line("entropy", out.dot())));
    out.note = "As many keys of equal weight would have this entropy; the query sees " +
               std::to_string(patterns_->count()) + ".";
    return out;
}

std::optional<Explained> MemoryLens::explain_query(Subject& subject, const LensCell& cell) {
    const bool all = cell.at[0] == 1;
    const Index query = cell.at[1];
    if (!has_step(0) || !moves_) return std::nullopt;
    const auto row = std::ranges::find(moves_->rows(), query, &QueryMoves::Row::query);
    if (row == moves_->rows().end()) return std::nullopt;
    const Attention& attention = *subject.attention();
    const Places places{row_.head};
    Explained out;
    out.title = std::string(all ? "How far " : "How far one step takes ") +
                in_quotes(label_at(attention.query_names(), query)) + (all ? " moves in all" : "");
    out.provenance = head_text(row_.head, attention.numbering()) + " · " + beta_text(*beta_);
    out.f64 = all ? row->all : row->first;
    out.f32 = single(out.f64);
    out.formula = all ? "|ξ at the end − q|" : "|Kᵀ softmax(β K q) − q|";
    out.note = "It ends at " + fixed(row->effective, 2) + " of the " + many(row->patterns, "key") +
               " it sees" + (row->settled ? "." : ", still moving.");
    out.recomputed = row->patterns * patterns_->components <= most_followed;
    if (!out.recomputed) return out;
    auto patterns = patterns_seen(*row_.record, row_.head.head, query);
    auto start = query_state(*row_.record, row_.head.head, query);
    if (!patterns || !start) return std::nullopt;
    Retrieval again(std::make_shared<const HopfieldPatterns>(*std::move(patterns)), *beta_, *start);
    while (again.step() && (all || again.steps() < 1)) continue;
    out.operands_title = "(there − q)², by component";
    explain_distance(out, again.end(), *start, nullptr, [&](Index a) { return places(Stage::q, query, a); });
    return out;
}

}  // namespace attn::app
