#include "analysis/theory/binary_memory.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/random.hpp"

namespace attn {

namespace {

constexpr Index most_modern_updates = 32;  // the modern network's

// Moves a random choice of `count` to the front (Fisher & Yates).
void choose_first(std::vector<Index>& all, Index count, Random& random) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        std::swap(all[i], all[i + static_cast<std::size_t>(random.below(all.size() - i))]);
}

std::vector<Index> numbers_to(Index end) {
    std::vector<Index> all(static_cast<std::size_t>(end));
    std::iota(all.begin(), all.end(), Index{0});
    return all;
}

}  // namespace

BinaryMemory::BinaryMemory(Index bits, Bits patterns)
    : bits_(bits), count_(std::ssize(patterns) / bits), by_bit_(patterns.size()) {
    for (Index pattern = 0; pattern < count_; ++pattern)
        for (Index i = 0; i < bits_; ++i)
            by_bit_[static_cast<std::size_t>(i * count_ + pattern)] =
                patterns[static_cast<std::size_t>(pattern * bits_ + i)];
}

Bits BinaryMemory::pattern(Index p) const {
    Bits bits;
    for (Index i = 0; i < bits_; ++i) bits.push_back(bit(p, i));
    return bits;
}

double BinaryMemory::weight(Index i, Index j) const {
    if (i == j) return 0;
    Index sum = 0;
    for (Index pattern = 0; pattern < count_; ++pattern) sum += bit(pattern, i) * bit(pattern, j);
    return static_cast<double>(sum) / static_cast<double>(bits_);
}

std::vector<std::int64_t> BinaryMemory::overlaps(std::span<const std::int8_t> state) const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count_), 0);
    for (Index i = 0; i < bits_; ++i)
        for (Index pattern = 0; pattern < count_; ++pattern)
            all[static_cast<std::size_t>(pattern)] += bit(pattern, i) * state[static_cast<std::size_t>(i)];
    return all;
}

std::int64_t BinaryMemory::field(std::span<const std::int64_t> overlaps, Index i, std::int8_t now) const {
    const std::int8_t* bits = by_bit_.data() + i * count_;
    std::int64_t sum = 0;
    for (std::size_t pattern = 0; pattern < overlaps.size(); ++pattern)
        sum += bits[pattern] * overlaps[pattern];
    return sum - std::int64_t{count_} * now;
}

std::int64_t BinaryMemory::twice_energy(std::span<const std::int64_t> overlaps) const {
    std::int64_t squares = 0;
    for (const std::int64_t each : overlaps) squares += each * each;
    return std::int64_t{count_} * bits_ - squares;
}

Bits random_bits(Index count, std::uint64_t seed) {
    Random random(seed);
    Bits bits(static_cast<std::size_t>(count));
    for (std::int8_t& each : bits) each = random.below(2) == 0 ? 1 : -1;
    return bits;
}

Bits signs_of(std::span<const double> numbers) {
    Bits bits;
    for (const double number : numbers) bits.push_back(number < 0 ? -1 : 1);
    return bits;
}

Bits with_flips(Bits bits, Index flips, std::uint64_t seed) {
    Random random(seed);
    std::vector<Index> chosen = numbers_to(std::ssize(bits));
    choose_first(chosen, flips, random);
    for (Index i = 0; i < flips; ++i) {
        auto& bit = bits[static_cast<std::size_t>(chosen[static_cast<std::size_t>(i)])];
        bit = static_cast<std::int8_t>(-bit);
    }
    return bits;
}

Index bits_that_differ(std::span<const std::int8_t> a, std::span<const std::int8_t> b) {
    Index count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
    return count;
}

// ---- Recall -----------------------------------------------------------------------------------------------

BinaryRecall::BinaryRecall(std::shared_ptr<const BinaryMemory> memory, Bits cue, std::uint64_t seed)
    : memory_(std::move(memory)),
      state_(std::move(cue)),
      seed_(seed),
      overlaps_(memory_->overlaps(state_)),
      energies_{memory_->twice_energy(overlaps_)} {
    shuffle();
}

void BinaryRecall::shuffle() {
    Random random(mixed(seed_, round_++));
    order_ = numbers_to(memory_->bits());
    choose_first(order_, memory_->bits(), random);
    next_ = 0;
    flips_before_ = flips_.size();
}

bool BinaryRecall::step() {
    if (done_) return false;
    const Index i = order_[next_++];
    std::int8_t& bit = state_[static_cast<std::size_t>(i)];
    const std::int64_t field = memory_->field(overlaps_, i, bit);
    if (field * bit < 0) {
        for (Index pattern = 0; pattern < memory_->count(); ++pattern)
            overlaps_[static_cast<std::size_t>(pattern)] -= 2 * memory_->bit(pattern, i) * bit;
        bit = static_cast<std::int8_t>(-bit);
        flips_.push_back(i);
        energies_.push_back(memory_->twice_energy(overlaps_));
    }
    if (next_ == order_.size()) {
        done_ = flips_.size() == flips_before_;
        if (!done_) shuffle();
    }
    return !done_;
}

bool recovered(std::span<const std::int8_t> state, std::span<const std::int8_t> pattern) {
    return static_cast<double>(bits_that_differ(state, pattern)) <=
           most_wrong_bits * static_cast<double>(pattern.size());
}

HopfieldPatterns patterns_of(const BinaryMemory& memory) {
    HopfieldPatterns patterns;
    patterns.components = memory.bits();
    patterns.keys = numbers_to(memory.count());
    patterns.mean.assign(static_cast<std::size_t>(memory.bits()), 0);
    for (Index p = 0; p < memory.count(); ++p)
        for (Index i = 0; i < memory.bits(); ++i) {
            patterns.values.push_back(memory.bit(p, i));
            patterns.mean[static_cast<std::size_t>(i)] +=
                static_cast<double>(memory.bit(p, i)) / static_cast<double>(memory.count());
        }
    patterns.largest = std::sqrt(static_cast<double>(memory.bits()));
    return patterns;
}

Bits modern_recall(std::shared_ptr<const HopfieldPatterns> patterns, double beta, const Bits& cue) {
    Retrieval retrieval(std::move(patterns), beta, {cue.begin(), cue.end()});
    while (retrieval.step() && retrieval.steps() < most_modern_updates) continue;
    return signs_of(retrieval.end());
}

// ---- Capacity ---------------------------------------------------------------------------------------------

CapacityTrials::CapacityTrials(const Setting& setting) : setting_(setting) { begin(); }

Index CapacityTrials::patterns(Index i) const {
    return std::max<Index>(std::lround(load(i) * static_cast<double>(setting_.bits)), 1);
}

void CapacityTrials::begin() {
    const Index count = patterns(load_);
    memory_ = std::make_shared<const BinaryMemory>(
        setting_.bits, random_bits(count * setting_.bits, mixed(static_cast<std::uint64_t>(seed_), 1,
                                                                static_cast<std::uint64_t>(load_))));
    patterns_ = std::make_shared<const HopfieldPatterns>(patterns_of(*memory_));
    cue_ = 0;
    good_ = {};
}

bool CapacityTrials::step() {
    if (done()) return false;
    const Bits pattern = memory_->pattern(cue_);
    const auto number = mixed(static_cast<std::uint64_t>(seed_), static_cast<std::uint64_t>(load_),
                              static_cast<std::uint64_t>(cue_));
    const Bits cue =
        with_flips(pattern, std::lround(setting_.flipped * static_cast<double>(setting_.bits)), number);
    BinaryRecall recall(memory_, cue, number);
    while (recall.step()) continue;
    good_[0] += recovered(recall.state(), pattern);
    good_[1] += recovered(modern_recall(patterns_, setting_.beta, cue), pattern);
    const Index count = tried(load_);
    if (++cue_ < count) return true;
    for (std::size_t network = 0; network < good_.size(); ++network)
        shares_[network][static_cast<std::size_t>(load_)].push_back(static_cast<double>(good_[network]) /
                                                                    static_cast<double>(count));
    if (++load_ == loads) {
        load_ = 0;
        ++seed_;
    }
    if (!done()) begin();
    return !done();
}

const std::vector<double>& CapacityTrials::shares(Network network, Index load) const {
    return shares_[static_cast<std::size_t>(network)][static_cast<std::size_t>(load)];
}

std::vector<double> CapacityTrials::means(Network network) const {
    std::vector<double> means;
    for (Index i = 0; i < loads && seed_ > 0; ++i) {
        const auto& all = shares(network, i);
        means.push_back(std::accumulate(all.begin(), all.begin() + seed_, 0.0) / static_cast<double>(seed_));
    }
    return means;
}

std::optional<double> half_recovered(std::span<const double> means) {
    for (std::size_t i = 1; i < means.size(); ++i)
        if (means[i - 1] >= 0.5 && means[i] < 0.5)
            return CapacityTrials::load(static_cast<Index>(i) - 1) +
                   (means[i - 1] - 0.5) / (means[i - 1] - means[i]) *
                       (CapacityTrials::load(1) - CapacityTrials::load(0));
    return std::nullopt;
}

}  // namespace attn
