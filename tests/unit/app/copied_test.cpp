// Checks the text copied from an explanation, and that it computes the same number: the C++ text is compiled
// and run if there is a compiler, the NumPy text if there is NumPy.
#include "app/copied.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#ifndef __EMSCRIPTEN__
#include <unistd.h>
#endif

#include "app/format.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// One number of each kind.
std::vector<Explained> of_all_kinds() {
    std::vector<Explained> all;
    const auto add = [&](const Visit& visit, const RunCell& cell) {
        const auto why = explained(visit, cell);
        INFO(symbol(cell.stage));
        REQUIRE(why);
        all.push_back(*why);
    };
    FakePage page;
    for (const char* model : {"gpt2-f32", "llama3-scaled-f32"}) {
        Visit visit(page);
        open_golden(visit, model);
        for (const Stage stage : {Stage::q, Stage::attention_input, Stage::mlp_hidden, Stage::resid_pre})
            add(visit, {stage, 1, 1});
        if (std::string_view(model) != "gpt2-f32") continue;
        for (const Stage stage : {Stage::masked, Stage::weight, Stage::contribution, Stage::projected,
                                  Stage::output, Stage::attention_output, Stage::logit})
            add(visit, {stage, 2, 1});
        add(visit, {Stage::weight, 2, 1, false, Unit::tokens, Sink::renormalised});
        add(visit, {Stage::weight, 1, 2});  // masked
        add(visit, {.stage = Stage::probability, .col = 2});
        add(visit, head_score_cell(*sentence_in(visit).run()->overview(), {0, 1}, HeadScore::entropy));
        add(visit, {Stage::embedding, 1, 1});
    }
    Visit visit(page);
    visit.perform(SetSoftcap{0.5});
    for (const Stage stage : {Stage::x, Stage::q, Stage::raw, Stage::capped, Stage::weight})
        add(visit, {stage, 0, 1});
    return all;
}

#ifndef __EMSCRIPTEN__

struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("attn-copied-" + std::to_string(getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
};

bool runs(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

double printed(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe);
    std::array<char, 256> text{};
    const bool read = std::fgets(text.data(), static_cast<int>(text.size()), pipe) != nullptr;
    CHECK(pclose(pipe) == 0);
    REQUIRE(read);
    return std::strtod(text.data(), nullptr);
}

// Sums in another order differ by a few roundings.
void check_same(double got, const Explained& why) {
    INFO(why.title);
    if (std::isfinite(why.f64))
        CHECK(std::abs(got - why.f64) <= 1e-13 * (1 + std::abs(why.f64)));
    else
        CHECK((got == why.f64 || (std::isnan(got) && std::isnan(why.f64))));
}

#endif

}  // namespace

TEST_CASE("a score is copied with its numbers") {
    FakePage page;
    Visit visit(page);
    visit.perform(SetCell{{Stage::x, 0, 1}, -0.5});
    const auto why = explained(visit, RunCell{Stage::scaled, 0, 1});
    REQUIRE(why);
    CHECK(copied(*why, Dialect::numpy) ==
          "# Scaled[cat, sat], computed.\n"
          "import math\n"
          "import numpy as np\n"
          "\n"
          "q = np.array([1.0, -0.5, 0.2, 0.8])\n"
          "k = np.array([0.3, 0.9, 0.1, 0.4])\n"
          "score = np.dot(q, k)  # 0.190000000000\n"
          "scaled = score * 0.5  # 0.095000000000\n"
          "print(repr(float(scaled)))\n");
    CHECK(copied(*why, Dialect::latex) ==
          "% Scaled[cat, sat], computed.\n"
          "\\begin{align*}\n"
          "\\mathrm{score} &= \\sum_i q_i k_i \\\\\n"
          "&= 1 \\cdot 0.3 + (-0.5) \\cdot 0.9 + 0.2 \\cdot 0.1 + 0.8 \\cdot 0.4 \\\\\n"
          "&= 0.19 \\\\\n"
          "\\mathrm{scaled} &= \\mathrm{score} \\cdot 0.5 \\\\\n"
          "&= 0.19 \\cdot 0.5 \\\\\n"
          "&= 0.095\n"
          "\\end{align*}\n");
    const std::string cpp = copied(*why, Dialect::cpp);
    CHECK(cpp.find("const Vector q{1.0, -0.5, 0.2, 0.8};\n") != std::string::npos);
    CHECK(cpp.find("const double scaled = score * 0.5;  // 0.095000000000\n") != std::string::npos);
}

TEST_CASE("every copied explanation ends at its own number") {
    for (const Explained& why : of_all_kinds()) {
        INFO(why.title);
        check_calculated(why);
        const std::string latex = copied(why, Dialect::latex);
        CHECK(std::ranges::count(latex, '{') == std::ranges::count(latex, '}'));
        CHECK(latex.find("\\begin{align*}") != std::string::npos);
        // All operands are there, not only those that fit into the inspector.
        for (const auto& operand : why.operands)
            if (copied(why, Dialect::numpy).find(why.left_name + " = ") != std::string::npos)
                CHECK(copied(why, Dialect::numpy).find(shortest(operand.left)) != std::string::npos);
    }
}

TEST_CASE("a long sum takes several lines in LaTeX, except inside a root") {
    Explained why;
    for (int i = 0; i < 8; ++i) why.operands.push_back({std::to_string(i), 1.0 + i, 2, 2.0 * (1 + i)});
    const std::string line_break = "\\\\\n&\\quad";
    why.line("product", why.dot());
    CHECK(copied(why, Dialect::latex).find(line_break) != std::string::npos);
    why.calculation.clear();
    why.line("length", norm(why.left()));
    const std::string root = copied(why, Dialect::latex);
    CHECK(root.find("\\sqrt{1 \\cdot 1 + ") != std::string::npos);
    CHECK(root.find(line_break) == std::string::npos);
}

#ifndef __EMSCRIPTEN__

TEST_CASE("the copied C++ text compiles and computes the number") {
    if (!runs("c++ --version")) SKIP("there is no compiler");
    const Folder folder;
    const std::vector<Explained> all = of_all_kinds();
    // One program for all of them: each text has a namespace of its own.
    std::string program =
        "#include <algorithm>\n#include <cmath>\n#include <cstdio>\n#include <numeric>\n#include <vector>\n";
    std::string calls;
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::string text = copied(all[i], Dialect::cpp);
        const std::string name = "n" + std::to_string(i);
        for (std::size_t at = 0; (at = text.find("#include", at)) != std::string::npos;)
            text.erase(at, text.find('\n', at) - at);
        program += "namespace " + name + " {\n" + text + "}\n";
        calls += "    " + name + "::run();\n";
    }
    for (std::size_t at = 0; (at = program.find("int main()", at)) != std::string::npos; at += 10)
        program.replace(at, 10, "void run()");
    std::ofstream(folder.path / "all.cpp") << program << "int main() {\n" << calls << "}\n";
    std::ofstream(folder.path / "one.cpp") << copied(all.front(), Dialect::cpp);
    const std::string in_folder = "cd " + folder.path.string() + " && ";
    REQUIRE(runs(in_folder + "c++ -std=c++17 -Wall -Wno-unused-variable -o one one.cpp"));
    check_same(printed(in_folder + "./one"), all.front());
    REQUIRE(runs(in_folder + "c++ -std=c++17 -o all all.cpp"));
    for (std::size_t i = 0; i < all.size(); ++i)
        check_same(printed(in_folder + "./all | sed -n " + std::to_string(i + 1) + "p"), all[i]);
}

TEST_CASE("the copied NumPy text computes the number") {
    const std::array<std::string, 2> pythons{"python3", "/usr/bin/python3"};
    const auto python = std::ranges::find_if(
        pythons, [](const std::string& each) { return runs(each + " -c 'import numpy'"); });
    if (python == pythons.end()) SKIP("there is no NumPy");
    const Folder folder;
    for (const Explained& why : of_all_kinds()) {
        std::ofstream(folder.path / "copied.py") << copied(why, Dialect::numpy);
        check_same(printed(*python + " " + (folder.path / "copied.py").string()), why);
    }
}

#endif
