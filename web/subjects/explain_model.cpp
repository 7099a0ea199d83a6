// Explains what a model computes around its heads: each number by those before it, back to the embeddings, and each weight by
// its place in a file.
#include <cmath>

#include "app/format.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

std::string four(double value) { return fixed(value, 4); }

struct Around {
    Explained& out;
    const TextRun& run;
    const Places& places;
    const CellRef& cell;

    const Trace& trace() const { return *run.run; }
    const Model& model() const { return *trace().model(); }
    const ModelConfig& config() const { return model().config(); }
    const Network& network() const { return model().network(); }
    Index layer() const { return places.head.layer; }
    const LayerTrace& at(Index layer) const { return trace().layers()[static_cast<std::size_t>(layer)]; }
    const Block& block() const { return network().blocks[static_cast<std::size_t>(layer())]; }
    std::string token() const { return in_quotes(label_at(run.pieces, cell.row)); }
    std::string column() const { return std::to_string(cell.col); }
    PlaceOf row(Stage stage) const {
        return [places = places, stage, row = cell.row](Index i) { return places(stage, row, i); };
    }
    PlaceOf weights(Stage stage) const {
        return [places = places, stage, col = cell.col](Index i) { return places(stage, i, col); };
    }
    std::span<const float> values(const Tensor& tensor) const {
        return {tensor.matrix().row(cell.row), static_cast<std::size_t>(tensor.dim(1))};
    }
};

// Says what the sum of the operands becomes: with a bias, with positions turned.
void step(Explained& out, const char* name, std::string arithmetic, double value, bool current = false) {
    out.steps.push_back({name, std::move(arithmetic), four(value), current});
}

void linear(const Around& a, const LinearSum& sum, const PlaceOf& left, Stage weights, const std::string& x) {
    const std::string w(symbol(weights));
    a.out.formula = "Σ_b " + x + "[" + a.token() + ", b] · " + w + "[b, " + a.column() + "]" +
                    (sum.bias != 0 ? " + bias[" + a.column() + "]" : "");
    a.out.operands_title = x + "[" + a.token() + ", ·] · " + w + "[·, " + a.column() + "]";
    add_terms(a.out, sum.terms, left, a.weights(weights), {"x", "w"});
    const double plain = sum.value() - sum.bias;
    step(a.out, "Σ", "", plain, sum.bias == 0);
    if (sum.bias != 0) step(a.out, "+ bias", four(plain) + " + " + four(sum.bias), sum.value(), true);
    a.out.f64 = sum.value();
    add_line(a.out, "value", "dot(x, w) + " + in_expression(sum.bias), a.out.f64);
}

void sum_of(const Around& a, std::initializer_list<std::pair<const char*, CellPlace>> parts,
            std::initializer_list<const Tensor*> tensors) {
    auto tensor = tensors.begin();
    for (const auto& [name, place] : parts) {
        const auto value = static_cast<double>((*tensor++)->matrix()(a.cell.row, a.cell.col));
        a.out.operands.push_back({name, value, 1, value, place, std::nullopt, place});
        a.out.f64 += value;
        a.out.formula += (a.out.formula.empty() ? "" : " + ") + std::string(name);
    }
    a.out.operands_title = "What is added up";
    add_line(a.out, "value", "sum(a)", a.out.f64);
}

void norm(const Around& a, const Norm& norm, const Tensor& input, Stage of) {
    const auto x = a.values(input);
    const Normalised why = explain_norm(norm, x, a.cell.col);
    const bool centred = norm.kind == Norm::Kind::layer;
    const auto n = static_cast<double>(x.size());
    std::vector<Term> terms;
    double sum = 0;
    for (const float each : x) {
        const auto value = static_cast<double>(each);
        terms.push_back({std::ssize(terms), value, centred ? 1 / n : value});
        sum += terms.back().product();
    }
    const std::string name(symbol(of)), size = std::to_string(x.size());
    a.out.formula = centred ? "(x − mean) / √(variance + ε) · gain + bias" : "x / √(mean of x² + ε) · gain";
    a.out.operands_title = centred ? name + "[" + a.token() + ", ·] / " + size + ": the mean"
                                   : name + "[" + a.token() + ", ·]², for the mean square";
    add_terms(a.out, terms, a.row(of), centred ? PlaceOf() : a.row(of), {"x", "x"});
    a.out.steps.push_back({"x", name + "[" + a.column() + "]", four(why.x), false, a.row(of)(a.cell.col)});
    if (centred) step(a.out, "mean", "", why.mean);
    step(a.out, centred ? "variance" : "mean of x²", centred ? "" : four(sum) + " / " + size, why.variance);
    const double unit = (why.x - why.mean) / std::sqrt(why.variance + why.epsilon);
    step(a.out, "normalised", four(why.x - why.mean) + " / √(" + four(why.variance) + " + ε)", unit);
    a.out.f64 = why.value();
    step(a.out, "× gain",
         four(unit) + " × " + four(why.gain) + (norm.bias.size() ? " + " + four(why.bias) : ""), a.out.f64,
         true);
    if (centred) {
        add_line(a.out, "mean", "sum(x) / " + size, why.mean);
        add_line(a.out, "variance", "spread(x, mean) / " + size, why.variance);
    } else {
        add_line(a.out, "mean", "0", 0);
        add_line(a.out, "variance", "dot(x, x) / " + size, why.variance);
    }
    add_line(a.out, "normalised",
             "(" + in_expression(why.x) + " - mean) / sqrt(variance + " + in_expression(why.epsilon) + ")",
             unit);
    add_line(a.out, "value", "normalised * " + in_expression(why.gain) + " + " + in_expression(why.bias),
             a.out.f64);
}

std::string activation_expression(Activation activation) {
    switch (activation) {
        case Activation::none: return "x_in";
        case Activation::relu: return "max(x_in, 0)";
        case Activation::gelu: return "x_in * 0.5 * erfc((0 - x_in) / sqrt(2))";
        case Activation::gelu_tanh:
            return "0.5 * x_in * (1 + tanh(0.7978845608028654 * (x_in + 0.044715 * x_in * x_in * x_in)))";
        case Activation::silu: return "x_in / (1 + exp(0 - x_in))";
    }
    return "x_in";
}

void hidden(const Around& a) {
    const auto x = a.values(a.at(a.layer()).mlp_input);
    const LinearSum up = explain_linear(a.block().up, x, a.cell.col);
    linear(a, up, a.row(Stage::mlp_input), Stage::w_up, "MLP input");
    for (auto& each : a.out.steps) each.current = false;
    a.out.lines.clear();
    const Activation activation = a.config().activation;
    double in = up.value();
    if (a.block().gate) {
        const LinearSum gate = explain_linear(*a.block().gate, x, a.cell.col);
        Explained::Vector column{"w_gate", {}};
        for (const Term& term : gate.terms) column.values.push_back(term.right);
        a.out.vectors.push_back(std::move(column));
        a.out.steps.push_back({"gate", "MLP input · W_gate", four(gate.value()), false,
                               a.places(Stage::w_gate, 0, a.cell.col)});
        in = gate.value();
        add_line(a.out, "x_in", "dot(x, w_gate) + " + in_expression(gate.bias), in);
        add_line(a.out, "up", "dot(x, w) + " + in_expression(up.bias), up.value());
    } else {
        add_line(a.out, "x_in", "dot(x, w) + " + in_expression(up.bias), in);
    }
    const double active = activated(activation, in);
    step(a.out, "activation", "of " + four(in), active, !a.block().gate);
    add_line(a.out, "active", activation_expression(activation), active);
    a.out.f64 = active;
    if (a.block().gate) {
        a.out.f64 = active * up.value();
        step(a.out, "× up", four(active) + " × " + four(up.value()), a.out.f64, true);
        add_line(a.out, "value", "active * up", a.out.f64);
    }
    a.out.formula = "act(" + a.out.formula + ")";
}

void attended(const Around& a) {
    const Record& record = a.at(a.layer()).attention;
    const Index d = record.d_v();
    std::vector<float> outputs;
    for (Index head = 0; head < record.heads(); ++head) {
        const float* row = record.output().heads().head(head).row(a.cell.row);
        outputs.insert(outputs.end(), row, row + d);
    }
    const auto of_head = [&](Stage stage) -> PlaceOf {
        return [places = a.places, cell = a.cell, stage, d](Index i) {
            const Places own{{places.head.layer, i / d}, places.second};
            return stage == Stage::output ? own(stage, cell.row, i % d) : own(stage, i % d, cell.col);
        };
    };
    const LinearSum sum = explain_linear(a.block().attention_out, outputs, a.cell.col);
    linear(a, sum, of_head(Stage::output), Stage::w_o, "Output");
    for (std::size_t i = 0; i < a.out.operands.size(); ++i) {
        a.out.operands[i].name =
            std::to_string(static_cast<Index>(i) / d) + "." + std::to_string(static_cast<Index>(i) % d);
        a.out.operands[i].right_at = of_head(Stage::w_o)(static_cast<Index>(i));
    }
    a.out.operands_title = "Outputs of all heads · W_O, by head.component";
}

void projected_value(const Around& a) {
    const Record& record = a.at(a.layer()).attention;
    const Index head = a.places.head.head, d = record.d_v();
    const ConstMatrix v = record.v().heads().head(record.kv_head(head));
    LinearSum sum;
    float f32 = 0;
    for (Index b = 0; b < d; ++b) {
        const double weight = element(a.block().attention_out.weight, head * d + b, a.cell.col);
        sum.terms.push_back({b, static_cast<double>(v(a.cell.row, b)), weight});
        f32 += v(a.cell.row, b) * static_cast<float>(weight);
    }
    linear(a, sum, a.row(Stage::v), Stage::w_o, "V");
    a.out.f32 = static_cast<double>(f32);
}

// The view of a stage's weight matrix, and where in it the head's part begins.
struct View {
    const WeightView* weight = nullptr;
    Index first_in = 0, first_out = 0, rows = 0, cols = 0;
};
View view_of(const Around& a) {
    const auto whole = [](const WeightView& weight) { return View{&weight, 0, 0, weight.in, weight.out}; };
    const auto vector = [&](Stage stage, Index heads) {
        const Index head = a.places.head.head * heads / a.config().heads;
        const QkvColumn first = qkv_column(a.model(), stage, a.layer(), head, 0);
        return View{&first.linear->weight, 0, first.out, first.linear->weight.in, a.config().head_dim};
    };
    const Index d = a.config().head_dim;
    switch (a.cell.stage) {
        case Stage::w_q: return vector(Stage::q, a.config().heads);
        case Stage::w_k: return vector(Stage::k, a.config().kv_heads);
        case Stage::w_v: return vector(Stage::v, a.config().kv_heads);
        case Stage::w_o: {
            const WeightView& weight = a.block().attention_out.weight;
            return {&weight, a.places.head.head * d, 0, d, weight.out};
        }
        case Stage::w_gate: return a.block().gate ? whole(a.block().gate->weight) : View{};
        case Stage::w_up: return whole(a.block().up.weight);
        case Stage::w_down: return whole(a.block().down.weight);
        case Stage::w_head: return whole(a.network().head.weight);
        default: return {};
    }
}

void stored(const Around& a, const WeightView& view, Index in, Index out) {
    a.out.f64 = element(view, in, out);
    a.out.f32 = static_cast<double>(static_cast<float>(a.out.f64));
    const StoredAt place = stored_at(a.model(), view, in, out);
    a.out.steps.push_back({"value", "as stored", fixed(a.out.f64, 6), true});
    if (place.weight)
        a.out.note = "Stored as " + std::string(name(place.weight->dtype)) + " in " + place.weight->name +
                     ", at byte " + with_commas(static_cast<std::ptrdiff_t>(place.byte)) + " of " +
                     place.weight->file + ".";
}

// The numbers of all tokens that the run kept; null for other stages.
const Tensor* kept(const Around& a) {
    const LayerTrace& layer = a.at(a.layer());
    switch (a.cell.stage) {
        case Stage::embedding: return &a.trace().token_embedding();
        case Stage::position:
            return a.trace().position_embedding().size() ? &a.trace().position_embedding() : nullptr;
        case Stage::residual: return &layer.residual_in;
        case Stage::normalised: return &layer.attention_input;
        case Stage::attended: return &layer.attention_output;
        case Stage::middle: return &layer.residual_middle;
        case Stage::mlp_input: return &layer.mlp_input;
        case Stage::mlp_hidden: return &layer.mlp_hidden;
        case Stage::mlp_output: return &layer.mlp_output;
        case Stage::final_residual: return &a.trace().final_residual();
        case Stage::final_norm: return &a.trace().final_norm();
        default: return nullptr;
    }
}

void residual(const Around& a, Index layer) {
    const auto here = [&](Stage stage) {
        return a.places.of_layer(layer - 1, stage, a.cell.row, a.cell.col);
    };
    if (layer > 0) {
        const LayerTrace& before = a.at(layer - 1);
        return sum_of(a, {{"middle", here(Stage::middle)}, {"MLP", here(Stage::mlp_output)}},
                      {&before.residual_middle, &before.mlp_output});
    }
    const CellPlace embedding = a.places(Stage::embedding, a.cell.row, a.cell.col),
                    position = a.places(Stage::position, a.cell.row, a.cell.col);
    if (a.trace().position_embedding().size())
        return sum_of(a, {{"embedding", embedding}, {"position", position}},
                      {&a.trace().token_embedding(), &a.trace().position_embedding()});
    sum_of(a, {{"embedding", embedding}}, {&a.trace().token_embedding()});
}

void explain_kept(const Around& a) {
    const LayerTrace& layer = a.at(a.layer());
    const auto id = static_cast<Index>(a.trace().ids()[static_cast<std::size_t>(a.cell.row)]);
    switch (a.cell.stage) {
        case Stage::embedding:
            stored(a, a.network().token_embedding, a.cell.col, id);
            a.out.formula = "row " + std::to_string(id) + " of the embedding, the id of " + a.token();
            break;
        case Stage::position:
            stored(a, *a.network().position_embedding, a.cell.col, a.cell.row);
            a.out.formula = "row " + std::to_string(a.cell.row) + " of the position embedding";
            break;
        case Stage::residual: residual(a, a.layer()); break;
        case Stage::final_residual: residual(a, a.config().layers); break;
        case Stage::normalised: norm(a, a.block().attention_norm, layer.residual_in, Stage::residual); break;
        case Stage::mlp_input: norm(a, a.block().mlp_norm, layer.residual_middle, Stage::middle); break;
        case Stage::final_norm:
            norm(a, a.network().final_norm, a.trace().final_residual(), Stage::final_residual);
            break;
        case Stage::attended: attended(a); break;
        case Stage::middle:
            sum_of(a,
                   {{"residual", a.places(Stage::residual, a.cell.row, a.cell.col)},
                    {"attention", a.places(Stage::attended, a.cell.row, a.cell.col)}},
                   {&layer.residual_in, &layer.attention_output});
            break;
        case Stage::mlp_hidden: hidden(a); break;
        case Stage::mlp_output:
            linear(a, explain_linear(a.block().down, a.values(layer.mlp_hidden), a.cell.col),
                   a.row(Stage::mlp_hidden), Stage::w_down, "MLP hidden");
            break;
        default: break;
    }
}

}  // namespace

std::optional<Explained> explain_model_cell(const TextRun& run, const Places& places, const CellRef& cell) {
    Explained out;
    const Around a{out, run, places, cell};
    const auto within = [&](Index rows, Index cols) {
        return cell.row >= 0 && cell.row < rows && cell.col >= 0 && cell.col < cols;
    };
    out.title = std::string(symbol(cell.stage)) + "[";
    if (const View view = view_of(a); view.weight) {
        if (!within(view.rows, view.cols)) return std::nullopt;
        out.title += std::to_string(cell.row) + ", " + a.column() + "]";
        stored(a, *view.weight, view.first_in + cell.row, view.first_out + cell.col);
        return out;
    }
    out.title += a.token() + ", " + a.column() + "]";
    if (const Tensor* tensor = kept(a)) {
        if (!within(tensor->dim(0), tensor->dim(1))) return std::nullopt;
        out.f32 = static_cast<double>(tensor->matrix()(cell.row, cell.col));
        explain_kept(a);
        return out;
    }
    if (cell.stage == Stage::value_out && within(run.tokens(), a.config().d_model)) {
        projected_value(a);
        return out;
    }
    if (cell.stage == Stage::logit && within(run.tokens(), a.config().vocab_size)) {
        linear(a, explain_linear(a.network().head, a.values(a.trace().final_norm()), cell.col),
               a.row(Stage::final_norm), Stage::w_head, "Final norm");
        const bool last = cell.row + 1 == run.tokens() && run.logits.size() > 0;
        const Tensor other = last ? Tensor() : run.run->logits({cell.row, cell.row + 1});
        out.f32 = static_cast<double>((last ? run.logits : other).matrix()(0, cell.col));
        return out;
    }
    return std::nullopt;
}

void explain_projection(Explained& out, const TextRun& run, const Places& places, const CellRef& cell) {
    const Around a{out, run, places, cell};
    const Index head = places.head.head,
                own = cell.stage == Stage::q ? head : run.record_at(a.layer()).kv_head(head);
    const Stage w = cell.stage == Stage::q ? Stage::w_q : cell.stage == Stage::k ? Stage::w_k : Stage::w_v;
    const VectorComponent why = explain_component(*run.run, cell.stage, a.layer(), own, cell.row, cell.col);
    linear(a, why.own, a.row(Stage::normalised), w, "Norm");
    if (why.partner_component < 0) return;
    for (auto& each : out.steps) each.current = false;
    out.lines.clear();
    Explained::Vector column{"w_partner", {}};
    for (const Term& term : why.partner.terms) column.values.push_back(term.right);
    out.vectors.push_back(std::move(column));
    const double partner = why.partner.value();
    const std::string other = std::to_string(why.partner_component);
    out.f64 = why.value();
    out.steps.push_back({"component " + other, "the other of its pair", four(partner), false,
                         places(w, 0, why.partner_component)});
    step(out, "turned",
         four(why.own.value()) + " × " + four(why.cosine) + " + " + four(partner) + " × " + four(why.sine),
         out.f64, true);
    add_line(out, "own", "dot(x, w) + " + in_expression(why.own.bias), why.own.value());
    add_line(out, "partner", "dot(x, w_partner) + " + in_expression(why.partner.bias), partner);
    add_line(out, "turned", "own * " + in_expression(why.cosine) + " + partner * " + in_expression(why.sine),
             out.f64);
    out.formula += ", turned with component " + other + " by its position's angle";
}

}  // namespace attn::app
