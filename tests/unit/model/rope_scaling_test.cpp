#include "model/rope_scaling.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "support/files.hpp"

using namespace attn;
using namespace attn::test;

namespace {

nlohmann::json stretched_goldens() {
    const auto bytes = read_file(source_dir() / "tests/golden/positions/positions.json");
    return nlohmann::json::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

RopeScaling scaling_of(RopeScaling::Kind kind, double factor, Index original) {
    return {.kind = kind, .factor = factor, .original_context = original};
}

}  // namespace

TEST_CASE("stretched rotary frequencies match their authors' code") {
    using Kind = RopeScaling::Kind;
    const std::vector<std::pair<const char*, Kind>> kinds{{"none", Kind::none},
                                                          {"linear", Kind::linear},
                                                          {"ntk", Kind::ntk},
                                                          {"yarn", Kind::yarn},
                                                          {"llama3", Kind::llama3}};
    auto goldens = stretched_goldens();
    for (const auto& wanted : goldens["rotary"])
        for (const auto& [name, kind] : kinds) {
            if (!wanted.contains(name)) continue;
            INFO(name << " of " << wanted["dim"]);
            const std::vector<double> expected = wanted[name],
                                      found = rotary_frequencies(
                                          wanted["dim"], wanted["base"],
                                          scaling_of(kind, wanted["factor"], wanted["original"]));
            REQUIRE(found.size() == expected.size());
            // A power and a few products in double, in another order than in the code.
            for (std::size_t a = 0; a < found.size(); ++a)
                CHECK(found[a] == Catch::Approx(expected[a]).epsilon(1e-13));
        }
}

TEST_CASE("context extension has its documented effect on the fastest and the slowest pair") {
    using Kind = RopeScaling::Kind;
    constexpr Index d = 64, original = 4096;
    constexpr double s = 8, base = 10'000;
    const auto of = [&](Kind kind) { return rotary_frequencies(d, base, scaling_of(kind, s, original)); };
    const auto plain = of(Kind::none), linear = of(Kind::linear), ntk = of(Kind::ntk), yarn = of(Kind::yarn),
               llama = of(Kind::llama3);
    for (std::size_t a = 0; a < plain.size(); ++a) {
        const double turns = original * plain[a] / (2 * std::numbers::pi);
        CHECK(linear[a] == Catch::Approx(plain[a] / s).epsilon(1e-14));
        for (const auto& each : {ntk, yarn, llama}) {
            CHECK(each[a] <= plain[a] * (1 + 1e-14));
            CHECK(each[a] >= plain[a] / s * (1 - 1e-14));
        }
        if (turns > 4) CHECK(llama[a] == plain[a]);
        if (turns < 1) CHECK(llama[a] == Catch::Approx(plain[a] / s).epsilon(1e-14));
    }
    for (const auto& each : {ntk, yarn, llama}) {
        CHECK(each.front() == Catch::Approx(plain.front()).epsilon(1e-14));
        CHECK(each.back() == Catch::Approx(plain.back() / s).epsilon(1e-13));
    }
    // YaRN's magnitude is √(1/t) with t = 1 / (0.1 ln s + 1)².
    CHECK(rotary_magnitude(scaling_of(Kind::yarn, s, original)) == 0.1 * std::log(s) + 1);
    CHECK(rotary_magnitude(scaling_of(Kind::yarn, 1, original)) == 1);
    CHECK(rotary_magnitude(scaling_of(Kind::llama3, s, original)) == 1);
    // A factor of 1 changes nothing.
    for (const Kind kind : {Kind::linear, Kind::ntk, Kind::yarn, Kind::llama3}) {
        const auto same = rotary_frequencies(d, base, scaling_of(kind, 1, original));
        for (std::size_t a = 0; a < same.size(); ++a)
            CHECK(same[a] == Catch::Approx(plain[a]).epsilon(1e-14));
    }
    for (const Kind kind : {Kind::none, Kind::linear, Kind::ntk, Kind::yarn, Kind::llama3}) {
        CHECK(rotary_frequencies(0, base, scaling_of(kind, s, original)).empty());
        for (const double each : rotary_frequencies(2, base, scaling_of(kind, s, original)))
            CHECK(std::isfinite(each));
    }
}
