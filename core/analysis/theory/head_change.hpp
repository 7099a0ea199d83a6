// Finds the smallest change of Q, K, W_Q or W_K for which cells of a head's map reach their target weights,
// and what else it moves.
//
// If R rows have targets, each of these changes has rank R at most. Let b_l and e_l be orthonormal vectors
// that span the x_i and the q_i of these rows, and z the change that core/analysis/theory/least_change finds,
// in blocks z_l:
//   q         Q′ = Q + Σ_i 1_i z_iᵀ           a block for each row;        f_j = k_j
//   keys      K′ = K + Σ_l z_l e_lᵀ           q_i = Σ_l blocks_l e_l;      f_j = e_j over the movable keys
//   W_Q       W′ = W + Σ_l b_l z_lᵀ           x_i = Σ_l blocks_l b_l;      f_j = k_j
//   W_K       W′ = W + Σ_l z_l e_lᵀ           q_i = Σ_l blocks_l e_l;      f_j = x_j
// If rotary positions rotate q and k after their projections, q_i = R_i W_Qᵀ x_i and k_j = R_j W_Kᵀ x_j, the
// score is still linear in each of them:
//   W_Q       as above, with f_j = R_iᵀ k_j for the row of query i
//   W_K       W′ = W + z, the whole matrix;    f_j = x_j (R_jᵀ q_i)ᵀ
// Every other change that moves the scores of these rows in the same way is longer, and the norm of these is
// |z|.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/theory/best_weight.hpp"
#include "analysis/theory/shortest_change.hpp"
#include "attention/record.hpp"
#include "model/network.hpp"

namespace attn {

enum class ChangeOf : std::uint8_t { q, key, keys, w_q, w_k };  // key: only keys with a target
inline constexpr Index change_count = 5;
struct ChangeInfo {
    std::string_view key;  // in links
    Stage stage;           // stage of the changed matrix
};
const ChangeInfo& info(ChangeOf of);

// A target weight for a cell of the map.
struct CellWish {
    Index query = 0, key = 0;
    double weight = 0;
    bool operator==(const CellWish&) const = default;
};

// The rotation of a token's q and k after their projections (model/network.hpp).
struct TokenTurns {
    Rotary rotary;
    std::vector<double> frequencies;  // for a text of this length

    // Returns R_token v or R_tokenᵀ v.
    std::vector<double> turned(const std::vector<double>& v, Index token) const {
        return turned(v, token, 1);
    }
    std::vector<double> back(const std::vector<double>& v, Index token) const { return turned(v, token, -1); }

  private:
    std::vector<double> turned(const std::vector<double>& v, Index token, double direction) const;
};

// The inputs of a projection in double, [rows, width].
struct InputRows {
    Index width = 0;
    std::vector<double> values;

    double at(Index row, Index component) const {
        return values[static_cast<std::size_t>(row * width + component)];
    }
};

// Returns a head's K in double, [n_k, d_k].
std::shared_ptr<const std::vector<double>> keys_in_double(const Record& record, Index head);

class HeadChange {
  public:
    // `keys` are keys_in_double, unused if there are no targets. For W_Q and W_K, x [n, d_model] is the input
    // of q or k, and `turns` the rotation after the projection, if any. `wishes` are in the order of their
    // rows; the movement of the rows in view is reported first.
    HeadChange(std::shared_ptr<const Record> record, Index head, ChangeOf of, std::vector<CellWish> wishes,
               std::shared_ptr<const std::vector<double>> keys, std::shared_ptr<const InputRows> x,
               Range in_view, std::optional<TokenTurns> turns = {});

    bool step();  // works on about one row of scores; true while there is more to do
    bool found() const { return search_ && search_->done() && search_->best().found(); }
    bool proven() const { return search_ && search_->proven(); }  // no other change is smaller
    Index starts() const { return search_->starts(); }
    bool is_so() const { return is_so_; }  // within the precision of f32, without a change
    // Says why a target cannot be reached, and in which row; nothing until that is known.
    const std::optional<Obstacle>& obstacle() const { return obstacle_; }
    Index obstacle_row() const { return obstacle_row_; }
    // Too many targets for this many keys; then there is no other reason.
    bool too_large() const { return too_large_; }
    const LeastChange* search() const { return search_ ? &search_->best() : nullptr; }
    bool all_moved() const { return next_row_ == rows_.size(); }

    const Record& record() const { return *record_; }
    Index head() const { return head_; }
    ChangeOf of() const { return of_; }
    bool of_projection() const { return of_ == ChangeOf::w_q || of_ == ChangeOf::w_k; }
    const std::vector<CellWish>& wishes() const { return wishes_; }
    const std::vector<Index>& wished_rows() const { return wished_rows_; }
    const InputRows* x() const { return x_.get(); }
    const TokenTurns* turns() const { return turns_ ? &*turns_ : nullptr; }
    // k of a key and q of a query as the changing projection sees them, rotated back by the other's position.
    std::vector<double> key_seen(Index query, Index key) const;
    std::vector<double> query_seen(Index query, Index key) const;

    // The rest is available once the change is found. The changed matrix is M′ = M + Σ_l left_l right_lᵀ:
    Index blocks() const { return std::ssize(left_); }
    double left(Index block, Index row) const;
    double right(Index block, Index col) const;
    Index changed_rows() const { return std::ssize(left_.front()); }
    double change(Index row, Index col) const;
    double norm() const { return search_->best().length(); }
    // Q and K, whichever matrix changes.
    double q(Index query, Index component) const;
    double k(Index key, Index component) const;
    // Returns the weights of a query under the change, [n_k] in double: at once for rows with targets, and
    // for the others that are looked at once they are computed.
    const std::vector<double>* after(Index query) const;
    ScoreRow row_after(Index query) const;
    float after_f32(Index query, Index key);  // computed by the kernels
    // The largest change of a weight without a target, in rows with targets and in others.
    struct Moved {
        Index query = -1, key = -1;
        double by = 0;
    };
    const Moved& within() const { return within_; }
    const Moved& elsewhere() const { return elsewhere_; }
    Index rows_looked_at() const { return static_cast<Index>(next_row_) + std::ssize(wished_rows_); }

  private:
    using Vector = std::vector<double>;
    bool of_whole() const { return turns_ && of_ == ChangeOf::w_k; }  // the whole matrix is one block
    std::vector<WishedRow> wished(std::shared_ptr<const Vector> keys) const;
    std::shared_ptr<const Vector> turned_lever(Index query) const;
    Vector moved(const std::vector<Vector>& by, Index token) const;
    void look_for_reason();
    void take_change();
    void look_at(Index query);

    std::shared_ptr<const Record> record_;
    Index head_;
    ChangeOf of_;
    std::vector<CellWish> wishes_;
    std::vector<Index> wished_rows_;
    std::shared_ptr<const InputRows> x_;
    std::vector<Index> rows_;          // without targets, whose movement is reported
    std::optional<TokenTurns> turns_;  // for W_Q and W_K
    bool is_so_ = true;
    std::vector<Vector> basis_, shares_;  // b_l or e_l; [rows with targets][blocks]
    std::optional<Obstacle> obstacle_;
    Index obstacle_row_ = 0;
    bool too_large_ = false;
    std::optional<ShortestChange> search_;
    std::optional<BestWeight> best_;
    std::vector<Vector> left_, right_;
    // Q′ = Q + Σ_l q_by_l z_lᵀ, K′ = K + Σ_l k_by_l e_lᵀ, [blocks][queries or keys], rotated; empty:
    // unchanged.
    std::vector<Vector> q_by_, k_by_;
    std::size_t next_row_ = 0;
    std::map<Index, Vector> after_;
    Moved within_, elsewhere_;
    struct Run {
        Index query;
        Record record;
    };
    std::optional<Run> run_;  // for the row requested last
};

}  // namespace attn
