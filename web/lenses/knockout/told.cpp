// Writes the sentence and the guide of lens Knock-out.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

constexpr Index most_own_tokens = 64;  // tokens of the text offered for choosing
constexpr Index most_turns = 3;        // stations of a difference on its way through the layers

// Writes "falls by 1.20" or "rises by 0.30".
std::string change_told(double fall) {
    if (!std::isfinite(fall)) return "is not finite";
    return (fall < 0 ? "rises by " : "falls by ") + fixed(std::abs(fall), 2);
}

}  // namespace

// ---- Names ------------------------------------------------------------------------------------------------

std::string KnockoutLens::target_name(Subject& subject) const {
    const std::string raise = vocabulary_.name(subject, target_->loss.raise);
    return target_->loss.over ? raise + " over " + vocabulary_.name(subject, *target_->loss.over)
                              : "the logit of " + raise;
}

// The target's tokens, typed ones, the most likely ones here and in the second text, and the tokens of the
// text itself.
std::vector<std::int32_t> KnockoutLens::tokens_offered(Subject& subject) const {
    std::vector<std::int32_t> ids{target_->loss.raise};
    const auto offer = [&](std::int32_t id) {
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    };
    if (target_->loss.over) offer(*target_->loss.over);
    for (const std::int32_t id : typed_) offer(id);
    for (const Likeliest* each : {&here_, &there_})
        for (const Candidate& candidate : each->tokens) offer(candidate.id);
    const auto own = subject.attention()->trace()->ids();
    const Index count = std::min(std::ssize(own), most_own_tokens);
    for (const std::int32_t id : own.last(static_cast<std::size_t>(count))) offer(id);
    return ids;
}

// ---- The sentence -----------------------------------------------------------------------------------------

std::string KnockoutLens::spoken(Subject& subject) {
    update(subject);
    if (!refused().empty()) return refused();
    switch (now().part) {
        case KnockoutPart::heads: return heads_spoken(subject);
        case KnockoutPart::edges: return edges_spoken(subject);
        case KnockoutPart::patching: break;
    }
    return patching_spoken(subject);
}

std::string KnockoutLens::heads_spoken(Subject& subject) const {
    const HeadRemovals& all = *removals();
    const std::string target = target_name(subject);
    if (!agreement()) return "Removing one head after another, to see how far " + target + " falls.";
    HeadIndex brightest{};
    std::optional<HeadIndex> most;
    Index not_finite = 0;
    for (Index layer = 0; layer < all.attentions(); ++layer)
        for (Index head = 0; head < all.heads(); ++head) {
            const HeadIndex at{layer, head};
            const double fall = *all.logit_drop(at);
            not_finite += !std::isfinite(fall);
            if (std::isfinite(fall) && (!most || fall > *all.logit_drop(*most))) most = at;
            const auto looks = look(at), so_far = look(brightest);
            if (looks && (!so_far || looks->rest < so_far->rest)) brightest = at;
        }
    const Layers numbering = subject.attention()->numbering();
    if (!most)
        return "Without any one of the heads, the logits are not finite, so how far " + target +
               " falls is not known.";
    const std::string but =
        not_finite == 0 ? "" : " (without " + many(not_finite, "head") + ", the logits are not finite)";
    if (*all.logit_drop(*most) <= 0)
        return "Without any one of the heads, " + target + " does not fall from " + fixed(all.value(), 2) +
               but + ".";
    const double least = all.value() - *all.logit_drop(*most);
    const std::string text = capitalised(head_text(*most, numbering)) + " matters most: without it, " +
                             target + " falls from " + fixed(all.value(), 2) + " to " + fixed(least, 2) +
                             but + ".\n";
    const auto looks = look(brightest);
    if (!looks) return text + "No head has a row for the chosen token.";
    const Attention& text_of = *subject.attention_of(brightest.layer);
    const std::string where =
        " (" + percent(looks->weight) + " at " + key_in_words(text_of, looks->key) + ")";
    if (brightest == *most) return text + "It also looks hardest" + where + ".";
    return text + capitalised(head_text(brightest, numbering)) + " looks hardest" + where +
           ", yet without it " + target + " " + change_told(*all.logit_drop(brightest)) + ".";
}

std::string KnockoutLens::edges_spoken(Subject& subject) const {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    const std::string target = target_name(subject), query = query_in_words(attention, chosen_query(subject)),
                      at = head_text(head, attention.numbering());
    const std::vector<Index>& keys = cuts()->keys();
    if (keys.empty()) return "In " + at + ", " + query + " sees no key, so there is no edge to cut.";
    if (!cuts()->logit_drop(keys.back()))
        return "In " + at + ", hiding one key after another from " + query + ".";
    const auto fall = [&](Index key) { return *cuts()->logit_drop(key); };
    const auto known = [&](Index key) { return std::isfinite(fall(key)) ? fall(key) : -INFINITY; };
    const Index most = *std::ranges::max_element(keys, {}, known);
    if (!std::isfinite(fall(most)))
        return "In " + at + ", whichever key " + query + " does not see, the logits are not finite.";
    const auto record = attention.record(head.layer);
    const std::vector<float> weights = record->weights(head.head, chosen_query(subject));
    const auto share = [&](Index key) {
        return percent(static_cast<double>(weights[static_cast<std::size_t>(key)]));
    };
    std::string text = "If " + query + " does not see " + key_in_words(attention, most) + ", " + target +
                       " " + change_told(fall(most)) + " from " + fixed(cuts()->value(), 2) + ".\nIn " + at +
                       ", the edge has a weight of " + share(most);
    const auto looks = look(head);
    if (!looks) return text + ".";
    if (looks->key == most) return text + "; it is also where the head looks most.";
    return text + ". The head looks most at " + key_in_words(attention, looks->key) + " (" +
           share(looks->key) + "); without that edge, the logit " + change_told(fall(looks->key)) + ".";
}

std::vector<Index> KnockoutLens::keys_named(Subject& subject) const {
    const HeadIndex head = subject.chosen_head();
    const std::vector<float> weights =
        subject.attention()->record(head.layer)->weights(head.head, chosen_query(subject));
    Index strongest = -1, dearest = -1;
    const auto weight = [&](Index key) { return weights[static_cast<std::size_t>(key)]; };
    for (const Index key : cuts()->keys()) {
        if (strongest < 0 || weight(key) > weight(strongest)) strongest = key;
        const auto fall = cuts()->logit_drop(key);
        if (fall && std::isfinite(*fall) && (dearest < 0 || *fall > *cuts()->logit_drop(dearest)))
            dearest = key;
    }
    return {state().selection.key.value_or(-1), strongest, dearest};
}

std::string KnockoutLens::patching_spoken(Subject& subject) const {
    const Patches& all = *patches();
    const Attention& attention = *subject.attention();
    const std::string target = target_name(subject);
    const Index last_layer = all.attentions().end - 1, last_token = all.tokens().end - 1;
    if (!all.moved(last_layer, last_token))
        return "One number of " + std::string(now().back ? "the first" : "the second") +
               " text after another is put into the other run, to see how far " + target + " moves.";
    const Attention& patched = now().back ? *subject.second() : attention;
    const auto size = [&](Index layer, Index token) {
        const double moved = std::abs(*all.moved(layer, token));
        return std::isfinite(moved) ? moved : -1;
    };
    const auto strongest = [&](Index layer) {
        Index most = all.tokens().begin;
        for (Index token = most; token <= last_token; ++token)
            if (size(layer, token) > size(layer, most)) most = token;
        return most;
    };
    Index layer = all.attentions().begin;
    for (Index each = layer; each <= last_layer; ++each)
        if (size(each, strongest(each)) > size(layer, strongest(layer))) layer = each;
    if (!std::isfinite(all.other()))
        return "In the other text the logits are not finite, so nothing can be moved towards it.";
    if (size(layer, strongest(layer)) < 0) return "Whatever is patched, the logits are not finite.";
    const auto at = [&](Index token) { return "at " + query_in_words(patched, token); };
    const std::string from = now().back ? "first" : "second",
                      moves = fixed(*all.moved(layer, strongest(layer)), 2),
                      between = fixed(all.other() - all.value(), 2);
    if (now().site != Site::resid_pre)
        return "Taken from the " + from + " text, the " + std::string(info(now().site).name) + " of " +
               attention.numbering().name(layer) + " " + at(strongest(layer)) + " moves " + target +
               " most, by " + moves + "; between the two texts lie " + between + ".";
    // Describes where the two texts differ, and where the difference goes.
    std::string path;
    Index before = -1, turns = 0;
    for (Index each = all.attentions().begin; each <= last_layer; ++each) {
        const Index token = strongest(each);
        if (token == before) continue;
        if (before < 0)
            path = at(token);
        else if (++turns <= most_turns)
            path += ", from " + attention.numbering().name(each) + " on " + at(token);
        before = token;
    }
    if (turns == 0) path += " in every layer";
    if (turns > most_turns) path += ", and goes on";
    return "With the residual of the " + from + " text in its place, " + target + " moves by up to " + moves +
           " of the " + between + " between the two: " + path + ".";
}

Guide KnockoutLens::guide(Subject&) const {
    return {
        "Bright is not the same as important",
        "A weight says where a head looks, not what the answer owes to it. Here parts are taken out and the "
        "model runs again (ablation: Michel, Levy & Neubig 2019). A head can be silenced (zero), made to "
        "say the same for every token: its mean over this text, or over many texts; or made to say what it "
        "says in a second text (twin). Zero is "
        "far from anything that the model has seen; a twin changes only what differs.\n\n"
        "Beside it stands what each head adds to the logit directly. The two differ where a head works "
        "through later ones, and where later ones step in for it.\n\n"
        "An edge is cut by hiding one key from one query. All edges of a head at once are estimated by one "
        "backward pass (attribution patching), and the strongest are cut to see how good that is.\n\n"
        "Patching puts one vector of one text into the run of the other (causal tracing: Meng et al. 2022): "
        "where the answer follows, the difference was."};
}

}  // namespace attn::app
