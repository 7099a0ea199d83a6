// Decodes the residual stream in the rows around one (logit_lens.hpp), in slices, the nearest ones first, and
// keeps what is decoded.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/attribution/logit_lens.hpp"

namespace attn {

class NearbyRows {
  public:
    using States = std::vector<LogitLens::State>;
    static constexpr Index most_rows = 16;

    NearbyRows(std::shared_ptr<const Trace> trace, double slice_operations)
        : trace_(std::move(trace)), slice_operations_(slice_operations) {}

    // The row, and earlier rows rather than later ones.
    Range around(Index row) const;
    void keep(Index row, States states) { known_[row] = std::move(states); }
    bool step(Index row);               // true while there is more to do around the row
    const States* at(Index row) const;  // null until it is decoded

  private:
    std::shared_ptr<const Trace> trace_;
    double slice_operations_;
    std::map<Index, States> known_;
    std::optional<LogitLens> decoding_;
};

}  // namespace attn
