#include "lenses/circuits/corpus_plane.hpp"

#include <algorithm>
#include <cmath>
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
    std::ranges::sort(all, {}, [](const Point& each) { return std::pair(each.text, each.token); });
    points_ = std::move(all);
    const Record& first = traces.front()->attention(head.layer).record();
    scale_ = first.scale();
    const Index kv_head = first.kv_head(head.head);
    q_ = Tensor({count, first.d_k()});
    k_ = Tensor(q_.shape());
    bool finite = true;
    for (Index i = 0; i < count; ++i) {
        const Point& at = points_[static_cast<std::size_t>(i)];
        const Record& record = traces[static_cast<std::size_t>(at.text)]->attention(head.layer).record();
        std::copy_n(record.q().heads().head(head.head).row(at.token), q_.dim(1), q_.matrix().row(i));
        std::copy_n(record.k().heads().head(kv_head).row(at.token), k_.dim(1), k_.matrix().row(i));
        for (const auto each : {q(i), k(i)})
            finite = finite && std::ranges::all_of(each, [](float x) { return std::isfinite(x); });
    }
    if (finite) search_.emplace(q_.matrix(), k_.matrix());
}

double CorpusPlane::score(Index query, Index key) const {
    const auto a = q(query), b = k(key);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return scale_ * sum;
}

}  // namespace attn::app
