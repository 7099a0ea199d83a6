// Writes the sentence and the guide of lens Heads.
#include <cmath>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::heads {

std::string setting_name(const Model& model, Index setting) {
    return model.is_latent() ? "rank " + std::to_string(setting) : many(setting, "head") + " of K and V";
}

std::string part_name(const Model& model, Subject& subject, Index part) {
    const Index heads = model.writes().heads;
    if (part < heads) return head_text({model.head.layer, part}, subject.attention()->numbering());
    return part == heads ? "the bias of W_O" : part == heads + 1 ? "the sum" : "the attention";
}

namespace {

std::string shapes_headline(const HeadSizes& s) {
    std::string text = many(s.queries, "token") + " of " + std::to_string(s.d_model) +
                       " numbers go through " + many(s.heads, "head") + " of " + std::to_string(s.head_dim) +
                       ", each with a map of its own.\nA map is " + std::to_string(s.queries) + " × " +
                       std::to_string(s.keys) + ". W_O turns what all heads found back into " +
                       std::to_string(s.d_model) + " numbers for each token.";
    if (s.kv_heads < s.heads)
        text += " " + std::to_string(s.heads / s.kv_heads) +
                " heads of queries share each head of keys and values.";
    return text;
}

std::string writes_headline(const Model& model, Subject& subject) {
    const HeadWrites& w = model.writes();
    Index most = 0;
    for (Index head = 1; head < w.heads; ++head)
        if (w.share(head) > w.share(most)) most = head;
    if (std::isnan(w.share(most))) return "What this attention writes here is 0.";
    return "At " + query_in_words(*subject.attention(), model.row) + ", " + part_name(model, subject, most) +
           " writes most: " + percent(w.share(most)) + " of what " +
           subject.attention()->numbering().name(model.head.layer) +
           " adds.\nAll heads and the bias add up to the whole, off by " + fixed(w.off_by(), 1) + ".";
}

std::string alike_headline(const Model& model, Subject& subject) {
    if (!model.alike().done()) return "Comparing the heads, two by two.";
    const HeadSimilarity& all = model.alike();
    const Index heads = all.heads();
    if (heads < 2) return "There is only one head, and nothing to compare it with.";
    if (all.rows() == 0)
        return "With one key to look at, all heads are alike; a longer text tells them apart.";
    std::pair<Index, Index> nearest{0, 1}, farthest{0, 1};
    double sum = 0;
    for (Index a = 0; a < heads; ++a)
        for (Index b = a + 1; b < heads; ++b) {
            sum += model.similarity(a, b);
            if (model.similarity(a, b) > model.similarity(nearest.first, nearest.second)) nearest = {a, b};
            if (model.similarity(a, b) < model.similarity(farthest.first, farthest.second)) farthest = {a, b};
        }
    const Layers numbering = subject.attention()->numbering();
    const auto names = [&](std::pair<Index, Index> of) {
        const HeadIndex a = all.head(of.first), b = all.head(of.second);
        return all.attentions().size() == 1 ? std::to_string(a.head) + " and " + std::to_string(b.head)
                                            : numbering.short_head(a) + " and " + numbering.short_head(b);
    };
    const auto number = [&](std::pair<Index, Index> of) {
        return " (" + fixed(model.similarity(of.first, of.second), 2) + ")";
    };
    const double pairs = static_cast<double>(heads) * static_cast<double>(heads - 1) / 2;
    std::string text = "Heads " + names(nearest) + (model.state.outputs ? " write" : " look") +
                       " most alike" + number(nearest);
    if (heads > 2) text += ", " + names(farthest) + " least" + number(farthest);
    return text + (heads > 2 ? ".\nThe mean over all pairs is " + fixed(sum / pairs, 2) + "." : ".");
}

std::string cache_headline(const Model& model) {
    const SmallerRuns& runs = model.runs();
    if (!runs.factored()) return "Factoring keys and values, " + percent(runs.factors()->progress()) + ".";
    const Smaller *before = runs.at(0), *after = runs.last();
    const Index shown = runs.last_setting();
    if (runs.shares() && model.setting() == 0) {
        if (runs.settings().empty())
            return "This model has one head of keys and values: all its heads share it already.";
        return "Each head of keys and values is its own, as the model has it; drag the slider to share them.";
    }
    if (!before || !after || shown == 0) return "Reading the text with fewer keys and values.";
    std::string text = "With " + setting_name(model, shown) + ", a token keeps " +
                       with_commas(runs.kept(shown)) + " numbers in place of " + with_commas(runs.kept(0));
    if (std::isnan(before->loss))
        return text + ".\nThe text is too short to have a loss. What attention writes changes by " +
               percent(after->mean_change()) + ".";
    return text + ".\nThe loss of this text goes from " + fixed(before->loss, 2) + " to " +
           fixed(after->loss, 2) + " nats a token.";
}

}  // namespace

std::string Model::headline(Subject& subject) {
    switch (state.part) {
        case Part::shapes: return shapes_headline(sizes);
        case Part::writes: return writes_headline(*this, subject);
        case Part::alike: return alike_headline(*this, subject);
        case Part::sharing:
        case Part::latent: break;
    }
    return cache_headline(*this);
}

Guide Model::guide(Subject&) {
    return {"Many heads, one sum",
            "Heads do not see each other: each has its own queries, keys and values, and its own rows of "
            "W_O. What they write is added up (Elhage et al. 2021), so heads can be taken one by one.\n\n"
            "Heads are alike where their rows of weights are near in the Jensen–Shannon distance (Clark et "
            "al. 2019), or where what they write points the same way. Average linkage puts those that are "
            "alike beside each other.\n\n"
            "Keys and values are what a model has to keep of every token. Heads can share them: the mean of "
            "W_K and W_V in a group (GQA: Ainslie et al. 2023), down to one head for all. Or a token keeps a "
            "shorter vector, the latent, from which the keys and values of all heads are made (DeepSeek-V2, "
            "2024): here the nearest matrix of that rank. Both papers train the model on from there, which "
            "wins most of the loss back; this page does not."};
}

}  // namespace attn::app::heads
