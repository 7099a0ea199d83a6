#include "lenses/heads/heads.hpp"

#include <algorithm>
#include <cmath>

#include "app/link_text.hpp"

namespace attn::app::heads {

namespace {

constexpr std::array<std::string_view, part_count> part_keys{"shapes", "writes", "alike", "sharing",
                                                             "latent"};
constexpr std::array<std::string_view, 2> sizes_keys{"own", "tutorial"}, alike_keys{"maps", "outputs"},
    layers_keys{"one", "all"};
constexpr Index most_compared = 64;  // most heads to compare

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"heads.part", "heads: {}", named<&S::part>(part_keys)},
        {"heads.sizes", {"the tutorial’s shapes", "the model’s shapes"}, named<&S::tutorial>(sizes_keys)},
        {"heads.alike",
         {"heads compared by what they write", "heads compared by where they look"},
         named<&S::outputs>(alike_keys)},
        {"heads.layers",
         {"heads of all layers compared", "heads of one layer compared"},
         named<&S::all_layers>(layers_keys)},
        {"heads.kv", "share {} heads of K and V",
         whole<&S::kv_heads>("number of heads of K and V", 0, setting_limit)},
        {"heads.rank", "a latent of rank {}", whole<&S::rank>("rank of the latent", 0, setting_limit)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 6>()}; }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    const Index thousand = row / 1000, at = row % 1000;
    CellRef cell;
    switch (thousand) {
        case 0: cell = shape(at, col); break;
        case 1: cell = written(at, col); break;
        case 2:
        case 3: return col == 0 ? std::optional((thousand == 2 ? norm : share)(at)) : std::nullopt;
        case 4: return at == 0 && col == 0 ? std::optional(error()) : std::nullopt;
        case 5:
        case 6: cell = similarity(thousand - 5, at, col); break;
        case 7: return at == 0 ? std::optional(role(col)) : std::nullopt;
        case 8:
        case 9:
            cell = at >= 200   ? output_error(thousand - 8, at - 200, col)
                   : at >= 100 ? probability(thousand - 8, at - 100, col)
                               : cache(thousand - 8, at, col);
            break;
        default: return std::nullopt;
    }
    return cell.own()->is_within() ? std::optional(cell) : std::nullopt;
}

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{"Heads work together in a whole model; here is only one head’s attention."};
}

// ---- Computing --------------------------------------------------------------------------------------------

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    state = visit.state().of<State>();
    trace = attention.trace();
    head = subject.chosen_head();
    row = chosen_query(subject);
    vocabulary.follow(trace->model());
    const auto begin_runs = [&](std::optional<SmallerRuns>& runs, auto&& factors) {
        const Index reads = std::min(attention.logits_row(), trace->tokens() - 1);
        if (!runs || runs->trace() != trace || runs->row() != reads) runs.emplace(trace, reads, factors());
    };
    switch (state.part) {
        case Part::shapes:
            sizes = state.tutorial ? tutorial_sizes(trace->attention(head.layer).record().queries())
                                   : sizes_of(*trace, head.layer);
            break;
        case Part::writes:
            all_writes.of({trace, head.layer, row}, [&] { return head_writes(*trace, head.layer, row); });
            break;
        case Part::alike: {
            const Range all = attention.alike();
            const AlikeOf wanted{trace, state.all_layers && all.size() * attention.heads() <= most_compared
                                            ? all
                                            : Range{head.layer, head.layer + 1}};
            const HeadSimilarity& alike =
                similarities.of(wanted, [&] { return HeadSimilarity(trace, wanted.attentions); });
            if (alike.done())
                clusters.of({wanted, state.outputs}, [&] { return clusters_of(alike, state.outputs); });
            else
                clusters.forget();
            copying.of(trace->model(), [&] {
                auto job = CopyingJob::start(trace->model());
                return job ? std::optional(*std::move(job)) : std::nullopt;
            });
            break;
        }
        case Part::sharing: begin_runs(shared, [] { return nullptr; }); break;
        case Part::latent:
            begin_runs(latent, [&] {
                return latent && latent->factors()->model() == trace->model()
                           ? latent->factors()
                           : std::make_shared<LatentFactors>(trace->model());
            });
            break;
    }
}

bool Model::step() {
    ++steps;
    switch (state.part) {
        case Part::shapes:
        case Part::writes: return false;
        case Part::alike:
            return similarities.kept()->step() || (*copying.kept() && (*copying.kept())->step());
        case Part::sharing:
        case Part::latent: break;
    }
    return (is_latent() ? latent : shared)->step(setting());
}

std::optional<double> Model::cache_value(CacheMeasure measure, Index setting) const {
    const auto kept = static_cast<double>(runs().kept(setting));
    const Smaller* measured = runs().at(setting);
    if (measure == CacheMeasure::numbers) return kept;
    if (measure == CacheMeasure::bytes) return 2 * kept;
    if (!measured) return std::nullopt;
    if (measure == CacheMeasure::loss) return measured->loss;
    return measure == CacheMeasure::change ? measured->mean_change() : measured->moved;
}

const Copying* Model::copying_of(const HeadIndex& at) const {
    const std::optional<CopyingJob>& job = *copying.kept();
    return job && job->done() ? &job->of(at) : nullptr;
}

Role role_of(const Model& model, Subject& subject, Index i) {
    constexpr double least_local = 0.8, least_uniform = 0.9, least_copying = 0.9;
    const HeadSimilarity& alike = model.alike();
    const HeadIndex head = alike.head(i);
    if (const NamedHeads* named = subject.named_heads())
        if (const auto best = named->role(head))
            return {info(*best).name, named->table.of(head)[*best],
                    std::string(info(*best).meaning) + "; " + named->source, named->measured_on(*best)};
    const std::string on = subject.attention()->measured_on();
    if (alike.uniform(i) >= least_uniform)
        return {"uniform", alike.uniform(i), "entropy of its rows as a share of the most it could be", on};
    if (alike.local(i) >= least_local)
        return {"local", alike.local(i), "share of its weight on tokens at most two away", on};
    if (const Copying* copies = model.copying_of(head); copies && copies->score >= least_copying)
        return {"copying", copies->score,
                "Σ λ / Σ |λ| of its OV circuit: how far attending to a token raises that token’s own logit",
                "from its weights"};
    return {"mixed", alike.uniform(i),
            "no name fits; the number is the entropy of its rows as a share of the most it could be", on};
}

}  // namespace attn::app::heads
