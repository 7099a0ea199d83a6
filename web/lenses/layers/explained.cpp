// Explains the numbers of lens Layers: the stream decoded at a place, and the parts of a logit.
#include <cmath>

#include "app/format.hpp"
#include "lenses/layers/layers.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"
#include "subjects/explain_measured.hpp"

namespace attn::app::layers {

namespace {

std::string computed_by(Subject& subject) { return "computed by " + stream_text(subject).title(); }

// Says whether there is such a place and such a token.
bool is_read(const Model& model, const LensCell& cell) {
    const LogitLens& read = *model.reading();
    return cell.at[0] < std::ssize(read.places()) && cell.at[1] < std::ssize(read.logits(0));
}

// A token as the stream at a place has it.
Candidate candidate(const Model& model, Index place, std::int32_t id) {
    const LogitLens& read = *model.reading();
    return {id, read.logits(place)[static_cast<std::size_t>(id)], read.probability(place, id)};
}

std::span<const float> state_at(const Model& model, Index place, Index row) {
    const ConstMatrix stream = stream_after(*model.trace, model.place_at(place)).matrix();
    return {stream.row(row), static_cast<std::size_t>(stream.cols)};
}

// The cells of the stream's numbers at a place.
PlaceOf stream_cells(const Model& model, Subject& subject, const StreamPlace& place) {
    using enum StreamPlace::After;
    const Network& network = model.trace->network();
    const bool crosses = model.trace->layers()[static_cast<std::size_t>(place.layer)].cross.has_value(),
               last = place.layer + 1 == std::ssize(model.trace->layers());
    HeadIndex head{attention_of(network, place), subject.chosen_head().head};
    Stage stage = Stage::resid_pre;
    if (place.after == cross || (place.after == attention && !crosses))
        stage = Stage::resid_mid;
    else if (place.after == attention)
        head.layer = attention_of(network, {cross, place.layer});
    else if (place.after == mlp && last)
        stage = Stage::final_residual;
    else if (place.after == mlp)
        ++head.layer;
    return [places = Places{head}, stage, row = model.row()](Index c) { return places(stage, row, c); };
}

// ---- The stream decoded at a place --------------------------------------------------------------------

Explained probability_of(const Model& model, Subject& subject, Index place, Index position,
                         const Candidate& token) {
    const Network& network = model.trace->network();
    Explained out{.title = "Probability of " + model.vocabulary.name(subject, token.id) + ", " +
                           place_in_words(model.place_at(place)) + ", " + at_temperature,
                  .provenance = computed_by(subject),
                  .f32 = single(token.probability),
                  .formula = "exp(logit) / Σ exp(logits)",
                  .note =
                      "The last norm and the head read the stream here as they read it at the end; the sum "
                      "is of the run’s logits."};
    const Expression logit = out.step(
        "logit",
        logit_of(network, head_reads(*model.trace->model(), state_at(model, place, position)), token.id),
        "of id " + std::to_string(token.id) + ", read at " +
            in_quotes(label_at(stream_text(subject).query_names(), position)),
        position == model.row()
            ? std::optional(CellPlace{subject.chosen_head(), cells::logit(place, token.id)})
            : std::nullopt);
    // ln Σ exp(logit) over the vocabulary, for the run's logits.
    const Expression log_sum =
        out.step("ln Σ", static_cast<double>(token.logit) - std::log(token.probability),
                 "over " + with_commas(network.head.weight.out) + " tokens");
    out.step("probability", exp(logit - log_sum));
    return out;
}

std::optional<Explained> explain_likeliest(Model& model, Subject& subject, const LensCell& cell) {
    const auto [place, position, unused] = cell.at;
    const bool is_place = place < std::ssize(model.reading()->places());
    const Candidate* best = is_place ? model.likeliest(place, position) : nullptr;
    return best ? std::optional(probability_of(model, subject, place, position, *best)) : std::nullopt;
}

std::optional<Explained> explain_probability(Model& model, Subject& subject, const LensCell& cell) {
    if (!is_read(model, cell)) return std::nullopt;
    const Candidate token = candidate(model, cell.at[0], static_cast<std::int32_t>(cell.at[1]));
    if (std::isnan(token.probability)) return std::nullopt;
    return probability_of(model, subject, cell.at[0], model.row(), token);
}

std::optional<Explained> explain_rank(Model& model, Subject& subject, const LensCell& cell) {
    if (!is_read(model, cell)) return std::nullopt;
    const Index place = cell.at[0];
    const Candidate token = candidate(model, place, static_cast<std::int32_t>(cell.at[1]));
    const auto rank = static_cast<double>(model.reading()->rank(place, token.id));
    Explained out{.title = "Rank of " + model.vocabulary.name(subject, token.id) + ", " +
                           place_in_words(model.place_at(place)),
                  .provenance = computed_by(subject),
                  .f32 = rank,
                  .formula = "1 + how many tokens have a larger logit",
                  .note = "Of equal logits, the lower id comes first."};
    out.beside("logit", static_cast<double>(token.logit), "",
               CellPlace{subject.chosen_head(), cells::logit(place, token.id)});
    for (const Candidate& each : model.reading()->states()[static_cast<std::size_t>(place)].likeliest)
        if (each.logit > token.logit)
            out.beside(model.vocabulary.name(subject, each.id), static_cast<double>(each.logit),
                       "a larger logit");
    out.line("rank", rank);
    return out;
}

std::optional<Explained> explain_logit(Model& model, Subject& subject, const LensCell& cell) {
    if (!is_read(model, cell)) return std::nullopt;
    const Index place = cell.at[0];
    const auto id = static_cast<std::int32_t>(cell.at[1]);
    const Network& network = model.trace->network();
    const bool is_last = place + 1 == std::ssize(model.reading()->places());
    const Places places{{attention_of(network, model.place_at(place)), subject.chosen_head().head}};
    const Stage read_at = has_head_input(network) ? Stage::head_input : Stage::final_norm;
    const std::string name(symbol(read_at)), column = std::to_string(id);
    const double bias = network.head.bias.size() > 0
                            ? static_cast<double>(network.head.bias.values()[static_cast<std::size_t>(id)])
                            : 0;
    Explained out{.title = "Logit of " + model.vocabulary.name(subject, id) + ", " +
                           place_in_words(model.place_at(place)),
                  .provenance = computed_by(subject),
                  .f32 = static_cast<double>(candidate(model, place, id).logit),
                  .formula = "Σ_b " + name + "[b] · W_head[b, " + column + "]" + (bias != 0 ? " + bias" : ""),
                  .operands_title = name + " of the stream here · W_head[·, " + column + "]"};
    for (const double each : head_reads(*model.trace->model(), state_at(model, place, model.row()))) {
        const Index i = std::ssize(out.operands);
        out.term(std::to_string(i), each, element(network.head.weight, i, id),
                 is_last ? std::optional(places(read_at, model.row(), i)) : std::nullopt,
                 places(Stage::w_head, i, id));
    }
    Expression logit = out.step("Σ", out.dot("x", "w"));
    if (bias != 0) logit = out.step("+ bias", logit + bias);
    const double cap = network.logit_cap;
    if (cap > 0) out.step("capped", cap * tanh(logit / cap));
    return out;
}

std::optional<Explained> explain_state(Model& model, Subject& subject, const LensCell& cell) {
    const Index place = cell.at[0], end = std::ssize(model.reading()->places()) - 1;
    if (place > end) return std::nullopt;
    const bool of_cosine = cell.kind == &cells::cosine;
    const Cosine& run = model.reading()->states()[static_cast<std::size_t>(place)].cosine;
    const auto at = stream_cells(model, subject, model.place_at(place));
    const CellPlace stream = *at(0);
    Explained out{
        .title = (of_cosine ? "Cosine to the end, " : "Length of the stream, ") +
                 place_in_words(model.place_at(place)),
        .provenance = computed_by(subject),
        .f32 = single(of_cosine ? run.value() : run.first_norm),
        .formula = "√Σ_b x[b]²",
        .operands_title = of_cosine ? "The stream here · the stream at the end" : "The stream here, squared",
        .part = RunPart{.site = stream.cell.is(Stage::resid_mid)        ? Site::resid_mid
                                : stream.cell.is(Stage::final_residual) ? Site::resid_post
                                                                        : Site::resid_pre,
                        .attention = stream.head.layer,
                        .row = model.row()}};
    const auto here = state_at(model, place, model.row()),
               other = of_cosine ? state_at(model, end, model.row()) : here;
    std::vector<Term> terms;
    for (std::size_t c = 0; c < here.size(); ++c)
        terms.push_back({static_cast<Index>(c), static_cast<double>(here[c]), static_cast<double>(other[c])});
    if (of_cosine) {
        explain_cosine(out, terms, at, stream_cells(model, subject, model.place_at(end)));
        return out;
    }
    add_terms(out, terms, at, at, {"x", "x"});
    out.step("length", norm(out.left()));
    return out;
}

// ---- The parts of a logit -----------------------------------------------------------------------------

// A part of the model's own head: a number without operands.
void explain_head_part(Explained& out, const Model& model, const LogitShare& share, const Places& places) {
    const bool of_bias = share.part == LogitPart::head_bias;
    out.recomputed = false;
    out.formula = of_bias ? "bias of the token"
                  : share.part == LogitPart::activation_remainder
                      ? "Σ_i slope · (act(z[i]) − act′(z[i]) z[i])"
                      : "the biases of the head’s dense layer and its norm";
    out.step("part", share.value,
             of_bias ? std::optional(places(Stage::b_head, 0, model.token())) : std::nullopt);
    if (!of_bias)
        out.note =
            "This model’s head is not linear. Its activation is taken by its slope here, and what that "
            "leaves is a part of its own.";
}

std::optional<Explained> explain_attribution(Model& model, Subject& subject, const LensCell& cell) {
    const auto part = static_cast<std::size_t>(cell.at[0]);
    if (part >= model.parts()->shares().size()) return std::nullopt;
    const LogitShare& share = model.parts()->shares()[part];
    const std::span<const float> written = model.parts()->written(share);
    const bool of_head = share.part == LogitPart::head;
    const Places places{{share.number, of_head ? share.head : subject.chosen_head().head}};
    Explained out{.title = "Part of " + part_name(model, subject, share) + " in the logit of " +
                           model.vocabulary.name(subject, model.token()),
                  .provenance = computed_by(subject),
                  .f32 = single(share.value)};
    if (written.empty()) {
        explain_head_part(out, model, share, places);
        return out;
    }
    out.formula = of_head ? "Σ_b Output[b] · (W_O u)[b]" : "Σ_c written[c] · u[c]";
    out.operands_title = of_head ? "Output of the head · how far the logit grows with it"
                                 : "What is written · the direction that the logit reads";
    out.note =
        "u is the token’s column of W_head, brought back through every norm on the way, each held at the "
        "mean and the deviation that it had.";
    if (of_head || share.part == LogitPart::mlp)
        out.part = RunPart{of_head ? Site::head_output : Site::mlp_output, share.number,
                           of_head ? std::optional(share.head) : std::nullopt, model.row()};
    const auto written_at = [&](Index i) -> std::optional<CellPlace> {
        switch (share.part) {
            case LogitPart::token_embedding: return places(Stage::embedding, model.row(), i);
            case LogitPart::position_embedding: return places(Stage::position, model.row(), i);
            case LogitPart::segment_embedding: return places(Stage::segment, model.row(), i);
            case LogitPart::head: return places(Stage::output, model.row(), i);
            case LogitPart::attention_bias: return places(Stage::b_o, 0, i);
            case LogitPart::mlp: return places(Stage::mlp_output, model.row(), i);
            default: return std::nullopt;
        }
    };
    const std::vector<double> direction = model.parts()->exact_direction(share);
    for (std::size_t i = 0; i < written.size(); ++i)
        out.term(std::to_string(i), static_cast<double>(written[i]), direction[i],
                 written_at(static_cast<Index>(i)));
    out.step("part", out.dot("written", "direction"));
    return out;
}

// ---- Source tokens ------------------------------------------------------------------------------------

// A token of the run's text, or of the text that its encoder read.
struct Source {
    Index token;
    bool encoded;
    double share;
};

void explain_fall(Explained& out, const Model& model, Subject& subject, const Source& source) {
    const double logit = model.tokens.ablation()->logit();
    const std::string name = "logit of " + model.vocabulary.name(subject, model.token());
    out.recomputed = false;
    out.formula = "run as it is − run in which no query sees the token’s key";
    const Expression with = out.step(name, logit, std::string("in the run as it is")),
                     without = out.step(name, logit - source.share, std::string("without the key"));
    out.step("falls by", with - without);
    out.note = !source.encoded && model.trace->network().causal && source.token > model.row()
                   ? "This position comes before the token, so nothing of it arrives here."
                   : "The key is hidden in every head of every layer, from its own query too; the other "
                     "keys share its weight. Its own stream goes on, which no other token reads.";
}

void explain_direct(Explained& out, const Model& model, Subject& subject, const Source& source) {
    const Layers numbering = stream_text(subject).numbering();
    out.formula = "Σ_heads A[i, j] · (V[j] · W_O u)";
    out.operands_title = "Weight of each head on it · what its value adds to the logit";
    out.note =
        "What the heads read of it at this position, added up. What other positions read of it first, and "
        "what the MLPs make of it, is in other parts.";
    for (Index number = 0; number < model.trace->attentions(); ++number) {
        const LayerAttention of = model.trace->attention(number);
        if (has_encoder_keys(of.place.kind) != source.encoded || of.place.kind == AttentionKind::encoder)
            continue;
        for (Index h = 0; h < of.record().heads(); ++h) {
            const HeadIndex head{number, h};
            const auto weight =
                static_cast<double>(of.record().cell(Stage::weight, h, model.row(), source.token));
            if (weight != 0)
                out.term(numbering.short_head(head), weight,
                         model.parts()->adds(head, {source.token, source.token + 1}).front(),
                         Places{head}(Stage::weight, model.row(), source.token));
        }
    }
    out.line("direct", out.operands.empty() ? Expression(0) : out.dot("weights", "values"));
}

void explain_rollout(Explained& out, const Model& model, Subject& subject, const Source& source) {
    out.formula = "row i of Â_L ⋯ Â_1, where Â = ½ I + ½ mean over heads of A";
    out.note =
        "How much of this token arrives if every attention hands on half of what it has and half of what it "
        "mixes (Abnar & Zuidema 2020). It knows no values and no signs.";
    if (model.trace->encoder() && !source.encoded) {
        out.recomputed = false;
        out.step("share", source.share);
        return;
    }
    const Attention& text = source.encoded ? *encoder_text(subject) : stream_text(subject);
    out.operands_title = "What arrives above " + stream_text(subject).numbering().name(0) + " · its row of Â";
    const Rollout& rollout = model.tokens.rollout();
    for (Index query = 0; query < std::ssize(rollout.before_first()); ++query) {
        const double above = rollout.before_first()[static_cast<std::size_t>(query)],
                     mixed = above == 0 ? 0 : rollout.mixed_first(query, source.token);
        if (mixed != 0) out.term(label_at(text.query_names(), query), above, mixed);
    }
    out.line("share", out.operands.empty() ? Expression(0) : out.dot("above", "mixed"));
}

void explain_gradient(Explained& out, const Model& model, Subject& subject, const Source& source) {
    out.formula = "Σ max(A · ∂L/∂A, 0), over heads and queries, / Σ of all tokens";
    out.operands_title = "Of each attention · 1 / the sum of all tokens";
    out.note = "L is the logit. Weights that would lower it if they grew count 0 (Barkan et al. 2021).";
    const double total = model.tokens.gradient().total();
    for (Index number = 0; number < model.trace->attentions(); ++number)
        if (has_encoder_keys(model.trace->attention(number).place.kind) == source.encoded)
            out.term(stream_text(subject).numbering().name(number),
                     model.tokens.gradient().keys_of(number)[static_cast<std::size_t>(source.token)],
                     total > 0 ? 1 / total : 0);
    out.line("share", out.dot("positive", "shares"));
}

std::optional<Explained> explain_token(Model& model, Subject& subject, const LensCell& cell) {
    static constexpr std::array names{"Directly, from ", "Rollout, from ", "Attention × gradient of ",
                                      "Without "};
    const auto measure = static_cast<TokenMeasure>(cell.at[0]);
    const bool encoded = cell.kind == &cells::encoder_token;
    const Index token = cell.at[1];
    const TokenShares* shares = model.shares(measure);
    if (!shares || token >= std::ssize(shares->of(encoded))) return std::nullopt;
    const Source source{token, encoded, shares->of(encoded)[static_cast<std::size_t>(token)]};
    if (!model.tokens.measured(measure) && std::isnan(source.share)) return std::nullopt;
    const Attention& text = encoded ? *encoder_text(subject) : stream_text(subject);
    Explained out{
        .title = names[static_cast<std::size_t>(measure)] + in_quotes(label_at(text.query_names(), token)),
        .provenance = computed_by(subject),
        .f32 = single(source.share)};
    switch (measure) {
        case TokenMeasure::direct: explain_direct(out, model, subject, source); break;
        case TokenMeasure::rollout: explain_rollout(out, model, subject, source); break;
        case TokenMeasure::gradient: explain_gradient(out, model, subject, source); break;
        case TokenMeasure::exact: explain_fall(out, model, subject, source); break;
    }
    return out;
}

std::optional<Explained> explain_unit(Model& model, Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<TokenMeasure>(cell.at[0]);
    const bool encoded = cell.kind == &cells::encoder_unit;
    if (encoded && !encoder_text(subject)) return std::nullopt;
    const Attention& text = encoded ? *encoder_text(subject) : stream_text(subject);
    const UnitAxis* units = units_of(model, text);
    const TokenShares* shares = model.shares(measure);
    if (!units || !shares || !adds_up(measure) || cell.at[1] >= units->count()) return std::nullopt;
    const std::string name = in_quotes(units->name(cell.at[1]));
    Explained out{.title = std::string(measure == TokenMeasure::direct    ? "Directly, from "
                                       : measure == TokenMeasure::rollout ? "Rollout, from "
                                                                          : "Attention × gradient of ") +
                           name,
                  .provenance = computed_by(subject)};
    out.operands_title = "Its tokens";
    out.left_name = "shares";
    out.right_name = "ones";
    const Range tokens = units->of(cell.at[1]);
    for (Index token = tokens.begin; token < tokens.end; ++token) {
        const double share = shares->of(encoded)[static_cast<std::size_t>(token)];
        out.operands.push_back(
            {in_quotes(label_at(text.query_names(), token)), share, 1, share,
             CellPlace{subject.chosen_head(),
                       (encoded ? cells::encoder_token : cells::token)(cell.at[0], token)}});
        out.f64 += share;
    }
    out.f32 = single(out.f64);
    out.formula = "Σ over the tokens of " + name;
    out.line("sum", out.sum());
    return out;
}

constexpr std::array<ModelNumber<Model>, 11> declared{{
    {&cells::likeliest, explain_likeliest},
    {&cells::probability, explain_probability},
    {&cells::rank, explain_rank},
    {&cells::logit, explain_logit},
    {&cells::norm, explain_state},
    {&cells::cosine, explain_state},
    {&cells::attribution, explain_attribution},
    {&cells::token, explain_token},
    {&cells::encoder_token, explain_token},
    {&cells::unit, explain_unit},
    {&cells::encoder_unit, explain_unit},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return reading() ? explain_by(declared, *this, subject, cell) : std::nullopt;
}

}  // namespace attn::app::layers
