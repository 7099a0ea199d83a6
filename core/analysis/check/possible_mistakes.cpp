#include "analysis/check/possible_mistakes.hpp"

namespace attn {

namespace {

PossibleMistake possible(const Mistake& mistake, const RecordCase& made) {
    PossibleMistake out{&mistake, {}, ""};
    if (mistake.key == dropout_key) {
        out.needs = "It is random, so it changes nothing that could be shown here.";
        return out;
    }
    if (mistake.key.starts_with("rope_") && !made.given.rope) {
        out.needs = "It needs " + made.unrotated + ".";
        return out;
    }
    const Implementation right = right_implementation(made.given);
    const std::vector<MistakeVariant> all = mistake.variants(made.given);
    for (const MistakeVariant& variant : all) {
        Implementation how = right;
        variant.apply(how);
        // A batch of one text that is read as its sequence leaves rows of one key, which no map here has.
        if (how.inputs.swap != InputReading::Swap::none) continue;
        if (how != right) out.variants.push_back(variant);
    }
    if (out.variants.empty() && mistake.key == "batch_and_sequence_swapped")
        out.needs = "It needs a batch of texts; here there is one.";
    else if (out.variants.empty())
        out.needs = all.empty() ? "It needs " + std::string(mistake.shows_in) + "." : "Here this is right.";
    return out;
}

}  // namespace

std::vector<PossibleMistake> possible_mistakes(const RecordCase& made) {
    std::vector<PossibleMistake> all;
    for (const Mistake& mistake : mistakes()) all.push_back(possible(mistake, made));
    return all;
}

}  // namespace attn
