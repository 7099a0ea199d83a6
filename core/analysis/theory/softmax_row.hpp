// Computes, in slices, one row of scores at all temperatures, and through maps that were proposed to replace
// softmax.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/theory/gibbs.hpp"
#include "analysis/theory/score_maps.hpp"
#include "attention/record.hpp"

namespace attn {

// Point i of a curve is at T = 10^((i − temperature_origin) / temperatures_a_decade).
inline constexpr Index temperatures_a_decade = 40, temperature_origin = 2000;
inline constexpr double least_temperature = 0.01, most_temperature = 100;  // range of the dial
double curve_temperature(Index point);

// One row of scores, and its numbers at temperatures that are evenly spaced on a logarithmic axis.
class RowCurves {
  public:
    explicit RowCurves(EnergyLevels levels);

    bool step();  // true while there is more to do
    const EnergyLevels& levels() const { return *levels_; }
    // The range of temperatures, which includes the dial's and the peak of the heat capacity.
    double low() const { return curve_temperature(first_); }
    double high() const { return curve_temperature(last_); }
    Index first() const { return first_; }
    // The numbers at the temperatures from the first on, as far as they are computed.
    const std::vector<Gibbs>& points() const { return points_; }
    const HeatCapacityPeak& peak() const { return peak_; }

  private:
    std::shared_ptr<const EnergyLevels> levels_;
    HeatCapacityPeak peak_;
    Index first_, last_;
    std::vector<Gibbs> points_;
};

// The row at one temperature through all maps.
class RowMaps {
  public:
    RowMaps(std::shared_ptr<const Record> record, Index head, Index query, double temperature,
            bool with_vectors, bool with_values);

    bool step(const EnergyLevels& levels);  // a map, or part of one; true while there is more to do
    // Computes a map at once. The linear one is copied, because it depends only on the unchanged q and k.
    void compute(ScoreMap map, const EnergyLevels& levels, const RowMaps& run);
    // Nothing until it is computed, and for the linear map without q and k.
    const std::optional<MappedRow>& row(ScoreMap map) const {
        return rows_[static_cast<std::size_t>(map)].mapped;
    }
    // Σ w v, [d_v]; empty without values.
    const std::vector<double>& output(ScoreMap map) const {
        return rows_[static_cast<std::size_t>(map)].output;
    }
    // ‖output − softmax's‖ / ‖softmax's‖; nothing without values, and if it is not a number.
    std::optional<double> difference(ScoreMap map) const;

  private:
    struct Row {
        std::optional<MappedRow> mapped;
        std::vector<double> output;
    };
    std::shared_ptr<const Record> record_;
    Index head_, query_;
    double temperature_;
    bool with_vectors_, with_values_;
    std::size_t next_ = 0;
    MappedRow linear_;  // complete only once step() is done
    Index linear_next_ = 0;
    void finish(ScoreMap map, MappedRow mapped);
    std::array<Row, score_map_count> rows_;
};

}  // namespace attn
