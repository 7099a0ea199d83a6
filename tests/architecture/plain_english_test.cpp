// Checks the mechanical part of our English: how a comment begins, how wide it is, and two phrases that must
// not appear on the page.
#include <algorithm>
#include <array>
#include <catch_amalgamated.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.hpp"
#include "text/utf8.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t columns = 110;

// This file itself shows what is found.
constexpr std::string_view shows_faults = "tests/architecture/plain_english_test.cpp";

// Words that begin half a sentence: a label in the genitive, a phrase without its noun, a relative clause.
constexpr std::array<std::string_view, 6> bad_beginnings{"of", "by", "from", "those", "as", "that"};
// The first is passive where something is at work; the second does not say what to do.
constexpr std::array<std::string_view, 2> bad_phrases{"is being", "There is no such"};

struct Piece {
    std::ptrdiff_t line = 0;  // counts from 1
    std::string text;         // without its marks
    bool begins = true;       // false: it continues a comment on the line before
};
struct Pieces {
    std::vector<Piece> comments, strings;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Separates the comments and strings of C++ from the code, which is left out.
Pieces pieces_of(std::string_view text) {
    Pieces found;
    std::ptrdiff_t line = 1, last_own_line = -1;
    bool own_line = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view rest = text.substr(i);
        if (rest[0] == '\n') {
            ++line;
            own_line = true;
        } else if (rest.starts_with("//")) {
            const std::string_view comment = rest.substr(0, rest.find('\n'));
            const bool goes_on = own_line && last_own_line == line - 1;
            const std::size_t begin = comment.find_first_not_of("/ ");
            found.comments.push_back(
                {line, begin == comment.npos ? "" : std::string(comment.substr(begin)), !goes_on});
            if (own_line) last_own_line = line;
            i += comment.size() - 1;
        } else if (rest.starts_with("R\"") && (i == 0 || !is_word(text[i - 1]))) {
            const std::size_t open = rest.find('(');
            const std::string end = ")" + std::string(rest.substr(2, open - 2)) + "\"";
            const std::size_t size = std::min(rest.find(end, open), rest.size() - end.size()) + end.size();
            found.strings.push_back({line, std::string(rest.substr(0, size))});
            line += std::ranges::count(rest.substr(0, size), '\n');
            own_line = false;
            i += size - 1;
        } else if (rest[0] == '"' || (rest[0] == '\'' && (i == 0 || !is_word(text[i - 1])))) {
            std::size_t end = 1;
            while (end < rest.size() && rest[end] != rest[0] && rest[end] != '\n')
                end += rest[end] == '\\' ? 2 : 1;
            if (rest[0] == '"') found.strings.push_back({line, std::string(rest.substr(1, end - 1))});
            own_line = false;
            i += end;
        } else if (rest[0] != ' ') {
            own_line = false;
        }
    }
    return found;
}

bool begins_badly(std::string_view comment) {
    const auto end = std::ranges::find_if_not(comment, is_word);
    std::string word(comment.begin(), end);
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::ranges::count(bad_beginnings, word) > 0;
}

// Returns one complaint for each fault, like "core/io/npy.cpp:12 begins with half a sentence: of rows".
std::vector<std::string> faults_of(const std::string& file, std::string_view text) {
    std::vector<std::string> lines, found;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    const auto complain = [&](const Piece& at, const std::string& what) {
        found.push_back(file + ":" + std::to_string(at.line) + " " + what + ": " + at.text);
    };
    const Pieces pieces = pieces_of(text);
    for (const Piece& comment : pieces.comments) {
        if (comment.begins && begins_badly(comment.text)) complain(comment, "begins with half a sentence");
        const std::string& line = lines[static_cast<std::size_t>(comment.line - 1)];
        if (attn::count_code_points(line) > columns) complain(comment, "is wider than 110 columns");
    }
    for (const Piece& string : pieces.strings)
        for (const std::string_view phrase : bad_phrases)
            if (string.text.find(phrase) != std::string::npos)
                complain(string, "says “" + std::string(phrase) + "”");
    return found;
}

}  // namespace

TEST_CASE("comments begin with a sentence and fit the width, and no text contains a banned phrase") {
    const fs::path root = attn::test::source_dir();
    std::vector<std::string> found;
    int files = 0;
    for (const char* house : {"core", "web", "tests", "bench"})
        for (auto it = fs::recursive_directory_iterator(root / house);
             it != fs::recursive_directory_iterator(); ++it) {
            const std::string file = fs::relative(it->path(), root).generic_string();
            if (it->path().filename() == "node_modules") it.disable_recursion_pending();
            const fs::path extension = it->path().extension();
            if ((extension != ".cpp" && extension != ".hpp") || file == shows_faults) continue;
            ++files;
            const auto bytes = attn::test::read_file(it->path());
            std::ranges::move(faults_of(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}),
                              std::back_inserter(found));
        }
    for (const std::string& text : found) UNSCOPED_INFO(text);
    CHECK(found.empty());
    CHECK(files > 1000);
}

TEST_CASE("half a sentence at the beginning of a comment is found") {
    for (const char* code :
         {"// Of a dial that is dragged.\nint x;\n", "int x;  // of rows\n", "    // By HeadRole.\n",
          "int y;\n// From the mean.\n// It is 0.\n", "int x;  // those that are left\n", "//as before\n"})
        CHECK(faults_of("core/a.cpp", code).size() == 1);
    for (const char* code :
         {"// Offsets.\n", "int x;  // fromage\n", "// A mean\n// of rows.\n", "auto s = \"// of rows\";\n",
          "auto r = R\"(\n// of rows\n)\";\n", "char c = '\"'; // a quote\n", "int n = 1'000;  // digits\n"})
        CHECK(faults_of("core/a.cpp", code).empty());
}

TEST_CASE("a wide comment and a banned phrase are found") {
    const std::string wide(108, 'x');
    CHECK(faults_of("core/a.cpp", "// " + wide + "\n").size() == 1);
    CHECK(faults_of("core/a.cpp", "// " + wide.substr(1) + "\n").empty());
    CHECK(faults_of("core/a.cpp", "int x;  // ∂" + std::string(98, 'x') + "\n").empty());
    CHECK(faults_of("core/a.cpp", "auto wide = \"" + wide + "\";\n").empty());
    CHECK(faults_of("core/a.cpp", "auto s = \"The map is being computed, 40 %\";\n").size() == 1);
    CHECK(faults_of("core/a.cpp", "auto s = R\"(There is no such \"head\".)\";\n").size() == 1);
    CHECK(faults_of("core/a.cpp", "// What is being computed.\n").empty());
}
