#include "analysis/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

using Tokens = std::span<const std::int32_t>;

// Returns the positions of a longest common subsequence (Wagner & Fischer 1974). If there are several, it
// takes the earliest tokens of `first`.
std::vector<TokenPair> common_subsequence(Tokens first, Tokens second) {
    const std::size_t rows = first.size(), cols = second.size();
    // longest[i, j] belongs to first[i …] and second[j …].
    std::vector<std::uint32_t> longest((rows + 1) * (cols + 1), 0);
    const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
        return longest[i * (cols + 1) + j];
    };
    for (std::size_t i = rows; i-- > 0;)
        for (std::size_t j = cols; j-- > 0;)
            at(i, j) = first[i] == second[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    std::vector<TokenPair> pairs;
    for (std::size_t i = 0, j = 0; i < rows && j < cols;) {
        if (first[i] == second[j])
            pairs.push_back({static_cast<Index>(i++), static_cast<Index>(j++), true});
        else if (at(i, j + 1) >= at(i + 1, j))
            ++j;
        else
            ++i;
    }
    return pairs;
}

}  // namespace

Alignment::Alignment(Tokens first, Tokens second) {
    const auto [begin, other] = std::ranges::mismatch(first, second);
    const auto head = static_cast<std::size_t>(begin - first.begin());
    std::size_t tail = 0;
    while (tail < std::min(first.size(), second.size()) - head &&
           first[first.size() - 1 - tail] == second[second.size() - 1 - tail])
        ++tail;
    std::vector<TokenPair> common;
    for (std::size_t i = 0; i < head; ++i)
        common.push_back({static_cast<Index>(i), static_cast<Index>(i), true});
    for (const TokenPair& pair : common_subsequence(first.subspan(head, first.size() - head - tail),
                                                    second.subspan(head, second.size() - head - tail)))
        common.push_back(
            {pair.first + static_cast<Index>(head), pair.second + static_cast<Index>(head), true});
    for (std::size_t i = tail; i-- > 0;)
        common.push_back(
            {static_cast<Index>(first.size() - 1 - i), static_cast<Index>(second.size() - 1 - i), true});

    Index i = 0, j = 0;
    const auto between = [&](Index end_i, Index end_j) {
        if (end_i - i == end_j - j)
            while (i < end_i) pairs_.push_back({i++, j++, false});
    };
    for (const TokenPair& pair : common) {
        between(pair.first, pair.second);
        pairs_.push_back(pair);
        i = pair.first + 1;
        j = pair.second + 1;
    }
    between(std::ssize(first), std::ssize(second));
}

std::optional<Index> Alignment::second_of(Index first) const {
    const auto found = std::ranges::lower_bound(pairs_, first, {}, &TokenPair::first);
    return found != pairs_.end() && found->first == first ? std::optional(found->second) : std::nullopt;
}

std::optional<Index> Alignment::first_of(Index second) const {
    const auto found = std::ranges::lower_bound(pairs_, second, {}, &TokenPair::second);
    return found != pairs_.end() && found->second == second ? std::optional(found->first) : std::nullopt;
}

namespace {

double norm(std::span<const float> values) {
    double sum = 0;
    for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
    return std::sqrt(sum);
}

double product(float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }

}  // namespace

Cosine cosine(std::span<const float> a, std::span<const float> b) {
    Cosine out{0, norm(a), norm(b)};
    for (std::size_t i = 0; i < a.size(); ++i) out.dot += product(a[i], b[i]);
    return out;
}

std::vector<Cosine> residual_cosines(const Trace& first, Index first_token, const Trace& second,
                                     Index second_token) {
    std::vector<Cosine> out;
    for (std::size_t layer = 0; layer < first.layers().size(); ++layer)
        out.push_back(cosine(row_of(first.layers()[layer].resid_pre, first_token),
                             row_of(second.layers()[layer].resid_pre, second_token)));
    out.push_back(
        cosine(row_of(first.final_residual(), first_token), row_of(second.final_residual(), second_token)));
    return out;
}

Cosine row_cosine(std::span<const float> first, std::span<const float> second, const Alignment& alignment) {
    Cosine out{0, norm(first), norm(second)};
    for (const TokenPair& pair : alignment.pairs())
        out.dot += product(first[static_cast<std::size_t>(pair.first)],
                           second[static_cast<std::size_t>(pair.second)]);
    return out;
}

}  // namespace attn
