// Lens Ladder shows the stages of one head as matrices, which can be edited if the subject allows it. For a
// long text, it shows a range of the tokens.
#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "app/fields.hpp"
#include "lenses/lens.hpp"

namespace attn::app {

inline constexpr Index ladder_tokens_limit = 24, usual_ladder_tokens = 16;

// Says which tokens are shown if not all of them fit.
struct LadderState {
    std::optional<Index> first;  // none: the range follows the chosen query
    Index tokens = usual_ladder_tokens;
    bool operator==(const LadderState&) const = default;
    static const Fields<LadderState>& fields();
};
using SetLadderTokens = Set<LadderState>;

LinkRows ladder_links();

// Returns which of `count` queries or keys are shown. Without a chosen range, it ends with the query
// `looked`.
Range ladder_window(const LadderState& state, Index count, std::optional<Index> looked);

class LadderLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::string preview(Subject& subject, Index query) override;
    bool shows(Subject& subject, const CellRef& cell) const override;
    std::vector<Command> reveal(Subject& subject, const CellRef& cell) const override;

  private:
    struct Window {
        Range queries, keys;
    };
    Window window_of(Subject& subject) const;  // queries and keys that are shown
    void draw_window(const Drawing& drawing, Subject& subject, Range queries, Range keys);

    struct ViewMemory;
    std::map<std::string_view, std::shared_ptr<ViewMemory>> seen_;  // keyed by subject
    // The row of a sentence, and its strongest key; −1: it sees none.
    struct Row {
        std::uint64_t version = 0;  // version of the attention
        HeadIndex head;
        Index query = -1;
        bool operator==(const Row&) const = default;
    };
    struct Told {
        Row row;
        Index strongest = -1;
    };
    std::string sentence_of(Subject& subject, Index query, Told& told) const;
    Told told_, previewed_;
};

}  // namespace attn::app
