#include "tensor/random.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

using attn::Random;

TEST_CASE("random bits match SplitMix64", "[random]") {
    Random random(1234567);  // values of the Rosetta Code task "Pseudo-random numbers/Splitmix64"
    CHECK(random.bits() == 6457827717110365317u);
    CHECK(random.bits() == 3203168211198807973u);
    CHECK(random.bits() == 9817491932198370423u);
    CHECK(random.bits() == 4593380528125082431u);
    CHECK(random.bits() == 16408922859458223821u);
}

TEST_CASE("uniform numbers are in [0, 1)", "[random]") {
    Random random(7);
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) {
        const double u = random.uniform();
        CHECK((u >= 0 && u < 1));
        sum += u;
    }
    CHECK(std::abs(sum / 100'000 - 0.5) < 0.005);
}

TEST_CASE("normal numbers have the moments and the tail of the normal distribution", "[random]") {
    Random random(7);
    const int count = 400'000;
    double sum = 0, squares = 0, fourth = 0;
    int beyond_two = 0;
    for (int i = 0; i < count; ++i) {
        const double x = random.normal();
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
        beyond_two += std::abs(x) > 2;
    }
    CHECK(std::abs(sum / count) < 0.01);
    CHECK(std::abs(squares / count - 1) < 0.01);
    CHECK(std::abs(fourth / count - 3) < 0.1);
    CHECK(std::abs(static_cast<double>(beyond_two) / count - 0.0455) < 0.002);
}

// These must be the same on every platform, to the last bit.
TEST_CASE("normal numbers are reproducible", "[random]") {
    Random random(42);
    CHECK(random.normal() == 0.49295065581737485);
    CHECK(random.normal() == -0.69400566721601742);
    CHECK(random.normal() == -1.28107734787770244);
    CHECK(random.normal() == -0.901557193497174);
}
