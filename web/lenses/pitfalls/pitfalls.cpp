#include "lenses/pitfalls/pitfalls.hpp"

#include <algorithm>

#include "analysis/numerics/rounded_chain.hpp"
#include "app/link_text.hpp"

namespace attn::app::pitfalls {

namespace {

bool shows_scores(const Attention& attention) {
    return std::ranges::count(attention.stages(), Stage::raw) > 0;
}

constexpr std::array<std::string_view, 3> train_keys{"none", "chosen", "all"};

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
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
    if (shows_scores(attention)) return std::nullopt;
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
    effects_.clear();
    reading_ = nullptr;
    right_ = mistaken_ = running_ = nullptr;
}

std::size_t Model::variant_of(Index mistake) const {
    if (mistake != state.mistake) return 0;
    const std::size_t count = at(mistake).variants.size();
    return std::min(static_cast<std::size_t>(state.variant), std::max<std::size_t>(count, 1) - 1);
}

const MistakeEffect* Model::known(Index mistake, std::size_t variant) const {
    const auto found = std::ranges::find_if(
        effects_, [&](const Known& each) { return each.mistake == mistake && each.variant == variant; });
    return found == effects_.end() ? nullptr : &found->effect;
}
const MistakeEffect* Model::effect(Index mistake) const { return known(mistake, variant_of(mistake)); }

std::shared_ptr<MistakenHead> Model::begun(Index mistake, std::size_t variant) {
    Implementation how = right_implementation(*rows.given);
    at(mistake).variants[variant].apply(how);
    auto reading =
        how.inputs == reading_->reading() ? reading_ : std::make_shared<QueryReading>(rows, how.inputs);
    return std::make_shared<MistakenHead>(rows, std::move(how), std::move(reading));
}

bool Model::step() {
    if (!refused.empty()) return false;
    if (!right_) {
        const Implementation how = right_implementation(*rows.given);
        reading_ = std::make_shared<QueryReading>(rows, how.inputs);
        right_ = std::make_shared<MistakenHead>(rows, how, reading_);
        return true;
    }
    if (!right_->done()) {
        right_->step();
        return true;
    }
    // The chosen mistake comes first.
    const std::pair wanted(state.mistake, variant_of(state.mistake));
    if (chosen().variants.empty()) {
        mistaken_ = nullptr;
    } else if (!mistaken_ || mistaken_is_ != wanted) {
        mistaken_ = begun(wanted.first, wanted.second);
        mistaken_is_ = wanted;
        return true;
    } else if (!mistaken_->done()) {
        if (!mistaken_->step() && !known(wanted.first, wanted.second))
            effects_.push_back({wanted.first, wanted.second, effect_of(*right_, *mistaken_)});
        return true;
    }
    if (running_) {
        if (running_->step()) return true;
        if (!known(running_is_.first, running_is_.second))
            effects_.push_back({running_is_.first, running_is_.second, effect_of(*right_, *running_)});
        running_ = nullptr;
        return true;
    }
    for (Index mistake = 0; mistake < mistake_count; ++mistake)
        if (!at(mistake).variants.empty() && !effect(mistake)) {
            running_is_ = {mistake, variant_of(mistake)};
            running_ = begun(mistake, running_is_.second);
            return true;
        }
    return step_training();
}

// ---- Training ---------------------------------------------------------------------------------------------

const PossibleMistake& Model::in_training(Index mistake) {
    static const auto all = possible_mistakes({mistaken_training_case(), ""});
    return all[static_cast<std::size_t>(mistake)];
}

std::optional<Implementation> Model::trained_how(Index mistake) const {
    const std::vector<MistakeVariant>& variants = in_training(mistake).variants;
    if (variants.empty()) return std::nullopt;
    // The head's variant, where the network has it, too.
    const std::vector<MistakeVariant>& own = at(mistake).variants;
    auto variant = variants.begin();
    if (!own.empty()) {
        const auto same =
            std::ranges::find(variants, own[variant_of(mistake)].detail, &MistakeVariant::detail);
        if (same != variants.end()) variant = same;
    }
    Implementation how = right_implementation(mistaken_training_case());
    variant->apply(how);
    return how;
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
    if (!of || !of->measured()) return std::nullopt;
    switch (number) {
        case Learned::loss: return of->measured()->loss;
        case Learned::predicted: return of->measured()->right;
        case Learned::right_loss: return of->put_right()->loss;
        case Learned::right_predicted: return of->put_right()->right;
        case Learned::share: {
            const auto right = learned(0, Learned::loss);
            if (!right) return std::nullopt;
            return (guessing_loss() - of->measured()->loss) / (guessing_loss() - *right);
        }
        case Learned::half:
            if (const auto step = of->first_below(guessing_loss() / 2)) return static_cast<double>(*step);
            return std::nullopt;
    }
    return std::nullopt;
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
