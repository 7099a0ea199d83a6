// What a small network learns with each mistake: the table, the sentence and the explanations.
#include <cmath>

#include "app/format.hpp"
#include "lenses/pitfalls/pitfalls.hpp"

namespace attn::app::pitfalls {

namespace {

constexpr double learns = 0.9, learns_in_part = 0.3;  // shares of what the network without a mistake learns

double loss_now(const MistakenTraining& of) { return static_cast<double>(of.losses().back()); }

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

double guessing_loss() {
    return std::log(static_cast<double>(mistaken_training_plan().vocabulary - 1));  // without the separator
}

std::string run_name(const Model& model, Index run) {
    if (run == 0) return "right";
    const auto& variants = Model::in_training(run - 1).variants;
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
               Model::in_training(model.state.mistake).needs;
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
    if (!share)
        return name + ": step " + std::to_string(with->steps_taken()) + " of " + std::to_string(steps) +
               ", " + fixed(loss_now(*with), 3) + " nats; right " + fixed(loss_now(*without), 3) + ".";
    const auto said = [&](Learned number) { return learned_text(model, run, number); };
    const char* how = *share >= learns           ? "the network still learns"
                      : *share >= learns_in_part ? "the network learns in part"
                                                 : "the network does not learn";
    const std::string right_half = learned_text(model, 0, Learned::half);
    const std::string more = (model.learned(run, Learned::half)
                                  ? "Half of guessing’s loss was reached after " + said(Learned::half) +
                                        " steps, without the mistake after " + right_half
                                  : "Half of guessing’s loss was never reached, without the mistake after " +
                                        right_half + " steps") +
                             ". Put right, its weights predict " + said(Learned::right_predicted) +
                             " of the symbols instead of " + said(Learned::predicted) + ".";
    return name + ": " + how + ", " + said(Learned::loss) + " nats; right " +
           learned_text(model, 0, Learned::loss) + ".\n" + more;
}

std::optional<Explained> explain_loss(Model& model, Subject&, const LensCell& cell) {
    const Index run = cell.at[0], step = cell.at[1];
    const MistakenTraining* of = model.training(run);
    if (!of || step >= of->steps_taken()) return std::nullopt;
    Explained out{.title = "Loss of step " + std::to_string(step) + ": " + run_name(model, run),
                  .provenance = "trained in this tab, seed " + std::to_string(mistaken_training_plan().seed),
                  .unit = "nats"};
    out.formula = "mean of −ln p(target) over the batch";
    out.step("loss", static_cast<double>(of->losses()[static_cast<std::size_t>(step)]));
    out.note = "Of " + std::to_string(mistaken_training_plan().batch) +
               " sequences; only symbols that repeat are targets.";
    out.f32 = single(out.f64);
    return out;
}

std::optional<Explained> explain_learned(Model& model, Subject&, const LensCell& cell) {
    const Index run = cell.at[0];
    const auto number = static_cast<Learned>(cell.at[1]);
    const auto value = model.learned(run, number);
    if (!value) return std::nullopt;
    Explained out{.provenance = "trained in this tab, seed " + std::to_string(mistaken_training_plan().seed)};
    const auto place = [&](Index of, Learned what) {
        return CellPlace{model.head, cells::learned(of, what)};
    };
    switch (number) {
        case Learned::share: {
            out.title = "What is learned";
            out.formula = "(guessing − loss) / (guessing − right loss)";
            const Expression guessing = out.step(
                "guessing, ln " + std::to_string(mistaken_training_plan().vocabulary - 1), guessing_loss());
            const Expression loss =
                out.step("loss", *model.learned(run, Learned::loss), place(run, Learned::loss));
            const Expression right =
                out.step("right loss", *model.learned(0, Learned::loss), place(0, Learned::loss));
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
    out.title += ": " + run_name(model, run);
    if (number != Learned::share && number != Learned::half)
        out.note = "Over 16 sequences on which no step trains.";
    out.f32 = single(out.f64);
    return out;
}

}  // namespace attn::app::pitfalls
