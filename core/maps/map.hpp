// A map is a function of a query and a key, [queries, keys]. Its cells are computed for the window that is
// looked at, from data that is linear in the sequence.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "attention/record.hpp"
#include "tensor/array_view.hpp"

namespace attn {

// A cell that the mask forbids reads −inf at every stage; from the masked scores on, so does a cell whose
// bias is −inf, since it takes no part either.
inline constexpr float masked_cell = -std::numeric_limits<float>::infinity();

// Every `step`-th query of a range, from the first on, by a range of keys.
struct MapWindow {
    Range queries;
    Range keys;
    Index step = 1;

    Index rows() const { return (queries.size() + step - 1) / step; }
    Index query(Index row) const { return queries.begin + row * step; }
};

class Map {
  public:
    virtual ~Map() = default;
    Map(const Map&) = delete;
    Map& operator=(const Map&) = delete;

    Index queries() const { return queries_; }
    Index keys() const { return keys_; }
    // On signed maps, the strongest cell of a block is the one farthest from zero, the positive one if tied;
    // on other maps it is the largest.
    bool is_signed() const { return is_signed_; }

    // Says which cells of a part are not masked, or `some` if that cannot be found out cheaply.
    virtual Coverage coverage(Range queries, Range keys) const = 0;

    // Computes out [rows of the window, keys]; the window must lie within the map. A cell has the same bits
    // in every window. If `entropy` [rows] is not empty, −Σ w ln w of each row's cells is added to it for
    // weights, and 0 for other maps.
    virtual void cells(const MapWindow& window, MatrixView<float> out, std::span<double> entropy) const = 0;

    void cells(const MapWindow& window, MatrixView<float> out) const { cells(window, out, {}); }

    // The record whose masked scores the cells of a query follow from, without other queries; null for other
    // maps. `cells_from_scores` turns such scores into cells in place, with the bits of `cells`.
    virtual const Record* scored_record() const { return nullptr; }
    virtual void cells_from_scores(const MapWindow&, MatrixView<float> /*scores*/,
                                   std::span<double> /*entropy*/) const {}
    float cell(Index query, Index key) const;

  protected:
    Map(Index queries, Index keys, bool is_signed) : queries_(queries), keys_(keys), is_signed_(is_signed) {}

  private:
    Index queries_, keys_;
    bool is_signed_;
};

using MapPointer = std::shared_ptr<const Map>;

inline MapWindow whole(const Map& map) { return {{0, map.queries()}, {0, map.keys()}}; }
std::vector<float> cells_of(const Map& map, const MapWindow& window);  // [rows of the window, keys]
inline std::vector<float> cells_of(const Map& map) { return cells_of(map, whole(map)); }

// Maps a stage of one head.
MapPointer stage_map(std::shared_ptr<const Record> record, Index head, Stage stage);

// Multiplies weights by a non-negative number per key, [keys]: what a key contributes, ‖A_ij v_j‖ = A_ij
// ‖v_j‖.
MapPointer contribution_map(std::shared_ptr<const Record> record, Index head, std::vector<float> key_norms);
// Return ‖v_j‖ and ‖v_j W_O‖ of the head's values. w_o [heads · d_v, d_out] is the whole matrix, of
// which the head owns d_v rows.
std::vector<float> value_norms(const Record& record, Index head);
std::vector<float> projected_value_norms(const Record& record, Index head, const WeightView& w_o);
std::vector<float> projected_value_norms(const Record& record, Index head, const WeightView& w_o, Range keys);

// Maps dL/dA, with respect to the weights, or dL/dS, with respect to the scaled scores, for a loss L whose
// gradient with respect to the head's output is d_output [queries, d_v]: dA = dO Vᵀ and dS = A ∘ (dA − Σ_b dO
// O) ∘ slope of the soft cap (Dao et al. 2022, arXiv 2205.14135).
enum class GradientBy { weight, score };
Result<MapPointer> gradient_map(std::shared_ptr<const Record> record, Index head, Tensor d_output,
                                GradientBy by);

// Maps a − b for two maps of one shape. If neither map is signed, as with weights, a cell that is masked in
// only one of them counts as 0 there; otherwise the difference is masked, as it is if both cells are.
Result<MapPointer> difference_map(MapPointer a, MapPointer b);

// Weights that were computed elsewhere, as they lie in a file.
struct FinishedWeights {
    std::shared_ptr<const void> owner{};  // owns the bytes
    ArrayView array;                      // [queries, keys] of f16, bf16, f32 or f64
};
Result<MapPointer> finished_map(FinishedWeights weights, Mask mask = {}, Index head = 0);

}  // namespace attn
