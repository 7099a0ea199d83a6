// The bilinear forms of one head: W_Q W_Kᵀ, W_V W_O and Q Kᵀ, from the weights and the vectors in view, and what
// their directions find among a model's tokens.
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

// Of Q Kᵀ, at most so many queries and keys take part: those up to the chosen query.
inline constexpr Index form_tokens_limit = 512;
inline constexpr std::size_t words_along = 6;

// What one head multiplies its inputs with, and the inputs. Where the numbers are typed, they are exact.
struct HeadWeights {
    Matrix w_q, w_k, w_v;  // [d_model, d_k], …
    Matrix w_o;            // [d_v, d_model]; empty: there is none
    Stage inputs = Stage::x;
    bool biased = false;      // q and k have biases, which the form leaves out
    bool turned = false;      // positions turn q and k after the weights (Su et al. 2021, arXiv 2104.09864)
    bool normalised = false;  // and norms come between
    const Trace* trace = nullptr;  // of a model; its inputs are those of the chosen layer
    bool crosses = false;          // k and v are made of what an encoder gives for other tokens
    Index layer = 0, tokens = 0, key_tokens = 0;
    Matrix x;  // [tokens, d_model], if there is no model

    // What q is made of, or k and v.
    double input(Index token, Index b, bool of_key = false) const;
    std::vector<float> inputs_of(Index token) const;  // [d_model], of q
    CellPlace input_at(HeadIndex head, Index token, Index b, bool of_key = false) const;
    Index width() const { return w_q.rows; }  // d_model
};
std::optional<HeadWeights> head_weights(Subject& subject, const State& state, HeadIndex head);

// A form, its directions once they are found, and where its factors stand.
class HeadForm {
  public:
    HeadForm(FormOf of, const HeadWeights& weights);  // W_Q W_Kᵀ or W_V W_O
    // Q Kᵀ; `crosses` says that queries and keys are of different texts.
    HeadForm(const Record& record, Index head, Range queries, Range keys, bool crosses);
    HeadForm(const HeadForm&) = delete;
    HeadForm& operator=(const HeadForm&) = delete;

    FormOf of() const { return of_; }
    const FormFactors& factors() const { return factors_; }
    const FormSquares& squares() const { return squares_; }  // all of them once there are directions
    bool finite() const { return finite_; }
    bool step();  // true while there is more to do
    const SingularDirections* directions() const { return job_ ? job_->directions() : nullptr; }

    Index first_row() const { return first_row_; }  // of Q Kᵀ: the first query
    Index first_col() const { return first_col_; }
    // Where L[i, a] and R[j, a] stand.
    CellRef left_at(Index row, Index a) const;
    CellRef right_at(Index col, Index a) const;
    // (Lᵀ u_r)[a] and (Rᵀ v_r)[a].
    double inner_left(Index direction, Index a) const;
    double inner_right(Index direction, Index a) const;

    // Of a form of weights: whether a side reads what k and v are made of, not what q is.
    bool reads_keys(bool right) const { return of_ == FormOf::scores ? right : !right; }
    std::string name() const;        // "W_Q W_Kᵀ"
    const char* left_name() const;   // "W_Q", whose rows are the form's
    const char* right_name() const;  // "W_Kᵀ"

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

inline constexpr Index form_blocks_shown = 48;  // of a side of M; a longer one is shown by blocks
inline constexpr Index form_side_limit = 1536;  // rows and columns of M in the picture

// M or one of its parts as a small matrix: the cells, or the strongest of each block. Made a row of blocks at a time.
class FormPicture {
  public:
    FormPicture(const FormFactors& factors, FormPart part);

    bool step();  // true while there is more to do
    bool done() const { return next_ == values_.rows; }
    const Matrix& values() const { return values_; }          // 0 in rows to come
    std::pair<Index, Index> at(Index row, Index col) const {  // the cell of M that is shown there
        return places_[static_cast<std::size_t>(row * values_.cols + col)];
    }
    // Where a block begins in M.
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

// The vector that a form's direction multiplies a token of the vocabulary with. Reading, tokens are normalised as the
// layer does it; writing, the direction goes through the last norm's gain to the logits (`norm` is then empty).
struct WordDirection {
    const WeightView* tokens;
    std::optional<NormView> norm;
    std::vector<double> direction;  // [d_model]
    bool writes = false;
};
std::optional<WordDirection> word_direction(const HeadWeights& weights, const HeadForm& form, Index direction,
                                            bool right);

}  // namespace attn::app
