// Checks properties on the Record of a layer, one query at a time: on the numbers of the run, and on runs of
// the same attention with other keys, values, scores or order.
#pragma once

#include <memory>
#include <vector>

#include "analysis/properties/property.hpp"
#include "attention/record.hpp"
#include "maps/map.hpp"

namespace attn {

// Some heads of one layer. Finished weights have no record, but a map for each of the heads.
struct CheckedHeads {
    Index layer = 0;
    Range heads;
    std::shared_ptr<const Record> record = {};
    std::vector<MapPointer> maps = {};

    Index queries() const { return record ? record->queries() : maps.front()->queries(); }
    Index keys() const { return record ? record->keys() : maps.front()->keys(); }
};

struct CheckOptions {
    double constant = 10;    // added to the scores
    std::uint64_t seed = 1;  // draws the order of the tokens
    bool operator==(const CheckOptions&) const = default;
};

// How far the sum of a row of finished weights may be from 1; io/weight_check.hpp has the reason.
inline constexpr double finished_row_bound = 1e-3;

// Queries of a head that are checked at most, evenly spaced.
inline constexpr Index most_checked_queries = 128;

// Computes what a query is compared with, and compares it.
class RowCheck {
  public:
    virtual ~RowCheck() = default;
    virtual void compute(Index /*query*/) {}
    // The cells of a head's row; none if it has none.
    virtual std::vector<CheckedCell> cells(Index head, Index query) const = 0;
};

class RecordCheck {
  public:
    // `heads` and `positions` are not checked on Records alone.
    RecordCheck(Property property, CheckedHeads heads, const CheckOptions& options);
    RecordCheck(const RecordCheck&) = delete;
    RecordCheck& operator=(const RecordCheck&) = delete;

    Lacking lacking() const { return lacking_; }
    // False if a query sees what comes later, so that a text cut short may change it.
    bool is_meant() const { return is_meant_; }
    bool step(PropertyResult& into);  // checks a query; true while there is more to do
    float progress() const;

  private:
    CheckedHeads heads_;
    Lacking lacking_;
    bool is_meant_ = true;
    std::vector<Index> rows_;
    std::size_t next_ = 0;
    std::unique_ptr<RowCheck> check_;  // borrows from heads_
};

// Compares the outputs of a head's row, component by component; `other` may be of another run.
std::vector<CheckedCell> compared_outputs(const Record& here, Index query, const Record& there,
                                          Index query_there, Index layer, Index head);

}  // namespace attn
