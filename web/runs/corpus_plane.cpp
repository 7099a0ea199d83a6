#include "runs/corpus_plane.hpp"

#include <algorithm>
#include <utility>

#include "tensor/random.hpp"

namespace attn::app {

CorpusPlane::CorpusPlane(const CorpusRun& texts, const HeadIndex& head)
    : version_(texts.version()), head_(head) {
    const auto& traces = texts.traces();
    std::vector<Point> all;
    for (Index text = 0; text < std::ssize(traces); ++text)
        for (Index token = 0; token < traces[static_cast<std::size_t>(text)]->tokens(); ++token)
            all.push_back({text, token});
    tokens_ = std::ssize(all);
    const Index count = std::min(tokens_, most_points);
    // Takes as many items from the start of a shuffle (Fisher & Yates 1938) as there are points.
    Random random(texts.seed());
    for (Index i = 0; i < count && count < tokens_; ++i)
        std::swap(all[static_cast<std::size_t>(i)],
                  all[static_cast<std::size_t>(i) +
                      static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(tokens_ - i)))]);
    all.resize(static_cast<std::size_t>(count));
    std::ranges::sort(all);
    points_ = std::move(all);
    const Record& first = traces.front()->attention(head.layer).record();
    scale_ = first.scale();
    const Index kv_head = first.kv_head(head.head);
    q_ = Tensor({count, first.d_k()});
    k_ = Tensor(q_.shape());
    for (Index i = 0; i < count; ++i) {
        const Point& at = points_[static_cast<std::size_t>(i)];
        const Record& record = traces[static_cast<std::size_t>(at.text)]->attention(head.layer).record();
        std::copy_n(record.q().heads().head(head.head).row(at.token), q_.dim(1), q_.matrix().row(i));
        std::copy_n(record.k().heads().head(kv_head).row(at.token), k_.dim(1), k_.matrix().row(i));
    }
    search_ = QueryKeyPlaneSearch::of(q_.matrix(), k_.matrix());
}

std::span<const float> CorpusPlane::vector(const End& end) const {
    const Tensor& rows = end.key ? k_ : q_;
    return {rows.matrix().row(end.point), static_cast<std::size_t>(rows.dim(1))};
}

double CorpusPlane::score(const End& end, Index other) const {
    const auto a = vector(end), b = vector({!end.key, other});
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return scale_ * sum;
}

std::vector<Index> CorpusPlane::best(const End& end) const {
    std::vector<std::pair<double, Index>> scores;
    for (Index i = 0; i < std::ssize(points_); ++i) scores.emplace_back(-score(end, i), i);
    std::ranges::sort(scores);
    std::vector<Index> points;
    for (const auto& [score, point] : scores) points.push_back(point);
    return points;
}

}  // namespace attn::app
