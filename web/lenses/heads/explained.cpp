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

double single(double value) { return static_cast<double>(static_cast<float>(value)); }

CellRef cell_at(Index row, Index col) { return {.stage = Stage::lens, .row = row, .col = col}; }

std::string factors_text(const std::vector<Index>& factors, const char* between) {
    std::string text;
    for (const Index each : factors) text += (text.empty() ? "" : between) + std::to_string(each);
    return text;
}

}  // namespace

std::optional<Explained> HeadsLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    if (!subject.attention() || missing(subject)) return std::nullopt;
    update(subject);
    std::optional<Explained> told = explain_own(subject, place);
    if (told) told->part = stands_for(subject.chosen_head().layer, place.cell);
    return told;
}

namespace {

constexpr Index kind_size = 1000;

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

// How many weights make a shape, and what a smaller cache takes, is no part of the run.
std::optional<RunPart> HeadsLens::stands_for(Index attention, const CellRef& cell) const {
    const Index kind = cell.row / kind_size * kind_size, row = cell.row - kind;
    const auto all_of = [](const HeadIndex& head) {
        return RunPart{Site::head_output, head.layer, head.head};
    };
    switch (kind) {
        case heads_rows::shape:
            // What attention reads is the residual, normalised.
            if (now().tutorial || cell.col != 0 || row == static_cast<Index>(ShapeStep::input))
                return std::nullopt;
            return RunPart{.site = site_of(static_cast<ShapeStep>(row)), .attention = attention};
        case heads_rows::written:
        case heads_rows::norm:
        case heads_rows::share: {
            if (row == writes_->heads) return std::nullopt;  // a bias
            RunPart part{.site = Site::head_output, .attention = attention, .row = writes_of_->row};
            if (row < writes_->heads) {
                part.head = row;
                return part;
            }
            part.site = Site::attention_output;
            part.column = cell.col;
            return part;
        }
        case heads_rows::maps:
        case heads_rows::outputs: {
            RunPart part = all_of(alike_->head(row));
            if (kind == heads_rows::maps) part.site = Site::weight;
            return part;
        }
        case heads_rows::role: return all_of(alike_->head(cell.col));
        case heads_rows::sharing:
        case heads_rows::latent:
            if (row < heads_rows::changes) return std::nullopt;
            return RunPart{.site = Site::attention_output, .attention = row - heads_rows::changes};
        default: return std::nullopt;
    }
}

std::optional<Explained> HeadsLens::explain_own(Subject& subject, const CellPlace& place) const {
    const Index kind = place.cell.row / kind_size * kind_size, row = place.cell.row - kind,
                col = place.cell.col;
    const auto compared = [&](Index head) { return similarity() && head < alike_->heads(); };
    switch (now().part) {
        case HeadsPart::shapes:
            return kind == heads_rows::shape ? explain_shape(subject, row, col) : std::nullopt;
        case HeadsPart::writes:
            if (kind == heads_rows::written) return explain_written(subject, row, col);
            if ((kind == heads_rows::norm || kind == heads_rows::share) && row <= writes_->heads && col == 0)
                return explain_size(subject, row, kind == heads_rows::share);
            if (place.cell.row == heads_rows::off_by && col == 0) return explain_off(subject);
            return std::nullopt;
        case HeadsPart::alike:
            if ((kind == heads_rows::maps || kind == heads_rows::outputs) && compared(row) && compared(col))
                return explain_alike(subject, kind == heads_rows::outputs, row, col);
            if (place.cell.row == heads_rows::role && compared(col)) return explain_role(subject, col);
            return std::nullopt;
        case HeadsPart::sharing:
        case HeadsPart::latent: break;
    }
    if (kind != (now().part == HeadsPart::sharing ? heads_rows::sharing : heads_rows::latent))
        return std::nullopt;
    if (row == heads_rows::said || row == heads_rows::said_then)
        return explain_said(subject, row == heads_rows::said_then, col);
    return explain_cache(subject, row, col);
}

Explained HeadsLens::begin(Subject& subject, std::string title) const {
    Explained out;
    out.title = std::move(title);
    out.provenance = "computed by " + subject.attention()->title();
    return out;
}

// ---- Shapes -----------------------------------------------------------------------------------------------

std::optional<Explained> HeadsLens::explain_shape(Subject& subject, Index step, Index column) const {
    if (step >= shape_step_count) return std::nullopt;
    const ShapedTensor tensor = shapes_of(sizes_)[static_cast<std::size_t>(step)];
    const std::vector<Index> factors = column == 0 ? tensor.shape
                                       : column == 1
                                           ? std::vector<Index>(tensor.matrix.begin(), tensor.matrix.end())
                                       : column == 2 ? tensor.products
                                                     : std::vector<Index>{};
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
    add_line(out, "count", factors_text(factors, " * "), out.f64);
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

// ---- What each writes -------------------------------------------------------------------------------------

std::string HeadsLens::part_name(Subject& subject, Index part) const {
    if (part < writes_->heads)
        return head_text({writes_of_->attention, part}, subject.attention()->numbering());
    return part == writes_->heads       ? "the bias of W_O"
           : part == writes_->heads + 1 ? "the sum"
                                        : "the attention";
}

std::optional<Explained> HeadsLens::explain_written(Subject& subject, Index part, Index component) const {
    const HeadWrites& w = *writes_;
    if (part > w.heads + 2 || component >= w.d_model) return std::nullopt;
    const auto [trace, attention, row] = *writes_of_;
    const auto at = static_cast<std::size_t>(component);
    const auto place = [&](Index head, Stage stage, Index r, Index c) {
        return std::optional(CellPlace{{attention, head}, {.stage = stage, .row = r, .col = c}});
    };
    if (part == w.heads + 2) return subject.explain_at(*place(0, Stage::attended, row, component));
    if (part == w.heads) return subject.explain_at(*place(0, Stage::b_o, 0, component));
    const LayerAttention of = trace->attention(attention);
    Explained out = begin(subject, "Component " + std::to_string(component) + " of what " +
                                       part_name(subject, part) + (part < w.heads ? " writes" : " is"));
    if (part == w.heads + 1) {
        std::vector<double> values;
        for (Index i = 0; i <= w.heads; ++i) {
            values.push_back(w.part(i)[at]);
            note_step(out, part_name(subject, i), "", values.back(), false,
                      CellPlace{{attention, 0}, cell_at(heads_rows::written + i, component)});
        }
        out.f64 = std::accumulate(values.begin(), values.end(), 0.0);
        out.f32 = single(w.sum[at]);
        out.formula = "Σ over the heads, and the bias";
        out.vectors.push_back({"parts", std::move(values)});
        add_line(out, "sum", "sum(parts)", out.f64);
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
    add_line(out, "written", "dot(output, w_o)", out.f64);
    return out;
}

std::optional<Explained> HeadsLens::explain_size(Subject& subject, Index part, bool share) const {
    const HeadWrites& w = *writes_;
    Explained out = begin(subject, (share ? "What " : "Length of what ") + part_name(subject, part) +
                                       (share ? " adds along the whole" : " writes"));
    const std::span<const double> x = w.part(part);
    const std::vector<double>& whole = w.whole;
    out.vectors.push_back({"part", {x.begin(), x.end()}});
    const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    if (!share) {
        out.f64 = std::sqrt(squares);
        out.f32 = single(w.norm(part));
        out.formula = "√ Σ_i part[i]²";
        note_step(out, "Σ part²", "over " + std::to_string(w.d_model) + " components", squares);
        note_step(out, "length", "", out.f64, true);
        add_line(out, "length", "sqrt(dot(part, part))", out.f64);
        return out;
    }
    const double product = std::inner_product(x.begin(), x.end(), whole.begin(), 0.0),
                 length = std::inner_product(whole.begin(), whole.end(), whole.begin(), 0.0);
    out.vectors.push_back({"whole", whole});
    out.f64 = product / length;
    out.f32 = single(w.share(part));
    out.formula = "part · whole / ‖whole‖²";
    note_step(out, "part · whole", "", product);
    note_step(out, "‖whole‖²", "", length);
    note_step(out, "share", four(product) + " / " + four(length), out.f64, true);
    add_line(out, "product", "dot(part, whole)", product);
    add_line(out, "squares", "dot(whole, whole)", length);
    add_line(out, "share", "product / squares", out.f64);
    out.note = "Over the heads and the bias these shares add up to 1; one below 0 writes against the whole.";
    return out;
}

Explained HeadsLens::explain_off(Subject& subject) const {
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
    const std::string sum = in_expression(w.sum[worst]), whole = in_expression(w.whole[worst]);
    add_line(out, "off_by", "max(" + sum + " - " + whole + ", " + whole + " - " + sum + ")", out.f64);
    return out;
}

// ---- How alike --------------------------------------------------------------------------------------------

std::optional<Explained> HeadsLens::explain_alike(Subject& subject, bool outputs, Index a, Index b) const {
    const double value = outputs ? alike_->of_outputs(a, b) : alike_->of_maps(a, b);
    if (std::isnan(value)) return std::nullopt;
    const Layers numbering = subject.attention()->numbering();
    const HeadIndex first = alike_->head(a), second = alike_->head(b);
    Explained out = begin(subject, "How alike " + head_text(first, numbering) + " and " +
                                       head_text(second, numbering) + (outputs ? " write" : " look"));
    // Query by query, as the comparison goes.
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
    const double sum = std::accumulate(rows.begin(), rows.end(), 0.0),
                 mean = sum / static_cast<double>(rows.size());
    out.f64 = outputs ? mean : 1 - mean;
    out.f32 = single(value);
    out.formula =
        outputs ? "mean over queries of cos(written, written′)" : "1 − mean over queries of √JSD(w, w′)";
    note_step(out, outputs ? "mean cosine" : "mean √JSD", "over " + many(std::ssize(rows), "query row"), mean,
              outputs);
    if (!outputs) note_step(out, "alike", "1 − " + four(mean), out.f64, true);
    const std::string count = std::to_string(rows.size());
    out.vectors.push_back({"rows", std::move(rows)});
    add_line(out, "mean", "sum(rows) / " + count, mean);
    if (!outputs) add_line(out, "alike", "1 - mean", out.f64);
    out.note =
        outputs ? "1: both add the same direction for every token; −1: they take back what the other adds."
                : "JSD in bits: 1 is the same map, 0 no key in common. Rows that see one key do not count.";
    return out;
}

std::optional<Explained> HeadsLens::explain_role(Subject& subject, Index head) const {
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
    add_line(out, "score", in_expression(out.f64), out.f64);
    return out;
}

// ---- Smaller caches ---------------------------------------------------------------------------------------

std::optional<Explained> HeadsLens::explain_cache(Subject& subject, Index row, Index setting) const {
    const bool shares = now().part == HeadsPart::sharing;
    const ModelConfig& config = trace_->model()->config();
    if (setting > most_setting()) return std::nullopt;
    const std::string with = setting == 0 ? "as it is" : "with " + setting_name(setting);
    if (row < 2) {
        Explained out =
            begin(subject, (row == 0 ? "Numbers" : "Bytes") + std::string(" that a token keeps, ") + with);
        out.unit = row == 0 ? "numbers" : "bytes";
        const Index attentions = cached_attentions(config),
                    heads = shares && setting > 0 ? setting : config.kv_heads;
        const bool latent = !shares && setting > 0;
        out.f32 = out.f64 = *cache_value(static_cast<CacheMeasure>(row), setting);
        out.formula = latent ? "layers × rank" : "layers × 2 × heads of K and V × head_dim";
        std::string factors = std::to_string(attentions) + " * ";
        factors += latent ? std::to_string(setting)
                          : "2 * " + std::to_string(heads) + " * " + std::to_string(config.head_dim);
        if (row == 1) {
            factors += " * 2";
            out.formula += " × 2 bytes";
            out.note = "Of 16-bit numbers, as caches keep them.";
        }
        note_step(out, row == 0 ? "numbers" : "bytes", factors, out.f64, true);
        add_line(out, row == 0 ? "numbers" : "bytes", factors, out.f64);
        return out;
    }
    const Smaller* measured = runs() ? runs()->at(setting) : nullptr;
    const Smaller* before = runs() ? runs()->at(0) : nullptr;
    if (!measured || !before) return std::nullopt;
    const bool of_attention = row >= heads_rows::changes;
    const Index attention = row - heads_rows::changes;
    if (of_attention ? attention >= std::ssize(measured->changes) : row >= cache_measure_count)
        return std::nullopt;
    if (row == static_cast<Index>(CacheMeasure::loss)) {
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
        add_line(out, "loss", in_expression(out.f64), out.f64);
        out.note = trace_->network().causal
                       ? "Of every token of the text after the first, from those before it."
                       : "A model that looks both ways sees the token that it is asked for.";
        return out;
    }
    Explained out =
        begin(subject, of_attention ? "Change of what " + subject.attention()->numbering().name(attention) +
                                          " writes, " + with
                       : row == static_cast<Index>(CacheMeasure::change)
                           ? "Change of what attention writes, " + with
                           : "Probability that moved " + std::string(at_temperature) + ", " + with);
    out.f64 = of_attention ? measured->changes[static_cast<std::size_t>(attention)]
                           : *cache_value(static_cast<CacheMeasure>(row), setting);
    out.f32 = single(out.f64);
    out.recomputed = false;
    if (of_attention) {
        out.formula = "‖O′ − O‖ / ‖O‖";
        out.note =
            "O is what the attention writes for all tokens, O′ in the changed run, where what it reads has "
            "changed, too.";
        add_line(out, "change", in_expression(out.f64), out.f64);
    } else if (row == static_cast<Index>(CacheMeasure::change)) {
        out.formula = "mean over layers of ‖O′ − O‖ / ‖O‖";
        out.vectors.push_back({"layers", measured->changes});
        for (std::size_t i = 0; i < measured->changes.size(); ++i)
            note_step(
                out, subject.attention()->numbering().name(static_cast<Index>(i)), "", measured->changes[i],
                false,
                CellPlace{subject.chosen_head(), cell_at((shares ? heads_rows::sharing : heads_rows::latent) +
                                                             heads_rows::changes + static_cast<Index>(i),
                                                         setting)});
        add_line(out, "change", "sum(layers) / " + std::to_string(measured->changes.size()), out.f64);
    } else {
        out.formula = "½ Σ over the vocabulary of |p′ − p|";
        out.note = "0: the same distribution; 1: nothing in common.";
        add_line(out, "moved", in_expression(out.f64), out.f64);
    }
    return out;
}

std::optional<Explained> HeadsLens::explain_said(Subject& subject, bool then, Index id) const {
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
    add_line(out, "probability", in_expression(out.f64), out.f64);
    return out;
}

}  // namespace attn::app
