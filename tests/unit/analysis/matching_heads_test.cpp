#include "analysis/heads/matching_heads.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;

TEST_CASE("matching heads of an encoder–decoder are in one layer, as far as both stacks have it") {
    ModelConfig config;
    config.layers = 3;
    config.decoder_layers = 2;
    CHECK(matching_heads(config, {6, 1}) == MatchingHeads{{1, 1}, {4, 1}, {6, 1}});
    CHECK(matching_heads(config, {2, 0}) == MatchingHeads{{2, 0}, {4, 0}, {6, 0}});
    CHECK(matching_heads(config, {3, 2}) == MatchingHeads{{0, 2}, {3, 2}, {5, 2}});
    config.layers = 1;
    CHECK(matching_heads(config, {2, 0}) == MatchingHeads{{0, 0}, {2, 0}, {4, 0}});
}
