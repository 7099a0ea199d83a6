// The least change of what rows of attention are made of with which chosen keys get the weights wished for
// them.
//
// The raw scores of a row follow a change z linearly, r + F z; the masked scores m and the weights a follow
// from them. With the wishes t of some keys W of the row, and U its keys without a wish,
//   g_j = m_j − log Σ_U exp m_k = log (a_j / Σ_U a_k),   b_j = log (t_j / (1 − Σ_W t)),
// the weights are the wished ones where g = b. It is log-odds that are brought there: the slope of a weight,
// a (1 − a), vanishes towards 0 and 1, theirs does not.
//
// First come Levenberg's and Marquardt's damped Gauss–Newton steps Jᵀ (J Jᵀ + μ)⁻¹ (b − g), each the shortest
// that answers the linearised wishes (Nocedal & Wright 2006, "Numerical optimization", chapter 10). Then z
// goes along the rows that have the wishes, against z − J⁺J z, the part of it that serves none of them, with
// the step of Barzilai and Borwein (1988, doi 10.1093/imanum/8.1.141) and Gauss–Newton steps back to the
// wishes. It ends where z = Jᵀ y, which is the condition of Karush, Kuhn and Tucker for a least |z|.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "attention/explain.hpp"

namespace attn {

struct Wish {
    Index key = 0;
    double weight = 0;
    bool operator==(const Wish&) const = default;
};

// The masked score that a raw score becomes, and its slope.
struct Masked {
    double score, slope;
};
Masked masked_at(const ScoreRow& row, Index key, double raw);
// A bias of −∞ hides a key as the mask does.
bool is_open(const ScoreRow& row, Index key);

// How the raw scores of a row follow a change z of several blocks z_l of one width: those of key j by Σ_l
// blocks_l f_j · z_l.
struct Lever {
    Index width = 0;
    std::shared_ptr<const std::vector<double>> rows =
        {};                        // f, [n_k, width]; null: f_j is own_j times the unit vector j,
    std::vector<double> own = {};  // [n_k = width]
    std::vector<double> blocks = {1};

    Index size() const { return width * std::ssize(blocks); }  // the length of z
    double at(Index key, Index component) const;               // F
    double dot(Index key, const std::vector<double>& z) const;
    // Adds times · F_key to the sum, [size].
    void add(Index key, double times, std::vector<double>& sum) const;
};
struct WishedRow {
    ScoreRow row;
    Lever lever;  // one z for all rows
    std::vector<Wish> wishes;
};

// Why wishes cannot be had.
struct Obstacle {
    enum class Why {
        not_finite,   // a score of the row
        hidden,       // the mask hides the key
        extreme,      // the weight is not between 0 and 1
        too_much,     // the wishes leave nothing for the keys without one
        alone,        // there is no key without a wish
        unmoved,      // no change moves the row
        same,         // another key moves as this one does: their weights stay in one ratio
        capped,       // the soft cap limits the scores, whatever they are
        capped_here,  // the same, but only the most that was found
        surrounded,   // the key is a mixture of the others, so that no change makes it stronger than this
        not_together  // none of these, but no change was found
    };
    Why why;
    Index key = 0;
    Index other = 0;  // same: the other key
    double most = 0;  // same, capped, surrounded: the weight that cannot be exceeded
    // Surrounded: the shares of all keys in the mixture, [n_k].
    std::vector<double> mixture = {};
};
// Returns what can be said without looking for a change.
std::optional<Obstacle> obstacle(const WishedRow& of);

class LeastChange {
  public:
    // Each row must have a wish, and no obstacle. The search begins at `start`, [size], or where nothing
    // changes.
    explicit LeastChange(std::vector<WishedRow> rows, std::vector<double> start = {});

    // Works out the rows after one change, O(n_k · size) each; true while there is more to do.
    bool step();
    bool done() const { return phase_ == Phase::done; }
    bool found() const { return found_; }  // the wishes are fulfilled
    bool least() const { return least_; }  // and no change near it is shorter

    const std::vector<WishedRow>& rows() const { return rows_; }
    const std::vector<double>& change() const { return here_.z; }
    double length() const;  // |z|
    // [n_k], of one of the rows, with the change.
    const std::vector<double>& weights(std::size_t row) const { return here_.weights[row]; }
    // y of z = Jᵀ y: how fast ½ |z|² grows with each b.
    std::vector<double> multipliers() const { return multipliers_of(here_); }
    // c of Jᵀ y = Σ c_k F_k over the rows, [n_k] of one of them: how much of each key is in a least change.
    std::vector<double> shares(std::size_t row) const;
    // |z − J⁺J z| / |z|, 0 where the change is least.
    double idle_share() const;

    struct Iteration {
        double residual;  // largest |b − g|
        double length;    // |z|
    };
    const std::vector<Iteration>& iterations() const { return iterations_; }

  private:
    enum class Phase { reach, shorten, done };
    struct Point {
        std::vector<double> z;                     // [size]
        std::vector<std::vector<double>> weights;  // [rows][n_k]
        std::vector<double> residual;              // [wishes of all rows], b − g
        std::vector<double> slopes;                // [wishes of all rows, size], ∂g/∂z
        double largest = 0, largest_score = 0, tolerance = 0;
        bool has_wishes() const { return largest <= tolerance; }
    };
    Point at(std::vector<double> z) const;
    void add_row(const WishedRow& of, const double* goals, Point& point) const;
    // Returns (J Jᵀ + μ)⁻¹ v.
    std::vector<double> solved(const Point& point, const std::vector<double>& v, double damping) const;
    std::vector<double> multipliers_of(const Point& point) const;
    std::vector<double> along(const Point& point, const std::vector<double>& y) const;  // Jᵀ y
    std::vector<double> idle_part(const Point& point) const;                            // z − J⁺J z
    std::vector<double> corrected(const Point& point, double damping) const;  // z + Jᵀ (J Jᵀ + μ)⁻¹ (b − g)
    void reach();
    void begin_to_shorten();
    void shorten();
    void accept(Point point);
    void end(bool found, bool least);

    std::vector<WishedRow> rows_;
    std::vector<double> goals_;  // b, of all rows
    Phase phase_ = Phase::reach;
    bool found_ = false, least_ = false;
    Point here_;
    double damping_ = 1e-3;  // μ over the trace of J Jᵀ
    double score_limit_ = 0;
    Index evaluations_ = 0;
    int stalled_ = 0;
    // The step along the rows that have the wishes.
    double pace_ = 1;
    std::vector<double> idle_, multipliers_;  // computed for here_
    struct Trial {
        std::vector<double> z;
        int corrections = 0;
    };
    std::optional<Trial> trial_;
    std::vector<Iteration> iterations_;
};

}  // namespace attn
