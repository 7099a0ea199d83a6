// What has been put in softmax's place: maps from a row of scores to the weights of its keys. The scores are
// s / T, as with softmax at a temperature; n is the number of keys that the row may see, which without a mask
// is the sequence's length.
//   softmax      exp(s_j) / Σ exp(s)
//   softmax + 1  exp(s_j) / (1 + Σ exp(s))              Miller 2023, "Attention is off by one"
//   sparsemax    max(s_j − τ, 0), τ so that they sum to 1   Martins & Astudillo 2016, arXiv 1602.02068
//   entmax 1.5   max(s_j / 2 − τ, 0)², likewise         Peters, Niculae & Martins 2019, arXiv 1905.05702
//   sigmoid      1 / (1 + exp(−s_j + ln n))             Ramapuram et al. 2024, arXiv 2409.04431, section 2
//   ReLU²/n      max(s_j, 0)² / n                       Wortsman et al. 2023, arXiv 2309.08586, section 3
//   linear       φ(q) · φ(k_j) / Σ φ(q) · φ(k)          Katharopoulos et al. 2020, arXiv 2006.16236
// Sparsemax and entmax are computed by algorithms 1 and 2 of their papers; ReLU² has h = relu² and α = 1. The
// linear map is made of q and k themselves, without a scale and without a temperature; φ(x) = elu(x) + 1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/theory/gibbs.hpp"

namespace attn {

enum class ScoreMap { softmax, softmax_one, sparsemax, entmax, sigmoid, relu_squared, linear };
inline constexpr std::size_t score_map_count = 7;
struct ScoreMapInfo {
    const char* name;
    const char* formula;
    const char* meaning;
};
// In the order of ScoreMap.
inline constexpr std::array<ScoreMapInfo, score_map_count> score_map_table{{
    {"softmax", "exp(s) / Σ exp(s)", "Every key gets some weight, and the weights sum to 1."},
    {"softmax + 1", "exp(s) / (1 + Σ exp(s))",
     "Softmax beside a key of score 0 and value 0, so that a row may look at nothing (Miller 2023, "
     "“Attention is off by "
     "one”)."},
    {"sparsemax", "max(s − τ, 0), Σ = 1",
     "The nearest weights that sum to 1; keys far below the best get exactly 0 (Martins & Astudillo 2016)."},
    {"entmax 1.5", "max(s/2 − τ, 0)², Σ = 1",
     "Halfway between softmax and sparsemax (Peters, Niculae & Martins 2019)."},
    {"sigmoid", "1 / (1 + exp(ln n − s))",
     "Each key for itself, with a bias of −ln n (Ramapuram et al. 2024). Weights need not sum to 1."},
    {"ReLU²/n", "max(s, 0)² / n",
     "Each key for itself; a score below 0 gets nothing (Wortsman et al. 2023). Weights need not sum to 1."},
    {"linear", "φ(q)·φ(k) / Σ φ(q)·φ(k)",
     "No exponential of q · k: with φ = elu + 1 the sums over keys can be shared by all queries "
     "(Katharopoulos et al. "
     "2020). It takes q and k as they are, without the temperature."},
}};
constexpr const ScoreMapInfo& info(ScoreMap map) { return score_map_table[static_cast<std::size_t>(map)]; }

struct MappedRow {
    std::vector<double> weights;  // [n_k], 0 for hidden keys
    double sum = 0;               // Σ w
    Index support = 0;            // keys with a weight over 0
    // What all keys of the row share. For softmax and softmax + 1: the sum by which exponentials are divided,
    // of s / T below its highest, or below 0 if that is higher and counts; for linear: the sum of φ(q) ·
    // φ(k); for sparsemax and entmax: τ, of scores below the highest; for the others: n.
    double common = 0;
};

// Any of the maps but the linear one. T is that of gibbs(); at T = 0 these are limits, infinite for ReLU² of
// a positive score.
MappedRow mapped_row(ScoreMap map, const EnergyLevels& levels, double temperature);

// q is [d_k], k [n_k, d_k]; `levels` says which keys are hidden. All weights are 0 where every φ(q) · φ(k_j)
// is.
MappedRow linear_row(std::span<const float> q, ConstMatrix k, const EnergyLevels& levels);
// The same in parts, for long rows: products φ(q) · φ(k_j) of a range of keys after the other, then the
// weights.
void add_linear_products(MappedRow& row, std::span<const float> q, ConstMatrix k, const EnergyLevels& levels,
                         Range keys);
void divide_linear_products(MappedRow& row);
double linear_feature(double x);  // elu(x) + 1 = x + 1 above 0, else exp(x)

// Σ_j w_j v_j, [d_v]; v is [n_k, d_v]. A weight of 0 takes nothing from its value, not even from an infinite
// one.
std::vector<double> mapped_output(std::span<const double> weights, ConstMatrix v);

// ‖a − b‖ / ‖b‖; NaN where b is 0.
double relative_difference(std::span<const double> a, std::span<const double> b);

}  // namespace attn
