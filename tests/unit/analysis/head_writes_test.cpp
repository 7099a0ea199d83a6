#include "analysis/heads/head_writes.hpp"

#include <cmath>

#include "model/explain.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("heads and bias add up to the attention's output, in every attention of every family",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        const auto trace = run_text(small_model(family), {3, 1, 4, 1, 5, 9, 2, 6});
        REQUIRE(trace);
        for (Index attention = 0; attention < (*trace)->attentions(); ++attention) {
            CAPTURE(family.name, attention);
            const LayerAttention at = (*trace)->attention(attention);
            const Record& record = at.record();
            const Index row = record.queries() - 2;
            const HeadWrites w = head_writes(**trace, attention, row);
            REQUIRE(w.heads == record.heads());
            REQUIRE(std::ssize(w.whole) == w.d_model);
            double shares = 0, squares = 0, size = 1;
            for (const double each : w.whole) squares += each * each;
            for (Index part = 0; part <= w.heads; ++part) {
                double length = 0, along = 0;
                for (Index i = 0; i < w.d_model; ++i) {
                    // Computed from the definition, in double.
                    double written = 0;
                    if (part == w.heads && at.half.attention_out.bias.size() > 0)
                        written = static_cast<double>(
                            at.half.attention_out.bias.values()[static_cast<std::size_t>(i)]);
                    for (Index c = 0; part < w.heads && c < record.d_v(); ++c)
                        written += static_cast<double>(record.output().heads().head(part)(row, c)) *
                                   element(at.half.attention_out.weight, part * record.d_v() + c, i);
                    CHECK(std::abs(w.part(part)[static_cast<std::size_t>(i)] - written) < 1e-5);
                    length += written * written;
                    along += written * w.whole[static_cast<std::size_t>(i)];
                    size = std::max(size, std::abs(written));
                }
                CHECK(w.norm(part) == Catch::Approx(std::sqrt(length)).epsilon(1e-5).margin(1e-6));
                CHECK(w.share(part) == Catch::Approx(along / squares).epsilon(1e-4).margin(1e-5));
                shares += w.share(part);
            }
            CHECK(shares == Catch::Approx(1).epsilon(1e-5));
            CHECK(w.off_by() < 1e-5 * size);  // for sums of 16 products in f32
        }
    }
}
