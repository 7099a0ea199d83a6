// Explains the numbers of lens Order.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "app/format.hpp"
#include "lenses/order/order.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double f32_output(const PlacedRun& run, Index place, Index component) {
    return static_cast<double>(run.record.output().heads().head(0)(place, component));
}

// |a − b| as an expression of the only operand.
void add_difference(Explained& out) {
    out.left_name = "a";
    out.right_name = "b";
    out.line("off", max(out.sum() - sum(out.right()), sum(out.right()) - out.sum()));
}

}  // namespace

// Returns where a component of the content is in the subject.
std::optional<CellPlace> OrderLens::content_place(Stage stage, Index token, Index component) const {
    using From = OrderContent::From;
    if (content_->from() == From::embedding) return std::nullopt;
    if (content_->from() == From::unturned && stage != Stage::v)
        stage = stage == Stage::q ? Stage::q_pre_rope : Stage::k_pre_rope;
    const bool of_query = stage == Stage::q || stage == Stage::q_pre_rope;
    const Range in_view = of_query ? content_->queries() : content_->keys();
    return Places{content_->head()}(stage, in_view.begin + token, component);
}

// Returns where a component of q, k or v at a position is, if the subject has it at that position, too.
std::optional<CellPlace> OrderLens::placed_place(const PositionRule& rule, Stage stage, Index token,
                                                 Index component, Index position) const {
    if (stage == Stage::v && !is_own_table(*content_, rule)) return content_place(stage, token, component);
    switch (rule.scheme) {
        case PositionScheme::none:
        case PositionScheme::alibi:
        case PositionScheme::buckets:
        case PositionScheme::own_buckets: return content_place(stage, token, component);
        case PositionScheme::sinusoidal: return std::nullopt;
        case PositionScheme::learned:
        case PositionScheme::rotary: break;
    }
    const Index own = (stage == Stage::q ? content_->queries() : content_->keys()).begin + token;
    const bool as_the_model =
        rule.scheme == PositionScheme::learned
            ? content_->own_table() && !content_->has_padding()
            : content_->own_frequencies() && rule.interleaved == content_->interleaved();
    return as_the_model && position == own ? std::optional(Places{content_->head()}(stage, own, component))
                                           : std::nullopt;
}

// Says whether a token's weights before the move are those of the head itself, which may see keys out of
// view.
bool OrderLens::has_own_weights(Index token) const {
    using From = OrderContent::From;
    const Record& record = *content_->record();
    const PositionScheme own = content_->from() == From::unturned    ? PositionScheme::rotary
                               : content_->from() == From::embedding ? PositionScheme::learned
                               : content_->from() == From::biased    ? PositionScheme::own_buckets
                                                                     : PositionScheme::none;
    if (now().scheme != own ||
        (own == PositionScheme::rotary && now().interleaved != content_->interleaved()))
        return false;
    if (content_->has_mask() && !now().masked) return false;
    const Range seen = content_->keys();
    for (Index key = 0; key < record.keys(); ++key)
        if ((key < seen.begin || key >= seen.end) &&
            record.spec().mask.allows(content_->head().head, content_->queries().begin + token, key))
            return false;
    return true;
}

std::optional<Explained> OrderLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention() || !content(subject)) return std::nullopt;
    return explain_by(declared, *this, subject, place.cell.own);
}

const std::array<LensNumber<OrderLens>, 10> OrderLens::declared{{
    {&order_cells::output, &OrderLens::explain_output},
    {&order_cells::output_change, &OrderLens::explain_output_change},
    {&order_cells::largest_output_change, &OrderLens::explain_largest_change},
    {&order_cells::equal_scores, &OrderLens::explain_shift},
    {&order_cells::largest_score_change, &OrderLens::explain_shift},
    {&order_cells::score, &OrderLens::explain_score},
    {&order_cells::rotary_pair, &OrderLens::explain_pair},
    {&order_cells::score_at_distance, &OrderLens::explain_distance},
    {&order_cells::extrapolated_score, &OrderLens::explain_extrapolated},
    {&order_cells::wavelength, &OrderLens::explain_wavelength},
}};

CellKinds order_numbers() { return kinds_of(OrderLens::declared); }

// Rows 0, 1, 7 and 11 were indices over components, keys and pairs, whose numbers the link does not contain.
std::optional<CellRef> packed_order_cell(Index row, Index col) {
    using namespace order_cells;
    const auto within = [](const CellRef& cell) {
        return cell.own.is_within() ? std::optional(cell) : std::nullopt;
    };
    switch (row) {
        case 2: return output_change(col);
        case 3: return within(largest_output_change(col));
        case 4: return within(equal_scores(col));
        case 5: return within(largest_score_change(col, Precision::f32));
        case 6: return within(largest_score_change(col, Precision::f64));
        case 8: return rotary_pair(col);
        case 9: return within(score_at_distance(col / 513, col % 513));
        case 10: return within(extrapolated_score(col / 96, col % 96));
        default: return std::nullopt;
    }
}

std::optional<Explained> OrderLens::explain_output(Subject&, const LensCell& cell) {
    const bool after = static_cast<TokenOrder>(cell.at[0]) == TokenOrder::permuted;
    const Index token = cell.at[1], component = cell.at[2];
    if (token >= content_->queries().size() || component >= content_->d_v()) return std::nullopt;
    const Runs* shown = runs(now().scheme);
    if (!shown) return std::nullopt;
    const PlacedRun& run = after ? shown->after : shown->before;
    const Index row = after ? place_of(token) : token, n_k = content_->keys().size(), d_v = content_->d_v();
    Explained out;
    out.title = "Output[" + in_quotes(name(token)) + ", " + std::to_string(component) + "]" +
                (after ? " in this order" : " before");
    out.provenance = std::string(scheme_name(now().scheme)) +
                     (now().masked ? " · under the head’s mask" : " · without a mask") + " · computed";
    out.f32 = f32_output(run, row, component);
    out.f64 = run.outputs[at(row * d_v + component)];
    out.formula = "Σ_j A[" + name(token) + ", j] · V[j, " + std::to_string(component) + "]";
    out.operands_title = "Weights · values, key by key";
    out.left_name = "weights";
    out.right_name = "values";
    const PositionRule rule = rule_of(now().scheme);
    const Index first = content_->queries().begin, first_key = content_->keys().begin;
    const bool own_weights = !after && has_own_weights(token);
    for (Index j = 0; j < n_k; ++j) {
        const Index key = after ? key_order_[at(j)] : j;
        const double weight = run.weights[at(row * n_k + j)],
                     value = static_cast<double>(run.record.v().heads().head(0)(j, component));
        std::optional<CellPlace> weight_at;
        if (after)
            weight_at = place(order_cells::score(row, j));
        else if (own_weights)
            weight_at = Places{content_->head()}(Stage::weight, first + token, first_key + key);
        out.operands.push_back({in_quotes(key_name(key)), weight, value, weight * value, weight_at,
                                placed_place(rule, Stage::v, key, component, content_->key_position(j))});
    }
    out.line("output", out.dot());
    const Index other = token * d_v + component;
    out.steps.push_back({after ? "before" : "in this order", "",
                         four(after ? shown->before.outputs[at(other)]
                                    : shown->after.outputs[at(place_of(token) * d_v + component)]),
                         false, place(order_cells::output(!after, token, component))});
    return out;
}

std::optional<Explained> OrderLens::explain_output_change(Subject&, const LensCell& cell) {
    const Index token = cell.at[0];
    return token < content_->queries().size() ? explain_change(now().scheme, token) : std::nullopt;
}

std::optional<Explained> OrderLens::explain_largest_change(Subject&, const LensCell& cell) {
    const auto scheme = static_cast<PositionScheme>(cell.at[0]);
    if (!runs(scheme)) return std::nullopt;
    const auto& off = runs(scheme)->carried.f32;
    return explain_change(scheme, std::ranges::max_element(off) - off.begin());
}

std::optional<Explained> OrderLens::explain_change(PositionScheme scheme, Index token) const {
    const Runs* shown = runs(scheme);
    const Index d_v = content_->d_v(), row = place_of(token);
    if (!shown || d_v == 0) return std::nullopt;
    // The component with the largest difference.
    Index most = 0;
    const auto off = [&](Index b) {
        return std::abs(f32_output(shown->after, row, b) - f32_output(shown->before, token, b));
    };
    for (Index b = 1; b < d_v; ++b)
        if (off(b) > off(most)) most = b;
    const double after = shown->after.outputs[at(row * d_v + most)],
                 before = shown->before.outputs[at(token * d_v + most)];
    const bool in_view = scheme == now().scheme;
    const auto at_place = [&](TokenOrder order) {
        return in_view ? std::optional(place(order_cells::output(order, token, most))) : std::nullopt;
    };
    Explained out;
    out.title = "How far the output of " + in_quotes(name(token)) + " is from before";
    out.provenance = std::string(scheme_name(scheme)) + " · the largest of " + many(d_v, "component");
    out.f32 = off(most);
    out.f64 = std::abs(after - before);
    out.formula = "max_b |O in this order[b] − O before[b]|";
    out.operands_title = "Where it is largest: in this order − before";
    out.sign = "−";
    out.operands.push_back({"component " + std::to_string(most), after, before, after - before,
                            at_place(TokenOrder::permuted), at_place(TokenOrder::original)});
    add_difference(out);
    out.note = "Rounding alone may make up to " + fixed(reorder_rounding(shown->after), 1) +
               " in f32, since the same terms are added up in another order.";
    return out;
}

std::optional<Explained> OrderLens::explain_shift(Subject&, const LensCell& cell) {
    const auto scheme = static_cast<PositionScheme>(cell.at[0]);
    const Runs* shown = runs(scheme);
    if (!shown || !shown->change) return std::nullopt;
    const ScoreChange& change = *shown->change;
    const Index n = content_->queries().size(), n_k = content_->keys().size();
    const std::string by = with_commas(now().shift), called(scheme_name(scheme));
    Explained out;
    out.provenance = called + " · all positions shifted by " + by;
    if (cell.kind == &order_cells::equal_scores) {
        out.title = "Scores that the shift leaves equal to the last bit";
        out.f32 = out.f64 = static_cast<double>(change.equal);
        out.recomputed = false;
        out.steps = {{"equal in all 32 bits", "", std::to_string(change.equal), true},
                     {"of", std::to_string(n) + " × " + std::to_string(n_k), std::to_string(change.all)}};
    } else {
        const bool single = static_cast<Precision>(cell.at[1]) == Precision::f32;
        const Index most = single ? change.f32_cell : change.f64_cell;
        const auto score = [&](const PlacedRun& run) {
            return single ? static_cast<double>(scores_of(run)[at(most)]) : run.scores[at(most)];
        };
        const double after = score(*shown->shifted), before = score(shown->after);
        out.title = std::string("The largest change of a score, in ") + (single ? "f32" : "double precision");
        out.f32 = change.f32;
        out.f64 = std::abs(after - before);
        out.recomputed = !single;
        out.formula = "max_ij |S shifted − S|";
        out.operands_title = "Where it is largest: shifted − before";
        out.sign = "−";
        out.operands.push_back({in_quotes(name(order_[at(most / n_k)])) + " → " +
                                    in_quotes(key_name(key_order_[at(most % n_k)])),
                                after, before, after - before, std::nullopt,
                                scheme == now().scheme
                                    ? std::optional(place(order_cells::score(most / n_k, most % n_k)))
                                    : std::nullopt});
        add_difference(out);
    }
    switch (scheme) {
        case PositionScheme::none: out.note = "No position enters these scores."; break;
        case PositionScheme::learned:
        case PositionScheme::sinusoidal:
            out.note = "What is added to q and k belongs to the position itself, so a shift changes it.";
            break;
        case PositionScheme::rotary:
            out.note =
                "R(m)q · R(n)k = q · R(n − m)k: only the distance counts. What is left is the rounding of "
                "the "
                "cosines and sines.";
            break;
        case PositionScheme::alibi:
        case PositionScheme::buckets:
        case PositionScheme::own_buckets:
            out.note =
                "The number that is added depends on whole distances alone, which a shift keeps exactly.";
            break;
    }
    return out;
}

std::optional<Explained> OrderLens::explain_score(Subject&, const LensCell& cell) {
    const Index query_place = cell.at[0], key_place = cell.at[1];
    const Runs* shown = runs(now().scheme);
    if (!shown || query_place >= content_->queries().size() || key_place >= content_->keys().size())
        return std::nullopt;
    const PlacedRun& run = shown->after;
    const PositionRule rule = rule_of(now().scheme);
    const bool own_table = is_own_table(*content_, rule);
    const Index n_k = content_->keys().size(), query = order_[at(query_place)],
                key = key_order_[at(key_place)], first = content_->queries().begin,
                p = content_->query_position(query_place), r = content_->key_position(key_place);
    const std::vector<Index> counted =
        own_table ? content_->counted(order_, query_positions()) : std::vector<Index>();
    const auto row = [&](Stage stage, Index token, Index position) {
        return own_table ? content_->at_own_position(stage, token, counted[at(position - first)])
                         : placed(rule, content_row(*content_, stage, token), position);
    };
    const std::vector<double> q = row(Stage::q, query, p), k = row(Stage::k, key, r);
    const double raw = dot_of(q, k), bias = position_bias(rule, p, r), scale = run.record.scale();
    const bool moved = rule.scheme == PositionScheme::learned || rule.scheme == PositionScheme::sinusoidal ||
                       rule.scheme == PositionScheme::rotary;
    Explained out;
    out.title = "Score[" + in_quotes(name(query)) + " at " + std::to_string(p) + ", " +
                in_quotes(key_name(key)) + " at " + std::to_string(r) + "]";
    out.provenance = std::string(scheme_name(now().scheme)) + " · in this order · computed";
    out.f32 = static_cast<double>(scores_of(run)[at(query_place * n_k + key_place)]);
    out.f64 = score_of(*content_, raw, bias);
    out.masked = !run.record.spec().mask.allows(0, query_place, key_place);
    out.formula = rule.scheme == PositionScheme::alibi ? "scale · q · k − m · |distance|"
                  : has_buckets(rule.scheme)           ? "scale · q · k + b[bucket]"
                  : moved                              ? "scale · q′ · k′, at their positions"
                                                       : "scale · q · k";
    out.operands_title = moved ? "q′ · k′, at their positions" : "q · k";
    out.left_name = "q";
    out.right_name = "k";
    for (Index a = 0; a < std::ssize(q); ++a)
        out.operands.push_back({std::to_string(a), q[at(a)], k[at(a)], q[at(a)] * k[at(a)],
                                placed_place(rule, Stage::q, query, a, p),
                                placed_place(rule, Stage::k, key, a, r)});
    out.steps.push_back({"score", "", four(raw)});
    const Expression score = out.line("score", out.dot());
    out.steps.push_back({"scaled", four(raw) + " × " + four(scale), four(raw * scale), false});
    Expression last = out.line("scaled", score * scale);
    const double capped = score_of(*content_, raw);
    if (const double cap = run.record.spec().softcap; cap > 0) {
        out.steps.push_back({"capped", "", four(capped)});
        last = out.line("capped", cap * tanh(last / cap));
    }
    if (bias != 0 || rule.scheme == PositionScheme::alibi || has_buckets(rule.scheme)) {
        const std::string from =
            rule.scheme == PositionScheme::alibi
                ? "−" + four(rule.slope) + " × " + std::to_string(std::abs(p - r))
                : "bucket " + std::to_string(relative_bucket(rule.buckets, p, r)) +
                      (rule.scheme == PositionScheme::own_buckets ? " of " + content_->own_bias()->name
                                                                  : ", seed " + std::to_string(rule.seed));
        out.steps.push_back({"position", from, four(bias)});
        out.steps.push_back({"with position", four(capped) + " + " + four(bias), four(out.f64)});
        out.line("with_position", last + bias);
    }
    out.steps.back().current = true;
    out.steps.push_back({"weight", out.masked ? "the mask forbids it" : "after softmax",
                         four(run.weights[at(query_place * n_k + key_place)])});
    return out;
}

std::optional<Explained> OrderLens::explain_pair(Subject&, const LensCell& cell) {
    const Index pair = cell.at[0];
    if (pair >= std::ssize(content_->frequencies())) return std::nullopt;
    const PositionRule rule = rule_of(PositionScheme::rotary);
    const std::vector<double> q = content_row(*content_, Stage::q, query()),
                              k = content_row(*content_, Stage::k, key());
    const Index p = query_position(), r = key_position();
    const PairRotation turn = pair_rotation(rule, pair, q, p, k, r);
    const std::vector<double> turned_q = placed(rule, q, p), turned_k = placed(rule, k, r);
    const PairPlace components = pair_place(rule, pair);
    const double frequency = rule.frequencies[at(pair)];
    // Rotates like the kernels.
    const auto in_f32 = [&](const std::vector<double>& row, Index position) {
        Tensor one({1, std::ssize(row)});
        for (Index a = 0; a < std::ssize(row); ++a) one.matrix()(0, a) = static_cast<float>(row[at(a)]);
        attn::place(content_->record()->kernels(), rule, std::array{position}, one.matrix());
        return one;
    };
    const Tensor q32 = in_f32(q, p), k32 = in_f32(k, r);
    Explained out;
    out.title = "Pair " + std::to_string(pair) + ": what it adds to q · k";
    out.provenance = "RoPE · " + in_quotes(name(query())) + " at " + with_commas(p) + ", " +
                     in_quotes(key_name(key())) + " at " + with_commas(r);
    out.formula = "|q| |k| cos(φ_q − φ_k), φ = angle + position · θ";
    out.operands_title = "Turned q · turned k, its two components";
    out.left_name = "q";
    out.right_name = "k";
    float f32 = 0;
    for (const Index a : {components.first, components.second}) {
        const double left = turned_q[at(a)], right = turned_k[at(a)];
        out.operands.push_back({std::to_string(a), left, right, left * right,
                                placed_place(rule, Stage::q, query(), a, p),
                                placed_place(rule, Stage::k, key(), a, r)});
        f32 += q32.matrix()(0, a) * k32.matrix()(0, a);
        out.f64 += left * right;
    }
    out.f32 = static_cast<double>(f32);
    out.line("product", out.dot());
    const auto degrees = [](double angle) {
        return fixed(std::remainder(angle, 2 * std::numbers::pi) * 180 / std::numbers::pi, 1) + "°";
    };
    for (const Index a : {components.first, components.second}) {
        const std::string of = "[" + std::to_string(a) + "]";
        out.steps.push_back(
            {"q" + of, "before it is turned", four(q[at(a)]), false, content_place(Stage::q, query(), a)});
        out.steps.push_back(
            {"k" + of, "before it is turned", four(k[at(a)]), false, content_place(Stage::k, key(), a)});
    }
    const std::vector<Explained::Step> turning{
        {"θ", content_->own_frequencies() ? "the model’s own" : "10,000^(−2a/d)", four(frequency)},
        {"a full turn", "2π / θ, in positions", four(wavelength(frequency))},
        {"φ_q", "", degrees(turn.q_angle)},
        {"φ_k", "", degrees(turn.k_angle)},
        {"between them", "", degrees(turn.q_angle - turn.k_angle)},
        {"pair", four(turn.q_length) + " × " + four(turn.k_length) + " × cos", four(out.f64), true}};
    out.steps.insert(out.steps.end(), turning.begin(), turning.end());
    out.note = "A step of one position turns this hand by " + fixed(frequency * 180 / std::numbers::pi, 3) +
               "°. The pairs add up to q · k.";
    return out;
}

std::optional<Explained> OrderLens::explain_distance(Subject&, const LensCell& cell) {
    const auto scheme = static_cast<PositionScheme>(cell.at[0]);
    const Index distance = cell.at[1];
    if (distance > now().reach) return std::nullopt;
    const DistanceCurves& curves = distances();
    const PositionRule rule = rule_of(scheme);
    if (!reaches(*content_, rule, distance)) return std::nullopt;
    const std::vector<double> q = curves.q_at(scheme, distance), k = curves.k_at(scheme);
    const double raw = dot_of(q, k), bias = position_bias(rule, distance, 0),
                 scale = content_->record()->scale();
    Explained out;
    out.title = std::string(scheme_name(scheme)) + " at distance " + std::to_string(distance);
    out.provenance = curves.pair().query
                         ? in_quotes(name(*curves.pair().query)) + " at " + std::to_string(distance) + ", " +
                               in_quotes(key_name(*curves.pair().key)) + " at 0"
                         : "mean q at " + std::to_string(distance) + ", mean k at 0";
    out.formula = "scale · q′ · k′ + what the scheme adds";
    out.operands_title = "q′ · k′";
    out.left_name = "q";
    out.right_name = "k";
    float f32 = 0;
    for (std::size_t a = 0; a < q.size(); ++a) {
        out.operands.push_back({std::to_string(a), q[a], k[a], q[a] * k[a]});
        f32 += static_cast<float>(q[a]) * static_cast<float>(k[a]);
    }
    out.f64 = score_of(*content_, raw, bias);
    out.f32 = static_cast<double>(static_cast<float>(score_of(*content_, static_cast<double>(f32), bias)));
    out.steps = {{"score", "", four(raw)}, {"scaled", "× " + four(scale), four(score_of(*content_, raw))}};
    const double cap = content_->record()->spec().softcap;
    const Expression plain = out.line("score", out.dot()) * scale,
                     scaled = out.line("scaled", cap > 0 ? cap * tanh(plain / cap) : plain);
    if (bias != 0) {
        out.steps.push_back({"position", "", four(bias)});
        out.steps.push_back({"with position", "", four(out.f64)});
        out.line("with_position", scaled + bias);
    }
    out.steps.back().current = true;
    if (scheme == PositionScheme::learned && !content_->own_table())
        out.note = "Rows of a table that was drawn from seed " + std::to_string(rule.seed) +
                   " (standard normal), added to q and k.";
    const std::string bucket =
        has_buckets(scheme) ? "Bucket " + std::to_string(relative_bucket(rule.buckets, distance, 0)) : "";
    if (scheme == PositionScheme::buckets)
        out.note =
            bucket + "; its number was drawn from seed " + std::to_string(rule.seed) + " (standard normal).";
    if (scheme == PositionScheme::own_buckets)
        out.note = bucket + " of " + content_->own_bias()->name + ", the model’s own number for this head.";
    return out;
}

std::optional<Explained> OrderLens::explain_extrapolated(Subject&, const LensCell& cell) {
    const auto scaling = static_cast<std::size_t>(cell.at[0]);
    const Index bin = cell.at[1];
    const LengthCurves& curves = lengths();
    if (bin >= curves.bins_done()) return std::nullopt;
    const Index first = curves.first_distance(bin), count = curves.samples();
    Explained out;
    out.title = std::string(length_scaling_names[scaling]) + ", distances from " + with_commas(first);
    out.provenance = "mean over " + many(count, "distance") + " · trained on " + with_commas(trained()) +
                     ", " + std::to_string(now().factor) + " times as long";
    out.formula = "mean of scale · Σ pairs |q| |k| cos(φ + distance · θ)";
    out.operands_title = "Scores at these distances · 1/" + std::to_string(count);
    out.left_name = "scores";
    out.right_name = "shares";
    const double share = 1 / static_cast<double>(count);
    for (Index i = 0; i < count; ++i) {
        const double score = curves.score(scaling, first + i);
        out.operands.push_back({std::to_string(first + i), score, share, score * share});
        out.f64 += score * share;
    }
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    out.line("mean", out.dot());
    out.steps = {{"lowest", "", four(curves.bin(scaling, bin).low)},
                 {"mean", "", four(out.f64), true},
                 {"highest", "", four(curves.bin(scaling, bin).high)}};
    if (const double m = rotary_magnitude(length_scaling(scaling, trained(), now().factor)); m != 1)
        out.note = "YaRN multiplies q and k by 0.1 ln " + std::to_string(now().factor) + " + 1 = " + four(m) +
                   ", so scores by " + four(m * m) + ".";
    return out;
}

std::optional<Explained> OrderLens::explain_wavelength(Subject&, const LensCell& cell) {
    const auto scaling = static_cast<std::size_t>(cell.at[0]);
    const Index pair = cell.at[1];
    if (pair >= std::ssize(content_->frequencies())) return std::nullopt;
    const LengthCurves& curves = lengths();
    const double frequency = curves.frequencies(scaling)[at(pair)], plain = curves.frequencies(0)[at(pair)];
    Explained out;
    out.title = "Wavelength of pair " + std::to_string(pair) + ", " + length_scaling_names[scaling];
    out.provenance = "base " + with_commas(static_cast<std::int64_t>(content_->base())) + " · trained on " +
                     with_commas(trained());
    out.formula = "2π / θ";
    out.f64 = wavelength(frequency);
    out.unit = "tokens";
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    out.steps = {{"plain θ", "base^(−2a/d)", four(plain)},
                 {"θ", "÷ " + four(plain / frequency), four(frequency)},
                 {"a full turn", "2π / θ, in positions", four(out.f64), true}};
    out.line("wavelength", Expression(2 * std::numbers::pi) / frequency);
    out.note = out.f64 > static_cast<double>(trained())
                   ? "It never came round within the trained length."
                   : "It came round " + fixed(static_cast<double>(trained()) / out.f64, 1) +
                         " times within the trained length.";
    return out;
}

}  // namespace attn::app
