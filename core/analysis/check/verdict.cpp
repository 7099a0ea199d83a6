#include "analysis/check/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace attn {

namespace {

std::string short_number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", x);
    return text;
}

std::string told(const NamedCause& cause) {
    std::string text = cause.mistake->cause;
    if (!cause.detail.empty()) text += " (" + cause.detail + ")";
    return text;
}

std::string list_of(auto&& range, auto text) {
    std::string all;
    std::size_t i = 0;
    const std::size_t n = range.size();
    for (const auto& each : range) {
        if (i > 0) all += i + 1 == n ? " or " : ", ";
        all += text(each);
        ++i;
    }
    return all;
}

}  // namespace

std::optional<WrongCell> first_wrong_cell(const AttentionCase& given, ImplementationRun& right,
                                          std::span<const ComparedRow> rows, const RoundingLevel* level) {
    constexpr double unexplained = 0x1p-11;
    const double u =
        level ? std::max(unit_roundoff(level->precision.weight), unit_roundoff(level->precision.output))
              : unexplained;
    const auto order = [](const WrongCell& at) {
        return std::tuple(at.of_weights, at.batch, at.head, at.query, at.column);
    };
    std::optional<WrongCell> first;
    for (const ComparedRow& row : rows) {
        const std::vector<double> ours = row_of(right, given, row);
        const auto theirs = theirs_of(given, row);
        const double size = std::sqrt(difference(theirs, ours).scale);
        for (std::size_t c = 0; c < ours.size(); ++c) {
            const double x = theirs[c], y = ours[c];
            if (x == y || (std::isnan(x) && std::isnan(y)) ||
                std::abs(x - y) <= 16 * u * (size + std::abs(y)) + 1e-12)
                continue;
            WrongCell cell{row.of_weights, row.batch, row.head, row.query, static_cast<Index>(c), x, y};
            if (!row.of_weights && given.output_by_head) {
                cell.head = cell.column / given.d_v();
                cell.column %= given.d_v();
            }
            if (!first || order(cell) < order(*first)) first = cell;
        }
    }
    return first;
}

std::string Verdict::key() const {
    switch (kind) {
        case Kind::right: return "right";
        case Kind::rounding: return "rounding";
        case Kind::mistake: return std::string(causes.front().mistake->key);
        case Kind::unknown: return "unknown";
    }
    return "unknown";
}

std::string sentence(const Verdict& verdict) {
    const std::string away = verdict.not_numbers > 0
                                 ? "the right result has other numbers in " +
                                       std::to_string(verdict.not_numbers) + " cells that are NaN or infinite"
                                 : "the right result is " + short_number(verdict.right_difference) + " away";
    switch (verdict.kind) {
        case Verdict::Kind::right:
            if (verdict.difference == 0) return "Your result is right: it equals the exact one, rounded.";
            return "Your result is right: it differs from the exact one by at most " +
                   short_number(verdict.difference) + ", which is rounding in f32.";
        case Verdict::Kind::rounding:
            return "Your result is right: it is off by what rounding costs in " +
                   std::string(verdict.level->name) + " (difference " + short_number(verdict.difference) +
                   ").";
        case Verdict::Kind::unknown:
            if (verdict.tried == 0)
                return "Your result is all zeros, and the right one is not: was it ever written?";
            return "Your result is wrong by up to " + short_number(verdict.right_difference) +
                   (verdict.not_numbers > 0 ? "; " + std::to_string(verdict.not_numbers) +
                                                  " cells are NaN or infinite where the right result is a "
                                                  "number, or the other way round"
                                            : std::string()) +
                   ", and none of " + std::to_string(verdict.tried) +
                   " known mistakes and pairs of them explains it.";
        case Verdict::Kind::mistake: break;
    }
    if (verdict.causes.front().mistake->key == dropout_key)
        return std::string("Your result ") + (verdict.confident ? "is" : "looks like") + " what comes out " +
               verdict.causes.front().mistake->cause + ", with p about " + short_number(verdict.dropout) +
               " (" + away + ").";
    std::string text = "Your result is what comes out " + told(verdict.causes.front());
    if (verdict.causes.size() > 1) text += ", and " + told(verdict.causes[1]);
    text += " (difference " + short_number(verdict.difference) + "; " + away + ")";
    if (verdict.level && verdict.level != &rounding_levels()[exact_level])
        text += ", up to " + std::string(verdict.level->name);
    return text + ".";
}

std::string open_questions(const Verdict& verdict) {
    std::string text;
    if (!verdict.alternatives.empty()) {
        text = "It is also what comes out " +
               list_of(verdict.alternatives, [](const NamedCause& each) { return told(each); }) +
               ". To tell them apart, use a case with " + verdict.causes.front().mistake->shows_in + ".";
    }
    if (!verdict.invisible.empty()) {
        if (!text.empty()) text += " ";
        constexpr std::size_t most = 4;
        const auto some = std::span(verdict.invisible).first(std::min(most, verdict.invisible.size()));
        text += "These data cannot show: ";
        const char* between = "";
        for (const Mistake* each : some) {
            text += between + std::string("“") + each->name + "” (needs " + each->shows_in + ")";
            between = ", ";
        }
        if (const std::size_t more = verdict.invisible.size() - some.size(); more > 0)
            text += " and " + std::to_string(more) + " more";
        text += ".";
    }
    return text;
}

std::vector<Index> indices(const AttentionCase& given, const WrongCell& cell) {
    std::vector<Index> at;
    if (cell.of_weights) {
        at = {cell.batch, cell.head, cell.query, cell.column};
        if (given.weights.heads == 1 && given.heads() > 1) at = {cell.batch, cell.query, cell.column};
        if (given.batch() == 1 && given.output_rank < 4) at.erase(at.begin());
        return at;
    }
    if (given.output_by_head)
        at = {cell.batch, cell.head, cell.query, cell.column};
    else
        at = {cell.batch, cell.query, cell.column};
    while (std::ssize(at) > given.output_rank) at.erase(at.begin());
    return at;
}

std::string place(const AttentionCase& given, const WrongCell& cell) {
    std::string text = cell.of_weights ? "weights[" : "output[";
    const char* between = "";
    for (const Index i : indices(given, cell)) {
        text += between + std::to_string(i);
        between = ", ";
    }
    return text + "]";
}

bool explains_better(const Verdict& a, const Verdict& b) {
    const auto rank = [](const Verdict& v) {
        const auto level = v.level ? v.level - rounding_levels().data() : std::ssize(rounding_levels());
        const double off = v.kind == Verdict::Kind::unknown ? v.right_difference : 0;
        return std::tuple(v.kind == Verdict::Kind::unknown, level, v.causes.size(), off);
    };
    return rank(a) < rank(b);
}

Diagnosed diagnose(std::vector<AttentionCase> readings) {
    Diagnosed best;
    for (AttentionCase& reading : readings) {
        auto given = std::make_shared<const AttentionCase>(std::move(reading));
        Diagnosis diagnosis(given);
        while (diagnosis.step()) {
        }
        if (!best.given || explains_better(diagnosis.verdict(), best.verdict))
            best = {std::move(given), diagnosis.verdict()};
        if (best.verdict.kind == Verdict::Kind::right) break;
    }
    return best;
}

}  // namespace attn
