// Lens Compare shows two runs side by side: two sentences, one sentence in two models, two trained networks,
// or an example before and after an edit. It shows how similar a token's vectors and attention rows are in
// both, and the chosen head's maps.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "runs/compared_runs.hpp"
#include "subjects/reading.hpp"

namespace attn::app::compare {

// Two maps are shown side by side, alternating in place, or as the first minus the second.
enum class View { sides, blink, difference };

struct State {
    View view = View::sides;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The lens's own numbers: cosines of the chosen word's residuals (after each layer, before the first one) and
// of its rows, and differences of weights, by the first run's query and key.
namespace cells {
inline constexpr CellKind cosine{"cosine", {CellAxis{"layer"}}},
    row_cosine{"row_cosine", {CellAxis{"layer"}, {"head"}}},
    difference{"difference", {CellAxis{"query"}, {"key"}}};
}  // namespace cells
CellKinds numbers();
// Older links call these numbers "cosine.3.0", "row_cosine.3.1" and "difference.4.2".
std::optional<CellRef> measured_cell(const app::State& state, std::string_view name, Index row, Index col);

// The versions of the two runs.
inline Versions versions_of(Subject& subject) {
    return versions_of(*subject.attention(), *second_of(subject));
}

struct ViewMemory;

class CompareLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    const char* tokens_alone() const override {
        return "Rows and columns stay tokens, by which the two texts are aligned.";
    }
    bool suits(Subject& subject) const override { return subject.comparing() != nullptr; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject& subject, const CellRef& cell) const override {
        return second_of(subject) && (cell.own() || cell.is(Stage::weight));
    }

    const Pairings& pairings(Subject& subject);
    const PairMaps& maps(Subject& subject);  // the chosen head’s
    const Alike& alike(Subject& subject, Index query, Index second_query);
    const Alike* last_alike() const { return alike_.kept(); }

    std::shared_ptr<ViewMemory> seen;
    bool blinks_second = false;
    double blink_turns_at = 0;

  private:
    std::array<RowReader, 2> readers_;
    Derived<Versions, Pairings> pairings_;
    Derived<std::pair<Versions, std::pair<Index, Index>>, Alike> alike_;
    Derived<std::pair<Versions, HeadIndex>, PairMaps> maps_;
};

// Holds the two runs while a frame is drawn.
struct Frame {
    CompareLens& lens;
    const Drawing& drawing;
    Subject& subject;
    const Attention &first, &second;
    const Pairings& pairings;

    Selection selection() const { return selection_of(drawing); }
    const Attention& run(bool of_second) const { return of_second ? second : first; }

    bool is_pointed() const { return drawing.pointed.query || drawing.pointed.second_query; }

    // The compared words are the hovered ones, otherwise the chosen ones, otherwise the predicted word and
    // its partner.
    Index query() const;
    std::optional<Index> second_query() const;
    std::optional<Index> query_of(bool of_second) const { return of_second ? second_query() : query(); }
    std::optional<Index> pointed_key(bool of_second) const {
        return of_second ? drawing.pointed.second_key : drawing.pointed.key;
    }
    // Highlights a row and a column of either run in both.
    void point_in(bool of_second, std::optional<Index> row, std::optional<Index> key) const;
};

std::string arithmetic(const Cosine& cosine);
Sheet heads_sheet(const Alike& alike, Subject& subject);
// The first map, the second, and the difference if there is one.
std::vector<Table> map_tables(CompareLens& lens, Subject& subject);

}  // namespace attn::app::compare
