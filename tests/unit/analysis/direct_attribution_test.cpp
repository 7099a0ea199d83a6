// Compares with a forward computation: every norm with its recorded statistics, with and without one part.
#include "analysis/attribution/direct_attribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "model/explain.hpp"
#include "support/small_families.hpp"
#include "support/this_build.hpp"
#include "unit/analysis/replayed_stream.hpp"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> attributed_ids{3, 1, 4, 1, 5, 9, 2, 6};

DirectAttribution attributed(const std::shared_ptr<const Trace>& trace, Index row, std::int32_t token) {
    auto parts = DirectAttribution::start(trace, row, token);
    REQUIRE(parts);
    while (parts->step()) continue;
    return *std::move(parts);
}

// Returns the logit before its cap, from the parts of the stream that `wanted` names.
double replayed(const Trace& trace, Index row, std::int32_t token,
                const std::function<bool(LogitPart, Index number, Index head)>& wanted) {
    const Network& network = trace.network();
    static constexpr std::array sources{
        std::pair{LogitPart::token_embedding, SourcePart::token_embedding},
        std::pair{LogitPart::position_embedding, SourcePart::position_embedding},
        std::pair{LogitPart::segment_embedding, SourcePart::segment_embedding},
        std::pair{LogitPart::head, SourcePart::head}, std::pair{LogitPart::mlp, SourcePart::mlp}};
    Vector stream = replayed_stream(
        trace, stream_places(trace).back(), row, [&](SourcePart part, Index number, Index head) {
            const auto* same = std::ranges::find(sources, part, [](const auto& each) { return each.second; });
            return wanted(same->first, number, head);
        });
    if (network.final_norm) stream = frozen(*network.final_norm, trace.final_residual(), row, stream);
    for (double& each : stream) each *= network.head_scale;
    if (network.project_out) stream = through(*network.project_out, stream);
    if (network.head_transform) {
        const auto& [dense, activation, norm] = *network.head_transform;
        const Vector here = through(dense, row_in(trace.final_norm(), row));
        Vector z = through(dense, stream);
        Tensor active({1, std::ssize(z)});
        for (std::size_t i = 0; i < z.size(); ++i) {
            constexpr double h = 1e-5;  // the derivative's error is its square
            const double slope =
                (activated(activation, here[i] + h) - activated(activation, here[i] - h)) / (2 * h);
            active.values()[i] = static_cast<float>(activated(activation, here[i]));
            z[i] = activated(activation, here[i]) + slope * (z[i] - here[i]);
        }
        stream = frozen(norm, active, 0, z);
    }
    double logit = network.head.bias.size() > 0
                       ? static_cast<double>(network.head.bias.values()[static_cast<std::size_t>(token)])
                       : 0;
    for (std::size_t i = 0; i < stream.size(); ++i)
        logit += stream[i] * element(network.head.weight, static_cast<Index>(i), token);
    return logit;
}

}  // namespace

TEST_CASE("the parts of a logit add up to it, in every family, and each is what its absence removes",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), attributed_ids);
        for (const Index row : {Index{3}, Index{7}})
            for (const std::int32_t token : {5, 12}) {
                const DirectAttribution parts = attributed(trace, row, token);
                double size = 1;
                for (const LogitShare& share : parts.shares()) size += std::abs(share.value);
                // Each part is a sum of 16 products in f32, followed by as many in each of four sublayers.
                const double off = 4e-6 * size;
                CHECK(parts.logit() ==
                      static_cast<double>(
                          trace->logits({row, row + 1}).values()[static_cast<std::size_t>(token)]));
                CHECK(std::abs(parts.capped() - parts.logit()) < off);
                const auto all = [](LogitPart, Index, Index) { return true; };
                const double whole = replayed(*trace, row, token, all);
                CHECK(std::abs(whole - parts.sum()) < off);
                double heads = 0;
                for (const LogitShare& share : parts.shares()) {
                    CAPTURE(static_cast<int>(share.part), share.number, share.head);
                    if (share.part == LogitPart::head) heads += share.value;
                    const bool of_stream = share.part == LogitPart::head || share.part == LogitPart::mlp ||
                                           share.part <= LogitPart::segment_embedding;
                    if (!of_stream) continue;
                    const double without =
                        replayed(*trace, row, token, [&](LogitPart part, Index number, Index head) {
                            return part != share.part || number != share.number || head != share.head;
                        });
                    CHECK(std::abs(whole - without - share.value) < off);
                }
                CHECK(std::abs(parts.tokens().total() - heads) < off);
            }
    }
}

TEST_CASE("every head, MLP and embedding of a row has one part, in the order of the arithmetic",
          "[analysis]") {
    const auto trace = *run_text(small_model(small_families.front()), attributed_ids);
    const DirectAttribution parts = attributed(trace, 7, 3);
    std::vector<LogitPart> kinds;
    for (const LogitShare& share : parts.shares()) kinds.push_back(share.part);
    using enum LogitPart;
    CHECK(kinds == std::vector{token_embedding, position_embedding, head, head, attention_bias, mlp, head,
                               head, attention_bias, mlp, final_norm});
    CHECK(parts.shares()[2].head == 0);
    CHECK(parts.shares()[7].number == 1);
    CHECK(parts.shares()[7].head == 1);
    CHECK(parts.written(parts.shares()[2]).size() == 8);
    CHECK(parts.direction(parts.shares()[5]).size() == 16);
}

TEST_CASE("the parts add up to the logit of a run under any operation at any site, in every family",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        const auto trace = *run_text(model, attributed_ids),
                   other = *run_text(model, std::vector<std::int32_t>{8, 1, 7, 1, 2, 9, 4, 11});
        std::size_t count = 0;
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (int at = 0; at < site_count; ++at)
                for (const Operation operation :
                     {Operation::zero, Operation::scale, Operation::add, Operation::set, Operation::mean,
                      Operation::mean_of_texts, Operation::patch}) {
                    const auto site = static_cast<Site>(at);
                    if (sanitized && count++ % 5 != 0) continue;
                    Intervention each{.attention = attention,
                                      .site = site,
                                      .edit = {.rows = {2, 7}, .columns = {1, 3}, .operation = operation}};
                    if (is_of_heads(site)) each.edit.head = 0;
                    if (operation == Operation::scale) each.edit.values = {-0.5f};
                    if (operation == Operation::add || operation == Operation::set) each.edit.values = {1.0f};
                    if (operation == Operation::mean_of_texts || operation == Operation::patch)
                        each.from = {other};
                    auto forward = ForwardPass::start_with({each}, trace);
                    if (!forward) {
                        CHECK(site == Site::mask);  // this site is only switched
                        continue;
                    }
                    CAPTURE(attention, info(site).key, static_cast<int>(operation));
                    const auto changed = *forward->finish();
                    for (const Index row : {Index{7}, Index{6}}) {
                        const DirectAttribution parts = attributed(changed, row, 12);
                        double size = 1;
                        for (const LogitShare& share : parts.shares()) size += std::abs(share.value);
                        CHECK(std::abs(parts.capped() - parts.logit()) < 4e-6 * size);
                        std::vector<LogitShare> changes;
                        for (const LogitShare& share : parts.shares())
                            if (is_change(share.part)) changes.push_back(share);
                        const bool of_stream = site == Site::resid_pre || site == Site::resid_mid ||
                                               site == Site::resid_post || site == Site::attention_output,
                                   encodes = trace->model()->network().place_of(attention).kind ==
                                             AttentionKind::encoder;
                        REQUIRE(changes.size() == (of_stream && !encodes && row == 7 ? 1 : 0));
                        if (changes.empty()) continue;
                        // All numbers before the site are the same as in the run without the change.
                        const ConstMatrix was = numbers_at(*trace, attention, site).head(0),
                                          is = numbers_at(*changed, attention, site).head(0);
                        const std::span<const float> written = parts.written(changes.front());
                        double value = 0;
                        for (Index c = 0; c < is.cols; ++c) {
                            const double by =
                                static_cast<double>(is(row, c)) - static_cast<double>(was(row, c));
                            CHECK(std::abs(static_cast<double>(written[static_cast<std::size_t>(c)]) - by) <
                                  4e-6 * (1 + std::abs(by)));
                            value += by * parts.direction(changes.front())[static_cast<std::size_t>(c)];
                        }
                        CHECK(std::abs(changes.front().value - value) < 4e-6 * size);
                    }
                }
    }
}

TEST_CASE("a token outside the vocabulary or the text has no parts", "[analysis]") {
    const auto trace = *run_text(small_model(small_families.front()), attributed_ids);
    const auto outside = DirectAttribution::start(trace, 0, 20);
    REQUIRE_FALSE(outside);
    CHECK(outside.error().message == "Token 20 is outside the vocabulary of 20.");
    CHECK_FALSE(DirectAttribution::start(trace, 0, -1));
    const auto beyond = DirectAttribution::start(trace, 8, 3);
    REQUIRE_FALSE(beyond);
    CHECK(beyond.error().message == "There is no token 8 in a text of 8.");
}
