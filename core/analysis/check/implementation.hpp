// What a program does where programs that compute attention differ. The right one follows from a case; a
// mistake changes a field. Everything is computed in double, row by row and on demand, so that a hypothesis
// can be tried on a few rows; with a Precision, each step is rounded as a library rounds it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/check/attention_case.hpp"

namespace attn {

// How Q, K and V are read and rotated.
struct InputReading {
    enum class Packing { separate, read_by_head, read_by_kind };  // one buffer has q, k and v
    enum class Swap { none, transposed, viewed };                 // exchanges batch and sequence

    enum class Split { transposed, viewed, heads_last };  // the last two: as [heads, n, d], as [n, d, heads]

    Split split = Split::transposed;
    std::array<int, 3> order = {0, 1, 2};  // which of q, k, v is used as q, k, v
    Packing packing = Packing::separate;
    Swap swap = Swap::none;
    bool projection_bias = true;
    std::optional<CaseRope> rope;
    double first_query = 0, first_key = 0;  // positions, for the rotation
    bool rotates_values = false;
    bool operator==(const InputReading&) const = default;
};

struct Implementation {
    enum class Keys { transposed, viewed };  // q Kᵀ; q times K viewed as [d, n], which is q K where n = d
    enum class Masking {
        minus_infinity,
        added,         // the allowed cells get +1
        added_hidden,  // the forbidden cells get +1
        multiplied,    // the scores of forbidden cells become 0
        finite,        // mask_value is added
        after_softmax,
    };
    enum class Axis { keys, queries, heads };
    enum class EmptyRow { zero, nan, uniform };
    enum class Remainder { kept, dropped, zeros };  // the keys behind the last whole tile

    InputReading inputs = {};
    bool tiled_kv = false;  // head h reads kv head h mod kv_heads
    Keys keys = Keys::transposed;
    double scale = 1;
    double softcap = 0;
    bool cap_after_mask = false, cap_after_bias = false;
    bool adds_bias = true;
    bool painted = true, padding = true, inverts_painted = false, inverts_all = false;
    std::optional<Index> causal = {};
    std::optional<CaseWindow> window = {};
    Masking masking = Masking::minus_infinity;
    double mask_value = 0;
    NumberFormat mask_format = NumberFormat::f64;  // in which mask_value is added
    Axis axis = Axis::keys;
    double exponential_base = 0;  // 0: e
    EmptyRow empty_row = EmptyRow::zero;
    Index tile = 0;
    Remainder remainder = Remainder::kept;
    bool averages_heads = false;  // every head uses the mean of all heads' weights
    bool reports_own = false;     // and yet the returned weights are each head's own
    bool reports_mean = false;    // the returned weights are the mean over the heads
    bool output_bias = true;
    bool merge_transposed = true;  // false: [heads, n, d_v] is viewed as [n, heads · d_v]
    bool operator==(const Implementation&) const = default;
};

// The right one for a case.
Implementation right_implementation(const AttentionCase& given);

// Where a library rounds. Products of two inputs are exact, and sums are rounded at every addition.
struct Precision {
    NumberFormat input = NumberFormat::f64;
    NumberFormat sum = NumberFormat::f64;
    NumberFormat score = NumberFormat::f64;   // stored before the softmax
    NumberFormat weight = NumberFormat::f64;  // multiplied with the values
    NumberFormat output = NumberFormat::f64;
    bool scaled = false;  // Q, K and V each so that the largest number is the format's largest
    bool operator==(const Precision&) const = default;
};

// Q, K and V as an implementation reads them, [batch, heads, n, d].
struct ReadInputs {
    Array4 q, k, v;
};
ReadInputs read_inputs(const AttentionCase& given, const InputReading& reading, const Precision& precision);

class ImplementationRun {
  public:
    // The case must outlive the run. `inputs` are those of read_inputs for this implementation.
    ImplementationRun(const AttentionCase& given, Implementation implementation, Precision precision,
                      std::shared_ptr<const ReadInputs> inputs);
    ImplementationRun(const AttentionCase& given, Implementation implementation, Precision precision = {});

    const Implementation& implementation() const { return how_; }
    // A row of the merged, projected output, [output_width].
    std::vector<double> output_row(Index batch, Index query);
    // A row of the weights that the program returns, [n_k].
    std::vector<double> weights_row(Index batch, Index head, Index query);
    // The mean of these over the heads.
    std::vector<double> mean_weights_row(Index batch, Index query);
    // Scores before the mask and weights of a head, [n_k].
    std::vector<double> score_row(Index batch, Index head, Index query) const;
    // Says whether the mask leaves this query no key.
    bool is_empty(Index batch, Index head, Index query) const;
    // The heads of a query side by side, [heads · d_v], before W_O.
    std::vector<double> merged_row(Index batch, Index query);
    bool allows(Index batch, Index head, Index query, Index key) const;
    // The scores that the softmax takes, [n_k].
    std::vector<double> masked_row(Index batch, Index head, Index query) const;
    // What a query is multiplied with for the score of a key, [d_k].
    std::vector<double> key_column(Index batch, Index head, Index key) const;
    // Which head and query the numbers come from that stand in this head's columns of the merged output.
    std::pair<Index, Index> merged_from(Index head, Index query) const;
    // The head's columns of the merged output, [d_v], before any projection.
    std::span<const double> merged_part(Index batch, Index head, Index query);
    Index kv_head(Index head) const {
        return how_.tiled_kv ? head % in_->k.heads : head / (in_->q.heads / in_->k.heads);
    }
    const ReadInputs& inputs() const { return *in_; }
    const std::shared_ptr<const ReadInputs>& shared_inputs() const { return in_; }

  private:
    struct ColumnSums {
        Index batch, head;
        std::vector<double> max, sum;
    };
    // The mean of row(head) over the heads, [n_k].
    std::vector<double> mean_of_heads(auto row) const;
    std::vector<double> weighed(Index batch, Index head, Index query);
    std::vector<double> weighed_over_keys(Index batch, Index head, Index query) const;
    std::vector<double> weighed_over_heads(Index batch, Index head, Index query) const;
    const ColumnSums& sums_over_queries(Index batch, Index head);
    std::vector<double> used_weights(Index batch, Index head, Index query);
    const std::vector<double>& head_row(Index batch, Index head, Index query);
    double exponential(double x) const;

    const AttentionCase& given_;
    Implementation how_;
    Precision precision_;
    std::shared_ptr<const ReadInputs> in_;
    std::vector<ColumnSums> column_sums_;
    // Recent rows of heads: a merge without a transpose asks for the same ones again.
    std::vector<std::optional<std::vector<double>>> rows_;
};

}  // namespace attn
