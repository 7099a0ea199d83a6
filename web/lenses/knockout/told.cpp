// Writes the sentence and the guide of lens Knock-out.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "subjects/reading.hpp"

namespace attn::app::knockout {

namespace {

constexpr Index most_turns = 3;  // stations of a difference on its way through the layers

// Writes "falls by 1.20" or "rises by 0.30".
std::string change_told(double fall) {
    if (!std::isfinite(fall)) return "is not finite";
    return (fall < 0 ? "rises by " : "falls by ") + fixed(std::abs(fall), 2);
}

std::string heads_headline(const Model& model, Subject& subject) {
    const HeadRemovals& all = *model.removals();
    const std::string target = model.target_name(subject);
    if (!model.agreement()) return "Removing one head after another, to see how far " + target + " falls.";
    HeadIndex brightest{};
    std::optional<HeadIndex> most;
    Index not_finite = 0;
    for (Index layer = 0; layer < all.attentions(); ++layer)
        for (Index head = 0; head < all.heads(); ++head) {
            const HeadIndex at{layer, head};
            const double fall = *all.logit_drop(at);
            not_finite += !std::isfinite(fall);
            if (std::isfinite(fall) && (!most || fall > *all.logit_drop(*most))) most = at;
            const auto look = model.look(at), so_far = model.look(brightest);
            if (look && (!so_far || look->rest < so_far->rest)) brightest = at;
        }
    const Layers numbering = subject.attention()->numbering();
    if (!most)
        return "Without any one of the heads, the logits are not finite, so how far " + target +
               " falls is not known.";
    const std::string but =
        not_finite == 0 ? "" : " (without " + many(not_finite, "head") + ", the logits are not finite)";
    const double fall = *all.logit_drop(*most);
    if (fall <= 0)
        return "Without any one of the heads, " + target + " does not fall from " + fixed(all.value(), 2) +
               but + ".";
    const std::string text = capitalised(head_text(*most, numbering)) + " matters most: without it, " +
                             target + " falls from " + fixed(all.value(), 2) + " to " +
                             fixed(all.value() - fall, 2) + but + ".\n";
    const auto look = model.look(brightest);
    if (!look) return text + "No head has a row for the chosen token.";
    const std::string where = " (" + percent(look->weight) + " at " +
                              key_in_words(*subject.attention_of(brightest.layer), look->key) + ")";
    if (brightest == *most) return text + "It also looks hardest" + where + ".";
    return text + capitalised(head_text(brightest, numbering)) + " looks hardest" + where +
           ", yet without it " + target + " " + change_told(*all.logit_drop(brightest)) + ".";
}

std::string edges_headline(const Model& model, Subject& subject) {
    const Attention& attention = *subject.attention();
    const QueryCuts& cuts = *model.cuts();
    const std::string query = query_in_words(attention, model.query),
                      at = head_text(model.head, attention.numbering());
    const std::vector<Index>& keys = cuts.keys();
    if (keys.empty()) return "In " + at + ", " + query + " sees no key, so there is no edge to cut.";
    if (!cuts.logit_drop(keys.back()))
        return "In " + at + ", hiding one key after another from " + query + ".";
    const auto fall = [&](Index key) { return *cuts.logit_drop(key); };
    const auto known = [&](Index key) { return std::isfinite(fall(key)) ? fall(key) : -INFINITY; };
    const Index most = *std::ranges::max_element(keys, {}, known);
    if (!std::isfinite(fall(most)))
        return "In " + at + ", whichever key " + query + " does not see, the logits are not finite.";
    const std::vector<float> weights =
        attention.record(model.head.layer)->weights(model.head.head, model.query);
    const auto share = [&](Index key) {
        return percent(static_cast<double>(weights[static_cast<std::size_t>(key)]));
    };
    std::string text = "If " + query + " does not see " + key_in_words(attention, most) + ", " +
                       model.target_name(subject) + " " + change_told(fall(most)) + " from " +
                       fixed(cuts.value(), 2) + ".\nIn " + at + ", the edge has a weight of " + share(most);
    const auto look = model.look(model.head);
    if (!look) return text + ".";
    if (look->key == most) return text + "; it is also where the head looks most.";
    return text + ". The head looks most at " + key_in_words(attention, look->key) + " (" + share(look->key) +
           "); without that edge, the logit " + change_told(fall(look->key)) + ".";
}

// Describes where the two texts differ, and where the difference goes from layer to layer.
std::string path_of(const Range& layers, auto&& strongest, auto&& at, const Layers& numbering) {
    std::string path;
    Index before = -1, turns = 0;
    for (Index layer = layers.begin; layer < layers.end; ++layer) {
        const Index token = strongest(layer);
        if (token == before) continue;
        if (before < 0)
            path = at(token);
        else if (++turns <= most_turns)
            path += ", from " + numbering.name(layer) + " on " + at(token);
        before = token;
    }
    if (turns == 0) path += " in every layer";
    if (turns > most_turns) path += ", and goes on";
    return path;
}

std::string patching_headline(const Model& model, Subject& subject) {
    const Patches& all = *model.patches();
    const Layers numbering = subject.attention()->numbering();
    const std::string target = model.target_name(subject), from = model.state.back ? "first" : "second";
    const Range layers = all.attentions(), tokens = all.tokens();
    if (!all.moved(layers.end - 1, tokens.end - 1))
        return "One number of the " + from +
               " text after another is put into the other run, to see how far " + target + " moves.";
    const auto size = [&](Index layer, Index token) {
        const double moved = std::abs(*all.moved(layer, token));
        return std::isfinite(moved) ? moved : -1;
    };
    const auto strongest = [&](Index layer) {
        Index most = tokens.begin;
        for (Index token = most; token < tokens.end; ++token)
            if (size(layer, token) > size(layer, most)) most = token;
        return most;
    };
    Index layer = layers.begin;
    for (Index each = layer; each < layers.end; ++each)
        if (size(each, strongest(each)) > size(layer, strongest(layer))) layer = each;
    if (!std::isfinite(all.other()))
        return "In the other text the logits are not finite, so nothing can be moved towards it.";
    if (size(layer, strongest(layer)) < 0) return "Whatever is patched, the logits are not finite.";
    const auto at = [&](Index token) { return "at " + query_in_words(model.patched(subject), token); };
    const std::string moves = fixed(*all.moved(layer, strongest(layer)), 2),
                      between = fixed(all.other() - all.value(), 2);
    if (model.state.site != Site::resid_pre)
        return "Taken from the " + from + " text, the " + std::string(info(model.state.site).name) + " of " +
               numbering.name(layer) + " " + at(strongest(layer)) + " moves " + target + " most, by " +
               moves + "; between the two texts lie " + between + ".";
    return "With the residual of the " + from + " text in its place, " + target + " moves by up to " + moves +
           " of the " + between + " between the two: " + path_of(layers, strongest, at, numbering) + ".";
}

}  // namespace

std::string Model::target_name(Subject& subject) const {
    const std::string raise = vocabulary.name(subject, target->loss.raise);
    return target->loss.over ? raise + " over " + vocabulary.name(subject, *target->loss.over)
                             : "the logit of " + raise;
}

std::string Model::headline(Subject& subject) {
    if (!refused.empty()) return refused;
    switch (state.part) {
        case Part::heads: return heads_headline(*this, subject);
        case Part::edges: return edges_headline(*this, subject);
        case Part::patching: break;
    }
    return patching_headline(*this, subject);
}

Guide Model::guide(Subject&) {
    return {
        "Bright is not the same as important",
        "A weight says where a head looks, not what the answer owes to it. Here parts are taken out and the "
        "model runs again (ablation: Michel, Levy & Neubig 2019). A head can be silenced (zero), made to "
        "say the same for every token: its mean over this text, or over many texts; or made to say what it "
        "says in a second text (twin). Zero is far from anything that the model has seen; a twin changes "
        "only what differs.\n\n"
        "Beside it stands what each head adds to the logit directly. The two differ where a head works "
        "through later ones, and where later ones step in for it.\n\n"
        "An edge is cut by hiding one key from one query. All edges of a head at once are estimated by one "
        "backward pass (attribution patching), and the strongest are cut to see how good that is.\n\n"
        "Patching puts one vector of one text into the run of the other (causal tracing: Meng et al. 2022): "
        "where the answer follows, the difference was."};
}

}  // namespace attn::app::knockout
