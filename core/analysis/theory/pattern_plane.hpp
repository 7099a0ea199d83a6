// Planes through patterns, and which fixed point a state ends at that starts in one of their places.
#pragma once

#include <array>
#include <optional>

#include "analysis/theory/hopfield.hpp"

namespace attn {

// A plane in R^d with two directions of length 1 at a right angle; a direction that the space does not have
// is 0.
struct PatternPlane {
    std::vector<double> origin, across, up;  // [d]

    std::array<double, 2> place_of(std::span<const double> point) const;  // where its projection lies
    std::array<double, 2> place_of(std::span<const float> point) const;
    std::vector<double> point_at(std::array<double, 2> place) const;  // [d]
    double distance_to(std::span<const double> point) const;
};
// Through the mean of the patterns and these two points, the first of which lies straight across from it.
PatternPlane plane_through(const HopfieldPatterns& patterns, std::span<const double> first,
                           std::span<const double> second);

// Through the query and the pattern that fits it best.
PatternPlane plane_of_query(const HopfieldPatterns& patterns, std::span<const double> query);

// The plane through the mean in the directions in which the patterns spread most, their first two principal
// components, by orthogonal iteration (Golub & Van Loan, "Matrix computations", section 7.3.2).
class PrincipalPlane {
  public:
    explicit PrincipalPlane(std::shared_ptr<const HopfieldPatterns> patterns);

    bool step();  // about a millisecond, or one iteration; true while there is more to do
    bool done() const { return done_; }
    const PatternPlane& plane() const { return plane_; }
    // Shares of the patterns' variance in both directions; 0 where all patterns are the same.
    const std::array<double, 2>& shares() const { return shares_; }

  private:
    void add(std::span<const float> pattern);
    double rotate();  // into the directions that are summed up; returns how far they moved
    void finish();

    std::shared_ptr<const HopfieldPatterns> patterns_;
    PatternPlane plane_;
    std::vector<double> across_, up_;             // Σ (k − mean) (k − mean)·direction, so far
    std::vector<double> off_;                     // k − mean
    Index next_ = 0;                              // pattern
    std::array<double, 2> squares_{}, shares_{};  // Σ ((k − mean)·direction)²
    double all_squares_ = 0;                      // Σ |k − mean|²
    Index iterations_ = 0;
    bool done_ = false;
};

// The picture of a rectangle of a plane, coarse first: each of its places is started at and followed to its
// end.
class Basins {
  public:
    struct Box {
        std::array<double, 2> low{}, high{};  // across, up
        bool operator==(const Box&) const = default;
    };
    static constexpr Index coarsest = 16, finest = 128;  // places along a side
    static constexpr Index most_steps = 256;
    static constexpr double still = 1e-6;  // a share of max |k|; ends within 1000 times that are the same
    static constexpr std::uint8_t unknown = 255, moving = 254, others = 253;

    Basins(std::shared_ptr<const HopfieldPatterns> patterns, double beta, PatternPlane plane, Box box);

    bool step();  // about a millisecond, or one update; true while there is more to do
    bool done() const { return side_ > last_side_; }

    // The finest picture that is complete, or the first as far as it goes: [side, side] numbers of ends, row
    // by row from the bottom; `moving` where there was none after most_steps, `others` where there are too
    // many.
    Index side() const { return shown_side_; }
    std::uint8_t end_at(Index row, Index col) const {
        return shown_[static_cast<std::size_t>(row * shown_side_ + col)];
    }
    std::uint64_t version() const { return version_; }  // changes with the picture

    struct End {
        std::vector<double> state;  // [d]
        Index strongest = 0;        // key
        double weight = 0;          // the weight of that key
        double effective = 0;
        Index places = 0;  // how many of the picture
    };
    const std::vector<End>& ends() const { return ends_; }
    const Box& box() const { return box_; }

  private:
    void begin_place();
    void finish_place(std::uint8_t end);
    std::uint8_t end_of(const std::vector<double>& state);
    std::array<double, 2> place_at(Index i) const;
    void count_places();

    std::shared_ptr<const HopfieldPatterns> patterns_;
    double beta_;
    PatternPlane plane_;
    Box box_;
    Index side_ = coarsest, last_side_ = coarsest, shown_side_ = coarsest;
    std::vector<std::uint8_t> shown_, coming_;
    Index next_ = 0;  // place
    std::uint64_t version_ = 1;
    std::vector<End> ends_;
    std::vector<double> state_;  // on its way
    Index updates_ = 0;
    HopfieldLook<double> look_;
};

// Where the patterns lie in a plane, and the square around them and a query.
struct PlacedPatterns {
    PatternPlane plane;
    std::vector<std::array<double, 2>> places;
    Basins::Box box;
};
PlacedPatterns place_patterns(const HopfieldPatterns& patterns, PatternPlane plane,
                              std::span<const double> query);

// The basins as colours, row by row from the top.
struct BasinPicture {
    // [side, side]: a place in `ends`, or their most for the other ends; −∞ where a state still moves, ∞
    // where nothing is known.
    std::vector<float> values;
    std::vector<std::size_t> ends;  // ends with colours of their own, the largest first
    bool others = false, moving = false;
};
BasinPicture picture_of(const Basins& basins, std::size_t most_ends);

}  // namespace attn
