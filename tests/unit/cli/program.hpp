// Runs the program attn.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch_amalgamated.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "support/this_build.hpp"

namespace attn::test {

struct Outcome {
    int code = 0;
    std::string text;  // both streams
};

inline Outcome run(const std::string& arguments) {
    std::FILE* pipe = popen((attn_program + (" " + arguments) + " 2>&1").c_str(), "r");
    REQUIRE(pipe);
    Outcome outcome;
    std::array<char, 4096> buffer;
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
        outcome.text.append(buffer.data(), count);
    outcome.code = WEXITSTATUS(pclose(pipe));
    return outcome;
}

// Each case gets a folder of its own, which is removed afterwards.
struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("attn-cli-" + std::to_string(getpid()));
    ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace attn::test
