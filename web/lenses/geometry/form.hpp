// Computes the bilinear forms of one head: W_Q W_Kᵀ, W_V W_O and Q Kᵀ, from the weights and the vectors in
// view, and what their directions find among a model's tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/heads/token_directions.hpp"
#include "analysis/linalg/bilinear_form.hpp"
#include "lenses/geometry/state.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

// Q Kᵀ includes at most this many queries and keys, the ones up to the chosen query.
inline constexpr Index form_tokens_limit = 512;
inline constexpr std::size_t words_along = 6;

// One head's weights, and its inputs. Typed numbers are exact.
struct HeadWeights {
    Matrix w_q, w_k, w_v;  // [d_model, d_k], …
    Matrix w_o;            // [d_v, d_model]; empty if there is none
    Stage inputs = Stage::x;
    bool biased = false;      // q and k have biases, which the form leaves out
    bool turned = false;      // positions rotate q and k after the weights (Su et al. 2021, arXiv 2104.09864)
    bool normalised = false;  // norms follow the projections of q and k
    const Trace* trace = nullptr;  // a model's run; its inputs are those of the chosen layer
    bool crosses = false;          // k and v are computed from an encoder's output for other tokens
    Index layer = 0, tokens = 0, key_tokens = 0;
    Matrix x;  // [tokens, d_model], without a model

    // Returns the input of q, or of k and v.
    double input(Index token, Index b, bool of_key = false) const;
    std::vector<float> inputs_of(Index token) const;  // [d_model], for q
    CellPlace input_at(HeadIndex head, Index token, Index b, bool of_key = false) const;
    Index width() const { return w_q.rows; }  // d_model
};
std::optional<HeadWeights> head_weights(Subject& subject, const State& state, HeadIndex head);

// A form, its directions once they are found, and the places of its factors.
class HeadForm {
  public:
    HeadForm(FormOf of, const HeadWeights& weights);  // W_Q W_Kᵀ or W_V W_O
    // Q Kᵀ; `crosses` says that queries and keys belong to different texts.
    HeadForm(const Record& record, Index head, Range queries, Range keys, bool crosses);
    HeadForm(const HeadForm&) = delete;
    HeadForm& operator=(const HeadForm&) = delete;

    FormOf of() const { return of_; }
    const FormFactors& factors() const { return factors_; }
    const FormSquares& squares() const { return squares_; }  // complete once there are directions
    bool finite() const { return finite_; }
    bool step();  // true while there is more to do
    const SingularDirections* directions() const { return job_ ? job_->directions() : nullptr; }

    Index first_row() const { return first_row_; }  // for Q Kᵀ, the first query
    Index first_col() const { return first_col_; }
    // The cells of L[i, a] and R[j, a].
    CellRef left_at(Index row, Index a) const;
    CellRef right_at(Index col, Index a) const;
    // (Lᵀ u_r)[a] and (Rᵀ v_r)[a].
    double inner_left(Index direction, Index a) const;
    double inner_right(Index direction, Index a) const;

    // For a form of weights: whether a side reads the input of k and v, rather than q's.
    bool reads_keys(bool right) const { return of_ == FormOf::scores ? right : !right; }
    std::string name() const;        // "W_Q W_Kᵀ"
    const char* left_name() const;   // "W_Q"; its rows are the form's
    const char* right_name() const;  // "W_Kᵀ"; its columns are the form's

  private:
    void begin();

    FormOf of_;
    Matrix left_, right_;
    FormFactors factors_{};
    FormSquares squares_;
    bool crosses_;
    bool finite_ = true, squared_ = false;
    Index first_row_ = 0, first_col_ = 0;
    std::optional<SingularJob> job_;
};

inline constexpr Index form_blocks_shown = 48;  // per side of M; a longer side is shown in blocks
inline constexpr Index form_side_limit = 1536;  // rows and columns of M in the picture

// M or one of its parts as a small matrix: the cells, or the strongest cell of each block. Computed one row
// of blocks at a time.
class FormPicture {
  public:
    FormPicture(const FormFactors& factors, FormPart part);

    bool step();  // true while there is more to do
    bool done() const { return next_ == values_.rows; }
    const Matrix& values() const { return values_; }          // 0 in rows still to come
    std::pair<Index, Index> at(Index row, Index col) const {  // the cell of M that is shown there
        return places_[static_cast<std::size_t>(row * values_.cols + col)];
    }
    // Returns where a block begins in M.
    Index first_row(Index row) const { return row * rows_ / values_.rows; }
    Index first_col(Index col) const { return col * cols_ / values_.cols; }
    bool in_blocks() const { return rows_ > values_.rows || cols_ > values_.cols; }
    bool cut() const { return factors_.rows() > rows_ || factors_.cols() > cols_; }

  private:
    FormFactors factors_;
    FormPart part_;
    Index rows_, cols_;
    Matrix values_;
    std::vector<std::pair<Index, Index>> places_;
    Index next_ = 0;
};

// The vector by which a form's direction multiplies a token of the vocabulary. For reading, tokens are
// normalised as the layer does it; for writing, the direction goes through the last norm's gain to the logits
// (`norm` is then empty).
struct WordDirection {
    const WeightView* tokens;
    std::optional<NormView> norm;
    std::vector<double> direction;  // [d_model]
    bool writes = false;
};
std::optional<WordDirection> word_direction(const HeadWeights& weights, const HeadForm& form, Index direction,
                                            bool right);

}  // namespace attn::app
