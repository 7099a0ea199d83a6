#include "train/evaluation.hpp"

#include <algorithm>
#include <numbers>

#include "kernels/workers.hpp"

namespace attn {

double bits_per_byte(const Evaluation& evaluation, std::size_t bytes) {
    return evaluation.loss * static_cast<double>(evaluation.targets) / std::numbers::ln2 /
           static_cast<double>(bytes);
}

Evaluation evaluate(const TrainedNetwork& network, std::span<const float> parameters, Index context,
                    std::span<const std::int32_t> ids) {
    const Index half = std::max<Index>(context / 2, 1), all = std::ssize(ids) - 1;
    const Index windows = all <= context ? (all > 0 ? 1 : 0) : 1 + (all - context + half - 1) / half;
    std::vector<TrainedNetwork::Loss> losses(static_cast<std::size_t>(windows));
    const Index threads = std::min<Index>(thread_count(), windows);
    for_each_task(threads, [&](Index thread) {
        const auto kept = network.activations(context);
        std::vector<std::int32_t> targets;
        for (Index window = thread; window < windows; window += threads) {
            const Index begin = window * half, end = std::min(begin + context, all);
            const Index foretold = window == 0 ? 0 : context - half;  // in the window before
            targets.assign(static_cast<std::size_t>(end - begin), -1);
            for (Index i = foretold; i < end - begin; ++i)
                targets[static_cast<std::size_t>(i)] = ids[static_cast<std::size_t>(begin + i + 1)];
            const auto inputs = ids.subspan(static_cast<std::size_t>(begin), targets.size());
            losses[static_cast<std::size_t>(window)] = network.loss(parameters, inputs, targets, *kept);
        }
    });
    double sum = 0;
    Index right = 0;
    for (const auto& loss : losses) {
        sum += loss.sum;
        right += loss.right;
    }
    const auto count = static_cast<double>(std::max<Index>(all, 1));
    return {sum / count, std::max<Index>(all, 0), static_cast<double>(right) / count};
}

}  // namespace attn
