// One query of a head under a mask, by all conventions for a query that may look at no key.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/theory/empty_rows.hpp"
#include "attention/record.hpp"

namespace attn {

struct EmptyRowExample {
    Index query = 0;
    std::vector<double> scores = {};         // [keys], before any mask: scaled, capped and with bias
    std::vector<std::uint8_t> allowed = {};  // [keys]
    std::array<RowWeights<double>, empty_row_count> rows = {};  // under each convention
    std::vector<Index> wanted =
        {};  // keys worth showing: the chosen, the strongest, and the last visible ones
};
// Without a record, all scores are 0. `chosen` is a key, or −1.
EmptyRowExample empty_row_example(const Record* record, const Mask& mask, Index head, Index query, Index keys,
                                  Index chosen);

}  // namespace attn
