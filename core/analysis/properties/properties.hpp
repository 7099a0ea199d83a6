// Checks all properties of some heads, in slices.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/properties/model_checks.hpp"

namespace attn {

class PropertyChecks {
  public:
    // The first head is the one whose queries are kept. `trace` is the run of the model that they are of;
    // null: there is none.
    PropertyChecks(std::vector<CheckedHeads> heads, std::shared_ptr<const Trace> trace,
                   const CheckOptions& options);

    // Checks again what the options change.
    void follow(const CheckOptions& options);
    bool step();  // true while there is more to do
    float progress() const;
    const PropertyResult& result(Property property) const {
        return results_[static_cast<std::size_t>(property)];
    }
    const CheckOptions& options() const { return options_; }

  private:
    PropertyResult& now() { return results_[property_]; }
    void begin();
    void end();
    void forget(Property property);
    bool step_heads();

    std::vector<CheckedHeads> heads_;
    std::shared_ptr<const Trace> trace_;
    CheckOptions options_;
    std::array<PropertyResult, property_count> results_;
    // The check at work: of this property, on these heads.
    std::size_t property_ = 0, at_ = 0;
    bool has_begun_ = false;
    std::unique_ptr<RecordCheck> record_;
    std::optional<HeadSums> sums_;
    std::optional<Rerun> rerun_;
};

}  // namespace attn
