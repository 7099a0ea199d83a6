// Names the properties, and writes the lens's sentence and its guide.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/properties/properties.hpp"
#include "subjects/reading.hpp"

namespace attn::app::properties {

namespace {

struct Told {
    const char *brief, *name, *way;
};
constexpr std::array<Told, property_count> told{{
    {"rows sum to 1", "Rows sum to 1",
     "The f32 weights of each row are added up in double; a weight below 0 counts as an error of its own."},
    {"masked keys", "Masked keys are never read",
     "Masked weights must be 0. Then each row is computed again with NaN and ∞ in every key and value that "
     "its mask hides: no bit of it may change."},
    {"within values", "Outputs lie among the values",
     "Each component must lie between the smallest and the largest of the values that the row weighs. "
     "Weights "
     "that are not negative and sum to 1 make it lie in their convex hull, too."},
    {"permutation", "Permuted tokens permute outputs",
     "Queries, keys, values, mask and bias are permuted alike and the head runs again. Each output must be "
     "the same, at its token’s new place."},
    {"shift", "A constant on all scores changes nothing",
     "The head runs again with the constant added to every score, as a bias. Softmax must cancel it, except "
     "for roundings."},
    {"sum of heads", "Heads add up to the whole",
     "What each head writes through its part of W_O is added up with the bias, and compared with the "
     "attention’s output."},
    {"causality", "The past does not see the future",
     "What comes later is replaced, and everything is computed again: the rows before must keep every bit."},
    {"same bits", "The same run gives the same bits",
     "Everything is computed a second time, and compared bit by bit."},
    {"f32 bound", "f32 stays within its bound",
     "Each output of the run is compared with the same row in double. The bound follows from the scores, "
     "before anything is rounded (Higham 2002, section 3.1)."},
    {"any length", "Any length",
     "The same attention runs on the first half of the tokens. Under a causal mask, its rows must have the "
     "bits that they have in the whole text."},
    {"row by row", "Rows one by one",
     "Each row is computed alone, the last one first, and must have the bits of the whole run: rows can be "
     "computed in parallel."},
    {"other order", "The text in another order",
     "The model reads the text with its tokens permuted. Positions and the causal mask see that: without "
     "them, each token would keep its output."},
}};

std::string error_text(double error) {
    return error == 0 ? "0" : std::isfinite(error) ? power_text(error) : fixed(error, 1);
}

// The result with the largest ratio of error and bound among those that hold.
const CheckedCell* nearest_bound(const Model& model) {
    const CheckedCell* found = nullptr;
    for (Index i = 0; i < required_properties; ++i) {
        const PropertyResult& result = model.result(static_cast<Property>(i));
        if (result.cells == 0 || !result.is_meant) continue;
        if (!found || result.worst.ratio() > found->ratio()) found = &result.worst;
    }
    return found;
}

// Says that the run has been changed, if that may be why something fails.
std::string changed_told(Subject& subject) {
    const auto trace = subject.attention()->trace();
    return trace && !trace->interventions().empty() ? " The run has changes of yours, which may be why." : "";
}

}  // namespace

const char* brief_name_of(Property property) { return told[static_cast<std::size_t>(property)].brief; }
const char* name_of(Property property) { return told[static_cast<std::size_t>(property)].name; }
const char* way_of(Property property) { return told[static_cast<std::size_t>(property)].way; }

const char* reason_of(Lacking lacking) {
    switch (lacking) {
        case Lacking::scores: return "needs Q and K, and these weights came finished";
        case Lacking::values: return "needs values, and there are none";
        case Lacking::masked_keys: return "needs masked keys, and every query sees every key";
        case Lacking::projection: return "needs a model, whose W_O adds its heads up";
        case Lacking::model: return "needs a model that reads the tokens";
        case Lacking::tokens: return "needs two tokens or more";
        case Lacking::rerun: return "needs a second run, which the model refuses";
        case Lacking::nothing: break;
    }
    return "";
}

std::string place_name(Subject& subject, Property property, const CheckedCell& cell) {
    const Attention& attention = *subject.attention_of(cell.layer);
    const std::string query = query_in_words(attention, cell.query);
    if (cell.at < 0) return "the row of " + query;
    if (property == Property::rows || property == Property::masked ||
        (property == Property::past && attention.finished()))
        return query + " on " + key_in_words(attention, cell.at);
    return "component " + std::to_string(cell.at) + " of " + query;
}

CellPlace place_of(Subject& subject, Property property, const CheckedCell& cell) {
    const HeadIndex head{cell.layer, cell.head};
    if (cell.at < 0) return {head, MapSum{MapTotal::row_total, cell.query}};
    const bool of_weight =
        property == Property::rows || property == Property::masked || subject.attention()->finished();
    const Stage stage = of_weight                     ? Stage::weight
                        : property == Property::heads ? Stage::attention_output
                                                      : Stage::output;
    return {head, RunCell{.stage = stage, .row = cell.query, .col = cell.at}};
}

std::string unchecked(const Model& model) {
    std::string text;
    for (Index i = 0; i < property_count; ++i) {
        const PropertyResult& result = model.result(static_cast<Property>(i));
        if (!result.done || result.can_be_checked()) continue;
        text += (text.empty() ? "Not checked here: “" : "; “") +
                std::string(name_of(static_cast<Property>(i))) + "” " + reason_of(result.lacking);
    }
    return text.empty() ? text : text + ".";
}

std::string Model::headline(Subject& subject) {
    if (!checks) return "The attention is still being computed.";
    Index holding = 0;
    std::vector<Property> failing;
    for (Index i = 0; i < required_properties; ++i) {
        const auto property = static_cast<Property>(i);
        const PropertyResult& now = result(property);
        if (now.cells == 0 || !now.is_meant) continue;
        if (!now.holds()) failing.push_back(property);
        holding += now.holds();
    }
    if (!failing.empty()) {
        const PropertyResult& first = result(failing.front());
        const std::string text =
            (failing.size() == 1 ? "One property fails: “"
                                 : std::to_string(failing.size()) + " properties fail; the first is “") +
            name_of(failing.front()) + "”";
        return text + ".\nIt fails in " + with_commas(first.broken) + " of " +
               many(static_cast<std::ptrdiff_t>(first.cells), "cell") + ", most at " +
               place_name(subject, failing.front(), first.worst) + ": off by " +
               error_text(first.worst.error) + ", with a bound of " + error_text(first.worst.bound) + "." +
               changed_told(subject);
    }
    if (!is_done())
        return "Checking the properties, " + percent(static_cast<double>(checks->progress())) + ".";
    if (holding == 0) return "None of the properties can be checked here.";
    const CheckedCell* worst = nearest_bound(*this);
    std::string text = holding == required_properties
                           ? "All " + std::to_string(holding) + " properties hold here"
                       : holding == 1 ? "The one property checked here holds"
                                      : "The " + std::to_string(holding) + " properties checked here hold";
    text += worst->error == 0 ? "; no number is off at all."
                              : "; nearest to a bound: " + error_text(worst->error) + " of " +
                                    error_text(worst->bound) + ".";
    const std::string rest = unchecked(*this);
    if (const PropertyResult& past = result(Property::past); past.cells > 0 && !past.is_meant)
        text += "\nThe past sees the future here, as it is meant to: no causal mask hides later tokens.";
    else if (!rest.empty())
        text += "\n" + rest;
    return text;
}

Guide Model::guide(Subject&) {
    return {
        "What must hold",
        "Each property is proved on the numbers at hand. Some are exact: a bit that differs breaks them. "
        "Others hold up to rounding, and their bound is known before anything is computed: it follows from "
        "the sizes of the numbers and from how many are added up (Higham, Accuracy and Stability of "
        "Numerical Algorithms, 2nd edition, chapter 3).\n\n"
        "Errors are usually far below their bounds, because roundings partly cancel.\n\n"
        "Of a long text, 128 queries a head are checked, evenly spaced. Weights or outputs that you "
        "change, or that came finished in a file, may break a property; then it says where.\n\n"
        "The experiments show two more that the tutorials name: attention takes any number of tokens, and "
        "computes its rows in parallel."};
}

}  // namespace attn::app::properties
