// What lens Heads says: its sentence, its tables, its guide.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

std::string HeadsLens::setting_name(Index setting) const {
    return now().part == HeadsPart::sharing ? many(setting, "head") + " of K and V"
                                            : "rank " + std::to_string(setting);
}

std::string HeadsLens::spoken(Subject& subject) {
    update(subject);
    switch (now().part) {
        case HeadsPart::shapes: return shapes_spoken(subject);
        case HeadsPart::writes: return writes_spoken(subject);
        case HeadsPart::alike: return alike_spoken(subject);
        case HeadsPart::sharing:
        case HeadsPart::latent: break;
    }
    return cache_spoken();
}

std::string HeadsLens::shapes_spoken(Subject&) const {
    const HeadSizes& s = sizes_;
    std::string text = many(s.queries, "token") + " of " + std::to_string(s.d_model) +
                       " numbers go through " + many(s.heads, "head") + " of " + std::to_string(s.head_dim) +
                       ": each has a map of its own, " + std::to_string(s.queries) + " × " +
                       std::to_string(s.keys) + ", and W_O makes " + std::to_string(s.d_model) +
                       " numbers of all of them again.";
    if (s.kv_heads < s.heads)
        text += " " + std::to_string(s.heads / s.kv_heads) +
                " heads of queries share each head of keys and values.";
    return text;
}

std::string HeadsLens::writes_spoken(Subject& subject) const {
    const HeadWrites& w = *writes_;
    Index most = 0;
    for (Index head = 1; head < w.heads; ++head)
        if (w.share(head) > w.share(most)) most = head;
    if (std::isnan(w.share(most))) return "What this attention writes here is 0.";
    return "At " + query_in_words(*subject.attention(), writes_of_->row) + ", " + part_name(subject, most) +
           " writes most, " + percent(w.share(most)) + " of what " +
           subject.attention()->numbering().name(writes_of_->attention) +
           " adds; all heads and the bias add up to it, off by " + fixed(w.off_by(), 1) + ".";
}

std::string HeadsLens::alike_spoken(Subject& subject) const {
    if (!similarity()) return "The heads are being compared, two by two.";
    const Index heads = alike_->heads();
    if (heads < 2) return "There is only one head, and nothing to compare it with.";
    if (alike_->rows() == 0)
        return "With one key to look at, all heads are alike; a longer text tells them apart.";
    std::pair<Index, Index> nearest{0, 1}, farthest{0, 1};
    double sum = 0;
    for (Index a = 0; a < heads; ++a)
        for (Index b = a + 1; b < heads; ++b) {
            sum += alike(a, b);
            if (alike(a, b) > alike(nearest.first, nearest.second)) nearest = {a, b};
            if (alike(a, b) < alike(farthest.first, farthest.second)) farthest = {a, b};
        }
    const Layers numbering = subject.attention()->numbering();
    const auto names = [&](std::pair<Index, Index> of) {
        const HeadIndex a = alike_->head(of.first), b = alike_->head(of.second);
        return alike_->attentions().size() == 1 ? std::to_string(a.head) + " and " + std::to_string(b.head)
                                                : numbering.short_head(a) + " and " + numbering.short_head(b);
    };
    const auto number = [&](std::pair<Index, Index> of) {
        return " (" + fixed(alike(of.first, of.second), 2) + ")";
    };
    const double pairs = static_cast<double>(heads) * static_cast<double>(heads - 1) / 2;
    std::string text =
        "Heads " + names(nearest) + (now().outputs ? " write" : " look") + " most alike" + number(nearest);
    if (heads > 2)
        text += ", " + names(farthest) + " least" + number(farthest) + "; over all pairs it is " +
                fixed(sum / pairs, 2);
    return text + ".";
}

std::string HeadsLens::cache_spoken() const {
    if (now().part == HeadsPart::latent && !factors_->done())
        return "Keys and values are being factored, " + percent(factors_->progress()) + ".";
    const Smaller *before = runs()->at(0), *after = runs()->last();
    const Index shown = runs()->last_setting();
    if (now().part == HeadsPart::sharing && setting() == 0) {
        if (settings_.empty())
            return "This model has one head of keys and values: all its heads share it already.";
        return "Each head of keys and values is its own, as the model has it; drag the slider to share them.";
    }
    if (!before || !after || shown == 0) return "The text is being read with fewer keys and values.";
    std::string text = "With " + setting_name(shown) + ", a token keeps " +
                       with_commas(static_cast<std::int64_t>(cached(shown))) + " numbers in place of " +
                       with_commas(static_cast<std::int64_t>(cached(0)));
    if (std::isnan(before->loss))
        return text + "; the text is too short to have a loss. What attention writes changes by " +
               percent(after->mean_change()) + ".";
    return text + ", and the loss of this text goes from " + fixed(before->loss, 2) + " to " +
           fixed(after->loss, 2) + " nats a token.";
}

// ---- Tables -----------------------------------------------------------------------------------------------

std::vector<Table> HeadsLens::tables(Subject& subject) {
    update(subject);
    std::vector<Table> all;
    const Layers numbering = subject.attention()->numbering();
    switch (now().part) {
        case HeadsPart::shapes: {
            const auto shapes = shapes_of(sizes_);
            Table table{"Shapes", {"numbers", "weights", "products"}, {}, Matrix(std::ssize(shapes), 3)};
            for (const ShapedTensor& each : shapes) {
                const auto row = std::ssize(table.row_labels);
                table.row_labels.push_back(std::string(each.name) + " " + written_shape(each.shape));
                table.values.at(row, 0) = static_cast<double>(count_of(each.shape));
                table.values.at(row, 1) = static_cast<double>(each.matrix[0] * each.matrix[1]);
                table.values.at(row, 2) =
                    each.products.empty() ? 0 : static_cast<double>(count_of(each.products));
            }
            all.push_back(std::move(table));
            break;
        }
        case HeadsPart::writes: {
            Table sizes{"What each head writes", {"length", "share"}, {}, Matrix(writes_->heads + 1, 2)};
            Table numbers{"What each head writes, by component",
                          {},
                          {},
                          Matrix(writes_->heads + 3, std::min(writes_->d_model, table_row_limit))};
            for (Index c = 0; c < numbers.values.cols; ++c) numbers.columns.push_back(std::to_string(c));
            for (Index part = 0; part < writes_->heads + 3; ++part) {
                numbers.row_labels.push_back(part_name(subject, part));
                const std::span<const double> of = part <= writes_->heads       ? writes_->part(part)
                                                   : part == writes_->heads + 1 ? writes_->sum
                                                                                : std::span(writes_->whole);
                for (Index c = 0; c < numbers.values.cols; ++c)
                    numbers.values.at(part, c) = of[static_cast<std::size_t>(c)];
                if (part > writes_->heads) continue;
                sizes.row_labels.push_back(part_name(subject, part));
                sizes.values.at(part, 0) = writes_->norm(part);
                sizes.values.at(part, 1) = writes_->share(part);
            }
            all.push_back(std::move(sizes));
            all.push_back(std::move(numbers));
            break;
        }
        case HeadsPart::alike: {
            if (!similarity()) break;
            const Index heads = alike_->heads();
            Table table{now().outputs ? "How alike heads write" : "How alike heads look",
                        {},
                        {},
                        Matrix(heads, heads)};
            Table roles{"What each head was measured to do", {"score"}, {}, Matrix(heads, 1)};
            for (Index r = 0; r < heads; ++r) {
                const Index a = order_[static_cast<std::size_t>(r)];
                table.columns.push_back(numbering.short_head(alike_->head(a)));
                table.row_labels.push_back(table.columns.back());
                for (Index c = 0; c < heads; ++c)
                    table.values.at(r, c) = alike(a, order_[static_cast<std::size_t>(c)]);
                const Role found = role(subject, a);
                roles.row_labels.push_back(table.columns.back() + ": " + found.name + " " + found.on);
                roles.values.at(r, 0) = found.score;
            }
            all.push_back(std::move(table));
            all.push_back(std::move(roles));
            break;
        }
        case HeadsPart::sharing:
        case HeadsPart::latent: {
            Table table{
                now().part == HeadsPart::sharing ? "Sharing keys and values" : "A latent for keys and values",
                {"numbers a token", "bytes a token", "loss", "change of attention",
                 std::string("probability moved ") + at_temperature},
                {"as it is"},
                Matrix(1, cache_measure_count)};
            std::vector<Index> shown{0};
            for (const Index each : settings_)
                if (runs()->at(each)) shown.push_back(each);
            table.values = Matrix(std::ssize(shown), cache_measure_count);
            for (std::size_t i = 0; i < shown.size(); ++i) {
                if (i > 0) table.row_labels.push_back(setting_name(shown[i]));
                for (Index m = 0; m < cache_measure_count; ++m)
                    table.values.at(static_cast<Index>(i), m) =
                        cache_value(static_cast<CacheMeasure>(m), shown[i]).value_or(NAN);
            }
            all.push_back(std::move(table));
            break;
        }
    }
    return all;
}

Guide HeadsLens::guide(Subject&) const {
    return {"Many heads, one sum",
            "Heads do not see each other: each has its own queries, keys and values, and its own rows of "
            "W_O. What they "
            "write is added up (Elhage et al. 2021), so heads can be taken one by one.\n\n"
            "Heads are alike where their rows of weights are near in the Jensen–Shannon distance (Clark et "
            "al. 2019), or "
            "where what they write points the same way. Average linkage puts those that are alike beside "
            "each other.\n\n"
            "Keys and values are what a model has to keep of every token. Heads can share them: the mean of "
            "W_K and W_V "
            "in a group (GQA: Ainslie et al. 2023), down to one head for all. Or a token keeps a shorter "
            "vector, the "
            "latent, from which the keys and values of all heads are made (DeepSeek-V2, 2024): here the "
            "nearest matrix "
            "of that rank. Both papers train the model on from there, which wins most of the loss back; this "
            "page does not."};
}

}  // namespace attn::app
