// All heads of an attention by larger units, and the means over heads as if they were heads: small maps and
// scores of each, measured in slices.
#pragma once

#include <memory>
#include <vector>

#include "analysis/heads/head_overview.hpp"
#include "app/derived.hpp"
#include "runs/attention.hpp"

namespace attn::app {

class MergedHeads {
  public:
    // The heads between the choice's units. Null for tokens, and until there are weights.
    std::shared_ptr<HeadOverview> by_unit(Attention& attention, const MapChoice& choice);
    // The mean of each layer, then the mean of all layers with the same queries and keys, as layers of one
    // head each. Null where there is nothing to take a mean of.
    std::shared_ptr<HeadOverview> means(Attention& attention, const MapChoice& choice);

  private:
    using Kept = Derived<MapChoice, std::shared_ptr<HeadOverview>>;  // keyed by their unit and spans
    Kept units_, means_;
};

// A mean among those of MergedHeads::means().
struct HeadMeanAt {
    HeadMean mean = HeadMean::layer;
    Index layer = 0;  // the layer, or the first of the layers
};
HeadMeanAt mean_at(Attention& attention, Index number);
// The number of a mean that the layer has a part in.
Index number_of_mean(Attention& attention, HeadMean mean, Index layer);

}  // namespace attn::app
