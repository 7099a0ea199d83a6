// One query of a head as the state of a modern Hopfield network (analysis/theory/hopfield.hpp), whose
// patterns are the keys that it sees: its path, the plane that shows it, and the basins of that plane.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/theory/pattern_plane.hpp"
#include "analysis/theory/query_moves.hpp"

namespace attn {

// In slices. The path begins where follow() says.
class RowMemory {
  public:
    enum class Plane { spread, query };  // the keys' principal components; the query and its strongest key

    // Fails where patterns_seen or query_state does.
    static Result<RowMemory> of_query(const Record& record, Index head, Index query);

    // Starts again what is not of this β, plane and start in the plane. Without a β there is neither a path
    // nor a basin; without a start, the path begins at the query.
    void follow(std::optional<double> beta, Plane kind, const std::optional<std::array<double, 2>>& start);
    bool pending() const;
    void step();

    // The steps up to the first few, and the last.
    std::vector<Index> some_steps() const;
    // The patterns with the largest weight at any of these steps, the largest first.
    std::vector<Index> heaviest() const;
    // The largest difference between the weights of the first step and those of the record.
    double off_attention(const Record& record, Index head, Index row) const;

    std::shared_ptr<const HopfieldPatterns> patterns;
    std::vector<double> query;  // [d_k]
    PrincipalPlane principal;
    std::optional<PlacedPatterns> plane;  // nothing until it is found
    std::optional<Retrieval> path;
    std::optional<Basins> basins;

  private:
    RowMemory(std::shared_ptr<const HopfieldPatterns> seen, std::vector<double> vector)
        : patterns(std::move(seen)), query(std::move(vector)), principal(patterns) {}
    bool plane_is_due() const { return !plane && (kind_ != Plane::spread || principal.done()); }
    void find_plane();

    Plane kind_ = Plane::spread;
    std::optional<double> basins_beta_;
};

}  // namespace attn
