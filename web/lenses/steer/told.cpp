// Writes the sentence and the guide of lens Steer.
#include <cmath>

#include "app/format.hpp"
#include "lenses/steer/steer.hpp"

namespace attn::app::steer {

std::string Model::token_name(Subject& subject) const {
    return vocabulary.name(subject, steering.direction.token);
}

std::string Model::direction_name(Subject& subject) const {
    const Layers numbering = subject.attention()->numbering();
    switch (steering.direction.kind) {
        case Kind::embedding: return token_name(subject);
        case Kind::unembedding: return "the unembedding of " + token_name(subject);
        case Kind::written:
            return "head " + numbering.short_head(steering.direction.head) + "’s " + token_name(subject);
        case Kind::second_text: return "the difference of the texts";
        case Kind::many_texts: return "the difference from many texts";
        case Kind::contrast: break;
    }
    return "positive minus negative texts";
}

std::string Model::place_name(Subject& subject) const {
    const std::string layer = subject.attention()->numbering().name(steering.attention);
    return (steering.site == Site::resid_pre   ? "before "
            : steering.site == Site::resid_mid ? "within "
                                               : "after ") +
           layer;
}

std::string Model::headline(Subject& subject) {
    if (!refused.empty()) return refused;
    if (!is_ready()) return "Running the text with the direction added.";
    const auto name = [&](std::int32_t id) { return vocabulary.name(subject, id); };
    const std::int32_t was = likeliest(Side::before);
    const std::string thing = direction_name(subject), place = place_name(subject);
    if (dial_shown == 0)
        return "Turn the dial to add " + thing + " " + place + ".\nNow " + name(was) + " comes next, " +
               chance(next(Side::before).probability(was)) + ".";
    if (!next(Side::after).is_finite())
        return "With so much of the direction, the logits are not finite. Turn the dial back.";
    const std::int32_t now = likeliest(Side::after),
                       told = steering.direction.is_of_token() &&
                                      steering.direction.token < std::ssize(next(Side::after).logits)
                                  ? steering.direction.token
                                  : now;
    const double from = next(Side::before).probability(told), to = next(Side::after).probability(told);
    std::string text =
        (dial_shown > 0 ? "Adding " : "Subtracting ") + thing + " " + place +
        (to >= from ? " raises " : " lowers ") +
        (told == steering.direction.token && steering.direction.kind == Kind::embedding ? "its chance"
                                                                                        : name(told)) +
        " " + chance_change(from, to) + ".\n";
    text += now == was ? "Still " + name(was) + " comes next, "
                       : "Next comes " + name(now) + " instead of " + name(was) + ", ";
    return text + chance(next(Side::after).probability(now)) + "; " + fixed(std::abs(dial_shown), 2) +
           " mean lengths of the stream are " + (dial_shown > 0 ? "added" : "subtracted") + ".";
}

Guide Model::guide(Subject&) {
    return {
        "A direction as a dial",
        "A direction of the residual stream is added at one place of the model, and the model goes on from "
        "there (activation addition: Turner et al. 2023). It can be a token’s embedding or unembedding, what "
        "a head writes for a token, or the difference of two texts, of this text and many, or of positive "
        "and "
        "negative texts of your own (contrastive directions: Rimsky et al. 2023).\n\n"
        "The dial counts in mean lengths of the stream at that place: at 1, what is added is as long as the "
        "stream itself. At 0 nothing is added, and below 0 it is subtracted.\n\n"
        "The dial is a change of the run like any other: its chip stands above, every lens shows the steered "
        "run, B shows it before, and links keep it."};
}

}  // namespace attn::app::steer
