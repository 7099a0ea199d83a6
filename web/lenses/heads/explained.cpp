// Explains the numbers of lens Heads.
#include <cmath>
#include <numeric>

#include "analysis/comparison.hpp"
#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "model/explain.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/explain_measured.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

void note_step(Explained& out, std::string name, std::string arithmetic, double value, bool current = false,
               std::optional<CellPlace> at = {}) {
    out.steps.push_back({std::move(name), std::move(arithmetic), four(value), current, at});
}

std::string factors_text(const std::vector<Index>& factors, const char* between) {
    std::string text;
    for (const Index each : factors) text += (text.empty() ? "" : between) + std::to_string(each);
    return text;
}

Expression product_of(const std::vector<Index>& factors) {
    Expression product = static_cast<double>(factors.front());
    for (std::size_t i = 1; i < factors.size(); ++i) product = product * static_cast<double>(factors[i]);
    return product;
}

}  // namespace

std::optional<Explained> HeadsLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention() || missing(subject)) return std::nullopt;
    update(subject);
    const LensCell& cell = place.cell.own;
    if (part_with(cell) != now().part) return std::nullopt;
    std::optional<Explained> told = explain_by(declared, *this, subject, cell);
    if (told) told->part = stands_for(subject.chosen_head().layer, cell);
    return told;
}

namespace {

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

}  // namespace

HeadsPart HeadsLens::part_with(const LensCell& cell) {
    namespace of = heads_cells;
    if (cell.kind == &of::shape) return HeadsPart::shapes;
    if (cell.kind == &of::similarity || cell.kind == &of::role) return HeadsPart::alike;
    if (cell.kind != &of::cache && cell.kind != &of::output_error && cell.kind != &of::probability)
        return HeadsPart::writes;
    return cell.at[0] == 0 ? HeadsPart::sharing : HeadsPart::latent;
}

// The number of weights of a shape, and the size of a smaller cache, are not part of the run.
std::optional<RunPart> HeadsLens::stands_for(Index attention, const LensCell& cell) const {
    namespace of = heads_cells;
    const auto [first, second, third] = cell.at;
    if (cell.kind == &of::shape) {
        // Attention reads the normalised residual.
        const auto step = static_cast<ShapeStep>(first);
        if (now().tutorial || second != 0 || step == ShapeStep::input) return std::nullopt;
        return RunPart{.site = site_of(step), .attention = attention};
    }
    if (cell.kind == &of::written || cell.kind == &of::norm || cell.kind == &of::share) {
        if (first == writes_->heads) return std::nullopt;  // a bias
        RunPart part{.site = Site::head_output, .attention = attention, .row = writes_of_->row};
        if (first < writes_->heads) {
            part.head = first;
            return part;
        }
        part.site = Site::attention_output;
        part.column = second;
        return part;
    }
    if (cell.kind == &of::similarity || cell.kind == &of::role) {
        const HeadIndex head = alike_->head(cell.kind == &of::role ? first : second);
        const bool of_weights = cell.kind == &of::similarity && first == 0;
        return RunPart{of_weights ? Site::weight : Site::head_output, head.layer, head.head};
    }
    if (cell.kind != &of::output_error) return std::nullopt;
    return RunPart{.site = Site::attention_output, .attention = second};
}

const std::array<LensNumber<HeadsLens>, 10> HeadsLens::declared{{
    {&heads_cells::shape, &HeadsLens::explain_shape},
    {&heads_cells::written, &HeadsLens::explain_written},
    {&heads_cells::norm, &HeadsLens::explain_norm},
    {&heads_cells::share, &HeadsLens::explain_share},
    {&heads_cells::error, &HeadsLens::explain_error},
    {&heads_cells::similarity, &HeadsLens::explain_similarity},
    {&heads_cells::role, &HeadsLens::explain_role},
    {&heads_cells::cache, &HeadsLens::explain_cache},
    {&heads_cells::output_error, &HeadsLens::explain_output_error},
    {&heads_cells::probability, &HeadsLens::explain_probability},
}};

CellKinds heads_numbers() { return kinds_of(HeadsLens::declared); }

std::optional<CellRef> packed_heads_cell(Index row, Index col) {
    using namespace heads_cells;
    const Index thousand = row / 1000, at = row % 1000;
    CellRef cell;
    switch (thousand) {
        case 0: cell = shape(at, col); break;
        case 1: cell = written(at, col); break;
        case 2:
        case 3: return col == 0 ? std::optional((thousand == 2 ? norm : share)(at)) : std::nullopt;
        case 4: return at == 0 && col == 0 ? std::optional(error()) : std::nullopt;
        case 5:
        case 6: cell = similarity(thousand - 5, at, col); break;
        case 7: return at == 0 ? std::optional(role(col)) : std::nullopt;
        case 8:
        case 9:
            cell = at >= 200   ? output_error(thousand - 8, at - 200, col)
                   : at >= 100 ? probability(thousand - 8, at - 100, col)
                               : cache(thousand - 8, at, col);
            break;
        default: return std::nullopt;
    }
    return cell.own.is_within() ? std::optional(cell) : std::nullopt;
}

Explained HeadsLens::begin(Subject& subject, std::string title) const {
    Explained out;
    out.title = std::move(title);
    out.provenance = "computed by " + subject.attention()->title();
    return out;
}

// ---- Shapes -----------------------------------------------------------------------------------------------

std::optional<Explained> HeadsLens::explain_shape(Subject& subject, const LensCell& cell) {
    const Index step = cell.at[0], column = cell.at[1];
    const ShapedTensor tensor = shapes_of(sizes_)[static_cast<std::size_t>(step)];
    const std::vector<Index> factors = column == 0 ? tensor.shape
                                       : column == 1
                                           ? std::vector<Index>(tensor.matrix.begin(), tensor.matrix.end())
                                           : tensor.products;
    if (factors.empty() || factors.front() == 0) return std::nullopt;
    Explained out = begin(subject, std::string(column == 0   ? "Numbers of "
                                               : column == 1 ? "Weights that make "
                                                             : "Products that make ") +
                                       tensor.name);
    if (now().tutorial) out.provenance = "the tutorial’s example, on this text’s tokens";
    out.f32 = out.f64 = static_cast<double>(count_of(factors));
    if (column == 0)
        for (std::size_t i = 0; i < tensor.axes.size(); ++i)
            out.formula += (i == 0 ? "" : " × ") + std::string(tensor.axes[i]);
    else
        out.formula = column == 1 ? "in × out" : "multiplications of the matrix product";
    out.steps.push_back({column == 0   ? "numbers"
                         : column == 1 ? "weights"
                                       : "products",
                         factors_text(factors, " × "), with_commas(count_of(factors)), true});
    out.line("count", product_of(factors));
    const auto which = static_cast<ShapeStep>(step);
    if (which == ShapeStep::split_q || which == ShapeStep::split_k || which == ShapeStep::split_v)
        out.note = "The same numbers: a head is " + std::to_string(sizes_.head_dim) +
                   " neighbouring columns of Q, K or V.";
    if (which == ShapeStep::split_k && sizes_.kv_heads < sizes_.heads)
        out.note += " " + std::to_string(sizes_.heads / sizes_.kv_heads) +
                    " heads of queries share a head of keys and values.";
    if (which == ShapeStep::joined)
        out.note = "The heads’ outputs stand beside each other again; nothing is computed.";
    if (which == ShapeStep::weights) out.note = "The only shape that grows with the square of the text.";
    return out;
}

// ---- Outputs of heads ---------------------------------------------------------------------------------

std::string HeadsLens::part_name(Subject& subject, Index part) const {
    if (part < writes_->heads)
        return head_text({writes_of_->attention, part}, subject.attention()->numbering());
    return part == writes_->heads       ? "the bias of W_O"
           : part == writes_->heads + 1 ? "the sum"
                                        : "the attention";
}

std::optional<Explained> HeadsLens::explain_written(Subject& subject, const LensCell& cell) {
    const Index part = cell.at[0], component = cell.at[1];
    const HeadWrites& w = *writes_;
    if (part > w.heads + 2 || component >= w.d_model) return std::nullopt;
    const auto [trace, attention, row] = *writes_of_;
    const auto at = static_cast<std::size_t>(component);
    const auto place = [&](Index head, Stage stage, Index r, Index c) {
        return std::optional(CellPlace{{attention, head}, {.stage = stage, .row = r, .col = c}});
    };
    if (part == w.heads + 2) return subject.explain_at(*place(0, Stage::attention_output, row, component));
    if (part == w.heads) return subject.explain_at(*place(0, Stage::b_o, 0, component));
    const LayerAttention of = trace->attention(attention);
    Explained out = begin(subject, "Component " + std::to_string(component) + " of what " +
                                       part_name(subject, part) + (part < w.heads ? " writes" : " is"));
    if (part == w.heads + 1) {
        std::vector<double> values;
        for (Index i = 0; i <= w.heads; ++i) {
            values.push_back(w.part(i)[at]);
            note_step(out, part_name(subject, i), "", values.back(), false,
                      CellPlace{{attention, 0}, heads_cells::written(i, component)});
        }
        out.f64 = std::accumulate(values.begin(), values.end(), 0.0);
        out.f32 = single(w.sum[at]);
        out.formula = "Σ over the heads, and the bias";
        out.line("total", sum(Column{"parts", std::move(values)}));
        return out;
    }
    const Index d_v = of.record().d_v();
    const float* z = of.record().output().heads().head(part).row(row);
    std::vector<Term> terms;
    for (Index c = 0; c < d_v; ++c) {
        terms.push_back(
            {c, static_cast<double>(z[c]), element(of.half.attention_out.weight, part * d_v + c, component)});
        out.f64 += terms.back().product();
    }
    out.f32 = single(w.part(part)[at]);
    out.formula = "Σ_c output[c] · W_O[c, " + std::to_string(component) + "]";
    out.operands_title = "Output of the head × its rows of W_O";
    add_terms(
        out, terms, [&](Index c) { return place(part, Stage::output, row, c); },
        [&](Index c) { return place(part, Stage::w_o, c, component); }, {"output", "w_o"});
    out.line("written", out.dot());
    return out;
}

std::optional<Explained> HeadsLens::explain_norm(Subject& subject, const LensCell& cell) {
    const HeadWrites& w = *writes_;
    const Index part = cell.at[0];
    if (part > w.heads) return std::nullopt;
    Explained out = begin(subject, "Length of what " + part_name(subject, part) + " writes");
    const std::span<const double> x = w.part(part);
    const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    out.f64 = std::sqrt(squares);
    out.f32 = single(w.norm(part));
    out.formula = "√ Σ_i part[i]²";
    note_step(out, "Σ part²", "over " + std::to_string(w.d_model) + " components", squares);
    note_step(out, "length", "", out.f64, true);
    out.line("length", norm(Column{"part", {x.begin(), x.end()}}));
    return out;
}

std::optional<Explained> HeadsLens::explain_share(Subject& subject, const LensCell& cell) {
    const HeadWrites& w = *writes_;
    const Index part = cell.at[0];
    if (part > w.heads) return std::nullopt;
    Explained out = begin(subject, "What " + part_name(subject, part) + " adds along the whole");
    const std::span<const double> x = w.part(part);
    const std::vector<double>& whole = w.whole;
    const double product = std::inner_product(x.begin(), x.end(), whole.begin(), 0.0),
                 length = std::inner_product(whole.begin(), whole.end(), whole.begin(), 0.0);
    out.f64 = product / length;
    out.f32 = single(w.share(part));
    out.formula = "part · whole / ‖whole‖²";
    note_step(out, "part · whole", "", product);
    note_step(out, "‖whole‖²", "", length);
    note_step(out, "share", four(product) + " / " + four(length), out.f64, true);
    const Column all{"whole", whole};
    const Expression along = out.line("product", dot(Column{"part", {x.begin(), x.end()}}, all));
    out.line("share", along / out.line("squares", dot(all, all)));
    out.note = "Over the heads and the bias these shares add up to 1; one below 0 writes against the whole.";
    return out;
}

std::optional<Explained> HeadsLens::explain_error(Subject& subject, const LensCell&) {
    const HeadWrites& w = *writes_;
    std::size_t worst = 0;
    for (std::size_t i = 0; i < w.sum.size(); ++i)
        if (std::abs(w.sum[i] - w.whole[i]) > std::abs(w.sum[worst] - w.whole[worst])) worst = i;
    Explained out = begin(subject, "Heads and bias, off the attention’s output by");
    out.f64 = std::abs(w.sum[worst] - w.whole[worst]);
    out.f32 = single(out.f64);
    out.formula = "max over components of |sum − whole|";
    note_step(out, "sum", "component " + std::to_string(worst), w.sum[worst]);
    note_step(out, "whole", "as the run has it, in f32", w.whole[worst]);
    out.steps.push_back({"off by", "", fixed(out.f64, 1), true});
    const Expression sum = w.sum[worst], whole = w.whole[worst];
    out.line("off_by", max(sum - whole, whole - sum));
    return out;
}

// ---- Similarity ---------------------------------------------------------------------------------------

std::optional<Explained> HeadsLens::explain_similarity(Subject& subject, const LensCell& cell) {
    const bool outputs = cell.at[0] == 1;
    const Index a = cell.at[1], b = cell.at[2];
    if (!similarity() || std::max(a, b) >= alike_->heads()) return std::nullopt;
    const double value = outputs ? alike_->of_outputs(a, b) : alike_->of_maps(a, b);
    if (std::isnan(value)) return std::nullopt;
    const Layers numbering = subject.attention()->numbering();
    const HeadIndex first = alike_->head(a), second = alike_->head(b);
    Explained out = begin(subject, "How alike " + head_text(first, numbering) + " and " +
                                       head_text(second, numbering) + (outputs ? " write" : " look"));
    // Query by query, in the order of the comparison.
    std::vector<double> rows;
    for (const Index query : alike_->taken()) {
        double each = 0;
        if (outputs) {
            const Tensor one = trace_->head_contribution(first.layer, first.head, {query, query + 1}),
                         other = trace_->head_contribution(second.layer, second.head, {query, query + 1});
            each = a == b ? 1 : cosine(one.values(), other.values()).value();
            if (std::isnan(each)) each = 0;
        } else {
            each =
                jensen_shannon_distance(trace_->attention(first.layer).record().weights(first.head, query),
                                        trace_->attention(second.layer).record().weights(second.head, query));
        }
        rows.push_back(each);
    }
    const double mean = std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
    out.f64 = outputs ? mean : 1 - mean;
    out.f32 = single(value);
    out.formula =
        outputs ? "mean over queries of cos(written, written′)" : "1 − mean over queries of √JSD(w, w′)";
    note_step(out, outputs ? "mean cosine" : "mean √JSD", "over " + many(std::ssize(rows), "query row"), mean,
              outputs);
    if (!outputs) note_step(out, "alike", "1 − " + four(mean), out.f64, true);
    const auto count = static_cast<double>(rows.size());
    const Expression line = out.line("mean", sum(Column{"rows", std::move(rows)}) / count);
    if (!outputs) out.line("alike", 1 - line);
    out.note =
        outputs ? "1: both add the same direction for every token; −1: they take back what the other adds."
                : "JSD in bits: 1 is the same map, 0 no key in common. Rows that see one key do not count.";
    return out;
}

std::optional<Explained> HeadsLens::explain_role(Subject& subject, const LensCell& cell) {
    const Index head = cell.at[0];
    if (!similarity() || head >= alike_->heads()) return std::nullopt;
    const Role found = role(subject, head);
    if (std::isnan(found.score)) return std::nullopt;
    Explained out = begin(subject, head_text(alike_->head(head), subject.attention()->numbering()) + ": " +
                                       found.name + " " + found.on);
    out.recomputed = false;
    out.f64 = found.score;
    out.f32 = single(out.f64);
    out.formula = found.measure;
    const auto step = [&](const char* name, const std::string& what, double value) {
        if (!std::isnan(value)) note_step(out, name, what, value);
    };
    if (const NamedHeads* named = subject.named_heads(); named && named->table.has(alike_->head(head)))
        for (std::size_t i = 0; i < head_roles.size(); ++i)
            step(head_roles[i].name, named->measured_on(static_cast<HeadRole>(i)),
                 named->table.of(alike_->head(head)).values[i]);
    const std::string on = subject.attention()->measured_on();
    step("local", "at most two tokens away, " + on, alike_->local(head));
    step("uniform", "entropy, of the most it could be, " + on, alike_->uniform(head));
    if (const Copying* copies = copying(alike_->head(head))) step("copying", "Σ λ / Σ |λ|", copies->score);
    out.line("score", out.f64);
    return out;
}

// ---- Smaller caches ---------------------------------------------------------------------------------------

std::string HeadsLens::with_setting(Index setting) const {
    return setting == 0 ? "as it is" : "with " + setting_name(setting);
}

std::optional<Explained> HeadsLens::explain_output_error(Subject& subject, const LensCell& cell) {
    const auto [cache, layer, setting] = cell.at;
    const Smaller* measured = runs() ? runs()->at(setting) : nullptr;
    if (!measured || layer >= std::ssize(measured->changes)) return std::nullopt;
    Explained out = begin(subject, "Change of what " + subject.attention()->numbering().name(layer) +
                                       " writes, " + with_setting(setting));
    out.f64 = measured->changes[static_cast<std::size_t>(layer)];
    out.f32 = single(out.f64);
    out.recomputed = false;
    out.formula = "‖O′ − O‖ / ‖O‖";
    out.note =
        "O is what the attention writes for all tokens, O′ in the changed run, where what it reads has "
        "changed, too.";
    out.line("change", out.f64);
    return out;
}

std::optional<Explained> HeadsLens::explain_cache(Subject& subject, const LensCell& cell) {
    const bool shares = now().part == HeadsPart::sharing;
    const auto measure = static_cast<CacheMeasure>(cell.at[1]);
    const Index setting = cell.at[2];
    const ModelConfig& config = trace_->model()->config();
    if (setting > most_setting()) return std::nullopt;
    const std::string with = with_setting(setting);
    if (measure == CacheMeasure::numbers || measure == CacheMeasure::bytes) {
        const bool numbers = measure == CacheMeasure::numbers;
        Explained out =
            begin(subject, (numbers ? "Numbers" : "Bytes") + std::string(" that a token keeps, ") + with);
        out.unit = numbers ? "numbers" : "bytes";
        const Index attentions = cached_attentions(config),
                    heads = shares && setting > 0 ? setting : config.kv_heads;
        const bool latent = !shares && setting > 0;
        out.f32 = out.f64 = *cache_value(measure, setting);
        out.formula = latent ? "layers × rank" : "layers × 2 × heads of K and V × head_dim";
        std::vector<Index> factors{attentions};
        if (latent)
            factors.push_back(setting);
        else
            factors.insert(factors.end(), {2, heads, config.head_dim});
        if (!numbers) {
            factors.push_back(2);
            out.formula += " × 2 bytes";
            out.note = "Of 16-bit numbers, as caches keep them.";
        }
        note_step(out, numbers ? "numbers" : "bytes", factors_text(factors, " × "), out.f64, true);
        out.line(numbers ? "numbers" : "bytes", product_of(factors));
        return out;
    }
    const Smaller* measured = runs() ? runs()->at(setting) : nullptr;
    const Smaller* before = runs() ? runs()->at(0) : nullptr;
    if (!measured || !before) return std::nullopt;
    if (measure == CacheMeasure::loss) {
        Explained out = begin(subject, "Loss of this text, " + with);
        out.recomputed = false;
        out.f64 = measured->loss;
        out.unit = "nats";
        out.f32 = single(out.f64);
        out.formula = trace_->network().causal ? "mean of −ln p(the next token)"
                                               : "mean of −ln p(the token that stands there)";
        if (setting > 0) {
            note_step(out, "as it is", "", before->loss);
            note_step(out, "rises by", "", measured->loss - before->loss);
        }
        note_step(out, "loss", "nats per token", out.f64, true);
        out.line("loss", out.f64);
        out.note = trace_->network().causal
                       ? "Of every token of the text after the first, from those before it."
                       : "A model that looks both ways sees the token that it is asked for.";
        return out;
    }
    const bool change = measure == CacheMeasure::change;
    Explained out = begin(subject, (change ? "Change of what attention writes, "
                                           : "Probability that moved " + std::string(at_temperature) + ", ") +
                                       with);
    out.f64 = *cache_value(measure, setting);
    out.f32 = single(out.f64);
    out.recomputed = false;
    if (change) {
        out.formula = "mean over layers of ‖O′ − O‖ / ‖O‖";
        for (std::size_t i = 0; i < measured->changes.size(); ++i)
            note_step(out, subject.attention()->numbering().name(static_cast<Index>(i)), "",
                      measured->changes[i], false,
                      CellPlace{subject.chosen_head(), heads_cells::output_error(cell.at[0], i, setting)});
        out.line("change",
                 sum(Column{"layers", measured->changes}) / static_cast<double>(measured->changes.size()));
    } else {
        out.formula = "½ Σ over the vocabulary of |p′ − p|";
        out.note = "0: the same distribution; 1: nothing in common.";
        out.line("moved", out.f64);
    }
    return out;
}

std::optional<Explained> HeadsLens::explain_probability(Subject& subject, const LensCell& cell) {
    const bool then = cell.at[1] == 1;
    const Index id = cell.at[2];
    const Smaller* shown = !runs() ? nullptr : then ? runs()->last() : runs()->at(0);
    if (!shown || id >= std::ssize(shown->probabilities)) return std::nullopt;
    Explained out =
        begin(subject, "Probability of " + vocabulary_.name(subject, static_cast<std::int32_t>(id)) +
                           (then ? ", with " + setting_name(runs()->last_setting()) : ", as it is") + ", " +
                           at_temperature);
    out.recomputed = false;
    out.f64 = shown->probabilities[static_cast<std::size_t>(id)];
    out.f32 = single(out.f64);
    out.formula = "exp(logit) / Σ exp(logits)";
    if (const Smaller* before = then ? runs()->at(0) : nullptr)
        note_step(out, "as it is", "", before->probabilities[static_cast<std::size_t>(id)]);
    note_step(out, "probability", "", out.f64, true);
    out.line("probability", out.f64);
    return out;
}

}  // namespace attn::app
