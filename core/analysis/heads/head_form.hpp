// The bilinear forms of one head: W_Q W_Kᵀ, W_V W_O and Q Kᵀ (Elhage et al. 2021, "A Mathematical Framework
// for Transformer Circuits"), and what their directions mean to the tokens of a vocabulary.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/linalg/bilinear_form.hpp"
#include "analysis/linalg/dense_matrix.hpp"
#include "attention/head_index.hpp"
#include "attention/record.hpp"
#include "model/trace.hpp"

namespace attn {

// Chooses the bilinear form: W_Q W_Kᵀ, W_V W_O or Q Kᵀ.
enum class FormOf : std::uint8_t { scores, values, tokens };

// One head's weights, and its inputs: a model's run, or typed numbers, which are exact.
struct HeadWeights {
    DenseMatrix w_q, w_k, w_v;                     // [d_model, d_k], …
    DenseMatrix w_o = {};                          // [d_v, d_model]; empty if there is none
    Index tokens = 0, key_tokens = 0;              // inputs of q, and of k and v
    DenseMatrix x = {};                            // [tokens, d_model], without a model
    std::shared_ptr<const Trace> trace = nullptr;  // the inputs are those of this attention
    Index attention = 0;
    bool biased = false;      // q and k have biases, which the form leaves out
    bool rotated = false;     // positions rotate q and k after the weights (Su et al. 2021, arXiv 2104.09864)
    bool normalised = false;  // norms follow the projections of q and k
    bool crosses = false;     // k and v are computed from an encoder's output for other tokens

    double input(Index token, Index b, bool of_key = false) const;  // for q, or for k and v
    Index width() const { return w_q.rows; }                        // d_model
};
HeadWeights head_weights(std::shared_ptr<const Trace> trace, HeadIndex head);

// A form, and its directions once they are found.
class HeadForm {
  public:
    HeadForm(FormOf of, const HeadWeights& weights);  // W_Q W_Kᵀ or W_V W_O
    // Q Kᵀ; `crosses` says that queries and keys belong to different texts.
    HeadForm(const Record& record, Index head, Range queries, Range keys, bool crosses);
    // The factors refer to the matrices, which a move leaves where they are.
    HeadForm(HeadForm&&) = default;
    HeadForm& operator=(HeadForm&&) = default;

    FormOf of() const { return of_; }
    const FormFactors& factors() const { return factors_; }
    const FormSquares& squares() const { return squares_; }  // complete once there are directions
    bool finite() const { return job_.has_value(); }         // otherwise there are no directions
    bool step();                                             // true while there is more to do
    const SingularDirections* directions() const { return job_ ? job_->directions() : nullptr; }
    std::span<const double> direction(Index r, bool right) const {
        return right ? directions()->right_of(r) : directions()->left_of(r);
    }
    double inner(Index r, bool right, Index a) const;  // (Lᵀ u_r)[a] or (Rᵀ v_r)[a]

    Index first_row() const { return first_row_; }  // for Q Kᵀ, the first query
    Index first_col() const { return first_col_; }
    // For a form of weights: whether a side reads the input of k and v, rather than q's.
    bool reads_keys(bool right) const { return of_ == FormOf::scores ? right : !right; }
    const char* left_name() const;   // "W_Q"; its rows are the form's
    const char* right_name() const;  // "W_Kᵀ"; its columns are the form's
    std::string name() const { return std::string(left_name()) + " " + right_name(); }

  private:
    void begin(bool crosses);

    FormOf of_;
    DenseMatrix left_, right_;
    FormFactors factors_{};
    FormSquares squares_;
    bool squared_ = false;
    Index first_row_ = 0, first_col_ = 0;
    std::optional<SingularJob> job_;
};

// The vector by which a direction of a form of weights multiplies a token of the vocabulary. For reading,
// tokens are normalised as the layer does it; for writing, the direction goes through the last norm's gain to
// the logits (`norm` is then empty).
struct WordDirection {
    const WeightView* tokens;
    std::optional<NormView> norm;
    std::vector<double> direction;  // [d_model]
    bool writes = false;
};
std::optional<WordDirection> word_direction(const HeadWeights& weights, const HeadForm& form, Index direction,
                                            bool right);

}  // namespace attn
