#include "io/deflate.hpp"

#include <catch_amalgamated.hpp>

#include "tensor/random.hpp"

using namespace attn;

TEST_CASE("packed data unpacks to the same bytes, up to a limit") {
    Random random(3);
    std::string noise;
    for (int i = 0; i < 5000; ++i) noise += static_cast<char>(random.bits());
    for (const std::string& bytes : {std::string(), std::string("a"), std::string(40'000, 'x'), noise}) {
        const std::string packed = deflated(bytes);
        CHECK(inflated(packed, bytes.size() + 1) == bytes);
        if (!bytes.empty()) CHECK_FALSE(inflated(packed, bytes.size() - 1));
    }
    CHECK(deflated(std::string(40'000, 'x')).size() < 100);
}

TEST_CASE("unpacked bytes unpack to nothing") {
    const std::string packed = deflated("The animal didn't cross the street because it was too tired.");
    CHECK_FALSE(inflated("", 100));
    CHECK_FALSE(inflated("animal", 100));
    CHECK_FALSE(inflated(packed.substr(0, packed.size() - 1), 100));
    CHECK_FALSE(inflated(packed + "x", 100));
}
