// Explains the numbers of lens Order.
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/order/order.hpp"
#include "subjects/explain.hpp"

namespace attn::app::order {

namespace {

using From = UnplacedRows::From;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double f32_output(const PlacedRun& run, Index place, Index component) {
    return static_cast<double>(run.record.output().heads().head(0)(place, component));
}

std::string name_of(const Tokens& tokens, Index token) { return in_quotes(tokens.name(token)); }

// ---- Places -----------------------------------------------------------------------------------------------

CellPlace place_of(const Model& model, const CellRef& cell) { return {model.seen.head, cell}; }

// Where the subject has the components of a token's q, k or v without its position.
PlaceOf content_places(const Model& model, Stage stage, Index token) {
    if (model.content->from() == From::embedding) return [](Index) { return std::nullopt; };
    const Index row = (stage == Stage::q ? model.queries : model.keys).in_view.begin + token;
    if (model.content->from() == From::unturned && stage != Stage::v)
        stage = stage == Stage::q ? Stage::q_pre_rope : Stage::k_pre_rope;
    return [places = Places{model.seen.head}, stage, row](Index component) {
        return places(stage, row, component);
    };
}

// The same at a position, if the subject has them at that position, too.
PlaceOf placed_places(const Model& model, const PositionRule& rule, Stage stage, Index token,
                      Index position) {
    const UnplacedRows& content = *model.content;
    const bool placed = is_placed(rule.scheme) && (stage != Stage::v || content.is_own_table(rule));
    if (!placed) return content_places(model, stage, token);
    const Index own = (stage == Stage::q ? model.queries : model.keys).in_view.begin + token;
    const bool as_the_model = rule.scheme == PositionScheme::learned
                                  ? content.own_table() && !content.has_padding()
                              : rule.scheme == PositionScheme::rotary
                                  ? content.own_frequencies() && rule.interleaved == content.interleaved()
                                  : false;
    if (!as_the_model || position != own) return [](Index) { return std::nullopt; };
    return [places = Places{model.seen.head}, stage, own](Index component) {
        return places(stage, own, component);
    };
}

// Says whether a token's weights before the move are those of the head itself, which may see keys out of
// view.
bool has_own_weights(const Model& model, Index token) {
    const UnplacedRows& content = *model.content;
    const PositionScheme own = content.from() == From::unturned    ? PositionScheme::rotary
                               : content.from() == From::embedding ? PositionScheme::learned
                               : content.from() == From::biased    ? PositionScheme::own_buckets
                                                                   : PositionScheme::none;
    if (model.state.scheme != own ||
        (own == PositionScheme::rotary && model.state.interleaved != content.interleaved()))
        return false;
    if (content.has_mask() && !model.state.masked) return false;
    const Record& record = content.record();
    for (Index key = 0; key < record.keys(); ++key)
        if (!model.keys.in_view.holds(key) &&
            record.spec().mask.allows(model.seen.head.head, model.queries.in_view.begin + token, key))
            return false;
    return true;
}

// ---- Outputs ----------------------------------------------------------------------------------------------

std::optional<Explained> explain_output(Model& model, Subject&, const LensCell& cell) {
    const bool after = static_cast<TokenOrder>(cell.at[0]) == TokenOrder::permuted;
    const Index token = cell.at[1], component = cell.at[2];
    const Reordering* shown = model.run();
    if (!shown || token >= model.queries.size() || component >= model.content->d_v()) return std::nullopt;
    const PlacedRun& run = after ? shown->after : shown->before;
    const Index place = model.queries.place_of(token), row = after ? place : token;
    const std::string column = std::to_string(component);
    Explained out{.title = "Output[" + name_of(model.queries, token) + ", " + column + "]" +
                           (after ? " in this order" : " before"),
                  .provenance = std::string(scheme_name(model.state.scheme)) +
                                (model.state.masked ? " · under the head’s mask" : " · without a mask") +
                                " · computed",
                  .f32 = f32_output(run, row, component),
                  .formula = "Σ_j A[" + model.queries.name(token) + ", j] · V[j, " + column + "]",
                  .operands_title = "Weights · values, key by key"};
    const PositionRule rule = model.rule(model.state.scheme);
    const bool own_weights = !after && has_own_weights(model, token);
    for (Index j = 0; j < model.keys.size(); ++j) {
        const Index key = after ? model.keys.token_at(j) : j;
        const auto weight_at =
            after ? std::optional(place_of(model, cells::score(row, j)))
            : own_weights
                ? std::optional(Places{model.seen.head}(Stage::weight, model.queries.in_view.begin + token,
                                                        model.keys.in_view.begin + key))
                : std::nullopt;
        out.term(name_of(model.keys, key), run.weight(row, j),
                 static_cast<double>(run.record.v().heads().head(0)(j, component)), weight_at,
                 placed_places(model, rule, Stage::v, key, model.keys.position(j))(component));
    }
    out.line("output", out.dot("weights", "values"));
    out.beside(after ? "before" : "in this order",
               after ? shown->before.output(token, component) : shown->after.output(place, component), "",
               place_of(model, cells::output(!after, token, component)));
    return out;
}

// Adds |after − before|, the difference where it is largest.
void add_difference(Explained& out, std::string name, double after, double before,
                    std::optional<CellPlace> after_at, std::optional<CellPlace> before_at) {
    out.sign = "−";
    out.operands.push_back({std::move(name), after, before, after - before, after_at, before_at});
    const Expression is = out.sum("a"), was = sum(out.right());
    out.line("off", max(is - was, was - is));
}

std::optional<Explained> explain_change(const Model& model, PositionScheme scheme, Index token) {
    const Reordering* shown = model.run(scheme);
    const Index d_v = model.content->d_v(), place = model.queries.place_of(token);
    if (!shown || d_v == 0) return std::nullopt;
    const auto off = [&](Index b) {
        return std::abs(f32_output(shown->after, place, b) - f32_output(shown->before, token, b));
    };
    Index most = 0;  // the component with the largest difference
    for (Index b = 1; b < d_v; ++b)
        if (off(b) > off(most)) most = b;
    const auto at_place = [&](TokenOrder order) {
        return scheme == model.state.scheme
                   ? std::optional(place_of(model, cells::output(order, token, most)))
                   : std::nullopt;
    };
    Explained out{
        .title = "How far the output of " + name_of(model.queries, token) + " is from before",
        .provenance = std::string(scheme_name(scheme)) + " · the largest of " + many(d_v, "component"),
        .f32 = off(most),
        .formula = "max_b |O in this order[b] − O before[b]|",
        .operands_title = "Where it is largest: in this order − before",
        .note = "Rounding alone may make up to " + fixed(reorder_rounding(shown->after), 1) +
                " in f32, since the same terms are added up in another order."};
    add_difference(out, "component " + std::to_string(most), shown->after.output(place, most),
                   shown->before.output(token, most), at_place(TokenOrder::permuted),
                   at_place(TokenOrder::original));
    return out;
}

std::optional<Explained> explain_output_change(Model& model, Subject&, const LensCell& cell) {
    const Index token = cell.at[0];
    return token < model.queries.size() ? explain_change(model, model.state.scheme, token) : std::nullopt;
}

std::optional<Explained> explain_largest_change(Model& model, Subject&, const LensCell& cell) {
    const auto scheme = static_cast<PositionScheme>(cell.at[0]);
    if (!model.run(scheme)) return std::nullopt;
    const auto& off = model.run(scheme)->carried.f32;
    return explain_change(model, scheme, std::ranges::max_element(off) - off.begin());
}

// ---- A shift of all positions -----------------------------------------------------------------------------

std::string shift_note(PositionScheme scheme) {
    switch (scheme) {
        case PositionScheme::none: return "No position enters these scores.";
        case PositionScheme::learned:
        case PositionScheme::sinusoidal:
            return "What is added to q and k belongs to the position itself, so a shift changes it.";
        case PositionScheme::rotary:
            return "R(m)q · R(n)k = q · R(n − m)k: only the distance counts. What is left is the rounding of "
                   "the cosines and sines.";
        case PositionScheme::alibi:
        case PositionScheme::buckets:
        case PositionScheme::own_buckets: break;
    }
    return "The number that is added depends on whole distances alone, which a shift keeps exactly.";
}

std::optional<Explained> explain_shift(Model& model, Subject&, const LensCell& cell) {
    const auto scheme = static_cast<PositionScheme>(cell.at[0]);
    const Reordering* shown = model.run(scheme);
    if (!shown || !shown->change) return std::nullopt;
    const ScoreChange& change = *shown->change;
    const Index n_k = model.keys.size();
    Explained out{.provenance = std::string(scheme_name(scheme)) + " · all positions shifted by " +
                                with_commas(model.state.shift),
                  .recomputed = false,
                  .note = shift_note(scheme)};
    if (cell.kind == &cells::equal_scores) {
        out.title = "Scores that the shift leaves equal to the last bit";
        out.f32 = out.f64 = static_cast<double>(change.equal);
        out.steps = {{"equal in all 32 bits", "", std::to_string(change.equal), true},
                     {"of", std::to_string(model.queries.size()) + " × " + std::to_string(n_k),
                      std::to_string(change.all)}};
        return out;
    }
    const bool in_f32 = static_cast<Precision>(cell.at[1]) == Precision::f32;
    const Index most = in_f32 ? change.f32_cell : change.f64_cell, query = most / n_k, key = most % n_k;
    const auto score = [&](const PlacedRun& run) {
        return in_f32 ? static_cast<double>(scores_of(run)[at(most)]) : run.score(query, key);
    };
    out.title = std::string("The largest change of a score, in ") + (in_f32 ? "f32" : "double precision");
    out.f32 = change.f32;
    out.recomputed = !in_f32;
    out.formula = "max_ij |S shifted − S|";
    out.operands_title = "Where it is largest: shifted − before";
    add_difference(out,
                   name_of(model.queries, model.queries.token_at(query)) + " → " +
                       name_of(model.keys, model.keys.token_at(key)),
                   score(*shown->shifted), score(shown->after), std::nullopt,
                   scheme == model.state.scheme ? std::optional(place_of(model, cells::score(query, key)))
                                                : std::nullopt);
    return out;
}

// ---- Scores -----------------------------------------------------------------------------------------------

// A query and a key at their positions under a scheme.
struct PlacedPair {
    PositionRule rule;
    std::vector<double> q, k;
    Index query_position, key_position;
};

// Adds the components of q and k, and the chain to the score for the softmax.
void add_score(Explained& out, const UnplacedRows& content, const PlacedPair& pair,
               const PlaceOf& q_at = nullptr, const PlaceOf& k_at = nullptr) {
    const PositionRule& rule = pair.rule;
    for (Index a = 0; a < std::ssize(pair.q); ++a)
        out.term(std::to_string(a), pair.q[at(a)], pair.k[at(a)], q_at ? q_at(a) : std::nullopt,
                 k_at ? k_at(a) : std::nullopt);
    const Expression raw = out.step("score", out.dot("q", "k"));
    Expression score = out.step("scaled", raw * content.record().scale());
    if (const double cap = content.record().spec().softcap; cap > 0)
        score = out.step("capped", cap * tanh(score / cap));
    const Index p = pair.query_position, r = pair.key_position;
    if (rule.scheme == PositionScheme::alibi) {
        const Expression bias =
            out.step("position", Expression(-rule.slope) * static_cast<double>(std::abs(p - r)));
        out.step("with position", score + bias);
    } else if (has_buckets(rule.scheme)) {
        const std::string from = rule.scheme == PositionScheme::own_buckets
                                     ? " of " + content.own_bias()->name
                                     : ", seed " + std::to_string(rule.seed);
        const Expression bias =
            out.step("position", position_bias(rule, p, r),
                     "bucket " + std::to_string(relative_bucket(rule.buckets, p, r)) + from);
        out.step("with position", score + bias);
    }
}

std::optional<Explained> explain_score(Model& model, Subject&, const LensCell& cell) {
    const Index query_place = cell.at[0], key_place = cell.at[1];
    const Reordering* shown = model.run();
    if (!shown || query_place >= model.queries.size() || key_place >= model.keys.size()) return std::nullopt;
    const PlacedRun& run = shown->after;
    const UnplacedRows& content = *model.content;
    const PositionRule rule = model.rule(model.state.scheme);
    const Index query = model.queries.token_at(query_place), key = model.keys.token_at(key_place),
                p = model.queries.position(query_place), r = model.keys.position(key_place);
    const bool moved = is_placed(rule.scheme);
    Explained out{.title = "Score[" + name_of(model.queries, query) + " at " + std::to_string(p) + ", " +
                           name_of(model.keys, key) + " at " + std::to_string(r) + "]",
                  .provenance = std::string(scheme_name(model.state.scheme)) + " · in this order · computed",
                  .masked = !run.record.spec().mask.allows(0, query_place, key_place),
                  .f32 = static_cast<double>(scores_of(run)[at(query_place * run.keys() + key_place)]),
                  .formula = rule.scheme == PositionScheme::alibi ? "scale · q · k − m · |distance|"
                             : has_buckets(rule.scheme)           ? "scale · q · k + b[bucket]"
                             : moved                              ? "scale · q′ · k′, at their positions"
                                                                  : "scale · q · k",
                  .operands_title = moved ? "q′ · k′, at their positions" : "q · k"};
    add_score(out, content,
              {rule, content.row_in(rule, Stage::q, model.queries.order, query_place),
               content.row_in(rule, Stage::k, model.keys.order, key_place), p, r},
              placed_places(model, rule, Stage::q, query, p), placed_places(model, rule, Stage::k, key, r));
    out.beside("weight", run.weight(query_place, key_place),
               out.masked ? "the mask forbids it" : "after softmax");
    return out;
}

std::optional<Explained> explain_distance(Model& model, Subject&, const LensCell& cell) {
    const auto scheme = static_cast<PositionScheme>(cell.at[0]);
    const Index distance = cell.at[1];
    const UnplacedRows& content = *model.content;
    const PositionRule rule = model.rule(scheme);
    if (distance > model.state.reach || !content.reaches(rule, distance)) return std::nullopt;
    const CurvePair of = model.curves_of().pair;
    const PlacedPair pair{rule, content.row_at(rule, Stage::q, of.query, distance),
                          content.row_at(rule, Stage::k, of.key, 0), distance, 0};
    float dot = 0;
    for (std::size_t a = 0; a < pair.q.size(); ++a)
        dot += static_cast<float>(pair.q[a]) * static_cast<float>(pair.k[a]);
    Explained out{.title = std::string(scheme_name(scheme)) + " at distance " + std::to_string(distance),
                  .provenance = of.query
                                    ? name_of(model.queries, *of.query) + " at " + std::to_string(distance) +
                                          ", " + name_of(model.keys, *of.key) + " at 0"
                                    : "mean q at " + std::to_string(distance) + ", mean k at 0",
                  .f32 = single(content.score(static_cast<double>(dot), position_bias(rule, distance, 0))),
                  .formula = "scale · q′ · k′ + what the scheme adds",
                  .operands_title = "q′ · k′"};
    add_score(out, content, pair);
    if (scheme == PositionScheme::learned && !content.own_table())
        out.note = "Rows of a table that was drawn from seed " + std::to_string(rule.seed) +
                   " (standard normal), added to q and k.";
    if (has_buckets(scheme))
        out.note =
            "Bucket " + std::to_string(relative_bucket(rule.buckets, distance, 0)) +
            (scheme == PositionScheme::buckets
                 ? "; its number was drawn from seed " + std::to_string(rule.seed) + " (standard normal)."
                 : " of " + content.own_bias()->name + ", the model’s own number for this head.");
    return out;
}

// ---- RoPE -------------------------------------------------------------------------------------------------

// What a pair adds to q · k if it is rotated by the kernels.
float pair_in_f32(const Model& model, const PositionRule& rule, PairPlace pair, const std::vector<double>& q,
                  const std::vector<double>& k) {
    const auto rotated = [&](const std::vector<double>& row, Index position) {
        Tensor one({1, std::ssize(row)});
        for (Index a = 0; a < std::ssize(row); ++a) one.matrix()(0, a) = static_cast<float>(row[at(a)]);
        attn::place(model.content->record().kernels(), rule, std::array{position}, one.matrix());
        return one;
    };
    const Tensor q32 = rotated(q, model.query_position()), k32 = rotated(k, model.key_position());
    float product = 0;
    for (const Index a : {pair.first, pair.second}) product += q32.matrix()(0, a) * k32.matrix()(0, a);
    return product;
}

std::optional<Explained> explain_pair(Model& model, Subject&, const LensCell& cell) {
    const Index pair = cell.at[0];
    const UnplacedRows& content = *model.content;
    if (pair >= std::ssize(content.frequencies())) return std::nullopt;
    const PositionRule rule = model.rule(PositionScheme::rotary);
    const Index query = model.queries.chosen, key = model.keys.chosen, p = model.query_position(),
                r = model.key_position();
    const std::vector<double> q = content.row(Stage::q, query), k = content.row(Stage::k, key),
                              turned_q = placed(rule, q, p), turned_k = placed(rule, k, r);
    const PairRotation turn = pair_rotation(rule, pair, q, p, k, r);
    const PairPlace components = pair_place(rule, pair);
    const double frequency = rule.frequencies[at(pair)];
    Explained out{.title = "Pair " + std::to_string(pair) + ": what it adds to q · k",
                  .provenance = "RoPE · " + name_of(model.queries, query) + " at " + with_commas(p) + ", " +
                                name_of(model.keys, key) + " at " + with_commas(r),
                  .f32 = static_cast<double>(pair_in_f32(model, rule, components, q, k)),
                  .formula = "|q| |k| cos(φ_q − φ_k), φ = angle + position · θ",
                  .operands_title = "Turned q · turned k, its two components",
                  .note = "A step of one position turns this hand by " +
                          fixed(frequency * 180 / std::numbers::pi, 3) + "°. The pairs add up to q · k."};
    const PlaceOf q_at = placed_places(model, rule, Stage::q, query, p),
                  k_at = placed_places(model, rule, Stage::k, key, r);
    for (const Index a : {components.first, components.second}) {
        out.term(std::to_string(a), turned_q[at(a)], turned_k[at(a)], q_at(a), k_at(a));
        const std::string of = "[" + std::to_string(a) + "]";
        out.beside("q" + of, q[at(a)], "before it is turned", content_places(model, Stage::q, query)(a));
        out.beside("k" + of, k[at(a)], "before it is turned", content_places(model, Stage::k, key)(a));
    }
    out.beside("θ", frequency, content.own_frequencies() ? "the model’s own" : "10,000^(−2a/d)");
    out.beside("a full turn", wavelength(frequency), "2π / θ, in positions");
    const auto degrees = [](double angle) {
        return fixed(std::remainder(angle, 2 * std::numbers::pi) * 180 / std::numbers::pi, 1) + "°";
    };
    out.steps.insert(out.steps.end(), {{"φ_q", "", degrees(turn.q_angle)},
                                       {"φ_k", "", degrees(turn.k_angle)},
                                       {"between them", "", degrees(turn.q_angle - turn.k_angle)}});
    out.step("pair", out.dot("q", "k"), four(turn.q_length) + " × " + four(turn.k_length) + " × cos");
    return out;
}

std::optional<Explained> explain_extrapolated(Model& model, Subject&, const LensCell& cell) {
    const auto scaling = at(cell.at[0]);
    const Index bin = cell.at[1], factor = model.state.factor;
    const LengthCurves& curves = model.curves().lengths;
    if (bin >= curves.bins_done()) return std::nullopt;
    const Index first = curves.first_distance(bin), count = curves.samples();
    Explained out{.title = std::string(scaling_names[scaling]) + ", distances from " + with_commas(first),
                  .provenance = "mean over " + many(count, "distance") + " · trained on " +
                                with_commas(model.trained()) + ", " + std::to_string(factor) +
                                " times as long",
                  .formula = "mean of scale · Σ pairs |q| |k| cos(φ + distance · θ)",
                  .operands_title = "Scores at these distances · 1/" + std::to_string(count)};
    for (Index distance = first; distance < first + count; ++distance)
        out.term(std::to_string(distance), curves.score(scaling, distance), 1 / static_cast<double>(count));
    out.beside("lowest", curves.bin(scaling, bin).low);
    out.step("mean", out.dot("scores", "shares"));
    out.beside("highest", curves.bin(scaling, bin).high);
    out.f32 = single(out.f64);
    if (const double m = rotary_magnitude(length_scaling(scaling, model.trained(), factor)); m != 1)
        out.note = "YaRN multiplies q and k by 0.1 ln " + std::to_string(factor) + " + 1 = " + four(m) +
                   ", so scores by " + four(m * m) + ".";
    return out;
}

std::optional<Explained> explain_wavelength(Model& model, Subject&, const LensCell& cell) {
    const auto scaling = at(cell.at[0]);
    const Index pair = cell.at[1];
    if (pair >= std::ssize(model.content->frequencies())) return std::nullopt;
    const LengthCurves& curves = model.curves().lengths;
    const double frequency = curves.frequencies(scaling)[at(pair)], plain = curves.frequencies(0)[at(pair)],
                 trained = static_cast<double>(model.trained());
    Explained out{.title = "Wavelength of pair " + std::to_string(pair) + ", " + scaling_names[scaling],
                  .provenance = "base " + with_commas(static_cast<std::int64_t>(model.content->base())) +
                                " · trained on " + with_commas(model.trained()),
                  .unit = "tokens",
                  .formula = "2π / θ"};
    out.beside("plain θ", plain, "base^(−2a/d)");
    out.beside("θ", frequency, "÷ " + four(plain / frequency));
    out.step("a full turn", Expression(2 * std::numbers::pi) / frequency, "2π / θ, in positions");
    out.f32 = single(out.f64);
    out.note = out.f64 > trained
                   ? "It never came round within the trained length."
                   : "It came round " + fixed(trained / out.f64, 1) + " times within the trained length.";
    return out;
}

constexpr std::array<ModelNumber<Model>, 10> declared{{
    {&cells::output, explain_output},
    {&cells::output_change, explain_output_change},
    {&cells::largest_output_change, explain_largest_change},
    {&cells::equal_scores, explain_shift},
    {&cells::largest_score_change, explain_shift},
    {&cells::score, explain_score},
    {&cells::rotary_pair, explain_pair},
    {&cells::score_at_distance, explain_distance},
    {&cells::extrapolated_score, explain_extrapolated},
    {&cells::wavelength, explain_wavelength},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return refused.empty() ? explain_by(declared, *this, subject, cell) : std::nullopt;
}

}  // namespace attn::app::order
