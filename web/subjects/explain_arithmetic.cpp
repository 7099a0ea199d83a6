// Explains the kinds of arithmetic that a model does around its heads.
#include <cmath>

#include "subjects/around.hpp"

namespace attn::app {

void explain_linear(const Around& a, const LinearSum& sum, const PlaceOf& left, Stage weights,
                    const std::string& x) {
    const std::string w(symbol(weights));
    a.out.formula = "Σ_b " + x + "[" + a.token() + ", b] · " + w + "[b, " + a.column() + "]" +
                    (sum.bias != 0 ? " + bias[" + a.column() + "]" : "");
    a.out.operands_title = x + "[" + a.token() + ", ·] · " + w + "[·, " + a.column() + "]";
    add_terms(a.out, sum.terms, left, a.weights(weights), {"x", "w"});
    const double plain = sum.value() - sum.bias;
    add_step(a.out, "Σ", "", plain, sum.bias == 0);
    if (sum.bias != 0) add_step(a.out, "+ bias", four(plain) + " + " + four(sum.bias), sum.value(), true);
    a.out.f64 = sum.value();
    add_line(a.out, "value", "dot(x, w) + " + in_expression(sum.bias), a.out.f64);
}

void explain_sum(const Around& a, std::initializer_list<std::pair<const char*, CellPlace>> parts,
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

void explain_norm(const Around& a, const Norm& norm, const Tensor& input, Stage of) {
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
    if (centred) add_step(a.out, "mean", "", why.mean);
    add_step(a.out, centred ? "variance" : "mean of x²", centred ? "" : four(sum) + " / " + size,
             why.variance);
    const double unit = (why.x - why.mean) / std::sqrt(why.variance + why.epsilon);
    add_step(a.out, "normalised", four(why.x - why.mean) + " / √(" + four(why.variance) + " + ε)", unit);
    a.out.f64 = why.value();
    add_step(a.out, "× gain",
             four(unit) + " × " + four(why.gain) + (norm.bias.size() ? " + " + four(why.bias) : ""),
             a.out.f64, true);
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

namespace {

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

}  // namespace

void explain_hidden(const Around& a) {
    const auto x = a.values(a.at(a.layer()).mlp_input);
    const LinearSum up = explain_linear(a.block().up, x, a.cell.col);
    explain_linear(a, up, a.row(Stage::mlp_input), Stage::w_up, "MLP input");
    for (auto& each : a.out.steps) each.current = false;
    a.out.lines.clear();
    const Activation activation = a.config().activation;
    double in = up.value();
    if (a.block().gate) {
        const LinearSum gate = explain_linear(*a.block().gate, x, a.cell.col);
        Explained::Vector column{"w_gate", {}};
        for (const Term& term : gate.terms) column.values.push_back(term.right);
        a.out.vectors.push_back(std::move(column));
        add_step(a.out, "gate", "MLP input · W_gate", gate.value());
        in = gate.value();
        add_line(a.out, "x_in", "dot(x, w_gate) + " + in_expression(gate.bias), in);
        add_line(a.out, "up", "dot(x, w) + " + in_expression(up.bias), up.value());
    } else {
        add_line(a.out, "x_in", "dot(x, w) + " + in_expression(up.bias), in);
    }
    const double active = activated(activation, in);
    add_step(a.out, "activation", "of " + four(in), active, !a.block().gate);
    add_line(a.out, "active", activation_expression(activation), active);
    a.out.f64 = active;
    if (a.block().gate) {
        a.out.f64 = active * up.value();
        add_step(a.out, "× up", four(active) + " × " + four(up.value()), a.out.f64, true);
        add_line(a.out, "value", "active * up", a.out.f64);
    }
    a.out.formula = "act(" + a.out.formula + ")";
}

void explain_attended(const Around& a) {
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
    explain_linear(a, sum, of_head(Stage::output), Stage::w_o, "Output");
    for (std::size_t i = 0; i < a.out.operands.size(); ++i) {
        a.out.operands[i].name =
            std::to_string(static_cast<Index>(i) / d) + "." + std::to_string(static_cast<Index>(i) % d);
        a.out.operands[i].right_at = of_head(Stage::w_o)(static_cast<Index>(i));
    }
    a.out.operands_title = "Outputs of all heads · W_O, by head.component";
}

void explain_projected_value(const Around& a) {
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
    explain_linear(a, sum, a.row(Stage::v), Stage::w_o, "V");
    a.out.f32 = static_cast<double>(f32);
}

}  // namespace attn::app
