// Says whether what a program returned is right, right up to rounding, or what a known mistake gives.
//
// The right result is computed in double from the inputs as stored, and once more in each precision that
// libraries use. A difference counts as rounding if no row is further off than a few times what that
// precision gives. Otherwise every mistake, dropout, and then all pairs of mistakes are tried on a few rows,
// and what comes near is confirmed on all. A mistake is named only if it explains the result in a finer
// precision than rounding does, or far better.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/check/mistakes.hpp"
#include "analysis/check/row_comparison.hpp"

namespace attn {

struct NamedCause {
    const Mistake* mistake = nullptr;
    std::string detail;
};

struct WrongCell {
    bool of_weights = false;
    Index batch = 0, head = 0, query = 0, column = 0;  // an output that is merged has head 0
    double theirs = 0, right = 0;
};

struct Verdict {
    enum class Kind { right, rounding, mistake, unknown };
    Kind kind = Kind::unknown;
    Implementation how = {};                // the one that explains the result, or the right one
    std::vector<NamedCause> causes;         // one, or a pair
    std::vector<NamedCause> alternatives;   // these data cannot tell them from the cause
    std::vector<const Mistake*> invisible;  // these would give the right result on these data
    bool confident = false;
    const RoundingLevel* level = nullptr;  // in which the result is explained; null: in none
    double difference = 0;                 // largest one from the explanation
    double right_difference = 0;           // largest one from the right result, where both are numbers
    Index not_numbers = 0;  // cells where one of the two is NaN or infinite and the other is not
    std::optional<WrongCell> first_wrong;
    Index tried = 0;          // implementations
    double dropout = 0;       // its probability, if that is the cause
    std::string key() const;  // "right", "rounding", "unknown" or the first cause's
    bool wrong() const { return kind == Kind::mistake || kind == Kind::unknown; }
};

// The first cell, in the order of the file, that is further off than rounding in the precision explains.
std::optional<WrongCell> first_wrong_cell(const AttentionCase& given, ImplementationRun& right,
                                          std::span<const ComparedRow> rows, const RoundingLevel* level);

// An implementation that comes near, and the root of the mean square of its differences over that of the
// result.
struct NearMiss {
    std::vector<NamedCause> causes = {};
    double distance = 0;
};
// How well rounding in a precision explains the difference from the right result.
struct LevelFit {
    const RoundingLevel* level = nullptr;
    Fit fit = {};
};

class Diagnosis {
  public:
    explicit Diagnosis(std::shared_ptr<const AttentionCase> given);
    ~Diagnosis();
    Diagnosis(Diagnosis&&) noexcept;
    Diagnosis& operator=(Diagnosis&&) noexcept;

    bool step();  // does a small part; true while there is more to do
    float progress() const;
    const Verdict& verdict() const;  // once complete
    // The nearest mistakes and, where they were tried, pairs; none if the result is right.
    std::span<const NearMiss> nearest() const;
    std::span<const LevelFit> levels() const;
    const std::shared_ptr<const AttentionCase>& shared_case() const;

  private:
    class Work;
    std::unique_ptr<Work> work_;
};

struct Diagnosed {
    std::shared_ptr<const AttentionCase> given;
    Verdict verdict;
};
// Diagnoses every reading of a case and returns the one that is explained best: the finest precision, then
// the fewest mistakes, then the most natural reading. There is at least one.
Diagnosed diagnose(std::vector<AttentionCase> readings);
// Says whether `a` explains a result better than `b`.
bool explains_better(const Verdict& a, const Verdict& b);

// "Your output is what comes out when heads are merged without transposing first (difference 3e-7; the right
// result is 0.8 away)."
std::string sentence(const Verdict& verdict);
// What data would tell the alternatives apart, and what these could not show; empty if nothing is open.
std::string open_questions(const Verdict& verdict);
// "output[0, 3, 17]", in the axes of the file.
std::string place(const AttentionCase& given, const WrongCell& cell);
std::vector<Index> indices(const AttentionCase& given, const WrongCell& cell);

}  // namespace attn
