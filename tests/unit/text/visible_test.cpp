#include "text/visible.hpp"

#include <catch_amalgamated.hpp>

using namespace attn;

TEST_CASE("characters that leave no mark are shown", "[text]") {
    CHECK(visible("cat") == "cat");
    CHECK(visible(" cat\n\t") == "·cat↵⇥");
    CHECK(visible("a\u200db") == "a\\u200Db");
    CHECK(visible(std::string_view("\0\r", 2)) == "\\u0000\\u000D");
    CHECK(visible("\u00a0\u00ad\u3000\ufeff") == "\\u00A0\\u00AD\\u3000\\uFEFF");
    CHECK(visible("\U000E0041\U0010FFFF") == "\\u{E0041}\\u{10FFFF}");
    CHECK(visible("Ġé猫·▁") == "Ġé猫·▁");
    CHECK(visible("") == "");
}
