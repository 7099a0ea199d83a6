// How far the queries of a head move among its keys as the patterns of a modern Hopfield network: in one
// update and in all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/theory/hopfield.hpp"
#include "attention/record.hpp"

namespace attn {

// The keys that a query sees.
Result<HopfieldPatterns> patterns_seen(const Record& record, Index head, Index query);
// [d_k]; refuses a number that is not finite.
Result<std::vector<double>> query_state(const Record& record, Index head, Index query);

class QueryMoves {
  public:
    static constexpr Index fewest = 64;  // queries that are taken, however long they take

    // Over all queries, or over as many, evenly chosen, the last one among them, as take some seconds.
    QueryMoves(std::shared_ptr<const Record> record, Index head, double beta);

    bool step();  // about a millisecond, or one update; true while there is more to do
    bool done() const { return next_ == count_ && !running_; }
    Index count() const { return count_; }
    struct Row {
        Index query;
        double first, all;  // |ξ − q| after one update, and at the end
        double effective;   // patterns at the end
        Index patterns;     // how many it sees
        bool settled;
    };
    // The queries that see a key and whose numbers are finite, as far as they are done.
    const std::vector<Row>& rows() const { return rows_; }

  private:
    std::shared_ptr<const Record> record_;
    Index head_;
    double beta_;
    Index count_, next_ = 0;
    std::optional<Retrieval> running_;
    Index query_ = 0;  // the query of the running retrieval
    std::vector<Row> rows_;
};

}  // namespace attn
