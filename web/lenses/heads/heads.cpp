#include "lenses/heads/heads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "app/link_text.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, heads_part_count> part_keys{"shapes", "writes", "alike", "sharing",
                                                                   "latent"};
constexpr std::array<std::string_view, 2> sizes_keys{"own", "tutorial"}, alike_keys{"maps", "outputs"},
    layers_keys{"one", "all"};
constexpr Index most_compared = 64;  // most heads to compare

}  // namespace

const Fields<HeadsState>& HeadsState::fields() {
    using S = HeadsState;
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
         whole<&S::kv_heads>("number of heads of K and V", 0, heads_setting_limit)},
        {"heads.rank", "a latent of rank {}", whole<&S::rank>("rank of the latent", 0, heads_setting_limit)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows heads_links() { return {rows_of_fields<HeadsState, 6>()}; }

std::optional<Missing> HeadsLens::missing(Subject& subject) const {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{"Heads work together in a whole model; here is only one head’s attention."};
}

// ---- Inputs -----------------------------------------------------------------------------------------------

// Results kept here hold whole runs, so they are released.
void HeadsLens::follow(const State&, Change) {
    if (trace_ && &visit().lens() != this) forget();
}

void HeadsLens::forget() {
    trace_.reset();
    writes_of_.reset();
    writes_.reset();
    alike_of_.reset();
    alike_.reset();
    copying_of_.reset();
    copying_.reset();
    shared_.reset();
    latent_.reset();
    factors_.reset();
    vocabulary_.follow(nullptr);
}

void HeadsLens::update(Subject& subject) {
    const Attention& attention = *subject.attention();
    const auto trace = attention.trace();
    const HeadIndex head = subject.chosen_head();
    trace_ = trace;
    vocabulary_.follow(trace->model());
    switch (now().part) {
        case HeadsPart::shapes:
            sizes_ = now().tutorial ? tutorial_sizes(trace->attention(head.layer).record().queries())
                                    : sizes_of(*trace, head.layer);
            break;
        case HeadsPart::writes: {
            const WritesOf wanted{trace, head.layer, chosen_query(subject)};
            if (writes_of_ == wanted) break;
            writes_of_ = wanted;
            writes_ = head_writes(*trace, wanted.attention, wanted.row);
            break;
        }
        case HeadsPart::alike: {
            const Range all = attention.alike(),
                        wanted = now().all_layers && all.size() * attention.heads() <= most_compared
                                     ? all
                                     : Range{head.layer, head.layer + 1};
            if (alike_of_ != AlikeOf{trace, wanted}) {
                alike_of_ = AlikeOf{trace, wanted};
                alike_.emplace(trace, wanted);
                order_.clear();
            }
            if (copying_of_ != trace->model()) {
                copying_of_ = trace->model();
                copying_.reset();
                if (auto job = CopyingJob::start(copying_of_)) copying_.emplace(*std::move(job));
            }
            if (alike_->done() && (order_.empty() || of_outputs_ != now().outputs)) cluster();
            break;
        }
        case HeadsPart::sharing:
        case HeadsPart::latent: update_cache(subject); break;
    }
}

void HeadsLens::update_cache(Subject& subject) {
    const Attention& attention = *subject.attention();
    const auto& model = trace_->model();
    const Index row = std::min(attention.logits_row(), trace_->tokens() - 1);
    const bool shares = now().part == HeadsPart::sharing;
    if (!shares && (!factors_ || factors_->model() != model))
        factors_ = std::make_shared<LatentFactors>(model);
    settings_.clear();
    if (shares) {
        settings_ = shared_head_counts(model->config());
        settings_.erase(settings_.begin());  // removes the unchanged run
    } else {
        for (Index rank = 1; rank < factors_->most_rank(); rank *= 2) settings_.push_back(rank);
        settings_.push_back(factors_->most_rank());
    }
    std::optional<SmallerRuns>& runs = shares ? shared_ : latent_;
    if (runs && runs->trace() == trace_ && runs->row() == row) return;
    if (shares)
        runs.emplace(trace_, row, [model](Index heads) { return SmallerModel::shared(model, heads); });
    else
        runs.emplace(trace_, row,
                     [factors = factors_](Index rank) { return SmallerModel::latent(factors, rank); });
}

Index HeadsLens::most_setting() const {
    return now().part == HeadsPart::sharing ? trace_->model()->config().kv_heads : factors_->most_rank();
}

// Returns the nearest available setting; 0 if heads stay unchanged.
Index HeadsLens::setting() const {
    if (now().part == HeadsPart::latent)
        return std::clamp(now().rank == 0 ? most_setting() / 2 : now().rank, Index{1}, most_setting());
    const Index asked = now().kv_heads == 0 ? most_setting() / 2 : now().kv_heads;
    if (asked >= most_setting() || settings_.empty()) return 0;
    return *std::ranges::min_element(settings_, {}, [&](Index each) { return std::abs(each - asked); });
}

double HeadsLens::cached(Index setting) const {
    const ModelConfig& config = trace_->model()->config();
    return static_cast<double>(setting == 0                       ? cached_numbers(config, config.kv_heads)
                               : now().part == HeadsPart::sharing ? cached_numbers(config, setting)
                                                                  : cached_attentions(config) * setting);
}

std::optional<double> HeadsLens::cache_value(CacheMeasure measure, Index setting) const {
    if (measure == CacheMeasure::numbers) return cached(setting);
    if (measure == CacheMeasure::bytes) return 2 * cached(setting);
    const Smaller* measured = runs() ? runs()->at(setting) : nullptr;
    if (!measured) return std::nullopt;
    if (measure == CacheMeasure::loss) return measured->loss;
    return measure == CacheMeasure::change ? measured->mean_change() : measured->moved;
}

double HeadsLens::alike(Index a, Index b) const {
    return now().outputs ? alike_->of_outputs(a, b) : alike_->of_maps(a, b);
}

void HeadsLens::cluster() {
    of_outputs_ = now().outputs;
    const Index heads = alike_->heads();
    order_.resize(static_cast<std::size_t>(heads));
    std::iota(order_.begin(), order_.end(), Index{0});
    merges_.clear();
    if (alike_->rows() == 0) return;
    std::vector<double> distances;
    for (Index a = 0; a < heads; ++a)
        for (Index b = 0; b < heads; ++b) distances.push_back(1 - alike(a, b));
    merges_ = average_linkage(distances, heads);
    order_ = leaf_order(merges_, heads);
}

const Copying* HeadsLens::copying(const HeadIndex& head) const {
    return copying_ && copying_->done() ? &copying_->of(head) : nullptr;
}

// The name that a head has earned on random tokens, or else what it does with this text.
HeadsLens::Role HeadsLens::role(Subject& subject, Index i) const {
    constexpr double least_local = 0.8, least_uniform = 0.9, least_copying = 0.9;
    const HeadIndex head = alike_->head(i);
    if (const NamedHeads* named = subject.named_heads())
        if (const auto best = named->role(head))
            return {info(*best).name, named->table.of(head)[*best],
                    std::string(info(*best).meaning) + "; " + named->source, named->measured_on(*best)};
    const std::string on = subject.attention()->measured_on();
    if (alike_->uniform(i) >= least_uniform)
        return {"uniform", alike_->uniform(i), "entropy of its rows as a share of the most it could be", on};
    if (alike_->local(i) >= least_local)
        return {"local", alike_->local(i), "share of its weight on tokens at most two away", on};
    if (const Copying* copies = copying(head); copies && copies->score >= least_copying)
        return {"copying", copies->score,
                "Σ λ / Σ |λ| of its OV circuit: how far attending to a token raises that token’s own logit",
                "from its weights"};
    return {"mixed", alike_->uniform(i),
            "no name fits; the number is the entropy of its rows as a share of the most it could be", on};
}

bool HeadsLens::step(Subject& subject) {
    update(subject);
    switch (now().part) {
        case HeadsPart::shapes:
        case HeadsPart::writes: return false;
        case HeadsPart::alike: return alike_->step() || (copying_ && copying_->step());
        case HeadsPart::latent:
            if (factors_->done()) return latent_->step(setting(), settings_);
            factors_->step();
            return true;
        case HeadsPart::sharing: break;
    }
    return shared_->step(setting(), settings_);
}

}  // namespace attn::app
