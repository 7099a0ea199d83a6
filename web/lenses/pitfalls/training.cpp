// What a small network learns with each mistake: the table, the sentence and the explanations.
#include <cmath>

#include "app/format.hpp"
#include "lenses/pitfalls/pitfalls.hpp"
#include "runs/mistaken_training_explained.hpp"

namespace attn::app::pitfalls {

namespace {

constexpr double learns = 0.9, learns_in_part = 0.3;  // shares of what the network without a mistake learns

std::string learned_text(const Model& model, Index run, Learned number) {
    const MistakenTraining* of = model.training(run);
    if (of->failure()) return number == Learned::loss ? "NaN" : "–";
    if (!of->measured()) return "…";
    const auto value = model.learned(run, number);
    if (!value) return number == Learned::half ? "never" : "…";
    switch (number) {
        case Learned::half: return std::to_string(std::lround(*value));
        case Learned::loss:
        case Learned::right_loss: return fixed(*value, 3);
        default: return percent(*value);
    }
}

}  // namespace

std::string run_name(const Model& model, Index run) {
    if (run == 0) return "right";
    const auto& variants = mistake_in_training(run - 1).variants;
    const PossibleMistake& own = model.at(run - 1);
    std::string name = own.mistake->name;
    if (own.variants.empty()) return name;
    const std::string& detail = own.variants[model.variant_of(run - 1)].detail;
    return detail.empty() || std::ranges::find(variants, detail, &MistakeVariant::detail) == variants.end()
               ? name
               : name + ", " + detail;
}

Sheet learned_sheet(const Model& model) {
    const std::vector<Index> runs = model.runs();
    Sheet sheet{.key = "pitfalls/learned",
                .title = "What the network learns",
                .notation = "loss in nats on sequences that no step trains on, where guessing has " +
                            fixed(guessing_loss(), 2) + "; halved: 20 batches are on average below " +
                            fixed(guessing_loss() / 2, 2),
                .rows = {"attention", {}},
                .columns = {"after " + std::to_string(mistaken_training_plan().steps) + " steps",
                            {"loss", "predicted", "learned", "halved after", "put right", "its loss"}}};
    for (const Index run : runs) sheet.rows.labels.push_back(run_name(model, run));
    sheet.value = [&model, runs](Index r, Index c) {
        return model.learned(runs[static_cast<std::size_t>(r)], static_cast<Learned>(c)).value_or(NAN);
    };
    sheet.text = [&model, runs](Index r, Index c) {
        return learned_text(model, runs[static_cast<std::size_t>(r)], static_cast<Learned>(c));
    };
    sheet.cell = [runs](Index r, Index c) -> std::optional<CellRef> {
        return cells::learned(runs[static_cast<std::size_t>(r)], c);
    };
    const auto lit = std::ranges::find(runs, 1 + model.state.mistake);
    if (lit != runs.end()) sheet.lit_row = lit - runs.begin();
    return sheet;
}

std::string training_headline(const Model& model) {
    const Index run = 1 + model.state.mistake;
    const std::string name = model.chosen().mistake->name;
    if (!model.trained_how(model.state.mistake))
        return name + ": the small network cannot make that mistake.\n" +
               mistake_in_training(model.state.mistake).needs;
    const MistakenTraining *with = model.training(run), *without = model.training(0);
    const std::int64_t steps = mistaken_training_plan().steps;
    if (!with || !without || with->losses().empty()) {
        if (with && with->failure()) return name + ": the first loss is not a number, so nothing is learned.";
        return name + ": a small network begins to learn with it.";
    }
    if (with->failure())
        return name + ": after step " + std::to_string(with->steps_taken()) + " the loss is not a number.\n" +
               with->failure()->message;
    const auto share = model.learned(run, Learned::share);
    if (!share) {
        const auto loss_of = [](const MistakenTraining& of) {
            return fixed(static_cast<double>(of.losses().back()), 3);
        };
        return name + ": step " + std::to_string(with->steps_taken()) + " of " + std::to_string(steps) +
               ", " + loss_of(*with) + " nats; right " + loss_of(*without) + ".";
    }
    const auto said = [&](Learned number) { return learned_text(model, run, number); };
    const char* how = *share >= learns           ? "the network still learns"
                      : *share >= learns_in_part ? "the network learns in part"
                                                 : "the network does not learn";
    const bool is_halved = model.learned(run, Learned::half).has_value();
    const std::string more =
        "Half of guessing’s loss was " +
        (is_halved ? "reached after " + said(Learned::half) + " steps" : std::string("never reached")) +
        ", without the mistake after " + learned_text(model, 0, Learned::half) + (is_halved ? "" : " steps") +
        ". Put right, its weights predict " + said(Learned::right_predicted) + " of the symbols instead of " +
        said(Learned::predicted) + ".";
    return name + ": " + how + ", " + said(Learned::loss) + " nats; right " +
           learned_text(model, 0, Learned::loss) + ".\n" + more;
}

std::optional<Explained> explain_loss(Model& model, Subject&, const LensCell& cell) {
    const MistakenTraining* run = model.training(cell.at[0]);
    if (!run || cell.at[1] >= run->steps_taken()) return std::nullopt;
    Explained out = app::explain_loss(*run, cell.at[1]);
    out.title += ": " + run_name(model, cell.at[0]);
    return out;
}

std::optional<Explained> explain_learned(Model& model, Subject&, const LensCell& cell) {
    const MistakenTraining* run = model.training(cell.at[0]);
    if (!run) return std::nullopt;
    auto out = app::explain_learned(
        *model.trainings, *run, static_cast<Learned>(cell.at[1]), [&](bool of_right, Learned number) {
            return CellPlace{model.head, cells::learned(of_right ? 0 : cell.at[0], number)};
        });
    if (out) out->title += ": " + run_name(model, cell.at[0]);
    return out;
}

}  // namespace attn::app::pitfalls
