#include "lenses/knockout/knockout.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "analysis/linalg/rank_correlation.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

namespace {

constexpr Index likeliest_tokens = 20, most_patched = 24;
constexpr std::array<std::string_view, knockout_part_count> part_keys{"heads", "edges", "patching"};
constexpr std::array<std::string_view, removal_count> removal_keys{"zero", "mean", "texts", "twin"};

constexpr Operation operation_of(Removal removal) {
    switch (removal) {
        case Removal::zero: return Operation::zero;
        case Removal::mean: return Operation::mean;
        case Removal::texts: return Operation::mean_of_texts;
        case Removal::twin: break;
    }
    return Operation::patch;
}

std::optional<Site> read_patch_site(std::string_view text) {
    const auto site = site_by_key(text);
    return site && std::ranges::find(patch_sites, *site) != patch_sites.end() ? site : std::nullopt;
}
constexpr std::string_view site_examples[] = {"mlp_output", "residual_in"};
constexpr std::array<std::string_view, 2> text_keys{"first", "second"};

}  // namespace

const Fields<KnockoutState>& KnockoutState::fields() {
    using S = KnockoutState;
    static const Field<S> all[]{
        {"knockout.part", "knock out: {}", named<&S::part>(part_keys)},
        {"knockout.removal", "heads removed by {}", named<&S::removal>(removal_keys)},
        {"knockout.target",
         [](const S& s) {
             return std::string(s.over ? "a difference of logits asked about" : "a logit asked about");
         },
         whole<&S::raise>("token id", 0, token_limit), whole<&S::over>("token id", 0, token_limit)},
        {"knockout.site", [](const S& s) { return "patched: " + std::string(info(s.site).name); },
         spelled<&S::site, read_patch_site, [](Site site) { return info(site).key; }>("site that is patched",
                                                                                      site_examples)},
        {"knockout.into", {"the second text patched", "the first text patched"}, named<&S::back>(text_keys)},
    };
    static const Fields<S> fields{
        .all = all, .check = [](const S& s) -> Status {
            if (s.over && (!s.raise || *s.raise == *s.over))
                return Error{"Choose two different tokens for a logit difference."};
            if (std::ranges::find(patch_sites, s.site) == patch_sites.end())
                return Error{
                    "Only the residual, the attention output and the MLP output can be patched here."};
            return ok();
        }};
    return fields;
}
LinkRows knockout_links() { return {rows_of_fields<KnockoutState, 5>()}; }

std::optional<Missing> KnockoutLens::missing(Subject& subject) const {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{
        "To knock something out, a whole model has to run again; here is only a head’s attention."};
}

// ---- Measurements -----------------------------------------------------------------------------------------

void KnockoutLens::Likeliest::read(std::shared_ptr<const Trace> of, Index at) {
    if (of == trace && at == row) return;
    *this = {std::move(of), at};
    if (!trace) return;
    logits = trace->logits({row, row + 1});
    tokens = next_token_distribution(logits.values(), {.temperature = 1}, likeliest_tokens);
}

// Results kept here hold whole runs, so they are released.
void KnockoutLens::follow(const State&, Change) {
    if (target_ && &visit().lens() != this) forget();
}

void KnockoutLens::forget() {
    target_.reset();
    twin_.reset();
    here_ = there_ = {};
    removals_ = {};
    cuts_ = {};
    head_cuts_ = {};
    patches_ = {};
    looks_of_.reset();
    looks_.clear();
    vocabulary_.follow(nullptr);
    typed_.clear();
}

std::optional<LogitLoss> KnockoutLens::wanted_loss() const {
    if (now().raise) return LogitLoss{*now().raise, now().over, here_.row};
    if (here_.tokens.empty()) return std::nullopt;
    LogitLoss loss{here_.tokens.front().id, std::nullopt, here_.row};
    if (!there_.tokens.empty() && there_.tokens.front().id != loss.raise)
        loss.over = there_.tokens.front().id;
    return loss;
}

void KnockoutLens::update(Subject& subject) {
    const Attention& attention = *subject.attention();
    const Attention* second = subject.second();
    const auto trace = attention.trace();
    const auto row_in = [](const Attention& of) {
        return std::min(of.logits_row(), of.trace()->tokens() - 1);
    };
    twin_ = second ? second->trace() : nullptr;
    const bool same_model = twin_ && twin_->model() == trace->model();
    if (!here_.trace || here_.trace->model() != trace->model()) typed_.clear();
    vocabulary_.follow(trace->model());
    here_.read(trace, row_in(attention));
    there_.read(same_model ? twin_ : nullptr, same_model ? row_in(*second) : 0);
    const auto loss = wanted_loss();
    const auto is_finite = [&] {
        return std::isfinite(here_.logits.values()[static_cast<std::size_t>(loss->raise)]) &&
               std::isfinite(
                   here_.logits.values()[static_cast<std::size_t>(loss->over.value_or(loss->raise))]);
    };
    Status fits = !loss ? Error{"The logits here are not finite, so there is no token to ask about."}
                        : check_loss(*trace, *loss);
    if (fits && !is_finite())
        fits = Error{
            "The logits of the tokens that are asked about are not finite here, so nothing can fall or "
            "rise."};
    fault_ = fits ? "" : fits.error().message;
    const auto wanted = fits ? std::optional(KnockoutTarget{trace, *loss}) : std::nullopt;
    if (target_ != wanted) {
        removals_ = {};
        cuts_ = {};
        head_cuts_ = {};
        patches_ = {};
        target_ = wanted;
    }
    const LooksOf looks{trace, subject.chosen_head().layer, chosen_query(subject)};
    if (looks_of_ != looks) {
        looks_of_ = looks;
        looks_.clear();
    }
    if (!target_) return;
    switch (now().part) {
        case KnockoutPart::heads: {
            RemovalsOf of{now().removal, {}};
            if (of.removal == Removal::twin && twin_) of.from = {twin_};
            if (of.removal == Removal::texts) {
                const CorpusRun* texts = subject.corpus();
                if (texts && texts->done()) of.from = texts->traces();
                if (of.from.empty()) {
                    removals_ = {};
                    removals_.refused = !texts ? "There are no other texts for this model to take means of."
                                        : texts->done()
                                            ? "None of the texts has a token of this model; type others."
                                            : "The texts that the means are taken of are being run, " +
                                                  percent(static_cast<double>(texts->progress())) + ".";
                    break;
                }
            }
            removals_.want(of,
                           [&] { return HeadRemovals::start(*target_, operation_of(of.removal), of.from); });
            break;
        }
        case KnockoutPart::edges: {
            const CutsOf of{subject.chosen_head(), chosen_query(subject)};
            cuts_.want(of, [&] { return QueryCuts::start(*target_, of.head, of.query); });
            head_cuts_.want(of.head, [&] { return HeadCuts::start(*target_, of.head); });
            break;
        }
        case KnockoutPart::patching: {
            const PatchesOf of{now().site, now().back, twin_, attention.alike(), patched_tokens(subject)};
            const auto start = [&]() -> Result<Patches> {
                if (Status twins = check_twin(*trace, twin_.get()); !twins) return twins.error();
                const KnockoutTarget into{of.back ? twin_ : trace, target_->loss};
                return Patches::start(into, of.attentions, of.tokens, of.site, of.back ? trace : twin_);
            };
            patches_.want(of, start);
            break;
        }
    }
}

// If not all fit, shows the tokens up to the chosen one. Before the first token that differs, the two runs
// may be equal.
Range KnockoutLens::patched_tokens(Subject& subject) const {
    const Attention& attention = *subject.attention();
    const Index all = attention.queries(), first = attention.alike().begin;
    if (all <= most_patched || !twin_ || twin_->model() != attention.trace()->model())
        return {0, std::min(all, most_patched)};
    const auto here = attention.trace()->attention(first).queries.ids(),
               there = twin_->attention(first).queries.ids();
    const Index differs = std::ranges::mismatch(here, there).in1 - here.begin(), last = all - most_patched,
                begin = std::clamp(chosen_query(subject) + 1 - most_patched, std::min(differs, last), last);
    return {begin, begin + most_patched};
}

bool KnockoutLens::measure_looks() {
    const Trace& trace = *looks_of_->trace;
    const Index heads = trace.model()->config().heads, next = std::ssize(looks_);
    if (next == trace.attentions() * heads) return false;
    const LayerAttention at = trace.attention(next / heads);
    looks_.emplace_back();
    if (&at.queries != &trace.attention(looks_of_->attention).queries || at.record().keys() == 0) return true;
    const std::vector<float> weights = at.record().weights(next % heads, looks_of_->query);
    const auto most = std::ranges::max_element(weights);
    double rest = 0;
    for (auto each = weights.begin(); each != weights.end(); ++each)
        if (each != most) rest += static_cast<double>(*each);
    looks_.back() = Look{most - weights.begin(), static_cast<double>(*most), rest};
    return true;
}

std::optional<KnockoutLens::Look> KnockoutLens::look(const HeadIndex& head) const {
    const Index heads = looks_of_ ? looks_of_->trace->model()->config().heads : 0;
    const auto at = static_cast<std::size_t>(head.layer * heads + head.head);
    return at < looks_.size() ? looks_[at] : std::nullopt;
}

std::optional<KnockoutLens::Agreement> KnockoutLens::agreement() const {
    const HeadRemovals* all = removals();
    if (!all || !all->done() || std::ssize(looks_) < all->attentions() * all->heads()) return std::nullopt;
    std::vector<double> falls, direct, moved, looked;
    for (Index layer = 0; layer < all->attentions(); ++layer)
        for (Index head = 0; head < all->heads(); ++head) {
            const double fall = *all->logit_drop({layer, head});
            if (!std::isfinite(fall)) continue;
            if (const auto adds = all->direct({layer, head})) {
                falls.push_back(fall);
                direct.push_back(*adds);
            }
            if (const auto looks = look({layer, head})) {
                moved.push_back(std::abs(fall));
                looked.push_back(-looks->rest);
            }
        }
    return Agreement{rank_correlation(falls, direct), rank_correlation(moved, looked)};
}

bool KnockoutLens::step(Subject& subject) {
    update(subject);
    if (search_.on && vocabulary_.read(subject)) return true;
    if (!target_) return false;
    if (measure_looks()) return true;
    switch (now().part) {
        case KnockoutPart::heads: return removals_.job && removals_.job->step();
        case KnockoutPart::edges:
            return (cuts_.job && cuts_.job->step()) || (head_cuts_.job && head_cuts_.job->step());
        case KnockoutPart::patching: break;
    }
    return patches_.job && patches_.job->step();
}

const std::string& KnockoutLens::refused() const {
    if (!fault_.empty()) return fault_;
    switch (now().part) {
        case KnockoutPart::heads: return removals_.refused;
        case KnockoutPart::edges: return cuts_.refused;
        case KnockoutPart::patching: break;
    }
    return patches_.refused;
}

std::optional<float> KnockoutLens::share_done() const {
    switch (now().part) {
        case KnockoutPart::heads:
            if (!removals_.job) return std::nullopt;
            return static_cast<float>(removals_.job->removed()) /
                   static_cast<float>(removals_.job->attentions() * removals_.job->heads());
        case KnockoutPart::edges:
            if (!cuts_.job) return std::nullopt;
            return head_cuts_.job ? (cuts_.job->progress() + head_cuts_.job->progress()) / 2
                                  : cuts_.job->progress();
        case KnockoutPart::patching: break;
    }
    return patches_.job ? std::optional(patches_.job->progress()) : std::nullopt;
}

double KnockoutLens::value_at(const CellRef& cell) const {
    using namespace knockout_cells;
    const auto number = [](const std::optional<double>& value) { return value.value_or(NAN); };
    const auto [first, second, third] = cell.own.at;
    if (cell.is(edge_ablation)) return cuts() ? number(cuts()->logit_drop(first)) : NAN;
    if (cell.is(patching)) return patches() ? number(patches()->moved(first, second)) : NAN;
    if (cell.is(max_weight)) {
        const auto looks = look({first, second});
        return looks ? looks->weight : NAN;
    }
    if (!removals()) return NAN;
    if (cell.is(head_ablation)) return number(removals()->logit_drop({first, second}));
    return number(second == removals()->heads() ? removals()->direct_of_mlp(first)
                                                : removals()->direct({first, second}));
}

}  // namespace attn::app
