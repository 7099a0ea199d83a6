// Explains what only some families compute: norms after a sublayer, sums of embeddings, experts, caps and
// separate unembeddings.
#include <cmath>

#include "app/stage_words.hpp"
#include "model/block.hpp"
#include "subjects/around.hpp"

namespace attn::app {

namespace {

struct Half {
    SublayerNorms norms;
    NormRow row;
    const char *before_name, *output_name;
    Stage before, output, between;
    const Tensor *before_values, *output_values, *between_values;
};
Half half_of(const Around& a, bool of_attention) {
    const LayerTrace& l = a.at_layer();
    const AttentionTrace& h = a.half_trace();
    if (of_attention)
        return {after_attention(a.half()),
                NormRow::after_heads,
                "residual",
                "attention",
                Stage::resid_pre,
                Stage::attention_output,
                Stage::attention_between,
                &h.resid_pre,
                &h.attention_output,
                &h.attention_between};
    return {after_mlp(a.block()), NormRow::after_mlp, "middle",     "MLP",         Stage::resid_mid,
            Stage::mlp_output,    Stage::mlp_between, &l.resid_mid, &l.mlp_output, &l.mlp_between};
}

void explain_half_sum(const Around& a, const Half& half, bool normalised) {
    const auto here = [&](Stage stage) { return a.places(stage, a.cell.row, a.cell.col); };
    if (normalised)
        return explain_sum(a,
                           {{half.before_name, here(half.before)}, {label(half.between), here(half.between)}},
                           {half.before_values, half.between_values});
    explain_sum(a, {{half.before_name, here(half.before)}, {half.output_name, here(half.output)}},
                {half.before_values, half.output_values});
}

const Mlp& expert_of(const Around& a, Index slot) {
    const auto number = static_cast<std::size_t>(a.at_layer().chosen_experts.matrix()(a.cell.row, slot));
    return a.block().experts->all[number];
}

std::string number_of(const Around& a, Index slot) {
    return std::to_string(static_cast<Index>(a.at_layer().chosen_experts.matrix()(a.cell.row, slot)));
}

}  // namespace

void explain_left(const Around& a, bool of_attention) {
    const Half half = half_of(a, of_attention);
    if (half.norms.post_residual_norm) return explain_norm(a, half.row, *half.between_values, half.between);
    explain_half_sum(a, half, half.norms.post_sublayer_norm.has_value());
}

void explain_between(const Around& a, bool of_attention) {
    const Half half = half_of(a, of_attention);
    if (half.norms.post_residual_norm) return explain_half_sum(a, half, false);
    explain_norm(a, half.row, *half.output_values, half.output);
}

void explain_embedding(const Around& a) {
    const Network& network = a.network();
    const auto id = static_cast<Index>(a.trace().ids()[static_cast<std::size_t>(a.cell.row)]);
    if (!network.project_in) {
        const double row = element(network.token_embedding, a.cell.col, id);
        a.out.f64 = row * network.embedding_scale;
        a.out.formula = "row " + std::to_string(id) + " of the embedding, the id of " + a.token() +
                        ", times " + four(network.embedding_scale);
        add_step(a.out, "W_E", "row " + std::to_string(id), row, a.places(Stage::w_token, id, a.cell.col));
        add_step(a.out, "scaled", four(row) + " × " + four(network.embedding_scale), a.out.f64, true);
        a.out.line("value", Expression(row) * network.embedding_scale);
        return;
    }
    std::vector<float> row;
    for (Index i = 0; i < network.token_embedding.in; ++i)
        row.push_back(static_cast<float>(element(network.token_embedding, i, id)));
    const LinearSum sum = explain_linear(*network.project_in, row, a.cell.col);
    a.out.formula = "Σ_b W_E[" + std::to_string(id) + ", b] · project_in[b, " + a.column() + "]";
    a.out.operands_title = "The embedding, widened to the residual";
    add_terms(a.out, sum.terms, [&](Index i) { return std::optional(a.places(Stage::w_token, id, i)); },
              PlaceOf(), {"x", "w"});
    a.out.f64 = sum.value();
    add_step(a.out, "Σ", "", a.out.f64, true);
    a.out.line("value", a.out.dot());
}

void explain_embedding_sum(const Around& a) {
    const auto here = [&](Stage stage) { return a.places(stage, a.cell.row, a.cell.col); };
    const Trace& t = a.trace();
    const auto token = std::pair{"embedding", here(Stage::embedding)},
               position = std::pair{"position", here(Stage::position)},
               segment = std::pair{"segment", here(Stage::segment)};
    if (t.segment_embedding().size())
        return explain_sum(a, {token, position, segment},
                           {&t.token_embedding(), &t.position_embedding(), &t.segment_embedding()});
    if (t.position_embedding().size())
        return explain_sum(a, {token, position}, {&t.token_embedding(), &t.position_embedding()});
    explain_sum(a, {token}, {&t.token_embedding()});
}

void explain_router_score(const Around& a) {
    const Experts& experts = *a.block().experts;
    const LinearSum sum = explain_linear(experts.router, a.values(a.at_layer().mlp_input), a.cell.col);
    a.out.formula = "Σ_b MLP input[" + a.token() + ", b] · router[b, " + a.column() + "]";
    a.out.operands_title = "MLP input · what the router asks of expert " + a.column();
    add_terms(a.out, sum.terms, a.row(Stage::mlp_input), PlaceOf(), {"x", "w"});
    a.out.f64 = sum.value();
    a.out.f32 = static_cast<double>(sum.f32());
    add_step(a.out, "score", sum.bias == 0 ? "Σ" : "Σ + bias " + four(sum.bias), a.out.f64, true);
    a.out.line("value", sum.bias == 0 ? a.out.dot() : a.out.dot() + sum.bias);
    a.out.note = "The router is " + experts.router.name + ". Of " + std::to_string(experts.all.size()) +
                 " experts, the " + std::to_string(experts.per_token) +
                 " with the highest scores take the token.";
}

void explain_expert_weight(const Around& a) {
    const LayerTrace& l = a.at_layer();
    const Experts& experts = *a.block().experts;
    const auto x = a.values(l.mlp_input);
    double sum = 0, own = 0;
    a.out.operands_title = "exp of the scores of the experts that this token takes";
    for (Index slot = 0; slot < experts.per_token; ++slot) {
        const auto number = static_cast<Index>(l.chosen_experts.matrix()(a.cell.row, slot));
        const double score = explain_linear(experts.router, x, number).value(), power = std::exp(score);
        a.out.operands.push_back({"expert " + number_of(a, slot), power, 1, power, std::nullopt, std::nullopt,
                                  a.places(Stage::router_score, a.cell.row, number)});
        sum += power;
        if (slot != a.cell.col) continue;
        own = power;
        add_step(a.out, "router score", "of expert " + number_of(a, slot), score,
                 a.places(Stage::router_score, a.cell.row, number));
    }
    a.out.f64 = own / sum;
    a.out.formula = "exp(score) / Σ exp(score), of expert " + number_of(a, a.cell.col);
    add_step(a.out, "weight", four(own) + " / " + four(sum), a.out.f64, true);
    a.out.line("value", own / a.out.sum());
}

void explain_expert_hidden(const Around& a) {
    const Index d_ff = a.config().d_ff, slot = a.cell.col / d_ff, unit = a.cell.col % d_ff;
    const Mlp& mlp = expert_of(a, slot);
    const auto x = a.values(a.at_layer().mlp_input);
    const double gate = explain_linear(*mlp.gate, x, unit).value(),
                 up = explain_linear(mlp.up, x, unit).value(),
                 active = activated(a.config().activation, gate);
    a.out.f64 = active * up;
    a.out.formula = "act(gate) · up, of unit " + std::to_string(unit) + " of expert " + number_of(a, slot);
    a.out.operands_title = "Active gate · Up";
    a.out.operands.push_back({"", active, up, a.out.f64});
    a.out.left_name = "active";
    a.out.right_name = "up";
    add_step(a.out, "gate", "MLP input · W_gate of the expert", gate);
    add_step(a.out, "activation", "of " + four(gate), active);
    add_step(a.out, "up", "MLP input · W_up of the expert", up);
    a.out.line("value", a.out.dot());
}

void explain_expert_output(const Around& a) {
    const LayerTrace& l = a.at_layer();
    a.out.operands_title = "Weight of each expert · what it makes of the token";
    a.out.formula = "Σ_e weight[e] · (hidden[e] · W_down[e])[" + a.column() + "]";
    const Index d_ff = a.config().d_ff;
    for (Index slot = 0; slot < a.block().experts->per_token; ++slot) {
        const auto hidden =
            a.values(l.mlp_hidden)
                .subspan(static_cast<std::size_t>(slot * d_ff), static_cast<std::size_t>(d_ff));
        const double made = explain_linear(expert_of(a, slot).down, hidden, a.cell.col).value(),
                     weight = static_cast<double>(l.expert_weights.matrix()(a.cell.row, slot));
        a.out.operands.push_back({"expert " + number_of(a, slot), weight, made, weight * made,
                                  a.places(Stage::expert_weight, a.cell.row, slot)});
        a.out.f64 += weight * made;
    }
    a.out.left_name = "weight";
    a.out.right_name = "made";
    add_step(a.out, "Σ", "", a.out.f64, true);
    a.out.line("value", a.out.dot());
}

void explain_head_input(const Around& a) {
    const Network& network = a.network();
    const auto x = a.values(a.trace().final_norm());
    if (network.project_out) {
        const LinearSum sum = explain_linear(*network.project_out, x, a.cell.col);
        a.out.formula = "Σ_b Final norm[" + a.token() + ", b] · project_out[b, " + a.column() + "]";
        a.out.operands_title = "The residual, narrowed to the embedding";
        add_terms(a.out, sum.terms, a.row(Stage::final_norm), PlaceOf(), {"x", "w"});
        a.out.f64 = sum.value();
        add_step(a.out, "Σ", "", a.out.f64, true);
        a.out.line("value", a.out.dot());
        return;
    }
    if (!network.head_transform) {
        // T5 v1.0 scales the input of its unembedding, which is tied to its embedding (Raffel et al. 2020,
        // arXiv 1910.10683).
        const auto value = static_cast<double>(x[static_cast<std::size_t>(a.cell.col)]);
        a.out.f64 = value * network.head_scale;
        a.out.formula = "Final norm[" + a.token() + ", " + a.column() + "] · d_model^−½";
        add_step(a.out, "final norm", "", value, a.places(Stage::final_norm, a.cell.row, a.cell.col));
        add_step(a.out, "scaled", four(value) + " × " + four(network.head_scale), a.out.f64, true);
        a.out.line("value", Expression(value) * network.head_scale);
        return;
    }
    const auto& [dense, activation, norm] = *network.head_transform;
    std::vector<double> active;
    for (Index i = 0; i < dense.weight.out; ++i)
        active.push_back(activated(activation, explain_linear(dense, x, i).value()));
    const Normalised why = explain_norm(norm, active, a.cell.col);
    const LinearSum own = explain_linear(dense, x, a.cell.col);
    const double unit = (why.x - why.mean) / std::sqrt(why.variance + why.epsilon);
    a.out.formula = "norm(act(Final norm · dense + bias))[" + a.column() + "]";
    a.out.operands_title = "Final norm · dense, of this component";
    add_terms(a.out, own.terms, a.row(Stage::final_norm), PlaceOf(), {"x", "w"});
    add_step(a.out, "dense", "Σ + bias " + four(own.bias), own.value());
    add_step(a.out, "activation", "of " + four(own.value()), why.x);
    add_step(a.out, "mean", "over all components", why.mean);
    add_step(a.out, "variance", "over all components", why.variance);
    a.out.f64 = why.value();
    add_step(a.out, "gain", "", why.gain,
             a.places(Stage::norm_gain, static_cast<Index>(NormRow::head), a.cell.col));
    add_step(a.out, "bias", "", why.bias,
             a.places(Stage::norm_bias, static_cast<Index>(NormRow::head), a.cell.col));
    add_step(a.out, "× gain + bias", four(unit) + " × " + four(why.gain) + " + " + four(why.bias), a.out.f64,
             true);
    const Expression x_in = a.out.line("x_in", a.out.dot() + own.bias),
                     after_activation = a.out.line("active", activated(activation, x_in));
    const Expression normalised = a.out.line(
        "normalised", (after_activation - why.mean) / sqrt(Expression(why.variance) + why.epsilon));
    a.out.line("value", normalised * why.gain + why.bias);
}

void explain_logit(const Around& a) {
    const Network& network = a.network();
    const bool own = has_head_input(network);
    explain_linear(a, explain_linear(network.head, a.values(a.trace().head_input()), a.cell.col),
                   a.row(own ? Stage::head_input : Stage::final_norm), Stage::w_head,
                   own ? "Head input" : "Final norm");
    if (network.logit_cap == 0) return;
    const double plain = a.out.f64, cap = network.logit_cap;
    for (auto& step : a.out.steps) step.current = false;
    a.out.f64 = cap * std::tanh(plain / cap);
    a.out.formula = four(cap) + " · tanh((" + a.out.formula + ") / " + four(cap) + ")";
    add_step(a.out, "capped", four(cap) + " × tanh(" + four(plain) + " / " + four(cap) + ")", a.out.f64,
             true);
    a.out.line("capped", cap * tanh(a.out.calculation.result() / cap));
}

void explain_normalised(const Around& a, const VectorComponent& why, Stage weights) {
    const Normalised& norm = *why.own_norm;
    const bool of_query = weights == Stage::w_q;
    const auto row = of_query ? NormRow::q : NormRow::k;
    const Index width = norm_of(a, row)->gain.size(), head_dim = a.config().head_dim;
    const Index own_head =
        of_query ? a.places.head.head : a.half_trace().attention.kv_head(a.places.head.head);
    const Index column = width == head_dim ? a.cell.col : own_head * head_dim + a.cell.col;
    const std::string w(symbol(weights));
    a.out.formula = "x / √(mean of x² + ε) · gain, where x = Σ_b Norm[" + a.token() + ", b] · " + w + "[b, " +
                    a.column() + "]";
    a.out.operands_title = "Norm[" + a.token() + ", ·] · " + w + "[·, " + a.column() + "]";
    add_terms(a.out, why.own.terms, a.row(Stage::attention_input), a.weights(weights), {"x", "w"});
    const double unit = norm.x / std::sqrt(norm.variance + norm.epsilon);
    add_step(a.out, "x", why.own.bias == 0 ? "Σ" : "Σ + bias " + four(why.own.bias), norm.x);
    add_step(a.out, "mean of x²",
             width == head_dim ? "over this head’s components" : "over all heads’ components", norm.variance);
    add_step(a.out, "gain", "", norm.gain, a.places(Stage::norm_gain, static_cast<Index>(row), column));
    a.out.f64 = norm.value();
    add_step(a.out, "× gain", four(unit) + " × " + four(norm.gain), a.out.f64, true);
    const Expression x_in = a.out.line("x_in", a.out.dot() + why.own.bias);
    a.out.line("value", x_in / sqrt(Expression(norm.variance + norm.epsilon)) * norm.gain);
}

}  // namespace attn::app
