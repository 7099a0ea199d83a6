#include "lenses/pitfalls/pitfalls.hpp"

#include <algorithm>

#include "analysis/numerics/rounded_chain.hpp"
#include "app/link_text.hpp"

namespace attn::app::pitfalls {

const Fields<State>& State::fields() {
    using S = State;
    static constexpr std::array<std::string_view, 3> train_keys{"none", "chosen", "all"};
    static const Field<S> all[]{
        {"pitfalls.mistake",
         [](const S& s) {
             return "mistake: " + std::string(mistakes()[static_cast<std::size_t>(s.mistake)].name);
         },
         named<&S::mistake>(mistake_keys),
         whole<&S::variant>("variant of a mistake", 0, static_cast<double>(variants_limit - 1))},
        {"pitfalls.train",
         [](const S& s) -> std::string {
             return s.train == Train::none     ? "no training"
                    : s.train == Train::chosen ? "training with the mistake"
                                               : "training with all mistakes";
         },
         named<&S::train>(train_keys)},
    };
    static const Fields<S> fields{all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 2>()}; }

// ---- The model --------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{
            "Mistakes need the vectors behind the weights, Q and K; here there are only finished weights."};
    if (!attention.record(subject.chosen().layer))
        return Missing{.sentence = "Mistakes need this head’s Q and K, which are still being computed.",
                       .comes = true};
    if (std::ranges::count(attention.stages(), Stage::raw) > 0) return std::nullopt;
    return Missing{"Mistakes need the vectors behind the scores, Q and K; here the scores are given."};
}

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    state = visit.state().of<State>();
    trainings = &visit.shared<MistakenTrainings>();
    const ChosenRow row = chosen_row(subject);
    head = row.head;
    record = row.record;
    key_chosen = subject.chosen().key;
    const auto trace = attention.trace();
    const Made& made = made_.of({record, trace}, [&]() -> Made {
        auto of = case_of(*record, trace ? trace->network().rotary_of(head.layer) : nullptr);
        if (!of) return {nullptr, {}, of.error().message};
        Made out;
        out.possible = possible_mistakes(*of);
        out.given = std::make_shared<const AttentionCase>(std::move(of->given));
        return out;
    });
    refused = row.query < 0 ? "There is no query here, or no key to look at." : made.refused;
    CheckedRows now;
    if (refused.empty())
        now = {made.given, head.head, chain_window(record, head.head, row.query).queries, row.query};
    if (now == rows) return;
    rows = std::move(now);
    effects_.emplace(rows);
}

std::size_t Model::variant_of(Index mistake) const {
    if (mistake != state.mistake) return 0;
    const std::size_t count = at(mistake).variants.size();
    return std::min(static_cast<std::size_t>(state.variant), std::max<std::size_t>(count, 1) - 1);
}

const MistakeEffect* Model::effect(Index mistake) const { return effects_->of(mistake, variant_of(mistake)); }

bool Model::step() {
    if (!refused.empty()) return false;
    return effects_->step(made_.kept()->possible, state.mistake, variant_of(state.mistake)) ||
           step_training();
}

// ---- Training ---------------------------------------------------------------------------------------------

std::optional<Implementation> Model::trained_how(Index mistake) const {
    const std::vector<MistakeVariant>& own = at(mistake).variants;
    return implementation_in_training(mistake, own.empty() ? "" : own[variant_of(mistake)].detail);
}

const MistakenTraining* Model::training(Index run) const {
    if (run == 0) return trainings->right();
    const auto how = trained_how(run - 1);
    return how ? trainings->of(*how) : nullptr;
}

std::vector<Index> Model::runs() const {
    std::vector<Index> all;
    for (Index run = 0; run <= mistake_count; ++run)
        if (training(run)) all.push_back(run);
    return all;
}

bool Model::step_training() {
    if (state.train == Train::none) return false;
    const auto more = [&](Index mistake) {
        const auto how = trained_how(mistake);
        return how && trainings->step(*how);
    };
    if (more(state.mistake)) return true;
    if (state.train == Train::chosen) return false;
    for (Index mistake = 0; mistake < mistake_count; ++mistake)
        if (more(mistake)) return true;
    return false;
}

std::optional<double> Model::learned(Index run, Learned number) const {
    const MistakenTraining* of = training(run);
    return of ? trainings->learned(*of, number) : std::nullopt;
}

bool Model::all_known() const {
    for (Index mistake = 0; mistake < mistake_count; ++mistake)
        if (!at(mistake).variants.empty() && !effect(mistake)) return false;
    return true;
}

std::vector<Index> Model::listed() const {
    std::vector<Index> all;
    for (Index mistake = 0; mistake < mistake_count; ++mistake)
        if (!at(mistake).variants.empty()) all.push_back(mistake);
    if (all_known())
        std::ranges::sort(all, {}, [&](Index mistake) {
            return std::pair(-effect(mistake)->of(MistakeEffect::Of::output).change, mistake);
        });
    return all;
}

}  // namespace attn::app::pitfalls
