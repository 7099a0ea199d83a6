// Writes the amounts, the sentence and the guide of lens Cost.
#include <cmath>

#include "app/format.hpp"
#include "lenses/cost/cost.hpp"

namespace attn::app::cost {

namespace {

constexpr double too_noisy = 0.1;  // how far times scatter around the fit

std::string exponent_text(const PowerFit& fit) {
    return fixed(fit.exponent, 2) + " ± " + fixed(fit.error, 2);
}

// Returns the times that say most: those on the means of the page or, where these are too noisy, on one
// thread.
const CostSeries* told_series(const Model& model) {
    for (const CostMeans means : {usual_means(), CostMeans::simd}) {
        const CostSeries* fused = model.series_of(CostWork::fused, means);
        if (fused && fused->by(CostAxis::n).fit && fused->by(CostAxis::n).fit->scatter <= too_noisy)
            return fused;
    }
    return model.series_of(CostWork::fused, usual_means());
}

std::string time_headline(const Model& model) {
    const CostSeries* fused = told_series(model);
    if (!model.measured->times()->done() || !fused || !fused->by(CostAxis::n).fit)
        return "Measuring attention in this tab, " + percent(model.measured->times()->progress()) +
               ".\nBy its shape it takes 4 n² d operations a head: n² in the text, d in the width.";
    const PowerFit& n = *fused->by(CostAxis::n).fit;
    const auto first = static_cast<std::size_t>(n.points.begin);
    const bool is_noisy = n.scatter > too_noisy;
    const std::string said =
        "Here attention takes n^" + exponent_text(n) + " time" +
        (is_noisy ? ", but this machine is too busy to tell."
                  : ": twice the text costs " + fixed(std::exp2(n.exponent), 1) + " times as much.") +
        (fused->means == usual_means() ? "\nFused, n from " : "\nFused, on one thread, n from ") +
        with_commas(std::lround(fused->by(CostAxis::n).x[first])) + " to " +
        with_commas(std::lround(fused->by(CostAxis::n).x.back()));
    if (is_noisy)
        return said + ". Times lie " + percent(n.scatter) + " off the fit. Measure again when it is quiet.";
    const auto& d = fused->by(CostAxis::d).fit;
    const CostSeries* naive = model.series_of(CostWork::naive, fused->means);
    return said + (d ? "; in the width d^" + exponent_text(*d) : "") +
           (naive && naive->by(CostAxis::n).fit
                ? "; the naive form n^" + exponent_text(*naive->by(CostAxis::n).fit)
                : "") +
           ".";
}

std::string roof_headline(const Model& model) {
    const auto roof = model.roofline();
    if (!roof)
        return "Measuring what this browser can do, " +
               percent(model.measured->roof() ? model.measured->roof()->progress() : 0) +
               ".\nA kernel is held back by arithmetic or by memory: its operations a byte decide.";
    std::string said = "Below " + fixed(roof->ridge(), 1) +
                       " operations a byte, memory decides: " + operations_text(roof->peak) + "/s against " +
                       bytes_text(roof->bandwidth) + "/s.\n";
    const auto* decoding = model.measured->timed(CostOperation::decode_mlp);
    const auto* reading = model.measured->timed(CostOperation::prefill_mlp);
    const auto reaches = [](const CostMeasuring::Timed& timed) {
        return fixed(intensity_of(timed.what), 1) + " operations a byte, reaches " +
               operations_text(rate_of(timed)) + "/s";
    };
    if (decoding && reading)
        said +=
            "A matrix times one vector, " + reaches(*decoding) + "; times many, " + reaches(*reading) + ".";
    return said;
}

std::string models_headline(const Model& model) {
    const ModelUse use = model.use(model.in_view());
    const KnownModel* known = model.typed_model();
    const StepCost reading = use.step(true).operations;
    std::string said = (model.in_view() == 0 ? curly_quoted(model.open_name)
                        : known              ? std::string(known->name)
                                             : "The typed shape") +
                       " reads " + with_commas(use.tokens) +
                       (use.tokens == 1 ? " token with " : " tokens with ") +
                       operations_text(reading.total()) + "; one more takes " +
                       operations_text(use.step(false).operations.total()) + ".\nAttention is " +
                       percent(reading.attention / reading.total()) + " of reading";
    if (const auto from = attention_crossing(use.shape, 100 * most_tokens))
        said += ", and more than the matrices from " + with_commas(*from) + " tokens on";
    return said + "; keys and values take " + amount_text(Amount::cache, *use.amount(Amount::cache)) + ".";
}

}  // namespace

std::string Model::headline(Subject&) {
    switch (state.part) {
        case Part::time: return time_headline(*this);
        case Part::roofline: return roof_headline(*this);
        case Part::models: break;
    }
    return models_headline(*this);
}

Guide Model::guide(Subject&) {
    return {
        "What is the complexity?",
        "Each of n queries is multiplied by each of n keys of d numbers, and again by the values: 4 n² d "
        "operations a head, O(n² d). Naive attention also stores all n² scores; the fused form keeps two "
        "numbers a row and computes the rest again and again (Rabe & Staats 2021; Dao et al. 2022). Both "
        "take the same operations, so both are quadratic in time, and only one is in memory.\n\n"
        "The exponents are measured: the slope of ln time over ln n by least squares, with its standard "
        "error, where the leading term makes up 90 % of the time. Times are the least of several rounds.\n\n"
        "A roofline (Williams et al. 2009) says what limits a kernel: below the ridge, each byte brings too "
        "little work, and memory decides. Reading a text uses a weight once for every token; decoding uses "
        "it for one token alone, and waits for memory."};
}

}  // namespace attn::app::cost
