// Lens Overview shows where each word attends, all heads, one head enlarged, and how one of its scores is
// computed.
#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "lenses/lens.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

class Overview final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject&) const override { return std::nullopt; }
    bool suits(Subject&) const override { return true; }
    Guide guide(Subject& subject) const override;
    const char* tokens_alone() const override { return nullptr; }
    void draw(const Drawing& drawing, Subject& subject) override;
    void follow(const State& before, Change how) override;
    std::string spoken(Subject& subject) override;
    std::string preview(Subject& subject, Index query) override;
    bool shows(Subject& subject, const CellRef& cell) const override;
    std::vector<Command> reveal(Subject& subject, const CellRef& cell) const override;

  private:
    struct ViewMemory;
    std::map<std::string_view, std::shared_ptr<ViewMemory>> seen_;  // keyed by subject
    RowReader reader_, previewed_;
};

}  // namespace attn::app
