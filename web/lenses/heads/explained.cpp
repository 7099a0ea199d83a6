// Explains the numbers of lens Heads.
#include <cmath>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "model/explain.hpp"
#include "subjects/explain.hpp"

namespace attn::app::heads {

namespace {

std::string computed_by(Subject& subject) { return "computed by " + subject.attention()->title(); }

// Adds a product as a step. Its numbers are counts.
void count_step(Explained& out, std::string name, const std::vector<Index>& factors) {
    Expression product = static_cast<double>(factors.front());
    for (std::size_t i = 1; i < factors.size(); ++i) product = product * static_cast<double>(factors[i]);
    out.step(std::move(name), product);
    out.steps.back().value = with_commas(count_of(factors));
}

// ---- Shapes -----------------------------------------------------------------------------------------------

std::string shape_note(ShapeStep step, const HeadSizes& sizes) {
    using enum ShapeStep;
    if (step == joined) return "The heads’ outputs stand beside each other again; nothing is computed.";
    if (step == weights) return "The only shape that grows with the square of the text.";
    if (step != split_q && step != split_k && step != split_v) return "";
    std::string note = "The same numbers: a head is " + std::to_string(sizes.head_dim) +
                       " neighbouring columns of Q, K or V.";
    if (step == split_k && sizes.kv_heads < sizes.heads)
        note += " " + std::to_string(sizes.heads / sizes.kv_heads) +
                " heads of queries share a head of keys and values.";
    return note;
}

std::optional<Explained> explain_shape(Model& model, Subject& subject, const LensCell& cell) {
    static constexpr std::array titles{"Numbers of ", "Weights that make ", "Products that make "};
    const auto column = static_cast<std::size_t>(cell.at[1]);
    const ShapedTensor tensor = shapes_of(model.sizes)[static_cast<std::size_t>(cell.at[0])];
    const std::vector<Index> matrix(tensor.matrix.begin(), tensor.matrix.end());
    const std::vector<Index>& factors = column == 0 ? tensor.shape : column == 1 ? matrix : tensor.products;
    if (factors.empty() || factors.front() == 0) return std::nullopt;
    Explained out{.title = std::string(titles[column]) + tensor.name,
                  .provenance = model.state.tutorial ? "the tutorial’s example, on this text’s tokens"
                                                     : computed_by(subject),
                  .f32 = static_cast<double>(count_of(factors)),
                  .formula = column == 1 ? "in × out" : "multiplications of the matrix product",
                  .note = shape_note(tensor.step, model.sizes)};
    if (column == 0) {
        out.formula.clear();
        for (const char* axis : tensor.axes)
            out.formula += (out.formula.empty() ? "" : " × ") + std::string(axis);
    }
    count_step(out, std::array{"numbers", "weights", "products"}[column], factors);
    return out;
}

// ---- Outputs of heads ---------------------------------------------------------------------------------

std::optional<Explained> explain_written(Model& model, Subject& subject, const LensCell& cell) {
    const Index part = cell.at[0], component = cell.at[1];
    const HeadWrites& w = model.writes();
    if (part > w.heads + 2 || component >= w.d_model) return std::nullopt;
    const auto at = static_cast<std::size_t>(component);
    const Index attention = model.head.layer;
    const Places first{{attention, 0}}, places{{attention, part}};
    if (part == w.heads + 2) return subject.explain_at(first(Stage::attention_output, model.row, component));
    if (part == w.heads) return subject.explain_at(first(Stage::b_o, 0, component));
    Explained out{.title = "Component " + std::to_string(component) + " of what " +
                           part_name(model, subject, part) + (part < w.heads ? " writes" : " is"),
                  .provenance = computed_by(subject),
                  .f32 = single(part < w.heads ? w.part(part)[at] : w.sum[at])};
    if (part > w.heads) {
        Column parts{"parts", {}};
        for (Index i = 0; i <= w.heads; ++i) {
            parts.values.push_back(w.part(i)[at]);
            out.beside(part_name(model, subject, i), parts.values.back(), "",
                       CellPlace{{attention, 0}, cells::written(i, component)});
        }
        out.formula = "Σ over the heads, and the bias";
        out.line("total", sum(parts));
        return out;
    }
    out.formula = "Σ_c output[c] · W_O[c, " + std::to_string(component) + "]";
    out.operands_title = "Output of the head × its rows of W_O";
    const LayerAttention of = model.trace->attention(attention);
    const Index d_v = of.record().d_v();
    const float* z = of.record().output().heads().head(part).row(model.row);
    for (Index c = 0; c < d_v; ++c)
        out.term(std::to_string(c), static_cast<double>(z[c]),
                 element(of.half.attention_out.weight, part * d_v + c, component),
                 places(Stage::output, model.row, c), places(Stage::w_o, c, component));
    out.line("written", out.dot("output", "w_o"));
    return out;
}

Column column_of(const HeadWrites& writes, Index part) {
    const std::span<const double> x = writes.part(part);
    return {"part", {x.begin(), x.end()}};
}

std::optional<Explained> explain_norm(Model& model, Subject& subject, const LensCell& cell) {
    const HeadWrites& w = model.writes();
    const Index part = cell.at[0];
    if (part > w.heads) return std::nullopt;
    Explained out{.title = "Length of what " + part_name(model, subject, part) + " writes",
                  .provenance = computed_by(subject),
                  .f32 = single(w.norm(part)),
                  .formula = "√ Σ_i part[i]²"};
    const Column x = column_of(w, part);
    out.step("length",
             sqrt(out.step("Σ part²", dot(x, x), "over " + std::to_string(w.d_model) + " components")));
    return out;
}

std::optional<Explained> explain_share(Model& model, Subject& subject, const LensCell& cell) {
    const HeadWrites& w = model.writes();
    const Index part = cell.at[0];
    if (part > w.heads) return std::nullopt;
    Explained out{
        .title = "What " + part_name(model, subject, part) + " adds along the whole",
        .provenance = computed_by(subject),
        .f32 = single(w.share(part)),
        .formula = "part · whole / ‖whole‖²",
        .note =
            "Over the heads and the bias these shares add up to 1; one below 0 writes against the whole."};
    const Column whole{"whole", w.whole};
    const Expression along = out.step("part · whole", dot(column_of(w, part), whole)),
                     length = out.step("‖whole‖²", dot(whole, whole));
    out.step("share", along / length);
    return out;
}

std::optional<Explained> explain_error(Model& model, Subject& subject, const LensCell&) {
    const HeadWrites& w = model.writes();
    std::size_t worst = 0;
    for (std::size_t i = 0; i < w.sum.size(); ++i)
        if (std::abs(w.sum[i] - w.whole[i]) > std::abs(w.sum[worst] - w.whole[worst])) worst = i;
    Explained out{.title = "Heads and bias, off the attention’s output by",
                  .provenance = computed_by(subject),
                  .f32 = single(w.off_by()),
                  .formula = "max over components of |sum − whole|"};
    const Expression sum = out.step("sum", w.sum[worst], "component " + std::to_string(worst)),
                     whole = out.step("whole", w.whole[worst], std::string("as the run has it, in f32"));
    out.step("off by", max(sum - whole, whole - sum));
    return out;
}

// ---- Similarity ---------------------------------------------------------------------------------------

std::optional<Explained> explain_similarity(Model& model, Subject& subject, const LensCell& cell) {
    const bool outputs = cell.at[0] == 1;
    const Index a = cell.at[1], b = cell.at[2];
    const HeadSimilarity& alike = model.alike();
    if (!alike.done() || std::max(a, b) >= alike.heads()) return std::nullopt;
    const double value = outputs ? alike.of_outputs(a, b) : alike.of_maps(a, b);
    if (std::isnan(value)) return std::nullopt;
    const Layers numbering = subject.attention()->numbering();
    Explained out{
        .title = "How alike " + head_text(alike.head(a), numbering) + " and " +
                 head_text(alike.head(b), numbering) + (outputs ? " write" : " look"),
        .provenance = computed_by(subject),
        .f32 = single(value),
        .formula =
            outputs ? "mean over queries of cos(written, written′)" : "1 − mean over queries of √JSD(w, w′)",
        .note =
            outputs
                ? "1: both add the same direction for every token; −1: they take back what the other adds."
                : "JSD in bits: 1 is the same map, 0 no key in common. Rows that see one key do not count."};
    const Column rows{"rows", outputs ? alike.output_cosines(a, b) : alike.map_distances(a, b)};
    const Expression mean =
        out.step(outputs ? "mean cosine" : "mean √JSD", sum(rows) / static_cast<double>(rows.values.size()),
                 "over " + many(std::ssize(rows.values), "query row"));
    if (!outputs) out.step("alike", 1 - mean);
    return out;
}

std::optional<Explained> explain_role(Model& model, Subject& subject, const LensCell& cell) {
    const HeadSimilarity& alike = model.alike();
    const Index i = cell.at[0];
    if (!alike.done() || i >= alike.heads()) return std::nullopt;
    const HeadIndex head = alike.head(i);
    const Role found = role_of(model, subject, i);
    if (std::isnan(found.score)) return std::nullopt;
    Explained out{
        .title = head_text(head, subject.attention()->numbering()) + ": " + found.name + " " + found.on,
        .provenance = computed_by(subject),
        .f32 = single(found.score),
        .recomputed = false,
        .formula = found.measure};
    const auto measured = [&](const char* name, const std::string& what, double value) {
        if (!std::isnan(value)) out.beside(name, value, what);
    };
    if (const NamedHeads* named = subject.named_heads(); named && named->table.has(head))
        for (std::size_t role = 0; role < head_roles.size(); ++role)
            measured(head_roles[role].name, named->measured_on(static_cast<HeadRole>(role)),
                     named->table.of(head).values[role]);
    const std::string on = subject.attention()->measured_on();
    measured("local", "at most two tokens away, " + on, alike.local(i));
    measured("uniform", "entropy, of the most it could be, " + on, alike.uniform(i));
    if (const Copying* copies = model.copying_of(head)) measured("copying", "Σ λ / Σ |λ|", copies->score);
    out.line("score", found.score);
    return out;
}

// ---- Smaller caches ---------------------------------------------------------------------------------------

std::string with_setting(const Model& model, Index setting) {
    return setting == 0 ? "as it is" : "with " + setting_name(model, setting);
}

std::optional<Explained> explain_output_error(Model& model, Subject& subject, const LensCell& cell) {
    const auto [cache, layer, setting] = cell.at;
    const Smaller* measured = model.runs().at(setting);
    if (!measured || layer >= std::ssize(measured->changes)) return std::nullopt;
    const double change = measured->changes[static_cast<std::size_t>(layer)];
    Explained out{.title = "Change of what " + subject.attention()->numbering().name(layer) + " writes, " +
                           with_setting(model, setting),
                  .provenance = computed_by(subject),
                  .f32 = single(change),
                  .recomputed = false,
                  .formula = "‖O′ − O‖ / ‖O‖",
                  .note =
                      "O is what the attention writes for all tokens, O′ in the changed run, where what it "
                      "reads has changed, too."};
    out.line("change", change);
    return out;
}

void explain_kept(Explained& out, const Model& model, Index setting, bool in_bytes) {
    const ModelConfig& config = model.trace->model()->config();
    const bool latent = model.is_latent() && setting > 0;
    out.title = (in_bytes ? "Bytes" : "Numbers") + std::string(" that a token keeps, ") +
                with_setting(model, setting);
    out.recomputed = true;
    out.unit = in_bytes ? "bytes" : "numbers";
    out.formula = latent ? "layers × rank" : "layers × 2 × heads of K and V × head_dim";
    std::vector<Index> factors{cached_attentions(config)};
    if (latent)
        factors.push_back(setting);
    else
        factors.insert(factors.end(), {2, setting > 0 ? setting : config.kv_heads, config.head_dim});
    if (in_bytes) {
        factors.push_back(2);
        out.formula += " × 2 bytes";
        out.note = "Of 16-bit numbers, as caches keep them.";
    }
    count_step(out, out.unit, factors);
}

void explain_loss(Explained& out, const Model& model, Index setting) {
    const bool causal = model.trace->network().causal;
    const double loss = model.runs().at(setting)->loss, before = model.runs().at(0)->loss;
    out.title = "Loss of this text, " + with_setting(model, setting);
    out.unit = "nats";
    out.formula = causal ? "mean of −ln p(the next token)" : "mean of −ln p(the token that stands there)";
    if (setting > 0) {
        out.beside("as it is", before);
        out.beside("rises by", loss - before);
    }
    out.step("loss", loss, std::string("nats per token"));
    out.note = causal ? "Of every token of the text after the first, from those before it."
                      : "A model that looks both ways sees the token that it is asked for.";
}

void explain_change(Explained& out, const Model& model, Subject& subject, Index setting) {
    const Column layers{"layers", model.runs().at(setting)->changes};
    out.title = "Change of what attention writes, " + with_setting(model, setting);
    out.formula = "mean over layers of ‖O′ − O‖ / ‖O‖";
    for (std::size_t i = 0; i < layers.values.size(); ++i)
        out.beside(subject.attention()->numbering().name(static_cast<Index>(i)), layers.values[i], "",
                   CellPlace{model.head, cells::output_error(model.is_latent(), i, setting)});
    out.line("change", sum(layers) / static_cast<double>(layers.values.size()));
}

std::optional<Explained> explain_cache(Model& model, Subject& subject, const LensCell& cell) {
    const auto measure = static_cast<CacheMeasure>(cell.at[1]);
    const Index setting = cell.at[2];
    const auto value = model.cache_value(measure, setting);
    if (setting > model.runs().most() || !value) return std::nullopt;
    Explained out{.provenance = computed_by(subject), .f32 = single(*value), .recomputed = false};
    switch (measure) {
        case CacheMeasure::numbers: explain_kept(out, model, setting, false); break;
        case CacheMeasure::bytes: explain_kept(out, model, setting, true); break;
        case CacheMeasure::loss: explain_loss(out, model, setting); break;
        case CacheMeasure::change: explain_change(out, model, subject, setting); break;
        case CacheMeasure::moved:
            out.title =
                std::string("Probability that moved ") + at_temperature + ", " + with_setting(model, setting);
            out.formula = "½ Σ over the vocabulary of |p′ − p|";
            out.note = "0: the same distribution; 1: nothing in common.";
            out.line("moved", *value);
            break;
    }
    return out;
}

std::optional<Explained> explain_probability(Model& model, Subject& subject, const LensCell& cell) {
    const bool then = cell.at[1] == 1;
    const auto id = static_cast<std::size_t>(cell.at[2]);
    const Smaller *before = model.runs().at(0), *shown = then ? model.runs().last() : before;
    if (!shown || id >= shown->probabilities.size()) return std::nullopt;
    Explained out{.title = "Probability of " + model.vocabulary.name(subject, static_cast<std::int32_t>(id)) +
                           ", " + with_setting(model, then ? model.runs().last_setting() : 0) + ", " +
                           at_temperature,
                  .provenance = computed_by(subject),
                  .f32 = single(shown->probabilities[id]),
                  .recomputed = false,
                  .formula = "exp(logit) / Σ exp(logits)"};
    if (then && before) out.beside("as it is", before->probabilities[id]);
    out.step("probability", shown->probabilities[id]);
    return out;
}

constexpr std::array<ModelNumber<Model>, 10> declared{{
    {&cells::shape, explain_shape},
    {&cells::written, explain_written},
    {&cells::norm, explain_norm},
    {&cells::share, explain_share},
    {&cells::error, explain_error},
    {&cells::similarity, explain_similarity},
    {&cells::role, explain_role},
    {&cells::cache, explain_cache},
    {&cells::output_error, explain_output_error},
    {&cells::probability, explain_probability},
}};

// ---- Parts of the lens and of the run ---------------------------------------------------------------------

Part part_with(const LensCell& cell) {
    if (cell.kind == &cells::shape) return Part::shapes;
    if (cell.kind == &cells::similarity || cell.kind == &cells::role) return Part::alike;
    if (cell.kind != &cells::cache && cell.kind != &cells::output_error && cell.kind != &cells::probability)
        return Part::writes;
    return cell.at[0] == 0 ? Part::sharing : Part::latent;
}

Site site_of(ShapeStep step) {
    using enum ShapeStep;
    switch (step) {
        case q:
        case split_q: return Site::q;
        case k:
        case split_k: return Site::k;
        case v:
        case split_v: return Site::v;
        case weights: return Site::weight;
        case outputs:
        case joined: return Site::head_output;
        case input:
        case written: break;
    }
    return Site::attention_output;
}

// What the cell is in the run; nothing if it cannot be changed there, as the number of weights of a shape, or
// the size of a smaller cache.
std::optional<RunPart> stands_for(const Model& model, const LensCell& cell) {
    const auto [first, second, third] = cell.at;
    const Index attention = model.head.layer;
    if (cell.kind == &cells::shape) {
        // Attention reads the normalised residual.
        const auto step = static_cast<ShapeStep>(first);
        if (model.state.tutorial || second != 0 || step == ShapeStep::input) return std::nullopt;
        return RunPart{.site = site_of(step), .attention = attention};
    }
    if (cell.kind == &cells::written || cell.kind == &cells::norm || cell.kind == &cells::share) {
        const Index bias = model.writes().heads;
        if (first == bias) return std::nullopt;
        if (first < bias) return RunPart{Site::head_output, attention, first, model.row};
        return RunPart{Site::attention_output, attention, {}, model.row, second};
    }
    if (cell.kind == &cells::similarity || cell.kind == &cells::role) {
        const HeadIndex head = model.alike().head(cell.kind == &cells::role ? first : second);
        const bool of_weights = cell.kind == &cells::similarity && first == 0;
        return RunPart{of_weights ? Site::weight : Site::head_output, head.layer, head.head};
    }
    if (cell.kind != &cells::output_error) return std::nullopt;
    return RunPart{.site = Site::attention_output, .attention = second};
}

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (part_with(cell) != state.part) return std::nullopt;
    auto told = explain_by(declared, *this, subject, cell);
    if (told) told->part = stands_for(*this, cell);
    return told;
}

}  // namespace attn::app::heads
