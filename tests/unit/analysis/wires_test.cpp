// Compares with a sorted list of all pairs.
#include "analysis/heads/wires.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("the strongest wires are those of the chosen kinds from the threshold on", "[analysis]") {
    const SmallFamily family{"gpt2",
                             R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 4, "n_embd": 24,
        "n_layer": 3, "n_head": 12})"};
    CompositionJob job(*CircuitEnds::of(small_model(family)));
    while (job.step()) continue;
    std::vector<double> all;
    for (const Composition kind : {Composition::q, Composition::v})
        for (Index from = 0; from < 36; ++from)
            for (Index to = 0; to < 36; ++to) {
                const float value = job.value(kind, {from / 12, from % 12}, {to / 12, to % 12});
                if (!std::isnan(value)) all.push_back(static_cast<double>(value));
            }
    std::ranges::sort(all, std::greater());
    REQUIRE(all.size() == 2 * 3 * 144);
    const auto check = [&](std::optional<double> threshold, std::size_t listed, double from) {
        const Wires wires = strongest_wires(job, {true, false, true}, threshold);
        CHECK(wires.threshold == from);
        CHECK(wires.strongest == all.front());
        REQUIRE(wires.listed.size() == listed);
        for (std::size_t i = 0; i < listed; ++i) {
            const auto& [wire, value] = wires.listed[i];
            CHECK(value == all[i]);
            CHECK(value == static_cast<double>(job.value(wire.kind, wire.from, wire.to)));
            CHECK(wire.kind != Composition::k);
        }
        CHECK(wires.left_out == std::ranges::count_if(all, [&](double each) { return each >= from; }) -
                                    static_cast<std::ptrdiff_t>(listed));
    };
    check(std::nullopt, Wires::usual, all[Wires::usual - 1]);
    check(all[9], 10, all[9]);
    check(0, Wires::most, 0);
    check(1, 0, 1);
}
