// How many keys the rows of a head use at a temperature: e^S of each row (analysis/theory/gibbs.hpp), beside
// how many it may see.
#pragma once

#include <memory>
#include <vector>

#include "analysis/theory/gibbs.hpp"
#include "attention/record.hpp"

namespace attn {

// The masked scores of one query, [n_k]; −∞: hidden.
std::vector<double> score_row_of(const Record& record, Index head, Index query);

class EffectiveKeys {
  public:
    // Over `most_rows` queries at most, evenly chosen, the last one among them.
    EffectiveKeys(std::shared_ptr<const Record> record, Index head, double temperature, Index most_rows);

    bool step();  // about a millisecond; true while there is more to do
    bool done() const { return next_ == count_; }
    struct Row {
        Index query;
        Index seen;  // keys that it may see
        double effective;
    };
    // The queries that see a key, and whose scores are numbers.
    const std::vector<Row>& rows() const { return rows_; }
    double share() const;  // mean of effective / seen; NaN without rows

  private:
    std::shared_ptr<const Record> record_;
    Index head_;
    double temperature_;
    Index count_, next_ = 0;
    std::vector<Row> rows_;
};

}  // namespace attn
