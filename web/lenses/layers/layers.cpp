#include "lenses/layers/layers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::layers {

namespace {

constexpr double slice_operations = 60e6;  // about 2 ms at 30 GFLOP/s
constexpr Index most_out_of_view = 64;     // tokens that are ablated even if nobody looks

// The chosen query, unless it is one of the encoder's.
Index row_of(Subject& subject) {
    const Attention& attention = *subject.attention();
    const auto trace = attention.trace();
    const Selection chosen = subject.chosen();
    const bool encoded = trace->attention(chosen.layer).place.kind == AttentionKind::encoder;
    const Index row = encoded ? attention.logits_row() : chosen.query.value_or(attention.logits_row());
    return std::min(row, trace->tokens() - 1);
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
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
LinkRows links() { return {rows_of_fields<State, 2>()}; }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    static constexpr std::array of_places{&likeliest, &probability, &rank, &logit};
    if (row < 4000) return (*of_places[static_cast<std::size_t>(row / 1000)])(row % 1000, col);
    if (row < 6000) return col == 0 ? std::optional((row < 5000 ? norm : cosine)(row % 1000)) : std::nullopt;
    if (row == 6000) return attribution(col);
    if (row < 6005) return token(row - 6001, col);
    return row >= 6011 && row < 6015 ? std::optional(encoder_token(row - 6011, col)) : std::nullopt;
}

Attention& stream_text(Subject& subject) {
    const auto trace = subject.attention()->trace();
    return *subject.attention_of(trace->encoder() ? trace->encoder()->attentions() : 0);
}

Attention* encoder_text(Subject& subject) {
    return subject.attention()->trace()->encoder() ? subject.attention_of(0) : nullptr;
}

// ---- Inputs -----------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{"The residual stream needs a whole model; here is only a head’s attention."};
}

void Model::show(FollowedToken shown) {
    if (shown.stream()->trace() != trace)
        nearby.emplace(shown.stream()->trace(), slice_operations);
    else if (reading())
        nearby->keep(row(), reading()->states());
    trace = shown.stream()->trace();
    vocabulary.follow(trace->model());
    read = std::move(shown);
    next.reset();
    if (read->done()) tokens.start(read->parts(), slice_operations);
}

void Model::update(Visit& visit, Subject& subject) {
    state = visit.state().of<State>();
    units = weights_of(looks_of(visit.state()).map);
    const auto run = subject.attention()->trace();
    const Index wanted = row_of(subject);
    const auto begun = [&] {
        return FollowedToken(std::make_shared<LogitLens>(run, wanted, slice_operations));
    };
    if (run != trace || !read || (wanted != row() && !read->done())) {
        show(begun());
    } else if (wanted != row()) {
        if (!next || next->stream()->row() != wanted) next = begun();
    } else if (read->done()) {
        if (read->meant(state.token) == token())
            next.reset();
        else if (!next || next->stream() != read->stream())
            next.emplace(read->stream());
    }
    const Index size = trace->network().head.weight.out;
    refused = state.token && *state.token >= size
                  ? "Token " + std::to_string(*state.token) + " is outside this model’s vocabulary of " +
                        with_commas(size) + "; its likeliest is followed instead."
              : reading() && reading()->states().back().likeliest.empty()
                  ? "The logits here are not finite, so no token has a probability."
                  : "";
}

// ---- Computing --------------------------------------------------------------------------------------------

bool Model::step(Subject& subject) {
    if (!read) return false;
    if (!read->done()) {
        if (!read->step(state.token)) tokens.start(read->parts(), slice_operations);
        return true;
    }
    if (next) {
        if (!next->step(state.token)) show(*std::exchange(next, {}));
        return true;
    }
    if ((search.on && vocabulary.read(subject)) || nearby->step(row())) return true;
    // Each token takes a run of its own, so in a long text they wait until they are in view.
    return tokens.step(tokens_in_view || trace->tokens() <= most_out_of_view);
}

const Candidate* Model::likeliest(Index place, Index position) const {
    const auto* states = position == row() && reading() ? &reading()->states() : nearby->at(position);
    if (!states || (*states)[static_cast<std::size_t>(place)].likeliest.empty()) return nullptr;
    return &(*states)[static_cast<std::size_t>(place)].likeliest.front();
}

Index Model::place() const {
    const Index last = std::ssize(read->stream()->places()) - 1;
    return std::min(state.place.value_or(last), last);
}

// ---- Texts ------------------------------------------------------------------------------------------------

namespace {

// Writes "attention 2" or, with words between the two, "attention of layer 2".
std::string named(const StreamPlace& place, const char* cross, const char* between) {
    const std::array kinds{"embedding", "attention", cross, "MLP"};
    return kinds[static_cast<std::size_t>(place.after)] +
           (place.after == StreamPlace::After::embedding ? "" : between + std::to_string(place.layer));
}

}  // namespace

std::string place_name(const StreamPlace& place) { return named(place, "cross", " "); }
std::string place_in_words(const StreamPlace& place) {
    return "after the " + named(place, "cross-attention", " of layer ");
}

std::string after_words(const Model& model, Subject& subject) {
    const std::string word = query_in_words(stream_text(subject), model.row());
    return model.trace->network().causal ? "after " + word : "in place of " + word;
}

std::string part_name(const Model& model, Subject& subject, const LogitShare& share) {
    const Layers numbering = stream_text(subject).numbering();
    const std::string layer = numbering.name(share.number);
    std::string mlp = "MLP " + std::to_string(model.trace->attention(share.number).place.layer);
    switch (share.part) {
        case LogitPart::token_embedding: return "embedding";
        case LogitPart::position_embedding: return "position";
        case LogitPart::segment_embedding: return "segment";
        case LogitPart::embedding_norm: return "embedding norm’s bias";
        case LogitPart::embedding_change: return "change of the embedding";
        case LogitPart::head: return head_text({share.number, share.head}, numbering);
        case LogitPart::attention_bias: return "b_O · " + layer;
        case LogitPart::attention_output_change: return "changed output · " + layer;
        case LogitPart::attention_norm: return "norm’s bias · " + layer;
        case LogitPart::attention_change: return "changed stream · " + layer;
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

std::string Model::headline(Subject& subject) {
    const std::string after = capitalised(after_words(*this, subject));
    if (!reading()) return after + ", reading the residual stream after every half of every block.";
    if (reading()->states().back().likeliest.empty()) return refused;
    const Index last = std::ssize(reading()->places()) - 1;
    const std::string name = vocabulary.name(subject, token()),
                      share = chance(reading()->probability(last, token()));
    std::string text = after;
    if (ranks().back() > 1) {
        text += ", " + name + " ends at rank " + with_commas(ranks().back()) + " (" + share + ")";
    } else {
        Index first = last;
        while (first > 0 && ranks()[static_cast<std::size_t>(first - 1)] == 1) --first;
        text += " comes " + name + " (" + share + "), the likeliest " +
                (first == last ? "only at the end"
                 : first == 0  ? "from the embedding on"
                               : "from " + named(place_at(first), "cross-attention", " ") + " on");
    }
    const auto most = std::ranges::max_element(parts()->shares(), {}, &LogitShare::value);
    const bool named = most->part == LogitPart::head || most->part == LogitPart::mlp;
    return text + ".\n" + capitalised((named ? "" : "the ") + part_name(*this, subject, *most)) +
           " adds most to its logit (" + fixed(most->value, 2) + ").";
}

Guide Model::guide(Subject&) {
    return {
        "How a vector becomes a word",
        "Every block adds to one vector, the residual stream. Here the model’s last norm and its head read "
        "it early, after each half of each block, as if the rest were not there: the logit lens "
        "(nostalgebraist 2020). A model is not trained to be read early, so the first rows may be odd.\n\n"
        "Below, a logit is taken apart: the stream is a sum, and the head reads it by one direction, so "
        "every head and every MLP adds its own part (Elhage et al. 2021). A norm is no sum; it is held at "
        "the mean and the deviation that it had here, which makes it one.\n\n"
        "These parts are direct. What a head does by way of later ones is in theirs. What a token does by "
        "all ways is measured by hiding its key from every query, one run for each token; rollout (Abnar & "
        "Zuidema 2020) and attention × gradient (Barkan et al. 2021) guess at it, and are there to compare "
        "with."};
}

}  // namespace attn::app::layers
