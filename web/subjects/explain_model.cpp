// Explains what a model computes around its heads: each number by those before it, back to the embeddings, and each
// weight by its place in a file.
#include "subjects/around.hpp"

namespace attn::app {

namespace {

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
        return explain_sum(a, {{"middle", here(Stage::middle)}, {"MLP", here(Stage::mlp_output)}},
                           {&before.residual_middle, &before.mlp_output});
    }
    const CellPlace embedding = a.places(Stage::embedding, a.cell.row, a.cell.col),
                    position = a.places(Stage::position, a.cell.row, a.cell.col);
    if (a.trace().position_embedding().size())
        return explain_sum(a, {{"embedding", embedding}, {"position", position}},
                           {&a.trace().token_embedding(), &a.trace().position_embedding()});
    explain_sum(a, {{"embedding", embedding}}, {&a.trace().token_embedding()});
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
        case Stage::normalised:
            explain_norm(a, a.block().attention_norm, layer.residual_in, Stage::residual);
            break;
        case Stage::mlp_input:
            explain_norm(a, a.block().mlp_norm, layer.residual_middle, Stage::middle);
            break;
        case Stage::final_norm:
            explain_norm(a, a.network().final_norm, a.trace().final_residual(), Stage::final_residual);
            break;
        case Stage::attended: explain_attended(a); break;
        case Stage::middle:
            explain_sum(a,
                        {{"residual", a.places(Stage::residual, a.cell.row, a.cell.col)},
                         {"attention", a.places(Stage::attended, a.cell.row, a.cell.col)}},
                        {&layer.residual_in, &layer.attention_output});
            break;
        case Stage::mlp_hidden: explain_hidden(a); break;
        case Stage::mlp_output:
            explain_linear(a, explain_linear(a.block().down, a.values(layer.mlp_hidden), a.cell.col),
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
        explain_projected_value(a);
        return out;
    }
    if (cell.stage == Stage::logit && within(run.tokens(), a.config().vocab_size)) {
        explain_linear(a, explain_linear(a.network().head, a.values(a.trace().final_norm()), cell.col),
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
    explain_linear(a, why.own, a.row(Stage::normalised), w, "Norm");
    if (why.partner_component < 0) return;
    for (auto& each : out.steps) each.current = false;
    out.lines.clear();
    Explained::Vector column{"w_partner", {}};
    for (const Term& term : why.partner.terms) column.values.push_back(term.right);
    out.vectors.push_back(std::move(column));
    const double partner = why.partner.value();
    const std::string other = std::to_string(why.partner_component);
    out.f64 = why.value();
    add_step(out, "partner", "component " + other + " of its pair", partner);
    add_step(
        out, "turned",
        four(why.own.value()) + " × " + four(why.cosine) + " + " + four(partner) + " × " + four(why.sine),
        out.f64, true);
    add_line(out, "own", "dot(x, w) + " + in_expression(why.own.bias), why.own.value());
    add_line(out, "partner", "dot(x, w_partner) + " + in_expression(why.partner.bias), partner);
    add_line(out, "turned", "own * " + in_expression(why.cosine) + " + partner * " + in_expression(why.sine),
             out.f64);
    out.formula += ", turned with component " + other + " by its position's angle";
}

}  // namespace attn::app
