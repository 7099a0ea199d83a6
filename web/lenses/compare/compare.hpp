// Lens Compare shows two runs side by side: two sentences, one sentence in two models, two trained networks,
// or an example before and after an edit. It shows how similar a token's vectors and attention rows are in
// both, and the chosen head's maps.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "parts/part.hpp"
#include "runs/compared_runs.hpp"
#include "subjects/reading.hpp"
#include "widgets/map_view.hpp"
#include "widgets/token_line.hpp"

namespace attn::app::compare {

// Two maps are shown side by side, alternating in place, or as the first minus the second.
enum class View { sides, blink, difference };

struct State {
    View view = View::sides;
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// The versions of the two runs.
inline Versions versions_of(Subject& subject) { return versions_of(*subject.attention(), *subject.second()); }

// A line of words, coloured by the weights of the chosen row.
struct Line {
    std::uint64_t version = 0;
    HeadIndex head{-1, -1};
    std::optional<Index> query;
    std::vector<float> weights;
    std::vector<std::string> numbers;
    ui::TokenLine whole, line;  // at its full size, and as it is drawn
    ui::Look look;              // what the query attends to most; no keys: nothing
    // What was last brought into view, and in which view.
    struct Followed {
        std::optional<Index> query;
        Range look{};
        float total = 0, room = 0;
        bool operator==(const Followed&) const = default;
    };
    Followed followed;
    float scrolled = 0;
};

class CompareLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject& subject) const override { return subject.may_compare(); }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject& subject, const CellRef& cell) const override {
        return subject.second() && (cell.stage == Stage::weight || cell.stage == Stage::cosine ||
                                    cell.stage == Stage::row_cosine || cell.stage == Stage::difference);
    }

    const Pairings& pairings(Subject& subject);
    const PairMaps& maps(Subject& subject);  // the chosen head’s
    const Alike& alike(Subject& subject, Index query, Index second_query);
    const Alike* last_alike() const { return alike_.kept(); }

    // What is drawn, of the first and of the second run where there are two.
    std::array<Line, 2> lines, read;  // the queries' words, and the words that these attend to if others
    std::array<ui::MapView, 2> views;
    ui::MapView difference_view;
    parts::MapClicks clicks;
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
Table words_table(const Frame& frame);
// The first map, the second, and the difference if there is one.
std::vector<Table> map_tables(CompareLens& lens, Subject& subject);
void draw_words(const Frame& frame, float width);
void draw_maps(const Frame& frame, float width, float most_height);

}  // namespace attn::app::compare
