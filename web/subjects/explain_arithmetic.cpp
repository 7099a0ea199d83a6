// Explains the kinds of arithmetic that a model does around its heads.
#include <cmath>

#include "app/stage_words.hpp"
#include "subjects/around.hpp"

namespace attn::app {

namespace {

Stage bias_of(Stage weights) {
    switch (weights) {
        case Stage::w_q: return Stage::b_q;
        case Stage::w_k: return Stage::b_k;
        case Stage::w_v: return Stage::b_v;
        case Stage::w_o: return Stage::b_o;
        case Stage::w_gate: return Stage::b_gate;
        case Stage::w_up: return Stage::b_up;
        case Stage::w_down: return Stage::b_down;
        default: return Stage::b_head;
    }
}

}  // namespace

void explain_linear(const Around& a, const LinearSum& sum, const PlaceOf& left, Stage weights,
                    const std::string& x) {
    const std::string w(symbol(weights));
    a.out.formula = "Σ_b " + x + "[" + a.token() + ", b] · " + w + "[b, " + a.column() + "]" +
                    (sum.bias != 0 ? " + bias[" + a.column() + "]" : "");
    a.out.operands_title = x + "[" + a.token() + ", ·] · " + w + "[·, " + a.column() + "]";
    add_terms(a.out, sum.terms, left, a.weights(weights), {"x", "w"});
    const double plain = sum.value() - sum.bias;
    add_step(a.out, "Σ", "", plain, sum.bias == 0);
    if (sum.bias != 0) {
        add_step(a.out, "bias", "", sum.bias, a.places(bias_of(weights), 0, a.cell.col));
        add_step(a.out, "+ bias", four(plain) + " + " + four(sum.bias), sum.value(), true);
    }
    a.out.f64 = sum.value();
    a.out.line("value", a.out.dot() + sum.bias);
}

void explain_sum(const Around& a, std::initializer_list<std::pair<std::string, CellPlace>> parts,
                 std::initializer_list<const Tensor*> tensors) {
    auto tensor = tensors.begin();
    for (const auto& [name, place] : parts) {
        const auto value = static_cast<double>((*tensor++)->matrix()(a.cell.row, a.cell.col));
        a.out.operands.push_back({name, value, 1, value, place, std::nullopt, place});
        a.out.f64 += value;
        a.out.formula += (a.out.formula.empty() ? "" : " + ") + name;
    }
    a.out.operands_title = "What is added up";
    a.out.line("value", a.out.sum());
}

const Norm* norm_of(const Around& a, NormRow which) {
    const Block& block = a.block();
    const AttentionSublayer& half = a.half();
    const Network& network = a.network();
    const auto first_of = [](const std::optional<Norm>& one, const std::optional<Norm>& other) {
        return one ? &*one : other ? &*other : nullptr;
    };
    const std::optional<Norm> none;
    switch (which) {
        case NormRow::heads: return first_of(half.attention_norm, none);
        case NormRow::mlp: return first_of(block.mlp_norm, none);
        case NormRow::final: return first_of(network.final_norm, none);
        case NormRow::after_heads:
            return first_of(half.attention_post_sublayer_norm, half.attention_post_residual_norm);
        case NormRow::after_mlp: return first_of(block.mlp_post_sublayer_norm, block.mlp_post_residual_norm);
        case NormRow::embedding: return first_of(network.embedding_norm, none);
        case NormRow::head: return network.head_transform ? &network.head_transform->norm : nullptr;
        case NormRow::q: return first_of(half.q_norm, none);
        case NormRow::k: return first_of(half.k_norm, none);
    }
    return nullptr;
}

void explain_norm(const Around& a, NormRow row, const Tensor& input, Stage of) {
    const Norm* found = norm_of(a, row);
    if (!found) return explain_sum(a, {{label(of), a.places(of, a.cell.row, a.cell.col)}}, {&input});
    const Norm& norm = *found;
    const auto which = static_cast<Index>(row);
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
    add_step(a.out, "x", name + "[" + a.column() + "]", why.x, a.places(of, a.cell.row, a.cell.col));
    if (centred) add_step(a.out, "mean", "", why.mean);
    add_step(a.out, centred ? "variance" : "mean of x²",
             centred ? "Σ (x − mean)² / " + size : four(sum) + " / " + size, why.variance);
    const double unit = (why.x - why.mean) / std::sqrt(why.variance + why.epsilon);
    add_step(a.out, "normalised", four(why.x - why.mean) + " / √(" + four(why.variance) + " + ε)", unit);
    a.out.f64 = why.value();
    const bool shifted = norm.bias.size() > 0;
    add_step(a.out, "gain", "", why.gain, a.places(Stage::norm_gain, which, a.cell.col));
    if (shifted) add_step(a.out, "bias", "", why.bias, a.places(Stage::norm_bias, which, a.cell.col));
    add_step(a.out, shifted ? "× gain + bias" : "× gain",
             four(unit) + " × " + four(why.gain) + (shifted ? " + " + four(why.bias) : ""), a.out.f64, true);
    Expression mean = 0, variance = 0;
    if (centred) {
        mean = a.out.line("mean", a.out.sum() / n);
        variance = a.out.line("variance", spread(a.out.left(), mean) / n);
    } else {
        variance = a.out.line("variance", a.out.dot() / n);
    }
    const Expression x_less_mean = centred ? why.x - mean : Expression(why.x),
                     normalised = a.out.line("normalised", x_less_mean / sqrt(variance + why.epsilon));
    a.out.line("value", normalised * why.gain + why.bias);
}

Expression activated(Activation activation, const Expression& x) {
    switch (activation) {
        case Activation::none: break;
        case Activation::relu: return max(x, 0);
        case Activation::gelu: return x * 0.5 * erfc((0 - x) / sqrt(Expression(2)));
        case Activation::gelu_tanh:
            return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
        case Activation::silu: return x / (1 + exp(0 - x));
    }
    return x;
}

void explain_active_gate(const Around& a) {
    const auto x = a.values(a.at_layer().mlp_input);
    const LinearSum gate = explain_linear(*a.block().mlp.gate, x, a.cell.col);
    const Activation activation = a.config().activation;
    a.out.f32 =
        static_cast<double>(static_cast<float>(activated(activation, static_cast<double>(gate.f32()))));
    a.out.f64 = activated(activation, gate.value());
    a.out.formula = "act(Gate[" + a.token() + ", " + a.column() + "])";
    add_step(a.out, "gate", "MLP input · W_gate", gate.value(),
             a.places(Stage::gate, a.cell.row, a.cell.col));
    add_step(a.out, "activation", "of " + four(gate.value()), a.out.f64, true);
    a.out.line("active", activated(activation, a.out.line("x_in", gate.value())));
}

void explain_hidden(const Around& a) {
    const auto x = a.values(a.at_layer().mlp_input);
    const LinearSum up = explain_linear(a.block().mlp.up, x, a.cell.col);
    const Activation activation = a.config().activation;
    if (a.block().mlp.gate) {
        const double active =
            activated(activation, explain_linear(*a.block().mlp.gate, x, a.cell.col).value());
        const CellPlace active_at = a.places(Stage::active_gate, a.cell.row, a.cell.col),
                        up_at = a.places(Stage::up, a.cell.row, a.cell.col);
        a.out.f64 = active * up.value();
        a.out.formula =
            "Active gate[" + a.token() + ", " + a.column() + "] · Up[" + a.token() + ", " + a.column() + "]";
        a.out.operands_title = "Active gate · Up";
        a.out.operands.push_back({"", active, up.value(), a.out.f64, active_at, up_at});
        a.out.left_name = "active";
        a.out.right_name = "up";
        a.out.line("value", a.out.dot());
        return;
    }
    explain_linear(a, up, a.row(Stage::mlp_input), Stage::w_up, "MLP input");
    for (auto& each : a.out.steps) each.current = false;
    a.out.calculation.clear();
    a.out.f64 = activated(activation, up.value());
    add_step(a.out, "activation", "of " + four(up.value()), a.out.f64, true);
    a.out.line("active", activated(activation, a.out.line("x_in", a.out.dot() + up.bias)));
    a.out.formula = "act(" + a.out.formula + ")";
}

void explain_attended(const Around& a) {
    const Record& record = a.half_trace().attention;
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
    const LinearSum sum = explain_linear(a.half().attention_out, outputs, a.cell.col);
    explain_linear(a, sum, of_head(Stage::output), Stage::w_o, "Output");
    for (std::size_t i = 0; i < a.out.operands.size(); ++i) {
        a.out.operands[i].name =
            std::to_string(static_cast<Index>(i) / d) + "." + std::to_string(static_cast<Index>(i) % d);
        a.out.operands[i].right_at = of_head(Stage::w_o)(static_cast<Index>(i));
    }
    a.out.operands_title = "Outputs of all heads · W_O, by head.component";
}

void explain_projected_value(const Around& a) {
    const Record& record = a.half_trace().attention;
    const Index head = a.places.head.head, d = record.d_v();
    const ConstMatrix v = record.v().heads().head(record.kv_head(head));
    LinearSum sum;
    for (Index b = 0; b < d; ++b) {
        const double weight = element(a.half().attention_out.weight, head * d + b, a.cell.col);
        sum.terms.push_back({b, static_cast<double>(v(a.cell.row, b)), weight});
    }
    explain_linear(a, sum, a.row(Stage::v), Stage::w_o, "V");
    a.out.f32 = static_cast<double>(sum.f32());
}

}  // namespace attn::app
