#include "lenses/knockout/knockout.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::knockout {

namespace {

constexpr Index most_patched = 24;
constexpr std::array<std::string_view, part_count> part_keys{"heads", "edges", "patching"};
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

const Fields<State>& State::fields() {
    using S = State;
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
LinkRows links() { return {rows_of_fields<State, 5>()}; }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    if (row >= 10'000) return edge_estimate(row - 10'000, col);
    if (row > 4001) return std::nullopt;
    if (row == 4001) return strongest_edge(col);
    if (row == 4000) return edge_ablation(col);
    if (row >= 3000) return patching(row - 3000, col);
    if (row >= 2000) return max_weight(row - 2000, col);
    return row >= 1000 ? direct_effect(row - 1000, col) : head_ablation(row, col);
}

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{
        "To knock something out, a whole model has to run again; here is only a head’s attention."};
}

// ---- The target -------------------------------------------------------------------------------------------

std::optional<LogitLoss> Model::wanted_loss() const {
    if (state.raise) return LogitLoss{*state.raise, state.over, here.row};
    if (here.tokens.empty()) return std::nullopt;
    LogitLoss loss{here.tokens.front().id, std::nullopt, here.row};
    if (!there.tokens.empty() && there.tokens.front().id != loss.raise) loss.over = there.tokens.front().id;
    return loss;
}

// Says why there is none, or drops what was measured for another one.
Status Model::find_target(const std::shared_ptr<const Trace>& trace) {
    const auto loss = wanted_loss();
    const auto is_finite = [&](std::int32_t id) {
        return std::isfinite(here.logits.values()[static_cast<std::size_t>(id)]);
    };
    Status fits = !loss ? Error{"The logits here are not finite, so there is no token to ask about."}
                        : check_loss(*trace, *loss);
    if (fits && !(is_finite(loss->raise) && is_finite(loss->over.value_or(loss->raise))))
        fits = Error{
            "The logits of the tokens that are asked about are not finite here, so nothing can fall or "
            "rise."};
    const auto wanted = fits ? std::optional(LogitTarget{trace, *loss}) : std::nullopt;
    if (target != wanted) measured = {};
    target = wanted;
    return fits;
}

// ---- Measurements -----------------------------------------------------------------------------------------

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    const Attention* second = second_of(subject);
    const auto trace = attention.trace();
    state = visit.state().of<State>();
    version = attention.version();
    head = subject.chosen_head();
    query = chosen_query(subject);
    chosen_key = visit.state().selection.key;
    twin = second ? second->trace() : nullptr;
    const auto row_in = [](const Attention& of) {
        return std::min(of.logits_row(), of.trace()->tokens() - 1);
    };
    const bool same_model = twin && twin->model() == trace->model();
    if (!here.trace || here.trace->model() != trace->model()) typed.clear();
    vocabulary.follow(trace->model());
    here.read(trace, row_in(attention));
    there.read(same_model ? twin : nullptr, same_model ? row_in(*second) : 0);
    looks.of({trace, head.layer, query}, [&] { return StrongestWeights(trace, head.layer, query); });
    from.clear();
    const Status fits = find_target(trace);
    refused = fits ? "" : fits.error().message;
    if (!target) return;
    const auto note = [&](const auto& measurement) {
        if (!measurement) refused = measurement.error().message;
    };
    switch (state.part) {
        case Part::heads: remove_heads(subject); break;
        case Part::edges:
            note(measured.cuts.of({head, query}, [&] { return QueryCuts::start(*target, head, query); }));
            measured.head_cuts.of(head, [&] { return HeadCuts::start(*target, head); });
            break;
        case Part::patching: {
            const PatchesOf of{state.site, state.back, twin, attention.alike(), patched_tokens(attention)};
            note(measured.patches.of(of, [&]() -> Result<Patches> {
                if (Status twins = check_twin(*trace, twin.get()); !twins) return twins.error();
                const LogitTarget into{of.back ? twin : trace, target->loss};
                return Patches::start(into, of.attentions, of.tokens, of.site, of.back ? trace : twin);
            }));
            break;
        }
    }
}

void Model::remove_heads(Subject& subject) {
    if (state.removal == Removal::twin && twin) from = {twin};
    if (state.removal == Removal::texts) {
        const CorpusRun* texts = corpus_of(subject);
        if (texts && texts->done()) from = texts->traces();
        if (from.empty()) {
            measured.removals.forget();
            refused = !texts          ? "There are no other texts for this model to take means of."
                      : texts->done() ? "None of the texts has a token of this model; type others."
                                      : "The texts that the means are taken of are being run, " +
                                            percent(static_cast<double>(texts->progress())) + ".";
            return;
        }
    }
    const auto& removals = measured.removals.of({state.removal, from}, [&] {
        return HeadRemovals::start(*target, operation_of(state.removal), from);
    });
    if (!removals) refused = removals.error().message;
}

// If not all fit, shows the tokens up to the chosen one. Before the first token that differs, the two runs
// may be equal.
Range Model::patched_tokens(const Attention& attention) const {
    const Index all = attention.queries(), first = attention.alike().begin;
    if (all <= most_patched || !twin || twin->model() != attention.trace()->model())
        return {0, std::min(all, most_patched)};
    const auto own = attention.trace()->attention(first).queries.ids(),
               other = twin->attention(first).queries.ids();
    const Index differs = std::ranges::mismatch(own, other).in1 - own.begin(), last = all - most_patched,
                begin = std::clamp(query + 1 - most_patched, std::min(differs, last), last);
    return {begin, begin + most_patched};
}

bool Model::step(Subject& subject) {
    if (search.on && vocabulary.read(subject)) return true;
    if (!target) return false;
    if (looks.kept()->step()) return true;
    const auto advance = [](auto& kept) { return job(kept) && (*kept.kept())->step(); };
    switch (state.part) {
        case Part::heads: return advance(measured.removals);
        case Part::edges: return advance(measured.cuts) || advance(measured.head_cuts);
        case Part::patching: break;
    }
    return advance(measured.patches);
}

std::optional<float> Model::share_done() const {
    const auto share = [](const auto* started) {
        return started ? std::optional(started->progress()) : std::nullopt;
    };
    switch (state.part) {
        case Part::heads: return share(removals());
        case Part::edges:
            if (!cuts() || !head_cuts()) return share(cuts());
            return (cuts()->progress() + head_cuts()->progress()) / 2;
        case Part::patching: break;
    }
    return share(patches());
}

}  // namespace attn::app::knockout
