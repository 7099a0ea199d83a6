// Writes the sentence, the names and the guide of lens Pitfalls.
#include <cmath>

#include "app/format.hpp"
#include "lenses/pitfalls/pitfalls.hpp"
#include "subjects/reading.hpp"

namespace attn::app::pitfalls {

namespace {

std::string gradient_text(const MistakeEffect& effect, const std::string& query) {
    if (std::isnan(effect.gradient)) return "no gradient reaches the query of " + query + " anyway";
    if (effect.gradient == 0) return "the gradient at " + query + " stays";
    return "the gradient at " + query + " changes by " +
           (std::isinf(effect.gradient) ? "more than can be written" : percent(effect.gradient));
}

}  // namespace

std::string change_text(double change) {
    if (std::isinf(change)) return "NaN";
    return change != 0 && std::abs(change) < 0.005 ? power_text(change) : fixed(change, 2);
}

bool is_seen(const MistakeEffect& effect) { return effect.of(Of::weight).change * colour_steps > 1; }

std::string name_of(const Model& model, Index mistake) {
    const PossibleMistake& each = model.at(mistake);
    const std::string detail = each.variants.empty() ? "" : each.variants[model.variant_of(mistake)].detail;
    return each.mistake->name + (detail.empty() ? "" : ", " + detail);
}

std::string Model::headline(Subject& subject) {
    if (!refused.empty()) return refused;
    if (state.train != Train::none) return training_headline(*this);
    const std::string name = chosen().mistake->name;
    if (chosen().variants.empty())
        return name + ": this head cannot make that mistake.\n" + chosen().needs + " Choose another one.";
    const MistakeEffect* found = effect(state.mistake);
    if (!found) return name + ": computing what it changes.";
    const std::string query = query_in_words(*subject.attention(), rows.query);
    const auto &weight = found->of_chosen(Of::weight), &output = found->of_chosen(Of::output);
    std::string said = name + ": ";
    if (std::isinf(weight.change) || std::isinf(output.change))
        said += "the numbers of " + query + " become NaN";
    else if (weight.change > 0)
        said += "weights of " + query + " change by up to " + change_text(weight.change);
    else if (output.change > 0)
        said += "the output of " + query + " changes by up to " + change_text(output.change);
    else
        said += "nothing changes for " + query;
    const bool changes = found->of(Of::output).change > 0 || found->of(Of::weight).change > 0;
    if (changes && !is_seen(*found)) said += ", and no map shows it";
    std::string more = window_text(*this);
    more = (more.empty() ? "In all rows" : "In " + more) + ": scores change by up to " +
           change_text(found->of(Of::score).change) + ", weights by " +
           change_text(found->of(Of::weight).change) + ", outputs by " +
           change_text(found->of(Of::output).change) + "; " + gradient_text(*found, query) + ".";
    return said + ".\n" + more;
}

Guide Model::guide(Subject&) {
    return {
        "Mistakes that people make",
        "Each mistake is one that people reported or asked about when they implemented attention: a mask "
        "the wrong way round, a scale forgotten, heads merged without a transpose. A switch makes it in "
        "this head’s layer, and everything is computed again, in double.\n\n"
        "The table has the largest change among the rows shown: of a score before the mask, among the keys "
        "that the query may see; of a weight; of a component of the head’s output. A mistake is seen in a "
        "map if a weight changes by more than one of its 255 colour steps. Those that are not seen are "
        "found only by comparing outputs.\n\n"
        "The gradient is that of a sum of the output’s components at the chosen query, with seeded normal "
        "factors, by the query’s own q before RoPE. It is taken by central differences with a step of 10⁻⁵. "
        "100 % also means that none of it arrives any more.\n\n"
        "Training takes a network of two layers with RoPE and random symbols that repeat, as in Training: "
        "it learns once without a mistake and once with it, from the same weights and on the same batches. "
        "Then its weights run with the right attention: what it learned may be worth nothing there.\n\n"
        "Where Q and K are rotated, they are turned back first, so that mistakes of RoPE can be made. A "
        "long text shows up to 32 queries around the chosen one, with all of their keys; texts whose layer "
        "has more than 1.5 million numbers or 300,000 weights are refused."};
}

}  // namespace attn::app::pitfalls
