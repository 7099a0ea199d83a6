// Writes the sentence, the names and the guide of lens Numerics.
#include <cmath>

#include "app/format.hpp"
#include "lenses/numerics/numerics.hpp"
#include "subjects/reading.hpp"

namespace attn::app::numerics {

namespace {

constexpr auto stage_names = std::to_array<const char*>(
    {"Q", "K", "V", "products", "raw scores", "scaled scores", "capped scores", "masked scores",
     "shifted scores", "exponentials", "sum", "weights", "output"});
static_assert(stage_names.size() == chain_stage_count);

bool is_plural(ChainStage stage) {
    return stage >= ChainStage::product && stage != ChainStage::sum && stage != ChainStage::output;
}

std::string limit_text(const FormatInfo& format) {
    const double most = format.largest;
    return std::string(format.name) + ", " +
           (most < 1e6 ? with_commas(static_cast<std::int64_t>(most)) : power_text(most));
}

// The format that a stage is stored in.
const FormatInfo& format_of(const RoundedChain& chain, ChainStage stage) {
    const Arithmetic& how = chain.arithmetic();
    const bool is_of_ends = stage <= ChainStage::v || stage >= ChainStage::weight;
    return info(is_of_ends ? how.format : stage == ChainStage::product ? how.of_sums() : how.of_scores());
}

// The origin of what is not finite, as a subject and its verb: "exp(12.3) for “It” × “animal” overflows".
std::string origin_text(const RoundedChain& chain, Subject& subject, const ChainCell& made) {
    const std::string at = " for " + place_text(subject, made);
    if (made.stage == ChainStage::exponential) {
        const ChainStage before = chain.arithmetic().is_shifted() ? ChainStage::shifted : ChainStage::masked;
        return "exp(" + fixed(chain.at({before, made.row, made.column}), 1) + ")" + at +
               (chain.at(made) == 0 ? " is rounded to 0" : " overflows");
    }
    const bool is_score = made.stage >= ChainStage::raw && made.stage <= ChainStage::shifted;
    return (made.stage <= ChainStage::v ? std::string("a number of ") + stage_name(made.stage)
                                        : "the " + std::string(chain_stage_keys[number_of(made.stage)])) +
           (is_score ? " score" : "") + at + " overflows";
}

}  // namespace

const char* stage_name(ChainStage stage) { return stage_names[number_of(stage)]; }

std::string arithmetic_text(const Arithmetic& how) {
    constexpr std::array<const char*, 3> steps{"every step rounded", "products and sums in f32",
                                               "all between inputs and weights in f32"};
    constexpr std::array<const char*, order_count> orders{"sums in order", "sums in pairs",
                                                          "compensated sums", "softmax online"};
    return std::string(steps[static_cast<std::size_t>(how.steps)]) + ", " +
           orders[static_cast<std::size_t>(how.order)] +
           (how.is_shifted() ? ", maximum subtracted" : ", maximum not subtracted");
}

std::string place_text(Subject& subject, const ChainCell& cell) {
    const Attention& attention = *subject.attention();
    std::string row =
        is_of_keys(cell.stage) ? key_in_words(attention, cell.row) : query_in_words(attention, cell.row);
    if (cell.stage == ChainStage::sum) return row;
    if (is_of_pairs(cell.stage)) return row + " × " + key_in_words(attention, cell.column);
    return row + ", component " + std::to_string(cell.column);
}

std::string cause_text(const RoundedChain& chain, const ChainCell& made) {
    const FormatInfo& format = format_of(chain, made.stage);
    const std::string most = "the largest number of " + limit_text(format);
    switch (made.stage) {
        case ChainStage::exponential: {
            const ChainStage before =
                chain.arithmetic().is_shifted() ? ChainStage::shifted : ChainStage::masked;
            const std::string exponential =
                "exp(" + fixed(chain.at({before, made.row, made.column}), 2) + ")";
            if (chain.at(made) == 0)
                return exponential + " is below half of the least number of " + std::string(format.name) +
                       ", " + power_text(std::ldexp(1, format.least_exponent - format.fraction_bits)) +
                       ", so it is rounded to 0, and all of its row with it: 0 / 0 is not a number.";
            return exponential + " is more than " + most + ".";
        }
        case ChainStage::raw:
        case ChainStage::sum:
        case ChainStage::output: return "Its sum passes " + most + ".";
        default: return "It is more than " + most + ".";
    }
}

std::string Model::headline(Subject& subject) {
    if (!refused.empty()) return refused;
    const RoundedChain* chain = chosen();
    const std::string format(info(state.format).name);
    if (!chain) return "Rounding every step of this head to " + format + ".";
    const std::string how = arithmetic_text(state.arithmetic());
    if (const auto made = chain->first_not_finite()) {
        ChainStage last = ChainStage::q;
        for (const ChainStage stage : stages)
            if (chain->errors()[number_of(stage)].not_finite > 0) last = stage;
        const StageErrors& lost = chain->errors()[number_of(last)];
        return "In " + format + ", " + origin_text(*chain, subject, *made) + ".\nAfter that, " +
               std::to_string(lost.not_finite) + " of " + many(lost.count, "number") + " of " +
               stage_name(last) + (lost.not_finite == 1 ? " is" : " are") + " infinite or NaN; " + how + ".";
    }
    const ChainStage stage = shown_stage();
    const bool of_all = is_of_keys(stage);
    const StageErrors& errors =
        of_all ? chain->errors()[number_of(stage)] : chain->errors_of_row(query)[number_of(stage)];
    const auto measure = static_cast<std::size_t>(state.measure);
    const StageErrors::Largest& largest = errors.largest[measure];
    const std::string subject_of = std::string(stage <= ChainStage::v ? "" : "the ") + stage_name(stage) +
                                   (of_all ? "" : " of " + query_in_words(*subject.attention(), query));
    if (errors.count == 0)
        return "The mask hides every key from " + query_in_words(*subject.attention(), query) +
               ", so nothing is rounded.\nChoose another query.";
    if (largest.error < 0) return "Numbers of this head are not finite in f64 either, so they have no error.";
    const char* verb = is_plural(stage) ? " are" : " is";
    if (largest.error == 0)
        return "In " + format + ", " + subject_of + verb + " exact.\n" + capitalised(how) + ".";
    const auto amount = [&](double error) {
        if (state.measure == ErrorMeasure::relative && error >= 1e-3) return percent(error);
        return error_size(two_digits_up(error));
    };
    std::string beside;
    const NumberFormat other = state.format == NumberFormat::f32 ? NumberFormat::bf16 : NumberFormat::f32;
    if (const RoundedChain* second = this->chain(with_format(static_cast<std::size_t>(other)))) {
        const StageErrors& there =
            of_all ? second->errors()[number_of(stage)] : second->errors_of_row(query)[number_of(stage)];
        if (there.largest[measure].error >= 0)
            beside = " (" + std::string(info(other).name) + ": " + amount(there.largest[measure].error) + ")";
    }
    return "In " + format + ", " + subject_of + verb + " off by at most " + amount(largest.error) + beside +
           ".\nThe worst is " + place_text(subject, largest.at) + "; " + how + ".";
}

Guide Model::guide(Subject&) {
    return {
        "Attention in few bits",
        "A format has so many bits for the exponent, which sets its range, and so many for the fraction, "
        "which set its precision. Each number is rounded to the nearest of the format, ties to the even one; "
        "beyond the largest it becomes infinite, or NaN in e4m3. Here all of that is emulated in double, and "
        "compared with double whose sums are compensated.\n\n"
        "Every step rounded means just that: inputs, products, each partial sum, and each stage. Libraries "
        "add up in f32; fused kernels also keep the scores and the softmax in f32 and round only Q, K, V, "
        "the weights and the output. Libraries multiply tensors by a scale before they round to 8 bits; "
        "here there is none.\n\n"
        "A sum in order stalls once the sum is so large that adding a term changes nothing: in bf16 at 256 "
        "ones. Pairs (halves of halves) and compensation (Neumaier 1974) avoid it. Without the maximum "
        "subtracted, the exponential of 11.1 is already too large for f16.\n\n"
        "Of a long text, this lens shows a window of queries around the chosen one, with all of their keys."};
}

}  // namespace attn::app::numerics
