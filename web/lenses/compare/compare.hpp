// Lens Compare shows two runs side by side: two sentences, one sentence in two models, two trained networks,
// or an example before and after an edit. It shows how similar a token's vectors and attention rows are in
// both, and the chosen head's maps.
#pragma once

#include <map>
#include <span>
#include <string_view>

#include "analysis/comparison.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "maps/map.hpp"
#include "parts/part.hpp"
#include "subjects/reading.hpp"
#include "widgets/map_view.hpp"
#include "widgets/token_line.hpp"

namespace attn::app {

// Two maps are shown side by side, alternating in place, or as the first minus the second.
enum class ComparisonView { sides, blink, difference };

struct CompareState {
    ComparisonView view = ComparisonView::sides;
    bool operator==(const CompareState&) const = default;
};

struct SetComparisonView {
    ComparisonView view;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

LinkRows compare_links();

// Leaves out the beginning that two texts share, except for its last two words: "… was too wide".
std::string from_difference(const std::string& text, const std::string& other);

// Pairs the tokens of two runs that correspond, including those that replace one another.
class Pairing {
  public:
    Pairing() = default;
    Pairing(std::vector<std::int32_t> first, std::vector<std::int32_t> second);

    const Alignment& alignment() const { return alignment_; }
    // A token corresponds to its partner in the other text or, without one, to the same token there if it
    // occurs only once.
    std::optional<Index> second_of(Index first_token) const;
    std::optional<Index> first_of(Index second_token) const;

  private:
    std::vector<std::int32_t> first_ids_, second_ids_;
    Alignment alignment_;
};

// Pairings of the queries and of the keys; in self-attention they are the same.
struct Pairings {
    Pairing queries, keys;
};

// The run whose residual stream a subject's queries belong to, and the index of that stack's first attention.
struct QueryStack {
    const Trace* trace = nullptr;  // null: no model
    Index first = 0;
};
QueryStack query_stack(const Attention& attention);

// Returns the head of another run that stands beside this one: the same, or the nearest if that run has
// fewer.
HeadIndex beside(const HeadIndex& head, const Attention& other);

class CompareLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject& subject) const override;
    void draw(const Drawing& drawing, Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject& subject, const CellRef& cell) const override;

  private:
    static constexpr Index most_tokens = 1024;  // with more tokens, whole maps are not kept
    struct Frame;

    // What was last brought into view, and in which view.
    struct Followed {
        std::optional<Index> query;
        Range look{};
        float total = 0, room = 0;
        bool operator==(const Followed&) const = default;
    };
    // A line of words, coloured by the weights of the chosen row.
    struct Line {
        std::uint64_t version = 0;
        Index layer = -1, head = -1, query = -1;
        std::vector<float> weights;
        std::vector<std::string> numbers;
        ui::TokenLine whole, line;  // at its full size, and as it is drawn
        ui::Look look;              // what the query attends to most; no keys: nothing
        Followed followed;
        float scrolled = 0;
    };
    struct Alike {
        std::uint64_t first_version = 0, second_version = 0;
        Index query = -1, second_query = -1;
        Range layers{};  // matching layers, as far as both runs have them
        Index heads = 0;
        std::vector<Cosine>
            residual;              // [layers + 1]; empty without a Trace, or if the streams differ in shape
        std::vector<Cosine> rows;  // [layers, heads]
    };
    // One head's weights in both runs.
    struct PairMaps {
        std::uint64_t first_version = 0, second_version = 0;
        Index layer = -1, head = -1;
        MapPointer first, second, difference;  // the difference covers corresponding tokens only
        std::vector<std::string> pair_names, key_pair_names;
    };
    struct Blink {
        bool second = false;
        double turns_at = 0;
    };
    struct Touched {
        std::optional<Index> over;
        bool clicked = false;
    };

    const Pairings& pairings_of(const Attention& first, const Attention& second);
    static void update(Line& line, const Attention& run, const Selection& selection,
                       std::optional<Index> query);
    // Finds the words of queries that attend to other words.
    static void update_asking(Line& line, const Attention& run);
    void update_alike(const Frame& frame, Index query, Index second_query);
    void update_maps(const Attention& first, const Attention& second, HeadIndex head);
    void draw_controls(const Frame& frame);
    void draw_words(const Frame& frame, float width);
    struct LineNames {
        const char *key, *label, *told;  // for landmarks, before the line, and for screen readers
    };
    // Returns where to scroll the line if the chosen query or what it attends to most has changed.
    static std::optional<float> follow(Line& line, std::optional<Index> query, float room);
    Touched draw_line(const LineNames& names, Line& line, std::span<const std::string> words,
                      std::optional<Index> query, std::optional<Index> key, bool chosen, float width);
    void draw_read(const Frame& frame, bool of_second, float width);
    static std::string arithmetic(const Cosine& cosine);
    Sheet heads_sheet(Subject& subject) const;
    Table words_table(const Frame& frame) const;
    std::vector<Table> map_tables(Subject& subject);
    void draw_vectors(const Frame& frame, float width);
    void draw_heads(const Frame& frame, float width);
    void draw_similarities(const Frame& frame, float width);
    void draw_maps(const Frame& frame, float width, float most_height);
    enum class Shown { first, second, difference };
    void draw_map(const Frame& frame, Shown which, float width, float height);
    void map_of(const Frame& frame, bool of_second, float width, float height);
    void difference_map(const Frame& frame, float width, float height);
    void blinking(const Frame& frame, float width, float height);
    void tell_difference(const TokenPair& query, const TokenPair& key) const;

    std::uint64_t paired_first_ = 0, paired_second_ = 0;
    Pairings pairings_;
    RowReader first_reader_, second_reader_;
    Line first_line_, second_line_, first_read_, second_read_;
    Alike alike_;
    PairMaps maps_;
    ui::MapView first_view_, second_view_, difference_view_;
    parts::MapClicks clicks_;
    Blink blink_;
};

}  // namespace attn::app
