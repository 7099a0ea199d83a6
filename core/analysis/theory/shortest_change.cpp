#include "analysis/theory/shortest_change.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

constexpr double numbers_looked_at = 2e8;  // a limit for all starts but the first
constexpr Index most_evaluations = 20'000, most_starts = 64;

bool is_wished(const WishedRow& of, Index key) {
    return std::ranges::find(of.wishes, key, &Wish::key) != of.wishes.end();
}

Masked score_of(const WishedRow& of, Index key) {
    return masked_at(of.row, key, of.row.raw[static_cast<std::size_t>(key)]);
}

// The keys without a wish, those with the highest scores first.
std::vector<Index> rivals_of(const WishedRow& of) {
    std::vector<std::pair<double, Index>> rivals;
    for (Index j = 0; j < std::ssize(of.row.raw); ++j)
        if (is_open(of.row, j) && !is_wished(of, j)) rivals.emplace_back(-score_of(of, j).score, j);
    std::ranges::sort(rivals);
    std::vector<Index> keys;
    for (const auto& [score, key] : rivals) keys.push_back(key);
    return keys;
}

// Whether every change with the wishes' log-odds or more is as long as this one.
bool is_shortest_of_all(const LeastChange& search) {
    if (!search.least()) return false;
    const std::vector<double> multipliers = search.multipliers();
    std::size_t w = 0;
    for (const WishedRow& of : search.rows()) {
        const bool linear = rivals_of(of).size() == 1;
        if (of.row.softcap != 0) return false;
        for (std::size_t i = 0; i < of.wishes.size(); ++i)
            if (multipliers[w++] < 0 && !linear) return false;
    }
    return true;
}

// Whether one wish asks for more than there is, so that no start finds what the first does not.
bool raises_one(const LeastChange& search) {
    if (search.rows().size() != 1 || search.rows().front().wishes.size() != 1) return false;
    const WishedRow& of = search.rows().front();
    return of.row.softcap == 0 &&
           RowChain(of.row).at(of.wishes.front().key).weight < of.wishes.front().weight;
}

// The shortest z, to the first order, with m_j − m_rival = b_j for all wishes of the row; empty if none is
// finite. Gram's and Schmidt's vectors solve D z = r.
std::vector<double> start_for(const WishedRow& of, Index rival) {
    double rest = 1;
    for (const Wish& wish : of.wishes) rest -= wish.weight;
    const Masked other = score_of(of, rival);
    std::vector<double> z(static_cast<std::size_t>(of.lever.size()));
    std::vector<std::vector<double>> basis;
    for (const Wish& wish : of.wishes) {
        const Masked own = score_of(of, wish.key);
        std::vector<double> slopes(z.size());
        of.lever.add(wish.key, own.slope, slopes);
        of.lever.add(rival, -other.slope, slopes);
        const double off = std::log(wish.weight / rest) - (own.score - other.score) - dot(slopes, z);
        std::vector<double> rest_of = slopes;
        for (const std::vector<double>& each : basis) {
            const double share = dot(rest_of, each);
            rest_of = added(std::move(rest_of), -share, each);
        }
        const double length = length_of(rest_of);
        if (!(length > 1e-9 * length_of(slopes))) return {};
        for (double& each : rest_of) each /= length;
        z = added(std::move(z), off / dot(slopes, rest_of), rest_of);
        basis.push_back(std::move(rest_of));
    }
    return std::ranges::all_of(z, [](double each) { return std::isfinite(each); }) ? z
                                                                                   : std::vector<double>{};
}

}  // namespace

ShortestChange::ShortestChange(std::vector<WishedRow> rows) : best_(std::move(rows)) {
    if (best_.done()) end_search();
}

void ShortestChange::end_search() {
    if (!other_) {  // the first
        proven_ = is_shortest_of_all(best_);
        if (proven_ || (!best_.found() && raises_one(best_))) {
            done_ = true;
            return;
        }
        double numbers = 1;
        const Index of_each = std::max<Index>(most_starts / std::ssize(best_.rows()), 1);
        for (const WishedRow& of : best_.rows()) {
            numbers += static_cast<double>(std::ssize(of.row.raw)) * static_cast<double>(of.lever.size());
            std::vector<Index> rivals = rivals_of(of);
            rivals.resize(static_cast<std::size_t>(std::min<Index>(std::ssize(rivals), of_each)));
            for (const Index rival : rivals)
                if (auto start = start_for(of, rival); !start.empty()) waiting_.push_back(std::move(start));
        }
        std::ranges::sort(waiting_, [](const auto& a, const auto& b) { return dot(a, a) > dot(b, b); });
        evaluations_left_ = std::min(most_evaluations, static_cast<Index>(numbers_looked_at / numbers));
    } else {
        ++starts_;
        if (other_->found() && (!best_.found() || other_->length() < best_.length()))
            best_ = *std::move(other_);
        other_.reset();
    }
    if (waiting_.empty() || evaluations_left_ <= 0) {
        proven_ = proven_ || is_shortest_of_all(best_);
        done_ = true;
        return;
    }
    other_.emplace(best_.rows(), std::move(waiting_.back()));
    waiting_.pop_back();
}

bool ShortestChange::step() {
    if (done_) return false;
    LeastChange& running = other_ ? *other_ : best_;
    if (other_) --evaluations_left_;
    if (!running.step()) end_search();
    return !done_;
}

}  // namespace attn
