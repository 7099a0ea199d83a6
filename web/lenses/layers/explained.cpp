// Explains the numbers of lens Layers: the stream decoded at a place, and the parts of a logit.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/layers/layers.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"
#include "subjects/explain_measured.hpp"

namespace attn::app {

namespace {

void note_step(Explained& out, std::string name, std::string arithmetic, double value, bool current = false,
               std::optional<CellPlace> at = {}) {
    out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, at});
}

}  // namespace

std::optional<Explained> LayersLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention() || missing(subject)) return std::nullopt;
    update(subject);
    if (!reading()) return std::nullopt;
    const LensCell& cell = place.cell.own;
    if (!kept_ || kept_->trace != trace_ || kept_->row != row() || kept_->token != token() ||
        kept_->cell != cell || !kept_->why)
        kept_ = Kept{trace_, row(), token(), cell, explain_by(declared, *this, subject, cell)};
    return kept_->why;
}

const std::array<LensNumber<LayersLens>, 9> LayersLens::declared{{
    {&layers_cells::likeliest, &LayersLens::explain_likeliest},
    {&layers_cells::probability, &LayersLens::explain_probability},
    {&layers_cells::rank, &LayersLens::explain_rank},
    {&layers_cells::logit, &LayersLens::explain_logit},
    {&layers_cells::norm, &LayersLens::explain_state},
    {&layers_cells::cosine, &LayersLens::explain_state},
    {&layers_cells::attribution, &LayersLens::explain_attribution},
    {&layers_cells::token, &LayersLens::explain_token},
    {&layers_cells::encoder_token, &LayersLens::explain_token},
}};

CellKinds layers_numbers() { return kinds_of(LayersLens::declared); }

std::optional<CellRef> packed_layers_cell(Index row, Index col) {
    using namespace layers_cells;
    static constexpr std::array of_places{&likeliest, &probability, &rank, &logit};
    if (row < 4000) return (*of_places[static_cast<std::size_t>(row / 1000)])(row % 1000, col);
    if (row < 6000) return col == 0 ? std::optional((row < 5000 ? norm : cosine)(row % 1000)) : std::nullopt;
    if (row == 6000) return attribution(col);
    if (row < 6005) return token(row - 6001, col);
    return row >= 6011 && row < 6015 ? std::optional(encoder_token(row - 6011, col)) : std::nullopt;
}

bool LayersLens::is_read(const LensCell& cell) const {
    return cell.at[0] < std::ssize(reading()->places()) && cell.at[1] < std::ssize(reading()->logits(0));
}

Explained LayersLens::begin(Subject& subject, std::string title) const {
    Explained out;
    out.title = std::move(title);
    out.provenance = "computed by " + stream_text(subject).title();
    return out;
}

CellPlace LayersLens::stream_cell(Subject& subject, const StreamPlace& place, Index row, Index column) const {
    const Index head = subject.chosen_head().head, number = attention_of(trace_->network(), place);
    const auto at = [&](Index layer, Stage stage) {
        return CellPlace{{layer, head}, {.stage = stage, .row = row, .col = column}};
    };
    const LayerTrace& layer = trace_->layers()[static_cast<std::size_t>(place.layer)];
    switch (place.after) {
        case StreamPlace::After::embedding: return at(number, Stage::resid_pre);
        case StreamPlace::After::attention:
            if (!layer.cross) return at(number, Stage::resid_mid);
            return at(attention_of(trace_->network(), {StreamPlace::After::cross, place.layer}),
                      Stage::resid_pre);
        case StreamPlace::After::cross: return at(number, Stage::resid_mid);
        case StreamPlace::After::mlp: break;
    }
    return place.layer + 1 < std::ssize(trace_->layers()) ? at(number + 1, Stage::resid_pre)
                                                          : at(number, Stage::final_residual);
}

// ---- The stream decoded at a place --------------------------------------------------------------------

std::optional<Explained> LayersLens::explain_likeliest(Subject& subject, const LensCell& cell) {
    const auto [place, position, unused] = cell.at;
    const States* states = states_at(position);
    if (place >= std::ssize(reading()->places()) || !states ||
        (*states)[static_cast<std::size_t>(place)].likeliest.empty())
        return std::nullopt;
    const Candidate& best = (*states)[static_cast<std::size_t>(place)].likeliest.front();
    return probability_of(subject, place, position, best.id, static_cast<double>(best.logit),
                          best.probability);
}

std::optional<Explained> LayersLens::explain_probability(Subject& subject, const LensCell& cell) {
    if (!is_read(cell)) return std::nullopt;
    const Index place = cell.at[0];
    const auto id = static_cast<std::int32_t>(cell.at[1]);
    const double probability = reading()->probability(place, id);
    if (std::isnan(probability)) return std::nullopt;
    return probability_of(subject, place, row(), id,
                          static_cast<double>(reading()->logits(place)[static_cast<std::size_t>(id)]),
                          probability);
}

Explained LayersLens::probability_of(Subject& subject, Index place, Index position, std::int32_t id,
                                     double logit, double probability) {
    const StreamPlace& at = reading()->places()[static_cast<std::size_t>(place)];
    Explained out = begin(subject, "Probability of " + vocabulary_.name(subject, id) + ", " +
                                       place_in_words(at) + ", " + at_temperature);
    const std::string reads = label_at(stream_text(subject).query_names(), position);
    const auto state = stream_after(*trace_, at).matrix();
    const double exact = logit_of(
        trace_->network(),
        head_reads(*trace_->model(), {state.row(position), static_cast<std::size_t>(state.cols)}), id);
    // ln Σ exp(logit) over the vocabulary, for the run's logits.
    const double log_sum = logit - std::log(probability);
    out.f32 = single(probability);
    out.f64 = std::exp(exact - log_sum);
    out.formula = "exp(logit) / Σ exp(logits)";
    note_step(out, "logit", "of id " + std::to_string(id) + ", read at " + in_quotes(reads), exact, false,
              position == row()
                  ? std::optional(CellPlace{subject.chosen_head(), layers_cells::logit(place, id)})
                  : std::nullopt);
    note_step(out, "ln Σ", "over " + with_commas(trace_->network().head.weight.out) + " tokens", log_sum);
    out.steps.push_back(
        {"probability", "exp(" + four(exact) + " − " + four(log_sum) + ")", fixed(out.f64, 6), true});
    out.line("probability", exp(Expression(exact) - log_sum));
    out.note =
        "The last norm and the head read the stream here as they read it at the end; the sum is of the "
        "run’s logits.";
    return out;
}

std::optional<Explained> LayersLens::explain_rank(Subject& subject, const LensCell& cell) {
    if (!is_read(cell)) return std::nullopt;
    const Index place = cell.at[0];
    const auto id = static_cast<std::int32_t>(cell.at[1]);
    const StreamPlace& at = reading()->places()[static_cast<std::size_t>(place)];
    Explained out = begin(subject, "Rank of " + vocabulary_.name(subject, id) + ", " + place_in_words(at));
    out.f32 = out.f64 = static_cast<double>(reading()->rank(place, id));
    out.formula = "1 + how many tokens have a larger logit";
    const std::span<const float> logits = reading()->logits(place);
    note_step(out, "logit", "", static_cast<double>(logits[static_cast<std::size_t>(id)]), false,
              CellPlace{subject.chosen_head(), layers_cells::logit(place, id)});
    for (const Candidate& each : reading()->states()[static_cast<std::size_t>(place)].likeliest)
        if (each.logit > logits[static_cast<std::size_t>(id)])
            note_step(out, vocabulary_.name(subject, each.id), "a larger logit",
                      static_cast<double>(each.logit));
    out.line("rank", out.f64);
    out.note = "Of equal logits, the lower id comes first.";
    return out;
}

std::optional<Explained> LayersLens::explain_logit(Subject& subject, const LensCell& cell) {
    if (!is_read(cell)) return std::nullopt;
    const Index place = cell.at[0];
    const auto id = static_cast<std::int32_t>(cell.at[1]);
    const StreamPlace& at = reading()->places()[static_cast<std::size_t>(place)];
    const Network& network = trace_->network();
    Explained out = begin(subject, "Logit of " + vocabulary_.name(subject, id) + ", " + place_in_words(at));
    const ConstMatrix state = stream_after(*trace_, at).matrix();
    const std::vector<double> reads =
        head_reads(*trace_->model(), {state.row(row()), static_cast<std::size_t>(state.cols)});
    std::vector<Term> terms;
    double sum = 0;
    for (const double each : reads) {
        const Index i = std::ssize(terms);
        terms.push_back({i, each, element(network.head.weight, i, id)});
        sum += terms.back().product();
    }
    const bool last = place + 1 == std::ssize(reading()->places());
    const HeadIndex head{attention_of(network, at), subject.chosen_head().head};
    const auto stored = [&](Stage stage, Index row, Index col) {
        return std::optional(CellPlace{head, {.stage = stage, .row = row, .col = col}});
    };
    const Stage read_at = has_head_input(network) ? Stage::head_input : Stage::final_norm;
    const std::string name(symbol(read_at));
    add_terms(
        out, terms, [&](Index i) { return last ? stored(read_at, row(), i) : std::nullopt; },
        [&](Index i) { return stored(Stage::w_head, i, id); }, {"x", "w"});
    const double bias = network.head.bias.size() > 0
                            ? static_cast<double>(network.head.bias.values()[static_cast<std::size_t>(id)])
                            : 0;
    out.f32 = static_cast<double>(reading()->logits(place)[static_cast<std::size_t>(id)]);
    out.f64 = sum + bias;
    out.formula =
        "Σ_b " + name + "[b] · W_head[b, " + std::to_string(id) + "]" + (bias != 0 ? " + bias" : "");
    out.operands_title = name + " of the stream here · W_head[·, " + std::to_string(id) + "]";
    note_step(out, "Σ", "", sum, bias == 0 && network.logit_cap == 0);
    if (bias != 0) note_step(out, "+ bias", four(sum) + " + " + four(bias), out.f64, network.logit_cap == 0);
    const Expression logit = out.line("logit", out.dot() + bias);
    if (network.logit_cap == 0) return out;
    const double cap = network.logit_cap, plain = out.f64;
    out.f64 = cap * std::tanh(plain / cap);
    note_step(out, "capped", four(cap) + " × tanh(" + four(plain) + " / " + four(cap) + ")", out.f64, true);
    out.line("capped", cap * tanh(logit / cap));
    return out;
}

std::optional<Explained> LayersLens::explain_state(Subject& subject, const LensCell& cell) {
    if (!is_read(cell)) return std::nullopt;
    const Index place = cell.at[0];
    const bool of_cosine = cell.kind == &layers_cells::cosine;
    const StreamPlace &at = reading()->places()[static_cast<std::size_t>(place)],
                      &end = reading()->places().back();
    Explained out =
        begin(subject, (of_cosine ? "Cosine to the end, " : "Length of the stream, ") + place_in_words(at));
    const Cosine& run = reading()->states()[static_cast<std::size_t>(place)].cosine;
    const ConstMatrix here = stream_after(*trace_, at).matrix(), last = trace_->final_residual().matrix();
    std::vector<Term> terms;
    double squares = 0;
    for (Index c = 0; c < here.cols; ++c) {
        const auto x = static_cast<double>(here(row(), c));
        terms.push_back({c, x, of_cosine ? static_cast<double>(last(row(), c)) : x});
        squares += x * x;
    }
    const auto cell_at = [&](const StreamPlace& of) -> PlaceOf {
        return [&, of](Index c) { return std::optional(stream_cell(subject, of, row(), c)); };
    };
    out.f32 = single(of_cosine ? run.value() : run.first_norm);
    const CellPlace stream = stream_cell(subject, at, row(), 0);
    out.part = RunPart{.site = stream.cell.stage == Stage::resid_mid        ? Site::resid_mid
                               : stream.cell.stage == Stage::final_residual ? Site::resid_post
                                                                            : Site::resid_pre,
                       .attention = stream.head.layer,
                       .row = row()};
    if (of_cosine) {
        out.operands_title = "The stream here · the stream at the end";
        explain_cosine(out, terms, cell_at(at), cell_at(end));
        return out;
    }
    out.f64 = std::sqrt(squares);
    out.formula = "√Σ_b x[b]²";
    out.operands_title = "The stream here, squared";
    add_terms(out, terms, cell_at(at), cell_at(at), {"x", "x"});
    note_step(out, "length", "√" + four(squares), out.f64, true);
    out.line("length", norm(out.left()));
    return out;
}

// ---- The parts of a logit -----------------------------------------------------------------------------

std::optional<Explained> LayersLens::explain_attribution(Subject& subject, const LensCell& cell) {
    const auto part = static_cast<std::size_t>(cell.at[0]);
    if (part >= parts()->shares().size()) return std::nullopt;
    const LogitShare& share = parts()->shares()[part];
    const Attention& text = stream_text(subject);
    Explained out = begin(subject, "Part of " + part_name(text, share) + " in the logit of " +
                                       vocabulary_.name(subject, token()));
    out.f32 = single(share.value);
    out.f64 = share.value;
    const std::span<const float> written = parts()->written(share);
    const std::span<const double> direction = parts()->direction(share);
    const HeadIndex head{share.number,
                         share.part == LogitPart::head ? share.head : subject.chosen_head().head};
    const auto at = [&](Stage stage, Index row, Index col) {
        return std::optional(CellPlace{head, {.stage = stage, .row = row, .col = col}});
    };
    if (written.empty()) {
        out.recomputed = false;
        out.formula = share.part == LogitPart::head_bias ? "bias of the token"
                      : share.part == LogitPart::activation_remainder
                          ? "Σ_i slope · (act(z[i]) − act′(z[i]) z[i])"
                          : "the biases of the head’s dense layer and its norm";
        note_step(out, "part", "", share.value, true,
                  share.part == LogitPart::head_bias ? at(Stage::b_head, 0, token()) : std::nullopt);
        if (share.part != LogitPart::head_bias)
            out.note =
                "This model’s head is not linear. Its activation is taken by its slope here, and what "
                "that leaves is a part of its own.";
        out.line("part", share.value);
        return out;
    }
    std::vector<Term> terms;
    out.f64 = 0;
    for (std::size_t i = 0; i < written.size(); ++i) {
        const auto b = static_cast<Index>(i);
        double along = share.part == LogitPart::head ? 0 : direction[i];
        if (share.part == LogitPart::head) {
            const WeightView& w_o = trace_->attention(share.number).half.attention_out.weight;
            for (std::size_t c = 0; c < direction.size(); ++c)
                along +=
                    direction[c] * element(w_o, share.head * std::ssize(written) + b, static_cast<Index>(c));
        }
        terms.push_back({b, static_cast<double>(written[i]), along});
        out.f64 += terms.back().product();
    }
    const auto written_at = [&](Index i) -> std::optional<CellPlace> {
        switch (share.part) {
            case LogitPart::token_embedding: return at(Stage::embedding, row(), i);
            case LogitPart::position_embedding: return at(Stage::position, row(), i);
            case LogitPart::segment_embedding: return at(Stage::segment, row(), i);
            case LogitPart::head: return at(Stage::output, row(), i);
            case LogitPart::attention_bias: return at(Stage::b_o, 0, i);
            case LogitPart::mlp: return at(Stage::mlp_output, row(), i);
            default: return std::nullopt;
        }
    };
    add_terms(out, terms, written_at, PlaceOf(), {"written", "direction"});
    const bool of_head = share.part == LogitPart::head;
    if (of_head || share.part == LogitPart::mlp)
        out.part = RunPart{of_head ? Site::head_output : Site::mlp_output, share.number,
                           of_head ? std::optional(share.head) : std::nullopt, row()};
    out.formula = of_head ? "Σ_b Output[b] · (W_O u)[b]" : "Σ_c written[c] · u[c]";
    out.operands_title = of_head ? "Output of the head · how far the logit grows with it"
                                 : "What is written · the direction that the logit reads";
    note_step(out, "part", "", out.f64, true);
    out.line("part", out.dot());
    out.note =
        "u is the token’s column of W_head, brought back through every norm on the way, each held at the "
        "mean and the deviation that it had.";
    return out;
}

std::optional<Explained> LayersLens::explain_token(Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<TokenMeasure>(cell.at[0]);
    const bool encoded = cell.kind == &layers_cells::encoder_token;
    const Index token = cell.at[1];
    const TokenShares* shares = measure == TokenMeasure::exact ? falls_so_far() : measured(measure);
    if (!shares) return std::nullopt;
    const std::vector<double>& values = encoded ? shares->encoded : shares->own;
    if (token >= std::ssize(values)) return std::nullopt;
    const bool waits = measure == TokenMeasure::exact && !measured(measure);
    if (waits && std::isnan(values[static_cast<std::size_t>(token)])) return std::nullopt;
    const Attention& text = encoded ? *encoder_text(subject) : stream_text(subject);
    static constexpr std::array names{"Directly, from ", "Rollout, from ", "Attention × gradient of ",
                                      "Without "};
    Explained out = begin(
        subject, names[static_cast<std::size_t>(measure)] + in_quotes(label_at(text.query_names(), token)));
    const auto j = static_cast<std::size_t>(token);
    out.f32 = single(values[j]);
    out.f64 = values[j];
    const auto add = [&](std::string name, double left, double right, std::optional<CellPlace> at = {}) {
        out.operands.push_back({std::move(name), left, right, left * right, at});
    };
    if (measure == TokenMeasure::exact) {
        const double value = taken_out_->value(), without = value - values[j];
        out.recomputed = false;
        out.formula = "run as it is − run in which no query sees the token’s key";
        const std::string name = vocabulary_.name(subject, this->token());
        note_step(out, "logit of " + name, "in the run as it is", value);
        note_step(out, "logit of " + name, "without the key", without);
        note_step(out, "falls by", "", out.f64, true);
        out.line("fall", Expression(value) - without);
        out.note = !encoded && trace_->network().causal && token > row()
                       ? "This position comes before the token, so nothing of it arrives here."
                       : "The key is hidden in every head of every layer, from its own query too; the other "
                         "keys share its weight. Its own stream goes on, which no other token reads.";
        return out;
    }
    const Layers numbering = stream_text(subject).numbering();
    const auto holds_keys = [&](Index number) {
        const AttentionKind kind = trace_->attention(number).place.kind;
        return (kind == AttentionKind::cross || kind == AttentionKind::encoder) == encoded;
    };
    if (measure == TokenMeasure::direct) {
        out.formula = "Σ_heads A[i, j] · (V[j] · W_O u)";
        out.operands_title = "Weight of each head on it · what its value adds to the logit";
        out.left_name = "weights", out.right_name = "values";
        out.f64 = 0;
        for (Index number = 0; number < trace_->attentions(); ++number) {
            const LayerAttention of = trace_->attention(number);
            if (!holds_keys(number) || of.place.kind == AttentionKind::encoder) continue;
            const Record& record = of.record();
            const auto d_v = static_cast<std::size_t>(record.d_v());
            for (Index head = 0; head < record.heads(); ++head) {
                const double weight = static_cast<double>(record.cell(Stage::weight, head, row(), token));
                if (weight == 0) continue;
                const float* v = record.v().heads().head(record.kv_head(head)).row(token);
                const auto slopes =
                    parts()->slopes(number).subspan(static_cast<std::size_t>(head) * d_v, d_v);
                double value = 0;
                for (std::size_t b = 0; b < d_v; ++b) value += slopes[b] * static_cast<double>(v[b]);
                add(numbering.short_head({number, head}), weight, value,
                    CellPlace{{number, head}, {.stage = Stage::weight, .row = row(), .col = token}});
                out.f64 += weight * value;
            }
        }
        out.line("direct", out.operands.empty() ? Expression(0) : out.dot());
        out.note =
            "What the heads read of it at this position, added up. What other positions read of it first, "
            "and what the MLPs make of it, is in other parts.";
        return out;
    }
    if (measure == TokenMeasure::rollout) {
        out.formula = "row i of Â_L ⋯ Â_1, where Â = ½ I + ½ mean over heads of A";
        out.note =
            "How much of this token arrives if every attention hands on half of what it has and half of "
            "what it mixes (Abnar & Zuidema 2020). It knows no values and no signs.";
        const LayerAttention of = trace_->attention(0);
        if (trace_->encoder() && !encoded) {
            out.recomputed = false;
            note_step(out, "share", "", out.f64, true);
            out.line("share", out.f64);
            return out;
        }
        out.operands_title = "What arrives above " + numbering.name(0) + " · its row of Â";
        out.left_name = "above", out.right_name = "mixed";
        out.f64 = 0;
        const Record& record = of.record();
        for (Index query = 0; query < record.queries(); ++query) {
            const double above = rollout_->before_first()[static_cast<std::size_t>(query)];
            if (above == 0) continue;
            double mean = 0;
            for (Index head = 0; head < record.heads(); ++head)
                mean += static_cast<double>(record.cell(Stage::weight, head, query, token)) /
                        static_cast<double>(record.heads());
            const double mixed = ((query == token ? 1 : 0) + mean) / 2;
            if (mixed == 0) continue;
            add(label_at(text.query_names(), query), above, mixed);
            out.f64 += above * mixed;
        }
        out.line("share", out.operands.empty() ? Expression(0) : out.dot());
        return out;
    }
    out.formula = "Σ max(A · ∂L/∂A, 0), over heads and queries, / Σ of all tokens";
    out.operands_title = "Of each attention · 1 / the sum of all tokens";
    out.left_name = "positive", out.right_name = "shares";
    out.f64 = 0;
    const double total = gradient_->total();
    for (Index number = 0; number < trace_->attentions(); ++number) {
        if (!holds_keys(number)) continue;
        const double positive = gradient_->keys_of(number)[j], share = total > 0 ? 1 / total : 0;
        add(numbering.name(number), positive, share);
        out.f64 += positive * share;
    }
    out.line("share", out.dot());
    out.note = "L is the logit. Weights that would lower it if they grew count 0 (Barkan et al. 2021).";
    return out;
}

}  // namespace attn::app
