// The least change of Q, K, W_Q or W_K with which one row of a head has the weights wished for, and what else it moves.
//
// For one row each of these changes is of rank one: with z from core/analysis/least_change,
//   q         Q′ = Q + e_i zᵀ                    F_j = k_j
//   keys      K′ = K + z qᵀ / |q|                F_j = |q| e_j, of the keys that may change
//   W_Q       W′ = W + x_i zᵀ / |x_i|²           F_j = k_j; least of all with x_i W′ = q_i + z
//   W_K       W′ = W + z qᵀ / |q|²               F_j = x_j; least of all with q · x_j W′ = q · k_j + x_j · z
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/best_weight.hpp"
#include "analysis/least_change.hpp"
#include "app/matrix.hpp"
#include "attention/record.hpp"

namespace attn::app {

enum class ChangeOf : std::uint8_t { q, key, keys, w_q, w_k };  // key: those that have a wish
inline constexpr Index change_count = 5;
struct ChangeInfo {
    std::string_view key;  // in links
    const char* label;
    Stage stage;  // of the matrix that changes
};
const ChangeInfo& info(ChangeOf of);

// M′ = M + left rightᵀ
struct RankOne {
    std::vector<double> left, right;
    double at(Index row, Index col) const {
        return left[static_cast<std::size_t>(row)] * right[static_cast<std::size_t>(col)];
    }
    double norm() const;  // of Frobenius
};

class RowChange {
  public:
    // x [n, d_model] is needed for W_Q and W_K. `rows` are the queries of which it is to be said how they move.
    RowChange(std::shared_ptr<const Record> record, Index head, Index query, ChangeOf of,
              std::vector<Wish> wishes, std::shared_ptr<const Matrix> x, std::vector<Index> rows);

    bool step();  // O(n_k (d_k + d_model)); true while there is more to do
    bool searching() const { return search_ && (!search_->done() || (best_ && !best_->done())); }
    bool found() const { return search_ && search_->found(); }
    // Why not; nothing while it is being found out.
    const std::optional<Obstacle>& obstacle() const { return obstacle_; }
    const LeastChange* search() const { return search_ ? &*search_ : nullptr; }
    bool all_moved() const { return next_row_ == rows_.size(); }

    const Record& record() const { return *record_; }
    Index head() const { return head_; }
    Index query() const { return query_; }
    ChangeOf of() const { return of_; }
    const std::vector<Wish>& wishes() const { return wishes_; }
    const Matrix* x() const { return x_.get(); }
    const ScoreRow& row() const { return row_; }
    const RowChain& now() const { return now_; }  // the row as it is
    bool is_so() const;                           // as far as f32 tells, without a change

    // The rest is there once the change is found. Of the matrix that changes:
    const RankOne& change() const { return change_; }
    // Of Q and K, whatever changes.
    double q(Index query, Index component) const;
    double k(Index key, Index component) const;
    // The weights of a query with the change, [n_k] in double: at once for the row of the wishes, and for others of `rows`
    // when they are worked out.
    const std::vector<double>* after(Index query) const;
    ScoreRow row_after(Index query) const;
    // The same by the kernels.
    float after_f32(Index query, Index key);
    // The largest change of a weight without a wish: of the row, and of other rows.
    struct Moved {
        Index query = -1, key = -1;
        double by = 0;
    };
    const Moved& within() const { return within_; }
    const Moved& elsewhere() const { return elsewhere_; }
    Index rows_looked_at() const { return static_cast<Index>(next_row_); }

  private:
    Lever lever() const;
    void take_change();
    void look_at(Index query);

    std::shared_ptr<const Record> record_;
    Index head_, query_;
    ChangeOf of_;
    std::vector<Wish> wishes_;
    std::shared_ptr<const Matrix> x_;
    std::vector<Index> rows_;
    ScoreRow row_;
    RowChain now_;
    double squares_ = 0;  // |x_i|² or |q_i|²
    std::optional<Obstacle> obstacle_;
    std::optional<LeastChange> search_;
    std::optional<BestWeight> best_;
    RankOne change_;
    // Q′ = Q + q_by zᵀ, K′ = K + k_by qᵀ; empty: unchanged.
    std::vector<double> q_by_, k_by_;
    std::size_t next_row_ = 0;
    std::map<Index, std::vector<double>> after_;
    Moved within_, elsewhere_;
    struct Run {
        Index query;
        Record record;
    };
    std::optional<Run> run_;  // of the row that was asked for last
};

}  // namespace attn::app
