#include "analysis/theory/row_losses.hpp"

#include <cmath>

#include "attention/explain.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;

namespace {

std::vector<double> lost(RowLosses losses) {
    while (losses.step()) continue;
    REQUIRE(losses.done());
    return losses.lost();
}
std::vector<double> lost_without_mask(const Record& record, const Mask& mask, Index head) {
    auto losses = RowLosses::without_mask(record, mask, head);
    REQUIRE(losses);
    return lost(*std::move(losses));
}

// Weights in f32 have a relative error of about 2^-20, and their sum is at most 1.
constexpr double bound = 2e-6;

}  // namespace

TEST_CASE("what a row loses is the sum of its weights on hidden keys", "[analysis]") {
    constexpr Index n_q = 61, n_k = 73;
    const RecordPointer causal = random_record(n_q, n_k, masked_by(Mask::causal(5)));
    const RecordPointer whole = random_record(n_q, n_k);
    for (const Mask& mask : all_masks(n_q, n_k))
        for (const Index head : {0, 1}) {
            INFO(mask.text().substr(0, 100) << " on head " << head);
            const auto free = lost_without_mask(*causal, mask, head);
            const auto own = lost(RowLosses(stage_map(causal, head, Stage::weight), mask, head));
            for (Index q = 0; q < n_q; ++q) {
                const RowChain of_all = row_chain(*whole, head, q), of_own = row_chain(*causal, head, q);
                double all_hidden = 0, own_hidden = 0;
                for (Index k = 0; k < n_k; ++k) {
                    if (mask.allows(head, q, k)) continue;
                    all_hidden += of_all.at(k).weight;
                    own_hidden += of_own.at(k).weight;
                }
                CHECK(std::abs(free[static_cast<std::size_t>(q)] - all_hidden) < bound);
                CHECK(std::abs(own[static_cast<std::size_t>(q)] - own_hidden) < bound);
            }
        }
}

TEST_CASE("a mask and its complement together take everything", "[analysis]") {
    const RecordPointer record = random_record(40, 40, masked_by(Mask::causal()));
    for (const Mask& mask : all_masks(40, 40)) {
        const auto one = lost_without_mask(*record, mask, 1), other = lost_without_mask(*record, !mask, 1);
        for (std::size_t q = 0; q < one.size(); ++q) CHECK(std::abs(one[q] + other[q] - 1) < bound);
    }
    CHECK(lost_without_mask(*record, Mask(), 0) == std::vector<double>(40, 0));
}

TEST_CASE("a query with NaN loses NaN, and no other does", "[analysis]") {
    Tensor q = random_tensor({1, 3, 4}, 1);
    q.data()[4] = std::nanf("");
    const RecordPointer odd = record(std::move(q), random_tensor({1, 5, 4}, 2), random_tensor({1, 5, 4}, 3));
    const auto rows = lost_without_mask(*odd, Mask::padding(2), 0);
    CHECK(std::isnan(rows[1]));
    CHECK(std::isfinite(rows[0]));
    CHECK(std::isfinite(rows[2]));
}
