// Explains the numbers of lens Circuits.
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "subjects/explain.hpp"

namespace attn::app::circuits {

namespace {

std::string from_weights(Subject& subject) {
    return "computed from the weights of " + subject.attention()->title();
}
std::string end_name(const Model& model, Subject& subject, Circuit of, Index i) {
    return of == Circuit::positions ? "position " + std::to_string(i) : token_name(model, subject, i);
}

// The places of components: of a row or a column of the circuit, or of a stage.
PlaceOf components(const Model& model, const CellKind& kind, Circuit circuit, Index at) {
    return [head = model.head, &kind, circuit, at](Index a) { return CellPlace{head, kind(circuit, at, a)}; };
}
PlaceOf weights_of_column(const Model& model, Stage stage, Index column) {
    return [places = Places{model.head}, stage, column](Index b) { return places(stage, b, column); };
}

// Returns the shown circuit if the cell belongs to its map or its factors.
HeadCircuit* circuit_with(Model& model, const LensCell& cell) {
    const auto of = static_cast<Circuit>(cell.at[0]);
    HeadCircuit* shown = model.circuit();
    if (!shown || !shown->done() || shown->job().circuit() != of) return nullptr;
    // If positions rotate, they have no map of their own.
    if (model.state.part == Part::positions && of != Circuit::positions) return nullptr;
    return cell.at[1] < shown->map(model.distance())->queries() ? shown : nullptr;
}

// ---- The maps ---------------------------------------------------------------------------------------------

std::optional<Explained> explain_map(Model& model, Subject& subject, const LensCell& cell) {
    const auto circuit = static_cast<Circuit>(cell.at[0]);
    const Index row = cell.at[1], column = cell.at[2], distance = model.distance();
    HeadCircuit* shown = circuit_with(model, cell);
    if (!shown || column >= shown->map(distance)->keys()) return std::nullopt;
    const bool of_ov = circuit == Circuit::ov;
    const std::string from = end_name(model, subject, circuit, row),
                      to = end_name(model, subject, circuit, column);
    Explained out{
        .title = of_ov ? "What attending to " + from + " adds to the logit of " + to
                       : "Score of " + from + " for " + to,
        .provenance = from_weights(subject),
        .f32 = static_cast<double>(shown->map(distance)->cell(row, column)),
        .formula = of_ov ? "Σ_a v[a] · (W_O u)[a]" : "scale · Σ_a q[a] · k[a]",
        .operands_title = of_ov ? "Value of " + from + " · how far the logit of " + to + " grows with it"
                                : "Query of " + from + " · key of " + to};
    add_terms(out, shown->explain_cell(row, column, distance),
              components(model, cells::left_factor, circuit, row),
              components(model, cells::right_factor, circuit, column),
              of_ov ? std::pair{"v", "u"} : std::pair{"q", "k"});
    if (of_ov) {
        out.step("adds", out.dot());
        out.note =
            "Every norm behind the head is taken by its gain, at a deviation of 1: a text divides all logits "
            "of a row by one positive number. Biases are left out.";
        return out;
    }
    const CircuitFactors& factors = *shown->job().factors();
    const Expression scaled = out.step("scaled", out.step("q · k", out.dot()) * factors.scale);
    if (factors.softcap > 0) out.step("capped", factors.softcap * tanh(scaled / factors.softcap));
    out.note =
        circuit == Circuit::positions ? "The rows of the position embedding alone, in place of the tokens."
        : model.uses_rope()           ? "The key is " + many(model.state.distance, "token") +
                                  " before its query: positions turn both, and only that distance matters."
                            : "Both tokens as they leave the embedding, without a position.";
    return out;
}

// A component of W_O u.
Explained explain_written(const Model& model, Subject& subject, const HeadCircuit& shown, Index token,
                          Index a) {
    const std::string component = std::to_string(a);
    Explained out{.title = "(W_O u)[" + component + "] of " + token_name(model, subject, token),
                  .provenance = from_weights(subject),
                  .f32 = static_cast<double>(shown.right(token)[static_cast<std::size_t>(a)]),
                  .formula = "Σ_b W_O′[" + component + ", b] · W_head[b, " + std::to_string(token) + "]",
                  .operands_title = "Row of W_O, through the gains of the norms behind it · W_head"};
    add_terms(out, shown.explain_written(token, a), nullptr, weights_of_column(model, Stage::w_head, token),
              {"written", "w"});
    out.step("Σ", out.dot());
    return out;
}

std::optional<Explained> explain_factor(Model& model, Subject& subject, const LensCell& cell) {
    const auto circuit = static_cast<Circuit>(cell.at[0]);
    const Index row = cell.at[1], a = cell.at[2];
    const HeadCircuit* shown = circuit_with(model, cell);
    if (!shown || a >= model.trace->model()->config().head_dim) return std::nullopt;
    const bool right = cell.kind == &cells::right_factor, of_ov = circuit == Circuit::ov;
    if (of_ov && right) return explain_written(model, subject, *shown, row, a);
    const VectorComponent why =
        right ? shown->explain_key(row, a) : shown->explain_left(row, a, model.distance());
    struct Projection {
        std::string vector, matrix;
        Stage stage;
    };
    const auto [name, w, stage] = of_ov   ? Projection{"v", "W_V", Stage::w_v}
                                  : right ? Projection{"k", "W_K", Stage::w_k}
                                          : Projection{"q", "W_Q", Stage::w_q};
    const std::string of = end_name(model, subject, circuit, row), component = std::to_string(a);
    const std::vector<float> vector = right ? shown->right(row) : shown->left(row, model.distance());
    Explained out{
        .title = name + "[" + component + "] of " + of,
        .provenance = from_weights(subject),
        .f32 = static_cast<double>(vector[static_cast<std::size_t>(a)]),
        .formula = "Σ_b x[b] · " + w + "[b, " + component + "]" + (why.own.bias != 0 ? " + bias" : ""),
        .operands_title = "What the head reads of " + of + " · " + w};
    add_terms(out, why.own.terms, components(model, cells::input, circuit, row),
              weights_of_column(model, stage, a), {"x", "w"});
    Expression value = why.own.bias == 0
                           ? out.step("Σ", out.dot())
                           : out.step("Σ", out.dot() + why.own.bias, "with the bias " + four(why.own.bias));
    if (why.own_norm) value = out.step("normalised", why.own_norm->value(), "by the norm of " + name);
    if (why.partner_component >= 0)
        out.step("turned", value * why.cosine + Expression(why.partner_value()) * why.sine);
    return out;
}

// Continues an explanation of a component of the embedding by the norm in front of the attention.
void add_norm(Explained& out, const Norm& norm, std::span<const double> x, Index b,
              const Expression& component) {
    const Normalised why = explain_norm(norm, x, b);
    const bool centred = norm.kind == Norm::Kind::layer, shifted = norm.bias.size() > 0;
    out.formula = centred ? "(x − mean) / √(variance + ε) · gain + bias" : "x / √(mean of x² + ε) · gain";
    const Expression off = centred ? component - out.step("mean", why.mean, "of the row") : component,
                     variance = out.step(centred ? "variance" : "mean of x²", why.variance, "of the row"),
                     scaled = off / sqrt(variance + why.epsilon) * out.step("gain", why.gain);
    out.step("normalised", shifted ? scaled + out.step("bias", why.bias) : scaled);
}

std::optional<Explained> explain_input(Model& model, Subject& subject, const LensCell& cell) {
    const auto circuit = static_cast<Circuit>(cell.at[0]);
    const Index row = cell.at[1], b = cell.at[2];
    HeadCircuit* shown = circuit_with(model, cell);
    if (!shown || b >= shown->job().ends().d_model()) return std::nullopt;
    const CircuitJob& job = shown->job();
    const Tensor read = job.read({row, row + 1});
    Explained out{.title = "What the head reads of " + end_name(model, subject, circuit, row) + ", number " +
                           std::to_string(b),
                  .provenance = from_weights(subject),
                  .f32 = static_cast<double>(read.values()[static_cast<std::size_t>(b)])};
    const auto stored = job.stored_row(row);
    if (!stored) {
        out.recomputed = false;
        out.formula = "the row of the embedding through its projection and its norms";
        out.step("read", out.f32);
        return out;
    }
    std::vector<double> x;
    for (Index i = 0; i < stored->table.in; ++i)
        x.push_back(stored->scale * element(stored->table, i, stored->row));
    const StoredAt at = stored_at(*model.trace->model(), stored->table, b, stored->row);
    const std::string where = "[" + std::to_string(stored->row) + ", " + std::to_string(b) + "], ";
    const Expression component =
        out.step("embedding", x[static_cast<std::size_t>(b)],
                 at.weight ? at.weight->name + where + place_in_file(at) : std::string());
    if (const Norm* norm = job.ends().input_norm(model.head.layer)) add_norm(out, *norm, x, b, component);
    return out;
}

std::optional<Explained> explain_distance(Model& model, Subject& subject, const LensCell& cell) {
    HeadCircuit* shown = model.state.part == Part::positions && model.uses_rope() ? model.circuit() : nullptr;
    const std::vector<double>* curve = shown ? shown->by_distance() : nullptr;
    if (!curve || cell.at[0] >= std::ssize(*curve)) return std::nullopt;
    const double score = (*curve)[static_cast<std::size_t>(cell.at[0])];
    const std::string distance = std::to_string(cell.at[0]);
    Explained out{.title = "Score of the mean query and key at distance " + distance,
                  .provenance = from_weights(subject),
                  .f32 = single(score),
                  .recomputed = false,
                  .formula = "scale · q̄ R(" + distance + ") k̄",
                  .note =
                      "q̄ and k̄ are the means over all tokens of the vocabulary, and R turns pairs of "
                      "components by the distance (Su et al. 2021)."};
    out.step("score", score);
    return out;
}

// ---- Copying ----------------------------------------------------------------------------------------------

// The eigenvalues of the chosen head, or those of the wire's two heads as one; null until they are known.
const Copying* shown_copying(const Model& model, bool of_virtual) {
    if (of_virtual) return model.virtual_head() ? model.virtual_head()->copying() : nullptr;
    return model.copying() ? &model.copying()->of(model.head) : nullptr;
}

std::optional<Explained> explain_eigenvalue(Model& model, Subject& subject, const LensCell& cell) {
    const bool of_virtual = cell.at[0] == 1, imaginary = cell.at[1] == 1;
    const Copying* of = shown_copying(model, of_virtual);
    if (!of || cell.at[2] >= std::ssize(of->eigenvalues)) return std::nullopt;
    const std::complex<double> value = of->eigenvalues[static_cast<std::size_t>(cell.at[2])];
    Explained out{.title = "Eigenvalue " + std::to_string(cell.at[2]) + " of the OV circuit, its " +
                           (imaginary ? "imaginary" : "real") + " part",
                  .provenance = from_weights(subject),
                  .f32 = single(imaginary ? value.imag() : value.real()),
                  .recomputed = false,
                  .formula = of_virtual ? "eig(W_O,2 U E W_V,1 W_O,1 W_V,2)" : "eig(W_O U E W_V)",
                  .note =
                      "Of the small matrix [head_dim, head_dim], whose eigenvalues are those of the map from "
                      "all tokens to all logits, but for zeros. By the QR algorithm in double."};
    if (imaginary) {
        out.beside("real", value.real());
        out.step("imaginary", value.imag());
    } else {
        out.step("real", value.real());
        out.beside("imaginary", value.imag());
    }
    out.beside("modulus", std::abs(value));
    return out;
}

Explained copying_score(const Model& model, Subject& subject, const Copying& of, const std::string& name,
                        bool of_virtual) {
    Explained out{
        .title = "Copying score of " + name,
        .provenance = from_weights(subject),
        .f32 = single(of.score),
        .formula = "Σ λ / Σ |λ|",
        .operands_title = "Real parts of the eigenvalues · 1 / the sum of their moduli",
        .note =
            "1: every set of tokens that the head sees raises its own logits; −1: each lowers them "
            "(Elhage et al. 2021). Σ λ is the sum over all tokens of what attending to each adds to "
            "its own logit."};
    double moduli = 0;
    for (const auto& each : of.eigenvalues) moduli += std::abs(each);
    const bool shown = &of == shown_copying(model, of_virtual);
    for (Index i = 0; i < std::ssize(of.eigenvalues); ++i)
        out.term(
            std::to_string(i), of.eigenvalues[static_cast<std::size_t>(i)].real(), 1 / moduli,
            shown ? std::optional(CellPlace{model.head, cells::eigenvalue(of_virtual, 0, i)}) : std::nullopt);
    out.beside("Σ |λ|", moduli);
    out.step("score", moduli > 0 ? out.dot("real", "share") : Expression(NAN));
    return out;
}

std::optional<Explained> explain_copying(Model& model, Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    const Attention& attention = *subject.attention();
    if (!model.copying() || head.layer >= attention.layers() || head.head >= attention.heads())
        return std::nullopt;
    return copying_score(model, subject, model.copying()->of(head), head_name(subject, head), false);
}

std::string pair_name(Subject& subject, const VirtualHead& both) {
    return head_name(subject, both.from()) + " then " + head_name(subject, both.to());
}

std::optional<Explained> explain_virtual_copying(Model& model, Subject& subject, const LensCell&) {
    const VirtualHead* both = model.virtual_head();
    if (!both) return std::nullopt;
    return copying_score(model, subject, *both->copying(), pair_name(subject, *both), true);
}

// ---- Wires ------------------------------------------------------------------------------------------------

std::optional<Explained> explain_composition(Model& model, Subject& subject, const LensCell& cell) {
    if (model.state.part != Part::wiring) return std::nullopt;
    const auto [kind, from, to] = cell.at;
    const CompositionJob& job = *model.composition;
    const Index heads = job.heads();
    if (to >= heads * job.layers() || from >= to / heads * heads) return std::nullopt;
    const Wire wire{static_cast<Composition>(kind), {from / heads, from % heads}, {to / heads, to % heads}};
    const auto value = static_cast<double>(job.value(wire.kind, wire.from, wire.to));
    if (std::isnan(value)) return std::nullopt;
    static constexpr std::array formulas{"‖W_OV,1 W_QK,2‖ / (‖W_OV,1‖ ‖W_QK,2‖)",
                                         "‖W_OV,1 W_QK,2ᵀ‖ / (‖W_OV,1‖ ‖W_QK,2‖)",
                                         "‖W_OV,1 W_OV,2‖ / (‖W_OV,1‖ ‖W_OV,2‖)"};
    static constexpr std::array notes{
        "How far the later head’s queries are made of what the earlier head writes.",
        "How far the later head’s keys are made of what the earlier head writes: so an induction head finds "
        "the token after an earlier copy.",
        "How far the later head hands on what the earlier head writes: the two make a virtual head."};
    Explained out{.title = wire_name(subject, wire),
                  .provenance = from_weights(subject),
                  .f32 = value,
                  .formula = formulas[static_cast<std::size_t>(kind)],
                  .note = notes[static_cast<std::size_t>(kind)]};
    const CompositionNorms exact = exact_composition(job.ends(), wire.kind, wire.from, wire.to);
    const Expression product = out.step("‖product‖", exact.product),
                     written = out.step("‖W_OV,1‖", exact.written, "of " + head_name(subject, wire.from)),
                     read = out.step(wire.kind == Composition::v ? "‖W_OV,2‖" : "‖W_QK,2‖", exact.read,
                                     "of " + head_name(subject, wire.to));
    out.step("composition", product / (written * read));
    out.beside("at random", expected_composition(model.trace->model()->config().d_model), "1 / √d_model");
    return out;
}

std::optional<Explained> explain_virtual_logit(Model& model, Subject& subject, const LensCell& cell) {
    const Index token = cell.at[0], key = model.tokens.key;
    const VirtualHead* both = model.state.part == Part::wiring ? model.virtual_head() : nullptr;
    if (!both || both->token() != key || token >= model.vocabulary_size()) return std::nullopt;
    const LinearSum sum = both->explain(static_cast<std::int32_t>(token));
    Explained out{
        .title = "What " + pair_name(subject, *both) + " adds to the logit of " +
                 token_name(model, subject, token),
        .provenance = from_weights(subject),
        .f32 = static_cast<double>(sum.f32()),
        .formula = "Σ_a (e W_V,1 W_O,1 W_V,2)[a] · (W_O,2 u)[a]",
        .operands_title = "What the later head hands on of " + token_name(model, subject, key) +
                          " · what its W_O makes of that",
        .note = "Where the later head attends to a token at which the earlier one attended to this."};
    add_terms(out, sum.terms, nullptr, nullptr, {"v", "u"});
    out.step("adds", out.dot());
    return out;
}

// ---- The plane --------------------------------------------------------------------------------------------

// Adds the place of the query or key x on an axis.
void add_place(Explained& out, const QueryKeyPlane& plane, const QueryKeyPlane::End& end, Index axis,
               std::span<const float> x, const PlaceOf& at) {
    const std::vector<double> direction = plane.direction(end.key, static_cast<std::size_t>(axis));
    out.f32 = single(plane.at(end)[static_cast<std::size_t>(axis)]);
    out.formula = end.key ? "Σ_a (k[a] − mean) · axis[a] / c" : "Σ_a (q[a] − mean) · c axis[a]";
    out.operands_title = std::string(end.key ? "Key · the axis / c" : "Query · c times the axis") +
                         ", with c = " + four(plane.stretch);
    for (std::size_t a = 0; a < x.size(); ++a)
        out.term(std::to_string(a), static_cast<double>(x[a]), direction[a],
                 at ? at(static_cast<Index>(a)) : std::nullopt);
    const Expression along = out.step("along the axis", out.dot("x", "axis")),
                     of_mean = dot(Column{"mean", plane.mean(end.key)}, out.right());
    out.step("place", along - of_mean,
             four(along.value()) + " − " + four(of_mean.value()) + ", that of the mean");
}

std::optional<Explained> explain_corpus_plane(Model& model, Subject& subject, const LensCell& cell) {
    const auto [of_key, axis, point] = cell.at;
    const CorpusPlane* shown =
        model.state.part == Part::plane && model.state.corpus ? model.corpus_plane() : nullptr;
    if (!shown || point >= std::ssize(shown->points())) return std::nullopt;
    const CorpusPlane::End end{of_key == 1, point};
    Explained out{
        .title = capitalised(corpus_name(model, subject, end)) + ", on axis " + std::to_string(axis + 1),
        .provenance = from_weights(subject),
        .note = "Of the texts that stand for many; the run that is looked at elsewhere has another " +
                std::string(end.key ? "key." : "query.")};
    add_place(out, shown->plane(), end, axis, shown->vector(end), nullptr);
    return out;
}

std::optional<Explained> explain_plane(Model& model, Subject& subject, const LensCell& cell) {
    const auto [of_key, axis, token] = cell.at;
    if (model.state.part != Part::plane || !model.placed || !model.placed->tokens.holds(token))
        return std::nullopt;
    const Attention& attention = *subject.attention();
    const auto record = attention.record(model.head.layer);
    const Index head = model.head.head;
    const ConstMatrix rows =
        of_key ? record->k().heads().head(record->kv_head(head)) : record->q().heads().head(head);
    const std::string name =
        in_quotes(label_at(of_key ? attention.key_names() : attention.query_names(), token));
    Explained out{
        .title =
            std::string(of_key ? "Key" : "Query") + " of " + name + " on axis " + std::to_string(axis + 1),
        .provenance = "computed by " + attention.title(),
        .note =
            "All keys may move by one vector without a change of any weight, and queries grow as keys shrink "
            "without a change of any score: so both have one mean and one spread here (Yeh et al. 2023)."};
    add_place(out, *model.plane(), {of_key == 1, token - model.placed->tokens.begin}, axis,
              {rows.row(token), static_cast<std::size_t>(rows.cols)},
              [places = Places{model.head}, stage = of_key ? Stage::k : Stage::q, row = token](Index a) {
                  return places(stage, row, a);
              });
    return out;
}

constexpr std::array<ModelNumber<Model>, 12> declared{{
    {&cells::map, explain_map},
    {&cells::left_factor, explain_factor},
    {&cells::right_factor, explain_factor},
    {&cells::input, explain_input},
    {&cells::distance, explain_distance},
    {&cells::eigenvalue, explain_eigenvalue},
    {&cells::copying, explain_copying},
    {&cells::virtual_copying, explain_virtual_copying},
    {&cells::virtual_logit, explain_virtual_logit},
    {&cells::plane, explain_plane},
    {&cells::corpus_plane, explain_corpus_plane},
    {&cells::composition, explain_composition},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return refused.empty() ? explain_by(declared, *this, subject, cell) : std::nullopt;
}

}  // namespace attn::app::circuits
