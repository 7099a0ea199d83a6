#include "lenses/layers/layers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/linalg/rank_correlation.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr double slice_operations = 60e6;  // about 2 ms at 30 GFLOP/s
constexpr Index most_out_of_view = 64;     // tokens that are ablated even if nobody looks

std::string in_sentence(const StreamPlace& place) {
    switch (place.after) {
        case StreamPlace::After::embedding: return "the embedding";
        case StreamPlace::After::cross: return "cross-attention " + std::to_string(place.layer);
        case StreamPlace::After::attention:
        case StreamPlace::After::mlp: break;
    }
    return place_name(place);
}

}  // namespace

const Fields<LayersState>& LayersState::fields() {
    using S = LayersState;
    static const Field<S> all[]{
        {"layers.token",
         {"follow token {}", "follow the likeliest token"},
         whole<&S::token>("token id", 0, token_limit)},
        {"layers.at",
         {"read the stream after half {}", "read the stream at its end"},
         whole<&S::place>("number of halves of blocks", 0, HUGE_VAL)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows layers_links() { return {rows_of_fields<LayersState, 2>()}; }

std::string place_in_words(const StreamPlace& place) {
    const std::string layer = std::to_string(place.layer);
    switch (place.after) {
        case StreamPlace::After::embedding: return "after the embedding";
        case StreamPlace::After::attention: return "after the attention of layer " + layer;
        case StreamPlace::After::cross: return "after the cross-attention of layer " + layer;
        case StreamPlace::After::mlp: break;
    }
    return "after the MLP of layer " + layer;
}

std::string place_name(const StreamPlace& place) {
    const std::string layer = " " + std::to_string(place.layer);
    switch (place.after) {
        case StreamPlace::After::embedding: return "embedding";
        case StreamPlace::After::attention: return "attention" + layer;
        case StreamPlace::After::cross: return "cross" + layer;
        case StreamPlace::After::mlp: break;
    }
    return "MLP" + layer;
}

std::optional<Missing> LayersLens::missing(Subject& subject) const {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{"The residual stream needs a whole model; here is only a head’s attention."};
}

// ---- Inputs -----------------------------------------------------------------------------------------------

// Results kept here hold a whole run, so they are released.
void LayersLens::follow(const State&, Change) {
    if (trace_ && &visit().lens() != this) show({});
}

void LayersLens::show(Read read) {
    auto trace = read.stream ? read.stream->trace() : nullptr;
    const bool same_row = trace && trace == trace_ && read.stream->row() == row();
    if (trace != trace_) {
        others_.clear();
        other_.reset();
    } else if (read_.complete) {
        others_[row()] = read_.stream->states();
    }
    trace_ = std::move(trace);
    vocabulary_.follow(trace_ ? trace_->model() : nullptr);
    read_ = std::move(read);
    next_ = {};
    kept_.reset();
    gradient_.reset();
    no_gradient_.clear();
    taken_out_.reset();
    exact_.reset();
    if (!same_row) rollout_.reset();
}

Attention& LayersLens::stream_text(Subject& subject) {
    const auto trace = subject.attention()->trace();
    return *subject.attention_of(trace->encoder() ? trace->encoder()->attentions() : 0);
}

Attention* LayersLens::encoder_text(Subject& subject) {
    return subject.attention()->trace()->encoder() ? subject.attention_of(0) : nullptr;
}

// The chosen query, unless it is one of the encoder's.
Index LayersLens::row_of(Subject& subject) {
    const Attention& attention = *subject.attention();
    const auto trace = attention.trace();
    const Selection chosen = subject.chosen();
    const bool encoded = trace->attention(chosen.layer).place.kind == AttentionKind::encoder;
    const Index row = encoded ? attention.logits_row() : chosen.query.value_or(attention.logits_row());
    return std::min(row, trace->tokens() - 1);
}

void LayersLens::update(Subject& subject) {
    const auto trace = subject.attention()->trace();
    const Index row = row_of(subject);
    const auto stream_at = [&] { return std::make_shared<LogitLens>(trace, row, slice_operations); };
    if (trace != trace_ || !read_.stream || (row != this->row() && !read_.complete))
        show({stream_at()});
    else if (row != this->row() && !(next_.stream && next_.stream->row() == row))
        next_ = {stream_at()};
    else if (row == this->row() && read_.complete && token_of(*read_.stream) == token())
        next_ = {};
    else if (row == this->row() && read_.complete && next_.stream != read_.stream)
        next_ = {read_.stream};
    const auto asked = state().of<LayersState>().token;
    const Index vocabulary = trace_->network().head.weight.out;
    refused_ = asked && *asked >= vocabulary
                   ? "Token " + std::to_string(*asked) + " is outside this model’s vocabulary of " +
                         with_commas(vocabulary) + "; its likeliest is followed instead."
               : reading() && reading()->states().back().likeliest.empty()
                   ? "The logits here are not finite, so no token has a probability."
                   : "";
}

std::int32_t LayersLens::token_of(const LogitLens& stream) const {
    const auto asked = state().of<LayersState>().token;
    const std::vector<Candidate>& likeliest = stream.states().back().likeliest;
    if (asked && *asked < trace_->network().head.weight.out) return *asked;
    return likeliest.empty() ? 0 : likeliest.front().id;
}

bool LayersLens::step(Read& read) const {
    if (!read.stream->done()) {
        read.stream->step();
        return true;
    }
    const std::int32_t token = token_of(*read.stream);
    if (!read.followed || read.followed->parts.token() != token) {
        if (auto parts = DirectAttribution::start(trace_, read.stream->row(), token))
            read.followed.emplace(*std::move(parts), std::vector<Index>{});
        return true;
    }
    std::vector<Index>& ranks = read.followed->ranks;
    if (ranks.size() < read.stream->places().size()) {
        ranks.push_back(read.stream->rank(std::ssize(ranks), token));
        return true;
    }
    if (read.followed->parts.step()) return true;
    read.complete = true;
    return false;
}

bool LayersLens::step(Subject& subject) {
    if (!read_.stream) return false;
    if (!read_.complete) {
        step(read_);
        return true;
    }
    if (next_.stream) {
        if (!step(next_)) show(std::exchange(next_, {}));
        return true;
    }
    return (search_.on && vocabulary_.read(subject)) || measure();
}

bool LayersLens::measure() {
    if (!rollout_) rollout_.emplace(trace_, row());
    if (!gradient_ && no_gradient_.empty()) {
        auto gradient = AttentionGradient::start(trace_, row(), token(), slice_operations);
        if (gradient)
            gradient_.emplace(*std::move(gradient));
        else
            no_gradient_ = gradient.error().message;
    }
    if (rollout_->step()) return true;
    if (other_) {
        if (other_->step()) return true;
        others_[other_->row()] = other_->states();
        other_.reset();
    }
    // Starts at the row and goes left first.
    const Range shown = positions();
    for (Index away = 1; away < trace_->tokens(); ++away)
        for (const Index position : {row() - away, row() + away})
            if (shown.holds(position) && !states_at(position)) {
                other_.emplace(trace_, position, slice_operations);
                return true;
            }
    return (gradient_ && gradient_->step()) || take_tokens_out();
}

// Each token takes a run of its own, so in a long text they wait until they are in view, the most important
// first.
bool LayersLens::take_tokens_out() {
    if (measured(TokenMeasure::exact)) return false;
    if (!tokens_in_view_ && trace_->tokens() > most_out_of_view) return false;
    if (!taken_out_) {
        std::vector<AblationEffects::Variant> all = without_tokens(*trace_, row()), ordered;
        const Index encoded = trace_->encoder() ? trace_->encoder()->tokens() : 0,
                    own = std::ssize(all) - encoded;
        taken_order_.clear();
        for (const Index token : by_importance(own, false)) taken_order_.push_back(token);
        for (const Index token : by_importance(encoded, true)) taken_order_.push_back(own + token);
        for (const Index variant : taken_order_)
            ordered.push_back(std::move(all[static_cast<std::size_t>(variant)]));
        auto begun = AblationEffects::start(trace_, {.raise = token(), .over = {}, .row = row()},
                                            std::move(ordered), slice_operations);
        if (!begun) return false;
        taken_out_.emplace(*std::move(begun));
        exact_.emplace(*trace_);
        for (auto* each : {&exact_->own, &exact_->encoded}) std::ranges::fill(*each, NAN);
        // Tokens after the row do not affect it.
        std::fill(exact_->own.begin() + own, exact_->own.end(), 0.0);
    }
    const std::size_t before = taken_out_->effects().size();
    const bool more = taken_out_->step();
    const Index own = std::ssize(taken_order_) - std::ssize(exact_->encoded);
    for (std::size_t i = before; i < taken_out_->effects().size(); ++i) {
        const Index variant = taken_order_[i];
        (variant < own ? exact_->own[static_cast<std::size_t>(variant)]
                       : exact_->encoded[static_cast<std::size_t>(variant - own)]) =
            -taken_out_->effects()[i];
    }
    return more;
}

// Importance of a token to the measures that are complete for all tokens.
std::vector<Index> LayersLens::by_importance(Index tokens, bool encoded) const {
    std::vector<double> matters(static_cast<std::size_t>(tokens));
    for (Index i = 0; i < token_measure_count; ++i) {
        const TokenShares* shares = measured(static_cast<TokenMeasure>(i));
        if (!shares || tokens == 0) continue;
        const std::vector<double>& all = encoded ? shares->encoded : shares->own;
        const double most =
            std::abs(*std::ranges::max_element(all, {}, [](double each) { return std::abs(each); }));
        for (std::size_t token = 0; most > 0 && token < matters.size(); ++token)
            matters[token] += std::abs(all[token]) / most;
    }
    std::vector<Index> order(matters.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::sort(
        order, {}, [&](Index token) { return std::pair(-matters[static_cast<std::size_t>(token)], token); });
    return order;
}

std::optional<double> LayersLens::agreement(TokenMeasure measure) const {
    const TokenShares* shares = measured(measure);
    const TokenShares* falls = measured(TokenMeasure::exact);
    if (!shares || !falls) return std::nullopt;
    std::vector<double> a, b;
    const auto add = [&](const std::vector<double>& of, const std::vector<double>& exact, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            if (!std::isfinite(of[i]) || !std::isfinite(exact[i])) continue;
            a.push_back(of[i]);
            b.push_back(measure == TokenMeasure::rollout ? std::abs(exact[i]) : exact[i]);
        }
    };
    add(shares->own, falls->own, taken_order_.size() - falls->encoded.size());
    add(shares->encoded, falls->encoded, falls->encoded.size());
    return a.size() < 2 ? std::nullopt : std::optional(rank_correlation(a, b));
}

const LayersLens::States* LayersLens::states_at(Index position) const {
    if (position == row()) return reading() ? &reading()->states() : nullptr;
    const auto found = others_.find(position);
    return found == others_.end() ? nullptr : &found->second;
}

Index LayersLens::place() const {
    const Index last = std::ssize(read_.stream->places()) - 1;
    return std::min(state().of<LayersState>().place.value_or(last), last);
}

const TokenShares* LayersLens::measured(TokenMeasure measure) const {
    switch (measure) {
        case TokenMeasure::direct: return parts() ? &parts()->tokens() : nullptr;
        case TokenMeasure::rollout: return rollout_ && rollout_->done() ? &rollout_->shares() : nullptr;
        case TokenMeasure::gradient: return gradient_ && gradient_->done() ? &gradient_->shares() : nullptr;
        case TokenMeasure::exact: break;
    }
    return exact_ && taken_out_->effects().size() == taken_order_.size() ? &*exact_ : nullptr;
}

void LayersLens::set(LayersState wanted) const {
    if (wanted != state().of<LayersState>()) visit().perform(SetLayers{wanted});
}

std::optional<std::int32_t> LayersLens::token_in_text() const {
    const Index at = trace_->network().causal ? row() + 1 : row();
    const auto ids = trace_->ids();
    if (at == std::ssize(ids)) return std::nullopt;
    const std::int32_t token = ids[static_cast<std::size_t>(at)];
    return token == visit().page().special_tokens().mask ? std::nullopt : std::optional(token);
}

// ---- Texts --------------------------------------------------------------------------------------------

std::string LayersLens::after_words(Subject& subject) const {
    const std::string word = query_in_words(stream_text(subject), row());
    return trace_->network().causal ? "after " + word : "in place of " + word;
}

std::string LayersLens::followed_name(Subject& subject) const {
    return vocabulary_.name(subject, token()) + " " + after_words(subject);
}

std::string LayersLens::part_name(const Attention& attention, const LogitShare& share) const {
    std::string mlp = "MLP " + std::to_string(trace_->attention(share.number).place.layer);
    switch (share.part) {
        case LogitPart::token_embedding: return "embedding";
        case LogitPart::position_embedding: return "position";
        case LogitPart::segment_embedding: return "segment";
        case LogitPart::embedding_norm: return "embedding norm’s bias";
        case LogitPart::embedding_change: return "change of the embedding";
        case LogitPart::head: return head_text({share.number, share.head}, attention.numbering());
        case LogitPart::attention_bias: return "b_O · " + attention.numbering().name(share.number);
        case LogitPart::attention_output_change:
            return "changed output · " + attention.numbering().name(share.number);
        case LogitPart::attention_norm: return "norm’s bias · " + attention.numbering().name(share.number);
        case LogitPart::attention_change:
            return "changed stream · " + attention.numbering().name(share.number);
        case LogitPart::mlp: return mlp;
        case LogitPart::mlp_norm: return "norm’s bias · " + mlp;
        case LogitPart::mlp_change: return "changed stream · " + mlp;
        case LogitPart::final_norm: return "last norm’s bias";
        case LogitPart::transform: return "head’s own biases";
        case LogitPart::activation_remainder: return "bend of the head";
        case LogitPart::head_bias: break;
    }
    return "bias of the token";
}

std::string LayersLens::spoken(Subject& subject) {
    update(subject);
    const LogitLens* read = reading();
    const std::string after = capitalised(after_words(subject));
    if (!read) return after + ", reading the residual stream after every half of every block.";
    if (read->states().back().likeliest.empty()) return refused_;
    const Index last = std::ssize(read->places()) - 1;
    const std::string name = vocabulary_.name(subject, token()),
                      share = chance(read->probability(last, token()));
    std::string text = after;
    if (ranks().back() > 1) {
        text += ", " + name + " ends at rank " + with_commas(ranks().back()) + " (" + share + ")";
    } else {
        Index first = last;
        while (first > 0 && ranks()[static_cast<std::size_t>(first - 1)] == 1) --first;
        const StreamPlace& place = read->places()[static_cast<std::size_t>(first)];
        text += " comes " + name + " (" + share + "), the likeliest " +
                (first == last ? "only at the end" : "from " + in_sentence(place) + " on");
    }
    const auto most = std::ranges::max_element(parts()->shares(), {}, &LogitShare::value);
    const bool named = most->part == LogitPart::head || most->part == LogitPart::mlp;
    return text + ".\n" + capitalised((named ? "" : "the ") + part_name(stream_text(subject), *most)) +
           " adds most to its logit (" + fixed(most->value, 2) + ").";
}

Guide LayersLens::guide(Subject&) const {
    return {
        "How a vector becomes a word",
        "Every block adds to one vector, the residual stream. Here the model’s last norm and its head read "
        "it "
        "early, after each half of each block, as if the rest were not there: the logit lens "
        "(nostalgebraist 2020). A model is not trained to be read early, so the first rows may be odd.\n\n"
        "Below, a logit is taken apart: the stream is a sum, and the head reads it by one direction, so "
        "every "
        "head and every MLP adds its own part (Elhage et al. 2021). A norm is no sum; it is held at the "
        "mean and the deviation that it had here, which makes it one.\n\n"
        "These parts are direct. What a head does by way of later ones is in theirs. What a token does by "
        "all ways is measured by hiding its key from every query, one run for each token; rollout (Abnar & "
        "Zuidema "
        "2020) and attention × gradient (Barkan et al. 2021) guess at it, and are there to compare with."};
}

}  // namespace attn::app
