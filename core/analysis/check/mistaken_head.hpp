// Scores, weights and outputs of some queries of a head as an implementation computes them, and the gradient
// that reaches one query: what a mistake does is the difference of two of these.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "analysis/check/implementation.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// The rows that are looked at. The case must not change.
struct CheckedRows {
    std::shared_ptr<const AttentionCase> given;
    Index head = 0;
    Range queries;
    Index query = 0;  // whose gradient is taken
    bool operator==(const CheckedRows&) const = default;
};

// Q, K and V as a reading takes them, and where each component of the query's q goes.
class QueryReading {
  public:
    struct Part {
        Array4 ReadInputs::* array;
        std::size_t at;
        double share;  // the number there changes by this much if the component changes by 1
    };
    QueryReading(const CheckedRows& rows, InputReading reading);

    const InputReading& reading() const { return reading_; }
    const std::shared_ptr<const ReadInputs>& inputs() const { return inputs_; }
    bool step();  // a component; true while there are more
    std::span<const Part> parts(Index component) const { return parts_[static_cast<std::size_t>(component)]; }

  private:
    InputReading reading_;
    std::shared_ptr<const ReadInputs> inputs_;
    AttentionCase unit_;  // all numbers are 0, but for a component of the query
    std::size_t at_ = 0;
    std::vector<std::vector<Part>> parts_;
};

class MistakenHead {
  public:
    // The gradient is that of Σ_b r_b O[query, b] by the query's q before RoPE, with a seeded normal r, by
    // central differences with this step.
    static constexpr double gradient_step = 1e-5;
    static std::vector<double> gradient_weights(Index d_v);  // r

    MistakenHead(CheckedRows rows, Implementation how, std::shared_ptr<QueryReading> reading);

    bool step();  // a row, or a component of the gradient; true while there are more
    bool done() const { return done_; }
    const CheckedRows& rows() const { return rows_; }
    const Implementation& implementation() const { return run_.implementation(); }
    ImplementationRun& run() const { return run_; }

    // The following require that it is done. Rows are those of rows().queries.
    const std::vector<double>& scores(Index query) const { return at(scores_, query); }  // before the mask
    const std::vector<double>& weights(Index query) const { return at(weights_, query); }
    const std::vector<double>& output(Index query) const { return at(outputs_, query); }
    const std::vector<double>& gradient() const { return gradient_; }  // [d_k]
    // The two sums that a component of the gradient is the difference of: a step forward, and back.
    std::pair<double, double> sums(Index component) const {
        return sums_[static_cast<std::size_t>(component)];
    }

  private:
    using Rows = std::vector<std::vector<double>>;
    const std::vector<double>& at(const Rows& rows, Index query) const {
        return rows[static_cast<std::size_t>(query - rows_.queries.begin)];
    }
    double loss(std::span<const QueryReading::Part> parts, double by);

    CheckedRows rows_;
    std::shared_ptr<QueryReading> reading_;
    std::vector<double> r_;
    mutable ImplementationRun run_;  // keeps rows that it computed
    std::shared_ptr<ReadInputs> moved_;
    Rows scores_, weights_, outputs_;
    std::vector<double> gradient_;
    std::vector<std::pair<double, double>> sums_;
    bool done_ = false;
};

// What a mistake changes in the rows of a head.
struct MistakeEffect {
    struct Largest {
        double change = 0;  // infinite where one of two numbers is not finite
        double before = 0, after = 0;
        Index query = 0, column = 0;
    };
    enum class Of { score, weight, output };
    std::array<Largest, 3> largest;   // in all rows, indexed by Of; scores of keys that the query may see
    std::array<Largest, 3> of_query;  // at the chosen query
    double gradient = 0;              // ‖g' − g‖ / ‖g‖; NaN where g is 0
    std::vector<double> gradient_after = {};  // g'

    const Largest& of(Of what) const { return largest[static_cast<std::size_t>(what)]; }
    const Largest& of_chosen(Of what) const { return of_query[static_cast<std::size_t>(what)]; }
};
// Both must be done and have the same rows.
MistakeEffect effect_of(const MistakenHead& right, const MistakenHead& mistaken);

}  // namespace attn
