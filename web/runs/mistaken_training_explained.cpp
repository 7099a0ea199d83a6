#include "runs/mistaken_training_explained.hpp"

#include "app/format.hpp"

namespace attn::app {

namespace {

std::string provenance() {
    return "trained in this tab, seed " + std::to_string(mistaken_training_plan().seed);
}

}  // namespace

Explained explain_loss(const MistakenTraining& run, std::int64_t step) {
    Explained out{.title = "Loss of step " + std::to_string(step),
                  .provenance = provenance(),
                  .unit = "nats",
                  .formula = "mean of −ln p(target) over the batch",
                  .note = "Of " + std::to_string(mistaken_training_plan().batch) +
                          " sequences; only symbols that repeat are targets."};
    out.step("loss", static_cast<double>(run.losses()[static_cast<std::size_t>(step)]));
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> explain_learned(const MistakenTrainings& all, const MistakenTraining& run,
                                         Learned number,
                                         const std::function<CellPlace(bool of_right, Learned)>& place) {
    const auto value = all.learned(run, number);
    if (!value) return std::nullopt;
    Explained out{.provenance = provenance()};
    switch (number) {
        case Learned::share: {
            out.title = "What is learned";
            out.formula = "(guessing − loss) / (guessing − right loss)";
            const Expression guessing = out.step(
                "guessing, ln " + std::to_string(mistaken_training_plan().vocabulary - 1), guessing_loss());
            const Expression loss = out.step("loss", run.measured()->loss, place(false, Learned::loss));
            const Expression right =
                out.step("right loss", all.right()->measured()->loss, place(true, Learned::loss));
            out.step("share", (guessing - loss) / (guessing - right));
            break;
        }
        case Learned::half:
            out.title = "Steps until the loss is halved";
            out.unit = "steps";
            out.formula = "the first step whose last 20 batches have a mean loss below " +
                          fixed(guessing_loss() / 2, 3);
            out.step("steps", *value);
            break;
        case Learned::loss:
        case Learned::right_loss:
            out.title = number == Learned::loss ? "Loss" : "Loss with the right attention";
            out.unit = "nats";
            out.formula = "mean of −ln p(target)";
            out.step("loss", *value);
            break;
        default:
            out.title = number == Learned::predicted ? "Symbols predicted"
                                                     : "Symbols predicted with the right attention";
            out.formula = "targets that are the most likely symbol / targets";
            out.step("share", *value);
    }
    if (number != Learned::share && number != Learned::half)
        out.note = "Over 16 sequences on which no step trains.";
    out.f32 = single(out.f64);
    return out;
}

}  // namespace attn::app
