// Explains the numbers of the classical network: its energy, the field of a bit, and the recovered share at a
// load.
#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "subjects/around.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

std::optional<Explained> MemoryLens::explain_flip(Subject&, const LensCell& cell) {
    const Index flips = cell.at[0];
    if (!recalls() || flips >= std::ssize(recall_->energies())) return std::nullopt;
    Bits state = cue_;
    for (Index i = 0; i < flips; ++i) {
        auto& bit = state[static_cast<std::size_t>(recall_->flips()[static_cast<std::size_t>(i)])];
        bit = static_cast<std::int8_t>(-bit);
    }
    const double bits = static_cast<double>(bits_->bits()), count = static_cast<double>(bits_->count());
    Explained out;
    out.title = "Energy after " + many(flips, "flip");
    out.provenance = "computed from " + many(bits_->count(), "pattern") + " of " + many(bits_->bits(), "bit");
    out.f64 = static_cast<double>(recall_->energies()[static_cast<std::size_t>(flips)]) / (2 * bits);
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    out.formula = "E = −½ Σ_ij w_ij s_i s_j = ½ (P − 1/N Σ_μ m_μ²)";
    out.operands_title = "Overlaps m_μ = Σ_i x^μ_i s_i, squared";
    std::vector<Term> terms;
    for (const std::int64_t overlap : bits_->overlaps(state)) {
        const auto m = static_cast<double>(overlap);
        terms.push_back({std::ssize(terms), m, m});
    }
    add_terms(out, terms, nullptr, nullptr, {"overlaps", "overlaps"});
    out.line("energy", (count - out.line("squares", out.dot()) / bits) / 2);
    if (flips > 0)
        out.note = "Bit " + std::to_string(recall_->flips()[static_cast<std::size_t>(flips - 1)]) +
                   " was flipped last. Each flip lowers the energy by twice the size of its field.";
    return out;
}

std::optional<Explained> MemoryLens::explain_field(Subject&, const LensCell& cell) {
    const Index bit = cell.at[0];
    if (!recalls() || bit >= bits_->bits()) return std::nullopt;
    const Bits& state = recall_->state();
    Explained out;
    out.title = "Field of bit " + std::to_string(bit);
    out.provenance = "computed from " + many(bits_->count(), "pattern") + " of " + many(bits_->bits(), "bit");
    out.f64 =
        static_cast<double>(bits_->field(recall_->overlaps(), bit, state[static_cast<std::size_t>(bit)])) /
        static_cast<double>(bits_->bits());
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    out.formula = "h_i = Σ_j w_ij s_j, w_ij = 1/N Σ_μ x^μ_i x^μ_j";
    out.operands_title = "Weights · bits of the state";
    std::vector<Term> terms;
    for (Index j = 0; j < bits_->bits(); ++j)
        if (j != bit)
            terms.push_back(
                {j, bits_->weight(bit, j), static_cast<double>(state[static_cast<std::size_t>(j)])});
    const PlaceOf field = [&](Index j) { return place_of(memory_cells::local_field(j)); };
    add_terms(out, terms, nullptr, field, {"weights", "bits"});
    out.line("field", out.dot());
    const bool up = state[static_cast<std::size_t>(bit)] > 0;
    if (recall_->done())
        out.note = std::string("The bit is ") + (up ? "+1" : "−1") + ", as its field says, and stays.";
    return out;
}

std::optional<Explained> MemoryLens::explain_capacity(Subject&, const LensCell& cell) {
    const auto network = static_cast<CapacityTrials::Network>(cell.at[0]);
    const Index load = cell.at[1];
    if (!recalls() || !capacity_ || load >= CapacityTrials::loads || capacity_->seeds_done() == 0)
        return std::nullopt;
    const auto& shares = capacity_->shares(network, load);
    const Index seeds = capacity_->seeds_done();
    Explained out;
    out.title =
        std::string(network == CapacityTrials::Network::classical ? "Recovered"
                                                                  : "Recovered by the modern network") +
        " at P / N = " + fixed(CapacityTrials::load(load), 2);
    out.provenance = many(capacity_->patterns(load), "pattern") + " in " + many(capacity_of_.bits, "bit") +
                     " · mean over " + many(seeds, "seed");
    out.formula = "Σ of the shares / " + std::to_string(seeds);
    out.operands_title = "Share recovered, by seed";
    out.left_name = "shares";
    out.right_name = "ones";
    double sum = 0;
    for (Index seed = 0; seed < seeds; ++seed) {
        const double share = shares[static_cast<std::size_t>(seed)];
        sum += share;
        out.operands.push_back({"seed " + std::to_string(seed), share, 1, share, std::nullopt, std::nullopt});
    }
    out.f64 = sum / static_cast<double>(seeds);
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    const Expression total = out.line("total", out.sum());
    out.line("mean", total / static_cast<double>(seeds));
    out.note = "A pattern counts as recovered if at most 5 % of its bits are wrong in the end.";
    return out;
}

}  // namespace attn::app
