// Explains what a model computes around its heads: each number from its inputs, back to the embeddings, and
// each weight by its place in a file.
#include <array>
#include <cmath>

#include "model/block.hpp"
#include "model/head_projection.hpp"
#include "subjects/around.hpp"

namespace attn::app {

namespace {

// The view of a stage's weight matrix, and where the head's part begins in it. Rows are inputs, except in
// embedding tables.
struct View {
    const WeightView* weight = nullptr;
    Index first_in = 0, first_out = 0, rows = 0, cols = 0;
    bool table = false;
};
View view_of(const Around& a) {
    const auto whole = [](const WeightView& weight) { return View{&weight, 0, 0, weight.in, weight.out}; };
    const auto table = [](const WeightView& weight) {
        return View{&weight, 0, 0, weight.out, weight.in, true};
    };
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
            const WeightView& weight = a.half().attention_out.weight;
            return {&weight, a.places.head.head * d, 0, d, weight.out};
        }
        case Stage::w_gate: return a.block().mlp.gate ? whole(a.block().mlp.gate->weight) : View{};
        case Stage::w_up: return whole(a.block().mlp.up.weight);
        case Stage::w_down: return whole(a.block().mlp.down.weight);
        case Stage::w_head: return whole(a.network().head.weight);
        case Stage::w_token: return table(a.network().token_embedding);
        case Stage::w_segment:
            return a.network().segment_embedding ? table(*a.network().segment_embedding) : View{};
        case Stage::w_position:
            return a.network().position_embedding ? table(*a.network().position_embedding) : View{};
        default: return {};
    }
}

// The vector of a stage, and where the head's part begins in it.
struct VectorView {
    std::string name;  // name in the files
    const Tensor* values = nullptr;
    Index first = 0, size = 0;
    Index first_stored = 0;  // index of the first stored number
    bool adds_one = false;   // adds 1 to the file's numbers
};
VectorView vector_of(const Around& a) {
    const auto bias = [](const Linear& linear, Index first, Index size) {
        return linear.bias.size()
                   ? VectorView{linear.bias_name, &linear.bias, first, size, linear.first_out + first}
                   : VectorView{};
    };
    const auto of_head = [&](Stage stage, Index heads) {
        const Index head = a.places.head.head * heads / a.config().heads;
        const QkvColumn first = qkv_column(a.model(), stage, a.layer(), head, 0);
        return bias(*first.linear, first.out, a.config().head_dim);
    };
    const auto whole = [&](const Linear& linear) { return bias(linear, 0, linear.bias.size()); };
    switch (a.cell.stage) {
        case Stage::b_q: return of_head(Stage::q, a.config().heads);
        case Stage::b_k: return of_head(Stage::k, a.config().kv_heads);
        case Stage::b_v: return of_head(Stage::v, a.config().kv_heads);
        case Stage::b_o: return whole(a.half().attention_out);
        case Stage::b_gate: return a.block().mlp.gate ? whole(*a.block().mlp.gate) : VectorView{};
        case Stage::b_up: return whole(a.block().mlp.up);
        case Stage::b_down: return whole(a.block().mlp.down);
        case Stage::b_head: return whole(a.network().head);
        case Stage::norm_gain:
        case Stage::norm_bias: {
            if (a.cell.row < 0 || a.cell.row >= norm_rows) return {};
            const Norm* norm = norm_of(a, static_cast<NormRow>(a.cell.row));
            const bool gain = a.cell.stage == Stage::norm_gain;
            if (!norm || (gain ? norm->gain : norm->bias).size() == 0) return {};
            const Tensor& values = gain ? norm->gain : norm->bias;
            return {norm->name + (gain ? ".weight" : ".bias"),
                    &values,
                    0,
                    values.size(),
                    0,
                    gain && norm->adds_one};
        }
        default: return {};
    }
}

// Returns the place of a number in the model's files, in words.
std::string place_told(const StoredAt& place) {
    if (!place.weight) return "";
    const auto& rounded_from = place.weight->rounded_from;
    return "Stored as " + std::string(attn::name(rounded_from.value_or(place.weight->dtype))) + " in " +
           place.weight->name + ", " + place_in_file(place) + (rounded_from ? "; held here in 8 bits" : "") +
           ".";
}

// Explains a number in a block: its own integer, and the scales that it shares with others.
void add_block_steps(Explained& out, const StoredAt& place) {
    const WeightBlock block = place.block();
    const auto i = static_cast<std::size_t>(place.place_in_block()), part = i / block.part;
    const auto step = [&](const char* name, const std::string& arithmetic, const std::string& value) {
        out.steps.push_back({name, arithmetic, value});
    };
    const std::string of_all = "shared by the " + std::to_string(block.elements) + " numbers of the block",
                      of_part = "shared by " + std::to_string(block.part) + " of them";
    step("d", of_all, shortest(block.d));
    if (block.has_small_scales) step("s", of_part, std::to_string(block.s[part]));
    if (block.has_offsets && block.has_small_scales) {
        step("d_min", of_all, shortest(block.dmin));
        step("m", of_part, std::to_string(block.m[part]));
    } else if (block.has_offsets) {
        step("m", of_all, shortest(block.offset[part]));
    }
    step("q", "number " + std::to_string(i) + " of the block", std::to_string(block.quant[i]));
    std::string formula = block.has_small_scales ? "d · s · q" : "d · q";
    if (block.has_offsets) formula += block.has_small_scales ? " − d_min · m" : " + m";
    out.steps.push_back({"value", formula, fixed(static_cast<double>(block.value(i)), 6), true});
}

void stored(const Around& a, double value, const StoredAt& place) {
    a.out.f64 = value;
    a.out.f32 = static_cast<double>(static_cast<float>(value));
    if (place.weight && place.in_block())
        add_block_steps(a.out, place);
    else
        a.out.steps.push_back({"value", "as stored", fixed(value, 6), true});
    a.out.note = place_told(place);
}

// Explains a row of an embedding table, which a run uses unchanged.
void explain_row(const Around& a, const WeightView& table, Stage stage, Index row) {
    a.out.f64 = element(table, a.cell.col, row);
    const std::string name(symbol(stage));
    a.out.steps.push_back(
        {name, "row " + std::to_string(row), fixed(a.out.f64, 6), true, a.places(stage, row, a.cell.col)});
    a.out.note = place_told(stored_at(a.model(), table, a.cell.col, row));
}

// Returns the run's kept numbers for all tokens; null for other stages.
const Tensor* kept(const Around& a) {
    const LayerTrace& layer = a.at_layer();
    const AttentionTrace& half = a.half_trace();
    const auto some = [](const Tensor& tensor) { return tensor.size() > 0 ? &tensor : nullptr; };
    switch (a.cell.stage) {
        case Stage::embedding: return &a.trace().token_embedding();
        case Stage::position: return some(a.trace().position_embedding());
        case Stage::segment: return some(a.trace().segment_embedding());
        case Stage::embedding_sum: return some(a.trace().embedding_sum());
        case Stage::attention_between: return some(half.attention_between);
        case Stage::mlp_between: return some(layer.mlp_between);
        case Stage::expert_weight: return some(layer.expert_weights);
        case Stage::head_input: return has_head_input(a.network()) ? &a.trace().head_input() : nullptr;
        case Stage::resid_pre: return &half.resid_pre;
        case Stage::attention_input: return &half.attention_input;
        case Stage::attention_output: return &half.attention_output;
        case Stage::resid_mid: return &layer.resid_mid;
        case Stage::mlp_input: return &layer.mlp_input;
        case Stage::mlp_hidden: return &layer.mlp_hidden;
        case Stage::mlp_output: return &layer.mlp_output;
        case Stage::final_residual: return &a.trace().final_residual();
        case Stage::final_norm: return &a.trace().final_norm();
        default: return nullptr;
    }
}

// Explains the residual before this attention, or after the last block of its stack, by the index of the
// block's first attention.
void residual(const Around& a, Index layer, bool first_of_all) {
    if (!first_of_all) {
        const Places before{{layer - 1, a.places.head.head}, a.places.second};
        return explain_left({a.out, a.run, before, a.cell}, false);
    }
    if (a.network().embedding_norm)
        return explain_norm(a, NormRow::embedding, a.trace().embedding_sum(), Stage::embedding_sum);
    explain_embedding_sum(a);
}

void explain_kept(const Around& a) {
    const LayerTrace& layer = a.at_layer();
    const AttentionTrace& half = a.half_trace();
    const auto id = static_cast<Index>(a.trace().ids()[static_cast<std::size_t>(a.cell.row)]);
    switch (a.cell.stage) {
        case Stage::embedding:
            if (a.network().project_in || a.network().embedding_scale != 1) {
                explain_embedding(a);
                break;
            }
            explain_row(a, a.network().token_embedding, Stage::w_token, id);
            a.out.formula = "row " + std::to_string(id) + " of the embedding, the id of " + a.token();
            break;
        case Stage::position: {
            const Index row =
                position_rows(a.network(), a.trace().ids())[static_cast<std::size_t>(a.cell.row)];
            explain_row(a, *a.network().position_embedding, Stage::w_position, row);
            a.out.formula = "row " + std::to_string(row) + " of the position embedding";
            if (id == a.network().padding_id) a.out.formula += ", that of padding, which has no position";
            break;
        }
        case Stage::segment: {
            const auto segments = a.trace().segments();
            const Index row = segments.empty() ? 0 : segments[static_cast<std::size_t>(a.cell.row)];
            explain_row(a, *a.network().segment_embedding, Stage::w_segment, row);
            a.out.formula = "row " + std::to_string(row) + " of the segment embedding";
            if (!segments.empty())
                a.out.formula += ", segment " + segment_name(segments[static_cast<std::size_t>(a.cell.row)]) +
                                 (row == 0 ? ": up to the first separator" : ": after the first separator");
            break;
        }
        case Stage::embedding_sum: explain_embedding_sum(a); break;
        case Stage::attention_between: explain_between(a, true); break;
        case Stage::mlp_between: explain_between(a, false); break;
        case Stage::expert_weight: explain_expert_weight(a); break;
        case Stage::head_input: explain_head_input(a); break;
        case Stage::resid_pre:
            if (a.of_cross())
                explain_left({a.out, a.run, {{a.first_half(), a.places.head.head}, a.places.second}, a.cell},
                             true);
            else
                residual(a, a.layer(), a.place() == 0);
            break;
        case Stage::final_residual:
            residual(a, a.first_half() - static_cast<Index>(a.place()) + std::ssize(a.network().blocks),
                     false);
            break;
        case Stage::attention_input: explain_norm(a, NormRow::heads, half.resid_pre, Stage::resid_pre); break;
        case Stage::mlp_input:
            if (a.block().parallel)
                explain_norm(a, NormRow::mlp, half.resid_pre, Stage::resid_pre);
            else
                explain_norm(a, NormRow::mlp, layer.resid_mid, Stage::resid_mid);
            break;
        case Stage::final_norm:
            explain_norm(a, NormRow::final, a.trace().final_residual(), Stage::final_residual);
            break;
        case Stage::attention_output: explain_attended(a); break;
        case Stage::resid_mid:
            if (const auto cross = a.cross())
                explain_left({a.out, a.run, {{*cross, a.places.head.head}, a.places.second}, a.cell}, true);
            else
                explain_left(a, true);
            break;
        case Stage::mlp_hidden: a.block().experts ? explain_expert_hidden(a) : explain_hidden(a); break;
        case Stage::mlp_output:
            if (a.block().experts) {
                explain_expert_output(a);
                break;
            }
            explain_linear(a, explain_linear(a.block().mlp.down, a.values(layer.mlp_hidden), a.cell.col),
                           a.row(Stage::mlp_hidden), Stage::w_down, "MLP hidden");
            break;
        default: break;
    }
}

// Explains a number that a run computes but does not keep. Returns false if there is no such number.
bool explain_unkept(const Around& a) {
    const auto within = [&](Index cols) {
        return a.cell.row >= 0 && a.cell.row < a.run.tokens() && a.cell.col >= 0 && a.cell.col < cols;
    };
    const auto of_linear = [&](const LinearSum& sum, Stage x, Stage weights, const char* name) {
        explain_linear(a, sum, a.row(x), weights, name);
        a.out.f32 = static_cast<double>(sum.f32());
        return true;
    };
    const Stage stage = a.cell.stage;
    if (stage == Stage::q_pre_rope || stage == Stage::k_pre_rope) {
        if (!a.half().rotary || !within(a.config().head_dim)) return false;
        const bool of_query = stage == Stage::q_pre_rope;
        const Index head = a.places.head.head, own = of_query ? head : a.half_trace().attention.kv_head(head);
        const Stage turned = of_query ? Stage::q : Stage::k;
        const VectorComponent why =
            explain_component(*a.run.run, turned, a.layer(), own, a.cell.row, a.cell.col);
        const Stage weights = of_query ? Stage::w_q : Stage::w_k;
        if (!why.own_norm) return of_linear(why.own, Stage::attention_input, weights, "Norm");
        explain_normalised(a, why, weights);
        const Tensor rows = rows_pre_rope(*a.run.run, turned, a.layer(), own, {a.cell.row, a.cell.row + 1});
        a.out.f32 = static_cast<double>(rows.values()[static_cast<std::size_t>(a.cell.col)]);
        return true;
    }
    if (stage == Stage::router_score) {
        if (!a.block().experts || !within(std::ssize(a.block().experts->all))) return false;
        return explain_router_score(a), true;
    }
    const bool of_gate = stage == Stage::gate || stage == Stage::active_gate || stage == Stage::up;
    if (!of_gate || !a.block().mlp.gate || !within(a.block().mlp.up.weight.out)) return false;
    if (stage == Stage::active_gate) return explain_active_gate(a), true;
    const bool gate = stage == Stage::gate;
    return of_linear(explain_linear(gate ? *a.block().mlp.gate : a.block().mlp.up,
                                    a.values(a.at_layer().mlp_input), a.cell.col),
                     Stage::mlp_input, gate ? Stage::w_gate : Stage::w_up, "MLP input");
}

}  // namespace

std::optional<Explained> explain_model_cell(const TextRun& run, const Places& places, const RunCell& cell) {
    Explained out;
    const Around a{out, run, places, cell};
    const auto within = [&](Index rows, Index cols) {
        return cell.row >= 0 && cell.row < rows && cell.col >= 0 && cell.col < cols;
    };
    out.title = std::string(symbol(cell.stage)) + "[";
    if (const View view = view_of(a); view.weight) {
        if (!within(view.rows, view.cols)) return std::nullopt;
        out.title += std::to_string(cell.row) + ", " + a.column() + "]";
        const Index in = view.table ? cell.col : view.first_in + cell.row,
                    to = view.table ? cell.row : view.first_out + cell.col;
        stored(a, element(*view.weight, in, to), stored_at(a.model(), *view.weight, in, to));
        return out;
    }
    if (const VectorView view = vector_of(a); view.values) {
        constexpr std::array<const char*, norm_rows> norms{
            "before the heads, ", "before the MLP, ",      "after the last layer, ",
            "after the heads, ",  "after the MLP, ",       "of the embeddings, ",
            "of the head, ",      "of the query vector, ", "of the key vector, "};
        const bool of_norm = cell.stage == Stage::norm_gain || cell.stage == Stage::norm_bias;
        if (!within(of_norm ? std::ssize(norms) : 1, view.size)) return std::nullopt;
        if (of_norm) out.title += norms[static_cast<std::size_t>(cell.row)];
        out.title += a.column() + "]";
        const auto value =
            static_cast<double>(view.values->values()[static_cast<std::size_t>(view.first + cell.col)]);
        const StoredAt place = stored_at(a.model(), view.name, view.first_stored + cell.col);
        stored(a, view.adds_one ? static_cast<double>(place.value()) : value, place);
        if (view.adds_one) {
            out.steps.back().current = false;
            out.f64 += 1;
            out.f32 = value;
            add_step(out, "1 + value", "as this family's norms have it", out.f64, true);
        }
        return out;
    }
    out.title += a.token() + ", " + a.column() + "]";
    if (const Tensor* tensor = kept(a)) {
        if (!within(tensor->dim(0), tensor->dim(1))) return std::nullopt;
        out.f32 = static_cast<double>(tensor->matrix()(cell.row, cell.col));
        explain_kept(a);
        return out;
    }
    if (explain_unkept(a)) return out;
    if (cell.stage == Stage::value_out && within(run.keys(), a.config().d_model)) {
        explain_projected_value(a);
        return out;
    }
    if (cell.stage == Stage::logit && within(run.tokens(), a.config().vocab_size)) {
        explain_logit(a);
        const TextRun& whole = run.whole();
        const bool known = cell.row == whole.predicted() && whole.logits.size() > 0;
        const Tensor other = known ? Tensor() : run.run->logits({cell.row, cell.row + 1});
        out.f32 = static_cast<double>((known ? whole.logits : other).matrix()(0, cell.col));
        return out;
    }
    return std::nullopt;
}

std::string place_in_file(const StoredAt& place) {
    return (place.in_block() && !place.weight->rounded_from ? "in the block at byte " : "at byte ") +
           with_commas(static_cast<std::int64_t>(place.byte)) + " of " + place.weight->file;
}

void explain_projection(Explained& out, const TextRun& run, const Places& places, const RunCell& cell) {
    const Around a{out, run, places, cell};
    const Index head = places.head.head,
                own = cell.stage == Stage::q ? head : run.record_at(a.layer()).kv_head(head);
    const Stage w = cell.stage == Stage::q ? Stage::w_q : cell.stage == Stage::k ? Stage::w_k : Stage::w_v;
    const VectorComponent why = explain_component(*run.run, cell.stage, a.layer(), own, cell.row, cell.col);
    if (why.partner_component < 0 && why.own_norm) return explain_normalised(a, why, w);
    if (why.partner_component < 0 && a.of_cross() && a.of_keys()) {
        // Keys and values are computed from the output of the encoder's last norm.
        const PlaceOf encoded = [places, row = cell.row](Index i) {
            return places.of_layer(0, Stage::final_norm, row, i);
        };
        return explain_linear(a, why.own, encoded, w, "Encoded");
    }
    if (why.partner_component < 0)
        return explain_linear(a, why.own, a.row(Stage::attention_input), w, "Norm");
    // Su et al. 2021, arXiv 2104.09864: a pair of components is rotated by an angle that grows with the
    // position.
    const Stage unturned = cell.stage == Stage::q ? Stage::q_pre_rope : Stage::k_pre_rope;
    const std::string name = std::string(symbol(unturned)) + "[" + a.token() + ", ",
                      partner = std::to_string(why.partner_component);
    out.f64 = why.value();
    out.formula = name + a.column() + "] · cos φ " + (why.first ? "− " : "+ ") + name + partner + "] · sin φ";
    out.operands_title = "Its pair, turned by its position";
    const auto operand = [&](const char* which, double value, double by, Index component) {
        out.operands.push_back({which, value, by, value * by, places(unturned, cell.row, component)});
    };
    operand("own", why.own_value(), why.cosine, cell.col);
    operand("partner", why.partner_value(), why.sine, why.partner_component);
    const double position = static_cast<double>(cell.row), angle = position * why.frequency;
    add_step(out, "angle φ", "position " + std::to_string(cell.row) + " × " + four(why.frequency), angle);
    add_step(out, "cos φ", "", std::cos(angle));
    add_step(out, "sin φ", "", std::sin(angle));
    if (const double m = run.run->network().rotary_of(a.layer())->magnitude; m != 1)
        add_step(out, "magnitude", "of both", m);
    add_step(out, "turned", "component " + a.column() + " with " + partner, out.f64, true);
    out.left_name = "unturned";
    out.right_name = "turn";
    out.line("turned", out.dot());
}

}  // namespace attn::app
