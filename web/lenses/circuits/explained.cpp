// Explains the numbers of lens Circuits.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "model/explain.hpp"
#include "model/head_projection.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

void circuit_step(Explained& out, std::string name, std::string arithmetic, double value,
                  bool current = false, std::optional<CellPlace> at = {}) {
    out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, at});
}

double in_single(double value) { return static_cast<double>(static_cast<float>(value)); }

std::vector<Term> terms_between(std::span<const float> left, std::span<const float> right) {
    std::vector<Term> terms;
    for (std::size_t a = 0; a < left.size(); ++a)
        terms.push_back({static_cast<Index>(a), static_cast<double>(left[a]), static_cast<double>(right[a])});
    return terms;
}
double sum_of(std::span<const Term> terms) {
    double sum = 0;
    for (const Term& term : terms) sum += term.product();
    return sum;
}

}  // namespace

Explained CircuitsLens::begin(Subject& subject, std::string title) const {
    Explained out;
    out.title = std::move(title);
    out.provenance = "computed from the weights of " + subject.attention()->title();
    return out;
}

std::optional<Explained> CircuitsLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention() || missing(subject)) return std::nullopt;
    update(subject);
    return refused_.empty() ? explain_by(declared, *this, subject, place.cell.own) : std::nullopt;
}

const std::array<LensNumber<CircuitsLens>, 12> CircuitsLens::declared{{
    {&circuits_cells::map, &CircuitsLens::explain_map},
    {&circuits_cells::left_factor, &CircuitsLens::explain_factor},
    {&circuits_cells::right_factor, &CircuitsLens::explain_factor},
    {&circuits_cells::input, &CircuitsLens::explain_input},
    {&circuits_cells::distance, &CircuitsLens::explain_distance},
    {&circuits_cells::eigenvalue, &CircuitsLens::explain_eigenvalue},
    {&circuits_cells::copying, &CircuitsLens::explain_copying},
    {&circuits_cells::virtual_copying, &CircuitsLens::explain_virtual_copying},
    {&circuits_cells::virtual_logit, &CircuitsLens::explain_virtual_logit},
    {&circuits_cells::plane, &CircuitsLens::explain_plane},
    {&circuits_cells::corpus_plane, &CircuitsLens::explain_corpus_plane},
    {&circuits_cells::composition, &CircuitsLens::explain_composition},
}};

CellKinds circuits_numbers() { return kinds_of(CircuitsLens::declared); }

std::optional<CellRef> packed_circuits_cell(Index row, Index col) {
    using namespace circuits_cells;
    const auto ends = [&](const CellKind& kind, Index which) -> std::optional<CellRef> {
        return which < 4 ? std::optional(kind(which / 2, which % 2, col)) : std::nullopt;
    };
    if (row >= 800'000) return composition((row - 800'000) % 3, col, (row - 800'000) / 3);
    if (row >= 725'000) return ends(corpus_plane, row - 725'000);
    if (row >= 720'000) return ends(plane, row - 720'000);
    if (row >= 710'000) return copying(row - 710'000, col);
    if (row > 700'006) return std::nullopt;
    if (row == 700'006) return virtual_logit(col);
    if (row == 700'005) return col == 0 ? std::optional(virtual_copying()) : std::nullopt;
    if (row > 700'000) return eigenvalue((row - 700'001) / 2, (row - 700'001) % 2, col);
    if (row == 700'000) return distance(col);
    const Index circuit = row / 300'000, at = row % 300'000;
    return col >= 500'000   ? input(circuit, at, col - 500'000)
           : col >= 450'000 ? right_factor(circuit, at, col - 450'000)
           : col >= 400'000 ? left_factor(circuit, at, col - 400'000)
                            : map(circuit, at, col);
}

HeadCircuit* CircuitsLens::circuit_with(const LensCell& cell) {
    const auto of = static_cast<Circuit>(cell.at[0]);
    HeadCircuit* shown = circuit();
    if (!shown || !shown->done() || shown->job().circuit() != of) return nullptr;
    // If positions rotate, they have no map of their own.
    if (now().part == CircuitsPart::positions && of != Circuit::positions) return nullptr;
    return cell.at[1] < shown->map(distance())->queries() ? shown : nullptr;
}

// ---- The maps ---------------------------------------------------------------------------------------------

std::optional<Explained> CircuitsLens::explain_map(Subject& subject, const LensCell& cell) {
    const auto circuit = static_cast<Circuit>(cell.at[0]);
    const Index row = cell.at[1], col = cell.at[2];
    HeadCircuit* found = circuit_with(cell);
    if (!found || col >= found->map(distance())->keys()) return std::nullopt;
    HeadCircuit& shown = *found;
    const CircuitFactors& factors = *shown.job().factors();
    const bool of_ov = circuit == Circuit::ov;
    const std::string from = end_name(subject, circuit, row), to = end_name(subject, circuit, col);
    Explained out = begin(subject, of_ov ? "What attending to " + from + " adds to the logit of " + to
                                         : "Score of " + from + " for " + to);
    const auto terms = terms_between(shown.left(row, distance()), shown.right(col));
    const double sum = sum_of(terms), scale = static_cast<double>(factors.scale),
                 cap = static_cast<double>(factors.softcap);
    const auto component = [&](const CellKind& kind, Index token) {
        return [this, circuit, &kind, token](Index a) {
            return std::optional(CellPlace{head_, kind(circuit, token, a)});
        };
    };
    add_terms(out, terms, component(circuits_cells::left_factor, row),
              component(circuits_cells::right_factor, col),
              of_ov ? std::pair{"v", "u"} : std::pair{"q", "k"});
    out.formula = of_ov ? "Σ_a v[a] · (W_O u)[a]" : "scale · Σ_a q[a] · k[a]";
    out.operands_title = of_ov ? "Value of " + from + " · how far the logit of " + to + " grows with it"
                               : "Query of " + from + " · key of " + to;
    out.f32 = static_cast<double>(shown.map(distance())->cell(row, col));
    out.f64 = sum;
    circuit_step(out, of_ov ? "adds" : "q · k", "", sum, of_ov);
    const Expression score = out.line(of_ov ? "adds" : "score", out.dot());
    if (!of_ov) {
        out.f64 = sum * scale;
        circuit_step(out, "scaled", four(sum) + " × " + four(scale), out.f64, cap == 0);
        const Expression scaled = out.line("scaled", score * scale);
        if (cap > 0) {
            const double plain = out.f64;
            out.f64 = cap * std::tanh(plain / cap);
            circuit_step(out, "capped", four(cap) + " × tanh(" + four(plain) + " / " + four(cap) + ")",
                         out.f64, true);
            out.line("capped", cap * tanh(scaled / cap));
        }
    }
    if (of_ov)
        out.note =
            "Every norm behind the head is taken by its gain, at a deviation of 1: a text divides all logits "
            "of a row by one positive number. Biases are left out.";
    else if (circuit == Circuit::positions)
        out.note = "The rows of the position embedding alone, in place of the tokens.";
    else if (uses_rope())
        out.note = "The key is " + many(now().distance, "token") +
                   " before its query: positions turn both, and only that distance matters.";
    else
        out.note = "Both tokens as they leave the embedding, without a position.";
    return out;
}

std::optional<Explained> CircuitsLens::explain_factor(Subject& subject, const LensCell& cell) {
    const auto circuit = static_cast<Circuit>(cell.at[0]);
    const Index row = cell.at[1], a = cell.at[2];
    HeadCircuit* found = circuit_with(cell);
    if (!found) return std::nullopt;
    HeadCircuit& shown = *found;
    const Model& model = *trace_->model();
    const AttentionSublayer& half = network().attention(head_.layer);
    const bool right = cell.kind == &circuits_cells::right_factor, of_ov = circuit == Circuit::ov;
    if (a >= model.config().head_dim) return std::nullopt;
    const std::string of = end_name(subject, circuit, row), index = "[" + std::to_string(a) + "]";
    const auto stored = [&](Stage stage, bool column) -> PlaceOf {
        return [this, stage, a, row, column](Index b) {
            return std::optional(CellPlace{head_, {.stage = stage, .row = b, .col = column ? row : a}});
        };
    };
    if (of_ov && right) {
        Explained out = begin(subject, "(W_O u)" + index + " of " + of);
        const Tensor u = shown.job().ends().unembedding({row, row + 1});
        const Tensor& written = shown.job().written();
        const auto terms =
            terms_between({written.matrix().row(a), static_cast<std::size_t>(written.dim(1))}, u.values());
        add_terms(out, terms, PlaceOf(), stored(Stage::w_head, true), {"written", "w"});
        out.formula = "Σ_b W_O′[a, b] · W_head[b, " + std::to_string(row) + "]";
        out.operands_title = "Row of W_O, through the gains of the norms behind it · W_head";
        out.f32 = static_cast<double>(shown.right(row)[static_cast<std::size_t>(a)]);
        out.f64 = sum_of(terms);
        circuit_step(out, "Σ", "", out.f64, true);
        out.line("value", out.dot());
        return out;
    }
    const Stage stage = of_ov ? Stage::v : right ? Stage::k : Stage::q;
    const HeadProjection projection = head_projection(model, head_.layer, head_.head);
    LinearView linear = (of_ov ? projection.v : right ? projection.k : projection.q).view();
    if (of_ov) linear.bias = {};
    const char* name = of_ov ? "v" : right ? "k" : "q";
    Explained out = begin(subject, name + index + " of " + of);
    const Tensor read = shown.job().read({row, row + 1});
    const LinearSum sum = explain_linear(linear, read.values(), a);
    add_terms(out, sum.terms,
              [this, circuit, row](Index b) {
                  return std::optional(CellPlace{head_, circuits_cells::input(circuit, row, b)});
              },
              stored(of_ov   ? Stage::w_v
                     : right ? Stage::w_k
                             : Stage::w_q,
                     false),
              {"x", "w"});
    const std::string w = of_ov ? "W_V" : right ? "W_K" : "W_Q";
    out.formula = "Σ_b x[b] · " + w + "[b, " + std::to_string(a) + "]" + (sum.bias != 0 ? " + bias" : "");
    out.operands_title = "What the head reads of " + of + " · " + w;
    double value = sum.value();
    circuit_step(out, "Σ", sum.bias != 0 ? "with the bias " + four(sum.bias) : "", value);
    out.line("value", out.dot() + sum.bias);
    const Index own_head = right ? head_.head / (model.config().heads / model.config().kv_heads) : head_.head;
    const auto& norm = right ? half.k_norm : half.q_norm;
    const auto unturned = [&](Index component, double plain) {
        if (of_ov || !norm) return plain;
        const Tensor all =
            projected_rows(shown.job().ends().kernels(), model, stage, head_.layer, own_head, read.matrix());
        const Index begin = all.dim(1) == model.config().head_dim ? 0 : own_head * model.config().head_dim;
        return explain_norm(*norm, all.values(), begin + component).value();
    };
    if (!of_ov && norm) {
        value = unturned(a, value);
        circuit_step(out, "normalised", "by the norm of " + std::string(name), value);
        out.line("normalised", value);
    }
    const Rotary* rotary =
        of_ov || right || circuit == Circuit::positions ? nullptr : network().rotary_of(head_.layer);
    if (const RotaryPair pair = pair_of(rotary, a); pair.partner >= 0) {
        const double partner =
            unturned(pair.partner, explain_linear(linear, read.values(), pair.partner).value());
        const double angle =
            static_cast<double>(distance()) * rotary->frequencies[static_cast<std::size_t>(pair.pair)];
        const double magnitude = rotary->magnitude * rotary->magnitude, cosine = magnitude * std::cos(angle),
                     sine = magnitude * std::sin(angle) * (pair.first ? -1 : 1);
        const std::string turned =
            four(value) + " × " + four(cosine) + " + " + four(partner) + " × " + four(sine);
        const Expression line = Expression(value) * cosine + Expression(partner) * sine;
        value = value * cosine + partner * sine;
        circuit_step(out, "turned", turned, value);
        out.line("turned", line);
    }
    out.steps.back().current = true;
    out.f64 = value;
    out.f32 = static_cast<double>(
        (right ? shown.right(row) : shown.left(row, distance()))[static_cast<std::size_t>(a)]);
    return out;
}

std::optional<Explained> CircuitsLens::explain_input(Subject& subject, const LensCell& cell) {
    const auto circuit = static_cast<Circuit>(cell.at[0]);
    const Index row = cell.at[1], b = cell.at[2];
    HeadCircuit* found = circuit_with(cell);
    if (!found) return std::nullopt;
    const CircuitJob& job = found->job();
    if (b >= job.ends().d_model()) return std::nullopt;
    const std::string of = end_name(subject, circuit, row);
    Explained out = begin(subject, "What the head reads of " + of + ", number " + std::to_string(b));
    const Tensor read = job.read({row, row + 1});
    out.f32 = out.f64 = static_cast<double>(read.values()[static_cast<std::size_t>(b)]);
    const bool of_positions = circuit == Circuit::positions;
    const Norm* norm = job.ends().input_norm(head_.layer);
    const WeightView& table = of_positions ? *network().position_embedding : network().token_embedding;
    const Index stored_row = of_positions ? network().first_position + row : row;
    const bool plain = b < table.in && (of_positions || (!network().project_in)) && !network().embedding_norm;
    if (plain) {
        const double scale = of_positions ? 1 : network().embedding_scale;
        std::vector<double> x;
        for (Index i = 0; i < table.in; ++i) x.push_back(scale * element(table, i, stored_row));
        const StoredAt at = stored_at(*trace_->model(), table, b, stored_row);
        circuit_step(out, "embedding",
                     at.weight ? at.weight->name + "[" + std::to_string(stored_row) + ", " +
                                     std::to_string(b) + "], " + place_in_file(at)
                               : "",
                     x[static_cast<std::size_t>(b)], !norm);
        out.f64 = x[static_cast<std::size_t>(b)];
        const Expression component = out.line("x", out.f64);
        if (!norm) return out;
        const Normalised why = explain_norm(*norm, x, b);
        out.formula = norm->kind == Norm::Kind::layer ? "(x − mean) / √(variance + ε) · gain + bias"
                                                      : "x / √(mean of x² + ε) · gain";
        if (norm->kind == Norm::Kind::layer) circuit_step(out, "mean", "of the row", why.mean);
        circuit_step(out, norm->kind == Norm::Kind::layer ? "variance" : "mean of x²", "of the row",
                     why.variance);
        circuit_step(out, "gain", "", why.gain);
        if (norm->bias.size() > 0) circuit_step(out, "bias", "", why.bias);
        out.f64 = why.value();
        circuit_step(out, "normalised", "", out.f64, true);
        out.line("normalised",
                 (component - why.mean) / sqrt(Expression(why.variance) + why.epsilon) * why.gain + why.bias);
        return out;
    }
    out.recomputed = false;
    out.formula = "the row of the embedding through its projection and its norms";
    circuit_step(out, "read", "", out.f64, true);
    out.line("read", out.f64);
    return out;
}

std::optional<Explained> CircuitsLens::explain_distance(Subject& subject, const LensCell& cell) {
    const Index distance = cell.at[0];
    const auto* curve = now().part == CircuitsPart::positions ? by_distance() : nullptr;
    if (!curve || distance >= std::ssize(*curve)) return std::nullopt;
    Explained out = begin(subject, "Score of the mean query and key at distance " + std::to_string(distance));
    out.recomputed = false;
    out.f64 = (*curve)[static_cast<std::size_t>(distance)];
    out.f32 = in_single(out.f64);
    out.formula = "scale · q̄ R(" + std::to_string(distance) + ") k̄";
    circuit_step(out, "score", "", out.f64, true);
    out.line("score", out.f64);
    out.note =
        "q̄ and k̄ are the means over all tokens of the vocabulary, and R turns pairs of components by the "
        "distance (Su et al. 2021).";
    return out;
}

// ---- Copying ----------------------------------------------------------------------------------------------

std::optional<Explained> CircuitsLens::explain_eigenvalue(Subject& subject, const LensCell& cell) {
    const bool of_virtual = cell.at[0] == 1, imaginary = cell.at[1] == 1;
    const Index col = cell.at[2];
    const Copying* of = of_virtual  ? (virtual_ ? &virtual_->copying : nullptr)
                        : copying() ? &copying()->of(head_)
                                    : nullptr;
    if (!of || col >= std::ssize(of->eigenvalues)) return std::nullopt;
    const auto& value = of->eigenvalues[static_cast<std::size_t>(col)];
    Explained out = begin(subject, "Eigenvalue " + std::to_string(col) + " of the OV circuit, its " +
                                       (imaginary ? "imaginary" : "real") + " part");
    out.recomputed = false;
    out.f64 = imaginary ? value.imag() : value.real();
    out.f32 = in_single(out.f64);
    out.formula = of_virtual ? "eig(W_O,2 U E W_V,1 W_O,1 W_V,2)" : "eig(W_O U E W_V)";
    circuit_step(out, "real", "", value.real(), !imaginary);
    circuit_step(out, "imaginary", "", value.imag(), imaginary);
    circuit_step(out, "modulus", "", std::abs(value));
    out.line("part", out.f64);
    out.note =
        "Of the small matrix [head_dim, head_dim], whose eigenvalues are those of the map from all tokens "
        "to all logits, but for zeros. By the QR algorithm in double.";
    return out;
}

std::optional<Explained> CircuitsLens::explain_copying(Subject& subject, const LensCell& cell) {
    const HeadIndex head{cell.at[0], cell.at[1]};
    const Attention& attention = *subject.attention();
    if (!copying() || head.layer >= attention.layers() || head.head >= attention.heads()) return std::nullopt;
    return copying_score(subject, copying()->of(head), head_name(subject, head), false);
}

std::optional<Explained> CircuitsLens::explain_virtual_copying(Subject& subject, const LensCell&) {
    if (!virtual_) return std::nullopt;
    const Wire& of = virtual_->of;
    return copying_score(subject, virtual_->copying,
                         head_name(subject, of.from) + " then " + head_name(subject, of.to), true);
}

Explained CircuitsLens::copying_score(Subject& subject, const Copying& of, const std::string& name,
                                      bool of_virtual) {
    Explained out = begin(subject, "Copying score of " + name);
    out.f32 = in_single(of.score);
    out.formula = "Σ λ / Σ |λ|";
    out.operands_title = "Real parts of the eigenvalues · 1 / the sum of their moduli";
    out.left_name = "real", out.right_name = "share";
    double moduli = 0;
    for (const auto& each : of.eigenvalues) moduli += std::abs(each);
    const bool own = of_virtual || (copying() && &of == &copying()->of(head_));
    for (Index i = 0; i < std::ssize(of.eigenvalues); ++i) {
        const double real = of.eigenvalues[static_cast<std::size_t>(i)].real(), share = 1 / moduli;
        std::optional<CellPlace> at;
        if (own) at = CellPlace{head_, circuits_cells::eigenvalue(of_virtual, 0, i)};
        out.operands.push_back({std::to_string(i), real, share, real * share, at});
        out.f64 += real * share;
    }
    if (of.eigenvalues.empty() || moduli == 0) out.f64 = NAN;
    circuit_step(out, "Σ |λ|", "", moduli);
    circuit_step(out, "score", "", out.f64, true);
    out.line("score", out.operands.empty() ? Expression(out.f64) : out.dot());
    out.note =
        "1: every set of tokens that the head sees raises its own logits; −1: each lowers them (Elhage et "
        "al. 2021). Σ λ is the sum over all tokens of what attending to each adds to its own logit.";
    return out;
}

// ---- Wires ------------------------------------------------------------------------------------------------

std::optional<Explained> CircuitsLens::explain_composition(Subject& subject, const LensCell& cell) {
    if (now().part != CircuitsPart::wiring) return std::nullopt;
    const auto [composed, from, to] = cell.at;
    const Index heads = composition_->heads();
    if (to >= heads * composition_->layers() || from >= to / heads * heads) return std::nullopt;
    const Wire wire{
        static_cast<Composition>(composed), {from / heads, from % heads}, {to / heads, to % heads}};
    const auto value = static_cast<double>(composition_->value(wire.kind, wire.from, wire.to));
    if (std::isnan(value)) return std::nullopt;
    static constexpr std::array formulas{"‖W_OV,1 W_QK,2‖ / (‖W_OV,1‖ ‖W_QK,2‖)",
                                         "‖W_OV,1 W_QK,2ᵀ‖ / (‖W_OV,1‖ ‖W_QK,2‖)",
                                         "‖W_OV,1 W_OV,2‖ / (‖W_OV,1‖ ‖W_OV,2‖)"};
    static constexpr std::array notes{
        "How far the later head’s queries are made of what the earlier head writes.",
        "How far the later head’s keys are made of what the earlier head writes: so an induction head finds "
        "the token after an earlier copy.",
        "How far the later head hands on what the earlier head writes: the two make a virtual head."};
    const auto kind = static_cast<std::size_t>(wire.kind);
    Explained out = begin(subject, wire_name(subject, wire));
    const CompositionNorms exact = exact_composition(composition_->ends(), wire.kind, wire.from, wire.to);
    out.f32 = value;
    out.f64 = exact.product / (exact.written * exact.read);
    out.formula = formulas[kind];
    circuit_step(out, "‖product‖", "", exact.product);
    circuit_step(out, "‖W_OV,1‖", "of " + head_name(subject, wire.from), exact.written);
    circuit_step(out, wire.kind == Composition::v ? "‖W_OV,2‖" : "‖W_QK,2‖",
                 "of " + head_name(subject, wire.to), exact.read);
    circuit_step(out, "composition",
                 four(exact.product) + " / (" + four(exact.written) + " × " + four(exact.read) + ")", out.f64,
                 true);
    circuit_step(out, "at random", "1 / √d_model", expected_composition(trace_->model()->config().d_model));
    out.line("composition", exact.product / (Expression(exact.written) * exact.read));
    out.note = notes[kind];
    return out;
}

std::optional<Explained> CircuitsLens::explain_virtual_logit(Subject& subject, const LensCell& cell) {
    const Index token = cell.at[0];
    if (now().part != CircuitsPart::wiring || !virtual_ || virtual_->token != key() ||
        token >= vocabulary_size())
        return std::nullopt;
    const CircuitEnds& ends = composition_->ends();
    const Wire& of = virtual_->of;
    Explained out =
        begin(subject, "What " + head_name(subject, of.from) + " then " + head_name(subject, of.to) +
                           " adds to the logit of " + token_name(subject, token));
    const Tensor written = ends.written(of.to.layer, of.to.head), u = ends.unembedding({token, token + 1});
    std::vector<float> right(static_cast<std::size_t>(written.dim(0)));
    for (Index a = 0; a < written.dim(0); ++a)
        for (Index i = 0; i < written.dim(1); ++i)
            right[static_cast<std::size_t>(a)] += written.matrix()(a, i) * u.matrix()(0, i);
    const auto terms = terms_between(virtual_->carried, right);
    add_terms(out, terms, PlaceOf(), PlaceOf(), {"v", "u"});
    out.formula = "Σ_a (e W_V,1 W_O,1 W_V,2)[a] · (W_O,2 u)[a]";
    out.operands_title =
        "What the later head hands on of " + token_name(subject, key()) + " · what its W_O makes of that";
    out.f64 = sum_of(terms);
    float single = 0;
    for (std::size_t a = 0; a < right.size(); ++a) single += virtual_->carried[a] * right[a];
    out.f32 = static_cast<double>(single);
    circuit_step(out, "adds", "", out.f64, true);
    out.line("adds", out.dot());
    out.note = "Where the later head attends to a token at which the earlier one attended to this.";
    return out;
}

// ---- The plane --------------------------------------------------------------------------------------------

std::optional<Explained> CircuitsLens::explain_corpus_plane(Subject& subject, const LensCell& cell) {
    const Index point = cell.at[2];
    if (now().part != CircuitsPart::plane || !now().corpus || !corpus_plane() ||
        point >= std::ssize(corpus_plane_->points()))
        return std::nullopt;
    const QueryKeyPlane& plane = corpus_plane_->plane();
    const CorpusEnd end{cell.at[0] == 1, point};
    const auto axis = static_cast<std::size_t>(cell.at[1]);
    std::string name = corpus_name(subject, end);
    name.front() = end.key ? 'K' : 'Q';
    Explained out = begin(subject, name + ", on axis " + std::to_string(axis + 1));
    const std::span<const float> x = end.key ? corpus_plane_->k(point) : corpus_plane_->q(point);
    const std::vector<double>& mean = end.key ? plane.key_mean : plane.query_mean;
    const double stretch = end.key ? 1 / plane.stretch : plane.stretch;
    std::vector<Term> terms;
    double of_mean = 0;
    for (std::size_t a = 0; a < x.size(); ++a) {
        const double along = plane.axes[axis][a] * stretch;
        terms.push_back({static_cast<Index>(a), static_cast<double>(x[a]), along});
        of_mean += mean[a] * along;
    }
    add_terms(out, terms, PlaceOf(), PlaceOf(), {"x", "axis"});
    out.formula = end.key ? "Σ_a (k[a] − mean) · axis[a] / c" : "Σ_a (q[a] − mean) · c axis[a]";
    out.operands_title = std::string(end.key ? "Key · the axis / c" : "Query · c times the axis") +
                         ", with c = " + four(plane.stretch);
    const double sum = sum_of(terms);
    out.f64 = sum - of_mean;
    out.f32 = in_single((end.key ? plane.keys : plane.queries)[static_cast<std::size_t>(point)][axis]);
    circuit_step(out, "along the axis", "", sum);
    circuit_step(out, "place", four(sum) + " − " + four(of_mean) + ", that of the mean", out.f64, true);
    const Expression along = out.line("along", out.dot());
    out.line("place", along - of_mean);
    out.note = "Of the texts that stand for many; the run that is looked at elsewhere has another " +
               std::string(end.key ? "key." : "query.");
    return out;
}

std::optional<Explained> CircuitsLens::explain_plane(Subject& subject, const LensCell& cell) {
    const Index token = cell.at[2];
    if (now().part != CircuitsPart::plane || !plane_ || token < plane_->tokens.begin ||
        token >= plane_->tokens.end)
        return std::nullopt;
    const QueryKeyPlane& plane = *this->plane();
    const bool of_key = cell.at[0] == 1;
    const auto axis = static_cast<std::size_t>(cell.at[1]);
    const Attention& attention = *subject.attention();
    const auto record = attention.record(head_.layer);
    const std::string name =
        in_quotes(label_at(of_key ? attention.key_names() : attention.query_names(), token));
    Explained out = begin(subject, std::string(of_key ? "Key" : "Query") + " of " + name + " on axis " +
                                       std::to_string(axis + 1));
    out.provenance = "computed by " + attention.title();
    const ConstMatrix rows =
        of_key ? record->k().heads().head(record->kv_head(head_.head)) : record->q().heads().head(head_.head);
    const std::vector<double>& mean = of_key ? plane.key_mean : plane.query_mean;
    const double stretch = of_key ? 1 / plane.stretch : plane.stretch;
    std::vector<Term> terms;
    double of_mean = 0;
    for (Index a = 0; a < rows.cols; ++a) {
        const auto i = static_cast<std::size_t>(a);
        const double along = plane.axes[axis][i] * stretch;
        terms.push_back({a, static_cast<double>(rows(token, a)), along});
        of_mean += mean[i] * along;
    }
    const Stage stage = of_key ? Stage::k : Stage::q;
    add_terms(out, terms,
              [this, stage, token](Index a) {
                  return std::optional(CellPlace{head_, {.stage = stage, .row = token, .col = a}});
              },
              PlaceOf(), {"x", "axis"});
    out.formula = of_key ? "Σ_a (k[a] − mean) · axis[a] / c" : "Σ_a (q[a] − mean) · c axis[a]";
    out.operands_title = std::string(of_key ? "Key · the axis / c" : "Query · c times the axis") +
                         ", with c = " + four(plane.stretch);
    const double sum = sum_of(terms);
    out.f64 = sum - of_mean;
    const auto& places = of_key ? plane.keys : plane.queries;
    out.f32 = in_single(places[static_cast<std::size_t>(token - plane_->tokens.begin)][axis]);
    circuit_step(out, "along the axis", "", sum);
    circuit_step(out, "place", four(sum) + " − " + four(of_mean) + ", that of the mean", out.f64, true);
    const Expression along = out.line("along", out.dot());
    out.line("place", along - of_mean);
    out.note =
        "All keys may move by one vector without a change of any weight, and queries grow as keys shrink "
        "without a change of any score: so both have one mean and one spread here (Yeh et al. 2023).";
    return out;
}

}  // namespace attn::app
