// Compares with a product of whole matrices.
#include "analysis/attribution/rollout.hpp"

#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

namespace {

using Square = std::vector<std::vector<double>>;

// The matrix that an attention contributes, over the encoder's tokens and then the text's: [each row, each
// token].
Square mixing(const Trace& trace, Index number, Index encoded) {
    const LayerAttention of = trace.attention(number);
    const auto size = static_cast<std::size_t>(encoded + trace.tokens());
    const bool by_encoder = of.place.kind == AttentionKind::encoder;
    const Index first_query = by_encoder ? 0 : encoded,
                first_key = by_encoder || of.place.kind == AttentionKind::cross ? 0 : encoded;
    Square out(size, std::vector<double>(size, 0.0));
    for (std::size_t i = 0; i < size; ++i) out[i][i] = 1;
    for (Index query = 0; query < of.record().queries(); ++query) {
        auto& row = out[static_cast<std::size_t>(first_query + query)];
        row[static_cast<std::size_t>(first_query + query)] = 0.5;
        for (Index key = 0; key < of.record().keys(); ++key)
            for (Index head = 0; head < of.record().heads(); ++head)
                row[static_cast<std::size_t>(first_key + key)] +=
                    static_cast<double>(of.record().cell(Stage::weight, head, query, key)) /
                    (2 * static_cast<double>(of.record().heads()));
    }
    return out;
}

}  // namespace

TEST_CASE("rollout is a row of the product of all attentions' mixing matrices", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), {3, 1, 4, 1, 5, 9});
        const Index encoded = trace->encoder() ? trace->encoder()->tokens() : 0;
        const auto size = static_cast<std::size_t>(encoded + trace->tokens());
        constexpr Index row = 4;
        std::vector<double> arrives(size, 0.0);
        arrives[static_cast<std::size_t>(encoded + row)] = 1;
        const auto pass = [&](Index number) {
            const Square mixes = mixing(*trace, number, encoded);
            std::vector<double> below(size, 0.0);
            for (std::size_t i = 0; i < size; ++i)
                for (std::size_t j = 0; j < size; ++j) below[j] += arrives[i] * mixes[i][j];
            arrives = below;
        };
        const Index own = std::ssize(trace->layers()),
                    encoders = trace->encoder() ? trace->encoder()->attentions() : 0;
        for (Index layer = own; layer-- > 0;) {
            if (trace->encoder()) pass(encoders + own + layer);
            pass(encoders + layer);
        }
        for (Index number = encoders; number-- > 0;) pass(number);

        Rollout rollout(trace, row);
        while (rollout.step()) continue;
        const TokenShares& shares = rollout.shares();
        CHECK(shares.total() == Catch::Approx(1).epsilon(1e-5));  // rows of weights sum to 1 in f32
        for (Index token = 0; token < trace->tokens(); ++token)
            // The weights are equal, except that a row and a single cell are rounded differently.
            CHECK(shares.own[static_cast<std::size_t>(token)] ==
                  Catch::Approx(arrives[static_cast<std::size_t>(encoded + token)]).margin(1e-6));
        for (Index token = 0; token < encoded; ++token)
            CHECK(shares.encoded[static_cast<std::size_t>(token)] ==
                  Catch::Approx(arrives[static_cast<std::size_t>(token)]).margin(1e-6));
    }
}
