// FUZZ_TARGET(NAME) { ... return 0; } gets arbitrary bytes as `data` and `size`, and checks by `require` what
// must hold for them. The preset `fuzz` turns it into a libFuzzer program; in the tests it gets the files of
// corpus/NAME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

inline void require(bool condition) {
    if (!condition) std::abort();
}

#ifdef ATTN_FUZZ
#define FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else

#include <catch_amalgamated.hpp>
#include <cstdio>
#include <vector>

#include "support/files.hpp"

namespace attn::test {

inline void replay(const char* name, int (*target)(const std::uint8_t*, std::size_t)) {
    int inputs = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(source_dir() / "tests/fuzz/corpus" / name)) {
        if (!entry.is_regular_file()) continue;
        // The name is on the screen if this file crashes the target.
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);
        const std::vector<std::byte> bytes = read_file(entry.path());
        CHECK(target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) == 0);
        ++inputs;
    }
    CHECK(inputs > 0);
}

}  // namespace attn::test

#define FUZZ_TARGET(name)                                                                   \
    static int fuzz_##name(const std::uint8_t* data, std::size_t size);                     \
    TEST_CASE("the corpus of " #name, "[fuzz]") { attn::test::replay(#name, fuzz_##name); } \
    static int fuzz_##name(const std::uint8_t* data, std::size_t size)
#endif
