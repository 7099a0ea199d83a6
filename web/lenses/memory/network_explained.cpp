// Explains the numbers of the classical network: its energy, the field of a bit, and the recovered share at a
// load.
#include "app/format.hpp"
#include "lenses/memory/memory.hpp"

namespace attn::app::memory {

namespace {

// Null while there is no recall on the page.
const BinaryRecall* run_of(const Model& model) {
    return model.is_classical() && model.recall.kept() ? &model.recall.kept()->run : nullptr;
}

std::string from_patterns(const Model& model) {
    return "computed from " + many(model.bits->count(), "pattern") + " of " + many(model.bits->bits(), "bit");
}

}  // namespace

std::optional<Explained> explain_flip(Model& model, Subject&, const LensCell& cell) {
    const Index flips = cell.at[0];
    const BinaryRecall* run = run_of(model);
    if (!run || flips >= std::ssize(run->energies())) return std::nullopt;
    const double bits = static_cast<double>(model.bits->bits());
    Bits state = model.recall.kept()->cue;
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

}  // namespace attn::app::memory
