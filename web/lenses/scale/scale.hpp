// Lens Scale: why scores are divided by √d_k. Dot products of d components spread by √d; the histogram shows it, on
// seeded normal vectors, or on the chosen head's own q and k as far as their first d components go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lenses/lens.hpp"

namespace attn::app {

inline constexpr Index scale_components_limit = 4096, scale_pairs = 2048;

enum class ScaleVectors { normal, head };

struct ScaleState {
    ScaleVectors vectors = ScaleVectors::normal;
    Index components = 64;  // d; a head has fewer at most
    std::uint32_t seed = 1;
    bool operator==(const ScaleState&) const = default;
};

struct SetScale {
    ScaleState scale;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

LinkRows scale_links();

// Dot products q · k, made in slices of about a millisecond.
class DotProducts {
  public:
    // Of `pairs` pairs of vectors with `components` standard normal components each (tensor/random.hpp).
    DotProducts(Index components, Index pairs, std::uint32_t seed);
    // Of the first `components` of a head's q and k, over at most `pairs` of the pairs that its mask allows, evenly
    // chosen.
    DotProducts(std::shared_ptr<const Record> record, Index head, Index components, Index pairs);

    bool step();  // true while there is more to do
    bool done() const { return next_ >= pairs_; }
    const std::vector<float>& values() const { return values_; }
    Index components() const { return components_; }

  private:
    std::shared_ptr<const Record> record_;  // null: normal vectors
    Index head_ = 0, components_, pairs_;
    std::uint32_t seed_ = 0;
    Index next_ = 0;  // a pair, or a query and key among all
    std::vector<float> values_;
};

// Counts values in bins of one width over [−reach, reach]; those outside are in the outermost bins.
std::vector<Index> histogram_of(const std::vector<float>& values, double reach, Index bins);

class ScaleLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject&) const override { return std::nullopt; }
    bool suits(Subject&) const override { return true; }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    Guide guide(Subject& subject) const override;

    // What is shown: a head where its vectors are chosen and there are some. Computed anew where that has changed.
    const DotProducts& products(Subject& subject);

  private:
    struct Shown {
        ScaleState scale;
        std::uint64_t version = 0;  // of the attention; 0: normal vectors
        Index layer = 0, head = 0;
        bool operator==(const Shown&) const = default;
    };
    static std::shared_ptr<const Record> record_of(Subject& subject, const State& state);
    void draw_controls(Subject& subject);
    void draw_histogram(const DotProducts& products, float width) const;

    std::optional<Shown> shown_;
    std::optional<DotProducts> products_;
};

}  // namespace attn::app
